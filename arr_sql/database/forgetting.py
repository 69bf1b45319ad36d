"""Forgetting: showing what would go, erasing it, and proving that its bytes are gone, here and in backups."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Rows of this scope, by table, in which an erased text still stands as a whole (a memory that quotes it), and those
    of tables that are not the store's own."""
    still_on_disk: tuple[str, ...] = ()
    """Forgotten files that the next sync would take in again."""
    backups: tuple[dict[str, Any], ...] = ()
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

        Raises InputError when nothing of that name is held, StateError while a copy to another place runs, StoreBusy when
        another process keeps an older state: then the rows are erased, and the same call (or ``resume_forgetting``) finishes.
        """
        from arr_sql.replica.copying import no_copying

        request = _request(memory_ids, source_refs, queries, whole_scope)
        backups = [follow_link(backup) for backup in backups]
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
            asked = self._asked_of(writer, copies, request)  # whatever is wrong is said before anything is erased
            own = _erase(writer, self.path, self.scope, request, self.actor, self._clock())
            theirs = [
                _erase(copy, path, self.scope, one, self.actor, self._clock())
                for (path, copy), one in zip(copies, asked, strict=True)
            ]
            if not interrupted and all(item.receipt is None for item in (own, *theirs)):
                raise InputError(_nothing(request))
            forget_taken(self.path)  # pages of the past that a copy to another place has left beside the file
            with store_errors(self.path):
                return self._proven(writer, own, list(zip(copies, theirs, strict=True)), interrupted, progress)
        finally:
            for path, copy in copies:
                copy.close()
                make_single_file(path)

    def _asked_of(
        self, writer: Connection, copies: Sequence[tuple[Path, Connection]], request: ForgetRequest
    ) -> list[ForgetRequest]:
        """What the request is in each backup. Raises InputError, naming the backup, where it can't be carried out there."""
        from arr_sql.memory.forget_plan import in_backup, plan_forgetting

        with store_errors(self.path), read_transaction(writer):
            plan = plan_forgetting(writer, self.scope, request)
            found = []
            for path, copy in copies:
                try:
                    with store_errors(path), read_transaction(copy):
                        found.append(in_backup(request, plan, writer, copy, self.scope))
                        plan_forgetting(copy, self.scope, found[-1])
                except InputError as error:
                    raise InputError(f"In the backup '{path}': {error} Nothing was erased anywhere.") from None
        return found

    def _proven(
        self, writer: Connection, own: _Erased, copies: list[tuple[tuple[Path, Connection], _Erased]],
        interrupted: list[tuple[int, str]], progress: Progress,
    ) -> ForgetReport:  # fmt: skip
        """Every file is searched for what went out of any of them: a backup may hold what was changed here long ago."""
        from arr_sql.memory.forget_proof import prove, record_scan

        probes, texts = own.probes, own.texts
        for _, item in copies:
            probes, texts = probes | item.probes, texts | item.texts
        result, held_here = "clean", {}
        receipts = [own.receipt] if own.receipt is not None else []
        if probes:
            proof = prove(writer, self.path, own.scope_id, probes, sorted(texts), progress=progress)
            result, held_here = proof.scan.result, proof.held_here
            record_scan(writer, self.path, receipts, proof.scan, backup=None, actor=self.actor, now=self._clock())
        completed = self._complete(writer, interrupted, progress)
        backups = []
        for (path, copy), item in copies:
            proof = prove(copy, path, item.scope_id, probes, sorted(texts), progress=progress)
            scan = proof.scan
            made = [item.receipt] if item.receipt is not None else []
            record_scan(copy, path, made, scan, backup=None, actor=self.actor, now=self._clock())
            record_scan(writer, self.path, receipts, scan, backup=path, actor=self.actor, now=self._clock())
            backups.append(
                {"path": str(path), "counts": item.counts, "result": scan.result, "held_here": proof.held_here}
            )
        return ForgetReport(
            own.receipt_id,
            own.counts,
            result,
            completed,
            held_here,
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

        if not receipts:
            return ()
        rows = [row for row, _ in receipts]
        scan = prove_structure(writer, self.path, rows, progress=progress)
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


def _erase(writer: Connection, path: Path, scope: Any, request: ForgetRequest, actor: str, now: datetime) -> _Erased:
    from arr_sql.core.byte_scan import make_probes
    from arr_sql.memory.forget_plan import plan_forgetting
    from arr_sql.memory.forgetting import erase

    with write_transaction(writer, path):
        plan = plan_forgetting(writer, scope, request)
        scope_id = plan.scope_row.id if plan.scope_row else None
        if plan.is_empty:
            return _Erased(scope_id, None, None, {}, frozenset(), make_probes(()), frozenset())
        names = frozenset(row["source_ref"] for row in plan.versions) & plan.present_names
        texts = _looked_for(plan)
        probes = make_probes(plan.texts(), plan.vector_bytes(), plan.terms())
        receipt, receipt_id = erase(writer, scope, plan, actor=actor, now=now)
    return _Erased(scope_id, receipt, receipt_id, plan.counts(), names, probes, texts)


def _looked_for(plan: ForgetPlan) -> frozenset[str]:
    """The texts of which it matters to the scope whether another row still holds them: contents, names, queries."""
    queries = {row["query"] for row, _ in plan.retrievals if row["is_asked"] and row["query"]}
    return (
        frozenset(row["content"] for row in (*plan.memories, *plan.chunks))
        | frozenset(row["source_ref"] for row in plan.versions) | queries
    )  # fmt: skip


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
        "memory by its id (`arr memory list`), a query by its exact text or its retrieval id."
    )


def _require_backup(path: Path, database: Path) -> None:
    if path.resolve() == database.resolve():
        raise InputError(f"'{path}' is the database itself. --backup names copies made by `arr db backup`.")
    copy = open_writer(path, keep_journal=True)
    try:
        require_current(copy, path)
    finally:
        copy.close()
