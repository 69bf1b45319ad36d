"""Does `arr audit verify` find it? Each kind of damage, done with plain SQL to a file that verified before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from arr_sql.core.connection import Connection, open_reader, sqlite3
from arr_sql.database import ResearchDatabase
from arr_sql.memory.audit_verify import VerifyReport, verify_audit
from tests.conftest import SCOPE, FakeEmbedder, StepClock, other_scopes

PLAN = {"version": 1, "tool_rounds": [[{"tool": "bm25"}, {"tool": "research-memory"}]], "reason": "test"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two scopes, three versions of a file, a removed file, memories in two versions, and two retrievals."""
    folder = tmp_path_factory.mktemp("whole")
    for scope in (SCOPE, other_scopes()[0]):
        with ResearchDatabase.create(
            folder / "lab.db", scope, project_folder=folder, actor="tester", clock=StepClock(), embedder=FakeEmbedder
        ) as database:
            notes = folder / "notes"
            notes.mkdir(exist_ok=True)
            (notes / "a.md").write_text(
                "# Router\n\nThe router has a budget.\n\n# Plane\n\nThe control plane.\n", "utf-8"
            )
            (notes / "b.md").write_text("# Gone\n\nThis will be removed.\n", "utf-8")
            (notes / "c.md").write_text("# Renamed\n\nThis will be renamed.\n", "utf-8")
            database.add(notes)
            (notes / "a.md").write_text(
                "# Router\n\nThe router has a larger budget.\n\n# Plane\n\nThe control plane.\n", "utf-8"
            )
            (notes / "b.md").unlink()
            (notes / "c.md").rename(notes / "d.md")
            database.sync()
            database.embed()
            for number in (1, 2):
                database.add_memory(
                    memory_id=f"m{number}", title=f"budget {number}", content="router budget", kind="knowledge"
                )
                database.set_memory_status(f"m{number}", "published", "measured")
            database.set_memory_status("m2", "revoked", "wrong")
            for query in ("router budget", "control plane"):
                assert database.search(query, plan=PLAN).evidence
    return folder / "lab.db"


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copy(whole, tmp_path / "lab.db"))


def verify(path: Path) -> VerifyReport:
    reader = open_reader(path)
    try:
        return verify_audit(reader)
    finally:
        reader.close()


def damage(path: Path, *statements: str) -> None:
    """What somebody with the file and any SQLite can do: drop the triggers first, then change what they like."""
    connection: Connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys=OFF")
    for trigger in ("audit_event_no_update", "audit_event_no_delete", "audit_event_only_append"):
        connection.execute(f"DROP TRIGGER {trigger}")
    changed = 0
    for statement in statements:
        changed += connection.execute(statement).rowcount
    connection.close()
    assert changed, "the damage did nothing"


def test_a_file_that_was_only_written_by_us_verifies(whole: Path) -> None:
    """An untouched file has no damage; the report counts events and rows and names the last hash."""
    report = verify(whole)
    assert report.damages == ()
    reader = open_reader(whole)
    events, head = reader.execute(
        "SELECT count(*), (SELECT hash FROM audit_event ORDER BY seq DESC LIMIT 1) FROM audit_event"
    ).fetchone()
    rows = sum(
        reader.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
        for name in ("source_version", "memory", "retrieval")
    )
    reader.close()
    assert (report.events, report.rows, report.head) == (events, rows, head)


CHANGED_COLUMNS = {
    "scope_id": "scope_id = 2",
    "no scope_id": "scope_id = NULL",
    "scope_seq": "scope_seq = scope_seq + 1",
    "revision": "revision = coalesce(revision, 0) + 1",
    "at": "at = '2025-01-01T00:00:00.000000Z'",
    "actor": "actor = actor || ' '",
    "kind": "kind = kind || '_x'",
    "subject_kind": "subject_kind = upper(subject_kind)",
    "subject_id": "subject_id = subject_id || '0'",
    "subject_hash": "subject_hash = CASE subject_hash WHEN '' THEN printf('%064d', 1) ELSE '' END",
    "details": """details = json_set(details, '$.x', 1)""",
    "prev_hash": "prev_hash = printf('%064d', 1)",
    "hash": "hash = printf('%064d', 1)",
}


@pytest.mark.parametrize("column", CHANGED_COLUMNS)
@pytest.mark.parametrize("seq", [1, 5, -1])
def test_a_changed_byte_in_any_column_of_an_event(copy: Path, column: str, seq: int) -> None:
    """Whichever column of whichever event is changed, the first damage named is at that event."""
    if column == "scope_id" and seq == -1:
        seq = 3  # the last event is of the second scope already
    where = seq if seq > 0 else "(SELECT max(seq) FROM audit_event)"
    damage(copy, f"UPDATE audit_event SET {CHANGED_COLUMNS[column]} WHERE seq = {where}")
    damages = verify(copy).damages
    last = verify(copy).events
    assert damages and damages[0].seq == (seq if seq > 0 else last)
    assert damages[0].kind in ("changed_event", "broken_link")


def test_every_event_is_covered(whole: Path, tmp_path: Path) -> None:
    """A changed actor is found in every single event of the file, with the event's number and kind of damage."""
    for seq in range(1, verify(whole).events + 1):
        path = Path(shutil.copy(whole, tmp_path / f"{seq}.db"))
        damage(path, f"UPDATE audit_event SET actor = 'mallory' WHERE seq = {seq}")
        assert [(item.kind, item.seq) for item in verify(path).damages] == [("changed_event", seq)]
        path.unlink()


def test_a_removed_event(copy: Path) -> None:
    """A missing event is named by its number, and the next one does not follow the one before."""
    damage(copy, "DELETE FROM audit_event WHERE seq = 6")
    kinds = [(item.kind, item.seq) for item in verify(copy).damages]
    assert kinds[:2] == [("event_removed", 6), ("broken_link", 7)]


def test_the_first_events_removed(copy: Path) -> None:
    """A log that does not begin at its beginning is noticed."""
    damage(copy, "DELETE FROM audit_event WHERE seq <= 2")
    first = verify(copy).damages[0]
    assert (first.kind, first.seq, first.subject) == ("event_removed", 1, "events 1 to 2 are missing")


def test_an_event_removed_and_the_numbers_closed_up(copy: Path) -> None:
    """Renumbering what is left after a removal is noticed by the hashes."""
    damage(copy, "DELETE FROM audit_event WHERE seq = 6", "UPDATE audit_event SET seq = -(seq - 1) WHERE seq > 6",
           "UPDATE audit_event SET seq = -seq WHERE seq < 0")  # fmt: skip
    assert {("broken_link", 6), ("changed_event", 6)} <= {(item.kind, item.seq) for item in verify(copy).damages}


def test_two_events_that_changed_places(copy: Path) -> None:
    """Reordered events are noticed at the first of them."""
    damage(copy, "UPDATE audit_event SET seq = -7 WHERE seq = 6", "UPDATE audit_event SET seq = 6 WHERE seq = 7",
           "UPDATE audit_event SET seq = 7 WHERE seq = -7")  # fmt: skip
    assert verify(copy).damages[0].seq == 6


def test_a_removed_tail_leaves_rows_without_events(copy: Path) -> None:
    """When the last events are cut off, the rows that they vouched for stand alone."""
    damage(copy, "DELETE FROM audit_event WHERE seq > (SELECT max(seq) - 1 FROM audit_event)")
    assert [item.kind for item in verify(copy).damages] == ["row_without_event"]


def test_a_scope_row_that_is_changed(copy: Path) -> None:
    """Renaming a scope behind the log's back breaks the hashes of its events."""
    damage(copy, "UPDATE scope SET team_id = 'other' WHERE id = 1")
    assert verify(copy).damages[0].kind == "changed_event"


# --- Rows -------------------------------------------------------------------------------------------------------------

ROWS: dict[str, tuple[str, set[str]]] = {
    "a memory's text": (
        "UPDATE memory SET content = content || ' not' WHERE memory_id = 'm1' AND retired_revision IS NULL",
        {"text_changed"}),
    "a memory's text and its hash": (
        "UPDATE memory SET content = 'x', content_hash = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' "
        "WHERE memory_id = 'm1' AND retired_revision IS NULL", {"row_changed"}),
    "a memory's title": ("UPDATE memory SET title = 'x' WHERE id = 1", {"row_changed"}),
    "a memory's status": (
        "UPDATE memory SET status = 'published' WHERE memory_id = 'm2' AND retired_revision IS NULL",
        {"row_changed"}),
    "a memory's confidence": ("UPDATE memory SET confidence = 1.0 WHERE id = 1", {"row_changed"}),
    "a memory's expiry": ("UPDATE memory SET expires_at = '2030-01-01T00:00:00.000000Z' WHERE id = 1", {"row_changed"}),
    "an old version of a memory": (
        "UPDATE memory SET actor = 'mallory' WHERE retired_revision IS NOT NULL AND memory_id = 'm1'",
        {"row_changed"}),
    "a memory that is hidden": (
        "UPDATE memory SET retired_revision = added_revision + 1 WHERE memory_id = 'm1' AND retired_revision IS NULL",
        {"visibility_changed"}),
    "a memory that is removed": (
        "DELETE FROM memory WHERE memory_id = 'm1' AND retired_revision IS NULL",
        {"event_without_row", "visibility_changed"}),
    "a chunk's text": ("UPDATE chunk SET content = content || ' not' WHERE retired_revision IS NULL", {"text_changed"}),
    "a chunk's heading": ("UPDATE chunk SET heading = 'Other' WHERE retired_revision IS NULL", {"text_changed"}),
    "a chunk's text and its hash": (
        "UPDATE chunk SET content = 'x', content_hash = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'",
        {"chunks_changed"}),
    "a chunk's id": ("UPDATE chunk SET chunk_id = 'c00000000000000000000' WHERE id = 1", {"chunks_changed"}),
    "a chunk's locator": ("UPDATE chunk SET locator = 'L900'", {"chunks_changed"}),
    "a chunk's lines": ("UPDATE chunk SET end_line = end_line + 1", {"chunks_changed"}),
    "a chunk of an old version": (
        "UPDATE chunk SET content = 'x' WHERE retired_revision IS NOT NULL",
        {"text_changed"}),
    "a chunk that is removed": (
        "DELETE FROM chunk WHERE id = (SELECT max(id) FROM chunk)", {"chunks_changed", "event_without_row", "row_without_event"}),
    "a chunk that is hidden": (
        "UPDATE chunk SET retired_revision = 900 WHERE retired_revision IS NULL",
        {"chunks_changed", "visibility_changed"}),
    "a chunk that is added": (
        "INSERT INTO chunk SELECT 999, scope_id, source_id, 'cfff', ordinal + 1, heading, content, content_hash, embed_hash, kind, "
        "locator, start_line, end_line, n_heading_terms, n_terms, terms_hash, created_at, added_revision, retired_revision FROM chunk "
        "WHERE id = (SELECT max(id) FROM chunk)", {"chunks_changed"}),
    "a source's path": (
        "UPDATE source_version SET source_ref = 'notes/z.md' WHERE source_ref = 'notes/d.md' AND scope_id = 1",
        {"row_changed"}),
    "a source's hash": ("UPDATE source_version SET content_hash = printf('%064d', 1)", {"row_changed"}),
    "a source's git state": ("UPDATE source_version SET git_state = 'clean'", {"row_changed"}),
    "a source that is hidden": (
        "UPDATE source_version SET retired_revision = 900 WHERE retired_revision IS NULL",
        {"visibility_changed"}),
    "a source that comes back": (
        "UPDATE source_version SET retired_revision = NULL WHERE source_ref = 'notes/b.md'",
        {"visibility_changed"}),
    "a source version that is removed": (
        "DELETE FROM source_version WHERE retired_revision IS NOT NULL",
        {"event_without_row"}),
    "a retrieval's query": ("UPDATE retrieval SET query = 'what nobody asked' WHERE id = 1", {"row_changed"}),
    "a retrieval's plan": ("UPDATE retrieval SET plan = '{}' WHERE id = 1", {"row_changed"}),
    "a retrieval's query and its hash": (
        "UPDATE retrieval SET query = 'x', record_hash = printf('%064d', 1) WHERE id = 1",
        {"row_changed"}),
    "an item of evidence": (
        "UPDATE retrieval_evidence SET source_ref = 'x' WHERE retrieval = 1 AND rank = 1",
        {"row_changed"}),
    "an item of evidence that is removed": (
        "DELETE FROM retrieval_evidence WHERE retrieval = 1 AND rank = 1",
        {"row_changed"}),
    "a retrieval that is removed": ("DELETE FROM retrieval WHERE id = 1", {"event_without_row"}),
    "a retrieval that is added": (
        "INSERT INTO retrieval SELECT 99, scope_id, 99, 'r99-00000000', at, actor, query, query_hash, plan, plan_origin, limits, "
        "scope_revision, analyser_version, index_version, model_fingerprint, query_vectors, policy_hash, traces, rejections, degradations, "
        "partial, state, n_evidence, duration_ms, record_hash, language_model FROM retrieval WHERE id = 1", {"row_without_event"}),
}  # fmt: skip


@pytest.mark.parametrize("what", ROWS)
def test_a_row_that_is_not_what_its_event_saw(copy: Path, what: str) -> None:
    """A row that was changed, hidden, removed or added behind the log's back is found and named for what it is."""
    statement, expected = ROWS[what]
    damage(copy, statement)
    found = verify(copy).damages
    assert {item.kind for item in found} == expected
    assert all(item.seq is not None for item in found if item.kind != "row_without_event")


def test_a_memory_added_by_hand(copy: Path) -> None:
    """A published memory that nobody saved through the log is a row without an event."""
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.row_factory = sqlite3.Row
    row = dict(
        connection.execute("SELECT * FROM memory WHERE memory_id = 'm1' AND retired_revision IS NULL").fetchone()
    )
    row |= {"id": 900, "memory_id": "mallory"}
    connection.execute(
        f"INSERT INTO memory ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
    )
    connection.close()
    assert [(item.kind, item.seq, item.subject) for item in verify(copy).damages] == [
        ("row_without_event", None, "memory mallory")
    ]


def test_the_damage_is_the_same_whoever_reads(copy: Path) -> None:
    """The report of a damaged file is the same through the database and through a bare reader."""
    damage(copy, ROWS["a memory's title"][0], ROWS["a retrieval that is removed"][0])
    with ResearchDatabase(copy, SCOPE) as database:
        assert database.verify_audit() == verify(copy)
    assert len(verify(copy).damages) == 2


# --- Details of any shape ----------------------------------------------------------------------------------------------

NAMES = ("tables", "vector_hashes", "source", "root", "records", "records_hash", "parent", "parent_revision", "vectors")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def opened(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A copy with every kind of event, triggers gone, for changes that are taken back."""
    path = Path(shutil.copy(whole, tmp_path_factory.mktemp("opened") / "lab.db"))
    later = datetime(2031, 1, 1, tzinfo=timezone.utc)
    with ResearchDatabase.create(
        path, SCOPE, project_folder=path.parent, clock=lambda: later, embedder=FakeEmbedder
    ) as made:
        made.embed(rebuild=True)
        made.prune(days=1)
        made.forget(memory_ids=["m2"])
    connection: Connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("DROP TRIGGER audit_event_no_update")
    yield connection
    connection.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.integers(0, 10**6), st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), VALUES, max_size=4))
@example(0, {})
@example(0, {"tables": {"chunk": [1, 2]}})
@example(0, {"vector_hashes": [1]})
@example(0, {"records": "x"})
@example(0, {"records": -5})
@example(0, {"source": [1]})
def test_details_of_any_shape_are_a_changed_event(opened: Connection, which: int, details: dict[str, Any]) -> None:
    """Nothing that an event can be made to say stops the check: the event is named first, whatever kind it is of."""
    events = opened.execute("SELECT seq, kind, details FROM audit_event ORDER BY seq").fetchall()
    assert {"ids_noted", "retrievals_pruned", "vectors_added", "source_added", "scope_opened"} <= {
        e["kind"] for e in events
    }
    chosen = {event["kind"]: event for event in events}.values() if which == 0 else [events[which % len(events)]]
    for event in chosen:
        text = json.dumps(details, sort_keys=True, separators=(",", ":"))
        if text == event["details"]:
            continue
        opened.execute("BEGIN")
        try:
            opened.execute("UPDATE audit_event SET details = ? WHERE seq = ?", (text, event["seq"]))
            first = verify_audit(opened).damages[0]
            assert (first.kind, first.seq) == ("changed_event", event["seq"])
        finally:
            opened.execute("ROLLBACK")
