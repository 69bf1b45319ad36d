"""Clocks that jump, and machines in two time zones: order is by revision and event, times are UTC, and nothing breaks.

A clock that is set back gives later events earlier times. What follows what is told by ``scope_seq``, revisions and the
chain; times are only said. What expires and what an approval's 24 hours are is decided by the clock as it stands then.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arr_sql.core.clock import from_text, to_text, utc_now
from arr_sql.core.connection import open_reader
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StateError
from tests.conftest import SCOPE, FakeEmbedder
from tests.promises.shared_file import ROOT, WRITES, Process, all_ended, losses, new_file, problems

ZONES = ("Asia/Shanghai", "America/Los_Angeles")
PLAN: Any = {"tool_rounds": [["bm25", "research-memory", "vector"]]}
JUMPS = st.sampled_from([1, 1, 60, -60, -3600, -30 * 3600, 30 * 3600, -400 * 86400, 400 * 86400])
STEPS = st.sampled_from(["add", "edit", "publish", "expire", "revoke", "write", "ask", "ask", "approve", "forget"])


class JumpyClock:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)

    def __call__(self) -> datetime:
        return self.now

    def jump(self, seconds: int) -> None:
        """Forwards or back."""
        self.now += timedelta(seconds=seconds)


def take(database: ResearchDatabase, step: str, number: int, clock: JumpyClock) -> None:
    """One step; it may be refused, by rules that hold for any clock."""
    name = f"m{number % 4}"
    try:
        if step == "add":
            expires = to_text(clock.now + timedelta(hours=20)) if number % 2 else None
            database.add_memory(memory_id=f"m{number}", title="Router", content=f"router budget {number}", conflict_key="k",
                                expires_at=expires, kind="research_case")  # fmt: skip
        elif step == "edit":
            database.edit_memory(name, content=f"router edited {number}")
        elif step in ("publish", "expire", "revoke"):
            status: Any = {"publish": "published", "expire": "expired", "revoke": "revoked"}[step]
            database.set_memory_status(name, status, "measured")
        elif step == "write":
            path = database.project_folder / "notes" / f"{number % 3}.md"
            path.write_text(f"# Router {number}\n\nThe router keeps budget {number}.\n", "utf-8")
            stamp = int(clock.now.timestamp())  # as the file system of that moment would have it
            os.utime(path, (stamp, stamp))
            database.sync()
        elif step == "ask":
            database.search(f"router budget {number}", plan=PLAN)
        elif step == "approve":
            package = database.request_approval(name, {"plan": number}, risk_level="low", package_id=f"p{number}")
            database.actor = "bo"
            clock.jump(-7200)
            database.decide_approval(package.package_id, "approved", payload_hash=package.payload_hash)
        else:
            database.forget(memory_ids=[name])
    except (StateError, InputError):
        pass
    finally:
        database.actor = "ana"


@settings(max_examples=max(10, settings().max_examples // 10))
@given(st.lists(st.tuples(STEPS, JUMPS), min_size=5, max_size=25))
def test_a_clock_that_jumps(steps: list[tuple[str, int]]) -> None:
    """Forwards and back, by seconds or years, between any two steps: chain, history, replay and check hold."""
    with tempfile.TemporaryDirectory() as folder:
        clock, path = JumpyClock(), Path(folder) / "lab.db"
        with ResearchDatabase.create(
            path, SCOPE, project_folder=Path(folder), actor="ana", clock=clock, embedder=FakeEmbedder
        ) as database:
            (Path(folder) / "notes").mkdir()
            (Path(folder) / "notes" / "0.md").write_text("# Router\n\nThe router keeps a budget.\n", "utf-8")
            database.add(Path(folder) / "notes")
            asked = []
            for number, (step, seconds) in enumerate(steps):
                take(database, step, number, clock)
                clock.jump(seconds)
                if step == "ask":
                    asked.append(database.retrievals(limit=1)[0]["retrieval_id"])
            events = database.audit_events(limit=10_000)
            assert [event.scope_seq for event in events] == list(range(len(events), 0, -1))
            assert database.verify_audit().damages == ()
            assert [record["retrieval_id"] for record in reversed(database.retrievals(limit=100))] == asked
            for memory in database.memories():
                revisions = [version.memory.revision for version in database.memory_history(memory.memory_id)]
                assert revisions == sorted(set(revisions))
            found = {(item.outcome, item.cause) for item in database.replay_all()}
            assert found <= {("identical", None), ("different", "row_erased")}
        assert problems(path) == []


def test_what_an_expiry_means_when_the_clock_is_set_back(tmp_path: Path) -> None:
    """By the clock passed in, at once, both ways: not found after its time, found again when that time is yet to come."""
    clock = JumpyClock()
    with ResearchDatabase.create(tmp_path / "x.db", SCOPE, actor="ana", clock=clock, embedder=lambda: None) as database:
        database.add_memory(
            memory_id="m", title="Zinc", content="zinc", expires_at=to_text(clock.now + timedelta(hours=1))
        )
        database.set_memory_status("m", "published", "measured")
        seen = []
        for seconds in (0, 3600, -1, 1, -7200):
            clock.jump(seconds)
            seen.append(len(database.search("zinc", plan={"tool_rounds": [["research-memory"]]}).evidence))
        assert seen == [1, 0, 1, 0, 1]
        assert {item.outcome for item in database.replay_all()} == {"identical"}


# --- Time zones -------------------------------------------------------------------------------------------------------

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows takes its zone from the registry, not from TZ")


def times_of(path: Path) -> list[str]:
    """Every time that stands in the file, whatever the column is called."""
    reader = open_reader(path)
    try:
        tables = [
            row[0]
            for row in reader.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%STRICT%'")
        ]
        values = [value for table in tables for row in reader.execute(f"SELECT * FROM {table}") for value in row]
        return [value for value in values if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d[T ]", value)]
    finally:
        reader.close()


@posix
def test_two_processes_in_two_time_zones(tmp_path: Path) -> None:
    """Fifteen hours apart by the wall, they write one file at once: every time is UTC and lies between begin and end."""
    begun, path = utc_now(), new_file(tmp_path)
    steps = (*WRITES, "search")
    workers = [Process(path, f"w{number}", steps, environment={"TZ": zone}) for number, zone in enumerate(ZONES)]
    with all_ended(workers):
        for worker in workers:
            worker.wait_until_ready()
        for worker in workers:
            worker.go()
        time.sleep(1.5)
        for worker in workers:
            worker.stop()
    ended = utc_now()
    assert (losses(path, [done for worker in workers for done in worker.acknowledged()]), problems(path)) == ([], [])
    times = times_of(path)
    assert len(times) > 50 and all(text.endswith("Z") and len(text) == 27 for text in times)
    assert begun <= min(map(from_text, times)) and max(map(from_text, times)) <= ended


@posix
def test_both_machines_read_the_same(tmp_path: Path) -> None:
    """Every command prints the same times in both zones, and what was answered in one replays as identical in the other."""
    (tmp_path / "a.md").write_text("# Router\n\nThe router keeps a budget.\n", "utf-8")

    def arr(zone: str, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "arr_sql", *words], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8",
            env={**os.environ, "TZ": zone, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    here, there = ZONES
    arr(here, "init", "--team", "vision", "--name", "lumen")
    arr(here, "add", "--no-embed", "a.md")
    arr(there, "memory", "add", "--id", "m", "--title", "Router", "--content", "router budget", "--source", "a.md")
    arr(here, "memory", "publish", "m")
    arr(there, "search", "router budget")
    for words in (("audit", "list"), ("audit", "list", "--json"), ("memory", "history", "m"), ("memory", "show", "m", "--json"),
                  ("memory", "list"), ("status",), ("memory", "list", "--since", "today", "--json")):  # fmt: skip
        assert arr(here, *words) == arr(there, *words), words
    for zone in ZONES:
        assert "1 retrievals: 1 identical" in arr(zone, "replay", "--all")
