"""Where a memory holds, and which of several that contradict each other is found (contract 5.4, 5.5). Pure.

The same rules stand in ``arr_sql/sql/search_memory.sql``, where they are decided before anything is ranked or cut;
tests/memory/test_applicability.py draws memories at random and compares the two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arr_sql.core.research_models import ResearchMemory, scope_value
from arr_sql.errors import MemoryInvalid, ScopeInvalid

FORM = 'applicability must be {"experiment_environments": ["name", ...]}, or {} for anywhere in the scope.'


def checked_applicability(value: Any) -> dict[str, list[str]]:
    """``value`` with its names trimmed and named once. ``{}`` is anywhere in the scope, an empty list nowhere.

    Raises MemoryInvalid for any other type, for a key that restricts nothing (a slip of the pen would hold everywhere),
    and for a name that no scope can have.
    """
    if not isinstance(value, dict) or not set(value) <= {"experiment_environments"}:
        raise MemoryInvalid(FORM, "applicability")
    if not value:
        return {}
    names = value["experiment_environments"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise MemoryInvalid(FORM, "applicability")
    try:
        kept = [scope_value("experiment_environment", name) for name in names]
    except ScopeInvalid as error:
        raise MemoryInvalid(f"applicability can't hold: {error}", "applicability") from None
    return {"experiment_environments": list(dict.fromkeys(kept))}


def applies(applicability: dict[str, Any], environment: str) -> bool:
    """Does it hold in this experiment environment? Compared exactly."""
    return "experiment_environments" not in applicability or environment in applicability["experiment_environments"]


def is_usable(memory: ResearchMemory, environment: str, now: str) -> bool:
    """Published, not expired at ``now`` (the store's text form; ``expires_at`` itself is too late), and it holds here."""
    return (
        memory.status == "published"
        and (memory.expires_at is None or memory.expires_at > now)
        and applies(memory.applicability, environment)
    )


@dataclass(frozen=True)
class Found:
    """A memory that may be found, and those of its conflict key that it wins over, strongest first."""

    memory: ResearchMemory
    losers: tuple[ResearchMemory, ...] = ()


def winners(memories: Iterable[ResearchMemory], environment: str, now: str) -> list[Found]:
    """Of the usable ones all without a conflict key and one a key: higher confidence, later update, smaller id."""
    groups: dict[tuple[str, str], list[ResearchMemory]] = defaultdict(list)
    for memory in memories:
        if is_usable(memory, environment, now):
            key = ("key", memory.conflict_key) if memory.conflict_key is not None else ("id", memory.memory_id)
            groups[key].append(memory)
    found = []
    for group in groups.values():
        group.sort(key=lambda memory: memory.memory_id)
        group.sort(key=lambda memory: (memory.confidence, memory.updated_at), reverse=True)
        found.append(Found(group[0], tuple(group[1:])))
    return sorted(found, key=lambda item: item.memory.memory_id)
