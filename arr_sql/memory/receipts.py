"""Receipts: what somebody reports of having carried out an approved package (contract 6.3 to 6.6).

:func:`record_receipt` is the only way to write one, and it is gated: the package is approved and unchanged, the receipt
names its case and payload, the token is the one that the approval returned, and nothing in it is a credential. A token
admits exactly one receipt; the same receipt again returns the stored one. A receipt changes no memory and publishes
nothing. tests/memory/test_receipts.py
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from arr_sql.core.approval_models import (
    RECEIPT_STATUSES,
    ReceiptBody,
    VerificationRun,
    clean_text,
    event_key,
)
from arr_sql.core.canonical import canonical_json, sha256_json, sha256_text
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.secret_walk import require_plain_json
from arr_sql.core.statements import load
from arr_sql.errors import InputError, StateError
from arr_sql.memory.approval_rows import read_approval, read_rows, require_no_secret
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.scope_store import advance, ensure_scope

RECEIPT_FIELDS = (
    "package_id", "case_id", "payload_hash", "token_hash", "receipt_id", "status", "body_hash", "event_key",
    "recorded_by", "recorded_at", "added_revision",
)  # fmt: skip
_TOKEN = re.compile(r"[0-9a-f]{64}")


def receipt_hash(row: Any) -> str:
    """The hash by which the audit log vouches for a receipt."""
    return sha256_json({name: row[name] for name in RECEIPT_FIELDS})


def parse_body(body: Any) -> ReceiptBody:
    """The body of a receipt. Raises InputError naming the field that is wrong, or the place of a credential. Pure."""
    if not isinstance(body, Mapping):
        raise InputError('The body must be a JSON object, for example {"evidence_refs": ["runs/r8.log"]}.')
    require_plain_json(dict(body), "body")
    require_no_secret(body, "body")
    try:
        return ReceiptBody(**{str(name): value for name, value in body.items()})
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "extra_forbidden":
            allowed = ", ".join(ReceiptBody.model_fields)
            raise InputError(f"A receipt's body holds only {allowed}. Take the rest out.") from None
        raise InputError(f"The body's {'.'.join(map(str, first['loc'][:2]))} is wrong: {first['msg']}.") from None


def record_receipt(
    connection: Connection, scope: ScopeKey, *, package_id: str, case_id: str, payload_hash: str, receipt_token: str,
    receipt_id: str, status: str, body: Any, actor: str, now: datetime,
) -> VerificationRun:  # fmt: skip
    """Store a receipt, or return the stored one when it is the same. Call inside a write transaction.

    Raises InputError for a receipt that is malformed, holds a credential or names another case or payload; StateError
    when the package is not approved, the token is not its own, or the token has admitted a different receipt.
    """
    parsed = parse_body(body)
    text = canonical_json(parsed.model_dump(mode="json"))
    if status not in RECEIPT_STATUSES:
        raise InputError(f"The receipt's status must be one of {', '.join(RECEIPT_STATUSES)}. Choose one.")
    receipt_id = clean_text("receipt id", receipt_id)
    require_no_secret(receipt_id, "receipt id")
    recorder = clean_text("name of the person who acts", actor, next_step="Set ARR_ACTOR to your name.")
    token = _token_of(receipt_token)
    if token in text.lower() or token in receipt_id.lower():
        raise InputError("The receipt holds its own token. Take it out; the token is stored nowhere.")
    package = read_approval(connection, scope, package_id, now=now)
    if package.status != "approved":
        raise StateError(f"Package '{package_id}' is {package.status}. Only an approved package takes a receipt.")
    if case_id != package.case_id or payload_hash != package.payload_hash:
        what = "case" if case_id != package.case_id else "payload hash"
        raise InputError(
            f"The receipt names another {what} than package '{package_id}'. See `arr approval show {package_id}`."
        )
    (row,) = read_rows(connection, scope, package_id=package.package_id)
    if not hmac.compare_digest(sha256_text(token), row["token_hash"]):
        raise StateError(
            f"The receipt token is not the one that the approval of package '{package_id}' returned. Use that one."
        )
    key = event_key(package.package_id, token, receipt_id)
    if package.receipt is not None:
        same = (package.receipt.event_key, package.receipt.status, package.receipt.body_hash) == (
            key,
            status,
            sha256_text(text),
        )
        if same:
            return package.receipt
        raise StateError(
            f"The token of package '{package_id}' has admitted receipt '{package.receipt.receipt_id}' already, and this one "
            "differs. A token admits one receipt; request a new package for another."
        )
    scope_row = advance(connection, ensure_scope(connection, scope, recorder, now), is_content=False)
    values = {
        "scope_id": scope_row.id, "package_id": package.package_id, "case_id": package.case_id,
        "payload_hash": package.payload_hash, "token_hash": row["token_hash"], "receipt_id": receipt_id, "status": status,
        "body": text, "body_hash": sha256_text(text), "event_key": key, "recorded_by": recorder,
        "recorded_at": to_text(now), "added_revision": scope_row.revision,
    }  # fmt: skip
    connection.execute(load("add_verification_receipt"), values)
    append_event(
        connection, scope_id=scope_row.id, revision=scope_row.revision, at=now, actor=recorder, kind="receipt_recorded",
        subject_kind="verification_receipt", subject_id=key, subject_hash=receipt_hash(values),
        details={
            "package": package.package_id, "case": package.case_id, "receipt": receipt_id, "status": status,
            "payload_hash": package.payload_hash, "body_hash": values["body_hash"],
        },
    )  # fmt: skip
    stored = read_approval(connection, scope, package.package_id, now=now).receipt
    assert stored is not None
    return stored


def _token_of(value: Any) -> str:
    """Raises InputError, which does not repeat the value, unless it is 64 hex digits."""
    text = value.strip().lower() if isinstance(value, str) else ""
    if not _TOKEN.fullmatch(text):
        raise InputError("The receipt token must be the 64 hex digits that the approval returned. Give those.")
    return text
