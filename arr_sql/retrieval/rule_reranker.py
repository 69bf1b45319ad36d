"""The rule reranker: order the first fused candidates by bounded, named parts whose sum is the score. Pure.

The channels' own scores carry more than their ranks (docs/evaluation.md), so each channel's scores are brought to 0..1
over its own list and weighed together with agreement, exact phrase and identifier matches, query coverage and heading
matches. At most 20 candidates are reranked; the rest follow in fused order, and nothing is dropped or added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arr_sql.core.analysis import analyse, fold, identifiers, phrase_in, query_terms
from arr_sql.core.canonical import significant
from arr_sql.core.router_models import MAX_RERANKED
from arr_sql.retrieval.hybrid_retriever import Fused, RankedList

RERANKER_VERSION = "1"


@dataclass(frozen=True)
class RerankWeights:
    """What each part may add at most."""

    bm25: float = 0.45
    vector: float = 0.45
    memory: float = 0.45
    grep: float = 0.10
    fused: float = 0.10
    coverage: float = 0.05
    heading: float = 0.05
    phrase: float = 0.10
    identifier: float = 0.10

    def channel(self, name: str) -> float:
        """The weight of a channel's normalised score; an unknown channel weighs as much as grep."""
        return {"bm25": self.bm25, "vector": self.vector, "research-memory": self.memory}.get(name, self.grep)


@dataclass(frozen=True)
class Reranked:
    """A fused item with its new score (None beyond the reranked ones) and the parts that make it up."""

    item: Fused
    score: float | None
    reason: str


def rerank(
    query: str, items: Sequence[Fused], lists: Sequence[RankedList], weights: RerankWeights = RerankWeights(),
    limit: int = MAX_RERANKED,
) -> list[Reranked]:  # fmt: skip
    """Reorder the first ``limit`` items. Ties: best channel rank, then id."""
    spans = _spans(lists)
    head, tail = list(items[:limit]), list(items[limit:])
    wanted, names, folded = set(query_terms(query)), identifiers(query), fold(query).strip()
    top_fused = max((item.rrf_score or 0.0 for item in head), default=0.0)
    scored: list[Reranked] = []
    for item in head:
        parts = _channel_parts(item, spans, weights)
        if top_fused:
            parts["fused"] = weights.fused * (item.rrf_score or 0.0) / top_fused
        parts |= _text_parts(item, wanted, names, folded, weights)
        score = significant(sum(parts.values()))
        reason = " ".join(f"{name}={value:.3f}" for name, value in parts.items() if value)
        scored.append(Reranked(item, score, reason))
    scored.sort(key=lambda r: (-(r.score or 0.0), r.item.best_rank, r.item.hit.chunk_id))
    return scored + [Reranked(item, None, "") for item in tail]


def _spans(lists: Sequence[RankedList]) -> dict[tuple[str, int], tuple[float, float]]:
    """Lowest and highest score of each list."""
    return {
        (ranked.channel, ranked.query_index): (min(h.score for h in ranked.hits), max(h.score for h in ranked.hits))
        for ranked in lists
        if ranked.hits
    }


def _channel_parts(
    item: Fused, spans: Mapping[tuple[str, int], tuple[float, float]], weights: RerankWeights
) -> dict[str, float]:
    """For each channel the best of its normalised scores (min-max over the list; a list of equal scores gives 1)."""
    parts: dict[str, float] = {}
    for rank in item.ranks:
        low, high = spans[(rank.channel, rank.query_index)]
        width = high / 2 - low / 2  # halves: the difference of two huge scores would be infinite
        share = 1.0 if width <= 0 else (rank.score / 2 - low / 2) / width
        value = weights.channel(rank.channel) * share
        parts[rank.channel] = max(parts.get(rank.channel, 0.0), value)
    return parts


def _text_parts(item: Fused, wanted: set[str], names: list[str], folded: str, weights: RerankWeights) -> dict[str, float]:
    text = f"{item.hit.heading}\n{item.hit.content}"
    parts: dict[str, float] = {}
    if wanted:
        parts["coverage"] = weights.coverage * len(wanted & set(analyse(text).terms)) / len(wanted)
        parts["heading"] = weights.heading * len(wanted & set(analyse(item.hit.heading).terms)) / len(wanted)
    if len(wanted) > 1 and folded and phrase_in(folded, text):
        parts["phrase"] = weights.phrase
    if names:
        parts["identifier"] = weights.identifier * sum(phrase_in(name, text) for name in names) / len(names)
    return parts
