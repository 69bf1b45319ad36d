"""Admission is pure: the verdict on each call follows from the plan, the tools' facts and the policy alone (contract 10.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.router_models import MAX_CALLS, QueryPlan, ReasonCode, ToolCall
from arr_sql.errors import StateError
from arr_sql.policy.admission import Policy, ToolFacts, admit
from arr_sql.retrieval.catalog import UNSAFE_WORDS, Catalog, ChannelAnswer, has_unsafe_word

GOOD = ToolFacts("bm25", "local", True)
DEFAULT = Policy()


def plan_of(*rounds: list[str]) -> QueryPlan:
    """A plan of these names; every call has a query of its own."""
    return QueryPlan(
        tool_rounds=tuple(
            tuple(ToolCall(tool=name, query=f"q{number}.{place}") for place, name in enumerate(calls))
            for number, calls in enumerate(rounds)
        )
    )


def codes(plan: QueryPlan, tools: dict[str, ToolFacts], policy: Policy = DEFAULT) -> list[ReasonCode | None]:
    """The verdicts' codes."""
    return [verdict.code for verdict in admit(plan, "question", tools, policy)]


# --- The checks and their order -----------------------------------------------------------------------------------------

# From everything wrong to nothing wrong: each row repairs one thing, and the next check in the contract's order speaks.
LADDER: list[tuple[ReasonCode | None, bool, ToolFacts | None]] = [
    (ReasonCode.BUDGET_EXHAUSTED, False, None),
    (ReasonCode.NOT_REGISTERED, True, None),
    (ReasonCode.NOT_READ_ONLY, True, ToolFacts("shell", "cloud", False, is_index_behind=True)),
    (ReasonCode.PROVIDER_NOT_ALLOWED, True, ToolFacts("shell", "cloud", True, is_index_behind=True)),
    (ReasonCode.UNSAFE_NAME, True, ToolFacts("shell", "local", True, is_index_behind=True)),
    (ReasonCode.STALE_INDEX, True, ToolFacts("bm25", "local", True, is_index_behind=True)),
    (None, True, ToolFacts("bm25", "local", True)),
]


@pytest.mark.parametrize(("code", "has_budget", "facts"), LADDER, ids=[str(row[0]) for row in LADDER])
def test_the_checks_speak_in_the_contracts_order(
    code: ReasonCode | None, has_budget: bool, facts: ToolFacts | None
) -> None:
    """Budget, registered, read-only, provider, safe name, index: the first that fails is the verdict."""
    policy = Policy(max_calls=1 if has_budget else 0)
    assert codes(plan_of(["x"]), {} if facts is None else {"x": facts}, policy) == [code]


@pytest.mark.parametrize("value", [False, None, 1, "true", [True], 1.0])
def test_only_true_itself_is_read_only(value: Any) -> None:
    """Anything else that counts as true is not the statement that the contract wants."""
    assert codes(plan_of(["bm25"]), {"bm25": GOOD._replace(read_only=value)}) == [ReasonCode.NOT_READ_ONLY]


@pytest.mark.parametrize("value", ["LOCAL", "local ", "", None, 3, ("local",), "remote"])
def test_a_provider_outside_the_allowed_set_is_refused(value: Any) -> None:
    """Compared exactly."""
    assert codes(plan_of(["bm25"]), {"bm25": GOOD._replace(provider=value)}) == [ReasonCode.PROVIDER_NOT_ALLOWED]


def test_an_allowed_providers_name_may_not_be_unsafe() -> None:
    """Allowing a provider does not make a name safe that says it is remote."""
    policy = Policy(allowed_providers=frozenset({"local", "remote-lab"}))
    assert codes(plan_of(["x"]), {"x": ToolFacts("x", "remote-lab", True)}, policy) == [ReasonCode.UNSAFE_NAME]


@pytest.mark.parametrize("word", sorted(UNSAFE_WORDS))
@pytest.mark.parametrize("form", ["{}", "my-{}", "{}-x", "a_{}_b", "{}.py", "run:{}", "my{Title}Tool", "{UPPER}"])
def test_unsafe_words_are_found_as_whole_words(word: str, form: str) -> None:
    """At either end, between any signs, in any case and in camelCase."""
    assert has_unsafe_word(form.format(word, Title=word.title(), UPPER=word.upper()))


@pytest.mark.parametrize(
    "name", ["executor", "rewrite", "shelley", "commander", "remotely", "grep", "bm25", "writeup", "websearcher"]
)
def test_unsafe_words_inside_other_words_are_not_words(name: str) -> None:
    """A rewriter is not a writer."""
    assert not has_unsafe_word(name)


def test_the_words_of_the_contract_are_the_unsafe_words() -> None:
    """Contract 10.2 lists six."""
    assert {"remote", "websearch", "shell", "command", "write", "exec"} == UNSAFE_WORDS


# --- Budget -------------------------------------------------------------------------------------------------------------


def test_only_admitted_calls_use_up_the_budget() -> None:
    """Of unknown, good, good, good with a budget of two, the last is out of budget; the unknown one cost nothing."""
    found = codes(plan_of(["unknown", "bm25"], ["bm25"], ["bm25", "unknown"]), {"bm25": GOOD}, Policy(max_calls=2))
    out = ReasonCode.BUDGET_EXHAUSTED
    assert found == [ReasonCode.NOT_REGISTERED, None, None, out, out]


def test_the_default_budget_is_the_contracts() -> None:
    """Twelve calls."""
    assert (Policy().max_calls, MAX_CALLS) == (12, 12)


# --- Verdicts -----------------------------------------------------------------------------------------------------------


def test_a_verdict_names_its_call_and_the_query_it_gets() -> None:
    """Verdicts are in plan order; a call without a query of its own gets the user's."""
    plan = QueryPlan(tool_rounds=((ToolCall(tool="bm25"),), (ToolCall(tool="no"), ToolCall(tool="bm25", query="改写"))))
    verdicts = admit(plan, "question", {"bm25": GOOD}, Policy())
    assert [(v.round_index, v.call_index, v.tool_name, v.query, v.is_admitted) for v in verdicts] == [
        (0, 0, "bm25", "question", True), (1, 0, "no", "question", False), (1, 1, "bm25", "改写", True),
    ]  # fmt: skip


facts = st.builds(
    ToolFacts, st.sampled_from(("bm25", "shell")), st.sampled_from(("local", "cloud", None)),
    st.sampled_from((True, False, 1)), st.booleans(),
)  # fmt: skip
tool_maps = st.dictionaries(st.sampled_from("abc"), facts)
plans = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), min_size=1, max_size=5).map(
    lambda r: plan_of(*r)
)
policies = st.builds(Policy, st.sampled_from((frozenset({"local"}), frozenset({"local", "cloud"}))), st.integers(0, 8))


@given(plans, tool_maps, policies)
def test_verdicts_depend_on_nothing_but_the_values(
    plan: QueryPlan, tools: dict[str, ToolFacts], policy: Policy
) -> None:
    """Equal values give equal verdicts, whatever was asked in between and however the tools are ordered."""
    first = admit(plan, "question", tools, policy)
    admit(plan_of(["a"] * 3), "other", {}, Policy(max_calls=0))
    turned = dict(reversed(list(tools.items())))
    assert admit(plan.model_copy(), "question", turned, replace(policy)) == first


@given(plans, tool_maps, policies)
def test_the_budget_is_a_prefix(plan: QueryPlan, tools: dict[str, ToolFacts], policy: Policy) -> None:
    """With a budget of n the verdicts are those without a budget up to the n-th admission, and then all out of budget."""
    free = codes(plan, tools, replace(policy, max_calls=1000))
    bounded = codes(plan, tools, policy)
    admitted, expected = 0, []
    for code in free:
        expected.append(ReasonCode.BUDGET_EXHAUSTED if admitted >= policy.max_calls else code)
        admitted += expected[-1] is None
    assert bounded == expected


@given(plans, tool_maps)
def test_more_tools_never_take_an_admission_away(plan: QueryPlan, tools: dict[str, ToolFacts]) -> None:
    """Without a budget in the way, a call's verdict depends on its own tool only."""
    policy = Policy(max_calls=1000)
    verdicts = admit(plan, "question", tools, policy)
    for verdict in verdicts:
        own = {verdict.tool_name: tools[verdict.tool_name]} if verdict.tool_name in tools else {}
        assert codes(plan_of([verdict.tool_name]), own, policy) == [verdict.code]


# --- The policy's hash --------------------------------------------------------------------------------------------------


def test_the_policys_hash_moves_with_what_decides_verdicts() -> None:
    """Equal policies hash equal, and each field is in the hash."""
    hashes = [Policy().hash, Policy(max_calls=3).hash, Policy(allowed_providers=frozenset({"local", "lab"})).hash]
    assert Policy().hash == hashes[0]
    assert len(set(hashes)) == 3


# --- Registration -------------------------------------------------------------------------------------------------------


class Named:
    """A channel that is whatever it is said to be."""

    def __init__(self, name: Any = "mine", provider: Any = "local", read_only: Any = True) -> None:
        self.name, self.provider, self.read_only = name, provider, read_only

    def retrieve(self, query: str, scope: Any, k: int, deadline: float) -> ChannelAnswer:
        """Nothing."""
        return ChannelAnswer("empty")


@pytest.mark.parametrize(
    "channel",
    [
        Named(read_only=1), Named(read_only=False), Named(read_only="true"), Named(provider="cloud"), Named(provider=None),
        Named(name="remote-x"), Named(name="Bm25"), Named(name=""), Named(name="a" * 65), Named(name=None), Named(name="x y"),
        Named(name="学习"),
    ],
    ids=lambda channel: f"{channel.name!r:.12}-{channel.provider}-{channel.read_only}",
)  # fmt: skip
def test_what_admission_would_refuse_is_refused_at_registration(channel: Named) -> None:
    """Contract 10.2: not read-only, another provider, an unsafe or malformed name; the catalog stays as it was."""
    catalog = Catalog()
    with pytest.raises(StateError):
        catalog.register(channel)
    assert catalog.names() == ()


def test_an_allowed_provider_with_an_unsafe_name_is_refused_at_registration() -> None:
    """As at admission."""
    with pytest.raises(StateError):
        Catalog(allowed_providers=frozenset({"remote"})).register(Named(provider="remote"))


def test_a_second_channel_of_a_name_is_refused() -> None:
    """The first one stays."""
    catalog, first = Catalog(), Named()
    catalog.register(first)
    with pytest.raises(StateError):
        catalog.register(Named())
    registration = catalog.get("mine")
    assert registration is not None and registration.channel is first
    assert catalog.names() == ("mine",)
