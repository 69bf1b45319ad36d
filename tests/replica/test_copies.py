"""A copy in a folder: begun, watched, restored, followed, purged; with the real engine on real files."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.clock import utc_now
from arr_sql.core.connection import SQLITE_VERSION, WAL_RESET_FIXED, open_reader
from arr_sql.core.table_rows import table_names, table_rows
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, ReplicaError, StateError, StoreDamaged, StoreReadOnly
from arr_sql.memory.store_check import check_store
from arr_sql.replica.copying import copy_continuously, only_process, require_fit
from arr_sql.replica.engine import find_engine, list_store
from arr_sql.replica.purge import purge_store
from arr_sql.replica.register import copies_elsewhere, latest_target
from arr_sql.replica.restore import Restored, follow_store, restore_store
from arr_sql.replica.status import replica_status
from arr_sql.replica.taken import taken_folder
from arr_sql.replica.target import Target, parse_target
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, other_scopes
from tests.replica.support import needs_engine

PLAN: Any = {"tool_rounds": [["bm25", "research-memory", "vector"]]}


@pytest.fixture
def database(make_database: MakeDatabase, write: Callable[..., Path], tmp_path: Path) -> ResearchDatabase:
    """A project with two scopes that hold texts, and three recorded retrievals."""
    write("notes/warmup.md", "# Warmup\n\nWarmup takes 2000 steps. 学习率减半。\n")
    write("notes/data.md", "# Data\n\nTwelve shards of warmup data.\n")
    neighbour = make_database(scope=other_scopes()[0], clock=utc_now)
    neighbour.add_memory(title="Neighbour", content="Their warmup takes 9 steps.")
    made = make_database(clock=utc_now)
    made.add(tmp_path / "notes")
    for query in ("warmup steps", "学习率", "shards"):
        assert made.search(query, plan=PLAN).evidence
    return made


def once(database: ResearchDatabase, target: Target) -> None:
    copy_continuously(database.path, target, actor="ana", is_once=True)


def follow_once(target: Target, output: Path) -> None:
    follow_store(target, output, every=1, tell=lambda made: None, rounds=1)


@contextmanager
def make_other(folder: Path) -> Iterator[ResearchDatabase]:
    """Another project's file."""
    with ResearchDatabase.create(
        folder / "other" / "arr.db", SCOPE, project_folder=folder / "other", embedder=FakeEmbedder
    ) as made:
        made.add_memory(title="Theirs", content="The only copy of it.")
        yield made


def link(name: Path, leads_to: Path) -> None:
    try:
        name.symlink_to(leads_to, target_is_directory=leads_to.is_dir())
    except OSError:
        pytest.skip("this account may not make links here")


def contents(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Every row of every ordinary table."""
    reader = open_reader(path)
    try:
        return {name: list(table_rows(reader, name)) for name in table_names(reader)}
    finally:
        reader.close()


def answers(path: Path, folder: Path, scope: Any = SCOPE) -> list[Any]:
    """What a search gives in a scope, without ids of records and durations."""
    with ResearchDatabase(path, scope, project_folder=folder, embedder=FakeEmbedder) as opened:
        return [item.model_dump() for item in opened.search("warmup 学习率", plan=PLAN).evidence]


@needs_engine
def test_a_restored_file_is_the_file(database: ResearchDatabase, tmp_path: Path) -> None:
    """Every row of it, whole, with the same answers in each scope and the same retrievals; and it can be written."""
    target = parse_target(str(tmp_path / "copy"))
    once(database, target)
    made = restore_store(target, tmp_path / "other" / "arr.db")
    copy = Path(made.file)
    assert contents(copy) == contents(database.path)
    assert made.last_event_at is not None and made.missing == ()
    before = copy.read_bytes()
    found = database.compare_copy(copy)
    assert (found.passed, found.missing_events, found.failed_checks) == (True, 0, ())
    assert copy.read_bytes() == before and [item.name for item in copy.parent.iterdir()] == [copy.name]
    assert [item.outcome for item in found.replays] == ["identical"] * 3
    assert contents(copy) == contents(database.path)  # comparing wrote into neither
    for scope in (SCOPE, other_scopes()[0], other_scopes()[1]):
        assert answers(copy, tmp_path, scope) == answers(database.path, tmp_path, scope)


@needs_engine
def test_what_a_copy_lacks_is_said(database: ResearchDatabase, tmp_path: Path) -> None:
    """Status says that something is missing, and comparing says how many events."""
    target = parse_target(str(tmp_path / "copy"))
    assert replica_status(database.path, target).transaction is None
    once(database, target)
    whole = replica_status(database.path, target)
    assert (whole.is_complete, whole.lag_seconds, whole.is_running) == (True, 0.0, False)
    database.add_memory(title="Later", content="Not copied yet.")
    behind = replica_status(database.path, target)
    assert not behind.is_complete and behind.lag_seconds is not None and behind.lag_seconds > 0
    restore_store(target, tmp_path / "restored.db")
    found = database.compare_copy(tmp_path / "restored.db")
    assert (found.passed, found.missing_events) == (True, 1) and found.missing_seconds > 0
    once(database, target)
    assert replica_status(database.path, target).is_complete


@needs_engine
def test_a_state_of_the_past(database: ResearchDatabase, tmp_path: Path) -> None:
    """`at` gives the file as it was then; a time before the first copy is refused with how far back it goes."""
    target = parse_target(str(tmp_path / "copy"))
    once(database, target)
    before = contents(database.path)
    time.sleep(1.1)  # the store's times are whole seconds
    moment = utc_now()
    time.sleep(1.1)
    database.add_memory(title="Later", content="After that moment.")
    once(database, target)
    restore_store(target, tmp_path / "then.db", at=moment)
    assert contents(tmp_path / "then.db") == before
    restore_store(target, tmp_path / "now.db", at=utc_now())
    assert contents(tmp_path / "now.db") == contents(database.path)
    with pytest.raises(InputError, match="The store goes back to"):
        restore_store(target, tmp_path / "never.db", at=moment.replace(year=2020))
    assert not (tmp_path / "never.db").exists()


@needs_engine
def test_anchors_of_the_source_hold_for_the_copy(database: ResearchDatabase, tmp_path: Path) -> None:
    """An anchor that was copied agrees; one made later is told as missing; one of another log refuses the file."""
    target = parse_target(str(tmp_path / "copy"))
    anchor, _ = database.anchor_audit(None)
    once(database, target)
    database.add_memory(title="Later", content="x")
    later, _ = database.anchor_audit(None)
    assert restore_store(target, tmp_path / "a.db", anchors=[anchor]).missing == ()
    (missing,) = restore_store(target, tmp_path / "b.db", anchors=[anchor, later]).missing
    assert str(later.seq) in missing
    with pytest.raises(StoreDamaged, match="not the one that was anchored"):
        restore_store(target, tmp_path / "c.db", anchors=[replace(anchor, head="0" * 64)])
    assert not (tmp_path / "c.db").exists()


@needs_engine
def test_a_read_copy(database: ResearchDatabase, tmp_path: Path) -> None:
    """It answers as the source does in every scope, SQLite itself refuses to write to it, and a newer one takes its place."""
    target, copy = parse_target(str(tmp_path / "copy")), tmp_path / "read.db"
    told: list[Restored] = []
    once(database, target)
    for left in (".read.db.4711.part", ".read.db.4711.part-wal", ".read.db.4711.part.tmp", ".read.db.4711.partly"):
        (tmp_path / left).write_bytes(b"of a run that was killed")
    follow_store(target, copy, every=0.01, tell=told.append, rounds=3)
    assert [item.name for item in tmp_path.glob(".read.db.*")] == [".read.db.4711.partly"]
    assert len(told) == 1 and check_store(copy).passed
    for scope in (SCOPE, other_scopes()[0], other_scopes()[1]):
        assert answers(copy, tmp_path, scope) == answers(database.path, tmp_path, scope)
    with ResearchDatabase(copy, SCOPE, project_folder=tmp_path, embedder=FakeEmbedder) as reader:
        with pytest.raises(StoreReadOnly):
            reader.add_memory(title="Lost", content="The next update would take it away.")
        database.add_memory(title="Later", content="y")
        once(database, target)
        follow_store(target, copy, every=0.01, tell=told.append, rounds=1)
        assert len(reader.memories("candidate")) == 0  # who had it open goes on reading what it opened
    assert told[-1].events > told[0].events
    found = database.compare_copy(copy)
    assert (found.passed, found.missing_events, len(found.replays)) == (True, 0, 4)
    os.chmod(copy, 0o644)
    with sqlite3.connect(copy) as stock, pytest.raises(sqlite3.OperationalError, match="readonly"):
        stock.execute("CREATE TABLE t (x)")
    stock.close()
    with ResearchDatabase(copy, SCOPE, project_folder=tmp_path, embedder=FakeEmbedder) as reader:
        reader.backup(tmp_path / "own.db")
    with ResearchDatabase(tmp_path / "own.db", SCOPE, project_folder=tmp_path, embedder=FakeEmbedder) as own:
        own.add_memory(title="Mine", content="A copy of the copy can be written.")


@needs_engine
def test_a_read_copy_replaces_no_other_file(database: ResearchDatabase, tmp_path: Path) -> None:
    """A database of one's own stays."""
    target = parse_target(str(tmp_path / "copy"))
    once(database, target)
    database.backup(tmp_path / "mine.db")
    with pytest.raises(InputError, match="not a read copy"):
        follow_store(target, tmp_path / "mine.db", every=1, tell=print, rounds=1)
    with pytest.raises(InputError, match="exists already"):
        restore_store(target, tmp_path / "mine.db")


@needs_engine
def test_a_store_belongs_to_one_file(database: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path) -> None:
    """Another file's store, a folder of something else and the database's own folder are refused; another target begins anew."""
    target, second = parse_target(str(tmp_path / "copy")), parse_target(str(tmp_path / "second"))
    once(database, target)
    stranger = make_database(path=tmp_path / "elsewhere" / "arr.db")
    with pytest.raises(InputError, match="the copy of another file"):
        once(stranger, target)
    with pytest.raises(InputError, match="holds something else"):
        once(database, parse_target(str(tmp_path / "notes")))
    with pytest.raises(InputError, match="holds the database itself"):
        once(database, parse_target(str(database.path.parent)))
    once(database, second)
    once(database, target)
    shutil.rmtree(tmp_path / "second")
    once(database, second)  # emptied by hand
    for place in (target, second):
        assert restore_store(place, tmp_path / f"{Path(place.text).name}.db").transaction > 0
    assert latest_target(database.path) == second
    restored = ResearchDatabase(tmp_path / "second.db", SCOPE, project_folder=tmp_path, embedder=FakeEmbedder)
    once(restored, second)  # the machine was replaced: the restored file goes on where its copy ended
    restored.close()
    assert check_store(Path(restore_store(second, tmp_path / "again.db").file)).passed


@needs_engine
def test_two_machines_one_after_the_other(database: ResearchDatabase, tmp_path: Path) -> None:
    """B goes on where A's copy ended, then A comes back with writes of its own: the store holds whole states, never a mixture."""
    target = parse_target(str(tmp_path / "copy"))
    once(database, target)
    b = Path(restore_store(target, tmp_path / "b.db").file)
    database.add_memory(title="Lost", content="Only A knows. " * 500)
    once(database, target)
    (lost,) = (Path(target.text) / "ltx").rglob("*2.ltx")
    lost.unlink()  # taken beside the file, but its copy never arrived
    with ResearchDatabase(b, SCOPE, project_folder=tmp_path, embedder=FakeEmbedder) as other:
        other.add_memory(title="From B", content="Written after the restore.")
        once(other, target)
        assert contents(Path(restore_store(target, tmp_path / "1.db").file)) == contents(b)
        once(database, target)
        assert contents(Path(restore_store(target, tmp_path / "2.db").file)) == contents(database.path)
        other.add_memory(title="From B again", content="As long as the two take turns.")
        once(other, target)
        assert contents(Path(restore_store(target, tmp_path / "3.db").file)) == contents(b)
        database.add_memory(title="From A", content="At last.")
        once(database, target)
    assert contents(Path(restore_store(target, tmp_path / "4.db").file)) == contents(database.path)


@needs_engine
def test_what_was_taken_is_kept_when_it_is_the_stores_own(database: ResearchDatabase, tmp_path: Path) -> None:
    """A second start goes on with what is new: no second snapshot of everything."""
    target = parse_target(str(tmp_path / "copy"))
    database.add_memory(title="Long", content="".join(f"{n:x} " for n in range(20_000)))
    once(database, target)
    database.add_memory(title="Short", content="x")
    once(database, target)
    first, second = (file for file in list_store(database.path, target) if file.level == 0)
    assert second.size < first.size / 2


@needs_engine
def test_forgetting_names_the_copies_and_purging_empties_them(database: ResearchDatabase, tmp_path: Path) -> None:
    """Erasing says where older states are, takes away what lies beside the file, and a purge leaves no state that has it."""
    target = parse_target(str(tmp_path / "copy"))
    once(database, target)
    report = database.forget(source_refs=["notes/data.md"])
    assert report.replicas == (target.text,) and not taken_folder(database.path).exists()
    restore_store(target, tmp_path / "before.db")
    assert b"Twelve shards" in (tmp_path / "before.db").read_bytes()
    before = len(list_store(database.path, target))
    done = purge_store(database.path, target, actor="ana")
    assert (done.removed, done.kept) == (before, len(list_store(database.path, target)))
    restore_store(target, tmp_path / "after.db")
    assert b"Twelve shards" not in (tmp_path / "after.db").read_bytes()
    assert replica_status(database.path, target).is_complete and [p.name for p in Path(target.text).iterdir()] == [
        "ltx"
    ]
    kinds = [row["kind"] for row in contents(database.path)["audit_event"] if row["subject_kind"] == "replica"]
    assert kinds == ["replica_started", "replica_purged"]
    shutil.rmtree(target.text)
    reader = open_reader(database.path)
    assert copies_elsewhere(reader) == (target.text,)  # its disk may only be somewhere else today
    reader.close()


@needs_engine
@pytest.mark.parametrize("state", ["set aside", "half a successor", "on its way out"])
def test_a_purge_that_was_killed(database: ResearchDatabase, tmp_path: Path, state: str) -> None:
    """Whatever it left, the next copy or purge finds a whole store and leaves nothing lying about."""
    target, folder = parse_target(str(tmp_path / "copy")), tmp_path / "copy"
    once(database, target)
    (folder / "ltx").rename(folder / ("ltx.doomed" if state == "on its way out" else "ltx.old"))
    if state == "half a successor":
        (folder / "ltx" / "0").mkdir(parents=True)
        (folder / "ltx" / "0" / ("0" * 15 + "1-" + "0" * 15 + "1.ltx")).write_bytes(b"LTX1 and no more")
    once(database, target)
    assert contents(Path(restore_store(target, tmp_path / "a.db").file)) == contents(database.path)
    assert [item.name for item in folder.iterdir()] == ["ltx"]
    purge_store(database.path, target, actor="ana")
    assert contents(Path(restore_store(target, tmp_path / "b.db").file)) == contents(database.path)


@needs_engine
def test_what_a_killed_purge_set_aside_is_named(database: ResearchDatabase, tmp_path: Path) -> None:
    """Who restores is told where the copy is; another file neither takes the folder nor undoes the purge in it."""
    target, folder = parse_target(str(tmp_path / "copy")), tmp_path / "copy"
    once(database, target)
    (folder / "ltx").rename(folder / "ltx.old")
    for make in (lambda: restore_store(target, tmp_path / "a.db"), lambda: follow_once(target, tmp_path / "b.db")):
        with pytest.raises(InputError, match=r"rename 'ltx\.old' to 'ltx'"):
            make()
    with make_other(tmp_path) as stranger, pytest.raises(InputError, match="the copy of another file"):
        once(stranger, target)
    assert [item.name for item in folder.iterdir()] == ["ltx.old"]
    (folder / "ltx.old").rename(folder / "ltx")
    assert contents(Path(restore_store(target, tmp_path / "a.db").file)) == contents(database.path)


@needs_engine
def test_another_file_s_copy_is_neither_purged_nor_reported_on(database: ResearchDatabase, tmp_path: Path) -> None:
    """It may be the only one there is. Nothing of it is touched, and it is never called complete."""
    target = parse_target(str(tmp_path / "theirs"))
    with make_other(tmp_path) as stranger:
        once(stranger, target)
        held = list_store(stranger.path, target)
        once(database, parse_target(str(tmp_path / "copy")))
        for ask in (replica_status, partial(purge_store, actor="ana")):
            with pytest.raises(InputError, match="holds the copy of another file"):
                ask(database.path, target)
        assert list_store(stranger.path, target) == held
        assert contents(Path(restore_store(target, tmp_path / "a.db").file)) == contents(stranger.path)


@needs_engine
def test_a_store_that_another_machine_went_on_with_is_not_complete(tmp_path: Path) -> None:
    """Its newest file has a higher number and a later time than anything here, and lacks what was written here."""
    target = parse_target(str(tmp_path / "copy"))
    with make_other(tmp_path) as made:
        once(made, target)
        made.add_memory(title="Only here", content="x")
    b = Path(restore_store(target, tmp_path / "b.db").file)
    with ResearchDatabase(b, SCOPE, embedder=FakeEmbedder) as other:
        for number in range(2):
            other.add_memory(title=f"There {number}", content="x")
            once(other, target)
    assert replica_status(b, target).is_complete and not replica_status(made.path, target).is_complete


@needs_engine
def test_a_clock_that_was_set_back_makes_nothing_complete(tmp_path: Path) -> None:
    """What was written since has an older time than the copy, and is in no log beside the file; the next copy has it."""
    target = parse_target(str(tmp_path / "copy"))
    with make_other(tmp_path) as made:
        path = made.path
    once(made, target)
    late = ResearchDatabase(path, SCOPE, clock=lambda: utc_now() - timedelta(hours=1), embedder=FakeEmbedder)
    late.add_memory(title="Late", content="x")
    late.close()  # the last one: SQLite takes the log away
    assert not path.with_name(path.name + "-wal").exists()
    assert not replica_status(path, target).is_complete
    once(made, target)
    assert replica_status(path, target).is_complete


@needs_engine
def test_what_a_purge_cannot_remove_is_said(database: ResearchDatabase, tmp_path: Path) -> None:
    """Files that stay where a link leads, or that can't be removed, still hold what was erased."""
    target, folder = parse_target(str(tmp_path / "copy")), tmp_path / "copy"
    once(database, target)
    (folder / "ltx").rename(tmp_path / "elsewhere")
    link(folder / "ltx", tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link"):
        purge_store(database.path, target, actor="ana")
    (folder / "ltx").unlink()
    (tmp_path / "elsewhere").rename(folder / "ltx")
    link(folder / "ltx.doomed", tmp_path / "notes")
    with pytest.raises(ReplicaError, match=r"ltx\.doomed' could not be removed whole"):
        purge_store(database.path, target, actor="ana")
    assert list_store(database.path, target) and (tmp_path / "notes").is_dir()


@needs_engine
def test_an_erasure_that_was_interrupted_leaves_nothing_beside_the_file(
    database: ResearchDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows gone, then the end: `resume_forgetting` removes what the engine keeps, by a link's name too, and not beside a copy."""
    target = parse_target(str(tmp_path / "copy"))
    once(database, target)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("arr_sql.replica.taken.forget_taken", stop)
    with pytest.raises(KeyboardInterrupt):
        database.forget(source_refs=["notes/data.md"])
    monkeypatch.undo()
    assert list(taken_folder(database.path).rglob("*.ltx"))
    link(tmp_path / "link.db", database.path)
    with ResearchDatabase(tmp_path / "link.db", SCOPE, project_folder=tmp_path, embedder=FakeEmbedder) as linked:
        with only_process(database.path), pytest.raises(StateError, match="is running"):
            linked.resume_forgetting()
        assert len(linked.resume_forgetting()) == 1
        assert linked.copies_elsewhere() == (target.text,)
        with only_process(database.path), pytest.raises(StateError, match="is running"):
            linked.forget(source_refs=["notes/warmup.md"])
    assert not taken_folder(database.path).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a file has no such permissions there")
@needs_engine
def test_a_read_copy_is_no_more_readable_than_it_was_made(database: ResearchDatabase, tmp_path: Path) -> None:
    """Where only the owner may read what is made, only the owner may read the copy."""
    target = parse_target(str(tmp_path / "copy"))
    once(database, target)
    before = os.umask(0o077)
    try:
        follow_once(target, tmp_path / "read.db")
    finally:
        os.umask(before)
    assert (tmp_path / "read.db").stat().st_mode & 0o777 == 0o400


@needs_engine
def test_a_store_on_the_network_is_emptied_with_its_own_tools(database: ResearchDatabase) -> None:
    """The error says how."""
    with pytest.raises(InputError, match="aws s3 rm --recursive s3://lab/lumen"):
        purge_store(database.path, parse_target("s3://lab/lumen"), actor="ana")


@pytest.mark.skipif(SQLITE_VERSION >= WAL_RESET_FIXED, reason="this SQLite has the fix; the older one runs in .ci/run")
def test_an_old_sqlite_is_refused(database: ResearchDatabase) -> None:
    """Two that reset the WAL at the same instant can damage the file."""
    with pytest.raises(StateError, match=r"3\.51\.3 is needed"):
        require_fit(database.path)


def test_an_engine_that_is_missing_or_too_old(tmp_path: Path) -> None:
    """Each says what to do."""
    with pytest.raises(ReplicaError, match=r"pip install 'arr-sql\[replica\]'"):
        find_engine([str(tmp_path)])
    if sys.platform != "win32":
        old = tmp_path / "litestream"
        old.write_text("#!/bin/sh\necho v0.3.13\n", "utf-8")
        old.chmod(0o755)
        with pytest.raises(ReplicaError, match=r"is Litestream v0\.3\.13; 0\.5 or newer is needed"):
            find_engine([str(tmp_path)])
