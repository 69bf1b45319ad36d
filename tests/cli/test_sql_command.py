"""``arr sql``: one statement, a script, read-only unless asked, the retrieval functions, and the shell's parts."""

from __future__ import annotations

import csv
import io
import json
import stat
import sys
from pathlib import Path

import pytest

from arr_sql.cli import _sql_shell
from arr_sql.cli.sql_command import SqlEngine
from arr_sql.core.project import find_project
from tests.cli.support import arr


def test_a_table_or_json(project: Path) -> None:
    """One SELECT: columns and rows; JSON keeps every column, and says bytes and infinity in words."""
    ran = arr("sql", "SELECT memory_id, title FROM memory_trail ORDER BY memory_id LIMIT 1", cwd=project)
    assert ran.code == 0 and "memory_id" in ran.out and "m-kept" in ran.out
    value = arr("sql", "SELECT 1 AS a, '数据' AS a, 1e999 AS b, x'0001' AS c, NULL AS d", "--json", cwd=project)
    assert value.json == [{"a": 1, "a_2": "数据", "b": "inf", "c": "<2 bytes>", "d": None}]
    assert arr("sql", "SELECT 1 AS a WHERE 0", "--json", cwd=project).json == []


def test_csv_is_read_back(project: Path) -> None:
    """Quotes, commas and new lines survive; NULL is empty."""
    ran = arr("sql", "SELECT 'a,\"b' AS x, 'c' || char(10) || 'd' AS y, NULL AS z", "--csv", cwd=project)
    assert list(csv.reader(io.StringIO(ran.out))) == [["x", "y", "z"], ['a,"b', "c\nd", ""]]


def test_every_trail_is_there(project: Path) -> None:
    """The views for people with SQL, bound to nothing but the file."""
    for view in ("audit_trail", "retrieval_trail", "evidence_trail", "memory_trail"):
        ran = arr("sql", f"SELECT count(*) AS n FROM {view}", "--json", cwd=project)
        assert ran.code == 0 and ran.json[0]["n"] > 0, view


def test_the_functions_and_this_scope(project: Path) -> None:
    """:scope is this folder's scope as the functions want it; the five values are there by name."""
    ran = arr(
        "sql",
        "SELECT arr_bm25('diverged', :scope) ->> '$.hits[0].source_ref' AS f, :branch AS b",
        "--json",
        cwd=project,
    )
    assert ran.json == [{"f": "notes/warmup.md", "b": "no-git"}]
    other = arr("sql", "SELECT arr_bm25('diverged', :scope) ->> '$.state' AS s", "--json", "--branch", "x", cwd=project)
    assert other.json == [{"s": "empty"}]


def test_a_wrong_argument_is_told_as_the_function_told_it(project: Path) -> None:
    """Not the driver's sentence that says nothing."""
    ran = arr("sql", "SELECT arr_search('a', :scope, 0)", cwd=project)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(
        "Error: The statement was refused: arr_search(): argument k is 0; it must be a whole number"
    )


def test_a_script_from_standard_input(project: Path) -> None:
    """Each statement in turn; the first that is refused ends it."""
    ran = arr("sql", "--csv", cwd=project, stdin="-- two\nSELECT 1 AS a; SELECT ';数' AS b;\n".encode())
    assert (ran.code, ran.out) == (0, "a\n1\nb\n;数\n")
    ran = arr("sql", "--csv", cwd=project, stdin=b"SELECT 1 AS a; SELECT nosuch; SELECT 3 AS c")
    assert (ran.code, ran.out) == (1, "a\n1\n") and "no such column: nosuch" in ran.err


@pytest.mark.parametrize("text", ["", " ", ";", "-- only this", "SELECT 'open"])
def test_nothing_to_run_and_an_open_quote_are_errors(text: str, project: Path) -> None:
    """With what to do."""
    ran = arr("sql", cwd=project, stdin=text.encode())
    assert ran.code == 1 and ("There is no statement to run" in ran.err or "A quote or a comment is open" in ran.err)


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM scope", "CREATE TABLE t (a)", "PRAGMA journal_mode=delete", "ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'",
     "SELECT load_extension('x')", "BEGIN", "INSERT INTO scope DEFAULT VALUES RETURNING 1"],
)  # fmt: skip
def test_read_only_unless_asked(statement: str, project: Path) -> None:
    """Nothing but SELECT runs, and no file appears."""
    before = (project / ".arr" / "arr.db").read_bytes()
    ran = arr("sql", statement, "--json", cwd=project)
    assert (ran.code, ran.out) == (1, "")
    error = json.loads(ran.err)
    assert error["error"] == "InputError" and "Only SELECT is run; --write allows the rest" in error["message"]
    assert (project / ".arr" / "arr.db").read_bytes() == before and not (project / "x.db").exists()


def test_write_is_said_to_leave_no_event(project: Path) -> None:
    """--write changes rows, warns before, and the audit says that the change has no event."""
    ran = arr("sql", "--write", "UPDATE memory SET confidence = 0.1 WHERE memory_id = 'm-kept'", cwd=project)
    assert ran.code == 0 and "no audit event" in ran.err and "Rows changed: 2." in ran.err
    assert arr("audit", "verify", cwd=project).code == 1
    refused = arr("sql", "--write", "DELETE FROM audit_event", cwd=project)
    assert refused.code == 1 and "append-only" in refused.err


def test_a_transaction_that_is_not_committed_is_rolled_back(project: Path) -> None:
    """BEGIN without COMMIT leaves the file as it was."""
    assert arr("sql", "--write", cwd=project, stdin=b"BEGIN; UPDATE memory SET confidence = 0.1").code == 0
    ran = arr("sql", "SELECT count(*) AS n FROM memory WHERE confidence = 0.1", "--json", cwd=project)
    assert ran.json == [{"n": 0}]


# --- The shell's parts ------------------------------------------------------------------------------------------------


@pytest.fixture
def engine(project: Path) -> SqlEngine:
    made = SqlEngine(find_project(project), may_write=False)
    yield made
    made.close()


def test_completion_knows_functions_views_columns_commands_and_parameters(engine: SqlEngine) -> None:
    """Of the last word, in any case."""
    words = _sql_shell.completions(engine)
    for text, found in (
        ("SELECT arr_sea", "arr_search"), ("SELECT * FROM audit_t", "audit_trail"), ("select SOURCE_R", "source_ref"),
        (".mo", ".mode"), ("arr_search('a', :sco", ":scope"), ("sel", "SELECT"), ("SELECT count(memory_i", "memory_id"),
    ):  # fmt: skip
        assert found in _sql_shell.matching(words, text)[1], text
    assert _sql_shell.matching(words, "SELECT ")[1] == []


def test_commands_with_a_dot(engine: SqlEngine, capsys: pytest.CaptureFixture[str]) -> None:
    """Help names every function; schema lists and shows; an unknown mode, name and command say what there is."""
    assert _sql_shell._command(engine, ".help", "table") == "table"
    text = capsys.readouterr().out
    assert ".schema [NAME]" in text and "arr_search(query, scope[, k])" in text and "arr_verify_audit()" in text
    _sql_shell._command(engine, ".schema", "table")
    text = capsys.readouterr().out
    assert "audit_trail" in text and "chunk_fts_data" not in text
    _sql_shell._command(engine, ".schema audit_trail", "table")
    assert capsys.readouterr().out.startswith("CREATE VIEW audit_trail AS")
    assert _sql_shell._command(engine, ".mode csv", "table") == "csv"
    assert _sql_shell._command(engine, ".mode xml", "table") == "table"
    for line in (".mode xml", ".schema nosuch", ".nosuch"):
        _sql_shell._command(engine, line, "table")
        assert capsys.readouterr().err, line


def test_history_is_private_and_keeps_no_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made for its owner alone; empty for none; a folder that can't be written is no reason to fail."""
    monkeypatch.setenv("ARR_SQL_HISTORY", str(tmp_path / "state" / "history"))
    path = _sql_shell.history_file()
    assert path is not None and path.exists()
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setenv("ARR_SQL_HISTORY", "")
    assert _sql_shell.history_file() is None
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("ARR_SQL_HISTORY", str(tmp_path / "file" / "history"))
    assert _sql_shell.history_file() is None
    assert _sql_shell.may_keep("SELECT 1") and not _sql_shell.may_keep("SELECT 'password=Zk7-quartz-9931-mule'")
