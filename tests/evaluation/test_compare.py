"""Comparing two runs and checking expectations: worked cases."""

from __future__ import annotations

from typing import Any

import pytest

from arr_sql.errors import InputError
from arr_sql.evaluation.compare import check, compare, is_readable
from arr_sql.evaluation.modes import RERANKED


def run_of(name: str = "small", **values: tuple[float, str, str]) -> dict[str, Any]:
    """A run of topics: (nDCG of the answer, digest of bm25's list, digest of the answer)."""
    topics = [
        {
            "topic_id": topic, "has_answer": True,
            "modes": {
                "bm25": {"ndcg_at_10": value, "digest": bm25}, RERANKED: {"ndcg_at_10": value, "digest": answer},
            },
        }
        for topic, (value, bm25, answer) in values.items()
    ]  # fmt: skip
    mean = sum(value for value, _, _ in values.values()) / len(values)
    modes = {RERANKED: {"ndcg_at_10": mean, "scope_leak_count": 0, "false_answer_rate": 0.1}}
    return {"gold": {"name": name}, "topics": topics, "modes": modes}


FIRST = run_of(a=(0.5, "x", "p"), b=(0.5, "x", "p"), c=(0.5, "x", "p"), d=(0.5, "x", "p"), e=(0.5, "x", "p"))
SECOND = run_of(a=(0.9, "y", "q"), b=(0.3, "x", "q"), c=(0.5, "x", "p"), d=(0.5, "y", "p"), f=(1.0, "x", "p"))


def test_wins_losses_ties_and_the_first_stage_that_differs() -> None:
    """Topics in one run only are counted and left out."""
    found = compare(FIRST, SECOND, RERANKED, "ndcg_at_10")
    assert (found.wins, found.losses, found.ties, found.only_in_one) == (1, 1, 2, 2)
    assert (found.before, found.after) == (0.5, pytest.approx(0.55))
    assert [(change.topic_id, change.stage) for change in found.changes] == [
        ("b", RERANKED),
        ("d", "bm25"),
        ("a", "bm25"),
    ]
    low, high = found.interval
    assert low < 0.05 < high


def test_a_run_compared_with_itself_differs_in_nothing() -> None:
    """No change, no spread."""
    found = compare(FIRST, FIRST, RERANKED, "ndcg_at_10")
    assert (found.wins, found.losses, found.ties, found.changes, found.interval) == (0, 0, 5, (), (0.0, 0.0))


def test_what_cannot_be_compared_is_refused() -> None:
    """Another set, an unknown mode or metric."""
    with pytest.raises(InputError, match="no topic in common"):
        compare(FIRST, run_of(z=(1.0, "x", "p")), RERANKED, "ndcg_at_10")
    for mode, metric in (("magic", "ndcg_at_10"), (RERANKED, "luck")):
        with pytest.raises(InputError, match="has no"):
            compare(FIRST, SECOND, mode, metric)


@pytest.mark.parametrize(
    ("metric", "expected", "holds"),
    [
        ("ndcg_at_10", 0.5, True), ("ndcg_at_10", 0.504, True), ("ndcg_at_10", 0.506, False), ("ndcg_at_10", 0.3, True),
        ("false_answer_rate", 0.097, True), ("false_answer_rate", 0.09, False), ("false_answer_rate", 0.5, True),
        ("scope_leak_count", 0, True), ("recall_at_10", 0.1, False),
    ],
)  # fmt: skip
def test_an_expectation_holds_within_its_tolerance(metric: str, expected: float, holds: bool) -> None:
    """Higher is better, but for leaks and false answers; what was not measured does not hold."""
    (one,) = check(FIRST, {"expected": {"small": {RERANKED: {metric: expected}}, "other": {}}})
    assert one.holds is holds


def test_a_leak_is_never_tolerated() -> None:
    """Whatever the tolerance."""
    leaking = run_of(a=(0.5, "x", "p"))
    leaking["modes"][RERANKED]["scope_leak_count"] = 1
    expected = {"expected": {"small": {RERANKED: {"scope_leak_count": 0}}}, "tolerance": 5}
    assert not check(leaking, expected)[0].holds


def test_tolerances_and_tables_of_several_sets() -> None:
    """The command's tolerance, else the file's; a benchmark's table is checked set by set."""
    table = {"measured": {"a": {"bm25": {"ndcg_at_10": 0.6}}, "b": {"bm25": {"ndcg_at_10": 0.4}}}}
    expected = {"expected": {name: {"bm25": {"ndcg_at_10": 0.5}} for name in "ab"}, "tolerance": 0.2}
    assert [one.holds for one in check(table, expected)] == [True, True]
    assert [one.holds for one in check(table, expected, 0.05)] == [True, False]
    with pytest.raises(InputError, match="expectations are of"):
        check(FIRST, expected)


@pytest.mark.parametrize(
    "value",
    [
        [], {}, {"topics": []}, {"topics": [{"topic_id": "a"}], "gold": {"name": "g"}, "modes": {}}, {"expected": {}},
        {"expected": [1]}, {"expected": {"g": 1}}, {"expected": {"g": {"search": 1}}}, {"measured": {"g": {"m": {"x": "1"}}}},
        {"expected": {"g": {"search": {"ndcg_at_10": "0.9"}}}}, {"expected": {"g": {"s": {"x": 1}}}, "tolerance": "much"},
    ],
)  # fmt: skip
def test_what_is_neither_a_run_nor_expectations(value: Any) -> None:
    """A gold set has topics too, and a figure in quotation marks is none."""
    assert not is_readable(value)


def test_runs_and_expectations_are_readable() -> None:
    topic = {"topic_id": "a", "has_answer": True, "modes": {}}
    assert is_readable({"topics": [topic], "gold": {"name": "g"}, "modes": {"search": {"map": 0.5, "curve": [0.1]}}})
    assert is_readable({"expected": {"g": {"search": {"map": 0.5}}}, "tolerance": 0.01})
    assert is_readable({"measured": {"g": {"search": {"map": None}}}})
