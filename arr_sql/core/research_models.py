"""The values that people and programs exchange: scope, evidence, memory. All frozen, all built by keyword.

A scope is five strings compared exactly. There is no wildcard, no prefix and no value that means "all":
whoever holds a :class:`ScopeKey` can reach one scope and no other (tests/promises/test_non_interference.py).
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from arr_sql.errors import ScopeInvalid

if TYPE_CHECKING:
    from rich.table import Table

SCOPE_COLUMNS = ("team_id", "project_id", "repository", "branch", "experiment_environment")

MemoryKind = Literal["knowledge", "literature", "experiment", "workflow", "preference", "research_case"]
MemoryStatus = Literal["candidate", "verified", "published", "deprecated", "conflict", "expired", "revoked"]
Freshness = Literal["fresh", "changed", "missing", "unverifiable"]
FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]


class Value(BaseModel):
    """Base of all values: frozen, closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def scope_value(name: str, value: str) -> str:
    """The trimmed value. Raises ScopeInvalid for blank, over 200 characters, control or unpaired surrogate characters."""
    trimmed = value.strip()
    if not trimmed:
        raise ScopeInvalid(f"{name} is blank. A scope needs all five values; see `arr status`.")
    if len(trimmed) > 200:
        raise ScopeInvalid(f"{name} has {len(trimmed)} characters; at most 200 are allowed.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in trimmed):
        raise ScopeInvalid(f"{name} holds a control character or half a character. Remove it.")
    return trimmed


class ScopeKey(Value):
    """The five values that decide what an answer may draw on: case kept, compared exactly."""

    team_id: str
    project_id: str
    repository: str
    branch: str
    experiment_environment: str

    def __init__(self, **values: Any) -> None:
        for name in SCOPE_COLUMNS:
            value = values.get(name)
            if not isinstance(value, str):
                raise ScopeInvalid(f"{name} is missing or not text. A scope needs all five values.")
            values[name] = scope_value(name, value)
        super().__init__(**values)

    def values(self) -> tuple[str, str, str, str, str]:
        """The five values in column order."""
        return (self.team_id, self.project_id, self.repository, self.branch, self.experiment_environment)

    def bindings(self) -> dict[str, str]:
        """The five named parameters that every scoped statement binds."""
        return dict(zip(SCOPE_COLUMNS, self.values(), strict=True))

    def __str__(self) -> str:
        return " / ".join(self.values())


class ChannelRank(Value):
    """How one list ranked an item: ``rank`` counts from 1, ``score`` is the channel's own, higher is better."""

    channel: str
    query_index: int = 0
    rank: Annotated[int, Field(ge=1)]
    score: FiniteFloat
    contribution: FiniteFloat = 0.0


class FreshnessCertificate(Value):
    """What was found when the file of a piece of evidence was read again, as it is in ``metadata["certificate"]``.

    Hashes are SHA-256 of the file's bytes. Spans are first and last line, counted from 1: ``stands_at`` is where the
    evidence's whole text stands in the file now; else ``changed_lines`` of the file now stand in the place of
    ``indexed_lines`` of the file as it was indexed (the first is absent where lines only went away, the second where
    lines only came in). ``reason`` says why there is no span or no verdict: ``extracted`` (the text of a PDF, notebook or
    page has lines of its own), ``not_text``, ``other_branch``, ``root_missing``, ``not_trusted``, ``no_file``,
    ``not_checked``, or why the file was not opened. No time and no text: the same files give the same bytes.
    """

    state: Freshness
    reason: str = ""
    stored_hash: str | None = None
    current_hash: str | None = None
    stands_at: tuple[int, int] | None = None
    changed_lines: tuple[int, int] | None = None
    indexed_lines: tuple[int, int] | None = None

    def as_metadata(self) -> dict[str, Any]:
        """What is known, as plain values."""
        return {name: value for name, value in self.model_dump(mode="json").items() if value not in (None, "")}


class EvidenceChunk(Value):
    """One piece of evidence with everything needed to check where it came from and why it ranks here."""

    chunk_id: str
    scope: ScopeKey
    content: str
    source_ref: str
    locator: str
    content_hash: str
    channels: tuple[ChannelRank, ...]
    rrf_score: FiniteFloat | None = None
    rerank_score: FiniteFloat | None = None
    rerank_reason: str = ""
    freshness: Freshness = "unverifiable"
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: str


def memory_name(memory_id: str) -> str:
    """What a memory is called among evidence and in events, where chunks have names too."""
    return f"memory:{memory_id}"


class ResearchMemory(Value):
    """One memory as it stands at ``revision``."""

    memory_id: Annotated[str, Field(min_length=1, max_length=200)]
    scope: ScopeKey
    kind: MemoryKind
    title: Annotated[str, Field(min_length=1, max_length=500)]
    content: Annotated[str, Field(min_length=1)]
    source_refs: tuple[str, ...] = ()
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.8
    applicability: dict[str, Any] = Field(default_factory=dict)
    status: MemoryStatus = "candidate"
    conflict_key: str | None = None
    expires_at: str | None = None
    related_memory_ids: tuple[str, ...] = ()
    evidence_chunk_ids: tuple[str, ...] = ()
    proposed_actions: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: str
    updated_at: str
    revision: int

    @field_validator("title", "content", "memory_id")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be blank")
        return value

    def _repr_html_(self) -> str:
        """The memory as a table, for notebooks."""
        from arr_sql.core.notebook import html_of_memory

        return html_of_memory(self)

    def __rich__(self) -> Table:
        """The same for ``rich.print``."""
        from arr_sql.core.notebook import rich_of_memory

        return rich_of_memory(self)


class MemoryVersion(Value):
    """One version of a memory: what it said, who made it so and why, and the event that vouches for it.

    ``at`` is when it was written, ``scope_seq`` the event's number in its scope, ``retired_revision`` the revision of the
    version after it (None for the live one).
    """

    memory: ResearchMemory
    actor: str
    reason: str
    at: str
    event: str
    scope_seq: int
    retired_revision: int | None


class AuditEvent(Value):
    """One link of the audit chain. ``details`` holds ids, codes and hashes, never texts."""

    seq: int
    scope: ScopeKey | None
    scope_seq: int
    revision: int | None
    at: str
    actor: str
    kind: str
    subject_kind: str
    subject_id: str
    subject_hash: str
    details: dict[str, Any]
    prev_hash: str
    hash: str
