"""`arr db check`: each kind of damage is found by the check that is named for it, and a rebuild repairs the index."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arr_sql.core.connection import PAGE_SIZE, open_reader, open_writer, sqlite3
from arr_sql.core.migrations import schema_text
from arr_sql.database import ResearchDatabase
from arr_sql.errors import NotAnArrDatabase, StoreMissing
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, StepClock, other_scopes

CHECKS = [
    "sqlite integrity",
    "foreign keys",
    "schema",
    "fts5 integrity",
    "index = content",
    "line index",
    "audit chain",
]
BM25 = {"version": 1, "tool_rounds": [[{"tool": "bm25"}]], "reason": "test"}
MEMORY = {"version": 1, "tool_rounds": [[{"tool": "research-memory"}]], "reason": "test"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two scopes, chunks, a retired chunk, and published memories."""
    folder = tmp_path_factory.mktemp("whole")
    notes = folder / "notes"
    notes.mkdir()
    for scope in (SCOPE, other_scopes()[0]):
        (notes / "a.md").write_text("# Router\n\nThe copper router has a budget.\n", "utf-8")
        (notes / "b.md").write_text("# Plane\n\nThe control plane, 研究.\n", "utf-8")
        with ResearchDatabase.create(
            folder / "lab.db", scope, project_folder=folder, actor="tester", clock=StepClock(), embedder=FakeEmbedder
        ) as database:
            database.add(notes)
            (notes / "b.md").write_text("# Plane\n\nThe control plane, revised, 研究.\n", "utf-8")
            database.sync()
            database.add_memory(memory_id="m1", title="Zinc", content="zinc memory", kind="knowledge")
            database.set_memory_status("m1", "published", "measured")
    return folder / "lab.db"


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copy(whole, tmp_path / "lab.db"))


def damage(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys=OFF")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def failed(path: Path) -> dict[str, tuple[str, ...]]:
    """The checks that did not pass, and what they found."""
    return {finding.check: finding.problems for finding in check_store(path).findings if not finding.passed}


def rebuild(path: Path) -> None:
    with ResearchDatabase(path, SCOPE) as database:
        database.rebuild()


def test_a_whole_file_passes_every_check(whole: Path) -> None:
    """All six checks run, in their order, pass, and leave the file as it was."""
    before = whole.read_bytes()
    report = check_store(whole)
    assert [(finding.check, finding.passed, finding.problems) for finding in report.findings] == [
        (name, True, ()) for name in CHECKS
    ]
    assert (report.passed, whole.read_bytes()) == (True, before)


def test_a_content_row_removed_behind_its_back(copy: Path) -> None:
    """A deleted chunk leaves a ghost in the index: the check names it, and a rebuild takes it out (store-05)."""
    damage(copy, "DELETE FROM chunk WHERE content LIKE '%copper%' AND scope_id = 1")
    problems = failed(copy)
    assert set(problems) == {"index = content", "audit chain"}
    assert problems["index = content"] == ("chunk 1: the index and the content differ; run `arr db rebuild`",)
    rebuild(copy)
    assert set(failed(copy)) == {"audit chain"}


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE chunk SET content = 'other words' WHERE id = 1", "chunk 1: its terms are not those that were indexed"),
        (
            "UPDATE memory SET title = 'Other' WHERE status = 'published'",
            "memory 2: its terms are not those that were indexed",
        ),
        (
            "INSERT INTO chunk_fts (rowid, words) VALUES (99, 's1xghost')",
            "chunk 99: the index and the content differ",
        ),
        (
            "INSERT INTO memory_fts (rowid, heading, body) VALUES (99, 's1xghost', '')",
            "memory 99: the index and the content differ",
        ),
        (
            "INSERT INTO chunk_fts (rowid, words) VALUES (1, 's1xextra')",
            "chunk 1: the index and the content differ",
        ),
        ("INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')", "chunk 1: the index and the content differ"),
        ("UPDATE chunk SET retired_revision = 900 WHERE id = 1", "chunk 1: the index and the content differ"),
    ],
)
def test_an_index_that_is_not_the_content(copy: Path, statement: str, named: str) -> None:
    """Missing, added and changed terms are each found and named by row; after a rebuild the index is the content again."""
    damage(copy, statement)
    assert any(problem.startswith(named) for problem in failed(copy)["index = content"])
    rebuild(copy)
    assert {"index = content", "fts5 integrity"} & set(failed(copy)) == set()


@pytest.mark.parametrize("table", ["chunk_fts", "chunk_term", "memory_fts", "memory_term"])
def test_a_missing_index_is_named_and_built_again(copy: Path, table: str) -> None:
    """A dropped index table fails two checks with the command that repairs it; answers come back after it."""
    damage(copy, f"DROP TABLE {table}")
    missing = ("the text index is missing; run `arr db rebuild`",)
    assert failed(copy) == {"fts5 integrity": missing, "index = content": missing}
    rebuild(copy)
    assert failed(copy) == {}
    with ResearchDatabase(copy, SCOPE) as database:
        assert database.search("copper", plan=BM25).evidence[0].source_ref == "notes/a.md"
        assert database.search("zinc", plan=MEMORY).evidence[0].chunk_id == "memory:m1"


@pytest.mark.parametrize(
    "statement",
    ["DROP TRIGGER audit_event_no_delete",
     "DROP INDEX chunk_live",
     "DROP VIEW audit_trail",
     "CREATE TRIGGER spy AFTER INSERT ON memory BEGIN UPDATE memory SET confidence = 1 WHERE id = NEW.id; END",
     "CREATE TABLE extra (x)",
     "ALTER TABLE memory ADD COLUMN extra TEXT"],
)  # fmt: skip
def test_an_altered_schema(copy: Path, statement: str) -> None:
    """A trigger, index, view, table or column that is missing or added is found by the schema check alone."""
    damage(copy, statement)
    assert failed(copy) == {"schema": ("tables, triggers or views differ from the migrations",)}


def test_an_altered_trigger(copy: Path) -> None:
    """A trigger of the same name that no longer refuses is found."""
    damage(
        copy, "DROP TRIGGER audit_event_no_delete",
        "CREATE TRIGGER audit_event_no_delete BEFORE DELETE ON audit_event BEGIN SELECT 1; END",
    )  # fmt: skip
    assert set(failed(copy)) == {"schema"}


def test_a_broken_reference(copy: Path) -> None:
    """A row that points at nothing is found by the foreign key check."""
    damage(copy, "UPDATE chunk SET source_id = 77 WHERE id = 1")
    assert failed(copy)["foreign keys"] == ("chunk row 1 points at a missing source",)


def test_an_event_that_was_changed(copy: Path) -> None:
    """The audit check is part of it."""
    damage(copy, "DROP TRIGGER audit_event_no_update", "UPDATE audit_event SET actor = 'mallory' WHERE seq = 2")
    assert failed(copy)["audit chain"] == ("changed_event at event 2: its hash is not that of its fields",)


def test_a_damaged_page_is_a_finding_and_not_a_crash(copy: Path) -> None:
    """Overwritten pages in the middle of the file are reported by the checks that meet them."""
    reader = open_reader(copy)
    page = reader.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunk'").fetchone()[0]
    reader.close()
    data = bytearray(copy.read_bytes())
    data[PAGE_SIZE * (page - 1) : PAGE_SIZE * page] = b"\xa5" * PAGE_SIZE
    copy.write_bytes(data)
    assert {"sqlite integrity", "index = content", "audit chain"} <= set(failed(copy))


def test_nothing_to_check(tmp_path: Path) -> None:
    """A missing file and another application's file are said to be that."""
    with pytest.raises(StoreMissing):
        check_store(tmp_path / "none.db")
    damage(tmp_path / "other.db", "CREATE TABLE places (x)")
    with pytest.raises(NotAnArrDatabase):
        check_store(tmp_path / "other.db")


def test_fifty_rounds_of_overwriting(make_database: MakeDatabase, tmp_path: Path) -> None:
    """A file overwritten, deleted and written again 50 times, with a VACUUM in between, leaves no ghost (store-05)."""
    database = make_database()
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "keep.md").write_text("# Keep\n\nplatinum stays.\n", "utf-8")
    database.add(notes)
    kept = database.search("platinum", plan=BM25).evidence[0].chunk_id
    for turn in range(50):
        (notes / "k.md").write_text(f"copper old text {turn}\n", "utf-8")
        database.sync()
        (notes / "k.md").write_text(f"zinc new text {turn}\n", "utf-8")
        database.sync()
        assert database.search("copper", plan=BM25).evidence == ()
        assert [item.content for item in database.search("zinc", plan=BM25).evidence] == [f"zinc new text {turn}"]
        if turn == 25:
            writer = open_writer(database.path)
            writer.execute("VACUUM")
            writer.close()
        if turn < 49:
            (notes / "k.md").unlink()
            database.sync()
    assert database.search("platinum", plan=BM25).evidence[0].chunk_id == kept
    assert failed(database.path) == {}


def test_fifty_rounds_of_memories(make_database: MakeDatabase) -> None:
    """Publishing and setting aside 50 times leaves exactly the published text in the index."""
    database = make_database()
    database.add_memory(memory_id="m1", title="k", content="copper text", kind="knowledge")
    for _ in range(50):
        database.set_memory_status("m1", "published", "measured")
        assert [item.chunk_id for item in database.search("copper", plan=MEMORY).evidence] == ["memory:m1"]
        database.set_memory_status("m1", "deprecated", "aside")
        assert database.search("copper", plan=MEMORY).evidence == ()
    assert failed(database.path) == {}


def test_a_rebuild_changes_no_answer(copy: Path) -> None:
    """The index is derived: dropped and built again it gives the same evidence, scores and ids."""

    def answers() -> list[object]:
        with ResearchDatabase(copy, SCOPE, clock=StepClock(), embedder=lambda: None) as database:
            results = [database.search(query, plan=plan, write_record=False) for query, plan in
                       (("copper router", BM25), ("control plane 研究", BM25), ("zinc", MEMORY))]  # fmt: skip
            return [item for result in results for item in result.evidence]

    before = answers()
    rebuild(copy)
    assert (len(before), answers()) == (3, before)


def test_the_schema_check_compares_with_the_migrations(whole: Path) -> None:
    """What the check calls right is what ``schema.sql`` says."""
    reader = open_reader(whole)
    text = schema_text(reader)
    reader.close()
    assert text == (Path(__file__).resolve().parents[2] / "schema.sql").read_text("utf-8")


LITESTREAM = (
    "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)",
    "CREATE TABLE _litestream_lock (id INTEGER)",
)


@pytest.mark.parametrize("made", [LITESTREAM, LITESTREAM[:1], LITESTREAM[1:]])
def test_what_litestream_adds_is_let_through(copy: Path, made: tuple[str, ...]) -> None:
    """A file that is copied to another machine (docs/replica.md) passes: its counter and the table that it locks."""
    damage(copy, *made)
    assert failed(copy) == {}


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq TEXT)", "CREATE TABLE _litestream_lock (id)",
        "CREATE TABLE _litestream_other (id INTEGER)", "CREATE VIEW _litestream_seq AS SELECT 1 AS id, 2 AS seq",
        "CREATE TABLE _litestream_lock (id INTEGER); CREATE INDEX by_id ON _litestream_lock (id)",
        "CREATE TABLE _litestream_lock (id INTEGER); CREATE TRIGGER t AFTER INSERT ON _litestream_lock BEGIN DELETE FROM memory; END",
    ],
)  # fmt: skip
def test_only_in_exactly_its_form(copy: Path, statement: str) -> None:
    """Another column, name or kind, or anything hung on those tables, is a difference as any other."""
    damage(copy, *statement.split("; ", 1))
    assert set(failed(copy)) == {"schema"}
