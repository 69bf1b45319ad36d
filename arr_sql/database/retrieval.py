"""Retrieval: plan, search, and the records of both."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from arr_sql.core.analysis import ANALYSER_VERSION
from arr_sql.core.connection import Connection, store_errors, write_transaction
from arr_sql.core.router_models import MAX_QUERY, Degradation, QueryPlan, ReasonCode, RouterResult
from arr_sql.core.snapshot import same_snapshot
from arr_sql.core.statements import load
from arr_sql.database.advice import Advice, PlannerName, RerankName
from arr_sql.database.base import DatabaseBase, installed_embedder, is_model_there, shared_embedder
from arr_sql.database.explanation import explained
from arr_sql.errors import InputError, QueryEmpty, StateError, StoreBusy, StoreFull, StoreReadOnly
from arr_sql.index.text_index import TEXT_INDEX_VERSION, stale_text_indexes
from arr_sql.ingest.roots import is_other_branch, read_roots
from arr_sql.memory.retrieval_log import PlanOrigin, RetrievalRecord, add_retrieval, read_retrievals
from arr_sql.memory.scope_store import read_scope
from arr_sql.policy.admission import Policy, ToolFacts, Verdict, admit
from arr_sql.policy.plan_rules import parse_plan, rule_plan
from arr_sql.policy.retrieval_router import Limits, RunOutcome, keep_order, run
from arr_sql.retrieval.answer_floor import AnswerFloor
from arr_sql.retrieval.bm25_retriever import Bm25Retriever
from arr_sql.retrieval.bm25_scoring import Bm25Parameters
from arr_sql.retrieval.catalog import Catalog, Channel
from arr_sql.retrieval.freshness import FreshnessChecker
from arr_sql.retrieval.grep_retriever import GrepRetriever, GrepRoot
from arr_sql.retrieval.memory_retriever import MemoryRetriever
from arr_sql.retrieval.rule_reranker import RERANKER_VERSION
from arr_sql.retrieval.vector_retriever import QueryVectors, VectorRetriever, from_embedder

if TYPE_CHECKING:
    from arr_sql.llm.budget import RetrievalBudget

# Which text index each channel reads: an index behind its content refuses the channel at admission.
CHANNEL_INDEX = {"bm25": "chunk_text", "research-memory": "memory_text"}


def _index_version() -> str:
    p = Bm25Parameters()
    return f"text {TEXT_INDEX_VERSION}, bm25 {p.k1:g} {p.b:g} {p.heading_weight:g}, rerank {RERANKER_VERSION}"


INDEX_VERSION = _index_version()
"""What decides ranks and scores besides the analyser: kept with every record, so that a replay can name what changed."""


class RetrievalMethods(DatabaseBase):
    """Asking, and what was asked before."""

    def plan(self, query: str, plan: Any = None) -> tuple[QueryPlan, tuple[Verdict, ...]]:
        """The plan that a search would run and the verdict on each call. Runs nothing and writes nothing."""
        query = _checked_query(query)
        catalog, _ = self._catalog()
        parsed = parse_plan(plan, query) if plan is not None else rule_plan(catalog.names())
        stale = self._stale()
        tools = {r.name: ToolFacts(r.name, r.provider, r.read_only, r.name in stale) for r in catalog}
        return parsed, admit(parsed, query, tools, Policy())

    def search(
        self, query: str, *, k: int | None = None, plan: Any = None, planner: PlannerName = "rules",
        rerank: RerankName = "rule", llm_budget: RetrievalBudget | None = None, floor: bool = True,
        write_record: bool = True,
    ) -> RouterResult:  # fmt: skip
        """Evidence for ``query`` with the account of how it was found; the retrieval is recorded.

        ``planner="llm"`` asks the operator's language model for a plan, ``rerank="llm"`` or ``"hybrid"`` for an order,
        within ``llm_budget`` (default: one call each). Any fault of it leaves the rules' plan or order and a code in
        ``degradations``. With ``floor`` an answer that is too far from the question is set aside (``below_floor`` in
        ``rejections``, state ``nothing_found``); without it whatever is found is returned.

        Raises QueryEmpty, PlanInvalid and other InputErrors for the caller's mistakes; a channel's failure is a value.
        """
        query, limits = _checked_query(query), self._limits
        if plan is not None and planner != "rules":
            raise InputError("Give a plan or a planner, not both.")
        advice = Advice(self._language_model_source, planner, rerank, llm_budget)
        if k is not None:
            if type(k) is not int or not 1 <= k <= 1000:
                raise InputError(f"k is {k!r}; it must be a whole number between 1 and 1000.")
            # One depth for every k up to 100 and one beyond: the first N of a longer answer are the answer for N.
            depth = limits.depth if k <= limits.depth else 1000
            limits = Limits(k=k, depth=depth, deadline_seconds=limits.deadline_seconds)
        started, now = time.monotonic(), self._clock()
        roots = cache(self._grep_roots)
        catalog, vector = self._catalog(now, roots)
        origin: PlanOrigin = "caller"
        if plan is not None:
            parsed = parse_plan(plan, query)
        else:
            parsed, origin = advice.plan(query, catalog.names())
        policy = self._policy(floor)
        with (
            store_errors(self.path),
            same_snapshot(list(self._readers.values())),
            FreshnessChecker({root.id: root for root in roots()}) as freshness,
        ):
            scope_row = read_scope(self._reader("main"), self.scope)
            outcome = run(
                query, self.scope, parsed, catalog, policy=policy, limits=limits, stale=self._stale(),
                certify=freshness.certify, on_timeout=self._interrupt,
                reorder=keep_order if rerank == "rule" else advice.reorder,
            )  # fmt: skip
        outcome = outcome._replace(degradations=advice.placed_around(outcome.degradations))
        record = RetrievalRecord(
            query=query, plan=parsed, plan_origin=origin, limits=asdict(limits),
            scope_revision=scope_row.revision if scope_row else 0, analyser_version=ANALYSER_VERSION,
            index_version=INDEX_VERSION,
            model_fingerprint=vector.fingerprint, query_vectors=vector.used, policy_hash=policy.hash,
            evidence=outcome.evidence, traces=outcome.traces, rejections=outcome.rejections,
            degradations=outcome.degradations, partial=outcome.partial, state=outcome.state,
            duration_ms=1000 * (time.monotonic() - started), language_model=advice.record(),
        )  # fmt: skip
        return self._recorded(record, outcome, write_record, now)

    def _policy(self, floor: bool) -> Policy:
        """The floor's weights are fitted for one model: where the scope's vectors are another's, there is no floor."""
        fitted = AnswerFloor()
        with store_errors(self.path):
            models = {row["model_id"] for row in self._hot.vectors.state(self._reader("main"), self.scope)}
        return Policy(floor=fitted) if floor and models == {fitted.model_id} else Policy()

    def _recorded(
        self, record: RetrievalRecord, outcome: RunOutcome, write_record: bool, now: datetime
    ) -> RouterResult:
        retrieval_id, degradations = "unrecorded", outcome.degradations
        if write_record:
            try:
                writer = self._write()
                with write_transaction(writer, self.path):
                    retrieval_id = add_retrieval(
                        writer, self.scope, record, actor=self.actor, now=now, keep_query=self._keep_query
                    )
            except (StoreReadOnly, StoreFull, StoreBusy):  # the answer is there all the same
                degradations = (*degradations, Degradation(code=ReasonCode.RECORD_NOT_WRITTEN))
        return RouterResult(
            retrieval_id=retrieval_id, evidence=outcome.evidence, traces=outcome.traces, rejections=outcome.rejections,
            degradations=degradations, partial=outcome.partial, state=outcome.state, plan=record.plan,
        )  # fmt: skip

    def register_channel(self, make: Callable[[Connection], Channel]) -> None:
        """Add a channel of one's own: ``make`` gets a read connection. Registration refuses what admission would refuse."""
        catalog, _ = self._catalog()
        name = f"extra {len(self._extra_channels)}"
        catalog.register(make(self._reader(name)))
        self._extra_channels.append(make)

    def _catalog(
        self, now: datetime | None = None, roots: Callable[[], Sequence[GrepRoot]] | None = None
    ) -> tuple[Catalog, VectorRetriever]:
        """The channels. ``now`` decides what has expired: the very moment that the record keeps, so that a replay agrees."""
        catalog = Catalog()
        vector = VectorRetriever(
            self._reader("vector"),
            self._vectors,
            self._has_model,
            self._hot.vectors,
            self._older_vectors,
            clock=lambda: now or self._clock(),
            by_row=self._hot.chunks.hits,
        )
        catalog.register(MemoryRetriever(self._reader("research-memory"), lambda: now or self._clock()))
        catalog.register(Bm25Retriever(self._reader("bm25"), hot=self._hot.postings, by_row=self._hot.chunks.hits))
        catalog.register(vector)
        catalog.register(
            GrepRetriever(
                self._reader("grep"),
                roots or self._grep_roots,
                hot=self._hot.grep,
                by_row=self._hot.chunks.hits,
                indexes=self._hot.line_indexes,
                postings=self._hot.postings,
            )
        )
        for number, make in enumerate(self._extra_channels):
            channel = make(self._reader(f"extra {number}"))
            catalog.register(channel)
            self._reader_of[channel.name] = f"extra {number}"
        return catalog, vector

    def _vectors(self) -> QueryVectors | None:
        if self._query_vectors is None:
            embedder = self._embedder_source()
            if embedder is None:
                return None
            self._query_vectors = from_embedder(embedder)
        return self._query_vectors

    def _has_model(self) -> bool:
        if self._embedder_source not in (installed_embedder, shared_embedder):
            return self._vectors() is not None
        return is_model_there()

    def _older_vectors(self, model_id: str) -> QueryVectors | None:
        """Query vectors of another model that made vectors of this file, while those of the chosen one are incomplete."""
        from arr_sql.database.embedder_choice import open_older

        if model_id not in self._older:
            embedder = open_older(model_id)
            self._older[model_id] = None if embedder is None else from_embedder(embedder)
        return self._older[model_id]

    def _grep_roots(self) -> Sequence[GrepRoot]:
        return [
            GrepRoot(root.id, root.prefix, str(root.path), root.only_file, is_other_branch(root, self.scope))
            for root in read_roots(self._reader("grep"), self.scope, self.project_folder)
        ]

    def _stale(self) -> frozenset[str]:
        behind = stale_text_indexes(self._reader("main"), self.scope)
        return frozenset(channel for channel, index in CHANNEL_INDEX.items() if index in behind)

    def _interrupt(self, channel: str) -> None:
        """Stop the statement of a channel that missed its deadline; its connection is not used again."""
        connection = self._readers.pop(self._reader_of.get(channel, channel), None)
        if connection is not None:
            connection.interrupt()
            self._abandoned.append(connection)  # closed with the database: its thread may still be inside it

    def retrievals(self, retrieval_id: str | None = None, limit: int = 20) -> list[dict[str, Any]]:
        """Records of this scope, newest first; the one with ``retrieval_id`` when given (InputError if there is none).

        Raises StateError when its record was pruned.
        """
        with store_errors(self.path):
            found = read_retrievals(self._reader("main"), self.scope, retrieval_id, limit)
        if retrieval_id is not None and not found:
            from arr_sql.memory.pruning import pruned_at  # not when a search imports this module

            with store_errors(self.path):
                pruned = pruned_at(self._reader("main"), self.scope, retrieval_id)
            if pruned is not None:
                raise StateError(
                    f"The record of retrieval {retrieval_id} was pruned at {pruned}, so it can't be shown or run again. "
                    f"`arr audit list --kind retrieval` still shows that it was asked."
                )
            raise InputError(
                f"There is no retrieval '{retrieval_id}' in this scope. See `arr audit list --kind retrieval`."
            )
        return found

    def explain(self, retrieval_id: str) -> dict[str, Any]:
        """The record of one retrieval with its account in sentences. Raises InputError when this scope has none of that id."""
        return explained(self.retrievals(retrieval_id)[0])

    def chunk(self, chunk_id: str) -> dict[str, Any]:
        """One live chunk of this scope as plain values. Raises InputError when there is none."""
        with store_errors(self.path):
            row = (
                self._reader("main")
                .execute(load("read_chunk"), {**self.scope.bindings(), "chunk_id": chunk_id})
                .fetchone()
            )
        if row is None:
            raise InputError(f"There is no chunk '{chunk_id}' in this scope. `arr search --json` shows chunk ids.")
        return dict(row)


def _checked_query(query: str) -> str:
    """The query, trimmed. Raises QueryEmpty or InputError."""
    if not isinstance(query, str):
        raise InputError(f"The query is of type {type(query).__name__}; it must be text.")
    if not query.strip():
        raise QueryEmpty('The query is empty. Say what to look for, for example: arr search "why did run 7 diverge".')
    if len(query) > MAX_QUERY:
        raise InputError(f"The query has {len(query):,} characters; at most {MAX_QUERY:,} are allowed. Shorten it.")
    return query.strip()
