"""The life of a memory: which status may follow which (contract 5.1). Pure; ``revoked`` is final."""

from __future__ import annotations

from arr_sql.core.research_models import MemoryStatus
from arr_sql.errors import StateError

TRANSITIONS: dict[MemoryStatus, frozenset[MemoryStatus]] = {
    "candidate": frozenset({"verified", "published", "revoked"}),
    "verified": frozenset({"published", "candidate", "revoked"}),
    "published": frozenset({"deprecated", "conflict", "expired", "revoked"}),
    "conflict": frozenset({"published", "deprecated", "revoked"}),
    "deprecated": frozenset({"published", "revoked"}),
    "expired": frozenset({"published", "revoked"}),
    "revoked": frozenset(),
}


def require_transition(memory_id: str, old: MemoryStatus, new: MemoryStatus) -> None:
    """Raises StateError, naming what may follow, unless a memory may go from ``old`` to ``new``."""
    allowed = TRANSITIONS[old]
    if new in allowed:
        return
    next_step = f"From there it may become: {', '.join(sorted(allowed))}." if allowed else "That is final; add a new memory instead."
    raise StateError(f"Memory '{memory_id}' is {old} and can't become {new}. {next_step}")
