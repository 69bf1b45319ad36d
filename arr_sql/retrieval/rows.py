"""From a row of a search statement to a :class:`Hit`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from arr_sql.core.canonical import significant
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey, memory_name
from arr_sql.core.statements import load
from arr_sql.retrieval.catalog import FileRef, Hit

HitsByRow = Callable[[Connection, ScopeKey, Iterable[int]], dict[int, Hit]]
"""A way to :func:`hits_by_row`."""


def chunk_hit(row: Any, scope: ScopeKey, rank: int, score: float, extra: Mapping[str, Any] | None = None) -> Hit:
    """The hit for a chunk row (the columns that all search_* statements over chunks share)."""
    metadata = {"title": row["title"], "heading": row["heading"], "kind": row["kind"], "reader": row["reader"],
                "start_line": row["start_line"], "end_line": row["end_line"]}  # fmt: skip
    for name in ("git_commit", "git_state"):
        if row[name] is not None:
            metadata[name] = row[name]
    return Hit(
        chunk_id=row["chunk_id"], scope=scope, rank=rank, score=significant(score), source_ref=row["source_ref"],
        locator=row["locator"], content=row["content"], content_hash=row["content_hash"], heading=row["heading"],
        created_at=row["created_at"], file=FileRef(row["root_id"], row["path_in_root"], row["file_hash"]),
        metadata={**metadata, **(extra or {})},
    )  # fmt: skip


def memory_hit(row: Any, scope: ScopeKey, rank: int, score: float) -> Hit:
    """The hit for a memory row (the columns that search_memory and search_memory_vectors share)."""
    metadata: dict[str, Any] = {
        "title": row["title"], "kind": row["kind"], "confidence": row["confidence"],
        "source_refs": json.loads(row["source_refs"]), "memory_id": row["memory_id"],
    }  # fmt: skip
    losers = json.loads(row["conflict_losers"])
    if losers:
        metadata["conflict_losers"] = losers
    if row["expires_at"] is not None:
        metadata["expires_at"] = row["expires_at"]
    return Hit(
        chunk_id=memory_name(row["memory_id"]), scope=scope, rank=rank, score=significant(score),
        source_ref=memory_name(row["memory_id"]), locator=f"revision {row['revision']}", content=row["content"],
        content_hash=row["content_hash"], heading=row["title"], created_at=row["created_at"], metadata=metadata,
    )  # fmt: skip


def hits_by_row(reader: Connection, scope: ScopeKey, chunks: Iterable[int]) -> dict[int, Hit]:
    """The live chunks of this scope with these row ids as hits that have no rank and no score yet, by row id."""
    return {chunk: chunk_hit(row, scope, 0, 0.0) for chunk, row in chunks_by_row(reader, scope, chunks).items()}


def chunks_by_row(reader: Connection, scope: ScopeKey, chunks: Iterable[int]) -> dict[int, Any]:
    """The live chunks of this scope with these row ids, whole, by row id."""
    wanted = {**scope.bindings(), "chunks": json.dumps(sorted(set(chunks)))}
    return {row["chunk"]: row for row in reader.execute(load("search_chunks_by_row"), wanted)}


def ranked(scored: list[tuple[float, str, Any]]) -> list[tuple[float, str, Any]]:
    """Best first: by score at 12 significant digits, then by id, so that equal scores have one order everywhere."""
    return sorted(
        ((significant(score), chunk_id, row) for score, chunk_id, row in scored), key=lambda item: (-item[0], item[1])
    )
