"""Whatever is typed: a clear message that names the next step, an exit code, no traceback, and nothing written."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from arr_sql.core.connection import open_reader
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError
from tests.cli.support import ARR, Ran, arr, assert_no_traceback, process
from tests.conftest import MakeDatabase

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files, bytes as arguments")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a file and a published memory. Don't change it."""
    made = tmp_path_factory.mktemp("bad") / "project"
    (made / "notes").mkdir(parents=True)
    (made / "notes/a.md").write_text("The warmup run diverged.\n", "utf-8")
    for command in (
        ("init", "--team", "t"),
        ("add", "notes", "--no-embed"),
        ("memory", "add", "--title", "T", "--content", "C", "--source", "notes/a.md", "--id", "m1"),
    ):
        assert arr(*command, cwd=made).code == 0
    return made


@pytest.fixture
def project(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "project"))


def content(folder: Path) -> str:
    """A hash of everything stored: the rows of every table, and every other file of the project."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("arr.db"):
            digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    reader = open_reader(folder / ".arr/arr.db")
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    for (name,) in reader.execute(tables).fetchall():
        for row in reader.execute(f'SELECT * FROM "{name}"'):
            digest.update(f"{name} {tuple(row)!r}".encode("utf-8", "surrogatepass"))
    reader.close()
    return digest.hexdigest()


def assert_refused(ran: Ran, code: int, *words: str) -> None:
    """An error of that code whose message holds ``words``, and nothing on standard output."""
    assert (ran.code, ran.out) == (code, ""), ran
    assert_no_traceback(ran.err)
    for word in words:
        assert word in ran.err, ran.err


# --- Queries ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", " ", "\t\n", "\u3000", "\u00a0"])
def test_a_blank_query_writes_nothing(query: str, project: Path) -> None:
    """Nothing to search for: an example is given, and no retrieval is recorded."""
    before = content(project)
    for command in ("search", "plan"):
        assert_refused(arr(command, query, cwd=project), 1, "The query is empty.", "for example: arr search")
        as_json = arr(command, query, "--json", cwd=project)
        assert (as_json.code, json.loads(as_json.err)["error"]) == (1, "QueryEmpty")
    assert content(project) == before


def test_ten_thousand_characters_are_searched_and_one_more_is_refused(project: Path) -> None:
    """10,000 is the documented limit: reached it works, passed it is an error with both numbers."""
    longest = ("warmup 数据 " * 2000)[:9999] + "x"
    assert arr("search", longest, cwd=project).code == 0
    before = content(project)
    assert_refused(arr("search", longest + "y", cwd=project), 1, "10,001 characters", "10,000", "Shorten it")
    assert content(project) == before


@pytest.mark.parametrize(
    "query",
    ["AND", "OR", "NOT", "NEAR", "NEAR(", "NEAR(a b)", "a AND", "NOT NOT", "*", "a*", "^a", '"', '""', '"a', "'", "(", ")", "()", "-",
     "--", "-a", "+", ":", "content:a", "{a b}: c", ";", "%", "_", "\\", "/", "?", "\x07", "\u200b", "\ufeff", "\u202e", "💥", "a\u0301",
     "'; DROP TABLE chunk; --", "$(touch x)", "`touch x`", "../../etc/passwd", "[", "[[:alpha:]]", "(a+)+$", "a\x00b", "\x00"],
)  # fmt: skip
def test_signs_and_operators_are_only_text(query: str, project: Path) -> None:
    """No query raises or shows a message of SQLite's; whatever it is, the answer is a successful one."""
    with ResearchDatabase(
        project / ".arr/arr.db", _scope(project), project_folder=project, embedder=lambda: None
    ) as database:
        result = database.search(query, write_record=False)
        assert result.state in ("found", "nothing_found", "incomplete")
        assert not {trace.state for trace in result.traces} & {"error", "timed_out"}
    if "\x00" not in query:  # no operating system passes a NUL in an argument
        ran = arr("search", "--", query, cwd=project)
        assert ran.code == 0, ran
        assert_no_traceback(ran.err)


def _scope(project: Path):  # type: ignore[no-untyped-def]
    from arr_sql.core.project import find_project

    return find_project(project).scope


@posix
@pytest.mark.parametrize("raw", [b"warmup \xff", b"\xff", b"\xed\xa0\xbd", b"\xe6\x95"])
def test_bytes_that_are_no_text_in_a_query(raw: bytes, project: Path) -> None:
    """Half a character in an argument: searched for what is left, in both forms, and recorded."""
    for form in ((), ("--json",)):
        ran = process("search", raw, *form, cwd=project)
        assert ran.returncode == 0 and ran.stderr == b""
        assert_no_traceback(ran.stdout)
        if form:
            assert b"notes/a.md" in ran.stdout or b"warmup" not in raw
            assert json.loads(ran.stdout)["retrieval_id"].startswith("r")
    assert arr("audit", "verify", cwd=project).code == 0


@pytest.mark.parametrize("query", ["warmup \udcff", "\ud83d warmup", "warmup\udc00"])
def test_unpaired_surrogates_through_python(query: str, make_database: MakeDatabase, write) -> None:  # type: ignore[no-untyped-def]
    """`ResearchDatabase.search` finds the rest of the query, and its record can be read back."""
    database = make_database(embedder=lambda: None)
    database.add(write("notes/a.md", "The warmup run diverged.\n"))
    result = database.search(query)
    assert [item.source_ref for item in result.evidence] == ["notes/a.md"]
    assert database.retrievals(result.retrieval_id)[0]["retrieval_id"] == result.retrieval_id


@pytest.mark.parametrize("k", [0, -1, 1001])
def test_k_outside_its_range(k: int, project: Path, make_database: MakeDatabase) -> None:
    """Usage error on the command line, InputError in Python; the range is named."""
    before = content(project)
    assert_refused(arr("search", "a", f"-k{k}", cwd=project), 2, "1<=x<=1000")
    assert content(project) == before
    with pytest.raises(InputError, match=f"k is {k}; it must be a whole number between 1 and 1000"):
        make_database().search("a", k=k)


@pytest.mark.parametrize("query", [None, 7, b"bytes", ["a"]])
def test_a_query_that_is_no_text(query: object, make_database: MakeDatabase) -> None:
    """Python values that are no text are refused by their type."""
    with pytest.raises(InputError, match=f"type {type(query).__name__}; it must be text"):
        make_database().search(query)  # type: ignore[arg-type]


# --- Plans --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not JSON"), (b"[[[", "not JSON"), (b"\xff\xfe{", "not JSON"), (b"[" * 100_000, "not JSON"), (b"NaN x", "not JSON"),
        (b"null", ""), (b"7", "The plan is invalid"), (b"[]", "plan"), (b"{}", "plan"), (b'{"tool_rounds": []}', "plan_empty"),
        (b'{"tool_rounds": [[]]}', "plan"), (b'{"tool_rounds": [["bm25", "bm25"]]}', "duplicate_call"),
        (b'{"tool_rounds": [["bm25"]], "extra": 1}', "The plan is invalid"),
        (b'{"version": 2, "tool_rounds": [["bm25"]]}', "The plan is invalid at version"),
        (b'{"tool_rounds": [["a"],["b"],["c"],["d"],["e"],["f"],["g"]]}', "too_many_rounds"),
        (b'{"tool_rounds": [[{"tool": "bm25", "query": " "}]]}', "rewritten_query_blank"),
        (json.dumps({"tool_rounds": [[{"tool": "bm25", "query": "x" * 1001}]]}).encode(), "rewritten_query_too_long"),
        (json.dumps({"tool_rounds": [[str(n) for n in range(13)]]}).encode(), "too_many_calls"),
    ],
    ids=lambda value: value[:40].decode("latin-1") if isinstance(value, bytes) else None,
)  # fmt: skip
def test_a_plan_that_breaks_the_format_runs_nothing(text: bytes, words: str, project: Path, tmp_path: Path) -> None:
    """The reason is named, nothing is searched, nothing is recorded."""
    (tmp_path / "plan.json").write_bytes(text)
    before = content(project)
    for command in ("search", "plan"):
        ran = arr(command, "warmup", "--plan", str(tmp_path / "plan.json"), cwd=project)
        if text == b"null":  # JSON's null is no plan: the rules' plan runs
            assert ran.code == 0
            return
        assert_refused(ran, 1, words)
    assert content(project) == before


def test_a_plan_file_that_is_not_there(project: Path) -> None:
    """A usage error that names the file."""
    assert_refused(arr("search", "a", "--plan", "gone.json", cwd=project), 2, "gone.json")
    assert_refused(arr("search", "a", "--plan", ".", cwd=project), 2, "'.'")


# --- Files --------------------------------------------------------------------------------------------------------------


def test_a_path_that_is_not_there(project: Path) -> None:
    """`arr add` of a missing path: said, and nothing stored, not even its scope."""
    before = content(project)
    assert_refused(
        arr("add", "gone", "--env", "new", cwd=project), 1, "does not exist. Name a folder or a file to add."
    )
    assert content(project) == before


@posix
def test_special_files_are_refused(project: Path) -> None:
    """A device, a pipe and a socket are never opened: an error with the next step, nothing stored."""
    os.mkfifo(project / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    place = Path.cwd()
    os.chdir(project)  # a socket's path may be only about 100 bytes long
    try:
        listening.bind("sock")
    finally:
        os.chdir(place)
    before = arr("status", "--json", cwd=project).json
    for name in ("/dev/null", "/dev/zero", "pipe", "sock"):
        assert_refused(arr("add", name, "--no-embed", cwd=project), 1, "Name a folder or a file to add.")
    listening.close()
    after = arr("status", "--json", cwd=project).json
    assert (after["roots"], after["revision"], after["events"]) == (
        before["roots"],
        before["revision"],
        before["events"],
    )


@posix
def test_special_files_in_a_folder_are_left_out(project: Path) -> None:
    """Met on a walk, a pipe is counted and not opened; the command does not hang."""
    os.mkfifo(project / "notes/pipe")
    ran = arr("sync", "--no-embed", cwd=project)
    assert ran.code == 0 and "special_file" in ran.out


@posix
@pytest.mark.parametrize("name", [b"\xff", b"\xff.md", b"a\x1b[2Jb"])
def test_names_that_are_no_text(name: bytes, project: Path) -> None:
    """A missing path with odd bytes is named with them spelt out."""
    ran = process("add", name, cwd=project)
    assert ran.returncode == 1 and ran.stderr.startswith(b"Error: ") and b"does not exist" in ran.stderr
    assert b"\x1b" not in ran.stderr and b"\xff" not in ran.stderr
    assert_no_traceback(ran.stderr)


def _with_permissions(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run where permissions count: root reads everything, unless that capability is taken from it."""
    before: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root reads everything, and setpriv is not installed")
        lost = "-dac_override,-dac_read_search"
        before = ("setpriv", f"--bounding-set={lost}", f"--inh-caps={lost}")
    return process(*arguments, cwd=cwd, command=(*before, *ARR))


@posix
def test_an_unreadable_folder_is_counted(project: Path) -> None:
    """A folder and a file without permission are left out with their reason; the rest is taken in."""
    (project / "more/closed").mkdir(parents=True)
    (project / "more/open.md").write_text("open\n", "utf-8")
    (project / "more/shut.md").write_text("shut\n", "utf-8")
    (project / "more/shut.md").chmod(0)
    (project / "more/closed").chmod(0)
    ran = _with_permissions("add", "more", "--no-embed", "--json", cwd=project)
    assert ran.returncode == 0, ran.stderr
    (project / "more/closed").chmod(0o700)
    summary = json.loads(ran.stdout)["syncs"][0]
    assert summary["added"] == ["more/open.md"] and summary["left_out"]["permission_denied"] == 2


@posix
def test_a_project_that_may_not_be_written(project: Path) -> None:
    """Searching works and says that it was not recorded; a write is refused with the next step."""
    database = project / ".arr/arr.db"
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    database.chmod(0o400)
    (project / ".arr").chmod(0o500)
    ran = _with_permissions("search", "warmup", "--json", cwd=project)
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert [item["source_ref"] for item in result["evidence"]] == ["notes/a.md"]
    assert "record_not_written" in [item["code"] for item in result["degradations"]]
    refused = _with_permissions("memory", "publish", "m1", cwd=project)
    assert (
        refused.returncode == 1
        and b"read-only" in refused.stderr
        and b"change its permissions or copy it" in refused.stderr
    )
    (project / ".arr").chmod(0o700)
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before


@posix
def test_init_where_nothing_may_be_written(project: Path) -> None:
    """A folder without write permission: one sentence with the path."""
    folder = project.parent / "locked"
    folder.mkdir(mode=0o555)
    ran = _with_permissions("init", str(folder), cwd=project)
    assert ran.returncode == 1 and b"Permission denied" in ran.stderr and b"locked" in ran.stderr
    assert_no_traceback(ran.stderr)


# --- Database files -----------------------------------------------------------------------------------------------------

COMMANDS = [
    ("search", "warmup"), ("plan", "x"), ("status",), ("sync",), ("memory", "list"), ("memory", "publish", "m1"), ("audit", "list"),
    ("audit", "verify"), ("db", "check"), ("db", "rebuild"), ("sql", "SELECT 1"), ("scope", "list"), ("show", "r1-00000000"),
]  # fmt: skip
commands = pytest.mark.parametrize("command", COMMANDS, ids=" ".join)


def _foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs(x)")
    connection.execute("INSERT INTO theirs VALUES ('precious')")
    connection.commit()
    connection.close()


def _newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()


BROKEN = {
    "missing": (lambda path: path.unlink(), "There is no database at", "Run `arr init`"),
    "text": (lambda path: path.write_bytes(b"not a database\n" * 100), "is not an SQLite database", "--db"),
    "foreign": (lambda path: (path.unlink(), _foreign(path)), "of another application", "--db"),
    "newer": (_newer, "is at schema 999", "pip install -U arr-sql"),
    "empty": (lambda path: path.write_bytes(b""), "is at schema 0", "arr db migrate"),
    "half": (lambda path: path.write_bytes(path.read_bytes()[: 3 * 4096]), "", ""),
}


@pytest.mark.parametrize("kind", BROKEN)
@commands
def test_an_unfit_database_file(kind: str, command: tuple[str, ...], project: Path) -> None:
    """Missing, foreign, newer, empty, cut off: a message with the next step, and the file is not changed by a byte."""
    damage, *words = BROKEN[kind]
    path = project / ".arr/arr.db"
    for extra in (project / ".arr").glob("arr.db-*"):
        extra.unlink()
    damage(path)
    before = path.read_bytes() if path.exists() else None
    ran = arr(*command, cwd=project)
    assert ran.code == 1, ran
    assert_no_traceback(ran.err + ran.out)
    if command != ("db", "check"):  # which prints what it found as its answer
        assert_refused(ran, 1, *words)
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("kind", ["text", "foreign", "newer"])
def test_init_and_migrate_leave_an_unfit_file_alone(kind: str, project: Path) -> None:
    """Neither overwrites another application's or a newer file."""
    damage, *words = BROKEN[kind]
    path = project / ".arr/arr.db"
    damage(path)
    before = path.read_bytes()
    for command in (("init",), ("db", "migrate")):
        assert_refused(arr(*command, cwd=project), 1, words[0])
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    ["", "[project]\nteam_id = \n", "team_id = 'x'\n", "[project]\nteam_id='a'\nproject_id='b'\ntypo=1\n", "\x00"],
)
def test_an_unfit_arr_toml(text: str, project: Path) -> None:
    """A broken settings file is named, with the key or place that is wrong, and kept."""
    (project / "arr.toml").write_text(text, "utf-8")
    for command in (("status",), ("search", "x"), ("init",)):
        assert_refused(arr(*command, cwd=project), 1, "arr.toml")
    assert (project / "arr.toml").read_text("utf-8") == text


# --- Ids and SQL --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["nobody", "m" * 5000, "'; --", "../x", "💥", "memory:m1"])
def test_an_unknown_memory(value: str, project: Path) -> None:
    """Unknown ids: named, with the way to a list; nothing changes but the audit log, which may note the refusal."""
    before, state = content(project), arr("status", "--json", cwd=project).json
    assert_refused(arr("memory", "show", value, cwd=project), 1, "There is no memory", "arr memory list")
    assert content(project) == before
    for command in (("memory", "publish", value), ("memory", "revoke", value, "--reason", "r")):
        assert_refused(arr(*command, cwd=project), 1, "There is no memory", "arr memory list")
    after = arr("status", "--json", cwd=project).json
    assert (after["revision"], after["memories"]) == (state["revision"], state["memories"])
    events = arr("audit", "list", "--json", cwd=project).json[: after["events"] - state["events"]]
    assert {event["kind"] for event in events} <= {"memory_refused"}
    assert arr("audit", "verify", cwd=project).code == 0


@pytest.mark.parametrize(
    "value", ["nonsense", "r1-00000000", "memory:nobody", "memory:", "c" + "0" * 20, "💥", "r" * 5000]
)
def test_show_of_nonsense(value: str, project: Path) -> None:
    """Whatever it is, it is said not to be there, with the way to what is."""
    assert_refused(arr("show", value, cwd=project), 1, "There is no ", "arr ")


@posix
@pytest.mark.parametrize(
    "command", [("show",), ("memory", "show"), ("memory", "publish"), ("sql",), ("status", "--env")]
)
def test_ids_that_are_no_text(command: tuple[str, ...], project: Path) -> None:
    """Bytes that are no UTF-8 in an id are a usage error."""
    ran = process(*command, b"a\xff", cwd=project)
    assert ran.returncode == 2 and b"not UTF-8" in ran.stderr and ran.stdout == b""
    assert_no_traceback(ran.stderr)


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM scope", "INSERT INTO scope VALUES (1)", "UPDATE memory SET title = 'x'", "DROP TABLE chunk", "CREATE TABLE x(y)",
     "CREATE TEMP TABLE x(y)", "REPLACE INTO scope VALUES (1)", "ALTER TABLE scope RENAME TO s", "ATTACH 'other.db' AS o", "DETACH main",
     "VACUUM", "VACUUM INTO 'copy.db'", "REINDEX", "ANALYZE", "PRAGMA journal_mode = DELETE", "PRAGMA user_version = 3",
     "PRAGMA writable_schema = ON", "BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s", "COMMIT", "SELECT 1; SELECT 2",
     "SELECT 1; DELETE FROM scope",
     "garbage", "", " ", ";", "SELECT", "SELECT * FROM nothing", "SELECT ?", "SELECT :a", "SELECT load_extension('x')",
     "SELECT writefile('f', 'x')",  "SELECT 'a", "SELECT cast(x'ff' AS text)", "EXPLAIN DELETE FROM scope",
     "WITH x AS (SELECT 1) DELETE FROM scope", "SELECT zeroblob(2000000000)", "/* only a comment */"],
)  # fmt: skip
def test_sql_that_is_no_single_select(statement: str, project: Path) -> None:
    """Writes, ATTACH, several statements and garbage are refused, and neither database nor folder change."""
    before, files = content(project), sorted(path.name for path in project.rglob("*") if "arr.db-" not in path.name)
    for form in ((), ("--json",)):
        ran = arr("sql", statement, *form, cwd=project)
        assert ran.code in (1, 2) and ran.out == "", ran
        assert_no_traceback(ran.err)
        assert any(way_out in ran.err for way_out in ("SELECT", "STATEMENT", "arr db schema", "arr sql"))
    assert content(project) == before
    assert sorted(path.name for path in project.rglob("*") if "arr.db-" not in path.name) == files


def test_the_hash_sees_a_change(project: Path) -> None:
    """The check itself works: a memory published, or a file added, changes the hash."""
    before = content(project)
    assert content(project) == before
    assert arr("memory", "publish", "m1", cwd=project).code == 0
    assert content(project) != before
