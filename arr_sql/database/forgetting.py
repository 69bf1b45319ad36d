"""Forgetting: showing what would go, erasing it, and proving that its bytes are gone, here and in backups."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from arr_sql.core.connection import Connection, open_writer, read_transaction, store_errors, write_transaction
from arr_sql.core.filesystem import follow_link
from arr_sql.core.migrations import require_current
from arr_sql.database.sources import SourceMethods
from arr_sql.errors import InputError

if TYPE_CHECKING:
    # Imported where they are used: a search pays for none of them (tests/promises/test_imports.py).
    from arr_sql.core.byte_scan import Probes
    from arr_sql.memory.forget_plan import ForgetPlan, ForgetRequest
    from arr_sql.memory.forget_proof import Progress


@dataclass(frozen=True)
class ForgetReport:
    """What became of one request, told to the scope: nothing in it depends on other scopes."""

    receipt_id: str | None
    """None when only backups held something, or an interrupted erasure was finished."""
    counts: dict[str, int]
    result: str
    """``clean``, or ``residue`` when bytes of the erased text are left."""
    completed: tuple[str, ...] = ()
    """Receipts of earlier, interrupted erasures that are proven now."""
    held_here: dict[str, int] = field(default_factory=dict)
    """Rows of this scope, by table, in which an erased text still stands as a whole (a memory that quotes it)."""
    held_in_file: dict[str, int] = field(default_factory=dict)
    """Rows of tables that others have put into the file, by table, in which a part of an erased text stands."""
    still_on_disk: tuple[str, ...] = ()
    """Forgotten files that the next sync would take in again."""
    backups: tuple[dict[str, Any], ...] = ()
    """Of each its ``path``, ``counts``, ``result``, ``held_here`` and ``held_in_file``. It is ``clean`` only if no row of this
    scope in it holds an erased memory's or file's text any more."""
    replicas: tuple[str, ...] = ()
    """Where copies of the file were begun (`arr replica start`): their older states hold the text until they are purged."""


class ForgettingMethods(SourceMethods):
    """Erasing for good (contract 7.5)."""

    def plan_forgetting(
        self, *, memory_ids: Sequence[str] = (), source_refs: Sequence[str] = (), queries: Sequence[str] = (),
        whole_scope: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Everything that :meth:`forget` would erase in this scope, by name. Changes nothing."""
        from arr_sql.memory.forget_plan import plan_forgetting

        request = _request(memory_ids, source_refs, queries, whole_scope)
        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            return plan_forgetting(reader, self.scope, request).listing()

    def forget(
        self, *, memory_ids: Sequence[str] = (), source_refs: Sequence[str] = (), queries: Sequence[str] = (),
        whole_scope: bool = False, backups: Sequence[Path] = (),
        progress: Progress = lambda phase, done, total: None,
    ) -> ForgetReport:  # fmt: skip
        """Erase it, write the file anew, and look for what went in the raw bytes of the file and of ``backups``.

        In a backup the same things go under whatever name they had then. Nothing is erased anywhere before it is known
        what goes from every file.

        Raises InputError when nothing of that name is held, StateError while a copy to another place runs, StoreBusy when
        another process keeps an older state: then the rows are erased, and the same call (or ``resume_forgetting``) finishes.
        """
        from arr_sql.replica.copying import no_copying

        request = _request(memory_ids, source_refs, queries, whole_scope)
        backups = [follow_link(backup) for backup in backups]
        backups = list({backup.resolve(): backup for backup in backups}.values())
        for backup in backups:
            _require_backup(backup, self.path)
        with no_copying(self.path):
            return self._forget(request, backups, progress)

    def _forget(self, request: ForgetRequest, backups: Sequence[Path], progress: Progress) -> ForgetReport:
        from arr_sql.memory.store_copy import make_single_file
        from arr_sql.replica.taken import forget_taken

        writer = self._ready_writer()
        interrupted = self._unproven(writer)
        copies: list[tuple[Path, Connection]] = []
        try:
            for path in backups:
                copies.append((path, open_writer(path)))
            own, theirs = self._erase_everywhere(writer, copies, request, is_resuming=bool(interrupted))
            forget_taken(self.path)  # pages of the past that a copy to another place has left beside the file
            with store_errors(self.path):
                return self._proven(writer, own, list(zip(copies, theirs, strict=True)), interrupted, progress)
        finally:
            for path, copy in copies:
                copy.close()
                make_single_file(path)

    def _erase_everywhere(
        self,
        writer: Connection,
        copies: Sequence[tuple[Path, Connection]],
        request: ForgetRequest,
        *,
        is_resuming: bool,
    ) -> tuple[_Erased, list[_Erased]]:
        """Every file is planned before any is changed; the backups are committed first, since what is known of them is
        known from the database."""
        from arr_sql.memory.forget_plan import known_by, plan_forgetting

        plans: list[ForgetPlan] = []
        with ExitStack() as stack:
            stack.enter_context(write_transaction(writer, self.path))
            plan = plan_forgetting(writer, self.scope, request)
            known = known_by(writer, plan) if copies else None
            for path, copy in copies:
                stack.enter_context(write_transaction(copy, path))
                try:
                    plans.append(plan_forgetting(copy, self.scope, request, known))
                except InputError as error:
                    raise InputError(f"Backup '{path}': {error} Nothing was erased.") from None
            if not is_resuming and all(item.is_empty for item in (plan, *plans)):
                raise InputError(_nothing(request))
            theirs = [
                _erase(copy, path, self.scope, found, self.actor, self._clock())
                for (path, copy), found in zip(copies, plans, strict=True)
            ]
            own = _erase(writer, self.path, self.scope, plan, self.actor, self._clock())
        return own, theirs

    def _proven(
        self, writer: Connection, own: _Erased, copies: list[tuple[tuple[Path, Connection], _Erased]],
        interrupted: list[tuple[int, str]], progress: Progress,
    ) -> ForgetReport:  # fmt: skip
        """Every file is searched for what went out of any of them: a backup may hold what was changed here long ago."""
        from arr_sql.memory.forget_proof import Sought, listed_in, prove, record_scan

        erased = [own, *(item for _, item in copies)]
        probes = own.probes
        for item in erased:
            probes |= item.probes
        texts = frozenset[str]().union(*(item.texts for item in erased))
        contents = frozenset[str]().union(*(item.contents for item in erased))
        result, held_here, held_in_file = "clean", {}, {}
        receipts = [own.receipt] if own.receipt is not None else []
        if probes:
            proof = prove(writer, self.path, own.scope_id, Sought(probes, texts), progress=progress)
            result, held_here, held_in_file = proof.scan.result, proof.held_here, proof.held_in_file
            record_scan(writer, self.path, receipts, proof.scan, backup=None, actor=self.actor, now=self._clock())
        completed = self._complete(writer, interrupted, progress)
        backups = []
        finished = [row for row, _ in interrupted]
        sought = Sought(probes, texts, contents, listed_in(writer, finished))
        for (path, copy), item in copies:
            found = prove(copy, path, item.scope_id, sought, progress=progress)
            made = [item.receipt] if item.receipt is not None else []
            record_scan(copy, path, made, found.scan, backup=None, actor=self.actor, now=self._clock())
            told = [*receipts, *finished]
            record_scan(writer, self.path, told, found.scan, backup=path, actor=self.actor, now=self._clock())
            backups.append({
                "path": str(path), "counts": item.counts, "result": found.scan.result, "held_here": found.held_here,
                "held_in_file": found.held_in_file,
            })  # fmt: skip
        return ForgetReport(
            own.receipt_id,
            own.counts,
            result,
            completed,
            held_here,
            held_in_file,
            self._still_on_disk(own.names),
            tuple(backups),
            self.copies_elsewhere(),
        )

    def resume_forgetting(self, progress: Progress = lambda phase, done, total: None) -> tuple[str, ...]:
        """Finish erasures of this scope that were interrupted before their bytes were proven gone; their receipts.

        Raises StateError while a copy to another place runs.
        """
        from arr_sql.replica.copying import no_copying
        from arr_sql.replica.taken import forget_taken

        with no_copying(self.path):
            writer = self._ready_writer()
            interrupted = self._unproven(writer)
            if interrupted:
                forget_taken(self.path)
            return self._complete(writer, interrupted, progress)

    def copies_elsewhere(self) -> tuple[str, ...]:
        """Where copies of the file were begun (`arr replica start`); their older states may hold what was erased."""
        from arr_sql.replica.register import copies_elsewhere

        reader = self._reader("main")
        with store_errors(self.path):
            return copies_elsewhere(reader)

    def _unproven(self, writer: Connection) -> list[tuple[int, str]]:
        from arr_sql.memory.forget_receipts import unproven_receipts
        from arr_sql.memory.scope_store import read_scope

        with store_errors(self.path):
            scope_row = read_scope(writer, self.scope)
            return unproven_receipts(writer, scope_row.id) if scope_row else []

    def _complete(self, writer: Connection, receipts: list[tuple[int, str]], progress: Progress) -> tuple[str, ...]:
        from arr_sql.memory.forget_proof import prove_structure, record_scan
        from arr_sql.memory.scope_store import read_scope

        if not receipts:
            return ()
        rows = [row for row, _ in receipts]
        scope_row = read_scope(writer, self.scope)
        assert scope_row is not None, "a receipt belongs to an open scope"
        scan = prove_structure(writer, self.path, scope_row.id, rows, progress=progress)
        record_scan(writer, self.path, rows, scan, backup=None, actor=self.actor, now=self._clock())
        return tuple(name for _, name in receipts)

    def _still_on_disk(self, names: frozenset[str]) -> tuple[str, ...]:
        roots = self.roots()
        there = set()
        for name in names:
            for root in roots:
                inside = name.removeprefix(root.prefix)
                is_covered = name.startswith(root.prefix) and root.only_file in (None, inside)
                if is_covered and (root.path / inside).is_file():
                    there.add(name)
        return tuple(sorted(there))


class _Erased(NamedTuple):
    """What went out of one file, and what to look for in its bytes."""

    scope_id: int | None
    receipt: int | None
    receipt_id: str | None
    counts: dict[str, int]
    names: frozenset[str]
    probes: Probes
    texts: frozenset[str]
    contents: frozenset[str]


def _erase(writer: Connection, path: Path, scope: Any, plan: ForgetPlan, actor: str, now: datetime) -> _Erased:
    """Carry out a plan inside the write transaction in which it was made."""
    from arr_sql.core.byte_scan import make_probes
    from arr_sql.memory.forgetting import erase

    scope_id = plan.scope_row.id if plan.scope_row else None
    if plan.is_empty:
        return _Erased(scope_id, None, None, {}, frozenset(), make_probes(()), frozenset(), frozenset())
    probes = make_probes(plan.texts(), plan.vector_bytes(), plan.terms())
    contents = frozenset(row["content"] for row in (*plan.memories, *plan.chunks))
    with store_errors(path):
        receipt, receipt_id = erase(writer, scope, plan, actor=actor, now=now)
    names = _own_names(plan)
    return _Erased(
        scope_id, receipt, receipt_id, plan.counts(), names, probes, contents | names | _queries(plan), contents
    )


def _own_names(plan: ForgetPlan) -> frozenset[str]:
    """The names of the forgotten files. One that another file has taken over stands in that file's rows, and is its own."""
    return frozenset(row["source_ref"] for row in plan.versions) - plan.taken_names


def _queries(plan: ForgetPlan) -> frozenset[str]:
    return frozenset(row["query"] for row, _ in plan.retrievals if row["is_asked"] and row["query"])


def _request(
    memory_ids: Sequence[str], source_refs: Sequence[str], queries: Sequence[str], whole_scope: bool
) -> ForgetRequest:
    from arr_sql.memory.forget_plan import ForgetRequest

    request = ForgetRequest(tuple(memory_ids), tuple(source_refs), tuple(queries), whole_scope)
    if request.is_empty:
        raise InputError(
            "Say what to forget: --memory ID, --source REF, --query TEXT, or --scope for all of this scope."
        )
    if whole_scope and (memory_ids or source_refs or queries):
        raise InputError("--scope erases everything of this scope; leave the others out.")
    return request


def _nothing(request: ForgetRequest) -> str:
    if request.whole_scope:
        return "This scope holds nothing to forget. `arr scope list` shows the scopes of the file."
    names = ", ".join(f"'{name}'" for name in (*request.memory_ids, *request.source_refs, *request.queries))
    return (
        f"This scope holds nothing called {names}. A source goes by its present name, a "
        "memory by its id (`arr memory list`), a query by its exact text or its retrieval id. In a backup, what is "
        "forgotten here already goes by the name that it has there."
    )


def _require_backup(path: Path, database: Path) -> None:
    if path.resolve() == database.resolve():
        raise InputError(f"'{path}' is the database itself. --backup names copies made by `arr db backup`.")
    copy = open_writer(path, keep_journal=True)
    try:
        require_current(copy, path)
    finally:
        copy.close()
