"""Reading packages with their decision and receipt: every read recomputes the hashes (contract 6.1).

A package whose payload, decision or receipt is not what its hash says is never handed out; the error names it.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from arr_sql.core.approval_models import (
    ApprovalDecision,
    ApprovalPackage,
    PackageStatus,
    ReceiptBody,
    VerificationRun,
    package_status,
    person_key,
)
from arr_sql.core.canonical import sha256_text
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.secret_walk import find_secret
from arr_sql.core.statements import load
from arr_sql.errors import AuditChainBroken, InputError


def read_approval(connection: Connection, scope: ScopeKey, package_id: str, *, now: datetime) -> ApprovalPackage:
    """One package with decision and receipt, its hashes recomputed.

    Raises InputError when the scope has no such package, AuditChainBroken when a hash is not that of its text.
    """
    found = read_packages(connection, scope, now=now, package_id=package_id)
    if not found:
        raise InputError(f"There is no approval package '{package_id}' in this scope. See `arr approval list`.")
    return found[0]


def list_approvals(
    connection: Connection,
    scope: ScopeKey,
    *,
    now: datetime,
    status: PackageStatus | None = None,
    case_id: str | None = None,
) -> list[ApprovalPackage]:
    """Packages of the scope, newest first; of one status by the clock passed in, or of one case."""
    found = read_packages(connection, scope, now=now, case_id=case_id)
    return [package for package in found if status in (None, package.status)]


def read_packages(
    connection: Connection, scope: ScopeKey, *, now: datetime, **filters: str | None
) -> list[ApprovalPackage]:
    """Packages of the scope, newest first; ``package_id`` and ``case_id`` filter."""
    return [_package_of(row, scope, now) for row in read_rows(connection, scope, **filters)]


def read_rows(
    connection: Connection, scope: ScopeKey, *, package_id: str | None = None, case_id: str | None = None
) -> list[Any]:
    """Packages joined with decision and receipt as they are stored, unchecked."""
    values = {**scope.bindings(), "package_id": package_id, "case_id": case_id}
    return connection.execute(load("read_approvals"), values).fetchall()


def require_true(row: Any) -> None:
    """Raises AuditChainBroken unless package, decision and receipt are what their hashes say and belong together."""
    wrong = None
    if sha256_text(row["payload"]) != row["payload_hash"]:
        wrong = "its payload is not the one that was requested"
    elif row["outcome"] is not None and row["decided_hash"] != row["payload_hash"]:
        wrong = "its decision is about another payload"
    elif row["outcome"] in ("approved", "rejected") and person_key(row["decided_by"]) == person_key(
        row["requested_by"]
    ):
        wrong = "it was decided by the person who requested it"
    elif row["receipt_id"] is not None and (
        sha256_text(row["body"]) != row["body_hash"] or row["receipt_payload_hash"] != row["payload_hash"]
    ):
        wrong = "its receipt is not the one that was recorded"
    if wrong:
        raise AuditChainBroken(
            f"Approval package '{row['package_id']}' was changed: {wrong}. Don't act on it; run `arr audit verify`."
        )


def _package_of(row: Any, scope: ScopeKey, now: datetime) -> ApprovalPackage:
    require_true(row)
    decision = receipt = None
    if row["outcome"] is not None:
        decision = ApprovalDecision(
            package_id=row["package_id"], outcome=row["outcome"], payload_hash=row["decided_hash"],
            decided_by=row["decided_by"], decided_at=row["decided_at"], reason=row["reason"],
            revision=row["decided_revision"],
        )  # fmt: skip
    if row["receipt_id"] is not None:
        receipt = VerificationRun(
            package_id=row["package_id"], case_id=row["case_id"], payload_hash=row["receipt_payload_hash"],
            receipt_id=row["receipt_id"], status=row["receipt_status"], body=ReceiptBody(**json.loads(row["body"])),
            body_hash=row["body_hash"], event_key=row["event_key"], recorded_by=row["recorded_by"],
            recorded_at=row["recorded_at"], revision=row["recorded_revision"],
        )  # fmt: skip
    return ApprovalPackage(
        package_id=row["package_id"], scope=scope, case_id=row["case_id"], case_hash=row["case_hash"],
        payload=json.loads(row["payload"]), payload_hash=row["payload_hash"], risk_level=row["risk_level"],
        status=package_status(row["outcome"], row["expires_at"], to_text(now)), requested_by=row["requested_by"],
        requested_at=row["requested_at"], expires_at=row["expires_at"], revision=row["added_revision"],
        decision=decision, receipt=receipt,
    )  # fmt: skip


def require_no_secret(value: Any, what: str) -> None:
    """Raises InputError, naming the place, when ``value`` holds a credential anywhere."""
    place = find_secret(value, what)
    if place is not None:
        raise InputError(f"The {place} holds what looks like a credential. Take it out; others will read it.")
