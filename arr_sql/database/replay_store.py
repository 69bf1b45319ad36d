"""One scope as it was at a revision, in a private temporary file: its rows, its vectors, its text index.

The rows that any of the wanted revisions can see are copied once, hidden; :meth:`ReplayStore.move_to` shows those of one
revision and hides the rest, and the text index follows row by row. Nothing is attached: one connection reads the store,
another writes the private file, which is readable by its owner alone and is removed at the end.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from arr_sql.core.connection import Connection, open_reader, open_writer, store_errors, write_transaction
from arr_sql.core.migrations import make_schema
from arr_sql.core.research_models import ScopeKey, memory_name
from arr_sql.core.statements import load
from arr_sql.index.text_index import (
    Table,
    Terms,
    create_text_index,
    indexed,
    note_current,
    put_in_terms,
    take_out_terms,
    terms_of,
)
from arr_sql.index.vector_state import embedding_models

if TYPE_CHECKING:
    from typing_extensions import Self

EPOCH = "1970-01-01T00:00:00.000000Z"
NEVER = -1
"""A modification time that no file has: grep compares the bytes instead."""


class ReplayStore:
    """Use as a context manager. ``store`` must be inside a read transaction while this is made."""

    def __init__(self, store: Connection, scope: ScopeKey, scope_id: int, first: int, last: int) -> None:
        """Copy what the revisions ``first`` to ``last`` can see."""
        self.scope, self._id = scope, scope_id
        self.revision = NEVER
        self._terms: dict[tuple[Table, int], tuple[str, ...]] = {}
        self._spans: dict[str, dict[int, tuple[int, int | None]]] = {}
        self._shown: dict[str, set[int]] = {}
        self._sources: dict[int, tuple[int, int]] = {}
        self._files: dict[int, tuple[int, str, str]] = {}
        self._names: dict[tuple[str, int], dict[str, str]] = {}
        self._readers: dict[str, Connection] = {}
        self._roots: dict[int, int] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="arr-replay-"))
        self.path = self._folder / "replay.db"
        try:
            self._writer = open_writer(self.path, create=True)
            self._writer.execute("PRAGMA synchronous=OFF")  # a private copy: after a crash it is made again
            with store_errors(self.path), write_transaction(self._writer, self.path):
                make_schema(self._writer)
                create_text_index(self._writer)
                self._copy(store, {"scope_id": scope_id, "first": first, "last": last})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and remove the file."""
        for connection in (*self._readers.values(), getattr(self, "_writer", None)):
            if connection is not None:
                connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def reader(self, name: str) -> Connection:
        """A connection for one channel that can only SELECT."""
        if name not in self._readers:
            self._readers[name] = open_reader(self.path)
        return self._readers[name]

    def has_root(self, root_id: int) -> bool:
        """Was this root there at the revision that is shown?"""
        return root_id in self._roots and self._roots[root_id] <= self.revision

    def shown_texts(self, kind: str) -> list[dict[str, str]]:
        """Ids (as evidence names them) and content hashes of the chunks or memories that are shown."""
        return [self._names[(kind, key)] for key in self._shown[kind]]

    def shown_files(self) -> dict[int, list[tuple[str, str]]]:
        """For each root the files that are shown: path and content hash."""
        found: dict[int, list[tuple[str, str]]] = {}
        for key in sorted(self._shown["version"]):
            root_id, path, content_hash = self._files[key]
            found.setdefault(root_id, []).append((path, content_hash))
        return found

    # --- copying ----------------------------------------------------------------------------------------------------

    def _copy(self, store: Connection, span: dict[str, int]) -> None:
        writer = self._writer
        scope = {"id": self._id, "revision": 0, "created_at": EPOCH, **self.scope.bindings()}
        writer.execute(load("add_replayed_scope"), scope)
        for row in store.execute(load("read_replayed_roots"), {"scope_id": self._id, "last": span["last"]}).fetchall():
            writer.execute(load("add_replayed_root"), dict(row))
            self._roots[row["id"]] = row["added_revision"]
        versions = [dict(row) for row in store.execute(load("read_replayed_versions"), span)]
        writer.executemany(load("add_replayed_source"), versions)
        writer.executemany(load("add_replayed_version"), self._noted("version", versions))
        self._sources = {row["id"]: (row["source_id"], row["size"]) for row in versions}
        self._files = {row["id"]: (row["root_id"], row["path_in_root"], row["content_hash"]) for row in versions}
        chunks = self._analysed("chunk", store, load("read_replayed_chunks"), span)
        writer.executemany(load("add_replayed_chunk"), self._noted("chunk", chunks))
        writer.executemany(load("add_replayed_model"), [dict(row) for row in embedding_models(store)])
        vectors = (dict(row) for row in store.execute(load("read_replayed_embeddings"), span))
        writer.executemany(load("add_replayed_embedding"), self._noted("embedding", vectors))
        memories = self._analysed("memory", store, load("read_replayed_memories"), span)
        writer.executemany(load("add_replayed_memory"), self._noted("memory", memories))
        vectors = (dict(row) for row in store.execute(load("read_replayed_memory_embeddings"), span))
        writer.executemany(load("add_replayed_memory_embedding"), self._noted("memory_embedding", vectors))

    def _noted(self, kind: str, rows: Any) -> Iterator[dict[str, Any]]:
        """The rows as they pass, with their spans of revisions noted."""
        spans = self._spans.setdefault(kind, {})
        self._shown.setdefault(kind, set())
        for row in rows:
            spans[row["id"]] = (row["added_revision"], row["retired_revision"])
            yield row

    def _analysed(
        self, table: Table, store: Connection, statement: str, span: dict[str, int]
    ) -> Iterator[dict[str, Any]]:
        for row in store.execute(statement, span):
            values = dict(row)
            is_indexed = table == "chunk" or row["status"] == "published"
            heading = row["heading"] if table == "chunk" else row["title"]
            terms = terms_of(heading, row["content"]) if is_indexed else Terms("", "", 0, 0)
            if is_indexed:
                self._terms[(table, row["id"])] = indexed(table, self._id, terms)
            name = row["chunk_id"] if table == "chunk" else memory_name(row["memory_id"])
            self._names[(table, row["id"])] = {"chunk_id": name, "content_hash": row["content_hash"]}
            yield values | terms.bindings()

    # --- moving -----------------------------------------------------------------------------------------------------

    def move_to(self, revision: int) -> None:
        """Show the store as it was at ``revision``."""
        from arr_sql.ingest.source_store import note_stat  # not when a search imports this module

        if revision == self.revision:
            return
        statements = {
            "embedding": load("set_replayed_embedding"), "chunk": load("set_replayed_chunk"),
            "version": load("set_replayed_version"), "memory": load("set_replayed_memory"),
            "memory_embedding": load("set_replayed_memory_embedding"),
        }  # fmt: skip
        with store_errors(self.path), write_transaction(self._writer, self.path):
            for kind, statement in statements.items():
                wanted = {
                    key for key, (added, retired) in self._spans[kind].items()
                    if added <= revision and (retired is None or retired > revision)
                }  # fmt: skip
                # Hidden first: two versions of one thing are never visible together.
                for is_shown, keys in ((False, self._shown[kind] - wanted), (True, wanted - self._shown[kind])):
                    self._writer.executemany(statement, [{"id": key, "is_shown": is_shown} for key in sorted(keys)])
                    if kind == "chunk" or kind == "memory":
                        self._index("chunk" if kind == "chunk" else "memory", sorted(keys), is_shown)
                self._shown[kind] = wanted
            for key in self._shown["version"]:
                note_stat(self._writer, *self._sources[key], NEVER)
            self._writer.execute(load("set_replayed_scope"), {"id": self._id, "revision": revision})
            note_current(self._writer, self._id, revision)
        self.revision = revision

    def _index(self, table: Table, keys: list[int], is_shown: bool) -> None:
        change = put_in_terms if is_shown else take_out_terms
        for key in keys:
            if (table, key) in self._terms:
                change(self._writer, table, key, self._terms[(table, key)])
