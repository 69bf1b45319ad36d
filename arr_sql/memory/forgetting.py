"""Erasing what was asked to be forgotten: rows, postings, vectors, history and names, in one transaction with a receipt.

Either everything of a plan goes, with its receipt and its event, or nothing does. What SQLite and FTS5 leave behind in
pages is the business of :mod:`arr_sql.memory.forget_proof`, which follows. Held by tests/memory/test_forgetting.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from arr_sql.core.canonical import canonical_json, sha256_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.row_hashes import source_version_hash
from arr_sql.core.statements import load
from arr_sql.index.line_rows import drop_line_index
from arr_sql.index.text_index import IndexDrift, has_text_index, note_current, rebuild_text_index, remove_terms
from arr_sql.memory.forget_plan import ForgetPlan, is_asked
from arr_sql.memory.forget_receipts import Subject, add_receipt
from arr_sql.memory.research_store import memory_hash
from arr_sql.memory.retrieval_log import ERASED, record_hash
from arr_sql.memory.row_vouching import vouch_for_ids, vouch_for_left_out
from arr_sql.memory.scope_store import advance

NO_TEXT = sha256_text("")
"""The hash in a receipt for a row that holds no text of its own, or a name too short to be hashed alone."""


def erase(connection: Connection, scope: ScopeKey, plan: ForgetPlan, *, actor: str, now: datetime) -> tuple[int, str]:
    """Carry out a plan made in the same write transaction; the receipt's row and id."""
    assert plan.scope_row is not None
    scope_row = advance(connection, plan.scope_row, is_content=True)
    rewritten = (
        [] if plan.request.whole_scope else [_rewritten(plan, row, evidence) for row, evidence in plan.retrievals]
    )
    receipt = add_receipt(
        connection, scope, scope_row.id, target=plan.request.target, revision=scope_row.revision, counts=plan.counts(),
        text_hashes=[sha256_text(text) for text in plan.texts()], actor=actor, now=now,
        subjects=list(_subjects(connection, plan, scope_row.id, [row for row, _ in rewritten])),
    )  # fmt: skip
    is_drifted = _remove_terms(connection, plan, scope_row.id)
    if (
        plan.sources or plan.left_out or plan.roots
    ):  # it holds names, and bits made of the texts; the next sync makes it anew
        drop_line_index(connection, scope_row.id, keep_wanted=not plan.request.whole_scope)
    for statement, rows in _removals(plan):
        if rows:
            connection.execute(statement, {"ids": json.dumps(rows)})
    for row, evidence in rewritten:
        connection.execute(load("set_retrieval_erased"), row)
        for item in evidence:
            connection.execute(load("set_evidence_erased"), {**item, "retrieval": row["id"]})
    for root_id in sorted({row["root_id"] for row in plan.left_out} - {row["id"] for row in plan.roots}):
        vouch_for_left_out(connection, scope_row.id, root_id, scope_row.revision, actor=actor, now=now)
    vouch_for_ids(connection, actor=actor, now=now)
    if is_drifted:  # the index holds terms that can't be reproduced: only an index made anew is without them
        rebuild_text_index(connection)
    note_current(connection, scope_row.id, scope_row.content_revision)
    return receipt


def _subjects(
    connection: Connection, plan: ForgetPlan, scope_id: int, rewritten: Sequence[dict[str, Any]]
) -> Iterator[Subject]:
    def vouching(kind: str, name: str) -> str:
        values = {"scope_id": scope_id, "kind": kind, "subject_id": name}
        row = connection.execute(load("read_vouching_hash"), values).fetchone()
        return str(row["subject_hash"]) if row else ""

    for row in plan.memories:
        yield Subject("memory", row["memory_id"], memory_hash(row), row["content_hash"], revision=row["added_revision"])
    for row in plan.packages:
        yield Subject(
            "approval_package", row["package_id"], vouching("approval_package", row["package_id"]), row["payload_hash"]
        )
        if row["decision"] is not None:
            before = vouching("approval_decision", row["package_id"])
            yield Subject("approval_decision", row["package_id"], before, row["payload_hash"])
        if row["receipt"] is not None:
            before = vouching("verification_receipt", row["event_key"])
            yield Subject("verification_receipt", row["event_key"], before, row["body_hash"])
    for row in plan.versions:
        yield Subject("source_version", str(row["id"]), source_version_hash(row), row["content_hash"])
    for row in plan.chunks:
        yield Subject("chunk", row["chunk_id"], "", row["content_hash"])
    for row in plan.sources:
        yield Subject("source", str(row["id"]), "", NO_TEXT)
    for row in plan.roots:
        yield Subject("root", str(row["id"]), vouching("root", str(row["id"])), NO_TEXT)
    after = {row["id"]: row["record_hash"] for row in rewritten}
    for row, evidence in plan.retrievals:
        yield Subject(
            "retrieval", row["retrieval_id"], record_hash(row, evidence), row["query_hash"], after.get(row["id"])
        )


def _remove_terms(connection: Connection, plan: ForgetPlan, scope_id: int) -> bool:
    """Take the live rows out of the text index; True when that needs an index made anew."""
    if not has_text_index(connection):
        return False
    try:
        for row in plan.chunks:
            if row["retired_revision"] is None:
                remove_terms(
                    connection, "chunk", row["id"], scope_id,
                    heading=row["heading"], body=row["content"], terms_hash=row["terms_hash"],
                )  # fmt: skip
        for row in plan.memories:
            if row["retired_revision"] is None and row["status"] == "published":
                remove_terms(
                    connection, "memory", row["id"], scope_id,
                    heading=row["title"], body=row["content"], terms_hash=row["terms_hash"],
                )  # fmt: skip
    except IndexDrift:
        return True
    return False


def _removals(plan: ForgetPlan) -> Iterator[tuple[str, list[int]]]:
    """The statements that erase rows, each with the ids it takes, in an order that foreign keys allow."""
    yield load("remove_vectors"), [row["id"] for row in plan.vectors]
    yield load("remove_chunks"), [row["id"] for row in plan.chunks]
    yield load("remove_source_stats"), [row["id"] for row in plan.sources]
    yield load("remove_source_versions"), [row["id"] for row in plan.versions]
    yield load("remove_sources"), [row["id"] for row in plan.sources]
    yield load("remove_left_out_names"), [[row["root_id"], row["path_in_root"]] for row in plan.left_out]  # type: ignore[misc]
    yield load("remove_roots"), [row["id"] for row in plan.roots]
    yield load("remove_verification_receipts"), [row["receipt"] for row in plan.packages if row["receipt"] is not None]
    yield load("remove_approval_decisions"), [row["decision"] for row in plan.packages if row["decision"] is not None]
    yield load("remove_approval_packages"), [row["id"] for row in plan.packages]
    yield load("remove_memory_vectors"), [row["id"] for row in plan.memory_vectors]
    yield load("remove_memories"), [row["id"] for row in plan.memories]
    if plan.request.whole_scope:
        records = [row["id"] for row, _ in plan.retrievals]
        yield load("remove_retrieval_evidence"), records
        yield load("remove_retrievals"), records


def _rewritten(plan: ForgetPlan, row: Any, evidence: Sequence[Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A record and its evidence without the forgotten texts, under a new hash. What was returned stays told by hash."""
    made = dict(row)
    content = json.loads(row["plan"])
    for call in (call for calls in content["tool_rounds"] for call in calls):
        if call["query"] and plan.forgets_query(row, call["query"]):
            call["query"] = ERASED
    lost = plan.lost_vectors(row)
    if lost:
        kept_vectors = {name: item for name, item in json.loads(row["query_vectors"]).items() if name not in lost}
        made["query_vectors"] = canonical_json(kept_vectors)
    if is_asked(row):
        made["query"] = None
        content["reason"] = ""
    made["plan"] = canonical_json(content)
    items = []
    for item in evidence:
        kept = dict(item)
        if plan.forgets_evidence(row, item):
            kept |= {"source_ref": ERASED, "locator": ERASED}
        items.append(kept)
    made["record_hash"] = record_hash(made, items)
    return made, [item for item in items if item["source_ref"] == ERASED]
