"""Metrics: worked by hand, and equal to trec_eval on random runs."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.evaluation.metrics import (
    average_precision,
    false_answer_rate,
    mean,
    ndcg_at,
    percentile,
    recall_at,
    reciprocal_rank,
    scope_leak_count,
)

GRADES = {"a": 3, "b": 1, "c": 0, "d": 2, "e": -1}


def test_values_worked_by_hand() -> None:
    """List c, a, x, b: a (3) at 2, b (1) at 4, d (2) not found."""
    ranking = ["c", "a", "x", "b"]
    assert recall_at(ranking, GRADES, 3) == 1 / 3
    assert recall_at(ranking, GRADES, 10) == 2 / 3
    assert reciprocal_rank(ranking, GRADES) == 1 / 2
    assert average_precision(ranking, GRADES) == pytest.approx((1 / 2 + 2 / 4) / 3)
    ideal = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert ndcg_at(ranking, GRADES, 10) == pytest.approx((3 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert ndcg_at(ranking, GRADES, 1) == 0.0


def test_the_best_order_is_worth_one_and_nothing_is_worth_nothing() -> None:
    """Whatever is cut."""
    assert ndcg_at(["a", "d", "b"], GRADES, 10) == 1.0
    assert average_precision(["a", "d", "b"], GRADES) == 1.0
    for found in ([], ["c", "e", "x"]):
        assert (recall_at(found, GRADES, 10), reciprocal_rank(found, GRADES)) == (0.0, 0.0)
        assert (average_precision(found, GRADES), ndcg_at(found, GRADES, 10)) == (0.0, 0.0)
    assert ndcg_at(["a"], {"a": 0}, 10) == recall_at(["a"], {}, 10) == 0.0


def trec_order(scores: Mapping[str, float]) -> list[str]:
    """Ids in the order in which trec_eval reads a run: by score, equal scores by id, the later id first.

    trec_eval keeps scores as 32-bit floats, so two that differ only beyond those are equal. Ids are compared as bytes.
    """
    by_id = sorted(scores, key=lambda item: item.encode("utf-8", "surrogatepass"), reverse=True)
    return sorted(by_id, key=lambda item: ctypes.c_float(scores[item]).value, reverse=True)


def test_an_item_ranked_twice_is_refused() -> None:
    """It would count twice."""
    for metric in (reciprocal_rank, average_precision):
        with pytest.raises(ValueError, match="twice"):
            metric(["a", "x", "a"], GRADES)


def test_leaks_are_counted_over_the_whole_list() -> None:
    """Not only among the first ten."""
    own = {f"c{number}" for number in range(50)}
    assert scope_leak_count([*sorted(own), "other", "memory:m"], own) == 2
    assert scope_leak_count(own, own) == 0


def test_rates_means_and_percentiles() -> None:
    """Of something and of nothing."""
    assert false_answer_rate([True, False, False, False]) == 0.25
    assert false_answer_rate([]) == mean([]) == percentile([], 0.5) == 0.0
    assert mean([0.1] * 10) == 0.1
    assert [percentile([5, 1, 4, 2, 3], share) for share in (0.0, 0.5, 0.8, 0.81, 1.0)] == [1, 3, 4, 5, 5]


@given(st.dictionaries(st.text(max_size=3), st.integers(-1, 3)), st.lists(st.text(max_size=3), unique=True))
def test_every_metric_is_a_share(grades: dict[str, int], ranking: list[str]) -> None:
    """From 0 to 1, and 1 only when something relevant was found."""
    for value in (
        recall_at(ranking, grades, 10), reciprocal_rank(ranking, grades), average_precision(ranking, grades),
        ndcg_at(ranking, grades, 10),
    ):  # fmt: skip
        assert 0.0 <= value <= 1.0 + 1e-12
        assert value == 0.0 or any(grades.get(item, 0) > 0 for item in ranking)


def random_run(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgements and scores of 40 topics, with ties, items that are not judged, and grades below 1."""
    rng = random.Random(seed)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for topic in map(str, range(40)):
        items = [f"d{rng.randrange(400):03d}" for _ in range(rng.randrange(1, 120))]
        qrels[topic] = {item: rng.choice((-1, 0, 0, 1, 1, 2, 3)) for item in items[: rng.randrange(1, 40)]}
        run[topic] = {
            item: rng.choice((0.25, 1 / 3, rng.random(), 1e6 * rng.random(), -rng.random())) for item in items
        }
    return qrels, run


@pytest.mark.parametrize("seed", range(25))
def test_metrics_equal_trec_eval(seed: int) -> None:
    """To 1e-6, on 1,000 topics in all."""
    pytrec_eval: Any = pytest.importorskip("pytrec_eval", reason="no wheel of trec_eval for this platform")
    qrels, run = random_run(seed)
    measures = {"recall", "recip_rank", "map", "ndcg_cut"}
    expected = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    for topic, values in expected.items():
        ranking = trec_order(run[topic])
        for k in (5, 10, 100):
            assert recall_at(ranking, qrels[topic], k) == pytest.approx(values[f"recall_{k}"], abs=1e-6)
            assert ndcg_at(ranking, qrels[topic], k) == pytest.approx(values[f"ndcg_cut_{k}"], abs=1e-6)
        assert reciprocal_rank(ranking, qrels[topic]) == pytest.approx(values["recip_rank"], abs=1e-6)
        assert average_precision(ranking, qrels[topic]) == pytest.approx(values["map"], abs=1e-6)
    assert len(expected) == 40
