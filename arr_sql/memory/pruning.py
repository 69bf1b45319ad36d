"""Pruning: removing old retrieval records, because somebody asked for it and said how old.

Only these may go: what was asked long ago and how it was answered. The audit log keeps the event of each retrieval, with
the hash of its record, and the event ``retrievals_pruned`` says how many records went, and by one hash which; so
`arr audit verify` still finds a record that is missing without it. A pruned retrieval can't be run again, and
`arr replay` says so. Earlier chunks, vectors and memories stay: records that are left are replayed on them.
Held by tests/memory/test_pruning.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from arr_sql.core.canonical import sha256_json
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.row_vouching import vouch_for_ids
from arr_sql.memory.scope_store import read_scope


@dataclass(frozen=True)
class PrunePlan:
    """What pruning one scope would remove. ``bytes`` are about those that it frees inside the file."""

    before: str
    """Records older than this time go (UTC, ISO 8601), the newest one excepted."""
    records: int = 0
    evidence: int = 0
    bytes: int = 0
    oldest: str | None = None
    newest: str | None = None
    kept_chunks: int = 0
    kept_chunk_bytes: int = 0
    """Earlier chunks (texts that were changed or removed since) stay, for replay."""
    kept_vectors: int = 0
    kept_vector_bytes: int = 0


def plan_pruning(connection: Connection, scope: ScopeKey, now: datetime, days: int) -> PrunePlan:
    """What is older than ``days`` days in ``scope``. Reads only."""
    before = to_text(now - timedelta(days=days))
    row = read_scope(connection, scope)
    if row is None:
        return PrunePlan(before)
    found = _old_records(connection, row.id, before)
    kept = connection.execute(load("read_kept_history"), {"scope_id": row.id}).fetchone()
    return PrunePlan(
        before, len(found), sum(item["n_evidence"] for item in found), sum(item["bytes"] for item in found),
        min((item["at"] for item in found), default=None), max((item["at"] for item in found), default=None),
        kept["chunks"], kept["chunk_bytes"], kept["vectors"], kept["vector_bytes"],
    )  # fmt: skip


def prune(connection: Connection, scope: ScopeKey, *, before: str, actor: str, now: datetime) -> int:
    """Remove the records that are older than ``before``, with their event; how many. Call inside a write transaction."""
    row = read_scope(connection, scope)
    found = _old_records(connection, row.id, before) if row is not None else []
    if row is None or not found:
        return 0
    values = {"scope_id": row.id, "through": found[-1]["scope_seq"]}
    connection.execute(load("remove_pruned_evidence"), values)
    connection.execute(load("remove_pruned_retrievals"), values)
    append_event(
        connection, scope_id=row.id, revision=row.revision, at=now, actor=actor, kind="retrievals_pruned",
        subject_kind="retrievals", subject_id=found[-1]["retrieval_id"], subject_hash="",
        details={
            "before": before, "records": len(found),
            "records_hash": records_hash((item["retrieval_id"], item["record_hash"]) for item in found),
        },
    )  # fmt: skip
    vouch_for_ids(connection, actor=actor, now=now)
    return len(found)


def records_hash(records: Iterable[tuple[str, str]]) -> str:
    """The hash over the ids and hashes of records in the order in which they were made."""
    return sha256_json([list(item) for item in records])


def _old_records(connection: Connection, scope_id: int, before: str) -> list[Any]:
    return connection.execute(load("read_records_to_prune"), {"scope_id": scope_id, "before": before}).fetchall()


def pruned_at(connection: Connection, scope: ScopeKey, retrieval_id: str) -> str | None:
    """When the record of a retrieval of this scope was pruned; None when it was not, or never was there."""
    values = {**scope.bindings(), "retrieval_id": retrieval_id}
    row = connection.execute(load("read_pruned_retrieval"), values).fetchone()
    return str(row["at"]) if row is not None else None
