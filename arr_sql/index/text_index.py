"""The FTS5 index: created, filled, emptied row by row, rebuilt. Derived from content, so it can always be made again.

One contentless table for all scopes. Every term carries its scope (``s3xrouter``), so document frequencies, lengths and
cost belong to one scope alone (contract 2.3, 2.4). A chunk is indexed as the set of its terms, each with how often body
and heading hold it when that is not once and never (``s3xrouter^4,1``): BM25 needs no more, places would take three
times the room, and chunks with the same frequency lie together. Rows leave through FTS5's 'delete' command, which needs
the very terms that were put in: they are analysed again and compared by hash first, and :class:`IndexDrift` asks for a
rebuild when the analyser (or the Unicode tables of another Python) gives others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from arr_sql.core.analysis import ANALYSER_VERSION, joined_terms
from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import SQLITE_VERSION, Connection, sqlite3
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load

TEXT_INDEX_VERSION = "2"
"""Changes when the layout of the FTS5 tables changes."""

SECURE_DELETE = (3, 42, 0)
"""The first SQLite whose FTS5 takes deleted terms off its pages."""

Table = Literal["chunk", "memory"]

FREQUENCY_SIGN = "^"
"""Stands between a term and its frequencies in the chunk index; no term holds it (tests/core/test_analysis.py)."""

TABLES = ("chunk_fts", "chunk_term", "chunk_term_row", "memory_fts", "memory_term")
"""The derived tables."""


class IndexDrift(Exception):
    """The terms that this analyser makes of an indexed text are not those in the index: rebuild it."""


class Terms(NamedTuple):
    """The analysed heading and body of one row, terms joined by spaces; their lengths are what BM25 needs of them."""

    heading: str
    body: str
    n_heading: int
    n_body: int

    @property
    def hash(self) -> str:
        """SHA-256 over the terms, by which drift is noticed."""
        return sha256_text(self.heading + "\n" + self.body)

    def bindings(self) -> dict[str, int | str]:
        """The three columns that a row stores of its terms."""
        return {"n_heading_terms": self.n_heading, "n_terms": self.n_body, "terms_hash": self.hash}


class ChunkTerms(NamedTuple):
    """What a chunk's row and the index take of its terms: small, as it may come from another process."""

    words: str
    """Without their scope."""
    n_heading: int
    n_body: int
    hash: str

    def bindings(self) -> dict[str, int | str]:
        """The three columns that a row stores of its terms."""
        return {"n_heading_terms": self.n_heading, "n_terms": self.n_body, "terms_hash": self.hash}


def chunk_terms_of(heading: str, body: str) -> ChunkTerms:
    """Analyse a new chunk. Pure; call it before the write transaction begins."""
    terms = terms_of(heading, body)
    return ChunkTerms(_words(terms), terms.n_heading, terms.n_body, terms.hash)


def terms_of(heading: str, body: str) -> Terms:
    """Analyse one row's heading and body. Pure; call it before the write transaction begins."""
    (heading_terms, n_heading), (body_terms, n_body) = joined_terms(heading), joined_terms(body)
    return Terms(heading_terms, body_terms, n_heading, n_body)


def scoped(scope_id: int, terms: str) -> str:
    """The terms as indexed: each behind its scope, separated by spaces."""
    return f"s{scope_id}x" + terms.replace(" ", f" s{scope_id}x") if terms else ""


def indexed(table: Table, scope_id: int, terms: Terms) -> tuple[str, ...]:
    """What goes into the index for one row, a text a column."""
    if table == "memory":
        return scoped(scope_id, terms.heading), scoped(scope_id, terms.body)
    return (scoped(scope_id, _words(terms)),)


def _words(terms: Terms) -> str:
    """The set of a chunk's terms with their frequencies, joined by spaces; in no order that counts."""
    body = Counter(terms.body.split(" ") if terms.body else ())
    heading = Counter(terms.heading.split(" ") if terms.heading else ())
    words = [f"{term}{FREQUENCY_SIGN}{body.pop(term, 0)},{times}" for term, times in heading.items()]
    words += [term if times == 1 else f"{term}{FREQUENCY_SIGN}{times},0" for term, times in body.items()]
    return " ".join(words)


def frequencies(word: str) -> tuple[str, int, int]:
    """A word of the chunk index (without its scope) as (term, times in the body, times in the heading)."""
    term, sign, counts = word.partition(FREQUENCY_SIGN)
    if not sign:
        return term, 1, 0
    body, _, heading = counts.partition(",")
    return term, int(body), int(heading)


def has_text_index(connection: Connection) -> bool:
    """Are all derived tables there?"""
    return len(connection.execute(load("read_text_tables")).fetchall()) == len(TABLES)


def create_text_index(connection: Connection) -> None:
    """Make the empty index tables. Call inside a write transaction."""
    for name in (
        "build_chunk_text_index", "build_chunk_terms", "build_chunk_words", "build_memory_text_index", "build_memory_terms",
    ):  # fmt: skip
        connection.execute(load(name))
    connection.execute(load("build_chunk_hash_size"))
    for name in ("build_chunk_secure_delete", "build_memory_secure_delete"):
        try:
            connection.execute(load(name))
        except sqlite3.OperationalError:
            pass  # before SQLite 3.42: `arr forget` says that a rebuild is what erases there


def add_terms(connection: Connection, table: Table, row_id: int, scope_id: int, terms: Terms) -> None:
    """Index one row."""
    put_in_terms(connection, table, row_id, indexed(table, scope_id, terms))


def add_chunks(connection: Connection, scope_id: int, chunks: Sequence[tuple[int, ChunkTerms]]) -> None:
    """Index new chunks of one scope, each given by its row and its terms."""
    connection.executemany(
        load("add_chunk_terms"),
        [{"id": row_id, "words": scoped(scope_id, terms.words)} for row_id, terms in chunks],
    )


def put_in_terms(connection: Connection, table: Table, row_id: int, columns: tuple[str, ...]) -> None:
    """Index one row, given what :func:`indexed` makes of it."""
    statement = load("add_chunk_terms") if table == "chunk" else load("add_memory_terms")
    connection.execute(statement, _bindings(row_id, columns))


def remove_terms(
    connection: Connection, table: Table, row_id: int, scope_id: int, *, heading: str, body: str, terms_hash: str
) -> None:
    """Take one row out of the index. Raises IndexDrift when its terms can't be reproduced."""
    terms = terms_of(heading, body)
    if terms.hash != terms_hash:
        raise IndexDrift(f"{table} {row_id}")
    take_out_terms(connection, table, row_id, indexed(table, scope_id, terms))


def take_out_terms(connection: Connection, table: Table, row_id: int, columns: tuple[str, ...]) -> None:
    """Take one row out of the index, given the very columns that were put in."""
    statement = load("remove_chunk_terms") if table == "chunk" else load("remove_memory_terms")
    connection.execute(statement, _bindings(row_id, columns))


def _bindings(row_id: int, columns: tuple[str, ...]) -> dict[str, int | str]:
    names = ("words",) if len(columns) == 1 else ("heading", "body")
    return {"id": row_id, **dict(zip(names, columns, strict=True))}


def note_current(connection: Connection, scope_id: int, content_revision: int) -> None:
    """After a write that kept the index in step: it covers the scope up to ``content_revision``."""
    for name in ("chunk_text", "memory_text"):
        connection.execute(
            load("set_scope_index"),
            {"scope_id": scope_id, "name": name, "content_revision": content_revision, **_versions()},
        )


def stale_text_indexes(connection: Connection, scope: ScopeKey) -> frozenset[str]:
    """Which of ``chunk_text`` and ``memory_text`` are behind this scope's content, or were made by other versions."""
    return frozenset(
        row["name"]
        for row in _scope_indexes(connection, scope)
        if row["content_revision"] < row["scope_content_revision"]
        or (row["version"], row["analyser_version"]) != (TEXT_INDEX_VERSION, ANALYSER_VERSION)
    )


def _scope_indexes(connection: Connection, scope: ScopeKey) -> list[Any]:
    return connection.execute(load("read_scope_indexes"), scope.bindings()).fetchall()


def text_index_state(connection: Connection, scope: ScopeKey) -> tuple[Any, ...] | None:
    """What the chunk index of this scope covers and what made it; None when it covers nothing. Other state, other postings."""
    for row in _scope_indexes(connection, scope):
        if row["name"] == "chunk_text":
            return tuple(row)
    return None


def _versions() -> dict[str, str]:
    return {"version": TEXT_INDEX_VERSION, "analyser_version": ANALYSER_VERSION}


def index_is_foreign(connection: Connection) -> bool:
    """True when the tables are missing or were made by another analyser or layout: rebuild before writing."""
    if not has_text_index(connection):
        return True
    return connection.execute(load("read_foreign_index_version"), _versions()).fetchone() is not None


def read_live_rows(connection: Connection, table: Table) -> Any:
    """Every row that belongs into the index, of all scopes, with what was noted of its terms (a cursor)."""
    return connection.execute(load("read_live_chunks") if table == "chunk" else load("read_live_memories"))


def read_hidden_rows(connection: Connection, table: Table) -> Any:
    """Every row that does not belong into the index, with what was noted of its terms (a cursor)."""
    return connection.execute(load("read_hidden_chunks") if table == "chunk" else load("read_hidden_memories"))


def index_note_problems(connection: Connection) -> list[str]:
    """Does what is noted of each scope's text index agree with its content and with this program?"""
    return [
        f"scope {row['id']}: the {row['name']} index is noted as another or as behind; run `arr db rebuild`"
        for row in connection.execute(load("read_index_rows"))
        if (row["covered"], row["version"], row["analyser_version"])
        != (row["content_revision"], TEXT_INDEX_VERSION, ANALYSER_VERSION)
    ]


def rebuild_text_index(connection: Connection, progress: Callable[[int], None] = lambda done: None) -> int:
    """Make the whole text index anew from content; the number of rows indexed. Call inside a write transaction.

    ``progress`` is called with the number of rows done so far.
    """
    for name in (
        "drop_chunk_words", "drop_chunk_terms", "drop_chunk_text_index", "drop_memory_terms", "drop_memory_text_index",
    ):  # fmt: skip
        connection.execute(load(name))
    create_text_index(connection)
    done = 0
    tables: tuple[tuple[Table, str], ...] = (("chunk", load("set_chunk_terms")), ("memory", load("set_memory_terms")))
    for table, update in tables:
        for row in read_live_rows(connection, table).fetchall():
            terms = terms_of(row["heading"], row["content"])
            if (terms.hash, terms.n_body, terms.n_heading) != (
                row["terms_hash"],
                row["n_terms"],
                row["n_heading_terms"],
            ):
                connection.execute(update, {"id": row["id"], **terms.bindings()})
            add_terms(connection, table, row["id"], row["scope_id"], terms)
            done += 1
            progress(done)
        for row in read_hidden_rows(connection, table).fetchall():
            terms = terms_of(row["heading"], row["content"])
            if (terms.hash, terms.n_body, terms.n_heading) != (
                row["terms_hash"],
                row["n_terms"],
                row["n_heading_terms"],
            ):
                connection.execute(update, {"id": row["id"], **terms.bindings()})
    connection.execute(load("set_all_scope_indexes"), _versions())
    return done


def compact_text_index(connection: Connection) -> None:
    """Write the index tables anew from their postings, so that no page keeps a beginning of a term that left.

    Call inside a write transaction. Before SQLite 3.42 there is no secure-delete and the index is made anew instead.
    """
    if SQLITE_VERSION < SECURE_DELETE:
        rebuild_text_index(connection)
        return
    for name in (
        "add_chunk_compaction_row", "build_chunk_compact", "remove_chunk_compaction_row",
        "add_memory_compaction_row", "build_memory_compact", "remove_memory_compaction_row",
    ):  # fmt: skip
        connection.execute(load(name))
