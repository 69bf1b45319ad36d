"""The rule reranker: order candidates by bounded, named parts whose sum is the score. Pure.

The channels' scores carry more than their ranks, so each list's scores are brought to 0..1 (min-max) and weighed
together; small parts for an exact phrase, an identifier, words in the heading, query coverage and the fused score break
what they leave close. A weak list proposes and does not outvote: a lexical list whose best hits hold little of the query,
and a vector list whose best hits stand little above the rest, count in proportion. A text in another script than the
query can hold none of its words, so there the vector speaks for bm25 too. docs/search.md has the measurements.

The 20 candidates are those with the best channel parts, not the first 20 of the fused order: an item that one channel
alone found at rank 1 stands there behind every item that two channels both found in their first 61. The rest
follow in fused order; nothing is dropped or added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from arr_sql.core.analysis import analyse, fold, identifiers, phrase_in, query_terms
from arr_sql.core.canonical import significant
from arr_sql.core.router_models import MAX_RERANKED
from arr_sql.core.scripts import are_foreign, unspaced_share
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.hybrid_retriever import Fused, RankedList
from arr_sql.retrieval.needles import quoted

RERANKER_VERSION = "3"
LEXICAL = frozenset({"bm25", "research-memory", "grep"})
FULL_CONFIDENCE = 0.4
"""A lexical list whose best hits hold this share of the query (by weight) counts in full."""
FULL_SPREAD = 0.08
"""A vector list whose best hit is by this much nearer than its 50th (or last) counts in full. In cosines."""
SPREAD_TO, SPREAD_FROM = 50, 10
"""The hit that the best one is compared with, and the fewest hits that can be called flat."""


@dataclass(frozen=True)
class RerankWeights:
    """What each part may add at most. ``quoted`` is grep's weight when the query quotes a string."""

    bm25: float = 0.50
    vector: float = 0.50
    memory: float = 0.50
    grep: float = 0.10
    quoted: float = 0.50
    fused: float = 0.01
    coverage: float = 0.01
    heading: float = 0.02
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
    """Reorder the ``limit`` items with the best channel parts. Ties: best channel rank, then id."""
    if quoted(query):
        weights = replace(weights, grep=weights.quoted)  # what stands in quotation marks is wanted to the letter
    wanted, names, folded = query_terms(query), identifiers(query), fold(query).strip()
    ranges = {(ranked.channel, ranked.query_index): _range(ranked, query, wanted) for ranked in lists if ranked.hits}
    channel_parts = {item.hit.chunk_id: _channel_parts(item, ranges, weights) for item in items}

    def place(item: Fused) -> tuple[float, int, str]:
        return -significant(sum(channel_parts[item.hit.chunk_id].values())), item.best_rank, item.hit.chunk_id

    head = sorted(items, key=place)[:limit]
    chosen = {item.hit.chunk_id for item in head}
    top_fused = max((item.rrf_score or 0.0 for item in head), default=0.0)
    scored: list[Reranked] = []
    for item in head:
        parts = dict(channel_parts[item.hit.chunk_id])
        if top_fused:
            parts["fused"] = weights.fused * (item.rrf_score or 0.0) / top_fused
        parts |= _text_parts(item, wanted, names, folded, weights)
        score = significant(sum(parts.values()))
        reason = " ".join(f"{name}={value:.3f}" for name, value in parts.items() if value)
        scored.append(Reranked(item, score, reason))
    scored.sort(key=lambda r: (-(r.score or 0.0), r.item.best_rank, r.item.hit.chunk_id))
    return scored + [Reranked(item, None, "") for item in items if item.hit.chunk_id not in chosen]


@dataclass(frozen=True)
class _Range:
    """Lowest and highest score of a list, how far the list is trusted (0..1), and the script of its query."""

    low: float
    high: float
    confidence: float
    script: float | None


def _range(ranked: RankedList, query: str, wanted: Mapping[str, float]) -> _Range:
    scores = [hit.score for hit in ranked.hits]
    confidence = 1.0
    if ranked.channel == "vector" and len(scores) >= SPREAD_FROM:
        confidence = min(1.0, max(0.0, scores[0] - scores[:SPREAD_TO][-1]) / FULL_SPREAD)
    if ranked.channel in LEXICAL and wanted:
        asked = query_terms(ranked.query) or wanted  # a list answers its own query: a translation shares no word
        best = max(coverage(hit, asked) for hit in ranked.hits[:3])
        confidence = min(1.0, best / FULL_CONFIDENCE)
    return _Range(min(scores), max(scores), confidence, unspaced_share(ranked.query or query))


@lru_cache(maxsize=64)  # the best of each list are asked for again among the candidates
def _terms_held(text: str) -> frozenset[str]:
    return frozenset(analyse(text).terms)


def coverage(hit: Hit, wanted: Mapping[str, float]) -> float:
    """The share of the query's terms, by weight, that a hit holds."""
    if not wanted:
        return 0.0
    held = _terms_held(f"{hit.heading}\n{hit.content}")
    return sum(weight for term, weight in wanted.items() if term in held) / sum(wanted.values())


def _channel_parts(item: Fused, ranges: Mapping[tuple[str, int], _Range], weights: RerankWeights) -> dict[str, float]:
    """For each channel the best of its normalised scores (min-max over the list; a list of equal scores gives 1)."""
    parts: dict[str, float] = {}
    script = unspaced_share(item.hit.content)
    for rank in item.ranks:
        found = ranges[(rank.channel, rank.query_index)]
        width = found.high / 2 - found.low / 2  # halves: the difference of two huge scores would be infinite
        share = 1.0 if width <= 0 else (rank.score / 2 - found.low / 2) / width
        weight = weights.channel(rank.channel) * found.confidence
        words = ranges.get(("bm25", rank.query_index))
        if rank.channel == "vector" and words is not None and are_foreign(found.script, script):
            weight = weights.vector + weights.bm25 * words.confidence
        value = weight * share
        parts[rank.channel] = max(parts.get(rank.channel, 0.0), value)
    return parts


def _text_parts(
    item: Fused, wanted: Mapping[str, float], names: list[str], folded: str, weights: RerankWeights
) -> dict[str, float]:
    text = f"{item.hit.heading}\n{item.hit.content}"
    parts: dict[str, float] = {}
    if wanted:
        in_heading = wanted.keys() & set(analyse(item.hit.heading).terms)
        parts["coverage"] = weights.coverage * coverage(item.hit, wanted)
        parts["heading"] = weights.heading * len(in_heading) / len(wanted)
    if len(wanted) > 1 and folded and phrase_in(folded, text):
        parts["phrase"] = weights.phrase
    if names:
        parts["identifier"] = weights.identifier * sum(phrase_in(name, text) for name in names) / len(names)
    return parts
