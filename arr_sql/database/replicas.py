"""Copies on other machines: what a copy lacks, and whether it gives the same answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arr_sql.core.clock import from_text
from arr_sql.core.connection import read_transaction, store_errors
from arr_sql.core.migrations import current_reader
from arr_sql.database.replay import Replay, ReplayMethods
from arr_sql.errors import InputError


@dataclass(frozen=True)
class CopyComparison:
    """A copy beside its source. ``missing_events`` came after its end; ``missing_seconds`` lie between the two ends.

    ``failed_checks`` are those of `arr db check`; ``is_history_shared`` is false when the copy's log is no beginning of the
    source's. ``replays`` are the newest retrievals that the copy holds of this scope, run again on it.
    """

    failed_checks: tuple[str, ...]
    is_history_shared: bool
    copy_events: int
    source_events: int
    missing_seconds: float
    replays: tuple[Replay, ...]

    @property
    def missing_events(self) -> int:
        """How many events of the source the copy lacks."""
        return self.source_events - self.copy_events

    @property
    def file_changed(self) -> tuple[Replay, ...]:
        """Retrievals that differ because of files that grep reads: those are no part of a copy, and say nothing about it."""
        return tuple(item for item in self.replays if item.outcome == "different" and item.cause == "file_changed")

    @property
    def different(self) -> tuple[Replay, ...]:
        """Retrievals that differ for any other reason."""
        return tuple(item for item in self.replays if item.outcome == "different" and item.cause != "file_changed")

    @property
    def passed(self) -> bool:
        """Whole, of this source, and no retrieval that can be run again differs, but for files that changed."""
        return not self.failed_checks and self.is_history_shared and not self.different


class ReplicaMethods(ReplayMethods):
    """Comparing; starting, watching and restoring need no scope: :mod:`arr_sql.replica`."""

    def compare_copy(
        self, copy: str | Path, *, records: int = 50, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> CopyComparison:
        """Check a restored file or read copy against this one. Writes into neither.

        Raises InputError when ``copy`` is this file, StoreMissing and the other StoreErrors for either.
        """
        from arr_sql.memory.audit_anchor import database_hash_at
        from arr_sql.memory.audit_log import last_event
        from arr_sql.memory.store_check import check_store

        path = Path(copy)
        if path.exists() and path.resolve() == self.path.resolve():
            raise InputError(f"'{path}' is the database itself. Name a file that was made from a copy of it.")
        with current_reader(path) as reader:
            theirs = last_event(reader)
        own = self._reader("main")
        with store_errors(self.path), read_transaction(own):
            ours, shared = last_event(own), theirs is None or database_hash_at(own)(theirs["seq"]) == theirs["hash"]
        failed = tuple(item.check for item in check_store(path).findings if not item.passed)
        with type(self)(
            path, self.scope, project_folder=self.project_folder, actor=self.actor, clock=self._clock,
            embedder=self._embedder_source, keep_query=self._keep_query, limits=self._limits,
        ) as database:  # fmt: skip
            replays = tuple(database._replay_newest(records, progress))
        seconds = (from_text(ours["at"]) - from_text(theirs["at"])).total_seconds() if ours and theirs else 0.0
        return CopyComparison(
            failed, shared, theirs["seq"] if theirs else 0, ours["seq"] if ours else 0, max(0.0, seconds), replays
        )
