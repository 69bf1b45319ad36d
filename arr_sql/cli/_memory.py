"""What the commands about memories share: choices, options that read into fields, and how a memory is printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from arr_sql.cli._shared import echo, print_json, visible

if TYPE_CHECKING:
    from arr_sql.core.research_models import ResearchMemory, ScopeKey

KINDS = ["knowledge", "literature", "experiment", "workflow", "preference", "research_case"]
STATUSES = ["candidate", "verified", "published", "deprecated", "conflict", "expired", "revoked"]


def metadata_of(pairs: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` pairs as an object: a value that is JSON is that value, anything else is text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise click.UsageError(f"--meta takes KEY=VALUE, not {pair!r}.")
        try:
            found[key.strip()] = json.loads(value)
        except ValueError:
            found[key.strip()] = value
    return found


def print_memory(made: ResearchMemory, as_json: bool, next_step: str = "") -> None:
    """One memory after a change, and what may come next."""
    if as_json:
        print_json(made.model_dump(mode="json"))
        return
    echo(f"Memory {made.memory_id} is {made.status}: {visible(made.title)}")
    if next_step:
        echo(next_step)


def print_memories(made: Sequence[ResearchMemory], as_json: bool) -> None:
    """Several memories after one change."""
    if as_json:
        print_json([memory.model_dump(mode="json") for memory in made])
        return
    for memory in made:
        print_memory(memory, False)


def other_scope(scope: ScopeKey, prefix: str, **values: str | None) -> ScopeKey:
    """``scope`` with the values that were named. Raises UsageError when none was."""
    from arr_sql.core.research_models import ScopeKey

    given = {name: value for name, value in values.items() if value is not None}
    if not given:
        raise click.UsageError(f"Name the other scope: the branch, or {prefix}-env, {prefix}-team and so on.")
    return ScopeKey(**{**scope.model_dump(), **given})
