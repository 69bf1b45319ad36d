"""The append-only, hash-chained audit log (contract 7.1): appending and reading.

``hash = SHA-256(prev_hash || canonical event)``. The canonical event names its scope by the five values, so a scope
row that is changed behind the log's back breaks the chain too. Events never hold texts: a text's row is vouched for by
``subject_hash``. Verification is in :mod:`arr_sql.memory.audit_verify`.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from arr_sql.core.canonical import canonical_json, sha256_text
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import SCOPE_COLUMNS, AuditEvent, ScopeKey
from arr_sql.core.statements import load

GENESIS = "0" * 64


def current_actor() -> str:
    """Who acts: ``ARR_ACTOR``, else the system's user name, else ``unknown``."""
    name = os.environ.get("ARR_ACTOR", "").strip()
    if name:
        return name
    try:
        return getpass.getuser() or "unknown"
    except (OSError, KeyError, ImportError):  # no such user in this container, or no pwd module
        return "unknown"


def event_hash(prev_hash: str, event: Mapping[str, Any], scope: tuple[str, ...] | None) -> str:
    """The hash of one event: SHA-256 over the previous hash and the canonical JSON of the event's fields."""
    body = {
        "seq": event["seq"], "scope": list(scope) if scope else None, "scope_seq": event["scope_seq"],
        "revision": event["revision"], "at": event["at"], "actor": event["actor"], "kind": event["kind"],
        "subject_kind": event["subject_kind"], "subject_id": event["subject_id"],
        "subject_hash": event["subject_hash"], "details": json.loads(event["details"]),
    }  # fmt: skip
    return sha256_text(prev_hash + canonical_json(body))


def last_event(connection: Connection) -> Any:
    """Number, hash and time of the file's last event; None before the first."""
    return connection.execute(load("read_last_event")).fetchone()


def hash_at(connection: Connection, seq: int) -> str | None:
    """The hash of the event of that number; None when there is none."""
    row = connection.execute(load("read_event_hash"), {"seq": seq}).fetchone()
    return None if row is None else str(row["hash"])


def append_event(
    connection: Connection, *, scope_id: int | None, revision: int | None, at: datetime, actor: str, kind: str,
    subject_kind: str, subject_id: str, subject_hash: str, details: Mapping[str, Any],
) -> int:  # fmt: skip
    """Append one event inside the caller's write transaction. Returns its ``seq``."""
    last = last_event(connection)
    scope_seq = connection.execute(load("read_last_scope_seq"), {"scope_id": scope_id}).fetchone()["scope_seq"] + 1
    values: tuple[str, ...] | None = None
    if scope_id is not None:
        row = connection.execute(load("read_scope_values"), {"scope_id": scope_id}).fetchone()
        values = tuple(row[name] for name in SCOPE_COLUMNS)
    prev_hash = last["hash"] if last else GENESIS
    event: dict[str, Any] = {
        "seq": (last["seq"] if last else 0) + 1, "scope_id": scope_id, "scope_seq": scope_seq, "revision": revision,
        "at": to_text(at), "actor": actor, "kind": kind, "subject_kind": subject_kind, "subject_id": subject_id,
        "subject_hash": subject_hash, "details": canonical_json(dict(details)), "prev_hash": prev_hash,
    }  # fmt: skip
    event["hash"] = event_hash(prev_hash, event, values)
    connection.execute(load("add_audit_event"), event)
    return int(event["seq"])


def list_events(
    connection: Connection, scope: ScopeKey, *, kind: str | None = None, limit: int = 50
) -> list[AuditEvent]:
    """The last ``limit`` events of ``scope``, newest first."""
    rows = connection.execute(load("read_audit_events"), {**scope.bindings(), "kind": kind, "limit": limit})
    return [
        AuditEvent(
            seq=row["seq"],
            scope=scope,
            scope_seq=row["scope_seq"],
            revision=row["revision"],
            at=row["at"],
            actor=row["actor"],
            kind=row["kind"],
            subject_kind=row["subject_kind"],
            subject_id=row["subject_id"],
            subject_hash=row["subject_hash"],
            details=json.loads(row["details"]),
            prev_hash=row["prev_hash"],
            hash=row["hash"],
        )
        for row in rows
    ]
