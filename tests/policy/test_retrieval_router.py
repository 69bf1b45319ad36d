"""The router against channels that fail, lie, dawdle or change: each loses only itself or only the offending item.

The channels here are real objects of the Channel protocol with one bad habit each; none patches anything.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.research_models import FreshnessCertificate, ScopeKey
from arr_sql.core.router_models import QueryPlan, ReasonCode, ToolCall
from arr_sql.policy.admission import Policy
from arr_sql.policy.retrieval_router import Limits, RunOutcome, run
from arr_sql.retrieval.catalog import Catalog, ChannelAnswer, FileRef, Hit
from tests.conftest import SCOPE, other_scopes
from tests.retrieval.test_hybrid_retriever import make_hit

QUERY = "canary-zqx router budget"
DEFAULT = Policy()
Answer = Callable[[str, ScopeKey, int, float], Any]


class Channel:
    """A channel that answers with ``answer``: a value, or a function of the call. It keeps the queries it was given."""

    provider, read_only = "local", True

    def __init__(self, name: str, answer: Any) -> None:
        self.name, self._answer, self.asked = name, answer, []

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> Any:
        """The answer."""
        self.asked.append(query)
        return self._answer(query, scope, k, deadline) if callable(self._answer) else self._answer


class Turncoat(Channel):
    """Honest until it is asked; then ``attribute`` is something else."""

    def __init__(self, name: str, answer: Any, attribute: str, value: Any) -> None:
        super().__init__(name, answer)
        self._change = (attribute, value)

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> Any:
        """The answer, from somebody else."""
        setattr(self, *self._change)
        return super().retrieve(query, scope, k, deadline)


class Brittle(Channel):
    """Its name can be read ``reads`` times, then reading it fails."""

    def __init__(self, name: str, answer: Any, reads: int) -> None:
        self._left, self._name = reads, name
        self._answer, self.asked = answer, []

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, while it lasts."""
        self._left -= 1
        if self._left < 0:
            raise RuntimeError(QUERY)
        return self._name


class Eager(ChannelAnswer):
    """An answer whose hits can't be looked at."""

    @property
    def hits(self) -> Any:  # type: ignore[override]
        """Fails."""
        raise RuntimeError(QUERY)

    @hits.setter
    def hits(self, value: Any) -> None:
        """Ignored."""


def ok(*ids: str, **values: Any) -> ChannelAnswer:
    """An honest answer."""
    hits = tuple(make_hit(name, rank, 10.0 - rank, **values) for rank, name in enumerate(ids, 1))
    return ChannelAnswer("ok" if hits else "empty", hits, len(hits))


def raising(error: BaseException) -> Answer:
    """A function that raises."""

    def answer(query: str, scope: ScopeKey, k: int, deadline: float) -> Any:
        raise error

    return answer


def one_round(*names: str) -> QueryPlan:
    """All of ``names`` side by side."""
    return QueryPlan(tool_rounds=(tuple(ToolCall(tool=name) for name in names),))


def rounds(*names: str) -> QueryPlan:
    """One after the other."""
    return QueryPlan(tool_rounds=tuple((ToolCall(tool=name),) for name in names))


def run_with(
    channels: Sequence[Any], plan: QueryPlan | None = None, *, limits: Limits = Limits(), policy: Policy = DEFAULT,
    query: str = QUERY, **options: Any,
) -> RunOutcome:  # fmt: skip
    """Register the channels and run the plan (default: all side by side)."""
    catalog = Catalog(policy.allowed_providers | {"lab"})
    for channel in channels:
        catalog.register(channel)
    plan = plan or one_round(*(channel.name for channel in channels))
    return run(query, SCOPE, plan, catalog, policy=policy, limits=limits, **options)


def ids(outcome: RunOutcome) -> set[str]:
    """What was found."""
    return {item.chunk_id for item in outcome.evidence}


def states(outcome: RunOutcome) -> list[tuple[str, str, str]]:
    """Tool, state and reason of each trace."""
    return [(trace.tool_name, trace.state, trace.reason) for trace in outcome.traces]


def degraded(outcome: RunOutcome) -> list[tuple[str, str]]:
    """Tool and code of each degradation."""
    return [(item.tool_name, str(item.code)) for item in outcome.degradations]


def refused(outcome: RunOutcome) -> list[tuple[str, str, int]]:
    """Tool, code and count of each rejection."""
    return [(item.tool_name, str(item.code), item.count) for item in outcome.rejections]


def everything_said(outcome: RunOutcome) -> str:
    """The account without the evidence."""
    return repr(
        [outcome.traces, outcome.rejections, outcome.degradations, [item.rerank_reason for item in outcome.evidence]]
    )


# --- A channel that is lost ---------------------------------------------------------------------------------------------

GOOD = ("good-a", "good-b")


def with_two_good(bad: Any, **options: Any) -> RunOutcome:
    """``bad`` between two honest channels."""
    good = [Channel("good-a", ok("a", "c")), Channel("good-b", ok("b", "c"))]
    return run_with([good[0], bad, good[1]], one_round("good-a", "bad", "good-b"), **options)


@pytest.mark.parametrize(
    "error", [RuntimeError(QUERY), MemoryError(), KeyError(QUERY), SystemExit(3), KeyboardInterrupt()], ids=repr
)
def test_a_channel_that_raises_loses_only_itself(error: BaseException) -> None:
    """Whatever it raises; what it said is not repeated."""
    outcome = with_two_good(Channel("bad", raising(error)))
    assert states(outcome) == [("good-a", "ok", ""), ("bad", "error", "channel_error"), ("good-b", "ok", "")]
    assert (ids(outcome), degraded(outcome), refused(outcome)) == ({"a", "b", "c"}, [("bad", "channel_error")], [])
    assert (outcome.partial, outcome.state) == (True, "found")
    assert QUERY not in everything_said(outcome)


def test_a_late_channel_loses_only_itself() -> None:
    """It is still waiting when the run is over; its name is told once, so that its work can be stopped."""
    release, told = threading.Event(), []

    def wait(query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        release.wait(60)
        return ok("late")

    try:
        outcome = with_two_good(Channel("bad", wait), limits=Limits(deadline_seconds=1.0), on_timeout=told.append)
    finally:
        release.set()
    assert states(outcome) == [("good-a", "ok", ""), ("bad", "timed_out", "timed_out"), ("good-b", "ok", "")]
    assert (ids(outcome), degraded(outcome), told) == ({"a", "b", "c"}, [("bad", "timed_out")], ["bad"])
    assert (outcome.partial, outcome.state) == (True, "found")


def test_a_channel_whose_property_never_returns_does_not_hold_the_run() -> None:
    """Its identity is looked at in its own thread, within its deadline."""
    release = threading.Event()

    class Stuck(Channel):
        reads = 0

        @property
        def provider(self) -> str:  # type: ignore[override]
            """Told when it is registered; afterwards it hangs."""
            self.reads += 1
            if self.reads > 1:
                release.wait(60)
            return "local"

    try:
        outcome = with_two_good(Stuck("bad", ok("x")), limits=Limits(deadline_seconds=1.0))
    finally:
        release.set()
    assert ids(outcome) == {"a", "b", "c"}
    assert degraded(outcome) == [("bad", "timed_out")]


def test_nothing_is_begun_after_the_deadline() -> None:
    """A run without time asks nobody, and says so for every call."""
    channels = [Channel("good-a", ok("a")), Channel("good-b", ok("b"))]
    told: list[str] = []
    outcome = run_with(channels, limits=Limits(deadline_seconds=0.0), on_timeout=told.append)
    assert states(outcome) == [("good-a", "timed_out", "timed_out"), ("good-b", "timed_out", "timed_out")]
    assert ([channel.asked for channel in channels], told) == ([[], []], [])
    assert (outcome.partial, outcome.state, outcome.evidence) == (True, "incomplete", ())


@pytest.mark.parametrize(
    ("attribute", "value"), [("name", "good-a"), ("provider", "remote"), ("read_only", False), ("read_only", 1)]
)
def test_a_channel_that_changes_its_identity_loses_its_answer(attribute: str, value: Any) -> None:
    """Changed while it ran: the answer is refused whole."""
    outcome = with_two_good(Turncoat("bad", ok("x"), attribute, value))
    assert states(outcome)[1] == ("bad", "error", "identity_changed")
    assert ids(outcome) == {"a", "b", "c"}
    assert (refused(outcome), degraded(outcome)) == ([("bad", "identity_changed", 1)], [("bad", "identity_changed")])
    assert (outcome.partial, outcome.state) == (True, "found")


@pytest.mark.parametrize(("attribute", "value"), [("provider", "remote"), ("read_only", False), ("read_only", 1)])
def test_a_channel_that_changed_before_the_run_is_not_asked(attribute: str, value: Any) -> None:
    """What was registered is what may run."""
    bad, catalog = Channel("bad", ok("x")), Catalog()
    catalog.register(bad)
    setattr(bad, attribute, value)
    outcome = run(QUERY, SCOPE, one_round("bad"), catalog, policy=Policy(), limits=Limits())
    assert (bad.asked, states(outcome)) == ([], [("bad", "error", "identity_changed")])
    assert (outcome.partial, outcome.state) == (True, "incomplete")


@pytest.mark.parametrize("reads", [1, 2])
def test_a_property_that_raises_loses_only_its_channel(reads: int) -> None:
    """Readable when registered, or also when asked, and not afterwards."""
    outcome = with_two_good(Brittle("bad", ok("x"), reads))
    assert states(outcome)[1] == ("bad", "error", "identity_changed")
    assert ids(outcome) == {"a", "b", "c"}
    assert QUERY not in everything_said(outcome)


BAD_ANSWERS: dict[str, Any] = {
    "None": None,
    "a list of hits": [make_hit("x")],
    "hits in a list": ChannelAnswer("ok", [make_hit("x")], 1),  # type: ignore[arg-type]
    "hits that iterate for ever": ChannelAnswer("ok", iter(lambda: make_hit("x"), None), 1),  # type: ignore[arg-type]
    "a subclass that raises": Eager("ok"),
    "an unknown state": ChannelAnswer("splendid", (make_hit("x"),), 1),  # type: ignore[arg-type]
    "a state that is no text": ChannelAnswer(None, (make_hit("x"),), 1),  # type: ignore[arg-type]
    "a count that is text": ChannelAnswer("ok", (make_hit("x"),), "many"),  # type: ignore[arg-type]
    "a negative count": ChannelAnswer("ok", (make_hit("x"),), -1),
    "a code of its own": ChannelAnswer("cut", (make_hit("x"),), 1, QUERY),  # type: ignore[arg-type]
    "a detail that is text": ChannelAnswer("cut", (make_hit("x"),), 1, ReasonCode.CUT, QUERY),  # type: ignore[arg-type]
    "a detail that is NaN": ChannelAnswer("cut", (make_hit("x"),), 1, ReasonCode.CUT, {"n": math.nan}),
    "a detail that is an object": ChannelAnswer("cut", (make_hit("x"),), 1, ReasonCode.CUT, {"n": object()}),
    "a detail with a number for a name": ChannelAnswer("cut", (make_hit("x"),), 1, ReasonCode.CUT, {1: 2}),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_an_answer_of_the_wrong_form_is_refused_whole(answer: Any) -> None:
    """Not a channel answer, or one whose fields are not what they must be."""
    outcome = with_two_good(Channel("bad", lambda *_: answer))
    assert states(outcome)[1] == ("bad", "error", "wrong_type")
    assert (ids(outcome), refused(outcome)) == ({"a", "b", "c"}, [("bad", "wrong_type", 1)])
    assert (degraded(outcome), outcome.partial, outcome.state) == ([("bad", "wrong_type")], True, "found")
    assert QUERY not in everything_said(outcome)


# --- An item that is lost -----------------------------------------------------------------------------------------------


class Sly(Hit):
    """A hit that does something when it is looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(QUERY)


BAD_ITEMS: dict[str, tuple[Any, str]] = {
    "None": (None, "wrong_type"),
    "text": ("hit", "wrong_type"),
    "a subclass": (Sly.__new__(Sly), "wrong_type"),
    "an id that is a number": (replace(make_hit("x"), chunk_id=3), "wrong_type"),
    "an empty id": (make_hit(""), "wrong_type"),
    "an id with half a character": (make_hit("\ud800"), "wrong_type"),
    "no source": (make_hit("x", source_ref=""), "wrong_type"),
    "content that is bytes": (make_hit("x", content="x", content_hash="0" * 64, heading=b"h"), "wrong_type"),
    "no time": (make_hit("x", created_at=None), "wrong_type"),
    "metadata that is None": (make_hit("x", metadata=None), "wrong_type"),
    "metadata with an object": (make_hit("x", metadata={"x": object()}), "wrong_type"),
    "metadata with infinity": (make_hit("x", metadata={"x": math.inf}), "wrong_type"),
    "a file that is a path": (make_hit("x", file="/etc/passwd"), "wrong_type"),
    "a scope that is text": (make_hit("x", scope="all"), "wrong_scope"),
    "a scope that is None": (make_hit("x", scope=None), "wrong_scope"),
    **{f"scope {scope}": (make_hit("x", scope=scope), "wrong_scope") for scope in other_scopes()},
    "NaN": (make_hit("x", score=math.nan), "bad_score"),
    "infinity": (make_hit("x", score=math.inf), "bad_score"),
    "minus infinity": (make_hit("x", score=-math.inf), "bad_score"),
    "True": (make_hit("x", score=True), "bad_score"),
    "text for a score": (make_hit("x", score="9"), "bad_score"),
    "no score": (make_hit("x", score=None), "bad_score"),
    "an integer beyond floats": (make_hit("x", score=10**400), "bad_score"),
    "a hash of another text": (replace(make_hit("x"), content="not what was hashed"), "conflicting_item"),
    "an id that means something else": (make_hit("c", content="another text"), "conflicting_item"),
}


@pytest.mark.parametrize(("item", "code"), BAD_ITEMS.values(), ids=BAD_ITEMS)
def test_a_bad_item_is_refused_alone(item: Any, code: str) -> None:
    """Its neighbours in the same answer stay, ranked without a gap, and the run is complete."""
    answer = ChannelAnswer("ok", (make_hit("before", 1, 9.0), item, make_hit("after", 3, 7.0)), 3)
    outcome = with_two_good(Channel("bad", answer))
    assert ids(outcome) == {"a", "b", "c", "before", "after"}
    assert refused(outcome) == [("bad", code, 1)]
    assert (degraded(outcome), outcome.partial, outcome.state) == ([], False, "found")
    found = {item.chunk_id: item for item in outcome.evidence}
    assert found["c"].content == "text of c"
    if code != "conflicting_item":
        assert [rank.rank for rank in found["after"].channels] == [2]
        assert outcome.traces[1].eligible_count == 2
    assert QUERY not in everything_said(outcome)


@pytest.mark.parametrize("field", ["content", "content_hash", "source_ref", "locator", "heading", "created_at"])
def test_an_item_that_was_good_vouches_for_no_other_of_its_id(field: str) -> None:
    """What was looked at once is known again, but only the very same texts are: not equal ones, nor a half of them."""
    good = make_hit("x", content="what a chunk says")
    assert ids(with_two_good(Channel("bad", ChannelAnswer("ok", (good,), 1)))) == {"a", "b", "c", "x"}
    other = getattr(make_hit("x", content="another text"), field)
    for bad in (3, None, b"bytes", *([other] if field in ("content", "content_hash") else [])):
        outcome = with_two_good(Channel("bad", ChannelAnswer("ok", (replace(good, **{field: bad}),), 1)))
        code = "conflicting_item" if bad is other else "wrong_type"
        assert (ids(outcome), refused(outcome)) == ({"a", "b", "c"}, [("bad", code, 1)])


def test_more_hits_than_were_asked_for_are_counted_and_left_out() -> None:
    """A channel that was asked for five and gives nine keeps its first five."""
    outcome = run_with([Channel("bad", ok(*"abcdefghi"))], limits=Limits(k=10, depth=5))
    assert (ids(outcome), refused(outcome)) == (set("abcde"), [("bad", "wrong_type", 4)])


def test_two_items_of_one_id_within_an_answer() -> None:
    """The one that contradicts the first is refused; a repetition of the first changes nothing."""
    answer = ChannelAnswer("ok", (make_hit("a"), make_hit("a", content="another text"), make_hit("a")), 3)
    outcome = run_with([Channel("bad", answer)])
    assert [item.content for item in outcome.evidence] == ["text of a"]
    assert refused(outcome) == [("bad", "conflicting_item", 1)]


def test_huge_scores_are_scores() -> None:
    """The largest floats and an integer that fits are ranked like any others."""
    hits = tuple(
        make_hit(name, 1, score) for name, score in (("a", 1.7e308), ("b", 10**300), ("c", 0), ("d", -1.7e308))
    )
    outcome = run_with([Channel("big", ChannelAnswer("ok", hits, 4))], query="anything")
    assert [item.chunk_id for item in outcome.evidence] == ["a", "b", "c", "d"]
    assert (refused(outcome), outcome.partial) == ([], False)


# --- States and the three words about the whole -------------------------------------------------------------------------

COMPLETE = [ok("a"), ok()]
STATES: list[tuple[ChannelAnswer, str]] = [
    (ChannelAnswer("cut", (), 0, ReasonCode.CUT), "cut"),
    (ChannelAnswer("stale", (), 0, ReasonCode.STALE_INDEX), "stale_index"),
    (ChannelAnswer("not_indexed", (), 0, ReasonCode.NOT_INDEXED, {"indexed": 1, "chunks": 3}), "not_indexed"),
    (ChannelAnswer("unavailable", (), 0, ReasonCode.OTHER_BRANCH), "other_branch"),
    (ChannelAnswer("error", (), 0, ReasonCode.MODEL_FAILED), "model_failed"),
    (ChannelAnswer("timed_out", (), 0, ReasonCode.TIMED_OUT), "timed_out"),
    (ChannelAnswer("error"), "channel_error"),
]


@pytest.mark.parametrize(("answer", "code"), STATES, ids=lambda value: getattr(value, "state", value))
def test_nothing_found_is_never_said_while_a_channel_was_not_complete(answer: ChannelAnswer, code: str) -> None:
    """Contract 10.5: with an empty channel beside it the run is incomplete; with evidence it is found and partial."""
    weak = run_with([Channel("bad", answer), Channel("good", ok())])
    strong = run_with([Channel("bad", answer), Channel("good", ok("a"))])
    assert (weak.state, weak.partial, strong.state, strong.partial) == ("incomplete", True, "found", True)
    assert degraded(weak) == degraded(strong) == [("bad", code)]
    assert (weak.traces[0].state, weak.traces[0].detail) == (answer.state, dict(answer.detail))


def test_nothing_found_is_said_when_every_channel_looked() -> None:
    """All ok or empty: complete, not partial, no degradation."""
    outcome = run_with([Channel("one", ok()), Channel("two", ok())])
    assert (outcome.state, outcome.partial, outcome.degradations, outcome.rejections) == (
        "nothing_found",
        False,
        (),
        (),
    )


def test_hits_of_an_incomplete_channel_are_used() -> None:
    """A cut channel's hits are evidence; the run stays partial."""
    outcome = run_with([Channel("bad", ChannelAnswer("cut", (make_hit("x"),), 9, ReasonCode.CUT))])
    assert (ids(outcome), outcome.state, outcome.partial) == ({"x"}, "found", True)
    assert (outcome.traces[0].candidate_count, outcome.traces[0].eligible_count) == (9, 1)


def test_a_refused_call_makes_the_run_partial() -> None:
    """Planned work that admission refused was not completed: each refusal has a trace and a rejection."""

    class Lab(Channel):
        provider = "lab"

    plan = one_round("good", "unknown", "lab", "behind")
    channels = [Channel("good", ok("a")), Lab("lab", ok("x")), Channel("behind", ok("y"))]
    outcome = run_with(channels, plan, stale=frozenset({"behind"}))
    assert [(trace.tool_name, trace.state, trace.accepted, trace.reason) for trace in outcome.traces] == [
        ("good", "ok", True, ""), ("unknown", "rejected", False, "not_registered"),
        ("lab", "rejected", False, "provider_not_allowed"), ("behind", "stale", False, "stale_index"),
    ]  # fmt: skip
    assert [item[:2] for item in refused(outcome)] == [
        ("unknown", "not_registered"), ("lab", "provider_not_allowed"), ("behind", "stale_index"),
    ]  # fmt: skip
    assert (outcome.partial, outcome.state, channels[1].asked, channels[2].asked) == (True, "found", [], [])


def test_calls_beyond_the_budget_do_not_run() -> None:
    """The budget is used in plan order."""
    channels = [Channel("one", ok("a")), Channel("two", ok("b"))]
    outcome = run_with(channels, policy=Policy(max_calls=1))
    assert ([channel.asked for channel in channels], refused(outcome)) == (
        [[QUERY], []],
        [("two", "budget_exhausted", 1)],
    )


# --- Rounds -------------------------------------------------------------------------------------------------------------


def test_a_round_that_adds_nothing_new_ends_the_run() -> None:
    """Contract 10.4: the same evidence again is nothing new; what was planned after it is named and not run."""
    channels = [Channel("one", ok("a", "b")), Channel("two", ok("b")), Channel("three", ok("c"))]
    outcome = run_with(channels, rounds("one", "two", "three"))
    assert (ids(outcome), channels[2].asked) == ({"a", "b"}, [])
    assert states(outcome)[2] == ("three", "rejected", "no_new_evidence")
    assert (degraded(outcome), outcome.degradations[0].detail) == ([("", "no_new_evidence")], {"round": 1})
    assert (refused(outcome), outcome.partial, outcome.state) == ([("three", "no_new_evidence", 1)], True, "found")


def test_a_last_round_that_adds_nothing_is_no_degradation() -> None:
    """Nothing remained that could have been left out."""
    outcome = run_with([Channel("one", ok("a")), Channel("two", ok("a"))], rounds("one", "two"))
    assert (outcome.degradations, outcome.partial, outcome.state) == ((), False, "found")


def test_rounds_run_one_after_the_other_and_calls_side_by_side() -> None:
    """Two calls of a round wait for each other and both get through; a third of the next round comes later."""
    together, order = threading.Barrier(2, timeout=30), []

    def meet(query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        together.wait()
        order.append("first round")
        return ok(f"met-{len(order)}")

    def later(query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        order.append("second round")
        return ok("z")

    plan = QueryPlan(tool_rounds=((ToolCall(tool="one"), ToolCall(tool="two")), (ToolCall(tool="three"),)))
    outcome = run_with(
        [Channel("one", meet), Channel("two", meet), Channel("three", later)], plan, limits=Limits(deadline_seconds=60)
    )
    assert order == ["first round", "first round", "second round"]
    assert outcome.partial is False


def test_two_calls_of_one_channel_never_overlap() -> None:
    """A channel holds one connection: with two queries in one round it is asked twice, one after the other."""
    inside, most = [0], [0]

    def answer(query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.02)  # long enough for another thread to come in
        inside[0] -= 1
        return ok(f"of-{query[:1]}")

    plan = QueryPlan(tool_rounds=(tuple(ToolCall(tool="one", query=query) for query in ("x", "y", "z")),))
    outcome = run_with([Channel("one", answer)], plan)
    assert (most[0], ids(outcome)) == (1, {"of-x", "of-y", "of-z"})


def test_a_call_gets_its_own_query_scope_depth_and_deadline() -> None:
    """The rewritten query replaces the user's; the evidence says which query found it."""
    seen: list[tuple[Any, ...]] = []

    def answer(query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        seen.append((query, scope, k, deadline - time.monotonic() <= 10.0))
        return ok("a")

    plan = QueryPlan(tool_rounds=((ToolCall(tool="one"), ToolCall(tool="one", query="改写")),))
    outcome = run_with([Channel("one", answer)], plan, limits=Limits(depth=7))
    assert seen == [(QUERY, SCOPE, 7, True), ("改写", SCOPE, 7, True)]
    assert [(rank.channel, rank.query_index) for rank in outcome.evidence[0].channels] == [("one", 0), ("one", 1)]


# --- Evidence -----------------------------------------------------------------------------------------------------------


def test_k_bounds_the_evidence_and_not_the_search() -> None:
    """30 hits, k of 4: the four best of all, and the trace counts what was found."""
    outcome = run_with([Channel("one", ok(*(f"x{n:02}" for n in range(30))))], limits=Limits(k=4), query="anything")
    assert [item.chunk_id for item in outcome.evidence] == ["x00", "x01", "x02", "x03"]
    assert outcome.traces[0].eligible_count == 30


def test_k_cuts_after_reranking() -> None:
    """The item that reranking puts first is what k = 1 gives, though its channel had it second."""
    hits = (make_hit("a", 1, 9.0), make_hit("b", 2, 8.99, content=f"# {QUERY}"), make_hit("z", 3, 0.0))
    channel = Channel("bm25", ChannelAnswer("ok", hits, 3))
    assert [item.chunk_id for item in run_with([channel], limits=Limits(k=1)).evidence] == ["b"]
    assert [item.chunk_id for item in run_with([channel]).evidence] == ["b", "a", "z"]


def test_a_large_k_begins_with_what_a_small_k_gives() -> None:
    """Field report rank-01: fetching 300 a channel instead of 100 changes neither order nor scores of the first hundred."""
    names = [f"x{number:03}" for number in range(300)]
    there, back = ok(*names), ok(*reversed(names))

    def answer(whole: ChannelAnswer) -> Answer:
        return lambda query, scope, k, deadline: replace(whole, hits=whole.hits[:k])

    def found(k: int) -> tuple[Any, ...]:
        channels = [Channel("bm25", answer(there)), Channel("vector", answer(back))]
        return run_with(channels, limits=Limits(k=k, depth=max(100, k)), query="text of x007").evidence

    assert found(10) == found(100)[:10]
    assert found(100) == found(300)[:100]
    assert sorted(item.chunk_id for item in found(300)) == names


def test_freshness_is_asked_for_the_evidence_only() -> None:
    """Each returned item is checked once; those beyond k are not."""
    asked: list[str] = []

    def certify(hit: Hit) -> FreshnessCertificate:
        asked.append(hit.chunk_id)
        return FreshnessCertificate(state="changed", changed_lines=(2, 3))

    answer = ok("a", "b", "c", file=FileRef(1, "a.md", "0" * 64))
    outcome = run_with([Channel("one", answer)], limits=Limits(k=2), certify=certify)
    assert ([item.freshness for item in outcome.evidence], sorted(asked)) == (["changed", "changed"], ["a", "b"])
    assert outcome.evidence[0].metadata["certificate"] == {"state": "changed", "changed_lines": [2, 3]}


def test_evidence_carries_what_the_hit_said() -> None:
    """Text, source, locator, hash, metadata and time are the hit's own; the certificate joins the metadata."""
    hit = make_hit("a", heading="标题", metadata={"kind": "text"})
    item = run_with([Channel("one", ChannelAnswer("ok", (hit,), 1))]).evidence[0]
    assert (item.scope, item.content, item.source_ref, item.locator, item.content_hash, item.metadata, item.created_at) == (
        SCOPE, hit.content, hit.source_ref, hit.locator, hit.content_hash,
        {"kind": "text", "certificate": {"state": "unverifiable", "reason": "not_checked"}}, hit.created_at,
    )  # fmt: skip


# --- Properties ---------------------------------------------------------------------------------------------------------

# Hostile things are drawn by their names, so that a failing example can be printed.
items = st.one_of(st.sampled_from(list(BAD_ITEMS)), st.tuples(st.sampled_from("abcdef"), st.floats()))
answers = st.one_of(
    st.sampled_from([*BAD_ANSWERS, "it raises"]),
    st.tuples(
        st.sampled_from(("ok", "empty", "cut", "unavailable", "error")), st.lists(items, max_size=6), st.integers(0, 9),
        st.sampled_from((None, ReasonCode.CUT)),
    ),
)  # fmt: skip


def hostile_channels(drawn: list[Any]) -> list[Channel]:
    """A channel for each drawn answer."""
    return [Channel(f"c{number}", hostile_answer(answer)) for number, answer in enumerate(drawn)]


def hostile_answer(drawn: Any) -> Answer:
    """The function that gives what ``drawn`` describes."""
    if drawn == "it raises":
        return raising(RuntimeError(QUERY))
    if isinstance(drawn, str):
        return lambda *_: BAD_ANSWERS[drawn]
    state, drawn_items, count, code = drawn
    hits = tuple(BAD_ITEMS[i][0] if isinstance(i, str) else make_hit(i[0], score=i[1]) for i in drawn_items)
    return lambda *_: ChannelAnswer(state, hits, count, code)


@given(st.lists(answers, min_size=1, max_size=4))
def test_whatever_channels_answer_the_account_is_complete(hostile: list[Any]) -> None:
    """Never an exception; one trace a call; only this scope's evidence; no query text; the three words agree."""
    channels = hostile_channels(hostile)
    outcome = run_with(channels)
    assert [trace.tool_name for trace in outcome.traces] == [channel.name for channel in channels]
    assert {item.scope for item in outcome.evidence} <= {SCOPE}
    assert QUERY not in everything_said(outcome)
    complete = all(trace.state in ("ok", "empty") for trace in outcome.traces)
    assert outcome.partial is not complete
    assert outcome.state == ("found" if outcome.evidence else "nothing_found" if complete else "incomplete")
    assert bool(outcome.degradations) is not complete


@given(st.lists(answers, min_size=1, max_size=3))
def test_a_good_channels_evidence_stands_whatever_the_others_do(hostile: list[Any]) -> None:
    """All of an honest first channel's items are in the answer, with its own rank and score."""
    good = Channel("good", ok("p", "q", "r"))
    channels = hostile_channels(hostile)
    outcome = run_with([good, *channels], limits=Limits(k=100))
    found = {item.chunk_id: item.channels[0] for item in outcome.evidence}
    assert {name: (found[name].channel, found[name].rank, found[name].score) for name in "pqr"} == {
        "p": ("good", 1, 9.0), "q": ("good", 2, 8.0), "r": ("good", 3, 7.0),
    }  # fmt: skip


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """Threads that a test let go of end with it."""
    yield
    for thread in threading.enumerate():
        if thread.name in ("bad", "good-a", "good-b"):
            thread.join(30)
            assert not thread.is_alive()
