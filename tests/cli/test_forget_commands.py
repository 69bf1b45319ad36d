"""``arr forget`` and ``arr db backup | restore | export | import``."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.cli.support import ARR, MEMORY, arr, assert_no_traceback, environment


def raw(project: Path) -> bytes:
    return b"".join(item.read_bytes() for item in (project / ".arr").iterdir())


def test_a_dry_run_lists_and_changes_nothing(project: Path) -> None:
    """By name in text, everything in JSON; exit code 0, the memory still there; no --yes needed."""
    ran = arr(
        "forget", "--memory", MEMORY, "--source", "notes/warmup.md", "--query", "warmup", "--dry-run", cwd=project
    )
    assert ran.code == 0 and "Goes for good: 1 memory, 1 memory version, 1 source," in ran.out
    assert f"memory {MEMORY} (candidate): Warmup" in ran.out
    assert "source notes/warmup.md" in ran.out and "retrieval r1-" in ran.out
    listing = arr("forget", "--scope", "--dry-run", "--json", cwd=project).json
    assert {item["source_ref"] for item in listing["sources"]} >= {"notes/数据.md", "src/train.py"}
    assert arr("memory", "show", MEMORY, cwd=project).code == 0


def test_it_asks_first(project: Path) -> None:
    """Without a terminal it needs --yes: exit code 2, nothing erased."""
    ran = arr("forget", "--memory", MEMORY, cwd=project)
    assert ran.code == 2 and "Say --yes to erase, or --dry-run" in ran.err
    assert arr("memory", "show", MEMORY, cwd=project).code == 0


def test_erasing_says_what_is_proven(project: Path) -> None:
    """The text is in no byte afterwards; the receipt is named; the log verifies; the trail says verified."""
    assert b"Use 2000 steps." in raw(project)
    ran = arr("forget", "--memory", MEMORY, "--yes", cwd=project)
    assert ran.code == 0 and "Erased, receipt f1-" in ran.out and "none of it is left" in ran.out
    assert b"Use 2000 steps." not in raw(project)
    assert arr("audit", "verify", cwd=project).code == 0 and arr("db", "check", cwd=project).code == 0
    trail = arr("sql", "SELECT state, target FROM forget_trail", "--json", cwd=project).json
    assert trail == [{"state": "verified", "target": "memory"}]
    again = arr("forget", "--memory", MEMORY, "--yes", cwd=project)
    assert (again.code, "holds nothing called" in again.err) == (1, True)
    assert arr("forget", "--resume", cwd=project).out == "No erasure was interrupted.\n"


def test_a_file_that_is_still_there_is_named(project: Path) -> None:
    """In JSON and as a remark: the next sync would take it in again."""
    value = arr("forget", "--source", "notes/warmup.md", "--yes", "--json", cwd=project).json
    assert value["result"] == "clean" and value["still_on_disk"] == ["notes/warmup.md"]
    assert value["counts"]["sources"] == 1 and value["receipt_id"].startswith("f1-")
    ran = arr("forget", "--source", "notes/数据.md", "--yes", cwd=project)
    assert "Still on disk: notes/数据.md" in ran.err and ".arrignore" in ran.err
    assert "The same words still stand in" in ran.err  # memory m-kept names it as its source


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Say what to forget"),
        (("--scope", "--memory", "x"), "leave the others out"),
        (("--source", "nowhere.md"), "holds nothing called"),
    ],
)
def test_mistakes_are_clear(project: Path, arguments: tuple[str, ...], said: str) -> None:
    """No traceback, one line, exit code 1."""
    ran = arr("forget", *arguments, "--yes", cwd=project)
    assert ran.code == 1 and said in ran.err
    assert_no_traceback(ran.err)


def test_copies(project: Path) -> None:
    """Backup, scrub it, restore it, export, import: each says what it made, in both forms, and overwrites nothing."""
    assert arr("db", "backup", "b.db", cwd=project).out.startswith("Copied and checked: b.db (")
    refused = arr("db", "backup", "b.db", cwd=project)
    assert refused.code == 1 and "Nothing is overwritten" in refused.err
    ran = arr("forget", "--memory", MEMORY, "--backup", "b.db", "--yes", cwd=project)
    assert ran.code == 0 and "Backup b.db: 2 rows erased, clean." in ran.out
    assert b"Use 2000 steps." not in (project / "b.db").read_bytes()
    refused = arr("db", "restore", "b.db", cwd=project)
    assert refused.code == 1 and "arr.db' exists already" in refused.err
    value = arr("db", "restore", "b.db", "--to", "r.db", "--json", cwd=project).json
    assert (value["database"], value["checked"]) == ("r.db", True)
    assert arr("db", "export", "tree", "--json", cwd=project).json["rows"]["memory"] == 2
    assert arr("db", "import", "tree", "--to", "i.db", cwd=project).out.startswith("Imported and checked: ")
    asked = [
        arr("search", "warmup", "--db", name, "--json", cwd=project).json["evidence"]
        for name in ("r.db", "i.db", ".arr/arr.db")
    ]
    assert asked[0] == asked[1] == asked[2] != []
    assert arr("db", "export", "tree", cwd=project).code == 1


def test_what_still_holds_it_is_said(project: Path) -> None:
    """A backup in which another memory quotes it is not clean, and a table of somebody else's is named."""
    quote = ("memory", "add", "--id", "quote", "--title", "Quote", "--content", "He wrote: Use 2000 steps.")
    assert arr(*quote, cwd=project).code == 0
    assert arr("db", "backup", "b.db", cwd=project).code == 0
    with contextlib.closing(sqlite3.connect(project / ".arr" / "arr.db")) as connection, connection:
        connection.execute("CREATE TABLE my_notes AS SELECT 'see: Use 2000 steps.' AS note")
    ran = arr("forget", "--memory", MEMORY, "--backup", "b.db", "--yes", cwd=project)
    assert ran.code == 1 and "Backup b.db: 2 rows erased, NOT CLEAN." in ran.out
    assert "bytes of it are left in the rows named below" in ran.out and "none of it is left" not in ran.out
    assert "in 1 rows of 'memory' in the backup b.db" in ran.err and "in 1 rows of 'memory' in this scope" in ran.err
    assert "The table 'my_notes', which is not arr_sql's, holds words of it in 1 rows" in ran.err


def test_a_lost_database_comes_back(project: Path) -> None:
    """Where there is no database any more, restore makes it at its place."""
    assert arr("db", "backup", "b.db", cwd=project).code == 0
    for item in (project / ".arr").iterdir():
        item.unlink()
    assert arr("status", cwd=project).code == 1
    assert arr("db", "restore", "b.db", cwd=project).code == 0
    assert arr("memory", "show", MEMORY, cwd=project).code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_on_a_terminal_a_person_is_asked(project: Path) -> None:
    """The list, then a question; no leaves everything, yes erases."""
    pexpect = pytest.importorskip("pexpect")
    for reply, code in (("n", 130), ("y", 0)):
        child = pexpect.spawn(
            ARR[0], [*ARR[1:], "forget", "--memory", MEMORY], cwd=str(project), encoding="utf-8", timeout=60,
            env=environment(TERM="dumb", ARR_ACTOR="tester"),
        )  # fmt: skip
        child.expect("Erase this for good")
        child.sendline(reply)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == code, child.before
        assert arr("memory", "show", MEMORY, cwd=project).code == (0 if reply == "n" else 1)


def test_json_is_one_value(project: Path) -> None:
    """With --json nothing but one object is on standard output."""
    ran = arr("forget", "--query", "warmup", "--yes", "--json", cwd=project)
    assert json.loads(ran.out)["counts"] == {"retrievals_rewritten": 1} and ran.code == 0
