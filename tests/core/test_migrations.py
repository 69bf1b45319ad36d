"""The schema: one truth, applied once by however many start at once, and three clear refusals."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.connection import APPLICATION_ID, Connection, open_reader, open_writer, sqlite3
from arr_sql.core.migrations import (
    all_migrations,
    migrate,
    require_current,
    schema_text,
    schema_version,
    split_statements,
)
from arr_sql.database import ResearchDatabase
from arr_sql.errors import (
    ArrError,
    InputError,
    MigrationChanged,
    NotAnArrDatabase,
    SchemaOutOfDate,
    SchemaTooNew,
    StoreMissing,
)
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 6
ROUNDS = 4

MIGRATOR = """
import sys, time
from pathlib import Path
from arr_sql.core.connection import open_writer
from arr_sql.core.migrations import migrate
path = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
connection = open_writer(path, create=True)
print(" ".join(migrate(connection, path)))
connection.close()
"""


@pytest.fixture
def migrated(tmp_path: Path) -> Iterator[tuple[Connection, Path]]:
    """A file brought to the current schema, and its writer."""
    path = tmp_path / "fresh.db"
    connection = open_writer(path, create=True)
    migrate(connection, path)
    yield connection, path
    connection.close()


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def arr(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the real command line in ``folder``."""
    return subprocess.run(
        [sys.executable, "-m", "arr_sql", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip


# --- One truth --------------------------------------------------------------------------------------------------------


def test_schema_sql_is_the_end_state_of_the_migrations(migrated: tuple[Connection, Path]) -> None:
    """``schema.sql`` equals, byte for byte, what the migrations make of an empty file."""
    assert (ROOT / "schema.sql").read_bytes() == schema_text(migrated[0]).encode("utf-8")


def test_schema_sql_makes_the_same_file(migrated: tuple[Connection, Path]) -> None:
    """Running ``schema.sql`` on an empty file gives the very schema it was generated from, ids and versions included."""
    other = sqlite3.connect(":memory:", isolation_level=None)
    other.row_factory = sqlite3.Row
    try:
        other.executescript((ROOT / "schema.sql").read_text("utf-8"))
        assert schema_text(other) == schema_text(migrated[0])
        assert other.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        assert other.execute("PRAGMA user_version").fetchone()[0] == len(all_migrations())
    finally:
        other.close()


def test_every_table_is_strict_and_says_what_it_is_for(migrated: tuple[Connection, Path]) -> None:
    """Each content table is STRICT and each table and view carries a comment inside its own definition."""
    rows = migrated[0].execute("SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    rows = [row for row in rows if row["sql"] and not row["name"].startswith(("sqlite_", "_sqlite"))]
    assert len(rows) > 15
    loose = [row["name"] for row in rows if row["type"] == "table" and "STRICT" not in row["sql"].rpartition(")")[2]]
    silent = [row["name"] for row in rows if not re.match(r"CREATE (TABLE|VIEW) \w+ (\(|AS)\n\s*-- \S", row["sql"])]
    assert (loose, silent) == ([], [])


def test_migration_files_are_numbered_without_a_gap() -> None:
    """The migrations count up from 0001; the file's schema version is their number."""
    assert [item.name[:4] for item in all_migrations()] == [f"{n:04d}" for n in range(1, len(all_migrations()) + 1)]


# --- Once, by however many --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_six_processes_migrate_at_once(tmp_path: Path, turn: int) -> None:
    """Six processes that start on one missing file at the same instant all succeed, and each migration runs once."""
    path = tmp_path / f"race-{turn}.db"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATOR, str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        )
        for _ in range(PROCESSES)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [(process.returncode, err) for process, (_, err) in zip(processes, outputs, strict=True)] == [
        (0, "")
    ] * PROCESSES
    applied = [name for out, _ in outputs for name in out.split()]
    assert sorted(applied) == [item.name for item in all_migrations()]
    reader = open_reader(path)
    require_current(reader, path)
    reader.close()


def test_migrating_twice_changes_nothing(migrated: tuple[Connection, Path]) -> None:
    """A second run applies nothing and leaves the schema as it is."""
    connection, path = migrated
    before = schema_text(connection)
    assert migrate(connection, path) == []
    assert schema_text(connection) == before


def test_an_older_file_is_named_out_of_date_and_can_be_brought_up(tmp_path: Path) -> None:
    """A file that stopped at an earlier schema says so with the command that helps, and migrating completes it."""
    path = tmp_path / "old.db"
    open_writer(path, create=True).close()
    reader = open_reader(path)
    with pytest.raises(SchemaOutOfDate, match=r"is at schema 0, .* needs \d+. Run `arr db migrate`"):
        require_current(reader, path)
    reader.close()
    connection = open_writer(path)
    assert migrate(connection, path) == [item.name for item in all_migrations()]
    require_current(connection, path)
    connection.close()


def test_a_migration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """When the disk is full half way through the upgrade, the file is at the schema it had before: none."""
    path = tmp_path / "small.db"
    connection = open_writer(path, create=True)
    connection.execute("PRAGMA max_page_count=12")
    with pytest.raises(ArrError):
        migrate(connection, path)
    assert (
        schema_version(connection, path),
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0],
    ) == (0, 0)
    connection.execute("PRAGMA max_page_count=100000")
    assert len(migrate(connection, path)) == len(all_migrations())
    connection.close()


# --- Three clear refusals ---------------------------------------------------------------------------------------------


def test_an_edited_old_migration_is_named(migrated: tuple[Connection, Path]) -> None:
    """A migration whose text is not the one that was applied is named, both when opening and when migrating."""
    connection, path = migrated
    name = all_migrations()[1].name
    connection.execute("UPDATE migration_record SET sha256 = ? WHERE name = ?", ("0" * 64, name))
    with pytest.raises(MigrationChanged, match=f"Migration {name} differs"):
        require_current(connection, path)
    with pytest.raises(MigrationChanged, match=f"Migration {name} differs"):
        migrate(connection, path)


def test_line_ends_of_a_migration_do_not_count_as_an_edit() -> None:
    """A checkout with CRLF line ends has the same migration hashes."""
    first = all_migrations()[0]
    assert type(first)(first.name, first.sql.replace("\n", "\r\n")).sha256 == first.sha256


def test_a_newer_file_is_refused_before_any_write(tmp_path: Path) -> None:
    """A store of a newer program is refused by every command in one line, and not a byte of it changes (store-04)."""
    assert arr(tmp_path, "init", "--team", "vision", "--name", "lumen").returncode == 0
    path = tmp_path / ".arr" / "arr.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE of_the_future (x)")
    connection.execute(f"PRAGMA user_version={len(all_migrations()) + 1}")
    connection.close()
    before, known = sha256(path), len(all_migrations())
    line = f"Error: Database '{path}' is at schema {known + 1}, this arr_sql knows {known}. Upgrade it: `pip install -U arr-sql`.\n"
    for command in (
        ("status",), ("search", "gradient"), ("memory", "add", "--title", "t", "--content", "c"),
        ("add", ".", "--no-embed"), ("db", "check"), ("db", "migrate"), ("init",),
    ):  # fmt: skip
        result = arr(tmp_path, *command)
        assert (command, result.returncode, result.stderr, sha256(path)) == (command, 1, line, before)


def test_a_file_that_is_refused_is_not_held_open(tmp_path: Path) -> None:
    """Also while its error is looked at: on Windows nobody could move it away."""
    path = tmp_path / "new.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={len(all_migrations()) + 1}")
    connection.close()
    with pytest.raises(ArrError, match="Upgrade it"):
        try:
            ResearchDatabase(path, SCOPE)
        except ArrError:
            if sys.platform == "linux":
                held = [os.readlink(fd) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
                assert str(path) not in held
            path.rename(tmp_path / "moved.db")
            raise


def foreign_file(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE places (id INTEGER PRIMARY KEY, url TEXT)")
    connection.execute("INSERT INTO places (url) VALUES ('https://example.org')")
    connection.commit()
    connection.close()


def named_file(path: Path) -> None:
    """Another application's file that holds no table yet but says whose it is."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA application_id=252006673")
    connection.close()


def random_file(path: Path) -> None:
    path.write_bytes(hashlib.shake_256(b"noise").digest(20000))


def cut_file(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\1" * 50)


@pytest.mark.parametrize("make", [foreign_file, named_file, random_file, cut_file])
def test_what_is_not_ours_is_refused_and_untouched(tmp_path: Path, make: object) -> None:
    """Another application's database and files that are no database are refused by name, without changing a byte."""
    path = tmp_path / "other.db"
    make(path)  # type: ignore[operator]
    before = sha256(path)
    with pytest.raises(NotAnArrDatabase, match=r"other.db"):
        ResearchDatabase.create(path, SCOPE)
    with pytest.raises(NotAnArrDatabase, match=r"other.db"):
        ResearchDatabase(path, SCOPE)
    with pytest.raises(NotAnArrDatabase, match=r"other.db"):
        check_store(path)
    assert sha256(path) == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["other.db"]


def test_an_empty_file_may_become_a_database(tmp_path: Path) -> None:
    """A file of no bytes is nobody's: reading it asks for a migration, creating fills it."""
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(SchemaOutOfDate):
        ResearchDatabase(path, SCOPE)
    ResearchDatabase.create(path, SCOPE).close()
    assert check_store(path).passed


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    """Opening what is not there names the command that makes it, and makes nothing."""
    with pytest.raises(StoreMissing, match="Run `arr init`"):
        ResearchDatabase(tmp_path / "none.db", SCOPE)
    assert os.listdir(tmp_path) == []


# --- Splitting a script -----------------------------------------------------------------------------------------------

TRIGGER = """CREATE TRIGGER a_trigger BEFORE UPDATE ON a
BEGIN
  -- one; two 'three
  SELECT CASE WHEN NEW.x = ';' THEN RAISE(ABORT, 'no; never') END;
  UPDATE b SET "odd;name" = 1;
END;"""


def test_split_statements_keeps_triggers_comments_and_quotes_whole() -> None:
    """Semicolons inside triggers, comments, strings and quoted names do not end a statement."""
    script = f"-- first; not a statement\nCREATE TABLE a (x); /* c; d */ INSERT INTO a VALUES (';--');\n{TRIGGER}\n-- end; of file\n"
    assert list(split_statements(script)) == [
        "-- first; not a statement\nCREATE TABLE a (x);", "/* c; d */ INSERT INTO a VALUES (';--');", TRIGGER,
    ]  # fmt: skip


def test_split_statements_refuses_a_statement_without_its_end() -> None:
    """A script that stops inside a trigger or a string raises instead of running half of it."""
    for script in (TRIGGER.removesuffix("END;"), "INSERT INTO a VALUES ('open;"):
        with pytest.raises(ValueError, match="unfinished statement"):
            list(split_statements(script))


STATEMENTS = st.sampled_from(
    ["CREATE TABLE a (x TEXT DEFAULT ';')", "INSERT INTO a VALUES ('it''s; -- fine')", "SELECT \"a;b\", [c;d], `e;f`",
     "SELECT 1 -- why; not\n", "SELECT /* ; ' */ 2", TRIGGER.removesuffix(";")]
)  # fmt: skip


@given(st.lists(STATEMENTS, max_size=6))
def test_split_statements_gives_back_what_was_joined(statements: list[str]) -> None:
    """Joining statements and splitting them again gives the same statements."""
    assert list(split_statements("\n".join(f"{item};" for item in statements))) == [f"{item};" for item in statements]


def test_the_errors_are_three_and_distinct() -> None:
    """Too new, changed and foreign are three different errors, and none of them is a caller's mistake."""
    kinds = {SchemaTooNew, MigrationChanged, NotAnArrDatabase}
    assert all(not issubclass(kind, (*(kinds - {kind}), InputError)) for kind in kinds)
