"""Events that vouch for rows which are no version of anything: roots, models, vectors, lists of what was left out, ids.

Written in the transaction that writes the rows; :mod:`arr_sql.memory.row_verify` compares them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Any

from arr_sql.core.connection import Connection
from arr_sql.core.research_models import memory_name
from arr_sql.core.row_hashes import ids_hash, left_out_hash, model_hash, root_hash, vectors_hash
from arr_sql.core.statements import load
from arr_sql.memory.audit_log import append_event


def hash_of_root(connection: Connection, root_id: int) -> str:
    """What the event ``root_added`` says of a root's row."""
    return root_hash(connection.execute(load("read_root_row"), {"id": root_id}).fetchone())


def hashes_of_vectors(connection: Connection, chunk_rows: Iterable[int], revision: int) -> dict[str, str]:
    """For each chunk id, the hash over the vectors that its row got at ``revision``."""
    rows = connection.execute(
        load("read_added_vectors"), {"chunks": json.dumps(list(chunk_rows)), "revision": revision}
    )
    return {chunk_id: vectors_hash(list(mine)) for chunk_id, mine in groupby(rows, lambda row: row["chunk_id"])}


def hashes_of_memory_vectors(connection: Connection, memory_rows: Iterable[int], revision: int) -> dict[str, str]:
    """As :func:`hashes_of_vectors`, for versions of memories, by the name that evidence gives them."""
    rows = connection.execute(
        load("read_added_memory_vectors"), {"memories": json.dumps(list(memory_rows)), "revision": revision}
    )
    groups = groupby(rows, lambda row: row["memory_id"])
    return {memory_name(memory_id): vectors_hash(list(mine)) for memory_id, mine in groups}


def vouch_for_model(connection: Connection, fingerprint: str, *, actor: str, now: datetime) -> None:
    """Append the event of a model's new row. It belongs to the file, not to a scope."""
    row = connection.execute(load("read_model_row"), {"fingerprint": fingerprint}).fetchone()
    append_event(
        connection, scope_id=None, revision=None, at=now, actor=actor, kind="model_added",
        subject_kind="embedding_model", subject_id=fingerprint, subject_hash=model_hash(row), details={},
    )  # fmt: skip


def vouch_for_left_out(
    connection: Connection, scope_id: int, root_id: int, revision: int, *, actor: str, now: datetime
) -> None:
    """Append the event of a root's new list of what was left out; the last one counts."""
    rows: list[Any] = connection.execute(
        load("read_left_out_of_root"), {"scope_id": scope_id, "root_id": root_id}
    ).fetchall()
    append_event(
        connection, scope_id=scope_id, revision=revision, at=now, actor=actor, kind="left_out_noted",
        subject_kind="left_out", subject_id=str(root_id), subject_hash=left_out_hash(rows), details={"paths": len(rows)},
    )  # fmt: skip


def row_ids(connection: Connection) -> Iterator[tuple[str, list[int]]]:
    """Each table that holds rows, with their numbers in order."""
    for name, group in groupby(connection.execute(load("read_row_ids")), lambda row: row["name"]):
        yield name, [row["id"] for row in group]


def vouch_for_ids(connection: Connection, *, actor: str, now: datetime) -> None:
    """Append the event that holds how the tables' rows are numbered, for the whole file: an erasure leaves gaps.

    Of each table: how many rows, the highest number, and a hash over all of them. Later rows follow without a gap.
    """
    tables = {name: [len(ids), ids[-1], ids_hash(ids)] for name, ids in row_ids(connection)}
    append_event(
        connection, scope_id=None, revision=None, at=now, actor=actor, kind="ids_noted", subject_kind="file",
        subject_id="", subject_hash="", details={"tables": tables},
    )  # fmt: skip
