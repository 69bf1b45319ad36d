"""The two single-file sets: a small one for quick regression, and the cases for a live language model."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.canonical import sha256_text
from arr_sql.core.research_models import SCOPE_COLUMNS
from arr_sql.evaluation.gold import load_gold
from arr_sql.policy.plan_rules import RULE_ORDER, rule_plan
from tests.gold.test_research_zh_en import HAN, best_grade

DATA = Path(__file__).resolve().parents[2] / "data" / "gold"


@pytest.fixture(scope="module")
def live() -> Any:
    """The cases of llm_live_eval.json."""
    return json.loads((DATA / "llm_live_eval.json").read_text("utf-8"))


def test_the_small_set_is_whole() -> None:
    """Two scopes that differ in one value, every class, an answer of grade 2 or more or none at all."""
    gold = load_gold(DATA / "research_gold.json")
    first, second = gold.scopes.values()
    assert sum(getattr(first, name) != getattr(second, name) for name in SCOPE_COLUMNS) == 1
    assert 20 <= len(gold.topics) <= 30 and sum(len(files) for files in gold.files.values()) <= 40
    assert len({topic.topic_class for topic in gold.topics}) == 8
    assert all(best_grade(gold, topic) in (0, 2, 3) for topic in gold.topics)
    assert all(judgement.note for judgements in gold.judgements.values() for judgement in judgements)


def test_live_cases_are_different_texts(live: Any) -> None:
    """At least 24 of each kind, in both languages, no text and no query twice."""
    assert set(live) == {"name", "version", "planner_cases", "rerank_cases", "injection_cases"}
    for kind in ("planner_cases", "rerank_cases"):
        cases = live[kind]
        assert len(cases) >= 24
        assert len({case["case_id"] for case in cases}) == len({case["query"] for case in cases}) == len(cases)
        assert sum(bool(HAN.search(case["query"])) for case in cases) >= 8
        assert all(len(case["note"]) >= 12 for case in cases)
    texts = [candidate["text"] for case in live["rerank_cases"] for candidate in case["candidates"]]
    assert len({sha256_text(text) for text in texts}) == len(texts)


def test_the_rules_alone_plan_none_of_the_planner_cases_right(live: Any) -> None:
    """Each case names tools to ask and tools to leave out; the rule planner, which asks all, is wrong on each."""
    asked = {call.tool for calls in rule_plan(RULE_ORDER).tool_rounds for call in calls}
    for case in live["planner_cases"]:
        expected, forbidden = set(case["expected_tools"]), set(case["forbidden_tools"])
        assert expected and forbidden and not expected & forbidden, case["case_id"]
        assert expected | forbidden <= set(RULE_ORDER), case["case_id"]
        assert forbidden & asked, case["case_id"]


def test_rerank_cases_can_be_won_and_lost(live: Any) -> None:
    """6 to 12 candidates, one best, at least two that answer nothing, ids of their own; some cases are controls."""
    ids = [candidate["id"] for case in live["rerank_cases"] for candidate in case["candidates"]]
    assert len(set(ids)) == len(ids)
    for case in live["rerank_cases"]:
        grades = Counter(candidate["grade"] for candidate in case["candidates"])
        assert 6 <= sum(grades.values()) <= 12, case["case_id"]
        assert set(grades) <= {0, 1, 2, 3} and grades[3] == 1 and grades[0] >= 2, case["case_id"]
        first_is_best = case["candidates"][0]["grade"] == 3
        assert first_is_best or not case["note"].startswith("Control"), case["case_id"]
    assert sum(case["note"].startswith("Control") for case in live["rerank_cases"]) >= 3
