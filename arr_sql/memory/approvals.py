"""Approval packages and decisions: recorded, never executed (contract 6.1, 6.2), and the gate before publishing (5.2).

A package freezes a JSON payload for a ``research_case``; another person approves or rejects it within 24 hours. Rows are
only added, so what was asked and what was decided can't change afterwards; every read recomputes the hashes. Approving
names the payload's hash, so nobody approves what they were not shown. A one-time token, returned by the approval itself
and stored as a hash, admits one receipt (:mod:`arr_sql.memory.receipts`).

A case is *risk-bearing* when any of its versions stated a ``risk_level`` other than ``low`` in its metadata, when there is
any package for it, or when it was that in the scope or file from which it came: a copy has ``risk_carried`` in the metadata
of its first version, and versions stay. It is published only with an approved package that was made for what the case says now,
and with a ``passed`` receipt for that package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from arr_sql.core.approval_models import (
    LIFE,
    RISK_CARRIED,
    RISK_LEVELS,
    ApprovalDecision,
    ApprovalPackage,
    Outcome,
    RiskLevel,
    clean_text,
    highest_risk,
    is_risky,
    person_key,
)
from arr_sql.core.canonical import sha256_json, sha256_text
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.secret_walk import require_plain_json
from arr_sql.core.statements import load
from arr_sql.errors import InputError, StateError
from arr_sql.memory.approval_rows import read_approval, read_packages, read_rows, require_no_secret, require_true
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.scope_store import advance, ensure_scope, read_scope

CASE_FIELDS = (
    "kind", "title", "content_hash", "source_refs", "applicability", "evidence_chunk_ids", "proposed_actions", "metadata",
)  # fmt: skip
PACKAGE_FIELDS = (
    "package_id", "case_id", "case_hash", "payload_hash", "risk_level", "requested_by", "requested_by_key",
    "requested_at", "expires_at", "added_revision",
)  # fmt: skip
DECISION_FIELDS = (
    "package_id", "case_id", "payload_hash", "requested_by", "requested_by_key", "expires_at", "outcome", "decided_by",
    "decided_by_key", "decided_at", "reason", "token_hash", "added_revision",
)  # fmt: skip


def package_hash(row: Any) -> str:
    """The hash by which the audit log vouches for a package."""
    return sha256_json({name: row[name] for name in PACKAGE_FIELDS})


def decision_hash(row: Any) -> str:
    """The hash by which the audit log vouches for a decision."""
    return sha256_json({name: row[name] for name in DECISION_FIELDS})


def request_approval(
    connection: Connection, scope: ScopeKey, *, case_id: str, payload: Mapping[str, Any], risk_level: str,
    package_id: str | None, actor: str, now: datetime,
) -> ApprovalPackage:  # fmt: skip
    """Freeze ``payload`` for a case and ask for a decision. Call inside a write transaction.

    Raises InputError for an unknown case, a payload that is no JSON object or holds a credential; StateError when the
    case may not have a package or the id is taken.
    """
    if risk_level not in RISK_LEVELS:
        raise InputError(f"The risk level must be one of {', '.join(RISK_LEVELS)}. Choose the highest that applies.")
    if not isinstance(payload, Mapping):
        raise InputError('The payload must be a JSON object, for example {"plan": "..."}.')
    text = require_plain_json(dict(payload), "payload")
    require_no_secret(payload, "payload")
    requester = clean_text("name of the person who acts", actor, next_step="Set ARR_ACTOR to your name.")
    case = _read_case(connection, scope, case_id)
    if case is None:
        raise InputError(f"There is no memory '{case_id}' in this scope. See `arr memory list`.")
    _require_case(case, risk_level)
    hash_, moment = sha256_text(text), to_text(now)
    package_id = package_id or f"p{sha256_json([case_id, hash_, moment, requester])[:12]}"
    package_id = clean_text("package id", package_id)
    require_no_secret(package_id, "package id")
    if read_rows(connection, scope, package_id=package_id):
        raise StateError(f"Package '{package_id}' exists in this scope already. Choose another --id, or leave it out.")
    scope_row = advance(connection, ensure_scope(connection, scope, requester, now), is_content=False)
    row = {
        "scope_id": scope_row.id, "package_id": package_id, "case_id": case["memory_id"], "case_hash": case_hash(case),
        "payload": text, "payload_hash": hash_, "risk_level": risk_level, "requested_by": requester,
        "requested_by_key": person_key(requester), "requested_at": moment, "expires_at": to_text(now + LIFE),
        "added_revision": scope_row.revision,
    }  # fmt: skip
    connection.execute(load("add_approval_package"), row)
    append_event(
        connection, scope_id=scope_row.id, revision=scope_row.revision, at=now, actor=requester,
        kind="approval_requested", subject_kind="approval_package", subject_id=package_id,
        subject_hash=package_hash(row),
        details={"case": row["case_id"], "payload_hash": hash_, "risk_level": risk_level, "expires_at": row["expires_at"]},
    )  # fmt: skip
    return read_approval(connection, scope, package_id, now=now)


def case_hash(row: Any) -> str:
    """The hash of what a case says; its status, times and people aside."""
    return sha256_json({name: row[name] for name in CASE_FIELDS})


def _require_case(case: Any, risk_level: RiskLevel) -> None:
    name = case["memory_id"]
    if case["kind"] != "research_case":
        raise StateError(
            f"Memory '{name}' is of kind {case['kind']}; only a research_case is approved. Add one with `--kind research_case`."
        )
    if case["status"] == "revoked":
        raise StateError(f"Case '{name}' is revoked, which is final. Add a new one.")
    metadata = json.loads(case["metadata"])
    stated = highest_risk(level for level in map(metadata.get, ("risk_level", RISK_CARRIED)) if level in RISK_LEVELS)
    if stated is not None and RISK_LEVELS.index(stated) > RISK_LEVELS.index(risk_level):
        raise StateError(
            f"Case '{name}' states risk level {stated}, and the package only {risk_level}. Ask for {stated}."
        )


def decide_package(
    connection: Connection, scope: ScopeKey, package_id: str, outcome: Outcome, *, payload_hash: str | None,
    reason: str, actor: str, now: datetime, token: str,
) -> ApprovalDecision:  # fmt: skip
    """Approve or reject a pending package. Call inside a write transaction.

    ``payload_hash`` is that of the payload which the person was shown; approving needs it. ``token`` is a fresh random
    one; the returned decision carries it when it approves, and it is not stored. Raises InputError for an unknown
    package, a missing or different hash, or a credential in the reason; StateError when the package is not pending or
    the person is the one who asked.
    """
    if outcome not in ("approved", "rejected"):
        raise InputError("A decision is approved or rejected. Packages expire by themselves.")
    person = clean_text("name of the person who acts", actor, next_step="Set ARR_ACTOR to your name.")
    require_plain_json(reason, "reason")
    require_no_secret(reason, "reason")
    package = read_approval(connection, scope, package_id, now=now)
    _require_pending(package)
    if person_key(person) == person_key(package.requested_by):
        raise StateError(
            f"Package '{package_id}' was requested by {package.requested_by}. Another person has to decide it."
        )
    if (payload_hash is None and outcome == "approved") or payload_hash not in (None, package.payload_hash):
        raise InputError(
            f"Approving package '{package_id}' names the hash of the payload that you saw. "
            f"Read it with `arr approval show {package_id}` and give the hash that stands there."
        )
    decision = _decide(connection, scope, package, outcome, person=person, reason=reason.strip(), now=now, token=token)
    return decision.model_copy(update={"receipt_token": token if outcome == "approved" else None})


def _require_pending(package: ApprovalPackage) -> None:
    if package.status == "expired":
        raise StateError(
            f"Package '{package.package_id}' expired at {package.expires_at}, which is final. Request a new one."
        )
    if package.status != "pending":
        raise StateError(
            f"Package '{package.package_id}' is {package.status} already, which is final. Request a new one."
        )


def _decide(
    connection: Connection, scope: ScopeKey, package: ApprovalPackage, outcome: Outcome, *, person: str, reason: str,
    now: datetime, token: str | None,
) -> ApprovalDecision:  # fmt: skip
    scope_row = advance(connection, ensure_scope(connection, scope, person, now), is_content=False)
    row = {
        "scope_id": scope_row.id, "package_id": package.package_id, "case_id": package.case_id,
        "payload_hash": package.payload_hash, "requested_by": package.requested_by,
        "requested_by_key": person_key(package.requested_by), "expires_at": package.expires_at, "outcome": outcome,
        "decided_by": person, "decided_by_key": person_key(person), "decided_at": to_text(now), "reason": reason,
        "token_hash": sha256_text(token) if token and outcome == "approved" else None,
        "added_revision": scope_row.revision,
    }  # fmt: skip
    connection.execute(load("add_approval_decision"), row)
    append_event(
        connection, scope_id=scope_row.id, revision=scope_row.revision, at=now, actor=person, kind=f"approval_{outcome}",
        subject_kind="approval_decision", subject_id=package.package_id, subject_hash=decision_hash(row),
        details={"case": package.case_id, "payload_hash": package.payload_hash, "token_hash": row["token_hash"]},
    )  # fmt: skip
    decided = read_approval(connection, scope, package.package_id, now=now).decision
    assert decided is not None
    return decided


def expire_packages(
    connection: Connection, scope: ScopeKey, *, actor: str, now: datetime, package_id: str | None = None
) -> list[ApprovalPackage]:
    """Note the expiry of every undecided package whose time is over. Call inside a write transaction.

    Nothing depends on it: a package is expired from ``expires_at`` on, noted or not.
    """
    person = _noted_person(actor)
    over = [
        package for package in read_packages(connection, scope, now=now, package_id=package_id)
        if package.status == "expired" and package.decision is None
    ]  # fmt: skip
    for package in reversed(over):
        _decide(connection, scope, package, "expired", person=person, reason="", now=now, token=None)
    return [read_approval(connection, scope, package.package_id, now=now) for package in over]


def note_refusal(
    connection: Connection, scope: ScopeKey, *, kind: str, package_id: object, asked: str, error: str, actor: str,
    now: datetime,
) -> None:  # fmt: skip
    """The event of a refused step: ids and the kind of error, never what was refused. Also notes a package's expiry.

    Call inside a write transaction of its own: the refused step left nothing.
    """
    scope_row = read_scope(connection, scope)
    if scope_row is None:
        return
    known = isinstance(package_id, str) and bool(read_rows(connection, scope, package_id=package_id))
    append_event(
        connection, scope_id=scope_row.id, revision=scope_row.revision, at=now, actor=_noted_person(actor),
        kind=kind, subject_kind="approval_package", subject_id=str(package_id) if known else "(unknown)",
        subject_hash="", details={"asked": asked, "error": error},
    )  # fmt: skip
    if known:
        expire_packages(connection, scope, actor=actor, now=now, package_id=str(package_id))


def _noted_person(actor: str) -> str:
    try:
        person_key(actor)
    except InputError:  # refused for this very name
        return "unknown"
    return actor.strip()


# --- The gate before publishing ---------------------------------------------------------------------------------------


def missing_approval(connection: Connection, scope: ScopeKey, memory_id: str) -> str:
    """What a memory of the scope lacks before it may be published, as far as approval is concerned; '' for nothing.

    Only a risk-bearing ``research_case`` needs one; see the head of this module. Raises AuditChainBroken when a package
    of the case is not what its hash says.
    """
    case = _read_case(connection, scope, memory_id)
    if case is None or case["kind"] != "research_case":
        return ""
    rows = read_rows(connection, scope, case_id=memory_id)
    if _risk(case, rows) is None:
        return ""
    for row in rows:
        require_true(row)
    approved = [row for row in rows if row["outcome"] == "approved"]
    fitting = [row for row in approved if row["case_hash"] == case_hash(case)]
    if any(row["receipt_status"] == "passed" for row in fitting):
        return ""
    if fitting:
        name = fitting[0]["package_id"]
        why = f"its approved package '{name}' has no passed receipt. Record one with `arr approval receipt`, or request a new package."
        return _refusal(memory_id, why)
    if approved:
        return _refusal(
            memory_id, "it was changed after its package was requested. Request a new one with `arr approval request`."
        )
    return _refusal(memory_id, "no package for it is approved. Ask for one with `arr approval request`.")


def risk_of(connection: Connection, scope: ScopeKey, memory_id: str) -> RiskLevel | None:
    """The highest risk that a case of the scope ever stated, carried or was approved for; None when it bears none."""
    case = _read_case(connection, scope, memory_id)
    if case is None or case["kind"] != "research_case":
        return None
    return _risk(case, read_rows(connection, scope, case_id=memory_id))


def _risk(case: Any, packages: Sequence[Any]) -> RiskLevel | None:
    stated = [level for level in json.loads(case["risk_levels"]) if is_risky(level)]
    carried = [level for level in json.loads(case["risks_carried"]) if level is not None]
    return highest_risk([*stated, *carried, *(row["risk_level"] for row in packages)])


def carrying(metadata: Mapping[str, Any], risk: RiskLevel | None) -> dict[str, Any]:
    """The metadata of a case that leaves its scope, with the risk that it bears there. Pure."""
    return {**metadata, RISK_CARRIED: risk} if risk is not None else dict(metadata)


def unapproved(connection: Connection, scope: ScopeKey, memory_id: str, columns: Mapping[str, Any]) -> str:
    """What a case that comes from a file lacks before it may be kept as published; '' for nothing.

    Whether it bears risk only the scope that it comes from could show, and a file can be changed. So every case needs what
    this scope can show itself: a package for it that was approved for what it says, with a passed receipt.
    """
    if columns["kind"] != "research_case":
        return ""
    rows = [row for row in read_rows(connection, scope, case_id=memory_id) if row["outcome"] == "approved"]
    for row in rows:
        require_true(row)
        if row["receipt_status"] == "passed" and row["case_hash"] == case_hash(columns):
            return ""
    return (
        f"Case '{memory_id}' can't be kept as published: what was approved elsewhere does not count here, and no package for "
        "it is approved in this scope. Import it as a candidate, and publish it here."
    )


def _refusal(memory_id: str, why: str) -> str:
    return f"Case '{memory_id}' is risk-bearing and can't be published: {why}"


def _read_case(connection: Connection, scope: ScopeKey, memory_id: str) -> Any:
    return connection.execute(load("read_case"), {**scope.bindings(), "memory_id": memory_id}).fetchone()
