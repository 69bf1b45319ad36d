"""`arr db check`: is the file whole? Each check is named and says what it found; nothing is changed (contract 4.5).

FTS5's own integrity check is written as an INSERT, so it runs in a transaction that is rolled back. "Index = content"
compares, for every live row, the term occurrences in the index with those that analysing its text gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arr_sql.core.connection import Connection, open_reader, open_writer, sqlite3, store_errors
from arr_sql.core.migrations import make_schema, require_current, schema_statements
from arr_sql.core.statements import load
from arr_sql.errors import StoreError, StoreReadOnly
from arr_sql.index.text_index import Table, has_text_index, read_live_rows, scoped, terms_of
from arr_sql.memory.audit_verify import verify_audit

MAX_NAMED = 20


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
                    ("sqlite integrity", _integrity), ("foreign keys", _foreign_keys), ("schema", _schema),
                    ("index = content", _index_equals_content), ("audit chain", _audit),
                )
            ]  # fmt: skip
            connection.execute("ROLLBACK")
    finally:
        connection.close()
    findings.insert(3, _finding("fts5 integrity", lambda _: _fts5(path), None))
    return CheckReport(tuple(findings))


def _finding(name: str, check: Callable[[Connection], list[str]], connection: Connection | None) -> Finding:
    try:
        problems = check(connection)  # type: ignore[arg-type]
    except sqlite3.DatabaseError as error:  # a damaged page can surface in any statement
        problems = [str(error)]
    return Finding(name, not problems, tuple(problems[:MAX_NAMED]))


def _integrity(connection: Connection) -> list[str]:
    return [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]


def _foreign_keys(connection: Connection) -> list[str]:
    return [f"{row[0]} row {row[1]} points at a missing {row[2]}" for row in connection.execute("PRAGMA foreign_key_check")]


def _schema(connection: Connection) -> list[str]:
    """A file whose tables, triggers or views were altered is not what this program trusts."""
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    try:
        make_schema(fresh)
        fresh.row_factory = sqlite3.Row
        # Sorted: VACUUM writes the schema in another order.
        same = sorted(schema_statements(fresh)) == sorted(schema_statements(connection))
        return [] if same else ["tables, triggers or views differ from the migrations"]
    finally:
        fresh.close()


def _fts5(path: Path) -> list[str]:
    try:
        writer = open_writer(path)
    except StoreReadOnly:
        return []  # its own check needs a writable file; the comparison with the content below does not
    try:
        if not has_text_index(writer):
            return ["the text index is missing; run `arr db rebuild`"]
        writer.execute("BEGIN IMMEDIATE")
        for name in ("check_chunk_text_index", "check_memory_text_index"):
            writer.execute(load(name))
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
    problems: list[str] = []
    tables: tuple[tuple[Table, str], ...] = (
        ("chunk", load("read_chunk_occurrences")), ("memory", load("read_memory_occurrences")),
    )  # fmt: skip
    for table, found in tables:
        expected: Counter[int] = Counter()
        for row in read_live_rows(connection, table):
            terms = terms_of(row["heading"], row["content"])
            joined = f"{scoped(row['scope_id'], terms.heading)} {scoped(row['scope_id'], terms.body)}".split()
            expected[row["id"]] = _mixed(joined)
            if terms.hash != row["terms_hash"]:
                problems.append(f"{table} {row['id']}: its terms are not those that were indexed; run `arr db rebuild`")
        held: Counter[int] = Counter()
        for row in connection.execute(found):
            held[row["doc"]] += hash_term(row["term"]) * row["occurrences"]
        problems += [
            f"{table} {key}: the index and the content differ; run `arr db rebuild`"
            for key in sorted(expected.keys() | held.keys())
            if expected[key] != held[key]
        ]
    return problems


def hash_term(term: str) -> int:
    """A 64-bit number for a term; sums of them compare bags of terms."""
    import zlib

    data = term.encode("utf-8", "surrogatepass")
    return (zlib.crc32(data) << 32) | zlib.adler32(data)


def _mixed(terms: list[str]) -> int:
    return sum(hash_term(term) for term in terms)


def _audit(connection: Connection) -> list[str]:
    return [f"{d.kind} at event {d.seq}: {d.subject}" for d in verify_audit(connection).damages]
