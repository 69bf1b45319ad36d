"""Contract 2.3, 2.5, 4.5, 4.6, 7.2, 8.4 and 10.8 in a file of many chunks: 400, and with ``ARR_DEEP=1`` 100,000.

Each promise has tests of its own on small files, which look closely. Here the same is asked of a large one, made once:
what holds among 400 chunks because a limit, a batch or a cut was never reached must hold among 100,000.
``ARR_DEEP=1 pytest tests/promises/test_at_scale.py -s`` shows how long each part took.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_reader, sqlite3
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError
from arr_sql.memory.audit_anchor import anchor_damages, database_hash_at, read_anchors
from arr_sql.memory.audit_verify import verify_audit
from tests.conftest import SCOPE, FakeEmbedder, StepClock, other_scopes
from tests.promises.shared_file import Process, all_ended, incomplete_records, losses, problems

DEEP = os.environ.get("ARR_DEEP") == "1"
CHUNKS, KILLS = (100_000, 6) if DEEP else (400, 2)
PER_FILE, QUIET_CHUNKS = 40, 30
QUIET = other_scopes()[3]
WORDS = [f"word{number}" for number in range(3_000)] + ["router", "budget", "warmup", "lr_decay", "学习率"]
QUERIES = ("router budget", "word7 word11 word2999", "学习率", "lr_decay warmup", "nothing of the kind")
CHANNELS = ("research-memory", "bm25", "vector", "grep")
PLANS: tuple[Any, ...] = (None, *({"tool_rounds": [[name]]} for name in CHANNELS))


def write_files(folder: Path, chunks: int, seed: int) -> None:
    """Markdown files whose sections become a chunk each; every one of them holds ``needle``."""
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    for number, left in enumerate(range(chunks, 0, -PER_FILE)):
        parts = [
            f"## {rng.choice(WORDS)} {number}-{part}\n\nneedle {' '.join(rng.choices(WORDS, k=20))}\n"
            for part in range(min(PER_FILE, left))
        ]
        (folder / f"{number:05}.md").write_text("\n".join(parts), "utf-8")


def opened(path: Path, scope: ScopeKey, folder: Path, **options: Any) -> ResearchDatabase:
    """The file seen from ``scope``, whose texts lie in ``folder``."""
    values: dict[str, Any] = {"project_folder": folder, "actor": "tester", "embedder": FakeEmbedder, **options}
    return ResearchDatabase.create(path, scope, **{"clock": StepClock(), **values})


def fill(path: Path, scope: ScopeKey, folder: Path, notes: str) -> None:
    """Take in and embed one folder."""
    with opened(path, scope, folder) as database:
        database.add(folder / notes)
        database.embed()
        database.add_memory(memory_id="m", title="router", content="the router's budget", kind="knowledge")
        database.set_memory_status("m", "published", "measured")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project folder: ``.arr/arr.db`` with many chunks in SCOPE and few in QUIET, and ``alone.db`` with QUIET's only."""
    folder, started = tmp_path_factory.mktemp("scale"), time.perf_counter()
    write_files(folder / "many", CHUNKS, 1)
    write_files(folder / "few", QUIET_CHUNKS, 2)
    path = folder / ".arr" / "arr.db"
    fill(path, SCOPE, folder, "many")
    fill(path, QUIET, folder, "few")
    fill(folder / "alone.db", QUIET, folder, "few")
    for name in (path, folder / "alone.db"):
        connection = sqlite3.connect(str(name))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    print(f"\n{CHUNKS:,} chunks, {path.stat().st_size / 1e6:,.0f} MB, made in {time.perf_counter() - started:.0f} s")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def copy(large: Path, tmp_path: Path) -> Path:
    """A copy of the large file in a project folder of its own."""
    path = tmp_path / ".arr" / "arr.db"
    path.parent.mkdir()
    shutil.copy(large / ".arr" / "arr.db", path)
    return path


def said(database: ResearchDatabase, *, k: int = 10) -> list[Any]:
    """All that the scope is told: answers without durations, plans, status without the file's own size and place."""
    told: list[Any] = []
    for query in QUERIES:
        for plan in PLANS:
            found = database.search(query, plan=plan, k=k).model_dump(mode="json")
            for trace in found["traces"]:
                del trace["duration_ms"]
            told.append(found)
    status = {name: value for name, value in database.status().items() if name not in ("database", "file_bytes")}
    events = [(event.kind, event.scope_seq) for event in database.audit_events(limit=100)]
    with pytest.raises(InputError) as refused:
        database.chunk("c" + "0" * 20)
    return [*told, status, events, str(refused.value)]


def test_many_chunks_of_another_scope_change_nothing(large: Path, copy: Path) -> None:
    """2.3: evidence, scores, traces, ids, status and errors are the same beside all those chunks and without them."""
    with opened(copy, QUIET, large) as among:
        told_among = said(among)
    alone = copy.with_name("alone.db")
    shutil.copy(large / "alone.db", alone)
    with opened(alone, QUIET, large) as database:
        assert said(database) == told_among


@pytest.mark.parametrize("channel", ["bm25", "vector", "grep"])
def test_a_small_scope_is_filled_beside_them(large: Path, copy: Path, channel: str) -> None:
    """2.5: each channel gives all of the small scope's chunks, though every chunk of the large one matches too."""
    with opened(copy, QUIET, large) as database:
        found = database.search("needle", plan={"tool_rounds": [[channel]]}, k=100)
    assert len(found.evidence) == QUIET_CHUNKS
    assert {item.scope.values() for item in found.evidence} == {QUIET.values()}


def test_the_large_scope_is_filled(large: Path, copy: Path) -> None:
    """2.5: bm25 and vector give as many as are asked for, up to 1,000."""
    wanted = min(1_000, CHUNKS)
    with opened(copy, SCOPE, large) as database:
        for channel in ("bm25", "vector"):
            found = database.search("needle", plan={"tool_rounds": [[channel]]}, k=1_000)
            assert len(found.evidence) == wanted, channel


def test_answers_are_the_same_each_time(large: Path, copy: Path) -> None:
    """10.8: a file opened anew and a process that holds vectors and postings in memory give the same bytes."""
    plan: Any = {"tool_rounds": [["research-memory", "bm25", "vector"]]}

    def answers(database: ResearchDatabase) -> list[Any]:
        found = [database.search(query, plan=plan, write_record=False) for query in QUERIES]
        return [(result.evidence, result.rejections, result.degradations, result.state) for result in found]

    with opened(copy, SCOPE, large) as first:
        cold = answers(first)
        answers(first)
        first._hot.vectors.wait()
        assert answers(first) == cold
    with opened(copy, SCOPE, large) as second:
        assert answers(second) == cold


def test_a_sync_takes_in_what_changed_and_nothing_else(large: Path, tmp_path: Path) -> None:
    """8.4: of all those files one edited, one renamed, one removed and one new; a second sync finds nothing."""
    shutil.copytree(large / "many", tmp_path / "many")
    path = tmp_path / ".arr" / "arr.db"
    path.parent.mkdir()
    shutil.copy(large / ".arr" / "arr.db", path)
    names = sorted(file.name for file in (tmp_path / "many").iterdir())
    (tmp_path / "many" / names[0]).write_text("## edited\n\nsomething uncommonsense\n", "utf-8")
    (tmp_path / "many" / names[1]).rename(tmp_path / "many" / "renamed.md")
    (tmp_path / "many" / names[2]).unlink()
    (tmp_path / "many" / "new.md").write_text("## new\n\nsomething unheardof\n", "utf-8")
    with opened(path, SCOPE, tmp_path, clock=StepClock()) as database:
        summary = database.sync()
        assert (summary.added, summary.changed, summary.removed) == (
            ["many/new.md"], [f"many/{names[0]}"], [f"many/{names[2]}"],
        )  # fmt: skip
        assert summary.renamed == [(f"many/{names[1]}", "many/renamed.md")]
        database.embed()
        again = database.sync()
        assert not (again.added or again.changed or again.removed or again.renamed)
        plan: Any = {"tool_rounds": [["bm25"]]}
        for word, place in (("uncommonsense", f"many/{names[0]}"), ("unheardof", "many/new.md")):
            assert [item.source_ref for item in database.search(word, plan=plan).evidence] == [place]
    assert problems(path) == []


def test_no_kill_and_no_writer_at_once_loses_anything(copy: Path) -> None:
    """4.5, 4.6: two processes write and search at once; some are killed, the others end without an error; all is there."""
    chance, started = random.Random(5), list[Process]()

    def start() -> Process:
        process = Process(copy, f"p{len(started)}", ("save", "publish", "search", "ingest"))
        started.append(process)
        return process

    alive = [start(), start()]
    with all_ended(started):
        for _ in range(KILLS):
            for process in alive:
                process.go()
            time.sleep(chance.uniform(0.3, 1.0))
            victim = chance.randrange(len(alive))
            alive[victim].kill()
            alive[victim] = start()
        for process in alive:
            process.go()
        time.sleep(1.0)
        for process in alive:
            process.stop()
    acknowledged = [done for process in started for done in process.acknowledged()]
    assert acknowledged
    assert (losses(copy, acknowledged), incomplete_records(copy), problems(copy)) == ([], [], [])


# --- 7.2: what a check of the audit log finds ---------------------------------------------------------------------------

CHANGES: dict[str, str] = {
    "a changed text": "UPDATE chunk SET content = content || '.' WHERE id = (SELECT max(id) / 2 FROM chunk)",
    "a broken link": "UPDATE audit_event SET hash = iif(hash LIKE '0%', '1', '0') || substr(hash, 2)"
    " WHERE seq = (SELECT max(seq) / 2 FROM audit_event)",
    "a removed row": "DELETE FROM chunk_embedding WHERE id = (SELECT max(id) / 2 FROM chunk_embedding)",
    "an event without its row": "DELETE FROM source_version WHERE id = (SELECT max(id) / 2 FROM source_version)",
    "a row without its event": "INSERT INTO memory SELECT NULL, scope_id, 'ghost', kind, title, content, content_hash,"
    " source_refs, confidence, applicability, status, conflict_key, expires_at, related_memory_ids, evidence_chunk_ids,"
    " proposed_actions, metadata, n_heading_terms, n_terms, terms_hash, actor, reason, created_at, updated_at,"
    " added_revision, retired_revision FROM memory LIMIT 1",
    "a missing tail": "DELETE FROM audit_event WHERE seq = (SELECT max(seq) FROM audit_event)",
}


def damages(path: Path, anchor: Path) -> list[str]:
    """What `arr audit verify --anchor` finds."""
    reader = open_reader(path)
    try:
        found = (*verify_audit(reader).damages, *anchor_damages(read_anchors(anchor), database_hash_at(reader)))
        return [item.kind for item in found]
    finally:
        reader.close()


@pytest.fixture
def anchored(copy: Path, large: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The copy and an anchor of it."""
    with opened(copy, SCOPE, large) as database:
        database.anchor_audit(tmp_path / "lab.anchor")
    return copy, tmp_path / "lab.anchor"


def test_nothing_is_found_in_the_file_as_it_is(anchored: tuple[Path, Path]) -> None:
    """7.2: the checks below report the change and not the file."""
    assert damages(*anchored) == []


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_among_all_rows_is_found(change: str, anchored: tuple[Path, Path]) -> None:
    """7.2: one row changed behind the log's back, with triggers and constraints switched off."""
    path, anchor = anchored
    _behind_its_back(path, lambda connection: connection.execute(CHANGES[change]))
    assert damages(path, anchor)


def _behind_its_back(path: Path, change: Callable[[Any], Any]) -> None:
    """Run ``change`` without foreign keys and with all triggers dropped, then put the triggers back."""
    connection = sqlite3.connect(str(path), isolation_level=None)
    try:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("BEGIN IMMEDIATE")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f'DROP TRIGGER "{name}"')
        assert change(connection).rowcount == 1
        for _, sql in triggers:
            connection.execute(sql)
        connection.execute("COMMIT")
    finally:
        connection.close()
