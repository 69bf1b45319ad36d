"""The life of a memory: which status may follow which (contract 5.1), and what a step asks for. Pure.

``revoked`` is final. Only a candidate or a verified memory can be edited, and either is a candidate afterwards: what was
published never changes its words in silence.
"""

from __future__ import annotations

from dataclasses import dataclass

from arr_sql.core.research_models import MemoryKind, MemoryStatus, ResearchMemory
from arr_sql.errors import MemoryChanged, StateError

TRANSITIONS: dict[MemoryStatus, frozenset[MemoryStatus]] = {
    "candidate": frozenset({"verified", "published", "revoked"}),
    "verified": frozenset({"published", "candidate", "revoked"}),
    "published": frozenset({"deprecated", "conflict", "expired", "revoked"}),
    "conflict": frozenset({"published", "deprecated", "revoked"}),
    "deprecated": frozenset({"published", "revoked"}),
    "expired": frozenset({"published", "revoked"}),
    "revoked": frozenset(),
}

EDITABLE: frozenset[MemoryStatus] = frozenset({"candidate", "verified"})
AFTER_EDIT: MemoryStatus = "candidate"


def require_transition(memory_id: str, old: MemoryStatus, new: MemoryStatus) -> None:
    """Raises StateError, naming what may follow, unless a memory may go from ``old`` to ``new``."""
    allowed = TRANSITIONS[old]
    if new in allowed:
        return
    next_step = (
        f"From there it may become: {', '.join(sorted(allowed))}."
        if allowed
        else "That is final; add a new memory instead."
    )
    raise StateError(f"Memory '{memory_id}' is {old} and can't become {new}. {next_step}")


def require_status(memory: ResearchMemory, status: MemoryStatus) -> None:
    """Raises StateError unless the memory has this status."""
    if memory.status != status:
        raise StateError(
            f"Memory '{memory.memory_id}' is {memory.status}, not {status}. See `arr memory show {memory.memory_id}`."
        )


def require_editable(memory_id: str, status: MemoryStatus) -> None:
    """Raises StateError with the way to say something new, unless a memory of this status may be edited."""
    if status in EDITABLE:
        return
    if status == "revoked":
        raise StateError(f"Memory '{memory_id}' is revoked. That is final; add a new memory instead.")
    last = "" if status == "deprecated" else f", and deprecate this one: arr memory deprecate {memory_id} --reason WHY"
    raise StateError(
        f"Memory '{memory_id}' is {status}: people have relied on its words, so they stay. Add the new text as a memory of "
        f"its own (arr memory add --title TITLE --related {memory_id}), publish that{last}."
    )


def require_revision(current: ResearchMemory, expected: int | None, actor: str) -> None:
    """Raises MemoryChanged unless ``current`` is at the ``expected`` revision. None expects nothing."""
    if expected is None or current.revision == expected:
        return
    raise MemoryChanged(
        f"Memory '{current.memory_id}' is at revision {current.revision} ({current.status}, changed by {actor} at "
        f"{current.updated_at}), not at {expected}: nothing was written. Read it again with `arr memory show "
        f"{current.memory_id}`, then repeat your change with --expect-revision {current.revision}.",
        current,
    )


@dataclass(frozen=True)
class PublishFacts:
    """What is known of a memory that somebody asks to publish. ``now`` and ``expires_at`` are the store's text form."""

    memory_id: str
    kind: MemoryKind
    old_status: MemoryStatus
    has_source: bool
    reason: str
    expires_at: str | None
    is_new_expiry: bool
    now: str
    missing_approval: str = ""
    """What a risk-bearing case still lacks, as `memory/approvals.py` says it; '' for nothing."""


def publish_requirements(facts: PublishFacts) -> tuple[str, ...]:
    """What is missing before this memory may be published, each with the next step; empty when nothing is.

    The one gate of every way to ``published`` (publish, resolve, renew, import). A further condition is a further field
    of :class:`PublishFacts` and a further sentence here.
    """
    name, missing = f"Memory '{facts.memory_id}'", []
    if not facts.has_source and not facts.reason.strip():
        missing.append(f"{name} names no source. Give --reason for having none, or add it anew with --source.")
    command = f"arr memory {'edit' if facts.old_status in EDITABLE else 'renew'} {facts.memory_id} --expires TIME"
    if facts.expires_at is not None and facts.expires_at <= facts.now:
        missing.append(f"{name} expired at {facts.expires_at}. Give it a later time: {command}")
    elif facts.old_status == "expired" and not facts.is_new_expiry:
        missing.append(f"{name} is expired. Give it a new time: {command}")
    if facts.missing_approval:
        missing.append(facts.missing_approval)
    return tuple(missing)


def require_publishable(facts: PublishFacts) -> None:
    """Raises StateError with everything that is missing, unless the memory may be published."""
    missing = publish_requirements(facts)
    if missing:
        raise StateError(" ".join(missing))
