"""The router: the only thing that executes a plan. It checks every call and every item, and accounts for all of it.

It holds channels and values, no writer. Calls of one round run side by side, each with a deadline; a failing, late or
lying channel loses only itself or only the offending item (tests/policy/test_retrieval_router.py).
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from arr_sql.core.research_models import EvidenceChunk, FreshnessCertificate, ScopeKey
from arr_sql.core.router_models import (
    ChannelState,
    Degradation,
    QueryPlan,
    ReasonCode,
    Rejection,
    RunState,
    ToolTrace,
)
from arr_sql.policy.admission import Policy, ToolFacts, Verdict, admit
from arr_sql.policy.answer_checks import good_hits, is_well_formed
from arr_sql.retrieval.answer_floor import AnswerFloor, answer_evidence, strength
from arr_sql.retrieval.catalog import Catalog, ChannelAnswer, Hit, Registration
from arr_sql.retrieval.hybrid_retriever import RankedList, fuse
from arr_sql.retrieval.rule_reranker import Reranked, rerank

DEPTH = 100
"""How many hits each channel is asked for; fusion and rerank choose from them."""
UNVERIFIABLE = FreshnessCertificate(state="unverifiable", reason="not_checked")
Reorder = Callable[[str, Sequence[Reranked]], list[Reranked]]


def keep_order(query: str, best: Sequence[Reranked]) -> list[Reranked]:
    """The order that the rules gave."""
    return list(best)


@dataclass(frozen=True)
class Limits:
    """What bounds one run."""

    k: int = 10
    depth: int = DEPTH
    deadline_seconds: float = 10.0


class RunOutcome(NamedTuple):
    """Everything a run found and says about itself."""

    evidence: tuple[EvidenceChunk, ...]
    traces: tuple[ToolTrace, ...]
    rejections: tuple[Rejection, ...]
    degradations: tuple[Degradation, ...]
    partial: bool
    state: RunState


@dataclass
class _Account:
    """The account of a run while it is being written."""

    by_call: dict[tuple[int, int], ToolTrace] = field(default_factory=dict)
    rejections: list[Rejection] = field(default_factory=list)
    degradations: list[Degradation] = field(default_factory=list)
    lists: list[RankedList] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    is_partial: bool = False

    def refuse(self, verdict: Verdict, code: ReasonCode) -> None:
        """A call that did not run."""
        state: ChannelState = "stale" if code is ReasonCode.STALE_INDEX else "rejected"
        self.keep(
            verdict,
            ToolTrace(
                round_index=verdict.round_index, tool_name=verdict.tool_name, state=state, accepted=False,
                reason=str(code),
            ),
        )  # fmt: skip
        self.rejections.append(Rejection(code=code, tool_name=verdict.tool_name, round_index=verdict.round_index))
        self.is_partial = True

    def keep(self, verdict: Verdict, trace: ToolTrace) -> None:
        """Note what became of one call."""
        self.by_call[(verdict.round_index, verdict.call_index)] = trace

    def set_aside(self, by: float) -> None:
        """All hits are below the floor: say so, channel by channel, with their number, and how far below they are."""
        for place, trace in self.by_call.items():
            if trace.eligible_count:
                said = {"below_floor": trace.eligible_count, "below_floor_by": by}
                self.by_call[place] = trace.model_copy(update={"detail": {**trace.detail, **said}})
        for name, count in Counter({t.tool_name: t.eligible_count for t in self.traces if t.eligible_count}).items():
            self.rejections.append(Rejection(code=ReasonCode.BELOW_FLOOR, tool_name=name, count=count))

    @property
    def traces(self) -> tuple[ToolTrace, ...]:
        """One trace a call, in the order of the plan."""
        return tuple(trace for _, trace in sorted(self.by_call.items(), key=lambda item: item[0]))


@dataclass
class _Call:
    """One running call."""

    verdict: Verdict
    registration: Registration
    started: float = 0.0
    finished: float = 0.0
    answer: Any = None
    error: BaseException | None = None
    is_same: bool = False
    done: threading.Event = field(default_factory=threading.Event)


def run(
    query: str, scope: ScopeKey, plan: QueryPlan, catalog: Catalog, *,
    policy: Policy, limits: Limits, stale: frozenset[str] = frozenset(),
    certify: Callable[[Hit], FreshnessCertificate] = lambda hit: UNVERIFIABLE,
    on_timeout: Callable[[str], None] = lambda name: None,
    reorder: Reorder = keep_order,
) -> RunOutcome:  # fmt: skip
    """Run an already parsed plan. ``stale`` names channels whose index is behind the content.

    ``on_timeout`` is told the name of a channel that missed its deadline, so that its work can be stopped. ``reorder``
    gets the rules' order once and gives the same items back in the order to use.
    """
    tools = {r.name: ToolFacts(r.name, r.provider, r.read_only, r.name in stale) for r in catalog}
    verdicts = admit(plan, query, tools, policy)
    account = _Account(queries=[query])
    give_up = time.monotonic() + limits.deadline_seconds
    seen: set[str] = set()
    stopped = False
    for round_index in range(len(plan.tool_rounds)):
        calls: list[_Call] = []
        for verdict in (v for v in verdicts if v.round_index == round_index):
            registration = catalog.get(verdict.tool_name)
            if stopped:
                account.refuse(verdict, ReasonCode.NO_NEW_EVIDENCE)
            elif verdict.code is not None or registration is None:
                account.refuse(verdict, verdict.code or ReasonCode.NOT_REGISTERED)
            else:
                calls.append(_Call(verdict, registration))
        _run_side_by_side(calls, scope, limits, give_up, on_timeout)
        before = len(seen)
        for call in calls:
            seen.update(hit.chunk_id for hit in _account_for(call, scope, limits, account))
        if not stopped and len(seen) == before and round_index + 1 < len(plan.tool_rounds):
            stopped = True
            account.degradations.append(Degradation(code=ReasonCode.NO_NEW_EVIDENCE, detail={"round": round_index}))
    return _outcome(query, account, limits, certify, reorder, policy.floor)


# --- running ----------------------------------------------------------------------------------------------------------


def _run_side_by_side(
    calls: Sequence[_Call], scope: ScopeKey, limits: Limits, give_up: float, on_timeout: Callable[[str], None]
) -> None:
    """Start every channel in a thread of its own and wait for each call until the deadline. Nothing here raises."""
    by_channel: dict[str, list[_Call]] = {}
    for call in calls:
        by_channel.setdefault(call.verdict.tool_name, []).append(call)
    started = time.monotonic() < give_up  # after the deadline nothing is begun: it would only race against its end
    for name, mine in by_channel.items() if started else ():
        # Daemon: a channel that never returns must not keep the process alive.
        threading.Thread(target=_run_in_turn, args=(mine, scope, limits, give_up), daemon=True, name=name).start()
    late: dict[str, None] = {}
    for call in calls:
        if not call.done.wait(max(0.0, give_up - time.monotonic())) and started:
            late[call.verdict.tool_name] = None
    for name in late:
        on_timeout(name)


def _run_in_turn(calls: Sequence[_Call], scope: ScopeKey, limits: Limits, give_up: float) -> None:
    """Two calls of one channel run one after the other: a channel holds one connection, which serves one thread."""
    for call in calls:
        _run_one(call, scope, limits, give_up)


def _run_one(call: _Call, scope: ScopeKey, limits: Limits, give_up: float) -> None:
    call.started = time.monotonic()
    try:
        if _is_as_registered(call.registration):
            call.answer = call.registration.channel.retrieve(call.verdict.query, scope, limits.depth, give_up)
            call.is_same = _is_as_registered(call.registration)
    except BaseException as error:  # noqa: BLE001  a channel is foreign code: whatever it raises is its own loss
        call.error = error
    call.finished = time.monotonic()
    call.done.set()


def _is_as_registered(registration: Registration) -> bool:
    """Does the channel still say of itself exactly what it said when it was registered? A property that fails does not."""
    channel, r = registration.channel, registration
    try:
        return channel.read_only is r.read_only and (channel.name, channel.provider) == (r.name, r.provider)
    except Exception:  # noqa: BLE001  a property of foreign code
        return False


# --- accounting ---------------------------------------------------------------------------------------------------------


def _account_for(call: _Call, scope: ScopeKey, limits: Limits, account: _Account) -> tuple[Hit, ...]:
    """Write down what became of one call and keep its good hits."""
    name, round_index = call.verdict.tool_name, call.verdict.round_index
    answer, fault = _checked_answer(call)
    if fault is not None:
        if fault in (ReasonCode.WRONG_TYPE, ReasonCode.IDENTITY_CHANGED):
            account.rejections.append(Rejection(code=fault, tool_name=name, round_index=round_index))
        account.degradations.append(Degradation(code=fault, tool_name=name))
        account.is_partial = True
        state = "timed_out" if fault is ReasonCode.TIMED_OUT else "error"
        account.keep(call.verdict, _trace(call, state, reason=str(fault)))
        return ()
    assert answer is not None
    hits, refused = good_hits(answer.hits, scope, limits.depth)
    for code, count in sorted(refused.items()):
        account.rejections.append(Rejection(code=code, tool_name=name, round_index=round_index, count=count))
    if answer.state not in ("ok", "empty"):
        account.is_partial = True
        account.degradations.append(
            Degradation(code=answer.code or ReasonCode.CHANNEL_ERROR, tool_name=name, detail=dict(answer.detail))
        )
    account.keep(
        call.verdict,
        _trace(call, answer.state, answer.candidate_count, len(hits), str(answer.code or ""), dict(answer.detail)),
    )
    if hits:
        if call.verdict.query not in account.queries:
            account.queries.append(call.verdict.query)
        number = account.queries.index(call.verdict.query)
        account.lists.append(RankedList(name, number, hits, call.verdict.query if number else ""))
    return hits


def _checked_answer(call: _Call) -> tuple[ChannelAnswer | None, ReasonCode | None]:
    """The answer if it may be used, else what is wrong with it."""
    if not call.done.is_set():
        return None, ReasonCode.TIMED_OUT
    if call.error is not None:
        return None, ReasonCode.CHANNEL_ERROR
    if not call.is_same:
        return None, ReasonCode.IDENTITY_CHANGED
    return (call.answer, None) if is_well_formed(call.answer) else (None, ReasonCode.WRONG_TYPE)


def _trace(
    call: _Call,
    state: Any,
    candidates: int = 0,
    eligible: int = 0,
    reason: str = "",
    detail: dict[str, Any] | None = None,
) -> ToolTrace:
    end = call.finished or time.monotonic()
    return ToolTrace(
        round_index=call.verdict.round_index, tool_name=call.verdict.tool_name, state=state, accepted=True,
        candidate_count=candidates, eligible_count=eligible, reason=reason, detail=detail or {},
        duration_ms=round(1000 * max(0.0, end - (call.started or end)), 3),
    )  # fmt: skip


def _outcome(
    query: str, account: _Account, limits: Limits, certify: Callable[[Hit], FreshnessCertificate], reorder: Reorder,
    floor: AnswerFloor | None,
) -> RunOutcome:  # fmt: skip
    below = _below(query, account, floor)
    wanted = 0 if below is not None else limits.k if reorder is keep_order else None
    ordered, conflicts = _ordered(query, account.lists, reorder if below is None else keep_order, wanted)
    for name, count in sorted(Counter(conflicts).items()):
        account.rejections.append(Rejection(code=ReasonCode.CONFLICTING_ITEM, tool_name=name, count=count))
    if below is not None:
        account.set_aside(below)
        ordered = []
    evidence = tuple(_evidence(item, certify) for item in ordered[: limits.k])
    complete = all(trace.state in ("ok", "empty") for trace in account.traces)
    state: RunState = "found" if evidence else ("nothing_found" if complete else "incomplete")
    return RunOutcome(
        evidence, account.traces, tuple(account.rejections), tuple(account.degradations), account.is_partial, state
    )


def _below(query: str, account: _Account, floor: AnswerFloor | None) -> float | None:
    """How far below the floor is what was found, None where it is an answer or where none can tell.

    Never said of a run that is not complete: what is missing might be the answer.
    """
    if floor is None or any(trace.state not in ("ok", "empty") for trace in account.traces):
        return None
    evidence = answer_evidence(query, account.lists, {t.tool_name: _chunks_compared(t) for t in account.traces})
    if evidence is None:
        return None
    found = strength(evidence, floor)
    return -found if found < 0 else None


def _chunks_compared(trace: ToolTrace) -> int:
    """How many candidates a call had, memories aside: the floor's weights are fitted on chunks."""
    memories = trace.detail.get("memories")
    return trace.candidate_count - (memories if type(memories) is int else 0)


def _ordered(
    query: str, lists: Sequence[RankedList], reorder: Reorder, wanted: int | None
) -> tuple[list[Reranked], tuple[str, ...]]:
    """All that was found in its final order as far as the first ``wanted``, and the channels whose items contradicted others.

    Lists that a large k made longer are fused and reranked as far as a small k would have fetched them, and the rest
    follows: so what k = 10 gives is the beginning of what k = 1,000 gives.
    """
    first = [ranked._replace(hits=ranked.hits[:DEPTH]) for ranked in lists]
    near = fuse(first)
    best = reorder(query, rerank(query, near.items, first, most=wanted))
    if all(len(ranked.hits) <= DEPTH for ranked in lists):
        return best, near.conflicts
    everything, known = fuse(lists), {reranked.item.hit.chunk_id for reranked in best}
    rest = [Reranked(item, None, "") for item in everything.items if item.hit.chunk_id not in known]
    return best + rest, everything.conflicts


def _evidence(reranked: Reranked, certify: Callable[[Hit], FreshnessCertificate]) -> EvidenceChunk:
    hit, item = reranked.item.hit, reranked.item
    certificate = certify(hit)
    return EvidenceChunk(
        chunk_id=hit.chunk_id, scope=hit.scope, content=hit.content, source_ref=hit.source_ref, locator=hit.locator,
        content_hash=hit.content_hash, channels=tuple(rank.as_value() for rank in item.ranks),
        rrf_score=item.rrf_score, rerank_score=reranked.score, rerank_reason=reranked.reason,
        freshness=certificate.state,
        metadata={**hit.metadata, "certificate": certificate.as_metadata()}, created_at=hit.created_at,
    )  # fmt: skip
