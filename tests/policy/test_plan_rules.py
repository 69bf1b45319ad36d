"""The plan format: what a caller may write, which rule a bad plan breaks, and the rule planner (contract 10.1)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.router_models import MAX_CALLS, MAX_REWRITTEN_QUERY, MAX_ROUNDS, QueryPlan, ReasonCode, ToolCall
from arr_sql.errors import ArrError, PlanInvalid
from arr_sql.policy.plan_rules import parse_plan, plan_fault, rule_plan

CANARY = "canary-zqx-query"


def refusal(value: Any, query: str = CANARY) -> str:
    """The code with which ``value`` is refused."""
    with pytest.raises(PlanInvalid) as caught:
        parse_plan(value, query)
    assert CANARY not in str(caught.value)
    return caught.value.code


# --- The rule planner ---------------------------------------------------------------------------------------------------


def test_the_rule_plan_asks_all_four_channels_at_once_in_a_fixed_order() -> None:
    """However they were registered, and leaving out what is not there or not one of the four."""
    names = ["grep", "my-own", "vector", "bm25", "research-memory"]
    assert rule_plan(names).tool_rounds == (
        (ToolCall(tool="research-memory"), ToolCall(tool="bm25"), ToolCall(tool="vector"), ToolCall(tool="grep")),
    )
    assert rule_plan(["grep", "bm25"]).tool_rounds == ((ToolCall(tool="bm25"), ToolCall(tool="grep")),)


def test_the_rule_plan_obeys_the_plan_format() -> None:
    """It is parsed as a caller's plan would be."""
    plan = rule_plan(["research-memory", "bm25", "vector", "grep"])
    assert parse_plan(plan.model_dump(mode="json"), CANARY) == plan


# --- Writing a plan -----------------------------------------------------------------------------------------------------


def test_a_call_may_be_just_a_name() -> None:
    """Names and full calls may be mixed, and mean the same."""
    short = {"tool_rounds": [["bm25", {"tool": "grep", "query": "x"}], ["vector"]]}
    full = {"version": 1, "tool_rounds": [[{"tool": "bm25"}, {"tool": "grep", "query": "x"}], [{"tool": "vector"}]]}
    assert parse_plan(short, CANARY) == parse_plan(full, CANARY)
    assert parse_plan(short, CANARY).tool_rounds == (
        (ToolCall(tool="bm25"), ToolCall(tool="grep", query="x")), (ToolCall(tool="vector"),),
    )  # fmt: skip


def test_a_plan_value_is_taken_as_it_is() -> None:
    """A QueryPlan comes back itself, if it keeps the rules."""
    plan = QueryPlan(tool_rounds=((ToolCall(tool="bm25"),),), reason="why not")
    assert parse_plan(plan, CANARY) is plan
    assert refusal(QueryPlan(tool_rounds=())) == "plan_empty"


@pytest.mark.parametrize(
    "value",
    [
        "bm25", 3, [], [["bm25"]], {}, {"tool_rounds": "bm25"}, {"tool_rounds": ["bm25"]}, {"tool_rounds": [[3]]},
        {"tool_rounds": [["bm25"]], "version": 2}, {"tool_rounds": [["bm25"]], "shell": "rm"},
        {"tool_rounds": [[{"tool": "bm25", "scope": "other"}]]}, {"tool_rounds": [[{"tool": "bm25", "query": 3}]]},
        {"tool_rounds": [[{"query": "x"}]]}, {"tool_rounds": [[""]]}, {"tool_rounds": [["x" * 101]]},
        {"tool_rounds": None}, {"tool_rounds": [None]}, {"tool_rounds": [[None]]}, b"{}", float("nan"),
    ],
    ids=lambda value: repr(value)[:50],
)  # fmt: skip
def test_what_is_not_of_the_format_is_refused(value: Any) -> None:
    """Unknown fields, wrong types and other versions: nothing is guessed."""
    assert refusal(value) == "plan_invalid"


# --- The rules ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [[], [[]], [["bm25"], []], [[], ["bm25"]]])
def test_a_plan_without_a_call_in_every_round_is_empty(rounds: list[list[str]]) -> None:
    """A round is at least one call."""
    assert refusal({"tool_rounds": rounds}) == "plan_empty"


def test_rounds_and_calls_are_bounded() -> None:
    """Six rounds and twelve calls are allowed, one more of either is not."""
    calls = [{"tool": "bm25", "query": f"q{number}"} for number in range(MAX_CALLS + 1)]
    assert (MAX_ROUNDS, MAX_CALLS) == (6, 12)
    assert len(parse_plan({"tool_rounds": [[call] for call in calls[:6]]}, CANARY).tool_rounds) == 6
    assert refusal({"tool_rounds": [[call] for call in calls[:7]]}) == "too_many_rounds"
    assert len(parse_plan({"tool_rounds": [calls[:12]]}, CANARY).tool_rounds[0]) == 12
    assert refusal({"tool_rounds": [calls[:13]]}) == "too_many_calls"


def test_a_rewritten_query_is_bounded_and_not_blank() -> None:
    """1,000 characters are allowed."""
    assert MAX_REWRITTEN_QUERY == 1000
    assert parse_plan({"tool_rounds": [[{"tool": "bm25", "query": "率" * 1000}]]}, CANARY)
    assert refusal({"tool_rounds": [[{"tool": "bm25", "query": "率" * 1001}]]}) == "rewritten_query_too_long"
    assert refusal({"tool_rounds": [[{"tool": "bm25", "query": " \n"}]]}) == "rewritten_query_blank"
    assert refusal({"tool_rounds": [[{"tool": "bm25", "query": ""}]]}) == "rewritten_query_blank"


def test_the_same_call_twice_is_refused() -> None:
    """In one round or two, and also when the rewritten query is the user's own."""
    assert refusal({"tool_rounds": [["bm25", "bm25"]]}) == "duplicate_call"
    assert refusal({"tool_rounds": [["bm25"], ["bm25"]]}) == "duplicate_call"
    assert refusal({"tool_rounds": [["bm25"], [{"tool": "bm25", "query": CANARY}]]}) == "duplicate_call"
    assert parse_plan({"tool_rounds": [["bm25"], [{"tool": "bm25", "query": "other"}]]}, CANARY)
    assert parse_plan({"tool_rounds": [["bm25", "grep"]]}, CANARY)


# --- Properties ---------------------------------------------------------------------------------------------------------

json_like = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12), st.sampled_from(("bm25", "grep"))
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(("tool_rounds", "tool", "query", "version", "reason", "x")), inner, max_size=4),
    ),
    max_leaves=12,
)
calls = st.builds(
    ToolCall, tool=st.sampled_from(("bm25", "grep", "vector")),
    query=st.one_of(st.none(), st.text(max_size=3), st.sampled_from(("question", "x" * 1000, "x" * 1001))),
)  # fmt: skip
plans = st.builds(
    QueryPlan, tool_rounds=st.lists(st.lists(calls, max_size=4).map(tuple), max_size=8).map(tuple)
)  # fmt: skip


@given(
    st.one_of(json_like, st.fixed_dictionaries({"tool_rounds": st.lists(st.lists(json_like, max_size=3), max_size=3)}))
)
def test_any_value_is_a_plan_or_refused_with_a_code(value: Any) -> None:
    """Nothing else is ever raised, and what is accepted keeps every rule."""
    try:
        plan = parse_plan(value, "question")
    except ArrError as error:
        assert isinstance(error, PlanInvalid)
        assert error.code in {str(code) for code in ReasonCode}
    else:
        assert plan_fault(plan, "question") is None


@given(plans)
def test_the_rules_as_one_would_count_them(plan: QueryPlan) -> None:
    """A plan without a fault has 1 to 6 rounds of at least one call, at most 12 calls, all different, no bad query."""
    asked = [call for calls in plan.tool_rounds for call in calls]
    different = {(call.tool, "question" if call.query is None else call.query) for call in asked}
    keeps_rules = (
        1 <= len(plan.tool_rounds) <= 6
        and all(plan.tool_rounds)
        and len(asked) <= 12
        and len(different) == len(asked)
        and all(call.query is None or (call.query.strip() and len(call.query) <= 1000) for call in asked)
    )
    assert (plan_fault(plan, "question") is None) == keeps_rules
