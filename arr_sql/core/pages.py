"""The pages of a file: written anew, given back when they are empty, held in memory while much is written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from arr_sql.core.connection import Connection, store_errors, write_transaction, writers_lock
from arr_sql.errors import StoreBusy


def compact(connection: Connection, path: Path) -> None:
    """Write the file anew from its rows (VACUUM), then move all of the WAL into it and cut the WAL to nothing.

    Raises StoreBusy while another process reads an older state, which keeps the WAL.
    """
    with store_errors(path), writers_lock(path):
        connection.execute("VACUUM")
        row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if row[0]:
        raise StoreBusy(f"Another process is reading an older state of '{path}'. Stop it, then run this again.")


@contextlib.contextmanager
def page_cache(connection: Connection, size: int) -> Iterator[None]:
    """Up to ``size`` bytes of pages in memory meanwhile, for transactions that change more than SQLite's 2 MB.

    Else such a transaction writes pages to the WAL before it is done, reads them from there again, and writes them again:
    taking in 100,000 chunks, 89,000 pages were written to the WAL instead of 40,000, and 149,000 read instead of 37,000.
    """
    before = connection.execute("PRAGMA cache_size").fetchone()[0]
    connection.execute(f"PRAGMA cache_size=-{size >> 10}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA cache_size={before}")
        connection.execute("PRAGMA shrink_memory")


def give_back_pages(connection: Connection, path: Path) -> None:
    """Move the last pages into empty ones and cut the file: what :func:`compact` does to the empty pages alone, and quicker.

    The file is shorter once the WAL is moved into it. Nothing happens to a file of before this was built in.
    """
    with write_transaction(connection, path):
        connection.execute("PRAGMA incremental_vacuum").fetchall()  # a step frees one page
