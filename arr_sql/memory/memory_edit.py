"""New words for a memory that nobody relies on yet, relations, and a new life for one that ran out (contract 5).

Every function here adds a version and its event; none changes a row. Whoever read a memory before changing it gives the
revision that was read as ``expected_revision``; if somebody else was quicker, :class:`MemoryChanged` says so and nothing
is written (tests/memory/test_memory_edit.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from arr_sql.core.clock import from_text, to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ResearchMemory, ScopeKey
from arr_sql.errors import InputError, MemoryInvalid, StateError
from arr_sql.memory.lifecycle import AFTER_EDIT, require_editable, require_revision
from arr_sql.memory.research_store import (
    checked_memory,
    columns_of,
    memory_of,
    read_memory,
    replace_version,
    require_actor,
    require_no_secret,
    require_relations,
    require_row,
    set_status,
)

EDIT_FIELDS = (
    "title", "content", "source_refs", "confidence", "applicability", "conflict_key", "expires_at", "related_memory_ids",
    "evidence_chunk_ids", "proposed_actions", "metadata",
)  # fmt: skip
MAY_BE_EMPTY = frozenset({"conflict_key", "expires_at"})


def edit_memory(
    connection: Connection, scope: ScopeKey, memory_id: str, changes: Mapping[str, Any], *, expected_revision: int | None,
    actor: str, reason: str, now: datetime,
) -> ResearchMemory:  # fmt: skip
    """A new version with ``changes``, as a candidate. Call inside a write transaction.

    None (or "") takes a conflict key or an expiry away. Without a difference nothing is written and the live version is
    returned. Raises InputError for a value that is wrong, StateError for a memory whose words stay, MemoryChanged.
    """
    row = require_row(connection, scope, memory_id)
    old = memory_of(row, scope)
    require_revision(old, expected_revision, row["actor"])
    require_editable(memory_id, old.status)
    unknown = sorted(set(changes) - set(EDIT_FIELDS))
    if unknown:
        raise MemoryInvalid(f"{unknown[0]} can't be edited. What can: {', '.join(EDIT_FIELDS)}.", unknown[0])
    for name, value in changes.items():
        if value is None and name not in MAY_BE_EMPTY:
            raise MemoryInvalid(f"The memory's {name} can't be taken away. Give a value.", name)
    values = {**old.model_dump(exclude={"scope", "status", "created_at", "updated_at", "revision"}), **changes}
    values["expires_at"] = values["expires_at"] or None
    new = checked_memory(
        scope, status=AFTER_EDIT, created_at=old.created_at, updated_at=to_text(now), revision=old.revision, **values
    )
    if all(getattr(new, name) == getattr(old, name) for name in EDIT_FIELDS):
        return old
    require_no_secret(new)
    require_relations(connection, new)
    require_actor(actor)
    replace_version(connection, scope, row, columns_of(new), "memory_edited", actor=actor, reason=reason, now=now)
    return read_memory(connection, scope, memory_id)


def link_memory(
    connection: Connection, scope: ScopeKey, memory_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = (),
    expected_revision: int | None, actor: str, now: datetime,
) -> ResearchMemory:  # fmt: skip
    """Relate a memory to others of its scope, or no longer. Call inside a write transaction.

    Those that are there keep their place, new ones follow in the order given. The words stay, so the status stays, and
    so does ``updated_at``, which decides between memories that contradict each other; the event has the time. Raises
    InputError for one that does not exist or is the memory itself, StateError for a revoked memory, MemoryChanged.
    """
    row = require_row(connection, scope, memory_id)
    old = memory_of(row, scope)
    require_revision(old, expected_revision, row["actor"])
    if old.status == "revoked":
        raise StateError(f"Memory '{memory_id}' is revoked. That is final; add a new memory instead.")
    for other in remove:
        if other not in old.related_memory_ids:
            raise InputError(f"Memory '{memory_id}' is not related to '{other}'. See `arr memory show {memory_id}`.")
    related = tuple(name for name in dict.fromkeys([*old.related_memory_ids, *add]) if name not in set(remove))
    if related == old.related_memory_ids:
        return old
    new = old.model_copy(update={"related_memory_ids": related})
    require_relations(connection, new)
    require_actor(actor)
    replace_version(connection, scope, row, columns_of(new), "memory_linked", actor=actor, reason="", now=now)
    return read_memory(connection, scope, memory_id)


def renew_memory(
    connection: Connection, scope: ScopeKey, memory_id: str, expires_at: str, *, actor: str, reason: str, now: datetime
) -> ResearchMemory:
    """Publish a memory that ran out, with a later ``expires_at``. Call inside a write transaction.

    A published one past its time is first noted as expired: two versions, two events. Raises InputError for a time that
    is not later than ``now``, StateError for a memory that has not run out or may not be published.
    """
    row = require_row(connection, scope, memory_id)
    until, moment = to_text(from_text(expires_at)), to_text(now)
    if until <= moment:
        raise MemoryInvalid(f"The new expiry {until} is not later than now. Give a later time.", "expires_at")
    if row["status"] in ("candidate", "verified"):
        raise StateError(f"Memory '{memory_id}' is {row['status']}. Use `arr memory edit {memory_id} --expires TIME`.")
    has_run_out = row["status"] == "expired" or (row["expires_at"] is not None and row["expires_at"] <= moment)
    if row["status"] in ("conflict", "deprecated") and not has_run_out:
        command = "resolve" if row["status"] == "conflict" else "publish"
        raise StateError(
            f"Memory '{memory_id}' is {row['status']} and has not run out. Use `arr memory {command} {memory_id}`."
        )
    if row["status"] == "published":
        if not has_run_out:
            held = f"until {row['expires_at']}" if row["expires_at"] else "without end"
            raise StateError(
                f"Memory '{memory_id}' is published {held} and has not run out. To change that, "
                f"`arr memory expire {memory_id}` first, then renew it."
            )
        passed = f"ran out at {row['expires_at']}"
        set_status(connection, scope, memory_id, "expired", actor=actor, reason=passed, now=now)
    return set_status(connection, scope, memory_id, "published", actor=actor, reason=reason, now=now, expires_at=until)
