"""Vacuum: the file gets smaller and stays the same; killed, or without room, it is as it was."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import SQLITE_VERSION, open_reader, open_writer
from arr_sql.core.process_lock import SYNC_LOCK, process_lock
from arr_sql.database import ResearchDatabase
from arr_sql.errors import StoreBusy, StoreFull
from arr_sql.index.text_index import SECURE_DELETE
from arr_sql.memory import vacuuming
from arr_sql.memory.store_check import check_store
from tests.conftest import MakeDatabase, StepClock

Write = Callable[[str, str | bytes], Path]
VACUUM = """
import sys
from pathlib import Path
from arr_sql.core.clock import utc_now
from arr_sql.core.connection import open_writer
from arr_sql.memory.vacuuming import vacuum
writer = open_writer(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    vacuum(writer, Path(sys.argv[1]), actor="a", now=utc_now())
"""


@pytest.fixture
def database(make_database: MakeDatabase, write: Write, tmp_path: Path) -> ResearchDatabase:
    """Several batches of notes, half of them gone again, so that pages are empty and the index has segments."""
    made = make_database()
    chance = random.Random(1)
    for batch in range(3):
        for number in range(30):
            words = " ".join(f"word{chance.randrange(3000)} 学习率" for _ in range(40))
            write(f"notes/b{batch}/n{number}.md", f"# Note {number}\n\n{words}\n")
        made.add(tmp_path / "notes")
    made.embed()
    made.forget(source_refs=[f"notes/b2/n{number}.md" for number in range(30)])
    return made


def answers(database: ResearchDatabase) -> list[Any]:
    found = []
    for query in ("word7 word99", "学习率", "note 12"):
        value = database.search(query, write_record=False).model_dump(mode="json")
        found.append({**value, "traces": [{**trace, "duration_ms": 0} for trace in value["traces"]]})
    return found


def test_it_gives_space_back_and_changes_no_answer(database: ResearchDatabase) -> None:
    """Fewer bytes than before, no empty page, no log; every answer, check and event as it was, and one event more."""
    with_gaps = open_writer(database.path)
    with_gaps.execute("CREATE TABLE filler (x)")
    with_gaps.execute("INSERT INTO filler VALUES (randomblob(2000000))")
    with_gaps.execute("DROP TABLE filler")
    with_gaps.close()
    before, events = answers(database), len(database.audit_events(limit=10_000))
    space = database.space()
    assert space.free >= 2_000_000 and space.needed == 2 * (space.file - space.free)
    was, now = database.vacuum()
    assert now.file <= was.file - was.free and now.free == 0
    assert now.file == database.path.stat().st_size
    assert answers(database) == before and check_store(database.path).passed
    (event,) = database.audit_events(kind="file_vacuumed") or [None]
    assert event is None  # it belongs to the file, not to a scope
    assert len(database.audit_events(limit=10_000)) == events and database.verify_audit().damages == ()
    reader = open_reader(database.path)
    try:
        found = reader.execute("SELECT details FROM audit_event WHERE kind = 'file_vacuumed'").fetchall()
    finally:
        reader.close()
    assert len(found) == 1 and f'"bytes_after":{now.file}' in found[0]["details"]


def test_too_little_room_is_said_before_anything_is_begun(database: ResearchDatabase) -> None:
    """The error names what is needed and what there is; not a byte of the file changes."""
    writer = open_writer(database.path)
    needed, content = database.space().needed, database.path.read_bytes()
    try:
        with pytest.raises(StoreFull, match=rf"takes up to {needed:,} bytes beside it, and its disk has 1,000 free"):
            vacuuming.vacuum(writer, database.path, actor="a", now=StepClock()(), disk=lambda path: 1000)
    finally:
        writer.close()
    assert database.path.read_bytes() == content


def test_a_file_that_may_not_grow_stays_whole(database: ResearchDatabase) -> None:
    """SQLite says that the disk is full in the middle: one clear error, and the file passes its checks."""
    writer = open_writer(database.path)
    try:
        writer.execute(f"PRAGMA max_page_count={writer.execute('PRAGMA page_count').fetchone()[0]}")
        # Before SQLite 3.42 the index is made anew in the pages of the old one, and needs no room.
        merges = SQLITE_VERSION >= SECURE_DELETE
        with pytest.raises(StoreFull, match="free some space") if merges else nullcontext():
            vacuuming.vacuum(writer, database.path, actor="a", now=StepClock()())
    finally:
        writer.close()
    assert check_store(database.path).passed


def test_a_folder_for_temporary_files_without_room_is_named(
    database: ResearchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk of the file has room, so it is another one that is full: the error says which, and how to choose it."""

    def full(*_: object) -> None:
        raise StoreFull("The disk that holds 'x' is full.")

    monkeypatch.setattr(vacuuming, "compact", full)
    with pytest.raises(StoreFull, match="name a roomier one in SQLITE_TMPDIR"):
        database.vacuum()
    monkeypatch.undo()
    database.vacuum()
    assert check_store(database.path).passed


def test_it_waits_for_a_sync_and_for_writers(database: ResearchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a running sync, or an open write transaction, it gives up with StoreBusy and has changed nothing."""
    monkeypatch.setattr(vacuuming, "WAIT_SECONDS", 0.05)
    with process_lock(database.path.with_name(database.path.name + SYNC_LOCK), 1), pytest.raises(StoreBusy):
        database.vacuum()
    writer, impatient = open_writer(database.path), open_writer(database.path, timeout=0.05)
    try:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            vacuuming.vacuum(impatient, database.path, actor="a", now=StepClock()())
        writer.execute("ROLLBACK")
    finally:
        writer.close()
        impatient.close()
    assert check_store(database.path).passed


def test_a_reader_goes_on_and_keeps_its_state(database: ResearchDatabase) -> None:
    """An older state that is being read keeps the log: the error says so, and the next call gives the rest back."""
    reader, impatient = open_reader(database.path), open_writer(database.path, timeout=0.05)
    try:
        reader.execute("BEGIN")
        chunks = reader.execute("SELECT count(*) FROM chunk").fetchone()[0]
        with pytest.raises(StoreBusy, match="is reading an older state"):
            vacuuming.vacuum(impatient, database.path, actor="a", now=StepClock()())
        assert reader.execute("SELECT count(*) FROM chunk").fetchone()[0] == chunks
        reader.execute("COMMIT")
        _, after = vacuuming.vacuum(impatient, database.path, actor="a", now=StepClock()())
    finally:
        reader.close()
        impatient.close()
    assert after.free == 0 and check_store(database.path).passed


def test_killed_at_any_instant_it_loses_nothing(database: ResearchDatabase, make_database: MakeDatabase) -> None:
    """Four kills of a process that vacuums without a pause: after each one the file passes its checks."""
    before, chance = answers(database), random.Random(5)
    database.close()
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", VACUUM, str(database.path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        try:
            assert process.stdout.readline().strip() == b"ready"
            time.sleep(chance.uniform(0, 0.3))
        finally:
            process.kill()
            process.communicate()
        assert check_store(database.path).passed
    assert answers(make_database(folder=database.project_folder)) == before
