"""After a sync that took in most of a file: the text index becomes one segment, and empty pages go back to the disk.

FTS5 writes each batch as a segment and merges four of a size into one. That leaves several segments, each with its own copy
of the common words' terms, and pages that held what was merged. Here they are merged once, in short transactions: readers go
on, another writer waits for one step, and a kill leaves an index in more segments with the same rows. It costs one more
reading and writing of the index, so it is done where nearly all of the index is new, and never after the small syncs of
every day; where much is taken in at once, the merging on the way, which costs as much, is left out (:func:`merging_later`).
Held by tests/ingest/test_tidying.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arr_sql.core.connection import Connection, write_transaction
from arr_sql.core.pages import give_back_pages
from arr_sql.errors import StoreBusy, StoreFull
from arr_sql.index.text_segments import is_merged_later, merge_text_index, set_merged_later
from arr_sql.ingest.source_store import next_chunk_row

LEAST_CHUNKS = 5_000
"""Fewer make a batch or two, whose segments are hardly larger than one would be."""
MUCH_BYTES = 16 << 20
"""Of files: from here on the segments are left to the end, unless the file holds as much already."""
_BYTES_A_CHUNK = 1_000


@contextmanager
def merging_later(connection: Connection, path: Path, n_bytes: int) -> Iterator[None]:
    """While about ``n_bytes`` of files are taken in, leave the merging to :func:`tidy` where it will be done.

    The setting is in the file. When a kill leaves it there, the next sync takes it back.
    """
    is_later = n_bytes >= max(MUCH_BYTES, _BYTES_A_CHUNK * next_chunk_row(connection))
    if is_later or is_merged_later(connection):
        with write_transaction(connection, path):
            set_merged_later(connection, is_later)
    try:
        yield
    finally:
        if is_later:
            with write_transaction(connection, path):
                set_merged_later(connection, False)


def tidy(connection: Connection, path: Path, added: int) -> bool:
    """Merge and give back where ``added`` chunks are half of all that the file ever held, or more; was it done?

    Nothing depends on it: on a full disk, or while others keep the file locked, it stops, and the next such sync or
    ``arr db vacuum`` does it.
    """
    ever = next_chunk_row(connection) - 1
    if added < LEAST_CHUNKS or 2 * added < ever:
        return False
    try:
        for _ in range(64 + ever // 1_000):  # a step takes in about 4,000 chunks; others may add segments meanwhile
            with write_transaction(connection, path):
                if not merge_text_index(connection):
                    break
        give_back_pages(connection, path)
    except (StoreBusy, StoreFull):
        return False
    return True
