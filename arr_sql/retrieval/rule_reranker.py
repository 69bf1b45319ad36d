"""The rule reranker: order candidates by bounded, named parts whose sum is the score. Pure.

The channels' scores carry more than their ranks, so each list's scores are brought to 0..1 (min-max) and weighed
together; small parts for an exact phrase, an identifier, words in the heading, query coverage and the fused score break
what they leave close. A weak list proposes and does not outvote: a lexical list whose best hits hold little of the query,
and a vector list whose best hits stand little above the rest, count in proportion. A text in another script than the
query can hold none of its words, so there the vector speaks for bm25 too. A short bm25 list names every text that holds a
word of the query, so its last one stands above all that it does not name. docs/search.md has the measurements.

The 20 candidates are those with the best channel parts, not the first 20 of the fused order: an item that one channel
alone found at rank 1 stands there behind every item that two channels both found in their first 61. The rest
follow in fused order; nothing is dropped or added, unless the caller says that only the first few are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nlargest
from math import inf
from typing import NamedTuple

from arr_sql.core.analysis import as_phrase, holds_phrase, identifiers, is_name_alone, joined_terms, query_terms
from arr_sql.core.canonical import significant
from arr_sql.core.router_models import MAX_RERANKED
from arr_sql.core.scripts import are_foreign, unspaced_share
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.hybrid_retriever import Fused, RankedList
from arr_sql.retrieval.needles import quoted

RERANKER_VERSION = "4"
LEXICAL = frozenset({"bm25", "research-memory", "grep"})
FULL_CONFIDENCE = 0.4
"""A lexical list whose best hits hold this share of the query (by weight) counts in full."""
FULL_SPREAD = 0.08
"""A vector list whose best hit is by this much nearer than its 50th (or last) counts in full. In cosines."""
MOST_KEPT = 4 << 20
"""Characters of texts with their terms, and again of texts in the form of phrases, that are kept for the next question, then
forgotten together: some 1,000 chunks each."""
ROUNDING = 1e-9
"""More than the rounding of a sum of parts."""
SPREAD_TO, SPREAD_FROM = 50, 10
"""The hit that the best one is compared with, and the fewest hits that can be called flat."""
FULL_LENGTH = 50
"""A bm25 list of so many hits goes down to scores that mean nothing; the lowest of a shorter one counts the more, the shorter."""


@dataclass(frozen=True)
class RerankWeights:
    """What each part may add at most. ``quoted`` is grep's weight when the query quotes a string or is a name and nothing else."""

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
        if name == "bm25":
            return self.bm25
        if name == "vector":
            return self.vector
        return self.memory if name == "research-memory" else self.grep


class Reranked(NamedTuple):
    """A fused item with its new score (None beyond the reranked ones) and the parts that make it up."""

    item: Fused
    score: float | None
    reason: str


def rerank(
    query: str, items: Sequence[Fused], lists: Sequence[RankedList], weights: RerankWeights = RerankWeights(),
    limit: int = MAX_RERANKED, most: int | None = None,
) -> list[Reranked]:  # fmt: skip
    """Reorder the ``limit`` items with the best channel parts. Ties: best channel rank, then id.

    ``most`` says how many are wanted, and the others may be missing: the texts of those that can't be among them are not
    read. Reading twenty texts is most of the work.
    """
    if quoted(query) or is_name_alone(query):  # what is wanted to the letter
        weights = replace(weights, grep=weights.quoted)
    wanted, names = query_terms(query), [as_phrase(name) for name in identifiers(query)]
    phrase = as_phrase(query)
    ranges = {
        (ranked.channel, ranked.query_index): _range(ranked, query, wanted, weights) for ranked in lists if ranked.hits
    }
    channel_parts = {item.hit.chunk_id: _channel_parts(item, ranges, weights) for item in items}
    best = sorted(
        (-significant(sum(channel_parts[item.hit.chunk_id].values())), item.best_rank, item.hit.chunk_id, place)
        for place, item in enumerate(items)
    )
    head = [items[place] for *_, place in best[:limit]]
    chosen = {item.hit.chunk_id for item in head}
    top_fused = max((item.rrf_score or 0.0 for item in head), default=0.0)
    scored: list[Reranked] = []
    left: list[Reranked] = []
    for item in head:
        parts = dict(channel_parts[item.hit.chunk_id])
        if top_fused:
            parts["fused"] = weights.fused * (item.rrf_score or 0.0) / top_fused
        if most is not None and len(scored) >= most:
            least = nlargest(most, [r.score or 0.0 for r in scored])[-1] if most else inf
            if sum(parts.values()) + _most_of_text(item, names, phrase, weights) + ROUNDING < least:
                left.append(Reranked(item, None, ""))
                continue
        parts |= _text_parts(item, wanted, names, phrase, weights)
        score = significant(sum(parts.values()))
        reason = " ".join(f"{name}={value:.3f}" for name, value in parts.items() if value)
        scored.append(Reranked(item, score, reason))
    scored.sort(key=lambda r: (-(r.score or 0.0), r.item.best_rank, r.item.hit.chunk_id))
    if most is not None and len(head) >= most:
        return scored + left
    return scored + left + [Reranked(item, None, "") for item in items if item.hit.chunk_id not in chosen]


class _Range(NamedTuple):
    """Half the lowest score of a list and half of what lies between lowest and highest: the difference of two huge scores
    would be infinite. How far the list is trusted (0..1), the script of its query, and what its best score adds."""

    low: float
    width: float
    confidence: float
    script: float | None
    weight: float


def _range(ranked: RankedList, query: str, wanted: Mapping[str, float], weights: RerankWeights) -> _Range:
    scores = [hit.score for hit in ranked.hits]
    confidence = 1.0
    if ranked.channel == "vector" and len(scores) >= SPREAD_FROM:
        confidence = min(1.0, max(0.0, scores[0] - scores[:SPREAD_TO][-1]) / FULL_SPREAD)
    if ranked.channel in LEXICAL and wanted:
        asked = query_terms(ranked.query) or wanted  # a list answers its own query: a translation shares no word
        best = max(coverage(hit, asked) for hit in ranked.hits[:3])
        confidence = min(1.0, best / FULL_CONFIDENCE)
    low = min(scores)
    if ranked.channel == "bm25":  # below a list that is not full there are only texts without any of the words: 0
        low *= min(1.0, len(scores) / FULL_LENGTH)
    script, weight = unspaced_share(ranked.query or query), weights.channel(ranked.channel) * confidence
    return _Range(low / 2, max(scores) / 2 - low / 2, confidence, script, weight)


class _Kept(dict[str, str]):
    """What was made of texts: what one question finds the next one often finds."""

    def __init__(self, make: Callable[[str], str]) -> None:
        super().__init__()
        self._make, self._characters = make, 0

    def __missing__(self, text: str) -> str:
        found = self._make(text)
        size = len(text) + len(found)
        self._characters += size
        if self._characters > MOST_KEPT:
            self.clear()
            self._characters = size
        self[text] = found
        return found


_terms = _Kept(lambda text: joined_terms(text)[0])
_phrases = _Kept(as_phrase)
"""The form in which phrases are found."""


@lru_cache(maxsize=64)  # the best of each list are asked for again among the candidates
def _held(heading: str, content: str) -> frozenset[str]:
    """The terms that a hit holds."""
    return frozenset(_terms[f"{heading}\n{content}"].split(" "))


def coverage(hit: Hit, wanted: Mapping[str, float]) -> float:
    """The share of the query's terms, by weight, that a hit holds."""
    return _share(_held(hit.heading, hit.content), wanted) if wanted else 0.0


def _share(held: frozenset[str], wanted: Mapping[str, float]) -> float:
    return sum([weight for term, weight in wanted.items() if term in held]) / sum(wanted.values())


def _channel_parts(item: Fused, ranges: Mapping[tuple[str, int], _Range], weights: RerankWeights) -> dict[str, float]:
    """For each channel the best of its normalised scores (min-max over the list; a list of equal scores gives 1)."""
    parts: dict[str, float] = {}
    for channel, query_index, _, score, _ in item.ranks:
        low, width, _, script, weight = ranges[channel, query_index]
        words = ranges.get(("bm25", query_index)) if channel == "vector" else None
        if words is not None and are_foreign(script, unspaced_share(item.hit.content)):
            weight = weights.vector + weights.bm25 * words.confidence
        part = weight * (1.0 if width <= 0 else (score / 2 - low) / width)
        parts[channel] = max(parts.get(channel, 0.0), part)
    return parts


def _most_of_text(item: Fused, names: Sequence[str], phrase: str, weights: RerankWeights) -> float:
    """What :func:`_text_parts` can add up to at most, as far as a glance at the text tells."""
    possible = _may_hold(f"{item.hit.heading}\n{item.hit.content}", [phrase, *names])
    words = weights.coverage + weights.heading + weights.phrase * possible[0]
    return words + (weights.identifier * sum(possible[1:]) / len(names) if names else 0.0)


def _may_hold(text: str, phrases: Sequence[str]) -> list[bool]:
    """For each phrase: can ``text`` hold it, as far as a glance tells? Folding changes nothing else in ASCII than case."""
    if not text.isascii():
        return [True] * len(phrases)
    seen = text.lower()
    return [all(word in seen for word in phrase.split(" ")) for phrase in phrases]


def _text_parts(
    item: Fused, wanted: Mapping[str, float], names: Sequence[str], query: str, weights: RerankWeights
) -> dict[str, float]:
    """``query`` and ``names`` as phrases (:func:`as_phrase`)."""
    text = f"{item.hit.heading}\n{item.hit.content}"
    parts: dict[str, float] = {}
    if wanted:
        in_heading = wanted.keys() & _terms[item.hit.heading].split(" ")
        parts["coverage"] = weights.coverage * coverage(item.hit, wanted)
        parts["heading"] = weights.heading * len(in_heading) / len(wanted)
    phrases = [query] if len(wanted) > 1 else []
    asked = [*phrases, *names]
    # A glance is enough for most: to bring a text into the form in which phrases are found takes longer than all else.
    may = _may_hold(text, asked)
    held = [may_hold and holds_phrase(_phrases[text], one) for may_hold, one in zip(may, asked, strict=True)]
    if phrases and held[0]:
        parts["phrase"] = weights.phrase
    if names:
        parts["identifier"] = weights.identifier * sum(held[len(phrases) :]) / len(names)
    return parts
