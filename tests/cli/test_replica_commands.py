"""``arr replica`` as a person runs it: processes, signals, what is printed."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from arr_sql.cli.replica_commands import _Teller
from arr_sql.core.project import find_project
from arr_sql.database.replay import Replay
from arr_sql.database.replicas import CopyComparison
from arr_sql.replica.copying import Copied, engine_process, is_copying
from arr_sql.serve.mcp_calls import Client, Desk
from tests.cli.support import arr
from tests.replica.support import needs_engine, running


@needs_engine
def test_a_running_copy(project: Path, tmp_path: Path) -> None:
    """One process a file; forgetting waits for its end; ended, its own last event is in the store."""
    with running(project, "../copy") as process:
        path = project / ".arr" / "arr.db"
        assert is_copying(path)
        second = arr("replica", "start", "../copy", cwd=project)
        assert second.code == 1 and "End it first" in second.err and second.out == ""
        assert arr("memory", "add", "--id", "m-new", "--title", "T", "--content", "C", cwd=project).code == 0
        forgetting = arr("forget", "--memory", "m-new", "--yes", cwd=project)
        assert forgetting.code == 1 and "End it first" in forgetting.err
        assert arr("replica", "status", "--json", cwd=project).json["is_running"] is True
        process.send_signal(signal.CTRL_BREAK_EVENT if sys.platform == "win32" else signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert '"is_complete": true' in out.splitlines()[-1]
    assert not is_copying(path)
    restored = arr("replica", "restore", "../copy", "../restored.db", "--json", cwd=project)
    assert restored.code == 0, restored
    logs = [arr("sql", "--db", str(file), "--json", "SELECT * FROM audit_event ORDER BY seq", cwd=project).json
            for file in (path, tmp_path / "restored.db")]  # fmt: skip
    assert logs[0] == logs[1] and logs[0][-1]["kind"] == "replica_stopped"
    assert arr("forget", "--memory", "m-new", "--yes", cwd=project).code == 0


@needs_engine
@pytest.mark.skipif(sys.platform == "win32", reason="a lock is not inherited on Windows")
def test_a_killed_start_leaves_no_second_copy(project: Path) -> None:
    """Litestream may outlive its parent (until its next line finds no reader); as long as it does, its lock keeps others away."""
    path = project / ".arr" / "arr.db"
    with running(project, "../copy") as process:
        engine = engine_process(path)
        assert engine is not None
        os.kill(engine, signal.SIGSTOP)  # so that it is there while it is looked at
        try:
            process.kill()
            process.wait()
            assert is_copying(path)
            assert "is running" in arr("replica", "start", "../copy", "--once", cwd=project).err
        finally:
            os.kill(engine, signal.SIGTERM)
            os.kill(engine, signal.SIGCONT)
    deadline = time.monotonic() + 30
    while is_copying(path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert arr("replica", "start", "../copy", "--once", cwd=project).code == 0


def test_the_configuration_is_shown_and_nothing_happens(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds no key; no folder is made, no event written."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLEEXAMPLE77")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    before = arr("audit", "list", "--json", cwd=project).json
    ran = arr(
        "replica", "start", "s3://lab/lumen", "--endpoint", "http://127.0.0.1:9000", "--print-config", cwd=project
    )
    assert json.loads(ran.out)["dbs"][0]["replica"]["bucket"] == "lab"
    assert "hush" not in ran.out and "AKIA" not in ran.out
    assert arr("audit", "list", "--json", cwd=project).json == before
    assert sorted(path.name for path in (project / ".arr").iterdir() if "replica" in path.name) == []


def test_a_store_without_keys(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said at once, with what to set."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SHARED_CREDENTIALS_FILE", "LITESTREAM_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    ran = arr("replica", "start", "s3://lab/lumen", "--endpoint", "http://127.0.0.1:9000", cwd=project)
    assert (ran.code, ran.out) == (1, "") and "Set AWS_ACCESS_KEY_ID" in ran.err


@pytest.mark.parametrize("command", [("status",), ("purge",)])
def test_without_a_copy(project: Path, command: tuple[str, ...]) -> None:
    """There is nothing to show or to purge; the next step is named."""
    ran = arr("replica", *command, cwd=project)
    assert ran.code == 1 and "arr replica start" in ran.err


def test_the_same_problem_is_not_said_twice_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    """Litestream tries a full disk again and again; another problem is said at once."""
    teller = _Teller("Copying.", as_json=False)
    for problem in ("disk full", "disk full", "disk full", "gone", "gone"):
        teller.hear(Copied(problem=problem))
    assert [line.partition("Litestream: ")[2] for line in capsys.readouterr().err.splitlines()] == ["disk full", "gone"]


@needs_engine
def test_from_one_machine_to_another(project: Path) -> None:
    """The whole way in words: copied, restored, compared, followed, purged."""
    assert "behind: nothing" in arr("replica", "start", "../copy", "--once", cwd=project).out
    assert "Restored and checked: ../b.db" in arr("replica", "restore", "../copy", "../b.db", cwd=project).out
    assert "1 of 1 retrievals identical" in arr("replica", "verify", "../b.db", cwd=project).out
    assert "checked" in arr("replica", "follow", "../copy", "../r.db", "--once", cwd=project).out
    refused = arr("memory", "add", "--title", "T", "--content", "C", "--db", "../r.db", cwd=project)
    assert refused.code == 1 and "can't be written" in refused.err
    assert arr("memory", "add", "--title", "T", "--content", "C", "--db", "../b.db", cwd=project).code == 0
    strayed = arr("replica", "verify", "../b.db", cwd=project)
    assert strayed.code == 1 and "written to since" in strayed.out
    assert arr("db", "check", cwd=project).code == 0
    assert "it holds the file as it is now" in arr("replica", "purge", cwd=project).out
    kinds = [row["kind"] for row in arr("sql", "--json", "SELECT kind FROM audit_trail WHERE kind LIKE 'replica%'",
                                        cwd=project).json]  # fmt: skip
    assert sorted(kinds) == ["replica_purged", "replica_started"]


@needs_engine
def test_files_that_changed_since_say_nothing_against_a_copy(project: Path) -> None:
    """grep reads the disk, which is no part of a copy: counted apart, with exit code 0."""
    assert arr("replica", "start", "../copy", "--once", cwd=project).code == 0
    assert arr("replica", "restore", "../copy", "../b.db", cwd=project).code == 0
    (project / "notes" / "more.md").write_text("warmup run diverged once more\n", "utf-8")
    ran = arr("replica", "verify", "../b.db", cwd=project)
    assert ran.code == 0 and "0 of 1 retrievals identical, 1 where files have changed since" in ran.out
    found = arr("replica", "verify", "../b.db", "--json", cwd=project).json
    assert (found["passed"], found["file_changed"], found["different"], found["differences"]) == (True, 1, 0, [])


@pytest.mark.parametrize(("cause", "passed"), [("file_changed", True), ("row_revised", False), (None, False)])
def test_any_other_difference_is_the_copys(cause: Any, passed: bool) -> None:
    """Also one that nothing known explains."""
    replay = Replay("r1-0a1b2c3d", "2026-01-01T00:00:00.000000Z", 1, "different", None, cause)
    assert CopyComparison((), True, 1, 1, 0.0, (replay,)).passed is passed


@needs_engine
def test_an_agent_sees_the_next_state(project: Path) -> None:
    """A server opens the file for each call: when a read copy is replaced, its next answer is of the new state."""
    assert arr("replica", "start", "../copy", "--once", cwd=project).code == 0
    assert arr("replica", "follow", "../copy", "../r.db", "--once", cwd=project).code == 0
    desk = Desk(find_project(project, database=project.parent / "r.db"), may_propose=False)
    seen = []
    for _ in range(2):
        answer = desk.call("list_memories", {"status": "candidate"}, Client("agent"))
        assert answer.output is not None, answer
        seen.append(len(answer.output["memories"]))
        arr("memory", "add", "--title", "New", "--content", "C", cwd=project)
        arr("replica", "start", "../copy", "--once", cwd=project)
        assert arr("replica", "follow", "../copy", "../r.db", "--once", cwd=project).code == 0
    assert seen[1] == seen[0] + 1
