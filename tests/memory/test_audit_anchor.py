"""Contract 7.2: an anchor kept elsewhere finds a log that was cut or computed anew; an exported log is checked by itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from arr_sql.core.connection import sqlite3
from arr_sql.core.git_notes import append_note, read_notes
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StateError
from arr_sql.memory.audit_anchor import Anchor, anchor_damages, parse_anchors, read_anchors, verify_export
from tests.conftest import SCOPE, MakeDatabase, StepClock
from tests.promises.test_tamper import rechain

HASHES = {number: f"{number:064x}" for number in range(1, 11)}


def anchor(seq: int, head: str | None = None) -> Anchor:
    return Anchor(seq, head or f"{seq:064x}", seq, "2026-01-02T03:04:05.000000Z")


# --- Pure -------------------------------------------------------------------------------------------------------------


def test_a_log_that_agrees() -> None:
    """Anchors of a log's own past say nothing against it, in whatever order they stand."""
    assert anchor_damages([anchor(9), anchor(3), anchor(10)], HASHES.get) == []
    assert anchor_damages([], HASHES.get) == []


@pytest.mark.parametrize(
    ("anchors", "kind", "seq"),
    [
        ([anchor(12)], "tail_missing", 1),
        ([anchor(10), anchor(12)], "tail_missing", 11),
        ([anchor(4), anchor(7, "f" * 64)], "chain_rewritten", 5),
        ([anchor(1, "f" * 64)], "chain_rewritten", 1),
    ],
)
def test_what_an_anchor_finds(anchors: list[Anchor], kind: str, seq: int) -> None:
    """The kind of damage, and the first event that may be bad: the one after the last anchor that agrees."""
    (found,) = anchor_damages(anchors, HASHES.get)
    assert (found.kind, found.seq) == (kind, seq)


@pytest.mark.parametrize("line", ["x", "{}", "[1]", '{"seq":1}', '{"at":"t","events":1,"head":"zz","seq":1}',
                                  '{"at":"t","events":true,"head":"' + "0" * 64 + '","seq":1}'])  # fmt: skip
def test_what_is_no_anchor(line: str, tmp_path: Path) -> None:
    """A file that holds something else is refused with its line."""
    with pytest.raises(InputError, match="f:2 is no anchor"):
        parse_anchors(anchor(1).line() + line, "f")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(InputError, match="holds no anchor"):
        read_anchors(tmp_path / "empty")
    with pytest.raises(InputError, match="can't be read"):
        read_anchors(tmp_path / "none")


# --- A database -------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(make_database: MakeDatabase) -> ResearchDatabase:
    """A log of a dozen events."""
    database = make_database()
    for number in range(6):
        database.add_memory(memory_id=f"m{number}", title="Zinc", content=f"zinc {number}", kind="knowledge")
        database.set_memory_status(f"m{number}", "published", "measured")
    return database


def test_anchors_are_appended(database: ResearchDatabase, tmp_path: Path) -> None:
    """One line an anchor; the same head twice is one line; a later head is another."""
    file = tmp_path / "a"
    first, is_new = database.anchor_audit(file)
    assert (is_new, first.seq, first.events) == (True, 13, 13)
    assert database.anchor_audit(file)[1] is False
    database.add_memory(memory_id="later", title="Zinc", content="zinc", kind="knowledge")
    second, is_new = database.anchor_audit(file)
    assert (is_new, read_anchors(file)) == (True, [first, second])
    assert database.verify_audit(read_anchors(file)).damages == ()


def test_another_logs_anchor_is_not_overwritten(
    database: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """The file of another database is refused and stays as it is."""
    file = tmp_path / "a"
    database.anchor_audit(file)
    before = file.read_bytes()
    other = make_database(path=tmp_path / "other.db", clock=StepClock(StepClock().now.replace(year=2027)))
    other.add_memory(memory_id="m", title="Zinc", content="zinc", kind="knowledge")
    with pytest.raises(StateError, match="contradicts"):
        other.anchor_audit(file)
    assert file.read_bytes() == before


def test_an_empty_log_has_no_anchor(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Nothing was written: there is no head."""
    with pytest.raises(StateError, match="empty"):
        make_database().anchor_audit(tmp_path / "a")


def behind_its_back(database: ResearchDatabase, *statements: str, rechain_from: int = 0) -> None:
    connection = sqlite3.connect(database.path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys=OFF")
    for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {row['name']}")
    for statement in statements:
        connection.execute(statement)
    if rechain_from:
        rechain(connection, rechain_from)
    connection.close()


def test_a_cut_tail_is_found(database: ResearchDatabase, tmp_path: Path) -> None:
    """Rows and events of the end gone together: only the anchor knows, and names the first event that is missing."""
    anchors = [database.anchor_audit(tmp_path / "a")[0]]
    behind_its_back(database, "DELETE FROM audit_event WHERE seq > 11", "DELETE FROM memory WHERE memory_id = 'm5'",
                    "UPDATE scope SET revision = 10, content_revision = 10")  # fmt: skip
    assert database.verify_audit().damages == ()
    (found,) = database.verify_audit(anchors).damages
    assert (found.kind, found.seq) == ("tail_missing", 12)


def test_a_rewritten_chain_is_found(database: ResearchDatabase, tmp_path: Path) -> None:
    """A whole new chain from an event on verifies in itself; an anchor says from which event on it may be false."""
    file = tmp_path / "a"
    database.anchor_audit(file)
    database.add_memory(memory_id="later", title="Zinc", content="zinc", kind="knowledge")
    database.add_memory(memory_id="latest", title="Zinc", content="zinc", kind="knowledge")
    database.anchor_audit(file)
    behind_its_back(
        database, "UPDATE audit_event SET at = '2026-06-01T00:00:00.000000Z' WHERE seq = 15", rechain_from=15
    )
    assert database.verify_audit().damages == ()
    (found,) = database.verify_audit(read_anchors(file)).damages
    assert (found.kind, found.seq) == ("chain_rewritten", 14)


# --- Export -----------------------------------------------------------------------------------------------------------


def test_an_export_verifies_by_itself(database: ResearchDatabase, tmp_path: Path) -> None:
    """Every event, one line each, in the form that is hashed; the head is the log's."""
    file = tmp_path / "audit.jsonl"
    assert database.export_audit(file) == 13
    report, own = verify_export(file), database.verify_audit()
    assert (report.events, report.head, report.damages) == (own.events, own.head, ())
    event = json.loads(file.read_text("utf-8").splitlines()[0])
    assert (event["seq"], event["kind"], event["scope"]) == (1, "scope_opened", list(SCOPE.values()))
    with pytest.raises(InputError, match="exists already"):
        database.export_audit(file)
    with pytest.raises(InputError, match="can't be written"):
        database.export_audit(tmp_path / "no" / "folder")


def test_a_changed_export_is_found(database: ResearchDatabase, tmp_path: Path) -> None:
    """A changed field, a removed line, another form of the same event, a cut end against an anchor."""
    file, changed = tmp_path / "audit.jsonl", tmp_path / "changed.jsonl"
    anchors = [database.anchor_audit(tmp_path / "a")[0]]
    database.export_audit(file)
    lines = file.read_text("utf-8").splitlines(keepends=True)
    cases = (
        ([*lines[:4], lines[4].replace('"tester"', '"mallory"'), *lines[5:]], ("changed_event", 5)),
        (lines[:4] + lines[5:], ("event_removed", 5)),
        ([*lines[:4], lines[4].replace(":", ": ", 1), *lines[5:]], ("changed_event", 5)),
        (lines[:-2], ("tail_missing", 12)),
        (lines[1:], ("event_removed", 1)),
    )
    for text, expected in cases:
        changed.write_text("".join(text), "utf-8")
        first = verify_export(changed, anchors).damages[0]
        assert (first.kind, first.seq) == expected
    changed.write_text("{}\n", "utf-8")
    with pytest.raises(InputError, match=r"changed\.jsonl:1 is no audit event"):
        verify_export(changed)
    with pytest.raises(InputError, match="can't be read"):
        verify_export(tmp_path / "none")


# --- Git notes --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_a_git_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The anchor is a note of the commit that is checked out; no hook runs and the work tree stays as it is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "ana@example.org")
    repository = tmp_path / "r"
    repository.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    with pytest.raises(StateError, match="git refused"):
        append_note(repository, anchor(1).line())
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], cwd=repository, check=True)
    hook = repository / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ../ran\n")
    hook.chmod(0o755)
    append_note(repository, anchor(1).line())
    append_note(repository, anchor(2).line())
    assert parse_anchors(read_notes(repository), "notes") == [anchor(1), anchor(2)]
    assert not list(tmp_path.rglob("ran"))
    assert subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True).stdout == b""
