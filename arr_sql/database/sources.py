"""Sources: trusting folders, taking files in, embedding them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import store_errors, write_transaction
from arr_sql.database.base import DatabaseBase
from arr_sql.errors import InputError
from arr_sql.index.line_rows import drop_line_index, line_index_state, want_line_index
from arr_sql.ingest.roots import RootRow, add_root, read_roots, require_addable
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.row_vouching import hash_of_root
from arr_sql.memory.scope_store import advance, ensure_scope, read_scope

if TYPE_CHECKING:
    # Imported where they are used: a search pays for none of them (tests/promises/test_imports.py).
    from arr_sql.index.vector_index import EmbedSummary
    from arr_sql.ingest.line_indexer import LineIndexSummary
    from arr_sql.ingest.sync import Progress
    from arr_sql.ingest.sync_state import SyncSummary


class SourceMethods(DatabaseBase):
    """What a scope draws on."""

    def add(
        self, target: str | Path, progress: Progress = lambda phase, done, total: None, *, passwords: Sequence[str] = ()
    ) -> SyncSummary:
        """Trust a folder or file for this scope and take its files in. Raises PathRefused when it is neither."""
        require_addable(Path(target))
        writer = self._ready_writer()
        with write_transaction(writer, self.path):
            scope_row = ensure_scope(writer, self.scope, self.actor, self._clock())
            known = {item.id for item in read_roots(writer, self.scope, self.project_folder)}
            root = add_root(writer, self.scope, scope_row.id, self.project_folder, Path(target), self._clock())
            if root.id not in known:
                scope_row = advance(writer, scope_row, is_content=False)
                append_event(
                    writer, scope_id=scope_row.id, revision=scope_row.revision, at=self._clock(), actor=self.actor,
                    kind="root_added", subject_kind="root", subject_id=str(root.id), subject_hash=hash_of_root(writer, root.id),
                    details={"path_hash": sha256_text(str(root.path)), "is_file": root.only_file is not None},
                )  # fmt: skip
        return self._sync([root], progress, passwords)

    def sync(
        self, progress: Progress = lambda phase, done, total: None, *, passwords: Sequence[str] = ()
    ) -> SyncSummary:
        """Bring every root of this scope up to date with the disk. ``passwords`` open encrypted files; none is kept."""
        self._ready_writer()
        roots = self.roots()
        if not roots:
            raise InputError("Nothing has been added to this scope yet. Run `arr add FOLDER` first.")
        return self._sync(roots, progress, passwords)

    def _sync(self, roots: list[RootRow], progress: Progress, passwords: Sequence[str]) -> SyncSummary:
        from arr_sql.ingest.sync import Syncer

        syncer = Syncer(
            self._write(), self.path, self.scope, self.actor,
            max_file_bytes=self._max_file_bytes, progress=progress, clock=self._clock,
            passwords=passwords,
        )  # fmt: skip
        summary = syncer.sync(roots, self.roots())
        if self.line_index() is not None:
            self._refresh_line_index(roots, progress)
        return summary

    def build_line_index(self, progress: Progress = lambda phase, done, total: None) -> LineIndexSummary:
        """Keep an index of this scope's lines from now on: a grep then reads only files that may hold what it looks for.

        It finds the same lines, on the files as they are when it is asked. Each later ``sync`` brings the index up to
        date; building it again reads only what has changed. Raises InputError while nothing has been added.
        """
        roots = self.roots()
        if not roots:
            raise InputError("Nothing has been added to this scope yet. Run `arr add FOLDER` first.")
        writer = self._ready_writer()
        with write_transaction(writer, self.path):
            want_line_index(writer, ensure_scope(writer, self.scope, self.actor, self._clock()).id)
        return self._refresh_line_index(roots, progress)

    def drop_line_index(self) -> int:
        """Keep no index of this scope's lines any more; how many folders it held."""
        writer = self._ready_writer()
        with write_transaction(writer, self.path):
            scope_row = read_scope(writer, self.scope)
            return 0 if scope_row is None else drop_line_index(writer, scope_row.id)

    def line_index(self) -> tuple[int, int] | None:
        """How many folders this scope's line index holds, and the bytes of it; None when the scope keeps none."""
        with store_errors(self.path):
            return line_index_state(self._reader("main"), self.scope)

    def _refresh_line_index(self, roots: Sequence[RootRow], progress: Progress) -> LineIndexSummary:
        from arr_sql.ingest.line_indexer import LineIndexer

        writer = self._write()
        scope_row = read_scope(writer, self.scope)
        assert scope_row is not None, "a scope that keeps an index is open"
        return LineIndexer(writer, self.path, self.scope, scope_row.id, progress=progress).refresh(roots)

    def roots(self) -> list[RootRow]:
        """The folders and files that this scope trusts."""
        with store_errors(self.path):
            return read_roots(self._reader("main"), self.scope, self.project_folder)

    def embed(
        self, *, rebuild: bool = False, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> EmbedSummary:
        """Compute the vectors that are missing. Raises ModelError when there is no model."""
        from arr_sql.index.embedders.model_store import open_embedder
        from arr_sql.index.vector_index import fill_vectors

        embedder = self._embedder_source()
        if embedder is None:
            embedder = open_embedder()  # raises ModelError, whose message says how to get a model
        return fill_vectors(
            self._write(), self.path, self.scope, embedder,
            actor=self.actor, clock=self._clock, rebuild=rebuild, progress=progress,
        )  # fmt: skip
