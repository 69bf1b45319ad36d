"""Carrying a memory into another scope: shown first, decided by a person, written in both scopes (contract 2.7).

:func:`preview_of` is pure: what would be written, what is there already, and the difference. :func:`promote` takes the
very preview that the person saw and writes it only if nothing in either scope has changed what it shows. The copy is a
candidate there; what it came from stands in its metadata under ``promoted_from``. Nothing is ever promoted by itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from arr_sql.core.approval_models import RiskLevel
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import MemoryStatus, ResearchMemory, ScopeKey, Value
from arr_sql.errors import InputError, StateError
from arr_sql.memory.applicability import applies
from arr_sql.memory.approvals import carrying, risk_of
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.memory_files import to_markdown
from arr_sql.memory.research_store import add_memory, checked_memory, list_memories, memory_hash, memory_of, require_row
from arr_sql.memory.scope_store import read_scope

PROMOTABLE: frozenset[MemoryStatus] = frozenset({"published", "verified"})
_NOT_COMPARED = frozenset({"memory_id", "status", "created_at", "updated_at", "metadata"})

ConflictCode = Literal[
    "same_id", "same_conflict_key", "same_content", "promoted_before", "revoked_there", "not_applicable"
]
CONFLICT_TEXT: dict[ConflictCode, str] = {
    "same_id": "a memory with this id is there and says something else",
    "same_conflict_key": "a memory with this conflict key is there; once both are published only one is found",
    "same_content": "a memory there has the same title and content",
    "promoted_before": "a memory there was promoted from this one earlier",
    "revoked_there": "the same title and content was revoked there",
    "not_applicable": "it is limited to environments that are not the other scope's, so it would not be found there",
}


class PromotionConflict(Value):
    """One thing in the other scope that whoever promotes should know of."""

    code: ConflictCode
    memory_id: str
    status: str
    revision: int


class PromotionPreview(Value):
    """What promoting ``memory`` to ``target`` as ``new_id`` would do. ``refusal`` is empty when it may be done.

    ``diff`` compares with the memory of the same id or conflict key there, else it is empty. ``relations_left_out`` are
    related memories that the other scope doesn't have. ``risk`` is what a case bears here, by any of its versions or packages:
    the copy carries it, and needs an approval of its own.
    """

    memory: ResearchMemory
    target: ScopeKey
    new_id: str
    conflicts: tuple[PromotionConflict, ...]
    diff: tuple[str, ...]
    relations_left_out: tuple[str, ...]
    refusal: str
    risk: RiskLevel | None = None

    @property
    def state(self) -> Literal["absent", "different", "same"]:
        """How the other scope stands to it."""
        codes = {conflict.code for conflict in self.conflicts}
        if "same_content" in codes:
            return "same"
        return "different" if codes & {"same_id", "same_conflict_key", "promoted_before", "revoked_there"} else "absent"


def preview_of(
    memory: ResearchMemory,
    target: ScopeKey,
    there: Sequence[ResearchMemory],
    now: str,
    new_id: str | None = None,
    risk: RiskLevel | None = None,
) -> PromotionPreview:
    """The preview, given the live memories of the other scope. ``now`` is the store's text form."""
    new_id = new_id or memory.memory_id
    conflicts: list[PromotionConflict] = []
    compared: ResearchMemory | None = None

    def note(code: ConflictCode, other: ResearchMemory) -> None:
        conflicts.append(
            PromotionConflict(code=code, memory_id=other.memory_id, status=other.status, revision=other.revision)
        )

    for other in sorted(there, key=lambda item: item.memory_id):
        is_same = (other.title, other.content) == (memory.title, memory.content)
        if is_same and other.status != "revoked":
            note("same_content", other)
        elif is_same:
            note("revoked_there", other)
        if other.memory_id == new_id and not is_same:
            note("same_id", other)
            compared = other
        elif _came_from(other, memory) and not is_same:
            note("promoted_before", other)
            compared = compared or other
        elif (
            memory.conflict_key is not None
            and other.conflict_key == memory.conflict_key
            and other.status != "revoked"
            and not is_same
        ):
            note("same_conflict_key", other)
            compared = compared or other
    if not applies(memory.applicability, target.experiment_environment):
        note("not_applicable", memory)
    ids = {other.memory_id for other in there}
    return PromotionPreview(
        memory=memory, target=target, new_id=new_id, conflicts=tuple(conflicts), diff=_diff(compared, memory),
        relations_left_out=tuple(related for related in memory.related_memory_ids if related not in ids),
        refusal=_refusal(memory, new_id, ids, conflicts, now), risk=risk,
    )  # fmt: skip


def _came_from(other: ResearchMemory, memory: ResearchMemory) -> bool:
    origin = other.metadata.get("promoted_from")
    if not isinstance(origin, dict):
        return False
    return origin.get("scope") == memory.scope.model_dump() and origin.get("memory_id") == memory.memory_id


def _refusal(
    memory: ResearchMemory, new_id: str, ids: set[str], conflicts: Sequence[PromotionConflict], now: str
) -> str:
    name = f"Memory '{memory.memory_id}'"
    if memory.status not in PROMOTABLE:
        return f"{name} is {memory.status}; only a published or verified memory is promoted. Publish it first."
    if memory.expires_at is not None and memory.expires_at <= now:
        return (
            f"{name} expired at {memory.expires_at}. Renew it first: arr memory renew {memory.memory_id} --expires TIME"
        )
    same = next((conflict for conflict in conflicts if conflict.code == "same_content"), None)
    if same is not None:
        return f"{name} is there already, as '{same.memory_id}' ({same.status}). There is nothing to promote."
    if new_id in ids:
        return f"A memory '{new_id}' is there already. Give the copy another id with --as."
    return ""


def _diff(there: ResearchMemory | None, here: ResearchMemory) -> tuple[str, ...]:
    if there is None:
        return ()
    old, new = (to_markdown(memory, _NOT_COMPARED).splitlines() for memory in (there, here))
    return tuple(
        difflib.unified_diff(old, new, f"there: {there.memory_id}", f"here: {here.memory_id}", n=2, lineterm="")
    )


def preview_promotion(
    connection: Connection, scope: ScopeKey, memory_id: str, target: ScopeKey, now: datetime, new_id: str | None = None
) -> PromotionPreview:
    """The preview for one memory of ``scope``. Call inside one snapshot or transaction.

    Raises InputError for an unknown memory, or a target that is this scope or is not in the file.
    """
    require_other_scope(connection, scope, target)
    memory = memory_of(require_row(connection, scope, memory_id), scope)
    risk = risk_of(connection, scope, memory_id)
    return preview_of(memory, target, list_memories(connection, target), to_text(now), new_id, risk)


def merge_preview(connection: Connection, origin: ScopeKey, here: ScopeKey, now: datetime) -> list[PromotionPreview]:
    """What promoting each published, unexpired memory of ``origin`` to ``here`` would do, but for those that are here.

    By id. Call inside one snapshot. Raises InputError when ``origin`` is this scope or is not in the file.
    """
    require_other_scope(connection, here, origin)
    there, moment = list_memories(connection, here), to_text(now)
    found = [
        preview_of(memory, here, there, moment, risk=risk_of(connection, origin, memory.memory_id))
        for memory in list_memories(connection, origin, "published")
    ]
    wanted = [item for item in found if item.state != "same" and not (item.memory.expires_at or "~") <= moment]
    return sorted(wanted, key=lambda item: item.memory.memory_id)


def require_other_scope(connection: Connection, scope: ScopeKey, other: ScopeKey) -> None:
    """Raises InputError unless ``other`` is another scope that this file holds: a slip of the pen must not open one."""
    if other == scope:
        raise InputError("That is this very scope. Name another branch, environment, team, project or repository.")
    if read_scope(connection, other) is None:
        raise InputError(
            f"This file holds no scope {other}. See `arr scope list`; open one with `arr scope open --from`."
        )


def promote(
    connection: Connection, preview: PromotionPreview, *, actor: str, reason: str, now: datetime
) -> ResearchMemory:
    """Write what ``preview`` shows: the copy there, an event in both scopes. Call inside a write transaction.

    Raises StateError when it may not be done, or when either scope no longer is as it was shown.
    """
    if not actor.strip():
        raise InputError("Promoting names a person. Set ARR_ACTOR to your name.")
    scope, target = preview.memory.scope, preview.target
    fresh = preview_promotion(connection, scope, preview.memory.memory_id, target, now, preview.new_id)
    if fresh.refusal:
        raise StateError(fresh.refusal)
    if fresh != preview:
        raise StateError(
            f"Memory '{preview.memory.memory_id}' or the scope {target} changed since you looked: nothing was written. "
            "Look at the preview again."
        )
    row = require_row(connection, scope, preview.memory.memory_id)
    origin_hash = memory_hash(row)
    copy = add_memory(
        connection, _copy(preview, row["content_hash"], to_text(now)), actor=actor, now=now, kind="memory_received",
        reason=reason, details={"from": list(scope.values()), "from_memory": preview.memory.memory_id,
                                "from_revision": preview.memory.revision, "from_hash": origin_hash},
    )  # fmt: skip
    origin_row = read_scope(connection, scope)
    assert origin_row is not None
    append_event(
        connection, scope_id=origin_row.id, revision=origin_row.revision, at=now, actor=actor, kind="memory_promoted",
        subject_kind="memory", subject_id=preview.memory.memory_id, subject_hash="",
        details={"to": list(target.values()), "to_memory": copy.memory_id, "to_revision": copy.revision,
                 "from_revision": preview.memory.revision, "from_hash": origin_hash},
    )  # fmt: skip
    return copy


def _copy(preview: PromotionPreview, content_hash: str, now: str) -> ResearchMemory:
    memory = preview.memory
    origin: dict[str, Any] = {
        "scope": memory.scope.model_dump(), "memory_id": memory.memory_id, "revision": memory.revision,
        "content_hash": content_hash, "status": memory.status, "created_at": memory.created_at,
    }  # fmt: skip
    if memory.evidence_chunk_ids:  # ids of the other scope's chunks: they name nothing here
        origin["evidence_chunk_ids"] = list(memory.evidence_chunk_ids)
    if preview.relations_left_out:
        origin["relations_left_out"] = list(preview.relations_left_out)
    if "promoted_from" in memory.metadata:
        origin["promoted_from"] = memory.metadata["promoted_from"]
    values = memory.model_dump(
        include={"kind", "title", "content", "source_refs", "confidence", "applicability", "conflict_key", "expires_at",
                 "proposed_actions"}
    )  # fmt: skip
    return checked_memory(
        preview.target, status="candidate", created_at=now, updated_at=now, memory_id=preview.new_id,
        related_memory_ids=[name for name in memory.related_memory_ids if name not in preview.relations_left_out],
        metadata=carrying({**memory.metadata, "promoted_from": origin}, preview.risk), **values,
    )  # fmt: skip
