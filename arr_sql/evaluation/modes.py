"""The modes that are compared on the same topics: each channel alone, three fusions, and the whole search. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from arr_sql.evaluation.store_protocol import Asked
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.hybrid_retriever import RankedList, fuse

CHANNELS = ("research-memory", "grep", "bm25", "vector")
FUSIONS: dict[str, tuple[str, ...]] = {
    "rrf-2": ("bm25", "vector"),
    "rrf-3": ("research-memory", "grep", "bm25"),
    "rrf-4": CHANNELS,
}
RERANKED = "reranked"
"""Four channels, fusion, rule rerank: `arr search --no-floor`."""
SEARCH = "search"
"""What `arr search` answers: the same, with the floor under the answer."""
MODES = (*CHANNELS, *FUSIONS, RERANKED, SEARCH)
MODE_TEXT = {
    "plain-grep": "grep as a person would: the whole query, else most of its words, in the order of the files",
    "research-memory": "memories alone",
    "grep": "exact lines alone",
    "bm25": "BM25 alone",
    "vector": "vectors alone",
    "rrf-2": "BM25 and vectors, fused",
    "rrf-3": "memories, grep and BM25, fused",
    "rrf-4": "all four channels, fused",
    RERANKED: "all four, fused and reranked",
    SEARCH: "the same with the floor under the answer: what `arr search` says",
}


def mode_hits(mode: str, asked: Mapping[str, Asked]) -> tuple[Hit, ...]:
    """The hits of a channel or a fusion, best first."""
    lists = [RankedList(name, 0, asked[name].answer.hits) for name in FUSIONS.get(mode, (mode,)) if name in asked]
    return tuple(item.hit for item in fuse(lists).items)


def mode_ms(mode: str, asked: Mapping[str, Asked]) -> float:
    """The milliseconds of the mode's channels, one after the other."""
    return sum(asked[name].ms for name in FUSIONS.get(mode, (mode,)) if name in asked)
