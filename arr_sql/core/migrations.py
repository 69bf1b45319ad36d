"""Schema: ``migrations/NNNN_*.sql`` are the truth, ``schema.sql`` is their generated end state.

Each migration and its ledger row commit together, inside one BEGIN IMMEDIATE for the whole upgrade, so that processes
that start at once apply each exactly once (tests/core/test_migrations.py). The hash of every applied migration is
kept in the file: an edited old migration is found and named.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arr_sql.core.canonical import sha256_text
from arr_sql.core.clock import to_text, utc_now
from arr_sql.core.connection import (
    APPLICATION_ID,
    Connection,
    file_version,
    open_reader,
    sqlite3,
    store_errors,
    write_transaction,
)
from arr_sql.core.driver import import_sqlite_utils
from arr_sql.core.statements import load
from arr_sql.errors import MigrationChanged, SchemaOutOfDate, SchemaTooNew

if TYPE_CHECKING:
    from sqlite_utils.migrations import Migrations

_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.sql")


class Migration(NamedTuple):
    """One file of ``migrations/``."""

    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """Hash of the text, line ends aside."""
        return sha256_text(self.sql.replace("\r\n", "\n"))


@cache
def all_migrations() -> tuple[Migration, ...]:
    """The shipped migrations in order: inside the wheel, or one folder up in a source tree."""
    package = Path(__file__).resolve().parents[1]
    folder = package / "migrations"
    if not folder.is_dir():
        folder = package.parent / "migrations"
    files = sorted((item for item in folder.iterdir() if _NAME.fullmatch(item.name)), key=lambda item: item.name)
    return tuple(Migration(item.name.removesuffix(".sql"), item.read_text("utf-8")) for item in files)


def make_whole_schema(connection: Connection) -> None:
    """Everything that migrating makes on an empty private file, ledgers included: to compare with."""
    sqlite_utils = import_sqlite_utils()
    _registered().apply(sqlite_utils.Database(connection, execute_plugins=False))


def ledger_problems(connection: Connection) -> list[str]:
    """Is each shipped migration noted with its hash, in both ledgers, with one time and no number left out?"""
    rows = {row["name"]: row for row in connection.execute(load("read_ledger"))}
    problems = [
        f"migration {name} is not one of this program's"
        for name in sorted(set(rows) - {m.name for m in all_migrations()})
    ]
    for migration in all_migrations():
        row = rows.get(migration.name)
        if (
            row is None
            or row["sha256"] != migration.sha256
            or row["agreeing"] != 1
            or (row["listed"], row["highest"]) != (len(all_migrations()), len(all_migrations()))
        ):
            problems.append(f"migration {migration.name} is not noted as it was applied")
    return problems


def agree_ledgers(connection: Connection) -> None:
    """Give sqlite-utils' ledger the times of ours. Call inside a write transaction."""
    connection.execute(load("set_ledger_times"))


def make_schema(connection: Connection) -> None:
    """Make the content tables on an empty private file, without the ledger: to compare with, or to work in."""
    for migration in all_migrations():
        for statement in split_statements(migration.sql):
            connection.execute(statement)


@contextlib.contextmanager
def triggers_off(connection: Connection) -> Iterator[None]:
    """No triggers inside the block, the same ones after it. Call inside a write transaction: a fault brings them back."""
    triggers = [(row["name"], row["sql"]) for row in connection.execute(load("read_triggers"))]
    for name, _ in triggers:
        connection.execute(f'DROP TRIGGER "{name}"')
    yield
    for _, sql in triggers:
        connection.execute(sql)


def split_statements(script: str) -> Iterator[str]:
    """The single statements of ``script``. ``executescript`` would commit the running transaction first."""
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if sqlite3.complete_statement(pending):
            statement, pending = pending.strip(), ""
            if _without_comments(statement).strip("; \n\t"):
                yield statement
    if _without_comments(pending).strip("; \n\t"):
        raise ValueError(f"unfinished statement: {pending.strip()[:80]}")


def _without_comments(sql: str) -> str:
    return re.sub(r"--[^\n]*", "", sql)


def schema_version(connection: Connection, path: Path) -> int:
    """The file's schema version, 0 for an empty file. Raises NotAnArrDatabase for another application's file."""
    with store_errors(path):
        return file_version(connection, path)


def require_current(connection: Connection, path: Path) -> None:
    """Raises SchemaTooNew, SchemaOutOfDate, MigrationChanged or NotAnArrDatabase unless the file fits this program."""
    version, known = schema_version(connection, path), len(all_migrations())
    if version > known:
        raise SchemaTooNew(
            f"Database '{path}' is at schema {version}, this arr_sql knows {known}. Upgrade it: `pip install -U arr-sql`."
        )
    if version < known:
        raise SchemaOutOfDate(
            f"Database '{path}' is at schema {version}, this arr_sql needs {known}. Run `arr db migrate`."
        )
    _require_unchanged(connection, path)


@contextlib.contextmanager
def current_reader(path: Path) -> Iterator[Connection]:
    """A reader of a file that fits this program, closed at the end. Raises as :func:`require_current`, and StoreErrors."""
    reader = open_reader(path)
    try:
        with store_errors(path):
            require_current(reader, path)
            yield reader
    finally:
        reader.close()


def _require_unchanged(connection: Connection, path: Path) -> None:
    with store_errors(path):
        recorded = {row["name"]: row["sha256"] for row in connection.execute(load("read_migrations"))}
    for migration in all_migrations():
        if migration.name in recorded and recorded[migration.name] != migration.sha256:
            raise MigrationChanged(
                f"Migration {migration.name} differs from the one applied to '{path}'. "
                "Reinstall arr_sql, or restore the migration file; never edit an old one."
            )


def migrate(connection: Connection, path: Path) -> list[str]:
    """Bring the file to the current schema; the names applied, in order. Safe for many processes at once."""
    sqlite_utils = import_sqlite_utils()
    if schema_version(connection, path) > len(all_migrations()):
        require_current(connection, path)
    with write_transaction(connection, path):
        if schema_version(connection, path) > 0:
            _require_unchanged(connection, path)
        database = sqlite_utils.Database(connection, execute_plugins=False)
        before = {item.name for item in _registered().applied(database)}
        _registered().apply(database)
        agree_ledgers(connection)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={len(all_migrations())}")
        return [item.name for item in _registered().applied(database) if item.name not in before]


def _registered() -> Migrations:
    import_sqlite_utils()
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    migrations = Migrations("arr_sql")
    for migration in all_migrations():

        def apply(database: Database, migration: Migration = migration) -> None:
            for statement in split_statements(migration.sql):
                database.conn.execute(statement)
            database.conn.execute(
                load("add_migration"),
                {"name": migration.name, "sha256": migration.sha256, "applied_at": to_text(utc_now())},
            )

        migrations(name=migration.name)(apply)
    return migrations


def schema_statements(connection: Connection) -> list[str]:
    """The definitions of everything that belongs to content, in the order in which the file lists them."""
    return [row["sql"] for row in connection.execute(load("read_schema"))]


def schema_text(connection: Connection) -> str:
    """The content schema of a migrated file as one script: what ``schema.sql`` must equal."""
    header = (
        "-- Generated from migrations/ by `arr db schema --generate`; a test compares it. Do not edit.\n"
        "-- Index structures (FTS5) are derived from content and are not part of it: see arr_sql/sql/build_*.sql.\n"
        f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {len(all_migrations())};\n"
    )
    return header + "".join(f"\n{sql};\n" for sql in schema_statements(connection))
