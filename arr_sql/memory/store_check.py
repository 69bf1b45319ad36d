"""`arr db check`: is the file whole? Each check is named and says what it found; no byte is changed (contract 4.5).

FTS5's own integrity check is written as an INSERT, so it runs in a transaction that is rolled back. What is
compared for "index = content" is in :mod:`arr_sql.index.index_check`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from arr_sql.core.connection import Connection, open_reader, open_writer, sqlite3, store_errors
from arr_sql.core.migrations import ledger_problems, make_whole_schema, require_current
from arr_sql.core.statements import load
from arr_sql.errors import StoreError, StoreReadOnly
from arr_sql.index.index_check import index_problems
from arr_sql.index.line_rows import damaged_rows
from arr_sql.index.text_index import create_text_index, has_text_index, index_note_problems
from arr_sql.memory.audit_verify import verify_audit

MAX_NAMED = 20
# What Litestream adds to the file it copies (docs/replica.md): a counter and an empty table that it locks. Let through
# in exactly this form; anything else of that name, or on these tables, is a difference as any other.
LITESTREAM_TABLES = frozenset(
    {
        ("table", "_litestream_lock", "_litestream_lock", "CREATE TABLE _litestream_lock (id INTEGER)"),
        (
            "table",
            "_litestream_seq",
            "_litestream_seq",
            "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)",
        ),
    }
)


@dataclass(frozen=True)
class Finding:
    """One check: its name, whether it passed, and what was found (empty when it passed)."""

    check: str
    passed: bool
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckReport:
    """All checks in order."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """True when every check passed."""
        return all(finding.passed for finding in self.findings)


def check_store(path: Path) -> CheckReport:
    """Run all checks on the file. Raises StoreMissing or NotAnArrDatabase when there is nothing to check."""
    connection = open_reader(path)
    try:
        with store_errors(path):
            require_current(connection, path)
            connection.execute("BEGIN")
            findings = [
                _finding(name, check, connection)
                for name, check in (
                    ("foreign keys", _foreign_keys), ("schema", _schema),
                    ("index = content", _index_equals_content), ("line index", damaged_rows), ("audit chain", _audit),
                )
            ]  # fmt: skip
            connection.execute("ROLLBACK")
    finally:
        connection.close()
    findings.insert(0, _finding("sqlite integrity", lambda _: _integrity(path), None))
    findings.insert(3, _finding("fts5 integrity", lambda _: _fts5(path), None))
    return CheckReport(tuple(findings))


def _finding(name: str, check: Callable[[Connection], list[str]], connection: Connection | None) -> Finding:
    try:
        problems = check(connection)  # type: ignore[arg-type]
    except (sqlite3.DatabaseError, StoreError, ValueError, TypeError, AttributeError, LookupError) as error:
        problems = [str(error)]  # damage can surface in any statement, any text, and as a value of another type
    return Finding(name, not problems, tuple(problems[:MAX_NAMED]))


def _integrity(path: Path) -> list[str]:
    """SQLite's own check. On a connection opened read-only it leaves the CHECKs out (SQLite 3.53), so a writer asks it."""
    try:
        connection = open_writer(path, keep_journal=True)
    except StoreReadOnly:
        connection = open_reader(path)
    try:
        return [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    finally:
        connection.close()


def _foreign_keys(connection: Connection) -> list[str]:
    return [
        f"{row[0]} row {row[1]} points at a missing {row[2]}" for row in connection.execute("PRAGMA foreign_key_check")
    ]


def _schema(connection: Connection) -> list[str]:
    """A file whose tables, triggers, views or ledgers were altered is not what this program trusts."""
    same = _definitions(connection) == _shipped_definitions(with_text_index=has_text_index(connection))
    return [*([] if same else ["tables, triggers or views differ from the migrations"]), *ledger_problems(connection)]


@cache
def _shipped_definitions(*, with_text_index: bool) -> list[tuple[str, ...]]:
    """What this program makes of an empty file: always the same, and it takes as long as the rest of a small file's check."""
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    fresh.row_factory = sqlite3.Row
    try:
        make_whole_schema(fresh)
        if with_text_index:
            create_text_index(fresh)
        return _definitions(fresh)
    finally:
        fresh.close()


def own_names() -> frozenset[str]:
    """The names of all that this program makes in a file: what is called otherwise, somebody else has put there."""
    return frozenset(name for _, name, *_ in _shipped_definitions(with_text_index=True))


def _definitions(connection: Connection) -> list[tuple[str, ...]]:
    # Sorted: VACUUM writes the schema in another order. Without index tables when a part of them is missing.
    whole = has_text_index(connection)
    found = {
        tuple(str(row[name]) for name in ("type", "name", "tbl_name", "sql"))
        for row in connection.execute(load("read_whole_schema"))
        if whole or not row["tbl_name"].startswith(("chunk_fts", "chunk_term", "memory_fts", "memory_term"))
    }
    return sorted(found - LITESTREAM_TABLES)


def _fts5(path: Path) -> list[str]:
    try:
        writer = open_writer(path, keep_journal=True)
    except StoreReadOnly:
        return []  # its own check needs a writable file; the comparison with the content below does not
    try:
        if not has_text_index(writer):
            return ["the text index is missing; run `arr db rebuild`"]
        with store_errors(path):
            writer.execute("BEGIN IMMEDIATE")
            for name in ("check_chunk_text_index", "check_memory_text_index"):
                writer.execute(load(name))
        return []
    except StoreReadOnly:  # a read copy, to which SQLite itself refuses to write
        return []
    except StoreError as error:
        return [str(error)]
    finally:
        if writer.in_transaction:
            writer.execute("ROLLBACK")
        writer.close()


def _index_equals_content(connection: Connection) -> list[str]:
    if not has_text_index(connection):
        return ["the text index is missing; run `arr db rebuild`"]
    return [
        *index_problems(connection, "chunk"),
        *index_problems(connection, "memory"),
        *index_note_problems(connection),
    ]


def _audit(connection: Connection) -> list[str]:
    return [f"{d.kind} at event {d.seq}: {d.subject}" for d in verify_audit(connection).damages]
