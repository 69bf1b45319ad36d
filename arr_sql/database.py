"""The one place where the parts are joined: :class:`ResearchDatabase`, one file seen from one scope.

A request falls through the floors once and rises once. Reading uses connections that can only SELECT; writing goes
through one connection and one short transaction per change. Every method acts in ``self.scope`` and nowhere else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from arr_sql.core.analysis import ANALYSER_VERSION
from arr_sql.core.clock import utc_now
from arr_sql.core.connection import (
    Connection,
    open_reader,
    open_writer,
    read_transaction,
    store_errors,
    write_transaction,
)
from arr_sql.core.migrations import migrate, require_current
from arr_sql.core.project import Project, find_project
from arr_sql.core.research_models import AuditEvent, MemoryStatus, ResearchMemory, ScopeKey
from arr_sql.core.router_models import MAX_QUERY, Degradation, QueryPlan, ReasonCode, RouterResult
from arr_sql.core.snapshot import same_snapshot
from arr_sql.core.statements import load
from arr_sql.errors import InputError, PathRefused, QueryEmpty, StoreFull, StoreReadOnly
from arr_sql.index.embedders.protocol import Embedder
from arr_sql.index.text_index import (
    TEXT_INDEX_VERSION,
    index_is_foreign,
    rebuild_text_index,
    stale_text_indexes,
)
from arr_sql.ingest.roots import RootRow, add_root, is_other_branch, read_roots
from arr_sql.memory.audit_log import current_actor, list_events
from arr_sql.memory.audit_verify import VerifyReport, verify_audit
from arr_sql.memory.research_store import add_memory, list_memories, make_memory, read_memory, set_status
from arr_sql.memory.retrieval_log import RetrievalRecord, add_retrieval, read_retrievals
from arr_sql.memory.scope_store import ensure_scope, read_scope
from arr_sql.policy.admission import Policy, ToolFacts, Verdict, admit
from arr_sql.policy.plan_rules import parse_plan, rule_plan
from arr_sql.policy.retrieval_router import Limits, RunOutcome, run
from arr_sql.retrieval.bm25_retriever import Bm25Retriever
from arr_sql.retrieval.catalog import Catalog, Channel
from arr_sql.retrieval.freshness import FreshnessChecker
from arr_sql.retrieval.grep_retriever import GrepRetriever, GrepRoot
from arr_sql.retrieval.memory_retriever import MemoryRetriever
from arr_sql.retrieval.rule_reranker import RERANKER_VERSION
from arr_sql.retrieval.vector_retriever import QueryVectors, VectorRetriever, from_embedder

if TYPE_CHECKING:
    # Imported where they are used: a search pays for none of them (tests/promises/test_imports.py).
    from arr_sql.index.vector_index import EmbedSummary
    from arr_sql.ingest.sync import Progress, SyncSummary
    from arr_sql.memory.store_check import CheckReport

DEFAULT_MAX_FILE_BYTES = 16 << 20
# Which text index each channel reads: an index behind its content refuses the channel at admission.
CHANNEL_INDEX = {"bm25": "chunk_text", "research-memory": "memory_text"}


def connect(folder: str | Path = ".", *, environment: str | None = None, branch: str | None = None) -> ResearchDatabase:
    """The project that ``folder`` belongs to, in the scope that follows from where it is.

    Raises StoreMissing when there is no project or file, SchemaOutOfDate and the other StoreErrors of an unfit file.
    """
    return ResearchDatabase.of_project(find_project(Path(folder), environment=environment, branch=branch))


class ResearchDatabase:
    """One database file seen from one scope. Use as a context manager, or call :meth:`close`."""

    def __init__(
        self, path: Path, scope: ScopeKey, *, project_folder: Path | None = None, actor: str | None = None,
        clock: Callable[[], datetime] = utc_now, embedder: Callable[[], Embedder | None] | None = None,
        keep_query: bool = True, max_file_bytes: int = DEFAULT_MAX_FILE_BYTES, limits: Limits = Limits(),
    ) -> None:  # fmt: skip
        """``embedder`` gives the embedding model when it is first needed, None when there is none."""
        self.path, self.scope = path, scope
        self.project_folder = project_folder or path.resolve().parent
        self.actor = actor or current_actor()
        self._clock, self._keep_query, self._max_file_bytes = clock, keep_query, max_file_bytes
        self._limits = limits
        self._embedder_source = embedder or _installed_embedder
        self._query_vectors: QueryVectors | None = None
        self._writer: Connection | None = None
        self._readers: dict[str, Connection] = {}
        self._extra_channels: list[Callable[[Connection], Channel]] = []
        reader = self._reader("main")
        require_current(reader, path)

    @classmethod
    def create(cls, path: Path, scope: ScopeKey, **options: Any) -> ResearchDatabase:
        """Make the file (or bring an older one up to date) and open it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = open_writer(path, create=True)
        try:
            migrate(connection, path)
            with write_transaction(connection, path):
                if index_is_foreign(connection):
                    rebuild_text_index(connection)
        finally:
            connection.close()
        return cls(path, scope, **options)

    @classmethod
    def of_project(cls, project: Project, **options: Any) -> ResearchDatabase:
        """Open a found project's file in its scope."""
        settings = project.settings
        limits = Limits(k=settings.search.k, deadline_seconds=settings.search.deadline_seconds)
        return cls(
            project.database, project.scope,
            **{"project_folder": project.folder, "keep_query": settings.audit.query == "text",
               "max_file_bytes": settings.sources.max_file_bytes, "limits": limits, **options},
        )  # fmt: skip

    def __enter__(self) -> ResearchDatabase:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Closing twice is harmless."""
        for connection in self._readers.values():
            connection.close()
        self._readers.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    # --- connections --------------------------------------------------------------------------------------------------

    def _reader(self, name: str) -> Connection:
        """A warm read connection of its own for each channel: one connection serves one thread at a time."""
        if name not in self._readers:
            self._readers[name] = open_reader(self.path)
        return self._readers[name]

    def _write(self) -> Connection:
        if self._writer is None:
            self._writer = open_writer(self.path)
        return self._writer

    # --- sources --------------------------------------------------------------------------------------------------------

    def add(self, target: str | Path, progress: Progress = lambda phase, done, total: None) -> SyncSummary:
        """Trust a folder or file for this scope and take its files in. Raises PathRefused when it is neither."""
        path = Path(target)
        if path.exists() and not (path.is_dir() or path.is_file()):
            raise PathRefused(f"'{path}' is neither a folder nor a file (a pipe, socket or device). Name a folder or a file to add.")
        writer = self._ready_writer()
        with write_transaction(writer, self.path):
            scope_row = ensure_scope(writer, self.scope, self.actor, self._clock())
            root = add_root(writer, self.scope, scope_row.id, self.project_folder, Path(target), self._clock())
        return self._sync([root], progress)

    def sync(self, progress: Progress = lambda phase, done, total: None) -> SyncSummary:
        """Bring every root of this scope up to date with the disk."""
        self._ready_writer()
        roots = self.roots()
        if not roots:
            raise InputError("Nothing has been added to this scope yet. Run `arr add FOLDER` first.")
        return self._sync(roots, progress)

    def _sync(self, roots: list[RootRow], progress: Progress) -> SyncSummary:
        from arr_sql.ingest.sync import Syncer

        syncer = Syncer(
            self._write(), self.path, self.scope, self.actor,
            max_file_bytes=self._max_file_bytes, progress=progress, clock=self._clock,
        )  # fmt: skip
        return syncer.sync(roots, self.roots())

    def _ready_writer(self) -> Connection:
        """The writer, with a text index that this program's analyser made."""
        writer = self._write()
        with store_errors(self.path):
            if index_is_foreign(writer):
                self.rebuild()
        return writer

    def roots(self) -> list[RootRow]:
        """The folders and files that this scope trusts."""
        with store_errors(self.path):
            return read_roots(self._reader("main"), self.scope, self.project_folder)

    def embed(
        self, *, rebuild: bool = False, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> EmbedSummary:
        """Compute the vectors that are missing. Raises ModelError when there is no model."""
        from arr_sql.index.embedders.model_store import open_embedder
        from arr_sql.index.vector_index import fill_vectors

        embedder = self._embedder_source()
        if embedder is None:
            embedder = open_embedder()  # raises ModelError, whose message says how to get a model
        return fill_vectors(
            self._write(), self.path, self.scope, embedder,
            actor=self.actor, clock=self._clock, rebuild=rebuild, progress=progress,
        )  # fmt: skip

    # --- retrieval ------------------------------------------------------------------------------------------------------

    def plan(self, query: str, plan: Any = None) -> tuple[QueryPlan, tuple[Verdict, ...]]:
        """The plan that a search would run and the verdict on each call. Runs nothing and writes nothing."""
        query = _checked_query(query)
        catalog, _ = self._catalog()
        parsed = parse_plan(plan, query) if plan is not None else rule_plan(catalog.names())
        stale = self._stale()
        tools = {r.name: ToolFacts(r.name, r.provider, r.read_only, r.name in stale) for r in catalog}
        return parsed, admit(parsed, query, tools, Policy())

    def search(self, query: str, *, k: int | None = None, plan: Any = None, write_record: bool = True) -> RouterResult:
        """Evidence for ``query`` with the account of how it was found; the retrieval is recorded.

        Raises QueryEmpty, PlanInvalid and other InputErrors for the caller's mistakes; a channel's failure is a value.
        """
        query, limits = _checked_query(query), self._limits
        if k is not None:
            if not 1 <= k <= 1000:
                raise InputError(f"k is {k}; it must be between 1 and 1000.")
            limits = Limits(k=k, depth=max(limits.depth, k), deadline_seconds=limits.deadline_seconds)
        started = time.monotonic()
        catalog, vector = self._catalog()
        parsed = parse_plan(plan, query) if plan is not None else rule_plan(catalog.names())
        policy, roots = Policy(), {root.id: root for root in self._grep_roots()}
        with store_errors(self.path), same_snapshot(list(self._readers.values())), FreshnessChecker(roots) as freshness:
            scope_row = read_scope(self._reader("main"), self.scope)
            outcome = run(
                query, self.scope, parsed, catalog, policy=policy, limits=limits, stale=self._stale(),
                freshness=freshness.check, on_timeout=self._interrupt,
            )  # fmt: skip
        record = RetrievalRecord(
            query=query, plan=parsed, plan_origin="rules" if plan is None else "caller", limits=asdict(limits),
            scope_revision=scope_row.revision if scope_row else 0, analyser_version=ANALYSER_VERSION,
            index_version=f"text {TEXT_INDEX_VERSION}, rerank {RERANKER_VERSION}",
            model_fingerprint=vector.fingerprint, query_vectors=vector.used, policy_hash=policy.hash,
            evidence=outcome.evidence, traces=outcome.traces, rejections=outcome.rejections,
            degradations=outcome.degradations, partial=outcome.partial, state=outcome.state,
            duration_ms=1000 * (time.monotonic() - started),
        )  # fmt: skip
        return self._recorded(record, outcome, write_record)

    def _recorded(self, record: RetrievalRecord, outcome: RunOutcome, write_record: bool) -> RouterResult:
        retrieval_id, degradations = "unrecorded", outcome.degradations
        if write_record:
            try:
                writer = self._write()
                with write_transaction(writer, self.path):
                    retrieval_id = add_retrieval(
                        writer, self.scope, record, actor=self.actor, now=self._clock(), keep_query=self._keep_query
                    )
            except (StoreReadOnly, StoreFull):  # the answer is there all the same
                degradations = (*degradations, Degradation(code=ReasonCode.RECORD_NOT_WRITTEN))
        return RouterResult(
            retrieval_id=retrieval_id, evidence=outcome.evidence, traces=outcome.traces, rejections=outcome.rejections,
            degradations=degradations, partial=outcome.partial, state=outcome.state, plan=record.plan,
        )  # fmt: skip

    def register_channel(self, make: Callable[[Connection], Channel]) -> None:
        """Add a channel of one's own: ``make`` gets a read connection. Registration refuses what admission would refuse."""
        self._extra_channels.append(make)
        self._catalog()

    def _catalog(self) -> tuple[Catalog, VectorRetriever]:
        catalog = Catalog()
        vector = VectorRetriever(self._reader("vector"), self._vectors, self._has_model)
        catalog.register(MemoryRetriever(self._reader("research-memory"), self._clock))
        catalog.register(Bm25Retriever(self._reader("bm25")))
        catalog.register(vector)
        catalog.register(GrepRetriever(self._reader("grep"), self._grep_roots))
        for make in self._extra_channels:
            catalog.register(make(self._reader("extra")))
        return catalog, vector

    def _vectors(self) -> QueryVectors | None:
        if self._query_vectors is None:
            embedder = self._embedder_source()
            if embedder is None:
                return None
            self._query_vectors = from_embedder(embedder)
        return self._query_vectors

    def _has_model(self) -> bool:
        """Is a model there? Asked before one is loaded, which takes half a second."""
        if self._embedder_source is not _installed_embedder:
            return self._vectors() is not None
        from arr_sql.index.embedders.model_store import find_default_model

        return find_default_model() is not None

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
        connection = self._readers.pop(channel, None)
        if connection is not None:
            connection.interrupt()

    def retrievals(self, retrieval_id: str | None = None, limit: int = 20) -> list[dict[str, Any]]:
        """Records of this scope, newest first; the one with ``retrieval_id`` when given (InputError if there is none)."""
        with store_errors(self.path):
            found = read_retrievals(self._reader("main"), self.scope, retrieval_id, limit)
        if retrieval_id is not None and not found:
            raise InputError(
                f"There is no retrieval '{retrieval_id}' in this scope. See `arr audit list --kind retrieval`."
            )
        return found

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

    # --- memories -------------------------------------------------------------------------------------------------------

    def add_memory(self, **values: Any) -> ResearchMemory:
        """Store a candidate: ``title``, ``content``, ``kind`` and the other fields of ResearchMemory."""
        memory = make_memory(self.scope, self._clock(), **values)
        writer = self._ready_writer()
        with write_transaction(writer, self.path):
            return add_memory(writer, memory, actor=self.actor, now=self._clock())

    def set_memory_status(self, memory_id: str, status: MemoryStatus, reason: str = "") -> ResearchMemory:
        """Publish, revoke or otherwise move a memory. Raises StateError for a step that is not allowed."""
        writer = self._ready_writer()
        with write_transaction(writer, self.path):
            return set_status(writer, self.scope, memory_id, status, actor=self.actor, reason=reason, now=self._clock())

    def memory(self, memory_id: str) -> ResearchMemory:
        """The live version of one memory. Raises InputError when there is none."""
        with store_errors(self.path):
            return read_memory(self._reader("main"), self.scope, memory_id)

    def memories(self, status: MemoryStatus | None = None) -> list[ResearchMemory]:
        """Live memories, newest change first."""
        with store_errors(self.path):
            return list_memories(self._reader("main"), self.scope, status)

    # --- the operator's side --------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """What this scope holds and how each channel stands, as plain values."""
        from arr_sql.index.vector_index import vector_state

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            row = reader.execute(load("read_status"), self.scope.bindings()).fetchone()
            vectors = vector_state(reader, self.scope)
            stale = sorted(stale_text_indexes(reader, self.scope))
        held = {name: row[name] for name in row.keys()} if row else {}  # noqa: SIM118  sqlite3.Row has no items()
        for name in ("memories", "left_out"):
            held[name] = json.loads(held.get(name) or "{}")
        return {
            "scope": self.scope.model_dump(), "database": str(self.path), **held,
            "roots": [
                {"path": str(root.path), "file": root.only_file, "other_branch": is_other_branch(root, self.scope),
                 "missing": not root.path.is_dir()}
                for root in self.roots()
            ],
            "stale_indexes": stale,
            "vectors": [
                {"model": item["model_id"], "fingerprint": item["fingerprint"], "embedded": item["embedded"]}
                for item in vectors if item["model"] is not None
            ],
            "file_bytes": self.path.stat().st_size,
        }  # fmt: skip

    def audit_events(self, kind: str | None = None, limit: int = 50) -> list[AuditEvent]:
        """The last audit events of this scope, newest first."""
        with store_errors(self.path):
            return list_events(self._reader("main"), self.scope, kind=kind, limit=limit)

    def verify_audit(self) -> VerifyReport:
        """Check the whole file's audit chain and the rows it vouches for."""
        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            return verify_audit(reader)

    def check(self) -> CheckReport:
        """SQLite's integrity, foreign keys, schema, FTS5, index = content, audit. Changes nothing."""
        from arr_sql.memory.store_check import check_store

        return check_store(self.path)

    def rebuild(self, progress: Callable[[int], None] = lambda done: None) -> int:
        """Make the text index anew from content; how many rows it holds."""
        writer = self._write()
        with write_transaction(writer, self.path):
            return rebuild_text_index(writer, progress)

    def scopes(self) -> list[dict[str, Any]]:
        """Every scope of the file with what it holds: for the operator of the whole file."""
        with store_errors(self.path):
            return [dict(row) for row in self._reader("main").execute(load("read_scopes"))]


def _checked_query(query: str) -> str:
    """The query, trimmed. Raises QueryEmpty or InputError."""
    if not isinstance(query, str) or not query.strip():
        raise QueryEmpty('The query is empty. Say what to look for, for example: arr search "why did run 7 diverge".')
    if len(query) > MAX_QUERY:
        raise InputError(f"The query has {len(query):,} characters; at most {MAX_QUERY:,} are allowed. Shorten it.")
    return query.strip()


def _installed_embedder() -> Embedder | None:
    """The installed default model, or None when there is none. Raises ModelError when it is damaged."""
    from arr_sql.index.embedders.model_store import find_default_model, open_embedder

    return open_embedder() if find_default_model() is not None else None
