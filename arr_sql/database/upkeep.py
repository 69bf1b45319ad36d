"""Upkeep of the file: what could be given back to the disk, and giving it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arr_sql.core.connection import read_transaction, store_errors, write_transaction
from arr_sql.database.base import DatabaseBase
from arr_sql.errors import InputError

if TYPE_CHECKING:
    # Imported where they are used: a search pays for none of them (tests/promises/test_imports.py).
    from arr_sql.memory.pruning import PrunePlan
    from arr_sql.memory.vacuuming import Progress, Space


class UpkeepMethods(DatabaseBase):
    """Removing old records of this scope; writing the file, which all scopes share, anew."""

    def space(self) -> Space:
        """How the file's bytes are used. Changes nothing."""
        from arr_sql.memory.vacuuming import read_space

        return read_space(self._reader("main"), self.path)

    def vacuum(self, progress: Progress = lambda phase: None) -> tuple[Space, Space]:
        """Give unused space back to the disk; the bytes before and after. Answers stay the same.

        Raises StoreFull when the disk has too little room for it, StoreBusy while others write or keep an older state.
        """
        from arr_sql.memory.vacuuming import vacuum

        return vacuum(self._ready_writer(), self.path, actor=self.actor, now=self._clock(), progress=progress)

    def plan_pruning(self, days: int) -> PrunePlan:
        """Which retrieval records of this scope are older than ``days`` days, and what stays. Changes nothing."""
        from arr_sql.memory.pruning import plan_pruning

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            return plan_pruning(reader, self.scope, self._clock(), _days(days))

    def prune(self, days: int) -> PrunePlan:
        """Remove them; what went. Those retrievals can't be run again. Their events in the audit log stay."""
        from arr_sql.memory.pruning import plan_pruning, prune

        writer = self._ready_writer()
        with write_transaction(writer, self.path):
            now = self._clock()
            plan = plan_pruning(writer, self.scope, now, _days(days))
            prune(writer, self.scope, before=plan.before, actor=self.actor, now=now)
        return plan


def _days(days: int) -> int:
    if not 1 <= days <= 36_500:
        raise InputError("Records are pruned by age: give a number of days from 1 to 36,500.")
    return days
