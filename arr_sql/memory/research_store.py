"""The only writer of research memories: add, publish, revoke, and reading them back.

A memory is never changed in place: each change retires the live version and adds the next, with an audit event that
holds the hashes before and after. Nothing publishes by itself: publishing names a person and needs a source reference
or a reason for having none, and text that holds a credential is refused (contract 5.2).
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from arr_sql.core.canonical import canonical_json, sha256_json, sha256_text
from arr_sql.core.clock import from_text, to_text
from arr_sql.core.connection import Connection
from arr_sql.core.redaction import has_secret
from arr_sql.core.research_models import MemoryStatus, ResearchMemory, ScopeKey
from arr_sql.core.statements import load
from arr_sql.errors import InputError, StateError
from arr_sql.index.text_index import add_terms, note_current, remove_terms, terms_of
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.lifecycle import require_transition
from arr_sql.memory.scope_store import ScopeRow, advance, ensure_scope

MEMORY_FIELDS = (
    "memory_id", "kind", "title", "content_hash", "source_refs", "confidence", "applicability", "status",
    "conflict_key", "expires_at", "related_memory_ids", "evidence_chunk_ids", "proposed_actions", "metadata", "actor",
    "reason", "created_at", "updated_at", "added_revision",
)  # fmt: skip
_LISTS = ("source_refs", "related_memory_ids", "evidence_chunk_ids", "proposed_actions")


def memory_hash(row: Any) -> str:
    """The hash by which the audit log vouches for one version of a memory."""
    return sha256_json({name: row[name] for name in MEMORY_FIELDS})


def make_memory(scope: ScopeKey, now: datetime, **values: Any) -> ResearchMemory:
    """A candidate from a caller's values, with an id derived from its text when none is given.

    Raises InputError naming the field that is wrong, StateError never.
    """
    values = {key: value for key, value in values.items() if value is not None}
    for name in ("title", "content"):
        text = values.get(name, "")
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"A memory needs a {name}. Give one with --{name}.")
        if "\0" in text:
            raise InputError(f"The memory's {name} holds a NUL character. Remove it.")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(f"The memory's {name} holds half a character (an unpaired surrogate). Remove it.") from None
    if values.get("expires_at"):
        values["expires_at"] = to_text(from_text(values["expires_at"]))
    if values.get("conflict_key") is not None:
        values["conflict_key"] = values["conflict_key"].strip() or None
    values.setdefault("memory_id", f"m{sha256_json([values['title'], values['content'], to_text(now)])[:12]}")
    _require_applicability(values.get("applicability", {}))
    for name in ("applicability", "metadata"):
        try:
            canonical_json(values.get(name, {}))
        except (TypeError, ValueError):
            raise InputError(f"The memory's {name} is wrong: it must be JSON, without NaN or infinity.") from None
    values["related_memory_ids"] = tuple(dict.fromkeys(values.get("related_memory_ids", ())))
    values.setdefault("kind", "knowledge")
    moment = to_text(now)
    try:
        return ResearchMemory(scope=scope, status="candidate", created_at=moment, updated_at=moment, revision=0, **values)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"The memory's {'.'.join(map(str, first['loc']))} is wrong: {first['msg']}.") from None


def _require_applicability(value: Any) -> None:
    environments = value.get("experiment_environments") if isinstance(value, dict) else value
    if not isinstance(value, dict) or not (
        environments is None or (isinstance(environments, list) and all(isinstance(e, str) for e in environments))
    ):
        raise InputError('applicability must be {"experiment_environments": ["name", ...]}, or {} for anywhere in the scope.')


def add_memory(connection: Connection, memory: ResearchMemory, *, actor: str, now: datetime) -> ResearchMemory:
    """Store a new candidate. Call inside a write transaction. Raises StateError when the id is taken in this scope."""
    _require_no_secret(memory.title, memory.content)
    scope_row = ensure_scope(connection, memory.scope, actor, now)
    if _read_row(connection, memory.scope, memory.memory_id) is not None:
        raise StateError(f"Memory '{memory.memory_id}' exists in this scope already. Choose another --id, or leave it out.")
    for related in memory.related_memory_ids:
        if _read_row(connection, memory.scope, related) is None:
            raise InputError(f"Related memory '{related}' does not exist in this scope.")
    scope_row = advance(connection, scope_row, is_content=True)
    row = _row_of(memory, scope_row, actor, "", now)
    _insert(connection, scope_row, row, "memory_added", before_hash="", now=now)
    return read_memory(connection, memory.scope, memory.memory_id)


def set_status(
    connection: Connection, scope: ScopeKey, memory_id: str, status: MemoryStatus, *, actor: str, reason: str, now: datetime
) -> ResearchMemory:
    """Move a memory to ``status``. Call inside a write transaction.

    Raises InputError for an unknown memory or a missing person or reason, StateError for a step that is not allowed.
    """
    old = _read_row(connection, scope, memory_id)
    if old is None:
        raise InputError(f"There is no memory '{memory_id}' in this scope. See `arr memory list`.")
    require_transition(memory_id, old["status"], status)
    if not actor.strip():
        raise InputError("A change of status names a person. Set ARR_ACTOR to your name.")
    if status == "published":
        _require_publishable(old, reason, now)
    scope_row = advance(connection, ensure_scope(connection, scope, actor, now), is_content=True)
    row = {name: old[name] for name in old.keys() if name != "id"}  # noqa: SIM118  sqlite3.Row has no items()
    row |= {"status": status, "actor": actor, "reason": reason, "updated_at": to_text(now), "added_revision": scope_row.revision}
    if old["status"] == "published":
        remove_terms(
            connection, "memory", old["id"], scope_row.id,
            heading=old["title"], body=old["content"], terms_hash=old["terms_hash"],
        )  # fmt: skip
    connection.execute(load("set_memory_retired"), {"id": old["id"], "revision": scope_row.revision})
    _insert(connection, scope_row, row, f"memory_{status}", before_hash=memory_hash(old), now=now)
    return read_memory(connection, scope, memory_id)


def _require_publishable(row: Any, reason: str, now: datetime) -> None:
    if not json.loads(row["source_refs"]) and not reason.strip():
        raise StateError(
            f"Memory '{row['memory_id']}' names no source. Give --reason for having none, or add it anew with --source."
        )
    if row["expires_at"] is not None and row["expires_at"] <= to_text(now):
        raise StateError(f"Memory '{row['memory_id']}' expired at {row['expires_at']}. Add it anew with a later --expires.")
    _require_no_secret(row["title"], row["content"])


def _require_no_secret(*texts: str) -> None:
    if any(has_secret(text) for text in texts):
        raise InputError("The memory's text holds what looks like a credential. Take it out; a memory is shown to others.")


def read_memory(connection: Connection, scope: ScopeKey, memory_id: str) -> ResearchMemory:
    """The live version. Raises InputError when the scope has no such memory."""
    row = _read_row(connection, scope, memory_id)
    if row is None:
        raise InputError(f"There is no memory '{memory_id}' in this scope. See `arr memory list`.")
    return _memory_of(row, scope)


def list_memories(connection: Connection, scope: ScopeKey, status: MemoryStatus | None = None) -> list[ResearchMemory]:
    """Live memories, newest change first."""
    rows = connection.execute(load("read_memories"), {**scope.bindings(), "status": status})
    return [_memory_of(row, scope) for row in rows]


def _read_row(connection: Connection, scope: ScopeKey, memory_id: str) -> Any:
    return connection.execute(load("read_memory"), {**scope.bindings(), "memory_id": memory_id}).fetchone()


def _memory_of(row: Any, scope: ScopeKey) -> ResearchMemory:
    return ResearchMemory(
        memory_id=row["memory_id"], scope=scope, kind=row["kind"], title=row["title"], content=row["content"],
        confidence=row["confidence"], applicability=json.loads(row["applicability"]), status=row["status"],
        conflict_key=row["conflict_key"], expires_at=row["expires_at"], metadata=json.loads(row["metadata"]),
        created_at=row["created_at"], updated_at=row["updated_at"], revision=row["added_revision"],
        **{name: tuple(json.loads(row[name])) for name in _LISTS},
    )  # fmt: skip


def _row_of(memory: ResearchMemory, scope_row: ScopeRow, actor: str, reason: str, now: datetime) -> dict[str, Any]:
    return {
        "scope_id": scope_row.id, "memory_id": memory.memory_id, "kind": memory.kind, "title": memory.title,
        "content": memory.content, "content_hash": sha256_text(memory.content), "confidence": memory.confidence,
        "applicability": canonical_json(memory.applicability), "status": memory.status,
        "conflict_key": memory.conflict_key, "expires_at": memory.expires_at,
        "metadata": canonical_json(memory.metadata), "actor": actor, "reason": reason,
        "created_at": memory.created_at, "updated_at": to_text(now), "added_revision": scope_row.revision,
        **{name: canonical_json(list(getattr(memory, name))) for name in _LISTS},
        **terms_of(memory.title, memory.content).bindings(),
    }  # fmt: skip


def _insert(
    connection: Connection, scope_row: ScopeRow, row: dict[str, Any], kind: str, *, before_hash: str, now: datetime
) -> None:
    terms = terms_of(row["title"], row["content"])
    row |= terms.bindings()
    row_id = connection.execute(load("add_memory"), row).lastrowid
    assert row_id is not None
    if row["status"] == "published":
        add_terms(connection, "memory", row_id, scope_row.id, terms)
    note_current(connection, scope_row.id, scope_row.content_revision)
    append_event(
        connection, scope_id=scope_row.id, revision=scope_row.revision, at=now, actor=row["actor"], kind=kind,
        subject_kind="memory", subject_id=row["memory_id"], subject_hash=memory_hash(row),
        details={"before": before_hash, "status": row["status"]},
    )  # fmt: skip
