"""Fusion: worked values, one list keeps its order, contributions add up, an item that contradicts another is refused alone."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.canonical import sha256_text, significant
from arr_sql.core.research_models import ScopeKey
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.hybrid_retriever import FusionResult, RankedList, fuse
from tests.conftest import SCOPE, other_scopes

CHANNELS = ("research-memory", "bm25", "vector", "grep")


def make_hit(chunk_id: str, rank: int = 1, score: float = 1.0, **values: Any) -> Hit:
    """A hit whose text is ``text of ID`` and whose hash is that text's, unless ``values`` say otherwise."""
    content = values.pop("content", f"text of {chunk_id}")
    return Hit(
        **{
            "chunk_id": chunk_id, "scope": SCOPE, "rank": rank, "score": score, "source_ref": f"{chunk_id}.md",
            "locator": "L1-1", "content": content, "content_hash": sha256_text(content), "heading": "",
            "created_at": "2026-01-02T03:04:05.000000Z", **values,
        }
    )  # fmt: skip


def ranked_list(channel: str, ids: str | list[str], query_index: int = 0, best: float = 10.0) -> RankedList:
    """A list of hits with falling scores."""
    hits = tuple(make_hit(name, rank, best - rank) for rank, name in enumerate(ids, 1))
    return RankedList(channel, query_index, hits)


def shown(result: FusionResult) -> list[tuple[str, float | None]]:
    """Ids and scores to six digits, as the contract prints them."""
    return [(i.hit.chunk_id, None if i.rrf_score is None else round(i.rrf_score, 6)) for i in result.items]


# --- Worked values ------------------------------------------------------------------------------------------------------


def test_two_firsts_give_0_032787() -> None:
    """Contract 11.1: an item that two lists put first scores 1/61 + 1/61."""
    assert shown(fuse([ranked_list("bm25", "a"), ranked_list("vector", "a")])) == [("a", 0.032787)]


def test_only_lists_that_hold_an_item_contribute() -> None:
    """Field report rank-02: dense [p, q, u, S] and sparse [r, S] give S, then p and r, then q, then u."""
    result = fuse([ranked_list("vector", "pquS"), ranked_list("bm25", "rS")])
    assert shown(result) == [("S", 0.031754), ("p", 0.016393), ("r", 0.016393), ("q", 0.016129), ("u", 0.015873)]


def test_ties_go_by_best_rank_and_then_by_id() -> None:
    """Field report rank-01: disjoint lists interleave, and equal scores are in the order of their ids."""
    result = fuse([ranked_list("bm25", ["b1", "b2", "b3"]), ranked_list("vector", ["a1", "a2", "a3"])])
    assert [item.hit.chunk_id for item in result.items] == ["a1", "b1", "a2", "b2", "a3", "b3"]


def test_the_constant_of_the_formula_can_be_chosen() -> None:
    """With k = 0 two firsts give 2."""
    assert shown(fuse([ranked_list("bm25", "a"), ranked_list("vector", "a")], rrf_k=0)) == [("a", 2.0)]


# --- One list -----------------------------------------------------------------------------------------------------------


def test_a_single_list_keeps_its_order_and_gets_no_score() -> None:
    """Contract 11.2: nothing is invented, neither a score nor a contribution; empty lists do not count as lists."""
    result = fuse([ranked_list("grep", ""), ranked_list("bm25", "zam"), ranked_list("vector", "")])
    assert shown(result) == [("z", None), ("a", None), ("m", None)]
    assert [[rank.contribution for rank in item.ranks] for item in result.items] == [[0.0], [0.0], [0.0]]


def test_nothing_fuses_to_nothing() -> None:
    """No lists, or only empty ones, give no items and no conflicts."""
    assert fuse([]) == FusionResult((), ())
    assert fuse([ranked_list("bm25", "")]) == FusionResult((), ())


# --- Contributions ------------------------------------------------------------------------------------------------------


def test_each_list_is_named_with_its_rank_score_and_share() -> None:
    """A reader can add the parts up: channel, query, rank, the channel's own score, contribution."""
    result = fuse([ranked_list("bm25", "ab"), ranked_list("bm25", "b", query_index=1, best=5.0)])
    ranks = {item.hit.chunk_id: [r.as_value().model_dump() for r in item.ranks] for item in result.items}
    assert ranks["b"] == [
        {"channel": "bm25", "query_index": 0, "rank": 2, "score": 8.0, "contribution": 1 / 62},
        {"channel": "bm25", "query_index": 1, "rank": 1, "score": 4.0, "contribution": 1 / 61},
    ]


def test_an_item_counts_once_in_a_list() -> None:
    """A list that names an item twice gives it the points of its better place only."""
    twice = RankedList("bm25", 0, (make_hit("a", 1), make_hit("b", 2), make_hit("a", 3)))
    assert shown(fuse([twice, ranked_list("vector", "b")])) == [("b", 0.032522), ("a", 0.016393)]


# --- Conflicts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"source_ref": "elsewhere.md"},
        {"locator": "L9-9"},
        {"content": "another text"},
        *[{"scope": scope} for scope in other_scopes()],
    ],
)
def test_an_item_that_contradicts_an_earlier_one_is_refused_alone(change: dict[str, Any]) -> None:
    """Contract 11.3: the same id with another source, locator, content or scope; its neighbours in the list stay."""
    lying = RankedList("vector", 0, (make_hit("a", 1, **change), make_hit("b", 2)))
    result = fuse([ranked_list("bm25", "ab"), lying])
    assert result.conflicts == ("vector",)
    assert [[rank.channel for rank in item.ranks] for item in result.items] == [["bm25", "vector"], ["bm25"]]
    assert [item.hit for item in result.items] == [make_hit("b", 2, 8.0), make_hit("a", 1, 9.0)]


def test_a_contradiction_within_one_list_is_refused_too() -> None:
    """The first of the two stays."""
    result = fuse([RankedList("bm25", 0, (make_hit("a", 1), make_hit("a", 2, content="another text")))])
    assert (shown(result), result.conflicts) == ([("a", None)], ("bm25",))


# --- Properties ---------------------------------------------------------------------------------------------------------

some_ids = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
some_lists = st.lists(some_ids, max_size=4).map(
    lambda found: [ranked_list(CHANNELS[number], ids) for number, ids in enumerate(found)]
)


@given(some_lists)
def test_every_item_appears_once_and_its_parts_add_up(lists: list[RankedList]) -> None:
    """Nothing is dropped or added, and the score is the sum of the contributions."""
    result = fuse(lists)
    found = [item.hit.chunk_id for item in result.items]
    assert sorted(found) == sorted({hit.chunk_id for ranked in lists for hit in ranked.hits})
    several = sum(bool(ranked.hits) for ranked in lists) > 1
    for item in result.items:
        parts = [rank.contribution for rank in item.ranks]
        assert parts == [1 / (60 + rank.rank) if several else 0.0 for rank in item.ranks]
        assert item.rrf_score == (significant(math.fsum(parts)) if several else None)


@given(some_lists, st.randoms(use_true_random=False))
def test_the_order_of_the_lists_does_not_matter(lists: list[RankedList], random: Any) -> None:
    """Shuffled lists give the same items, order and scores; only the order of each item's parts follows the lists."""
    shuffled = random.sample(lists, len(lists))
    assert shown(fuse(shuffled)) == shown(fuse(lists))


@given(some_lists)
def test_items_are_in_order_of_score_best_rank_and_id(lists: list[RankedList]) -> None:
    """Contract 10.8: the three keys decide, and nothing else."""
    items = fuse(lists).items
    keys = [(-(item.rrf_score or 0.0), min(rank.rank for rank in item.ranks), item.hit.chunk_id) for item in items]
    assert keys == sorted(keys)


@given(some_lists)
def test_fusing_twice_gives_the_same(lists: list[RankedList]) -> None:
    """Fusion is a function of its lists, which it leaves as they were."""
    before = [ranked._replace() for ranked in lists]
    assert fuse(lists) == fuse(lists)
    assert lists == before


@given(some_lists, st.sampled_from(other_scopes()), st.randoms(use_true_random=False))
def test_a_lying_list_takes_nothing_from_the_others(lists: list[RankedList], scope: ScopeKey, random: Any) -> None:
    """A last list that only contradicts adds a conflict for each known item and changes no other list's part."""
    known = sorted({hit.chunk_id for ranked in lists for hit in ranked.hits})
    random.shuffle(known)
    liar = RankedList("liar", 0, tuple(make_hit(name, rank, scope=scope) for rank, name in enumerate(known, 1)))
    result = fuse([*lists, liar])
    assert result.conflicts == ("liar",) * len(known)
    ranks = {item.hit.chunk_id: [(r.channel, r.rank) for r in item.ranks] for item in result.items}
    assert ranks == {item.hit.chunk_id: [(r.channel, r.rank) for r in item.ranks] for item in fuse(lists).items}
