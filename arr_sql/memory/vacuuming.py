"""Giving the disk back what the file no longer needs: index segments merged, the file written anew, the WAL cut.

SQLite keeps the pages of removed rows for later ones, and FTS5 keeps several segments that a merge would make one. Neither
is given back by itself. Everything here is SQLite's own: the merge is one transaction, so is ``VACUUM``; killed at any
instant, the file is as it was before or as it is after, and holds the same rows. Held by tests/memory/test_vacuuming.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from arr_sql.core.connection import Connection, store_errors, write_transaction
from arr_sql.core.pages import compact
from arr_sql.core.process_lock import SYNC_LOCK, process_lock
from arr_sql.core.statements import load
from arr_sql.errors import StoreFull
from arr_sql.index.text_index import compact_text_index, has_text_index
from arr_sql.memory.audit_log import append_event

WAIT_SECONDS = 5.0
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Space:
    """Bytes of a database. ``free`` are pages that hold nothing, ``wal`` the write-ahead log beside the file.

    Half-filled pages and index segments that a merge shortens come on top, and are known only afterwards.
    """

    file: int
    free: int
    wal: int
    disk_free: int

    @property
    def needed(self) -> int:
        """What the disk must have free at most: a copy of what is used, and the same once more in the WAL."""
        return 2 * (self.file - self.free)


def disk_free(path: Path) -> int:
    """Bytes that may still be written beside ``path``."""
    return shutil.disk_usage(path.resolve().parent).free


def read_space(connection: Connection, path: Path, disk: Callable[[Path], int] = disk_free) -> Space:
    """How the file's bytes are used now. Reads only."""
    with store_errors(path):
        row = connection.execute(load("read_file_space")).fetchone()
    wal = path.with_name(path.name + "-wal")
    return Space(
        row["page_size"] * row["page_count"], row["page_size"] * row["free_pages"],
        wal.stat().st_size if wal.exists() else 0, disk(path),
    )  # fmt: skip


def vacuum(
    connection: Connection, path: Path, *, actor: str, now: datetime, disk: Callable[[Path], int] = disk_free,
    progress: Progress = lambda phase: None,
) -> tuple[Space, Space]:  # fmt: skip
    """Write the text index and the file anew; the bytes before and after. Every answer stays the same.

    Readers go on; who wants to write waits, and a sync that runs is waited for. Raises StoreFull before anything is begun
    when the disk has too little room, or later when that of temporary files has; StoreBusy while another process writes, or
    keeps an older state of the file (then the file is written anew, and the same call gives the rest back).
    """
    with process_lock(path.with_name(path.name + SYNC_LOCK), WAIT_SECONDS):
        before = read_space(connection, path, disk)
        if before.disk_free < before.needed:
            raise StoreFull(
                f"Writing '{path}' anew takes up to {before.needed:,} bytes beside it, and its disk has {before.disk_free:,} "
                "free. Nothing was changed; free some space, or copy the file to a larger disk with `arr db backup`."
            )
        progress("Merging the text index")
        with write_transaction(connection, path):
            if has_text_index(connection):
                compact_text_index(connection)
        progress("Writing the file anew")
        with store_errors(path):
            # Else the whole copy is held in memory, as it is anyway by an SQLite that is compiled with TEMP_STORE=3 (pysqlite3's).
            connection.execute("PRAGMA temp_store=FILE")
        try:
            compact(connection, path)
        except StoreFull:
            if disk(path) < before.needed:
                raise
            raise StoreFull(
                f"There is room beside '{path}', but not for {before.file - before.free:,} bytes in the folder where SQLite keeps"
                " temporary files. No row was changed; name a roomier one in SQLITE_TMPDIR, and run this again."
            ) from None
        finally:
            connection.execute("PRAGMA temp_store=MEMORY")
        after = read_space(connection, path, disk)
        with write_transaction(connection, path):
            append_event(
                connection, scope_id=None, revision=None, at=now, actor=actor, kind="file_vacuumed", subject_kind="file",
                subject_id="", subject_hash="", details={"bytes_before": before.file + before.wal, "bytes_after": after.file},
            )  # fmt: skip
    return before, after
