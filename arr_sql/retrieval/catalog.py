"""What a channel is, what it answers, and the register of those that a plan may name.

A channel holds a reader or a rooted folder and nothing else, and ends each call in exactly one state. A fault is never
an empty list. What a channel was when it was registered is remembered: one that turns out to be something else later
is refused by the router.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from arr_sql.core.research_models import ScopeKey, memory_name
from arr_sql.core.router_models import ChannelState, ReasonCode
from arr_sql.errors import StateError

UNSAFE_WORDS = frozenset({"remote", "websearch", "shell", "command", "write", "exec"})
ALLOWED_PROVIDERS = frozenset({"local"})
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")


class FileRef(NamedTuple):
    """Where a hit's text can be checked on disk, and the hash the file had when it was read."""

    root_id: int
    path_in_root: str
    content_hash: str


@dataclass(frozen=True, init=False)
class Hit:
    """One answer of one channel. ``rank`` counts from 1; ``score`` is finite, higher is better."""

    chunk_id: str
    scope: ScopeKey
    rank: int
    score: float
    source_ref: str
    locator: str
    content: str
    content_hash: str
    heading: str
    created_at: str
    file: FileRef | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    # Written out: a search makes some 400 hits, and a frozen dataclass sets field by field, in three times the time.
    def __init__(
        self, chunk_id: str, scope: ScopeKey, rank: int, score: float, source_ref: str, locator: str, content: str,
        content_hash: str, heading: str, created_at: str, file: FileRef | None = None,
        metadata: Mapping[str, Any] = _NOTHING,
    ) -> None:  # fmt: skip
        self.__dict__.update(
            chunk_id=chunk_id, scope=scope, rank=rank, score=score, source_ref=source_ref, locator=locator,
            content=content, content_hash=content_hash, heading=heading, created_at=created_at, file=file,
            metadata={} if metadata is _NOTHING else metadata,
        )  # fmt: skip

    def at(self, rank: int, score: float, **more: Any) -> Hit:
        """The same hit at another rank, with another score, and ``more`` in its metadata."""
        hit = object.__new__(Hit)
        hit.__dict__.update(self.__dict__, rank=rank, score=score)
        if more:
            hit.__dict__["metadata"] = {**self.metadata, **more}
        return hit


def is_memory(hit: Hit) -> bool:
    """Is it a memory, not a chunk or a line?"""
    return hit.chunk_id.startswith(memory_name(""))


@dataclass(frozen=True)
class ChannelAnswer:
    """The end of one call. ``candidate_count`` is how many matched before the cut at k; ``detail`` holds only codes and numbers."""

    state: ChannelState
    hits: tuple[Hit, ...] = ()
    candidate_count: int = 0
    code: ReasonCode | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


class Channel(Protocol):
    """A source of evidence that a plan may name."""

    @property
    def name(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def read_only(self) -> bool: ...

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """At most ``k`` hits of ``scope``, best first, before ``deadline`` (a ``time.monotonic()`` value)."""
        ...


class Registration(NamedTuple):
    """A channel and what it said of itself when it was registered."""

    channel: Channel
    name: str
    provider: str
    read_only: bool


def has_unsafe_word(text: str) -> bool:
    """Does a name or provider hold one of the words of an action or a remote service, as a whole word?"""
    return not UNSAFE_WORDS.isdisjoint(re.split(r"[^a-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text).lower()))


class Catalog:
    """Channels by name. Registration is refused for a second one of a name and for one that admission would refuse."""

    def __init__(self, allowed_providers: frozenset[str] = ALLOWED_PROVIDERS) -> None:
        self._allowed_providers = allowed_providers
        self._by_name: dict[str, Registration] = {}

    def register(self, channel: Channel) -> None:
        """Raises StateError with the reason when the channel may not be registered."""
        name, provider, read_only = channel.name, channel.provider, channel.read_only
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise StateError("A channel's name is lower-case letters, digits and hyphens, at most 64.")
        if name in self._by_name:
            raise StateError(f"A channel named '{name}' is registered already.")
        if read_only is not True:
            raise StateError(f"Channel '{name}' does not state exactly that it is read-only.")
        if not isinstance(provider, str) or provider not in self._allowed_providers:
            raise StateError(
                f"Channel '{name}' has a provider that is not allowed. Allowed: {', '.join(sorted(self._allowed_providers))}."
            )
        if has_unsafe_word(name) or has_unsafe_word(provider):
            raise StateError(
                f"Channel '{name}' has a word in its name or provider that names an action or a remote service."
            )
        self._by_name[name] = Registration(channel, name, provider, read_only)

    def get(self, name: str) -> Registration | None:
        """The registration of ``name``, or None."""
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[Registration]:
        return iter(self._by_name.values())

    def names(self) -> tuple[str, ...]:
        """All names in order of registration."""
        return tuple(self._by_name)
