"""Rows of the scope table: looked up by the five values, opened on first write, counting their own revisions."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load
from arr_sql.errors import InputError, StateError
from arr_sql.memory.audit_log import append_event


class ScopeRow(NamedTuple):
    """The stored side of a scope. ``revision`` counts all its changes, ``content_revision`` the retrievable ones."""

    id: int
    revision: int
    content_revision: int


def read_scope(connection: Connection, scope: ScopeKey) -> ScopeRow | None:
    """The row of ``scope``, or None while nothing was ever written to it."""
    row = connection.execute(load("read_scope"), scope.bindings()).fetchone()
    return ScopeRow(row["id"], row["revision"], row["content_revision"]) if row else None


def ensure_scope(connection: Connection, scope: ScopeKey, actor: str, now: datetime) -> ScopeRow:
    """The row of ``scope``, opened with an audit event if it is new. Call inside a write transaction."""
    found = read_scope(connection, scope)
    if found is not None:
        return found
    return _open(connection, scope, None, actor, now)


def open_scope(
    connection: Connection, scope: ScopeKey, parent: ScopeKey, actor: str, now: datetime
) -> tuple[ScopeRow, int]:
    """Open ``scope`` from ``parent`` as it stands: the new row, and the parent's revision. Nothing is copied.

    Call inside a write transaction. Raises InputError when there is no such parent, StateError when the scope is open.
    """
    if scope == parent:
        raise InputError("A scope can't be opened from itself. Name another branch or environment with --from.")
    if read_scope(connection, scope) is not None:
        raise StateError(f"The scope {scope} is open already. See `arr scope list`.")
    parent_row = read_scope(connection, parent)
    if parent_row is None:
        raise InputError(f"This file holds no scope {parent}. See `arr scope list`.")
    return _open(connection, scope, (parent, parent_row), actor, now), parent_row.revision


def _open(
    connection: Connection, scope: ScopeKey, parent: tuple[ScopeKey, ScopeRow] | None, actor: str, now: datetime
) -> ScopeRow:
    values: dict[str, int | str | None] = {"parent_scope_id": None, "parent_revision": None, "created_at": to_text(now)}
    details: dict[str, object] = {}
    if parent is not None:
        key, row = parent
        values |= {"parent_scope_id": row.id, "parent_revision": row.revision}
        details = {"parent": list(key.values()), "parent_revision": row.revision}
    connection.execute(load("add_scope"), {**scope.bindings(), **values})
    found = read_scope(connection, scope)
    assert found is not None
    append_event(
        connection, scope_id=found.id, revision=0, at=now, actor=actor, kind="scope_opened", subject_kind="scope",
        subject_id=str(found.id), subject_hash="", details=details,
    )  # fmt: skip
    return found


def advance(connection: Connection, row: ScopeRow, *, is_content: bool) -> ScopeRow:
    """Count one change and return the row as it then is. Call inside the transaction that makes the change."""
    connection.execute(load("set_scope_revision"), {"scope_id": row.id, "is_content": is_content})
    revision = row.revision + 1
    return ScopeRow(row.id, revision, revision if is_content else row.content_revision)
