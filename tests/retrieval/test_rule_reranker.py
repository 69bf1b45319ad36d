"""The rule reranker: bounded parts that add up to the score, nothing dropped or added, one order for equal scores.

The weights are tuned by measurement (benchmarks/), so nothing here names one.
"""

from __future__ import annotations

import math
import re
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.analysis import is_name_alone
from arr_sql.core.router_models import MAX_RERANKED
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.hybrid_retriever import RankedList, fuse
from arr_sql.retrieval.needles import quoted
from arr_sql.retrieval.rule_reranker import FULL_LENGTH, FULL_SPREAD, Reranked, RerankWeights, rerank
from tests.retrieval.test_hybrid_retriever import CHANNELS, make_hit, ranked_list

WEIGHTS = RerankWeights()
PARTS = {
    "bm25": WEIGHTS.channel("bm25"), "vector": WEIGHTS.channel("vector") + WEIGHTS.channel("bm25"), "grep": WEIGHTS.channel("grep"),
    "research-memory": WEIGHTS.channel("research-memory"), "fused": WEIGHTS.fused, "coverage": WEIGHTS.coverage,
    "heading": WEIGHTS.heading, "phrase": WEIGHTS.phrase, "identifier": WEIGHTS.identifier,
}  # fmt: skip
"""What each part of a score may be at most, where the query asks for nothing to the letter."""
LETTERS = {**PARTS, "grep": WEIGHTS.quoted}
"""The same where it quotes a string, or is a name and nothing else."""


def parts_of(item: Reranked) -> dict[str, float]:
    """The parts that a reason names."""
    return {name: float(value) for name, value in re.findall(r"([a-z0-9-]+)=(-?[0-9.]+)", item.reason)}


def reranked(query: str, lists: list[RankedList], **options: Any) -> list[Reranked]:
    """Fuse and rerank."""
    return rerank(query, fuse(lists).items, lists, **options)


def only(**weights: float) -> RerankWeights:
    """Weights where nothing counts but what is named."""
    return RerankWeights(**{field.name: 0.0 for field in fields(RerankWeights)} | weights)


# --- What each part rewards ---------------------------------------------------------------------------------------------


def test_a_channels_score_counts_by_its_place_between_the_lists_ends() -> None:
    """Scores 9, 6, 5 of one list become 1, 0.25 and 0 times the channel's weight."""
    hits = (make_hit("a", 1, 9.0), make_hit("b", 2, 6.0), make_hit("c", 3, 5.0))
    result = reranked("anything", [RankedList("vector", 0, hits)], weights=only(vector=1.0))
    assert [(item.item.hit.chunk_id, item.score) for item in result] == [("a", 1.0), ("b", 0.25), ("c", 0.0)]


def test_the_last_of_a_short_word_list_stands_above_what_the_list_does_not_name() -> None:
    """bm25 names every text with a word of the query, so one that it leaves out has none: nearly 0, not the lowest score."""
    hits = tuple(make_hit(f"b{n}", n + 1, 9.0 - n * 4 / FULL_LENGTH) for n in range(FULL_LENGTH))
    scores = {}
    for length in (2, FULL_LENGTH // 2, FULL_LENGTH):
        lists = [RankedList("bm25", 0, hits[:length]), ranked_list("vector", "v")]
        found = {item.item.hit.chunk_id: item.score for item in reranked("", lists, weights=only(bm25=1.0), limit=99)}
        assert (found["b0"], found["v"]) == (1.0, 0.0)
        scores[length] = found[f"b{length - 1}"]
    assert scores[2] == pytest.approx((8.92 - 8.92 * 2 / FULL_LENGTH) / (9 - 8.92 * 2 / FULL_LENGTH))
    assert scores[2] > scores[FULL_LENGTH // 2] > scores[FULL_LENGTH] == 0.0


def test_the_better_of_two_queries_counts_for_a_channel() -> None:
    """An item that is last for the user's words and first for a rewritten query gets the better of the two."""
    lists = [ranked_list("vector", "ab"), ranked_list("vector", "bc", query_index=1)]
    scores = {item.item.hit.chunk_id: item.score for item in reranked("anything", lists, weights=only(vector=1.0))}
    assert scores == {"a": 1.0, "b": 1.0, "c": 0.0}


def test_an_exact_phrase_and_an_identifier_are_rewarded() -> None:
    """Of three texts with the same words, the one with the phrase leads; the one with the identifier beats its pieces."""
    whole = make_hit("w", 1, content="about lr decay and more")
    apart = make_hit("a", 1, content="decay of the lr is more")
    named = make_hit("n", 1, content="set lr_decay here")
    lists = [RankedList(channel, 0, (hit,)) for channel, hit in zip(CHANNELS, (whole, apart, named), strict=False)]
    by_phrase = {i.item.hit.chunk_id: i.score for i in reranked("lr decay", lists, weights=only(phrase=1.0))}
    by_name = {i.item.hit.chunk_id: i.score for i in reranked("lr_decay", lists, weights=only(identifier=1.0))}
    assert (by_phrase["w"], by_phrase["a"]) == (1.0, 0.0)
    assert (by_name["n"], by_name["a"]) == (1.0, 0.0)


def test_a_name_alone_is_wanted_to_the_letter() -> None:
    """A line that only grep has seen, on the disk as it is now, comes before what is merely near; among words it does not."""
    lists = [
        RankedList("grep", 0, (make_hit("line", 1, 0.7, content="edited just now: DEMO_EDIT_7731"),)),
        RankedList("vector", 0, tuple(make_hit(f"v{n}", n + 1, 0.6 - n / 500, content="else") for n in range(60))),
    ]
    assert reranked("DEMO_EDIT_7731", lists)[0].item.hit.chunk_id == "line"
    assert reranked("what is DEMO_EDIT_7731", lists)[0].item.hit.chunk_id == "line"
    assert reranked("when was the file with DEMO_EDIT_7731 changed", lists)[0].item.hit.chunk_id == "v0"


def test_words_of_the_query_in_the_heading_and_in_the_text_are_rewarded() -> None:
    """Coverage counts heading and text, the heading part the heading alone; Chinese counts like any other text."""
    covered = make_hit("c", 1, content="budget", heading="router")
    half = make_hit("h", 1, content="budget", heading="plane")
    lists = [RankedList("bm25", 0, (covered,)), RankedList("vector", 0, (half,))]
    coverage = {i.item.hit.chunk_id: i.score for i in reranked("router budget", lists, weights=only(coverage=1.0))}
    heading = {i.item.hit.chunk_id: i.score for i in reranked("router budget", lists, weights=only(heading=1.0))}
    assert (coverage, heading) == ({"c": 1.0, "h": 0.5}, {"c": 0.5, "h": 0.0})
    chinese = [RankedList("bm25", 0, (make_hit("z", 1, content="学习率减半"),))]
    assert [i.score for i in reranked("学习率", chinese, weights=only(coverage=1.0))] == [1.0]


# --- Order and number ---------------------------------------------------------------------------------------------------


def test_only_twenty_are_reordered() -> None:
    """Contract 10.6: 30 candidates come back as 30; the ten with the worst channel scores follow in fused order."""
    names = [f"x{number:02}" for number in range(30)]
    hits = tuple(make_hit(name, rank, float(rank % 7), content="router " * rank) for rank, name in enumerate(names, 1))
    result = reranked("router", [RankedList("bm25", 0, hits)])
    found = [item.item.hit.chunk_id for item in result]
    best = sorted(hits, key=lambda hit: (-hit.score, hit.rank))[:20]
    assert MAX_RERANKED == 20
    assert sorted(found[:20]) == sorted(hit.chunk_id for hit in best)
    assert found[20:] == [name for name in names if name not in found[:20]]
    assert [item.score is None for item in result] == [False] * 20 + [True] * 10
    assert [item.reason for item in result[20:]] == [""] * 10


def test_what_one_channel_alone_found_first_is_a_candidate() -> None:
    """Fused order puts 30 items of two lists before it; the reranker looks at it all the same."""
    both = [f"x{number:02}" for number in range(30)]
    lists = [ranked_list("bm25", both), ranked_list("vector", ["alone", *reversed(both)])]
    assert [item.hit.chunk_id for item in fuse(lists).items].index("alone") >= MAX_RERANKED
    result = reranked("router", lists)
    assert "alone" in [item.item.hit.chunk_id for item in result[:MAX_RERANKED]]


def test_a_lexical_list_that_holds_little_of_the_query_does_not_outvote() -> None:
    """The best hit of bm25 holds one word of six and counts for less than the best hit of the vector channel."""
    weak = make_hit("weak", 1, 9.0, content="one")
    near = make_hit("near", 1, 0.9, content="paraphrase")
    lists = [RankedList("bm25", 0, (weak,)), RankedList("vector", 0, (near,))]
    weights = only(bm25=1.0, vector=1.0)
    partly = reranked("one two three four five six", lists, weights=weights)
    wholly = reranked("one", lists, weights=weights)
    assert [item.item.hit.chunk_id for item in partly] == ["near", "weak"]
    assert {item.item.hit.chunk_id: item.score for item in wholly} == {"weak": 1.0, "near": 1.0}


def test_equal_scores_go_by_best_rank_and_then_by_id() -> None:
    """With all weights zero the order is best channel rank, then id."""
    lists = [ranked_list("bm25", "dbx"), ranked_list("vector", "cax")]
    result = reranked("router", lists, weights=only())
    assert [(item.item.hit.chunk_id, item.score) for item in result] == [
        ("c", 0.0), ("d", 0.0), ("a", 0.0), ("b", 0.0), ("x", 0.0),
    ]  # fmt: skip


def test_reranking_nothing_gives_nothing() -> None:
    """No candidates, no answer."""
    assert rerank("router", [], []) == []


@pytest.mark.parametrize(
    "scores",
    [
        (1e308, -1e308),
        (1.7e308, 0.0, -1.7e308),
        (1e-300, 0.0),
        (0.0, 0.0),
        (-1e-300, -2e-300),
        (1e308, 1e308 * (1 - 1e-15)),
    ],
)
def test_extreme_scores_stay_finite(scores: tuple[float, ...]) -> None:
    """The largest, smallest and closest floats give scores from 1 to 0 in the order of the list (equal ones give 1)."""
    hits = tuple(make_hit(f"x{rank}", rank, score) for rank, score in enumerate(scores, 1))
    result = reranked("anything", [RankedList("vector", 0, hits)], weights=only(vector=1.0))
    assert [item.item.hit.chunk_id for item in result] == [hit.chunk_id for hit in hits]
    found = [item.score for item in result]
    assert (found[0], found[-1]) == (1.0, 1.0 if scores[0] == scores[-1] else 0.0)
    assert all(score is not None and 0.0 <= score <= 1.0 for score in found)


# --- Properties ---------------------------------------------------------------------------------------------------------

words = st.lists(st.sampled_from(("router", "budget", "lr_decay", "ERR-42", "学习率", "the", "“", "")), max_size=6).map(
    " ".join
)
queries = st.one_of(words, st.text(max_size=20))
scores = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def several_lists(draw: st.DrawFn) -> list[RankedList]:
    """Up to four lists of up to 25 hits with any finite scores and any texts."""
    contents = {name: (draw(words), draw(words)) for name in (f"x{number:02}" for number in range(25))}
    lists = []
    for channel in CHANNELS[: draw(st.integers(0, 4))]:
        ids = draw(st.lists(st.sampled_from(sorted(contents)), unique=True, max_size=25))
        hits = tuple(
            make_hit(name, rank, draw(scores), content=contents[name][0], heading=contents[name][1])
            for rank, name in enumerate(ids, 1)
        )
        lists.append(RankedList(channel, 0, hits))
    return lists


@given(queries, several_lists(), st.integers(0, 25))
def test_who_wants_the_best_few_gets_the_same(query: str, lists: list[RankedList], most: int) -> None:
    """Not reading the texts that can't be among them changes no place, score or reason of theirs, and adds none."""
    every, few = reranked(query, lists), reranked(query, lists, most=most)
    assert few[:most] == every[:most]
    named = [r.item.hit.chunk_id for r in few]
    assert len(set(named)) == len(named)
    assert set(named) <= {r.item.hit.chunk_id for r in every}


@given(queries, several_lists())
def test_parts_are_bounded_and_add_up_to_a_finite_score(query: str, lists: list[RankedList]) -> None:
    """Contract 11.4: each part lies between 0 and its weight, and the parts in the reason add up to the score."""
    most = LETTERS if quoted(query) or is_name_alone(query) else PARTS
    for item in reranked(query, lists)[:MAX_RERANKED]:
        parts = parts_of(item)
        assert set(parts) <= set(PARTS)
        assert all(0.0 <= value <= most[name] + 0.0005 for name, value in parts.items())
        assert item.score is not None and math.isfinite(item.score)
        # The reason shows three decimals of each part.
        assert abs(item.score - math.fsum(parts.values())) <= 0.0005 * len(PARTS)


@given(queries, several_lists())
def test_nothing_is_dropped_added_or_changed(query: str, lists: list[RankedList]) -> None:
    """The answer holds exactly the fused items, untouched, and those beyond the twentieth in fused order."""
    items = fuse(lists).items
    result = rerank(query, items, lists)
    assert sorted(r.item.hit.chunk_id for r in result) == sorted(item.hit.chunk_id for item in items)
    assert {id(r.item) for r in result} == {id(item) for item in items}
    chosen = {id(r.item) for r in result[:MAX_RERANKED]}
    assert [r.item for r in result[MAX_RERANKED:]] == [item for item in items if id(item) not in chosen]


@given(queries, several_lists())
def test_the_order_is_score_then_best_rank_then_id(query: str, lists: list[RankedList]) -> None:
    """Contract 10.8, and asking twice gives the same."""
    head = reranked(query, lists)[:MAX_RERANKED]
    keys = [(-(r.score or 0.0), r.item.best_rank, r.item.hit.chunk_id) for r in head]
    assert keys == sorted(keys)
    assert head == reranked(query, [ranked._replace() for ranked in lists])[:MAX_RERANKED]


# --- Lists that are trusted less, and texts in another script ---------------------------------------------------------


def hits_with(scores: list[float], prefix: str = "v", content: str = "some words") -> tuple[Hit, ...]:
    """Hits with these scores, best first."""
    return tuple(make_hit(f"{prefix}{n:02}", n, score, content=content) for n, score in enumerate(scores, 1))


def test_a_flat_vector_list_counts_in_proportion() -> None:
    """The nearest is hardly nearer than the 50th: that list knows little. Few hits can't be called flat."""
    for spread, trust in ((0.2, 1.0), (FULL_SPREAD, 1.0), (FULL_SPREAD / 4, 0.25)):
        scores = [0.3, *(0.3 - spread for _ in range(49))]
        first = reranked("words", [RankedList("vector", 0, hits_with(scores))], weights=only(vector=0.5))[0]
        assert first.score == pytest.approx(0.5 * trust)
    few = reranked("words", [RankedList("vector", 0, hits_with([0.3, 0.299]))], weights=only(vector=0.5))[0]
    assert few.score == pytest.approx(0.5)


def test_for_a_text_in_another_script_the_vector_speaks_for_bm25_too() -> None:
    """It can hold no word of the question, so that not being found by words tells nothing."""
    mine = make_hit("en", 1, 9.0, content="the router keeps a budget")
    other = make_hit("zh", 1, 0.9, content="路由器有预算")
    near = make_hit("en2", 2, 0.1, content="the plane")
    lists = [RankedList("bm25", 0, (mine, replace(near, rank=2, score=1.0))), RankedList("vector", 0, (other, near))]
    scores = {
        i.item.hit.chunk_id: i.score for i in reranked("router budget", lists, weights=only(bm25=0.5, vector=0.5))
    }
    assert (scores["zh"], scores["en"]) == (1.0, 0.5)
    # Without a list of bm25 there is nothing to speak for.
    alone = reranked("router budget", lists[1:], weights=only(bm25=0.5, vector=0.5))
    assert {i.item.hit.chunk_id: i.score for i in alone}["zh"] == 0.5
