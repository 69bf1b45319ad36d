"""Contract 10.1, 12.4, 12.5: what a planner is shown, and that nothing but a sound plan comes out of a reply."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.advice import Ask, Reply
from arr_sql.core.router_models import MAX_CALLS, MAX_REWRITTEN_QUERY, MAX_ROUNDS, QueryPlan, ReasonCode
from arr_sql.llm.prompt_files import load_prompt
from arr_sql.policy.llm_query_planner import (
    CAPABILITIES,
    OWN_CHANNEL,
    is_unsafe_rewrite,
    planner_ask,
    propose_plan,
    read_plan,
)
from arr_sql.policy.plan_rules import RULE_ORDER, plan_fault

NAMES = list(RULE_ORDER)
QUERY = "why did run 7 diverge"
PROMPT = load_prompt("planner")


def reply(rounds: Any) -> str:
    return json.dumps({"version": "plan-1", "tool_rounds": rounds})


def test_a_sound_plan_is_taken_as_it_is() -> None:
    """Names and rewrites, in rounds; the reason is fixed words and none of the model's."""
    text = reply([["bm25", "vector"], [{"tool": "bm25", "query": "发散 学习率"}, "grep"]])
    found = read_plan(text, QUERY, NAMES, "plan-1")
    assert found.code is None and found.plan is not None and found.stripped == ()
    rounds = [[(call.tool, call.query) for call in calls] for calls in found.plan.tool_rounds]
    assert rounds == [[("bm25", None), ("vector", None)], [("bm25", "发散 学习率"), ("grep", None)]]
    assert found.plan.reason == "language model (plan-1)"


def test_a_fence_and_a_thought_are_told() -> None:
    """Taken off, and noted."""
    found = read_plan(f"<think>hm</think>\n```json\n{reply([['bm25']])}\n```", QUERY, NAMES, "plan-1")
    assert found.plan is not None and found.stripped == ("think", "fence")


def test_what_is_shown_is_the_query_and_fixed_sentences() -> None:
    """Every channel of the rules has its sentence; another's is the same for all; a credential is taken out."""
    assert set(CAPABILITIES) == set(RULE_ORDER)
    query = "why does password=Xk29vLq8Tz41 fail"
    ask = planner_ask(query, [*NAMES, "my-notes"], PROMPT)
    shown = json.loads(ask.data)
    assert "Xk29vLq8Tz41" not in ask.data and shown["query"] == "why does password=[redacted] fail"
    assert [tool["name"] for tool in shown["tools"]] == [*NAMES, "my-notes"]
    assert shown["tools"][-1]["capability"] == OWN_CHANNEL and set(shown) == {"query", "tools"}
    assert query not in repr(ask) and "research archive" not in repr(ask)


def test_half_a_character_in_the_query_can_be_sent() -> None:
    """It is replaced: a request is UTF-8."""
    assert json.loads(planner_ask("a \ud800 b", NAMES, PROMPT).data)["query"] == "a ? b"


@pytest.mark.parametrize(
    "rewritten",
    [
        "学习率 预热 步数", "learning rate warmup steps diverged", "lr_decay", "NAN_LOSS_17 AdamW β2=0.95", "C++ template",
        "train/test split", "A/B test", "and/or", "TCP/IP", "PPO/GRPO", "数据清洗/去重", "RFC 2616 §14.37", "train.py warmup",
        "v2.1.3", "p < 0.05", "O(n^2)", "10.48550/arXiv.1706.03762", "k-means", "top-k accuracy", "branch prediction",
        "scope of the study", '"exact words"', "50% / 50%", "loss: NaN", "e.g. cosine", "x\\alpha", "$\\alpha$ decay",
    ],
)  # fmt: skip
def test_a_fair_rewrite_is_let_through(rewritten: str) -> None:
    """Terms, translations, identifiers, formulas, ratios."""
    assert not is_unsafe_rewrite(rewritten, QUERY)


@pytest.mark.parametrize(
    "rewritten",
    [
        "/etc/hosts", "see /var/log", "~/notes", "./x", "../x", "..\\x", "C:\\x", "c:/x", "\\\\host\\share", "src/train.py",
        "a/b/c.md", "http://a", "ftp://a/b", "www.example.org", "mailto:a@b", "data:text/html,x", "team_id=x", "branch: main",
        "scope = all", "k=100", "top_k: 5", "LIMIT=9", "a\tb", "a\nb", "a\u2028b", "a\u200db", "a\u00adb", "a\u202eb",
    ],
)  # fmt: skip
def test_an_unfair_one_is_not_unless_the_person_said_it(rewritten: str) -> None:
    """A path, an address, a scope's value or a limit may only be repeated; an unprintable character never."""
    assert is_unsafe_rewrite(rewritten, QUERY)
    is_printable = rewritten.isprintable()
    assert is_unsafe_rewrite(rewritten, f"look at {rewritten} please") is not is_printable


CALLS = st.one_of(
    st.sampled_from(NAMES),
    st.fixed_dictionaries({"tool": st.sampled_from([*NAMES, "shell"]), "query": st.text(max_size=30)}),
    st.text(max_size=8), st.none(), st.integers(), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
)  # fmt: skip
ROUNDS = st.lists(st.lists(CALLS, max_size=5), max_size=8)
VALUES = st.one_of(
    st.fixed_dictionaries({"version": st.sampled_from(["plan-1", "plan-1", "plan-1", "x"]), "tool_rounds": ROUNDS}),
    st.dictionaries(st.sampled_from(["version", "tool_rounds", "x"]), st.none() | st.text() | ROUNDS),
    st.none() | st.text() | st.lists(st.integers()),
)


@given(VALUES, st.text(min_size=1, max_size=20).filter(lambda text: text.strip()))
def test_whatever_a_model_says_a_plan_comes_out_sound_or_not_at_all(value: Any, query: str) -> None:
    """Bounds, known channels, no duplicate, the person's query asked: for every reply; and nothing is raised."""
    found = read_plan(json.dumps(value), query, NAMES, "plan-1")
    assert (found.plan is None) is (found.code is not None)
    if found.plan is not None:
        calls = [call for calls in found.plan.tool_rounds for call in calls]
        assert isinstance(found.plan, QueryPlan) and plan_fault(found.plan, query) is None
        assert len(found.plan.tool_rounds) <= MAX_ROUNDS and len(calls) <= MAX_CALLS
        assert {call.tool for call in calls} <= set(NAMES)
        assert any(call.query in (None, query) for call in calls)
        assert all(call.query is None or len(call.query) <= MAX_REWRITTEN_QUERY for call in calls)


@given(st.text())
def test_no_text_raises(text: str) -> None:
    """Replies of any kind."""
    assert read_plan(text, QUERY, NAMES, "plan-1").code is not None


def test_a_reply_that_is_none_keeps_its_code() -> None:
    """What the client said is what the caller hears."""
    asked: list[Ask] = []

    def refuse(ask: Ask) -> Reply:
        asked.append(ask)
        return Reply(code=ReasonCode.LLM_HTTP_STATUS, detail={"status": 429})

    found = propose_plan(QUERY, NAMES, refuse, PROMPT)
    assert (found.plan, found.code, found.detail) == (None, ReasonCode.LLM_HTTP_STATUS, {"status": 429})
    assert len(asked) == 1


def test_the_schema_describes_what_is_accepted() -> None:
    """For servers that hold a model to it: names as an enumeration, bounds, nothing further."""
    schema = planner_ask(QUERY, NAMES, PROMPT).schema
    assert schema["additionalProperties"] is False and schema["required"] == ["version", "tool_rounds"]
    rounds = schema["properties"]["tool_rounds"]
    assert rounds["maxItems"] == MAX_ROUNDS and rounds["items"]["items"]["anyOf"][0]["enum"] == NAMES
