"""Retrieval records (contract 7.3): what was asked, what was answered, and all that a replay needs.

The id counts the scope's own retrievals, so it reveals nothing about other scopes; none is given twice, also when all
records were forgotten (tests/memory/test_forgetting_names.py). The record and its audit event
commit together; the event's hash vouches for the record.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from arr_sql.core.canonical import canonical_json, sha256_json, sha256_text
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.redaction import redact
from arr_sql.core.research_models import EvidenceChunk, ScopeKey
from arr_sql.core.router_models import Degradation, QueryPlan, Rejection, ToolTrace
from arr_sql.core.statements import load
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.scope_store import ensure_scope

RECORD_FIELDS = (
    "scope_seq", "retrieval_id", "at", "actor", "query", "query_hash", "plan", "plan_origin", "limits",
    "scope_revision", "analyser_version", "index_version", "model_fingerprint", "query_vectors", "policy_hash",
    "traces", "rejections", "degradations", "partial", "state", "n_evidence", "duration_ms", "language_model",
)  # fmt: skip
PlanOrigin = Literal["rules", "caller", "model"]
EVIDENCE_FIELDS = (
    "rank", "chunk_id", "content_hash", "source_ref", "locator", "channels", "rrf_score", "rerank_score",
    "rerank_reason", "freshness",
)  # fmt: skip

ERASED = "(erased)"
"""Stands in a record where a forgotten name or query stood; a record's own query is NULL then."""
HASHED = "(hash) "
"""Stands before the hash of a rewritten query, where queries are kept as hashes."""


class RetrievalRecord(NamedTuple):
    """What is to be kept of one retrieval."""

    query: str
    plan: QueryPlan
    plan_origin: PlanOrigin
    limits: Mapping[str, Any]
    scope_revision: int
    analyser_version: str
    index_version: str
    model_fingerprint: str | None
    query_vectors: Mapping[str, bytes]
    policy_hash: str
    evidence: Sequence[EvidenceChunk]
    traces: Sequence[ToolTrace]
    rejections: Sequence[Rejection]
    degradations: Sequence[Degradation]
    partial: bool
    state: str
    duration_ms: float
    language_model: Mapping[str, Any] | None = None
    """What a model advised: codes, numbers, ids and versions; no text of its own."""


def retrieval_id(scope: ScopeKey, scope_seq: int, query_hash: str) -> str:
    """``r`` and the scope's count, then 8 hex digits over scope, count and query."""
    return f"r{scope_seq}-{sha256_json([*scope.values(), scope_seq, query_hash])[:8]}"


def record_hash(row: Mapping[str, Any], evidence: Sequence[Mapping[str, Any]]) -> str:
    """The hash by which the audit log vouches for a record and its evidence rows.

    ``language_model`` counts only where it is: records made before the column existed keep their hash.
    """
    return sha256_json(
        [
            {name: row[name] for name in RECORD_FIELDS if name != "language_model" or row[name] is not None},
            [{name: item[name] for name in EVIDENCE_FIELDS} for item in evidence],
        ]
    )


def add_retrieval(
    connection: Connection, scope: ScopeKey, record: RetrievalRecord, *, actor: str, now: datetime, keep_query: bool
) -> str:
    """Write the record, its evidence and its event; the new id. Call inside a write transaction."""
    scope_row = ensure_scope(connection, scope, actor, now)
    last = connection.execute(load("read_last_retrieval_seq"), {"scope_id": scope_row.id}).fetchone()["scope_seq"]
    # An unpaired surrogate can't be stored as text; the hash is over what was asked.
    query_hash = sha256_text(record.query)
    kept = redact(record.query).encode("utf-8", "replace").decode() if keep_query else None
    row: dict[str, Any] = {
        "scope_id": scope_row.id, "scope_seq": last + 1, "retrieval_id": retrieval_id(scope, last + 1, query_hash),
        "at": to_text(now), "actor": actor, "query": kept, "query_hash": query_hash, "plan": _kept_plan(record.plan, keep_query),
        "plan_origin": record.plan_origin, "limits": canonical_json(dict(record.limits)),
        "scope_revision": record.scope_revision, "analyser_version": record.analyser_version,
        "index_version": record.index_version, "model_fingerprint": record.model_fingerprint,
        "query_vectors": canonical_json(
            {sha256_text(query): base64.b64encode(vector).decode() for query, vector in record.query_vectors.items()}
        ),
        "policy_hash": record.policy_hash, "traces": _dump(record.traces), "rejections": _dump(record.rejections),
        "degradations": _dump(record.degradations), "partial": int(record.partial), "state": record.state,
        "n_evidence": len(record.evidence), "duration_ms": round(record.duration_ms, 3),
        "language_model": canonical_json(dict(record.language_model)) if record.language_model is not None else None,
    }  # fmt: skip
    evidence = [_evidence_row(rank, item) for rank, item in enumerate(record.evidence, 1)]
    row["record_hash"] = record_hash(row, evidence)
    row_id = connection.execute(load("add_retrieval"), row).lastrowid
    assert row_id is not None
    connection.executemany(
        load("add_retrieval_evidence"), [{**item, "retrieval": row_id, "scope_id": scope_row.id} for item in evidence]
    )
    append_event(
        connection, scope_id=scope_row.id, revision=record.scope_revision, at=now, actor=actor, kind="retrieval",
        subject_kind="retrieval", subject_id=row["retrieval_id"], subject_hash=row["record_hash"],
        details={"state": record.state, "partial": record.partial, "evidence": len(evidence),
                 "codes": sorted({str(d.code) for d in record.degradations} | {str(r.code) for r in record.rejections})},
    )  # fmt: skip
    return str(row["retrieval_id"])


def read_evidence(connection: Connection, retrieval: int) -> list[Any]:
    """The evidence rows of one record (by its row id) in order, each with its text where the store still has it."""
    return connection.execute(load("read_retrieval_evidence"), {"retrieval": retrieval}).fetchall()


def read_retrievals(
    connection: Connection, scope: ScopeKey, retrieval_id: str | None = None, limit: int = 20
) -> list[dict[str, Any]]:
    """Records of ``scope`` as plain values, newest first, each with its ``evidence``; one when an id is given."""
    rows = connection.execute(
        load("read_retrieval"), {**scope.bindings(), "retrieval_id": retrieval_id, "limit": limit}
    ).fetchall()
    records = []
    for row in rows:
        record = {name: row[name] for name in row.keys() if name != "id"}  # noqa: SIM118  sqlite3.Row has no items()
        for name in ("plan", "limits", "traces", "rejections", "degradations"):
            record[name] = json.loads(row[name])
        if row["language_model"] is not None:
            record["language_model"] = json.loads(row["language_model"])
        record["partial"] = bool(row["partial"])
        record["evidence"] = [
            {**dict(item), "channels": json.loads(item["channels"])} for item in read_evidence(connection, row["id"])
        ]
        records.append(record)
    return records


def _kept_plan(plan: QueryPlan, keep_query: bool) -> str:
    """The plan as JSON; its rewritten queries are kept as the query is."""
    value = plan.model_dump(mode="json")
    for call in (call for calls in value["tool_rounds"] for call in calls):
        if call["query"] is not None:
            kept = redact(call["query"]).encode("utf-8", "replace").decode()
            call["query"] = kept if keep_query else f"{HASHED}{sha256_text(call['query'])}"
    return canonical_json(value)


def _evidence_row(rank: int, item: EvidenceChunk) -> dict[str, Any]:
    return {
        "rank": rank, "chunk_id": item.chunk_id, "content_hash": item.content_hash, "source_ref": item.source_ref,
        "locator": item.locator, "channels": _dump(item.channels), "rrf_score": item.rrf_score,
        "rerank_score": item.rerank_score, "rerank_reason": item.rerank_reason, "freshness": item.freshness,
    }  # fmt: skip


def _dump(items: Sequence[Any]) -> str:
    return canonical_json([item.model_dump(mode="json") for item in items])
