"""Copies of the whole file: a checked backup, and a tree of text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from arr_sql.database.base import DatabaseBase


class CopyMethods(DatabaseBase):
    """Keeping the file. Restoring and importing make a new file: :mod:`arr_sql.memory.store_copy`, ``store_export``."""

    def backup(self, target: str | Path, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Copy the file as it is at one moment, while others may write, and check the copy; its size in bytes.

        Raises InputError when ``target`` exists, StoreDamaged when the copy does not pass `arr db check`.
        """
        from arr_sql.memory.store_copy import copy_store

        return copy_store(self.path, Path(target), progress)

    def export(
        self, folder: str | Path, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> dict[str, int]:
        """Write every table as JSON lines into a new or empty folder; rows by table. Raises InputError otherwise."""
        from arr_sql.memory.store_export import export_store

        return export_store(self.path, Path(folder), progress)
