"""Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): sum over the lists of 1 / (60 + rank).

Pure. Ranks count from 1, only lists that hold an item contribute, two firsts give 0.032787. A single list keeps its
order and gets no invented score. The contributions are kept, so a reader can add them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from arr_sql.core.canonical import significant
from arr_sql.core.research_models import ChannelRank
from arr_sql.core.router_models import RRF_K
from arr_sql.retrieval.catalog import Hit


class RankedList(NamedTuple):
    """The hits of one call: a channel's answer to the ``query_index``-th distinct query of the run (0 = the user's).

    ``query`` is the text of a rewritten one, '' for the user's.
    """

    channel: str
    query_index: int
    hits: tuple[Hit, ...]
    query: str = ""


class ListRank(NamedTuple):
    """How one list ranked an item: the fields of a :class:`ChannelRank`, which is made of those that are returned."""

    channel: str
    query_index: int
    rank: int
    score: float
    contribution: float

    def as_value(self) -> ChannelRank:
        """As it stands in the evidence."""
        return ChannelRank(**self._asdict())


class Fused(NamedTuple):
    """One item with what every list said of it. ``rrf_score`` is None when there was a single list."""

    hit: Hit
    ranks: tuple[ListRank, ...]
    rrf_score: float | None
    best_rank: int
    """The best place that any list gave it."""


class FusionResult(NamedTuple):
    """Fused items best first, and the names of channels whose items contradicted an earlier one of the same id."""

    items: tuple[Fused, ...]
    conflicts: tuple[str, ...]


def fuse(lists: Sequence[RankedList], rrf_k: int = RRF_K) -> FusionResult:
    """Fuse the non-empty lists. Order: score, best rank in any list, id (contract 10.8)."""
    filled = [item for item in lists if item.hits]
    several = len(filled) > 1
    found: dict[str, tuple[Hit, dict[tuple[str, int], ListRank]]] = {}
    conflicts: list[str] = []
    for channel, query_index, hits, _ in filled:
        place = channel, query_index
        for hit in hits:
            known, ranks = found.setdefault(hit.chunk_id, (hit, {}))
            if known is not hit and not _same(known, hit):
                conflicts.append(channel)
            elif place not in ranks:
                contribution = 1 / (rrf_k + hit.rank) if several else 0.0
                ranks[place] = ListRank(channel, query_index, hit.rank, hit.score, contribution)
    scored = []
    for hit, ranks in found.values():
        score = significant(sum([rank.contribution for rank in ranks.values()])) if several else None
        scored.append(Fused(hit, tuple(ranks.values()), score, min([rank.rank for rank in ranks.values()])))
    scored.sort(key=lambda item: (-(item.rrf_score or 0.0), item.best_rank, item.hit.chunk_id))
    return FusionResult(tuple(scored), tuple(conflicts))


def _same(left: Hit, right: Hit) -> bool:
    return (left.source_ref, left.locator, left.content_hash, left.scope) == (
        right.source_ref, right.locator, right.content_hash, right.scope,
    )  # fmt: skip
