"""Several processes on one file: no lost row, no `database is locked`, an audit chain without a gap."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from arr_sql.core.connection import open_writer
from arr_sql.database import ResearchDatabase
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, MakeDatabase

ROOT = Path(__file__).resolve().parents[2]
PLAN = {"version": 1, "tool_rounds": [[{"tool": "bm25"}, {"tool": "research-memory"}]], "reason": "test"}

OPEN = """
import json, sys
from pathlib import Path
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError
given = json.loads(sys.argv[1])
database = ResearchDatabase(Path(given["path"]), ScopeKey(**given["scope"]), actor=given["name"], embedder=lambda: None)
print("ready", flush=True)
sys.stdin.readline()
"""

# Look first, then insert: what fails with "database is locked" when the transaction begins as a reader.
SAVE = (
    OPEN
    + """
for turn in range(given["turns"]):
    memory_id = f"{given['name']}-{turn}"
    try:
        database.memory(memory_id)
        raise SystemExit("found what nobody wrote")
    except InputError:
        database.add_memory(memory_id=memory_id, kind="knowledge", title=f"title {turn}", content=f"content of {memory_id}")
print("done")
"""
)

READ = (
    OPEN
    + """
import threading
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
seen, searches = 0, 0
while not stop.is_set():
    count = len(database.memories())
    if count < seen:
        raise SystemExit(f"{seen} memories, then {count}")
    seen, searches = count, searches + 1
    database.search("shared router", plan=given["plan"], write_record=False)
print(searches)
"""
)

SEARCH = (
    OPEN
    + """
for turn in range(given["turns"]):
    result = database.search(f"shared router {turn}", plan=given["plan"])
    if result.degradations or not result.evidence:
        raise SystemExit(repr(result))
    print(result.retrieval_id)
"""
)


class Started:
    """One process that waits for a word on its standard input before it goes on."""

    def __init__(self, code: str, path: Path, name: str, turns: int) -> None:
        given = {"path": str(path), "scope": SCOPE.model_dump(), "name": name, "turns": turns, "plan": PLAN}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(given)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]

    def say(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self) -> list[str]:
        """The lines it printed; it must have ended well and said nothing on stderr."""
        out, err = self.process.communicate(timeout=300)
        assert (self.process.returncode, err) == (0, "")
        return out.splitlines()


def run_together(writers: Sequence[Started]) -> list[list[str]]:
    for writer in writers:
        writer.say()
    return [writer.end() for writer in writers]


def test_two_agents_save_while_a_third_reads(make_database: MakeDatabase) -> None:
    """Two processes look up and save 100 memories each while one reads without a pause: all 200 are there (store-01)."""
    database = make_database()
    reader = Started(READ, database.path, "reader", 0)
    writers = [Started(SAVE, database.path, name, 100) for name in ("a", "b")]
    reader.say()
    assert run_together(writers) == [["done"], ["done"]]
    reader.say()
    assert int(reader.end()[0]) > 0
    ids = {memory.memory_id for memory in database.memories()}
    assert ids == {f"{name}-{turn}" for name in ("a", "b") for turn in range(100)}
    events = database.audit_events("memory_added", limit=1000)
    assert (len(events), {event.subject_id for event in events}) == (200, ids)
    report = database.verify_audit()
    assert (report.damages, report.events) == ((), 201)
    assert check_store(database.path).passed


def test_eight_writers_of_two_kinds(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Four processes save memories and four record searches at once: every row and its event is there, ids are unique."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Shared\n\nThe shared router has a budget.\n", "utf-8")
    database = make_database()
    database.add(tmp_path / "notes")
    savers = [Started(SAVE, database.path, f"saver{n}", 15) for n in range(4)]
    searchers = [Started(SEARCH, database.path, f"searcher{n}", 15) for n in range(4)]
    printed = run_together([*savers, *searchers])
    retrieval_ids = [line for lines in printed[4:] for line in lines]
    assert len(set(retrieval_ids)) == 60
    assert {record["retrieval_id"] for record in database.retrievals(limit=1000)} == set(retrieval_ids)
    assert sorted(record["scope_seq"] for record in database.retrievals(limit=1000)) == list(range(1, 61))
    assert len(database.memories()) == 60
    events = database.audit_events(limit=1000)
    assert [event.scope_seq for event in events] == list(range(len(events), 0, -1))
    assert {kind: sum(event.kind == kind for event in events) for kind in ("memory_added", "retrieval")} == {
        "memory_added": 60, "retrieval": 60,
    }  # fmt: skip
    assert check_store(database.path).passed


def test_past_the_timeout_one_clear_message_and_its_own_exit_code(tmp_path: Path) -> None:
    """When another process holds the lock for longer than the timeout: one line, exit code 4, nothing written."""
    command = [sys.executable, "-m", "arr_sql"]
    subprocess.run(
        [*command, "init", "--team", "vision", "--name", "lumen"], cwd=tmp_path, check=True, capture_output=True
    )
    (tmp_path / "a.md").write_text("# A\n\nalphaword\n", "utf-8")
    path = tmp_path / ".arr" / "arr.db"
    holder = open_writer(path)
    holder.execute("BEGIN IMMEDIATE")
    waiting = [
        subprocess.Popen([*command, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for words in (("memory", "add", "--title", "t", "--content", "c"), ("add", "a.md", "--no-embed"))
    ]
    ended = [(process.communicate(timeout=120), process.returncode) for process in waiting]
    holder.execute("ROLLBACK")
    holder.close()
    for (out, err), code in ended:
        assert (out, code, err.count("\n")) == ("", 4, 1)
        assert err.startswith("Error: Another process ") and "again." in err
    with ResearchDatabase(path, SCOPE) as database:
        assert database.scopes() == []


def test_an_answer_does_not_wait_for_ever_for_its_record(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Readers need no lock: while a writer keeps it past the timeout a search answers, and says that it is not recorded."""
    (tmp_path / "a.md").write_text("# Shared\n\nThe shared router has a budget.\n", "utf-8")
    database = make_database(folder=tmp_path)
    database.add(tmp_path / "a.md")
    database._write().execute("PRAGMA busy_timeout=100")
    holder = open_writer(database.path)
    holder.execute("BEGIN IMMEDIATE")
    found = database.search("shared router", plan=PLAN)
    holder.execute("ROLLBACK")
    holder.close()
    assert [item.source_ref for item in found.evidence] == ["a.md"]
    assert (found.retrieval_id, [str(item.code) for item in found.degradations]) == (
        "unrecorded",
        ["record_not_written"],
    )
    assert database.search("shared router", plan=PLAN).degradations == ()


def test_a_short_wait_is_not_an_error(tmp_path: Path) -> None:
    """A lock that is held for less than the timeout only delays the other writer."""
    command = [sys.executable, "-m", "arr_sql"]
    subprocess.run(
        [*command, "init", "--team", "vision", "--name", "lumen"], cwd=tmp_path, check=True, capture_output=True
    )
    holder = open_writer(tmp_path / ".arr" / "arr.db")
    holder.execute("BEGIN IMMEDIATE")
    process = subprocess.Popen(
        [*command, "memory", "add", "--title", "t", "--content", "c", "--id", "m1"], cwd=tmp_path,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(2)
    assert process.poll() is None
    holder.execute("ROLLBACK")
    holder.close()
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")


def test_the_same_id_saved_twice_at_once_has_one_winner(make_database: MakeDatabase) -> None:
    """Two processes that save the same new memory: one row, one accepted event, and the other is told (conc-01)."""
    database = make_database()
    code = (
        OPEN
        + """
from arr_sql.errors import StateError
try:
    database.add_memory(memory_id="same", kind="knowledge", title="t", content=f"by {given['name']}")
    print("saved")
except StateError as error:
    print(f"told: {error}")
"""
    )
    printed = run_together([Started(code, database.path, name, 1) for name in ("a", "b")])
    told = "told: Memory 'same' exists in this scope already. Choose another --id, or leave it out."
    assert sorted(line for lines in printed for line in lines) == ["saved", told]
    assert [event.subject_id for event in database.audit_events("memory_added")] == ["same"]
