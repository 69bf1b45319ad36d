"""A store for a gold set: built once through the product's own ways, then asked. Implements evaluation's protocol.

Files are written into a folder for each scope and taken in by ``add``; memories walk the real life cycle; vectors are
computed by ``embed``. The documents of a judged collection are stored as one chunk each instead.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from arr_sql.core.canonical import sha256_text
from arr_sql.core.clock import from_text
from arr_sql.core.connection import store_errors, write_transaction
from arr_sql.core.research_models import MemoryStatus, ScopeKey
from arr_sql.core.router_models import RouterResult
from arr_sql.core.statements import load
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, ModelError
from arr_sql.evaluation.gold_models import Document, GoldMemory, GoldSet
from arr_sql.evaluation.store_protocol import Asked, Progress, StoredChunk
from arr_sql.index.embedders.protocol import Embedder, embed_text
from arr_sql.index.text_index import chunk_terms_of, note_current
from arr_sql.ingest.chunker import Chunk
from arr_sql.ingest.prepare import Prepared, PreparedChunk
from arr_sql.ingest.roots import add_root
from arr_sql.ingest.source_store import Writing, add_file, finish
from arr_sql.memory.lifecycle import TRANSITIONS
from arr_sql.memory.scope_store import advance, ensure_scope
from arr_sql.policy.retrieval_router import Limits

if TYPE_CHECKING:
    from typing_extensions import Self

    from arr_sql.llm.language_model import LanguageModel

ACTOR = "evaluation"
MARK = "gold.json"
PATIENCE_SECONDS = 120.0
"""A busy machine must not turn slow answers into wrong ones: how long a call took is measured, not limited."""
BUILT_AT = datetime(2026, 1, 1, tzinfo=timezone.utc)


class EvaluationStore:
    """The scopes of a gold set in one file, ``FOLDER/arr.db``. Use as a context manager."""

    def __init__(
        self, folder: Path, gold: GoldSet, *, embedder: Callable[[], Embedder | None] | None = None,
        language_model: Callable[[], LanguageModel] | None = None,
    ) -> None:  # fmt: skip
        self._folder, self._gold, self._embedder = folder, gold, embedder
        self._language_model = language_model
        self._databases: dict[str, ResearchDatabase] = {}
        self._facts: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for database in self._databases.values():
            database.close()

    def build(self, progress: Progress = lambda phase, done, total: None) -> None:
        """Make the store, or use the one in the folder if it was made of the same set.

        Raises InputError when the folder holds something else.
        """
        mark, fingerprint = self._folder / MARK, self._gold.fingerprint()
        is_new = not mark.exists()
        if is_new and self._folder.exists() and any(self._folder.iterdir()):
            raise InputError(
                f"'{self._folder}' is not empty and holds no evaluation store. Name an empty or new folder."
            )
        if not is_new and json.loads(mark.read_text("utf-8")).get("fingerprint") != fingerprint:
            raise InputError(f"'{self._folder}' holds the store of another gold set. Name another folder or remove it.")
        started = time.monotonic()
        self._folder.mkdir(parents=True, exist_ok=True)
        mark.write_text(json.dumps({"fingerprint": fingerprint, "name": self._gold.name}), encoding="utf-8")
        for alias, scope in self._gold.scopes.items():
            self._fill(alias, scope, progress)
        for alias in self._gold.scopes:
            with contextlib.suppress(ModelError):  # without a model the vector channel says so for each topic
                self._open(alias).embed(progress=lambda done, total: progress("Embedding", done, total))
        self._facts = {"build_seconds": round(time.monotonic() - started, 1), "reused": not is_new}

    def _fill(self, alias: str, scope: ScopeKey, progress: Progress) -> None:
        folder = self._folder / "scopes" / alias
        built_by = ResearchDatabase.create(
            self._folder / "arr.db", scope, project_folder=folder, actor=ACTOR, clock=lambda: self._built_at(),
            max_file_bytes=1 << 40,
        )  # fmt: skip
        with built_by as database:
            if not folder.exists():
                folder.mkdir(parents=True)
                for name, file in self._gold.files.get(alias, {}).items():
                    path = folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(file.read_bytes())
                if self._gold.documents:
                    store_documents(database, self._gold.documents, folder)
            if self._gold.files.get(alias) and not self._gold.documents:
                database.add(folder, progress)
            known = {memory.memory_id for memory in database.memories()}
            for memory in self._gold.memories:
                if memory.scope == alias and memory.memory_id not in known:
                    add_gold_memory(database, memory)

    def _built_at(self) -> datetime:
        """A moment at which no memory of the set has expired."""
        ends = [from_text(memory.expires_at) for memory in self._gold.memories if memory.expires_at]
        return min([BUILT_AT, *(end - timedelta(days=1) for end in ends)])

    def _open(self, alias: str) -> ResearchDatabase:
        if alias not in self._databases:
            self._databases[alias] = ResearchDatabase(
                self._folder / "arr.db", self._gold.scopes[alias], project_folder=self._folder / "scopes" / alias,
                actor=ACTOR, embedder=self._embedder, limits=Limits(deadline_seconds=PATIENCE_SECONDS),
                language_model=self._language_model,
            )  # fmt: skip
        return self._databases[alias]

    def chunks(self, alias: str) -> Sequence[StoredChunk]:
        """All live chunks of the scope."""
        return scope_chunks(self._open(alias))

    def ask(self, alias: str, query: str, depth: int) -> Mapping[str, Asked]:
        """The answer of each channel alone."""
        return channel_answers(self._open(alias), query, depth)

    def search(self, alias: str, query: str, k: int, floor: bool = True, **asked: Any) -> tuple[RouterResult, float]:
        """The answer of the search, and its milliseconds. Writes no record.

        ``asked`` are the search's ``planner``, ``rerank`` and ``llm_budget``.
        """
        started = time.perf_counter()
        result = self._open(alias).search(query, k=k, floor=floor, write_record=False, **asked)
        return result, 1000 * (time.perf_counter() - started)

    def facts(self) -> dict[str, Any]:
        """Seconds, bytes of the file, and how much it holds."""
        counts = [self._open(alias).status() for alias in self._gold.scopes]
        any_scope = self._open(next(iter(self._gold.scopes)))
        with store_errors(any_scope.path):
            sizes = any_scope._reader("main").execute(load("read_index_bytes")).fetchone()
        models = sorted({item["model"] for count in counts for item in count["vectors"]})
        return {
            **self._facts, "file_bytes": (self._folder / "arr.db").stat().st_size, "text_index_bytes": sizes["text_bytes"],
            "vector_bytes": sizes["vector_bytes"], "model": ", ".join(models) or None, "scopes": len(counts),
            **{name: sum(count.get(name) or 0 for count in counts) for name in ("sources", "chunks")},
            "memories": sum(sum(count["memories"].values()) for count in counts),
            "vectors": sum(item["embedded"] for count in counts for item in count["vectors"]),
            "left_out": sum(sum(count["left_out"].values()) for count in counts),
        }  # fmt: skip


def channel_answers(database: ResearchDatabase, query: str, depth: int) -> dict[str, Asked]:
    """The answer of each channel alone, one after the other, by name."""
    catalog, _ = database._catalog()
    answers: dict[str, Asked] = {}
    for registration in catalog:
        started = time.perf_counter()
        with store_errors(database.path):
            answer = registration.channel.retrieve(query, database.scope, depth, time.monotonic() + PATIENCE_SECONDS)
        answers[registration.name] = Asked(answer, 1000 * (time.perf_counter() - started))
    return answers


def scope_chunks(database: ResearchDatabase) -> list[StoredChunk]:
    """All live chunks of the database's scope, read by scope and not by searching."""
    with store_errors(database.path):
        rows = database._reader("main").execute(load("read_scope_chunks"), database.scope.bindings()).fetchall()
    return [StoredChunk(row["chunk_id"], row["source_ref"], row["heading"], row["content"]) for row in rows]


def store_documents(database: ResearchDatabase, documents: Sequence[Document], folder: Path) -> None:
    """One source and one chunk for each document, whatever its length: what published figures are measured on."""
    writer, now = database._write(), database._clock()
    with write_transaction(writer, database.path):
        row = ensure_scope(writer, database.scope, ACTOR, now)
        root = add_root(writer, database.scope, row.id, folder, folder, now)
        row = advance(writer, row, is_content=True)
        writing = Writing(writer, database.scope, row.id, row.revision, now, ACTOR, None)
        for document in documents:
            text, heading = document.text, document.title
            chunk = PreparedChunk(
                Chunk(text, 1, 1 + text.count("\n"), heading, "L1", "text", 0), sha256_text(text),
                sha256_text(embed_text(heading, text)), chunk_terms_of(heading, text),
            )  # fmt: skip
            file = Prepared(
                document.id,
                sha256_text(text),
                len(text),
                0,
                "text",
                "1",
                "utf-8",
                1.0,
                heading,
                "",
                {},
                (),
                0,
                (chunk,),
            )
            add_file(writing, root.id, document.id, file, None)
        finish(writing)
        note_current(writer, row.id, row.content_revision)


def add_gold_memory(database: ResearchDatabase, memory: GoldMemory) -> None:
    """Add a memory and walk it to its status by allowed steps."""
    values = memory.model_dump(exclude={"scope", "status", "note"})
    database.add_memory(**values)
    for status in _steps(memory.status):
        database.set_memory_status(memory.memory_id, status, "part of a gold set")


def _steps(wanted: MemoryStatus) -> list[MemoryStatus]:
    """The shortest way from ``candidate``."""
    ways: list[list[MemoryStatus]] = [[]]
    while ways:
        way = ways.pop(0)
        here: MemoryStatus = way[-1] if way else "candidate"
        if here == wanted:
            return way
        ways += [[*way, after] for after in sorted(TRANSITIONS[here]) if after not in way]
    raise AssertionError(wanted)  # every status can be reached
