"""One recorded retrieval, run again over a :class:`ReplayStore`: the same plan, limits, moment and query vectors.

What a record says of the machine (a deadline missed, a fault, no model, no index) is repeated as it was recorded: it is
not the store's to give again. So is what a language model advised: its plan is the record's plan, its scores are the
record's, and nobody is asked. Everything else is run.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from arr_sql.core.canonical import sha256_text
from arr_sql.core.clock import from_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import QueryPlan, ReasonCode
from arr_sql.database.advice import ADVISERS, is_advice, recorded_order
from arr_sql.database.replay_store import ReplayStore
from arr_sql.errors import ChannelError, ModelError
from arr_sql.index.vector_state import vector_state
from arr_sql.policy.admission import policy_of
from arr_sql.policy.replay_compare import comparable
from arr_sql.policy.retrieval_router import Limits, RunOutcome, keep_order, run
from arr_sql.retrieval.bm25_retriever import Bm25Retriever
from arr_sql.retrieval.catalog import Catalog, Channel, ChannelAnswer
from arr_sql.retrieval.grep_retriever import GrepRetriever, GrepRoot
from arr_sql.retrieval.memory_retriever import MemoryRetriever
from arr_sql.retrieval.vector_retriever import QueryVectors, VectorRetriever

OF_THE_MACHINE = frozenset(
    {ReasonCode.TIMED_OUT, ReasonCode.CHANNEL_ERROR, ReasonCode.INDEX_MISSING, ReasonCode.MODEL_MISSING,
     ReasonCode.MODEL_FAILED, ReasonCode.MODEL_CHANGED}
)  # fmt: skip
PATIENCE_SECONDS = 600.0
"""A replay may take its time: how long a call took is not compared."""


@dataclass
class Setting:
    """What a replay takes from the place where it runs."""

    roots: Sequence[GrepRoot]
    extra_channels: Sequence[Callable[[Connection], Channel]] = ()
    now: datetime | None = None
    """None: the moment of the record."""


@dataclass
class Rerun:
    """What came out: the account to compare, and what each channel found beyond the evidence."""

    account: dict[str, Any]
    outcome: RunOutcome
    ranks: dict[tuple[str, str], list[tuple[int, float]]] = field(default_factory=dict)
    grep_traces: list[Any] = field(default_factory=list)
    loose_lines: bool = False
    """Did grep answer with lines of a file that is not, or not as it is, in the store?"""


def rerun(store: ReplayStore, record: Mapping[str, Any], query: str, setting: Setting) -> Rerun:
    """Run the record's plan on what ``store`` shows."""
    plan = QueryPlan.model_validate(record["plan"])
    calls = [call for calls in plan.tool_rounds for call in calls]
    recorded = {
        (call.tool, query if call.query is None else call.query): trace
        for call, trace in zip(calls, record["traces"], strict=False)
    }
    now = setting.now or from_text(record["at"])
    catalog, answers = Catalog(), _Answers()
    vectors = _query_vectors(store, record, recorded)
    channels: list[Channel] = [
        MemoryRetriever(store.reader("research-memory"), lambda: now),
        Bm25Retriever(store.reader("bm25")),
        VectorRetriever(store.reader("vector"), lambda: vectors, lambda: True, clock=lambda: now),
        GrepRetriever(store.reader("grep"), lambda: [root for root in setting.roots if store.has_root(root.id)]),
        *(make(store.reader(f"extra {number}")) for number, make in enumerate(setting.extra_channels)),
    ]
    for channel in channels:
        catalog.register(_Again(channel, recorded, answers))
    stale = frozenset(r["tool_name"] for r in record["rejections"] if r["code"] == ReasonCode.STALE_INDEX)
    outcome = run(
        query,
        store.scope,
        plan,
        catalog,
        policy=policy_of(record["policy_hash"]),
        limits=_limits(record["limits"]),
        stale=stale,
        reorder=recorded_order(record) or keep_order,
    )
    account = comparable(_account(outcome, record))
    grep_traces = [trace.model_dump(mode="json") for trace in outcome.traces if trace.tool_name == "grep"]
    return Rerun(account, outcome, answers.ranks(), grep_traces, answers.has_loose_lines())


def _limits(recorded: Mapping[str, Any]) -> Limits:
    """The recorded limits; time aside."""
    known = {item.name for item in fields(Limits)}
    values = {name: value for name, value in recorded.items() if name in known}
    return Limits(**{**values, "deadline_seconds": PATIENCE_SECONDS})


def _query_vectors(
    store: ReplayStore, record: Mapping[str, Any], recorded: Mapping[tuple[str, str], Any]
) -> QueryVectors:
    kept = {key: base64.b64decode(value) for key, value in json.loads(record["query_vectors"]).items()}

    def embed(query: str) -> bytes | None:
        vector = kept.get(sha256_text(query))
        trace = recorded.get(("vector", query))
        if vector is None and trace is not None and trace["state"] != "empty":
            raise ModelError("The record holds no vector of this query. Replay needs the one that was used.")
        return vector

    fingerprint, model_id, dimension = record["model_fingerprint"], "", 0
    if fingerprint is None:  # the query had nothing to embed: any model of the scope says so again
        models = vector_state(store.reader("vector"), store.scope)
        fingerprint = models[0]["fingerprint"] if models else ""
    return QueryVectors(fingerprint or "", model_id, dimension, embed, is_final=True)


def _account(outcome: RunOutcome, record: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome in the form of a record, with deadlines that were missed then said to be missed again."""
    traces = [trace.model_dump(mode="json") for trace in outcome.traces]
    degradations = [item.model_dump(mode="json") for item in outcome.degradations]
    for old, new in zip(record["traces"], traces, strict=False):
        if old["reason"] == ReasonCode.TIMED_OUT and new["reason"] == ReasonCode.CHANNEL_ERROR:
            new |= {"state": old["state"], "reason": old["reason"]}
            said = next(d for d in degradations if (d["tool_name"], d["code"]) == (new["tool_name"], "channel_error"))
            said["code"] = old["reason"]
    planner, reranker = ([item for item in record["degradations"] if is_advice(item, name)] for name in ADVISERS)
    return {
        "evidence": [item.model_dump(mode="json") for item in outcome.evidence], "traces": traces,
        "rejections": [item.model_dump(mode="json") for item in outcome.rejections],
        "degradations": [*planner, *degradations, *reranker],
        "partial": outcome.partial, "state": outcome.state,
    }  # fmt: skip


class _Answers:
    """What the channels answered."""

    def __init__(self) -> None:
        self._given: list[tuple[str, ChannelAnswer]] = []

    def keep(self, name: str, answer: Any) -> None:
        if type(answer) is ChannelAnswer and type(answer.hits) is tuple:
            self._given.append((name, answer))

    def _hits(self) -> Iterator[tuple[str, int, Any]]:
        for name, answer in self._given:
            for rank, hit in enumerate(answer.hits, 1):
                yield name, rank, hit

    def ranks(self) -> dict[tuple[str, str], list[tuple[int, float]]]:
        found: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for name, rank, hit in self._hits():
            found.setdefault((name, hit.chunk_id), []).append((rank, hit.score))
        return found

    def has_loose_lines(self) -> bool:
        return any(name == "grep" and hit.metadata.get("as_on_disk") is True for name, _, hit in self._hits())


class _Again:
    """A channel that repeats what the record says of the machine, and else runs."""

    def __init__(self, channel: Channel, recorded: Mapping[tuple[str, str], Any], answers: _Answers) -> None:
        self._channel, self._recorded, self._answers = channel, recorded, answers
        self.name, self.provider, self.read_only = channel.name, channel.provider, channel.read_only

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """As recorded for a fault of the machine, else the channel's own answer."""
        trace = self._recorded.get((self.name, query))
        if trace is not None and trace["reason"] in (ReasonCode.TIMED_OUT, ReasonCode.CHANNEL_ERROR):
            raise ChannelError("as recorded")
        if trace is not None and trace["reason"] in OF_THE_MACHINE:
            return ChannelAnswer(
                trace["state"],
                candidate_count=trace["candidate_count"],
                code=ReasonCode(trace["reason"]),
                detail=trace["detail"],
            )
        answer = self._channel.retrieve(query, scope, k, deadline)
        self._answers.keep(self.name, answer)
        return answer
