"""The only writer of research memories: add, change of status, a next version, and reading them back.

A memory is never changed in place: each change retires the live version and adds the next, with an audit event that
holds the hashes before and after. Nothing publishes by itself: publishing names a person and needs a source reference
or a reason for having none, and text that holds a credential is refused (contract 5.2). Edits, renewals and relations
are in :mod:`arr_sql.memory.memory_edit`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from arr_sql.core.canonical import canonical_json, sha256_json, sha256_text
from arr_sql.core.clock import from_text, to_text
from arr_sql.core.connection import Connection
from arr_sql.core.redaction import has_secret
from arr_sql.core.research_models import MemoryKind, MemoryStatus, MemoryVersion, ResearchMemory, ScopeKey
from arr_sql.core.secret_walk import find_secret
from arr_sql.core.statements import load
from arr_sql.errors import InputError, MemoryInvalid, StateError
from arr_sql.index.text_index import add_terms, note_current, remove_terms, terms_of
from arr_sql.memory.applicability import checked_applicability
from arr_sql.memory.approvals import missing_approval
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.lifecycle import PublishFacts, require_publishable, require_transition
from arr_sql.memory.row_vouching import hashes_of_memory_vectors
from arr_sql.memory.scope_store import ScopeRow, advance, ensure_scope

MEMORY_FIELDS = (
    "memory_id", "kind", "title", "content_hash", "source_refs", "confidence", "applicability", "status",
    "conflict_key", "expires_at", "related_memory_ids", "evidence_chunk_ids", "proposed_actions", "metadata", "actor",
    "reason", "created_at", "updated_at", "added_revision",
)  # fmt: skip
LIST_FIELDS = ("source_refs", "related_memory_ids", "evidence_chunk_ids", "proposed_actions")
CASE_FIELDS = ("evidence_chunk_ids", "proposed_actions")


def memory_hash(row: Any) -> str:
    """The hash by which the audit log vouches for one version of a memory."""
    return sha256_json({name: row[name] for name in MEMORY_FIELDS})


# --- Values -----------------------------------------------------------------------------------------------------------


def make_memory(scope: ScopeKey, now: datetime, **values: Any) -> ResearchMemory:
    """A candidate from a caller's values, with an id derived from its text when none is given.

    Raises InputError naming the field that is wrong, StateError never.
    """
    moment = to_text(now)
    return checked_memory(scope, status="candidate", created_at=moment, updated_at=moment, **values)


def checked_memory(
    scope: ScopeKey, *, status: MemoryStatus, created_at: str, updated_at: str, revision: int = 0, **values: Any
) -> ResearchMemory:
    """A memory of any status whose values keep every rule. None is as good as left out.

    Raises MemoryInvalid naming the field that is wrong.
    """
    values = {key: value for key, value in values.items() if value is not None}
    for name in ("title", "content"):
        text = values.get(name, "")
        if not isinstance(text, str) or not text.strip():
            raise MemoryInvalid(f"A memory needs a {name}. Give one with --{name}.", name)
    if values.get("expires_at"):
        try:
            values["expires_at"] = to_text(from_text(str(values["expires_at"])))
        except InputError as error:
            raise MemoryInvalid(str(error), "expires_at") from None
    if values.get("conflict_key") is not None:
        values["conflict_key"] = str(values["conflict_key"]).strip() or None
    if isinstance(values.get("confidence"), bool):
        raise MemoryInvalid("The memory's confidence is wrong: it must be a number, not true or false.", "confidence")
    values.setdefault("memory_id", f"m{sha256_json([values['title'], values['content'], created_at])[:12]}")
    for name, text in _strings(values):
        _require_storable(name, text)
    values["applicability"] = checked_applicability(values.get("applicability", {}))
    try:
        canonical_json(values.get("metadata", {}))
    except (TypeError, ValueError):
        raise MemoryInvalid(
            "The memory's metadata is wrong: it must be JSON, without NaN or infinity.", "metadata"
        ) from None
    for name in LIST_FIELDS:
        if (
            name in values
            and isinstance(values[name], (list, tuple))
            and any(not str(item).strip() for item in values[name])
        ):
            raise MemoryInvalid(f"The memory's {name} holds a blank entry. Leave it out.", name)
    if isinstance(values.get("related_memory_ids"), (list, tuple)):
        values["related_memory_ids"] = tuple(dict.fromkeys(values["related_memory_ids"]))
    values.setdefault("kind", "knowledge")
    for name in CASE_FIELDS:
        if values.get(name) and values["kind"] != "research_case":
            raise MemoryInvalid(f"Only a memory of kind research_case has {name}. Give --kind research_case.", name)
    try:
        return ResearchMemory(
            scope=scope, status=status, created_at=created_at, updated_at=updated_at, revision=revision, **values
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise MemoryInvalid(f"The memory's {where} is wrong: {first['msg']}.", str(first["loc"][0])) from None


def _strings(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("memory_id", "title", "content", "conflict_key", *LIST_FIELDS):
        value = values.get(name)
        for text in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(text, str):
                yield name, text


def _require_storable(name: str, text: str) -> None:
    if "\0" in text:
        raise MemoryInvalid(f"The memory's {name} holds a NUL character. Remove it.", name)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise MemoryInvalid(
            f"The memory's {name} holds half a character (an unpaired surrogate). Remove it.", name
        ) from None


def require_no_secret(memory: ResearchMemory) -> None:
    """Raises InputError when any part of it holds a credential: texts, ids, keys and values, whatever their type.

    Texts are looked at as any file is; what is structured, where a name says what its value is, more strictly. An id stands in
    the audit log for good, so none of them is let in.
    """
    texts = (memory.title, memory.content, *memory.source_refs, *memory.proposed_actions)
    ids = {"memory_id": [memory.memory_id], "conflict_key": [memory.conflict_key or ""],
           "related_memory_ids": memory.related_memory_ids, "evidence_chunk_ids": memory.evidence_chunk_ids,
           "applicability": memory.applicability.get("experiment_environments") or ()}  # fmt: skip
    places = [
        find_secret(one, name) for name, several in ids.items() for one in several
    ]  # one by one: a row of ids is no pair
    places.append(find_secret(memory.metadata, "metadata"))
    place = "text" if any(map(has_secret, texts)) else next(filter(None, places), None)
    if place is not None:
        raise InputError(
            f"The memory ({place}) holds what looks like a credential. Take it out; a memory is shown to others."
        )


# --- Changes ----------------------------------------------------------------------------------------------------------


def add_memory(
    connection: Connection, memory: ResearchMemory, *, actor: str, now: datetime, kind: str = "memory_added",
    reason: str = "", details: Mapping[str, Any] | None = None, known_ids: frozenset[str] = frozenset(),
) -> ResearchMemory:  # fmt: skip
    """Store a new memory. Call inside a write transaction. Raises StateError when the id is taken in this scope.

    ``known_ids`` are related memories that the same transaction will add.
    """
    require_actor(actor)
    require_no_secret(memory)
    scope_row = ensure_scope(connection, memory.scope, actor, now)
    if read_row(connection, memory.scope, memory.memory_id) is not None:
        raise StateError(
            f"Memory '{memory.memory_id}' exists in this scope already. Choose another --id, or leave it out."
        )
    require_relations(connection, memory, known_ids)
    scope_row = advance(connection, scope_row, is_content=True)
    row = row_of(memory, scope_row, actor, reason)
    insert_version(connection, scope_row, row, kind, before_hash="", now=now, details=details)
    return read_memory(connection, memory.scope, memory.memory_id)


def require_actor(actor: str) -> None:
    """Raises InputError for a change by nobody."""
    if not actor.strip():
        raise InputError("A change of a memory names a person. Set ARR_ACTOR to your name.")


def require_relations(connection: Connection, memory: ResearchMemory, known_ids: frozenset[str] = frozenset()) -> None:
    """Raises InputError unless each related memory is another one and exists in this scope (contract 5.6)."""
    for related in memory.related_memory_ids:
        if related == memory.memory_id:
            raise InputError(f"Memory '{related}' can't be related to itself. Name another one.")
        if related not in known_ids and read_row(connection, memory.scope, related) is None:
            raise InputError(f"Related memory '{related}' does not exist in this scope. See `arr memory list`.")


def set_status(
    connection: Connection, scope: ScopeKey, memory_id: str, status: MemoryStatus, *, actor: str, reason: str, now: datetime,
    expires_at: str | None = None,
) -> ResearchMemory:  # fmt: skip
    """Move a memory to ``status``, with a new ``expires_at`` when one is given. Call inside a write transaction.

    Raises InputError for an unknown memory or a missing person or reason, StateError for a step that is not allowed.
    """
    old = require_row(connection, scope, memory_id)
    require_transition(memory_id, old["status"], status)
    if not actor.strip():
        raise InputError("A change of status names a person. Set ARR_ACTOR to your name.")
    if status == "published":
        facts = publish_facts(old, reason, now, expires_at)
        require_publishable(replace(facts, missing_approval=missing_approval(connection, scope, memory_id)))
        require_no_secret(memory_of(old, scope))
    changes = {"status": status, "updated_at": to_text(now)} | ({"expires_at": expires_at} if expires_at else {})
    replace_version(connection, scope, old, changes, f"memory_{status}", actor=actor, reason=reason, now=now)
    return read_memory(connection, scope, memory_id)


def publish_facts(row: Any, reason: str, now: datetime, expires_at: str | None = None) -> PublishFacts:
    """What the publish gate looks at, from a stored row and what the person said. ``expires_at`` replaces the row's."""
    kind: MemoryKind = row["kind"]
    return PublishFacts(
        memory_id=row["memory_id"], kind=kind, old_status=row["status"], has_source=bool(json.loads(row["source_refs"])),
        reason=reason, expires_at=expires_at or row["expires_at"], is_new_expiry=expires_at is not None, now=to_text(now),
    )  # fmt: skip


def replace_version(
    connection: Connection, scope: ScopeKey, old: Any, changes: Mapping[str, Any], kind: str, *, actor: str, reason: str,
    now: datetime,
) -> None:  # fmt: skip
    """Retire the live version ``old`` and add the next: the same with ``changes``, which are columns as stored."""
    scope_row = advance(connection, ensure_scope(connection, scope, actor, now), is_content=True)
    row = {name: old[name] for name in old.keys() if name != "id"}  # noqa: SIM118  sqlite3.Row has no items()
    row |= {**changes, "actor": actor, "reason": reason, "added_revision": scope_row.revision}
    if old["status"] == "published":
        remove_terms(
            connection, "memory", old["id"], scope_row.id,
            heading=old["title"], body=old["content"], terms_hash=old["terms_hash"],
        )  # fmt: skip
    connection.execute(load("set_memory_retired"), {"id": old["id"], "revision": scope_row.revision})
    insert_version(connection, scope_row, row, kind, before_hash=memory_hash(old), now=now, old=old)


def insert_version(
    connection: Connection, scope_row: ScopeRow, row: dict[str, Any], kind: str, *, before_hash: str, now: datetime,
    details: Mapping[str, Any] | None = None, old: Any = None,
) -> None:  # fmt: skip
    """Add one version with its terms and its event. Call inside a write transaction.

    The vectors of ``old``, the version before it, go along when the words are the same, whatever the status: a memory
    that is published again needs no model.

    Raises InputError when the reason holds a credential: it is shown to others like the text.
    """
    if has_secret(row["reason"]):
        raise InputError("The reason holds what looks like a credential. Take it out; the history is shown to others.")
    terms = terms_of(row["title"], row["content"])
    row |= terms.bindings()
    row_id = connection.execute(load("add_memory"), row).lastrowid
    assert row_id is not None
    if row["status"] == "published":
        add_terms(connection, "memory", row_id, scope_row.id, terms)
    note_current(connection, scope_row.id, scope_row.content_revision)
    vectors = _keep_vectors(connection, old, row, row_id) if old is not None else {}
    append_event(
        connection, scope_id=scope_row.id, revision=scope_row.revision, at=now, actor=row["actor"], kind=kind,
        subject_kind="memory", subject_id=row["memory_id"], subject_hash=memory_hash(row),
        details={
            **(details or {}), "before": before_hash, "status": row["status"],
            **({"vector_hashes": vectors} if vectors else {}),
        },
    )  # fmt: skip


def _keep_vectors(connection: Connection, old: Any, row: Mapping[str, Any], row_id: int) -> dict[str, str]:
    """Retire the old version's vectors, and give them to the new one if it says the same. The hashes of those given."""
    revision = row["added_revision"]
    if (old["title"], old["content"]) == (row["title"], row["content"]):
        connection.execute(
            load("add_kept_memory_embedding"), {"old_id": old["id"], "new_id": row_id, "revision": revision}
        )
    connection.execute(load("set_memory_embeddings_retired"), {"id": old["id"], "revision": revision})
    return hashes_of_memory_vectors(connection, [row_id], revision)


# --- Reading ----------------------------------------------------------------------------------------------------------


def read_memory(connection: Connection, scope: ScopeKey, memory_id: str) -> ResearchMemory:
    """The live version. Raises InputError when the scope has no such memory."""
    return memory_of(require_row(connection, scope, memory_id), scope)


def list_memories(
    connection: Connection, scope: ScopeKey, status: MemoryStatus | None = None, *, kind: MemoryKind | None = None,
    since: datetime | None = None,
) -> list[ResearchMemory]:  # fmt: skip
    """Live memories, newest change first; of one status or kind, or changed at ``since`` or later."""
    values = {"status": status, "kind": kind, "since": to_text(since) if since is not None else None}
    rows = connection.execute(load("read_memories"), {**scope.bindings(), **values})
    return [memory_of(row, scope) for row in rows]


def read_history(connection: Connection, scope: ScopeKey, memory_id: str) -> list[MemoryVersion]:
    """Every version of one memory, oldest first. Raises InputError when the scope has no such memory."""
    require_row(connection, scope, memory_id)
    rows = connection.execute(load("read_memory_history"), {**scope.bindings(), "memory_id": memory_id})
    return [
        MemoryVersion(
            memory=memory_of(row, scope),
            actor=row["actor"],
            reason=row["reason"],
            at=row["at"] or row["updated_at"],
            event=row["event"] or "",
            scope_seq=row["scope_seq"] or 0,
            retired_revision=row["retired_revision"],
        )
        for row in rows
    ]


def read_row(connection: Connection, scope: ScopeKey, memory_id: str) -> Any:
    """The stored row of the live version, or None."""
    return connection.execute(load("read_memory"), {**scope.bindings(), "memory_id": memory_id}).fetchone()


def require_row(connection: Connection, scope: ScopeKey, memory_id: str) -> Any:
    """The stored row of the live version. Raises InputError when the scope has no such memory."""
    row = read_row(connection, scope, memory_id)
    if row is None:
        raise InputError(f"There is no memory '{memory_id}' in this scope. See `arr memory list`.")
    return row


def memory_of(row: Any, scope: ScopeKey) -> ResearchMemory:
    """The value that a stored row holds."""
    return ResearchMemory(
        memory_id=row["memory_id"], scope=scope, kind=row["kind"], title=row["title"], content=row["content"],
        confidence=row["confidence"], applicability=json.loads(row["applicability"]), status=row["status"],
        conflict_key=row["conflict_key"], expires_at=row["expires_at"], metadata=json.loads(row["metadata"]),
        created_at=row["created_at"], updated_at=row["updated_at"], revision=row["added_revision"],
        **{name: tuple(json.loads(row[name])) for name in LIST_FIELDS},
    )  # fmt: skip


def columns_of(memory: ResearchMemory) -> dict[str, Any]:
    """What a memory says as the columns store it: everything but actor, reason, scope and revision."""
    return {
        "memory_id": memory.memory_id, "kind": memory.kind, "title": memory.title, "content": memory.content,
        "content_hash": sha256_text(memory.content), "confidence": memory.confidence,
        "applicability": canonical_json(memory.applicability), "status": memory.status,
        "conflict_key": memory.conflict_key, "expires_at": memory.expires_at,
        "metadata": canonical_json(memory.metadata), "created_at": memory.created_at, "updated_at": memory.updated_at,
        **{name: canonical_json(list(getattr(memory, name))) for name in LIST_FIELDS},
    }  # fmt: skip


def row_of(memory: ResearchMemory, scope_row: ScopeRow, actor: str, reason: str) -> dict[str, Any]:
    """A whole row to store, but for the counts of its terms."""
    own = {"scope_id": scope_row.id, "actor": actor, "reason": reason, "added_revision": scope_row.revision}
    return {**columns_of(memory), **own}
