"""Contract 11.5: an order moves places and scores, never identity; in hybrid a clear exact match can't be buried."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.advice import Reply
from arr_sql.core.router_models import ReasonCode
from arr_sql.llm.prompt_files import load_prompt
from arr_sql.retrieval.hybrid_retriever import RankedList, fuse
from arr_sql.retrieval.llm_reranker import (
    MAX_SHOWN,
    candidates,
    cut_count,
    is_exact,
    judge,
    read_scores,
    reorder,
    reranker_ask,
)
from arr_sql.retrieval.rule_reranker import Reranked, rerank
from tests.retrieval.test_hybrid_retriever import make_hit

QUERY = "warmup NAN_LOSS_17"
PROMPT = load_prompt("reranker")


def listed(texts: list[str], query: str = QUERY) -> list[Reranked]:
    """The rules' order of these texts, found by one channel in this order."""
    hits = tuple(
        make_hit(f"h{number:02d}", rank=number, score=1 / number, content=text) for number, text in enumerate(texts, 1)
    )
    lists = [RankedList("bm25", 0, hits)]
    return rerank(query, fuse(lists).items, lists)


def ids(items: list[Reranked]) -> list[str]:
    return [item.item.hit.chunk_id for item in items]


PLAIN = listed(["warmup one", "warmup two", "warmup three", "four"])


def test_llm_orders_by_the_model_alone() -> None:
    """Its score is the score; ties stay as the rules have them."""
    scores = dict(zip(ids(PLAIN), (0.2, 0.9, 0.2, 1.0), strict=True))
    found = reorder(QUERY, PLAIN, scores, "llm")
    assert ids(found) == [ids(PLAIN)[n] for n in (3, 1, 0, 2)]
    assert [(item.score, item.reason) for item in found][:2] == [(1.0, "model=1.000"), (0.9, "model=0.900")]


def test_hybrid_takes_the_mean() -> None:
    """Worked by hand: rule scores brought to 0..1 by the best, half each."""
    best = [
        Reranked(item.item, score, "") for item, score in zip(PLAIN, (0.8, 0.4, 0.2, 0.0), strict=True)
    ]  # rule shares 1, 0.5, 0.25, 0
    scores = dict(zip(ids(best), (0.0, 0.9, 0.4, 1.0), strict=True))
    found = reorder(QUERY, best, scores, "hybrid")
    assert [(item.item.hit.chunk_id, item.score) for item in found] == [
        (ids(best)[1], 0.7), (ids(best)[0], 0.5), (ids(best)[3], 0.5), (ids(best)[2], 0.325),
    ]  # fmt: skip
    assert found[0].reason == "rule=0.250 model=0.450"


def test_the_three_modes_are_three_things() -> None:
    """One set of scores, three orders."""
    best = [Reranked(item.item, score, "") for item, score in zip(PLAIN, (1.0, 0.9, 0.2, 0.1), strict=True)]
    scores = dict(zip(ids(best), (0.0, 0.3, 0.5, 0.6), strict=True))
    orders = {mode: tuple(ids(reorder(QUERY, best, scores, mode))) for mode in ("rule", "llm", "hybrid")}  # type: ignore[arg-type]
    assert len(set(orders.values())) == 3 and orders["rule"] == tuple(ids(best))


TEXTS = st.lists(
    st.sampled_from(["warmup", "NAN_LOSS_17", "warmup NAN_LOSS_17", "the loss", "学习率", "nan loss 17 warmup", "other"]),
    min_size=1, max_size=25,
)  # fmt: skip


@given(TEXTS, st.data(), st.sampled_from(["rule", "llm", "hybrid"]))
def test_nothing_is_added_dropped_or_changed(texts: list[str], data: st.DataObject, mode: Any) -> None:
    """For any scores: the same items, the same identity; what lies beyond the 20 stays where it was; scores descend."""
    best = listed(texts)
    head = candidates(best)
    scores = {i: data.draw(st.floats(0, 1)) for i in ids(head)}
    found = reorder(QUERY, best, scores, mode)
    assert sorted(ids(found)) == sorted(ids(best)) and ids(found)[len(head) :] == ids(best)[len(head) :]
    assert {id(item.item) for item in found} == {id(item.item) for item in best}
    if mode != "rule":
        given_scores = [item.score for item in found[: len(head)]]
        assert given_scores == sorted(given_scores, reverse=True)  # type: ignore[type-var]


@given(TEXTS, st.data())
def test_in_hybrid_exact_matches_are_never_buried(texts: list[str], data: st.DataObject) -> None:
    """For any scores and every n: among the first n at least as many exact matches as by the rules."""
    best = listed(texts)
    scores = {i: data.draw(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])) for i in ids(candidates(best))}
    found = reorder(QUERY, best, scores, "hybrid")
    exact = [is_exact(QUERY, item.item.hit) for item in best], [is_exact(QUERY, item.item.hit) for item in found]
    for n in range(len(best) + 1):
        assert sum(exact[1][:n]) >= sum(exact[0][:n])


def test_a_single_exact_match_stays_first_against_any_model() -> None:
    """The model gives it 0 and all else 1; its reason says how far it was lifted."""
    best = listed(["NAN_LOSS_17 after the warmup", "warmup a", "warmup b"])
    scores = {i: float(n > 0) for n, i in enumerate(ids(best))}
    found = reorder(QUERY, best, scores, "hybrid")
    assert ids(found)[0] == ids(best)[0] and "exact=" in found[0].reason
    assert ids(reorder(QUERY, best, scores, "llm"))[-1] == ids(best)[0]


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("cosine decay", "We use Cosine Decay.", True), ("cosine decay", "decay, then cosine", False),
        ("why NAN_LOSS_17", "it logged NAN_LOSS_17", True), ("why NAN_LOSS_17", "nan loss", False),
        ('find "lr = 3e-4" now', "set lr = 3e-4 there", True), ('find "lr = 3e-4" now', "lr is 3e-4", False),
        ("warmup", "warmup", False), ("学习率预热", "这里说学习率预热", True), ("a_b and c_d", "a_b", False),
    ],
)  # fmt: skip
def test_what_counts_as_exact(query: str, text: str, expected: bool) -> None:
    """The whole query as a phrase, all that is quoted, or all identifiers; one common word alone is nothing clear."""
    assert is_exact(query, make_hit("a", content=text)) is expected


def test_scores_of_other_items_change_nothing() -> None:
    """A replay on another store: the rules' order."""
    assert reorder(QUERY, PLAIN, {"h01": 1.0}, "hybrid") == list(PLAIN)
    assert reorder(QUERY, PLAIN, {}, "llm") == list(PLAIN)


def test_what_is_shown_is_redacted_and_bounded() -> None:
    """Credentials are withheld, long texts are cut and counted, labels say nothing, half characters are replaced."""
    secret = "export API_KEY=sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    best = listed([f"warmup\n{secret}\nend", "warmup " + "x" * 5_000, "warmup \ud800", "warmup"])
    ask = reranker_ask("warmup password=Xk29vLq8Tz41", best, PROMPT)
    shown = json.loads(ask.data)
    assert "4eC39Hq" not in ask.data and "Xk29vLq8Tz41" not in ask.data and "[line withheld" in ask.data
    assert {one["id"] for one in shown["candidates"]} == {"e01", "e02", "e03", "e04"}
    assert max(len(one["text"]) for one in shown["candidates"]) == MAX_SHOWN + len(" [cut]")
    assert cut_count(best) == 1 and "h01" not in ask.data
    assert ask.schema["properties"]["scores"]["minItems"] == 4


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["rank-1", "e01", "e02", "id", "score"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["version", "scores", "id", "score", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(VALUES | st.fixed_dictionaries({"version": st.just("rank-1"), "scores": st.lists(
    st.fixed_dictionaries({"id": st.sampled_from(["e01", "e02", "e03"]), "score": st.floats() | st.integers() | st.booleans()}),
    max_size=3)}))  # fmt: skip
def test_whatever_a_model_says_all_scores_come_out_or_none(value: Any) -> None:
    """Each candidate once, finite, 0 to 1; and nothing is raised."""
    two = PLAIN[:2]
    found = read_scores(json.dumps(value), two, "rank-1")
    assert (found.scores is None) is (found.code is not None)
    if found.scores is not None:
        assert set(found.scores) == set(ids(two)) and all(0 <= score <= 1 for score in found.scores.values())


def test_a_good_reply_and_no_reply() -> None:
    """Scores by chunk id; the client's code."""
    said = json.dumps({"version": "rank-1", "scores": [{"id": "e02", "score": 1}, {"id": "e01", "score": 0.25}]})
    assert judge(QUERY, PLAIN[:2], lambda ask: Reply(said), PROMPT).scores == {
        ids(PLAIN)[1]: 1.0, ids(PLAIN)[0]: 0.25,
    }  # fmt: skip
    refused = judge(QUERY, PLAIN[:2], lambda ask: Reply(code=ReasonCode.LLM_TIMED_OUT), PROMPT)
    assert refused.scores is None and refused.code is ReasonCode.LLM_TIMED_OUT
