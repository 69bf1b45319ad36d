"""Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): sum over the lists of 1 / (60 + rank).

Pure. Ranks count from 1, only lists that hold an item contribute, two firsts give 0.032787. A single list keeps its
order and gets no invented score. The contributions are kept, so a reader can add them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arr_sql.core.canonical import significant
from arr_sql.core.research_models import ChannelRank
from arr_sql.core.router_models import RRF_K
from arr_sql.retrieval.catalog import Hit


@dataclass(frozen=True)
class RankedList:
    """The hits of one call: a channel's answer to the ``query_index``-th distinct query of the run (0 = the user's).

    ``query`` is the text of a rewritten one, '' for the user's.
    """

    channel: str
    query_index: int
    hits: tuple[Hit, ...]
    query: str = ""


@dataclass(frozen=True)
class Fused:
    """One item with what every list said of it. ``rrf_score`` is None when there was a single list."""

    hit: Hit
    ranks: tuple[ChannelRank, ...]
    rrf_score: float | None

    @property
    def best_rank(self) -> int:
        """The best place that any list gave it."""
        return min(rank.rank for rank in self.ranks)


@dataclass(frozen=True)
class FusionResult:
    """Fused items best first, and the names of channels whose items contradicted an earlier one of the same id."""

    items: tuple[Fused, ...]
    conflicts: tuple[str, ...]


def fuse(lists: Sequence[RankedList], rrf_k: int = RRF_K) -> FusionResult:
    """Fuse the non-empty lists. Order: score, best rank in any list, id (contract 10.8)."""
    filled = [item for item in lists if item.hits]
    found: dict[str, Fused] = {}
    conflicts: list[str] = []
    for ranked in filled:
        for hit in ranked.hits:
            known = found.get(hit.chunk_id)
            if known is not None and not _same(known.hit, hit):
                conflicts.append(ranked.channel)
                continue
            contribution = 1 / (rrf_k + hit.rank) if len(filled) > 1 else 0.0
            rank = ChannelRank(
                channel=ranked.channel, query_index=ranked.query_index, rank=hit.rank, score=hit.score,
                contribution=contribution,
            )  # fmt: skip
            if known is None:
                found[hit.chunk_id] = Fused(hit, (rank,), None)
            elif not any((r.channel, r.query_index) == (rank.channel, rank.query_index) for r in known.ranks):
                found[hit.chunk_id] = replace(known, ranks=(*known.ranks, rank))
    if len(filled) > 1:
        scored = [
            replace(item, rrf_score=significant(sum(r.contribution for r in item.ranks))) for item in found.values()
        ]
    else:
        scored = list(found.values())
    scored.sort(key=lambda item: (-(item.rrf_score or 0.0), item.best_rank, item.hit.chunk_id))
    return FusionResult(tuple(scored), tuple(conflicts))


def _same(left: Hit, right: Hit) -> bool:
    return (left.scope, left.source_ref, left.locator, left.content_hash) == (
        right.scope, right.source_ref, right.locator, right.content_hash,
    )  # fmt: skip
