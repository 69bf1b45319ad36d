"""The segments of the chunk index: what FTS5 wrote at once, and when several are made one.

FTS5 merges by itself, a little with each write. Where much is taken in, :mod:`arr_sql.ingest.tidying` leaves it to the end.
The settings are rows of the index, so they hold for every process; ``arr db check`` knows them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from arr_sql.core.connection import Connection
from arr_sql.core.statements import load

MERGED_AT = {"automerge": 4, "crisismerge": 16}
"""FTS5's own: how many segments of a size are merged step by step with each write, and at once."""
MERGED_LATER_AT = {"automerge": 0, "crisismerge": 32}
"""While much is taken in: a merge at the end then replaces several on the way, which read and write the same terms again."""

SETTINGS: Mapping[str, Collection[int]] = {
    "secure-delete": (1,), "hashsize": (16 << 20,), **{name: (at, MERGED_LATER_AT[name]) for name, at in MERGED_AT.items()},
}  # fmt: skip
"""What the settings of an index may be; one that is not there has FTS5's own value."""


def merge_text_index(connection: Connection) -> bool:
    """Merge some of the chunk index's segments; False when there is one. Call inside a write transaction.

    As the documentation of FTS5 has it: a merge that had something to do changes at least two rows.
    """
    before = connection.total_changes
    connection.execute(load("build_chunk_merge"))
    return connection.total_changes - before >= 2


def is_merged_later(connection: Connection) -> bool:
    """Does the chunk index leave its segments for later?"""
    row = connection.execute(load("read_chunk_automerge")).fetchone()
    return row is not None and row["segments"] == MERGED_LATER_AT["automerge"]


def set_merged_later(connection: Connection, is_later: bool) -> None:
    """Leave the chunk index's segments for later, or merge them as they come again. Call inside a write transaction."""
    at = MERGED_LATER_AT if is_later else MERGED_AT
    connection.execute(load("set_chunk_automerge"), {"segments": at["automerge"]})
    connection.execute(load("set_chunk_crisismerge"), {"segments": at["crisismerge"]})
