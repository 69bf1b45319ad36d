"""What an evaluation needs of a store. The floor above builds one and hands it down; nothing here opens a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arr_sql.core.router_models import RouterResult
from arr_sql.retrieval.catalog import ChannelAnswer

Progress = Callable[[str, int, int], None]
"""Told the phase, how much is done, and how much there is."""


@dataclass(frozen=True)
class StoredChunk:
    """A live chunk of a scope, read by scope and not by searching."""

    chunk_id: str
    source_ref: str
    heading: str
    content: str


@dataclass(frozen=True)
class Asked:
    """What one channel answered, and how long it took in milliseconds."""

    answer: ChannelAnswer
    ms: float


class GoldStore(Protocol):
    """A store that holds every scope of a gold set. ``alias`` names a scope of the set."""

    def chunks(self, alias: str) -> Sequence[StoredChunk]:
        """All live chunks of the scope."""
        ...

    def ask(self, alias: str, query: str, depth: int) -> Mapping[str, Asked]:
        """The answer of each channel alone, one after the other, by channel name."""
        ...

    def search(self, alias: str, query: str, k: int, floor: bool = True) -> tuple[RouterResult, float]:
        """The answer of the search, with the floor or without, and its milliseconds. Writes no record."""
        ...

    def facts(self) -> dict[str, Any]:
        """How the store was built: seconds, bytes, counts."""
        ...
