"""What would go? Everything in one scope that belongs to the memories, sources and queries somebody asks to forget.

Reads only; the same plan is what `arr forget --dry-run` lists and what :mod:`arr_sql.memory.forgetting` carries out.
A source goes with its whole life: every version, under whatever name. A record that asked a forgotten query, or returned
a forgotten file, stays without the text. What belongs to another file that has, or had, one of the names stays: a name says
whose a thing is only for some revisions (:mod:`arr_sql.memory.forget_names`). Held by tests/memory/test_forgetting.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import Connection
from arr_sql.core.redaction import redact
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load
from arr_sql.errors import InputError
from arr_sql.index.text_index import terms_of
from arr_sql.memory.forget_names import Known, NameSpan, is_known, names_of_others, spans_of
from arr_sql.memory.retrieval_log import HASHED, read_evidence
from arr_sql.memory.scope_store import ScopeRow, read_scope

LOOSE = "g"
"""How the id of a line begins that grep found outside of every chunk."""


@dataclass(frozen=True)
class ForgetRequest:
    """What to forget: by id, by name, by query (its text or a retrieval's id), or all of the scope."""

    memory_ids: tuple[str, ...] = ()
    source_refs: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    whole_scope: bool = False

    @property
    def target(self) -> str:
        """The kind of thing asked for, as the receipt names it."""
        if self.whole_scope:
            return "scope"
        kinds = [
            kind for kind, names in (("memory", self.memory_ids), ("source", self.source_refs), ("query", self.queries)) if names
        ]  # fmt: skip
        return kinds[0] if len(kinds) == 1 else "several"

    @property
    def is_empty(self) -> bool:
        """Was nothing named?"""
        return not (self.memory_ids or self.source_refs or self.queries or self.whole_scope)


@dataclass
class ForgetPlan:
    """The rows that would go (or be rewritten), as the statements give them."""

    request: ForgetRequest
    scope_row: ScopeRow | None
    memories: list[Any] = field(default_factory=list)
    packages: list[Any] = field(default_factory=list)
    sources: list[Any] = field(default_factory=list)
    versions: list[Any] = field(default_factory=list)
    chunks: list[Any] = field(default_factory=list)
    vectors: list[Any] = field(default_factory=list)
    memory_vectors: list[Any] = field(default_factory=list)
    left_out: list[Any] = field(default_factory=list)
    roots: list[Any] = field(default_factory=list)
    retrievals: list[tuple[Any, list[Any]]] = field(default_factory=list)
    """Each record that is rewritten (removed when the whole scope goes) with its evidence rows."""
    chunk_keys: frozenset[tuple[str, str]] = frozenset()
    """Id and content hash of every chunk that goes: what evidence says of a text."""
    spans: list[NameSpan] = field(default_factory=list)
    """When which name meant one of the forgotten sources."""
    taken_names: frozenset[str] = frozenset()
    """Names of forgotten sources that another file, which stays, has now."""

    @property
    def is_empty(self) -> bool:
        """Is there nothing to forget?"""
        parts = (self.memories, self.sources, self.left_out, self.roots, self.retrievals, self.packages)
        return not any(parts)

    @property
    def names(self) -> frozenset[str]:
        """Every name that the forgotten sources ever had."""
        return frozenset(row["source_ref"] for row in self.versions) | frozenset(self.request.source_refs)

    @property
    def present_names(self) -> frozenset[str]:
        """What the forgotten sources are (or were last) called, here and in the request: where a former name is left out of
        a walk, that is another file by now."""
        return frozenset(row["source_ref"] for row in self.sources) | frozenset(self.request.source_refs)

    def forgets_evidence(self, row: Any, item: Any) -> bool:
        """Was this item of a record taken from a forgotten file? By its text; a line without a chunk, which grep read from
        the disk, by what its name meant at that revision."""
        if not item["chunk_id"].startswith(LOOSE):
            return (item["chunk_id"], item["content_hash"]) in self.chunk_keys
        return any(span.covers(item["source_ref"], row["scope_revision"]) for span in self.spans)

    def counts(self) -> dict[str, int]:
        """How many rows of each kind."""
        removes = self.request.whole_scope
        found = {
            "memories": len({row["memory_id"] for row in self.memories}), "memory_versions": len(self.memories),
            "approval_packages": len(self.packages), "sources": len(self.sources), "source_versions": len(self.versions),
            "chunks": len(self.chunks), "vectors": len(self.vectors) + len(self.memory_vectors), "roots": len(self.roots),
            "left_out_names": len(self.left_out),
            "retrievals_removed" if removes else "retrievals_rewritten": len(self.retrievals),
        }  # fmt: skip
        return {name: count for name, count in found.items() if count}

    def listing(self) -> dict[str, Any]:
        """Everything by name, for the person who decides."""
        latest = {row["memory_id"]: row for row in self.memories}
        return {
            "counts": self.counts(),
            "memories": [{"memory_id": name, "title": row["title"], "status": row["status"]} for name, row in latest.items()],
            "approval_packages": [row["package_id"] for row in self.packages],
            "sources": [
                {"source_ref": row["source_ref"], "live": row["retired_revision"] is None} for row in self.sources
            ],
            "retrievals": [
                {"retrieval_id": row["retrieval_id"], "query": row["query"]} for row, _ in self.retrievals
            ],
            "left_out_names": [row["path_in_root"] for row in self.left_out],
            "roots": [row["only_file"] or row["path"] for row in self.roots],
        }  # fmt: skip

    # --- What is looked for in the bytes afterwards -------------------------------------------------------------------

    def texts(self) -> frozenset[str]:
        """Every text that goes: contents, titles, headings, names, reasons, queries, and the strings inside JSON columns."""
        return frozenset(text for text in self._texts() if text.strip())

    def _texts(self) -> Iterator[str]:
        for row in self.memories:
            yield from (row["title"], row["content"], row["conflict_key"] or "", row["reason"])
            for name in ("source_refs", "applicability", "proposed_actions", "metadata"):
                yield from strings(json.loads(row[name]))
        for row in self.packages:
            yield from strings(json.loads(row["payload"]))
            yield from strings(json.loads(row["body"] or "null"))
            yield row["reason"] or ""
        for row in self.versions:
            yield from (row["source_ref"], row["path_in_root"], row["title"])
            yield from strings(json.loads(row["metadata"]))
            yield from strings(json.loads(row["warnings"]))
        for row in self.chunks:
            yield from (row["heading"], row["content"])
        for row in self.left_out:
            yield row["path_in_root"]
        for row in self.roots:
            yield from (row["only_file"],) if row["only_file"] else (row["path"], row["name"])
        for row, evidence in self.retrievals:
            if is_asked(row) or self.request.whole_scope:
                yield row["query"] or ""
            yield from self.lost_vectors(row).values()
            if self.request.whole_scope:
                yield from (item["source_ref"] for item in evidence)
            yield from (query for query in rewritten_queries(row) if self.forgets_query(row, query))

    def forgets_query(self, row: Any, query: str) -> bool:
        """Does a rewritten query of this record go?"""
        return is_asked(row) or self.request.whole_scope or query in query_texts(self.request.queries)

    def lost_vectors(self, row: Any) -> dict[str, str]:
        """The vectors of a record's queries that go, by the hash of the query. Where one goes, only those of queries stay that
        are known to stay: a rewritten query is kept without its credentials, and its vector under the hash of the whole.
        """
        vectors: dict[str, str] = json.loads(row["query_vectors"])
        if is_asked(row) or self.request.whole_scope:
            return vectors
        stay = [query for query in rewritten_queries(row) if not self.forgets_query(row, query)]
        if len(stay) == len(list(rewritten_queries(row))):
            return {}
        hashes = {row["query_hash"], *(query.removeprefix(HASHED) for query in stay), *map(sha256_text, stay)}
        return {name: vector for name, vector in vectors.items() if name not in hashes}

    def terms(self) -> frozenset[str]:
        """The analysed terms of everything that was in the text index."""
        found: set[str] = set()
        pairs = [(row["heading"], row["content"]) for row in self.chunks]
        pairs += [(row["title"], row["content"]) for row in self.memories]
        for heading, content in set(pairs):
            terms = terms_of(heading, content)
            found.update(terms.heading.split(" "), terms.body.split(" "))
        found.discard("")
        return frozenset(found)

    def vector_bytes(self) -> frozenset[bytes]:
        """The vectors that go."""
        return frozenset(bytes(row["vector"]) for row in (*self.vectors, *self.memory_vectors))


def is_asked(row: Any) -> bool:
    """Was the record itself named by its query or its id?"""
    return bool(row["is_asked"])


def strings(value: Any, *, keys: bool = True) -> Iterator[str]:
    """Every text inside a JSON value, the names of its fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if keys:
                yield name
            yield from strings(inner, keys=keys)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, keys=keys)


def query_texts(queries: Sequence[str]) -> frozenset[str]:
    """The forms in which a query may be stored: as asked, as credentials were taken out, and (in a plan) as its hash."""
    return frozenset(
        form for query in map(str.strip, queries) for form in (query, redact(query), f"{HASHED}{sha256_text(query)}")
    )


def rewritten_queries(row: Any) -> Iterator[str]:
    """The queries of a record's plan that are not the record's own, as they are stored."""
    for calls in json.loads(row["plan"])["tool_rounds"]:
        yield from (call["query"] for call in calls if call["query"])


def plan_forgetting(
    connection: Connection, scope: ScopeKey, request: ForgetRequest, known: Known | None = None
) -> ForgetPlan:
    """Find everything that ``request`` names in ``scope``. Reads only; inside a transaction it is one snapshot.

    ``known`` is what the plan of the database found, where this is a backup of it: the same things go under whatever name.
    Raises InputError when a source is called otherwise now.
    """
    scope_row = read_scope(connection, scope)
    plan = ForgetPlan(request, scope_row)
    if scope_row is None or request.is_empty:
        return plan
    everything = request.whole_scope
    own: dict[str, Any] = {"scope_id": scope_row.id}
    if everything or request.memory_ids:
        wanted = {**own, "memory_ids": None if everything else json.dumps(request.memory_ids)}
        plan.memories = connection.execute(load("read_memories_to_forget"), wanted).fetchall()
        plan.packages = connection.execute(load("read_packages_to_forget"), wanted).fetchall()
        versions = {"memories": json.dumps([row["id"] for row in plan.memories])}
        plan.memory_vectors = connection.execute(load("read_memory_vectors_to_forget"), versions).fetchall()
    if everything or request.source_refs:
        _require_present_names(connection, request, own, known)
        _plan_sources(connection, plan, own, known)
    queries = query_texts(request.queries)
    values = {
        **own, "is_all": everything, "queries": json.dumps(sorted(queries)),
        "query_hashes": json.dumps([sha256_text(query.strip()) for query in request.queries]),
        "chunks": json.dumps(sorted(plan.chunk_keys)), "spans": json.dumps(plan.spans),
    }  # fmt: skip
    rows = connection.execute(load("read_retrievals_to_forget"), values).fetchall()
    plan.retrievals = [(row, read_evidence(connection, row["id"])) for row in rows]
    return plan


def known_by(connection: Connection, plan: ForgetPlan) -> Known:
    """What ``plan``, of the database itself, tells the plans of its backups. Call inside the same snapshot."""
    if plan.scope_row is None or not plan.request.source_refs:
        return Known()
    goes = frozenset((row["id"], row["created_at"]) for row in plan.sources)
    held = _read_sources(connection, {"scope_id": plan.scope_row.id, "refs": None})
    return Known(
        goes, frozenset((row["id"], row["created_at"]) for row in held) - goes,
        frozenset(row["source_ref"] for row in plan.sources), plan.chunk_keys,
    )  # fmt: skip


def _require_present_names(
    connection: Connection, request: ForgetRequest, own: dict[str, Any], known: Known | None
) -> None:
    """A former name is no way to a source: whoever gives one may mean another file. Raises InputError with the present one.

    What the database itself calls so is known by more than its name.
    """
    refs = [name for name in request.source_refs if known is None or name not in known.names]
    values = {**own, "refs": json.dumps(refs)}
    present = {row["source_ref"] for row in _read_sources(connection, values)}
    for row in connection.execute(load("read_present_names"), values).fetchall():
        if row["source_ref"] not in present:
            raise InputError(
                f"'{row['source_ref']}' is called '{row['present']}' now. Give that name to forget it with its history."
            )


def _plan_sources(connection: Connection, plan: ForgetPlan, own: dict[str, Any], known: Known | None) -> None:
    refs = plan.request.source_refs
    everything = plan.request.whole_scope
    if known is None or everything:
        plan.sources = _read_sources(connection, {**own, "refs": None if everything else json.dumps(refs)})
    else:
        pairs = {**own, "chunks": json.dumps(sorted(known.chunks))}
        same = {row["source_id"] for row in connection.execute(load("read_sources_of_chunks"), pairs)}
        held = _read_sources(connection, {**own, "refs": None})
        plan.sources = [row for row in held if is_known(row, known, refs, row["id"] in same)]
    sources = {"sources": json.dumps([row["id"] for row in plan.sources])}
    plan.versions = connection.execute(load("read_versions_to_forget"), sources).fetchall()
    plan.chunks = connection.execute(load("read_chunks_to_forget"), sources).fetchall()
    plan.chunk_keys = frozenset((row["chunk_id"], row["content_hash"]) for row in plan.chunks)
    plan.vectors = connection.execute(load("read_vectors_to_forget"), sources).fetchall()
    named = connection.execute(
        load("read_versions_of_names"), {**own, "refs": json.dumps(sorted(plan.names))}
    ).fetchall()
    forgotten = frozenset(row["id"] for row in plan.sources)
    plan.spans = spans_of(named, forgotten, refs)
    plan.taken_names = names_of_others(named, forgotten)
    present = {**own, "refs": None if everything else json.dumps(sorted(plan.present_names))}
    plan.left_out = connection.execute(load("read_left_out_to_forget"), present).fetchall()
    singles = sorted({row["root_id"] for row in plan.sources if row["only_file"] is not None})
    plan.roots = connection.execute(
        load("read_roots_to_forget"), {**own, "roots": None if everything else json.dumps(singles)}
    ).fetchall()


def _read_sources(connection: Connection, values: dict[str, Any]) -> list[Any]:
    return connection.execute(load("read_sources_to_forget"), values).fetchall()
