"""The audit log: values that anyone can compute again, and triggers that let nothing but the next event in."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from arr_sql.core.connection import Connection, open_writer, sqlite3, write_transaction
from arr_sql.core.migrations import migrate
from arr_sql.core.research_models import SCOPE_COLUMNS
from arr_sql.memory.audit_log import GENESIS, append_event, current_actor, event_hash, list_events
from arr_sql.memory.scope_store import ensure_scope
from tests.conftest import SCOPE, MakeDatabase, StepClock, other_scopes

NOW = StepClock()()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Connection]:
    """A file whose log holds four events: two scopes opened, one saving of each kind of event."""
    path = tmp_path / "x.db"
    connection = open_writer(path, create=True)
    migrate(connection, path)
    with write_transaction(connection, path):
        scope_row = ensure_scope(connection, SCOPE, "tester", NOW)
        ensure_scope(connection, other_scopes()[0], "tester", NOW)
        append(connection, scope_row.id, "memory_added", "m1", "a" * 64, {"z": 1, "a": "一"})
        append(connection, None, "index_built", "chunk_text", "", {})
    yield connection
    connection.close()


def append(
    connection: Connection, scope_id: int | None, kind: str, subject: str, subject_hash: str, details: dict[str, object]
) -> int:
    return append_event(
        connection, scope_id=scope_id, revision=None if scope_id is None else 1, at=NOW, actor="tester", kind=kind,
        subject_kind="memory", subject_id=subject, subject_hash=subject_hash, details=details,
    )  # fmt: skip


def by_hand(row: dict[str, object], values: list[str] | None) -> str:
    """The hash of an event, written without the package's own helpers."""
    body = {
        "actor": row["actor"], "at": row["at"], "details": json.loads(str(row["details"])), "kind": row["kind"],
        "revision": row["revision"], "scope": values, "scope_seq": row["scope_seq"], "seq": row["seq"],
        "subject_hash": row["subject_hash"], "subject_id": row["subject_id"], "subject_kind": row["subject_kind"],
    }  # fmt: skip
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{row['prev_hash']}{text}".encode()).hexdigest()


def test_each_hash_follows_from_the_one_before(log: Connection) -> None:
    """``hash = SHA-256(prev_hash || canonical event)``, from 64 zeros on, with the scope named by its five values."""
    previous = GENESIS
    rows = [dict(row) for row in log.execute("SELECT e.*, s.team_id, s.project_id, s.repository, s.branch, s.experiment_environment "
                                             "FROM audit_event AS e LEFT JOIN scope AS s ON s.id = e.scope_id ORDER BY e.seq")]  # fmt: skip
    assert [row["seq"] for row in rows] == [1, 2, 3, 4]
    for row in rows:
        values = None if row["scope_id"] is None else [row[name] for name in SCOPE_COLUMNS]
        assert (row["prev_hash"], row["hash"]) == (previous, by_hand(row, values))
        previous = row["hash"]


def test_a_worked_value() -> None:
    """The hash of one event over its exact text, so that a change of the form is seen."""
    event = {"seq": 1, "scope_seq": 1, "revision": 0, "at": "2026-01-01T00:00:00.000000Z", "actor": "ada", "kind": "scope_opened",
             "subject_kind": "scope", "subject_id": "1", "subject_hash": "", "details": "{}"}  # fmt: skip
    expected = hashlib.sha256(
        (
            "0"
            * 64
            + '{"actor":"ada","at":"2026-01-01T00:00:00.000000Z","details":{},"kind":"scope_opened","revision":0,'
            '"scope":["vision","lumen","example.org/lumen","main","a100"],"scope_seq":1,"seq":1,"subject_hash":"",'
            '"subject_id":"1","subject_kind":"scope"}'
        ).encode()
    ).hexdigest()
    assert event_hash(GENESIS, event, SCOPE.values()) == expected


def test_events_count_within_their_scope(log: Connection) -> None:
    """``seq`` counts the file's events, ``scope_seq`` the scope's own, so that a scope's list shows no gap of others."""
    rows = log.execute("SELECT scope_id, scope_seq FROM audit_event ORDER BY seq").fetchall()
    assert [tuple(row) for row in rows] == [(1, 1), (2, 1), (1, 2), (None, 1)]
    assert append(log, None, "index_built", "x", "", {}) == 5
    assert append(log, 2, "index_built", "x", "", {}) == 6
    assert log.execute("SELECT scope_seq FROM audit_event WHERE seq >= 5 ORDER BY seq").fetchall()[0][0] == 2


REFUSED = {
    "update one column": "UPDATE audit_event SET actor = 'mallory' WHERE seq = 2",
    "update to the same value": "UPDATE audit_event SET actor = actor",
    "delete the last": "DELETE FROM audit_event WHERE seq = 4",
    "delete all": "DELETE FROM audit_event",
    "replace one": "INSERT OR REPLACE INTO audit_event SELECT seq, scope_id, scope_seq, revision, at, 'mallory', kind, subject_kind, "
                   "subject_id, subject_hash, details, prev_hash, hash FROM audit_event WHERE seq = 2",
    "replace the last": "REPLACE INTO audit_event SELECT seq, scope_id, scope_seq, revision, at, 'mallory', kind, subject_kind, "
                        "subject_id, subject_hash, details, prev_hash, hash FROM audit_event WHERE seq = 4",
    "replace by its hash": "INSERT OR REPLACE INTO audit_event SELECT 5, scope_id, scope_seq, revision, at, 'mallory', kind, "
                           "subject_kind, subject_id, subject_hash, details, hash, (SELECT hash FROM audit_event WHERE seq = 2) "
                           "FROM audit_event WHERE seq = 4",
    "insert or ignore an old number": "INSERT OR IGNORE INTO audit_event SELECT 2, scope_id, scope_seq, revision, at, actor, kind, "
                                      "subject_kind, subject_id, subject_hash, details, prev_hash, printf('%064d', 7) "
                                      "FROM audit_event WHERE seq = 4",
    "leave a gap": "INSERT INTO audit_event SELECT 6, scope_id, scope_seq, revision, at, actor, kind, subject_kind, subject_id, "
                   "subject_hash, details, hash, printf('%064d', 7) FROM audit_event WHERE seq = 4",
    "follow another one": "INSERT INTO audit_event SELECT 5, scope_id, scope_seq, revision, at, actor, kind, subject_kind, "
                          "subject_id, subject_hash, details, prev_hash, printf('%064d', 7) FROM audit_event WHERE seq = 4",
    "upsert": "INSERT INTO audit_event SELECT * FROM audit_event WHERE seq = 2 ON CONFLICT DO UPDATE SET actor = 'mallory'",
}  # fmt: skip


@pytest.mark.parametrize("recursive", ["ON", "OFF"])
@pytest.mark.parametrize("way", REFUSED)
def test_only_the_next_event_gets_in(log: Connection, way: str, recursive: str) -> None:
    """Updates, deletes and every form of INSERT OR REPLACE are refused, with recursive triggers and without."""
    log.execute(f"PRAGMA recursive_triggers={recursive}")
    before = log.execute("SELECT * FROM audit_event ORDER BY seq").fetchall()
    try:
        log.execute(REFUSED[way])
    except sqlite3.IntegrityError as error:
        assert re.search("append-only|UNIQUE constraint failed", str(error))
    else:
        assert "OR IGNORE" in REFUSED[way], "nothing refused it"
    assert [tuple(row) for row in log.execute("SELECT * FROM audit_event ORDER BY seq")] == [
        tuple(row) for row in before
    ]


def test_an_event_needs_its_transaction(log: Connection, tmp_path: Path) -> None:
    """An event of a transaction that is rolled back is gone with it, and the chain goes on from the one before."""
    with pytest.raises(ValueError), write_transaction(log, tmp_path / "x.db"):
        append(log, None, "index_built", "x", "", {})
        raise ValueError
    assert append(log, None, "index_built", "x", "", {}) == 5


def test_details_hold_json_only(log: Connection) -> None:
    """What is no JSON raises before anything is written."""
    with pytest.raises((ValueError, TypeError)):
        append(log, None, "index_built", "x", "", {"a": float("nan")})
    assert log.execute("SELECT max(seq) FROM audit_event").fetchone()[0] == 4


def test_a_list_shows_one_scope_newest_first(make_database: MakeDatabase) -> None:
    """The list holds this scope's events only, the last first, of one kind when asked, at most as many as asked."""
    database = make_database()
    for number in range(3):
        database.add_memory(memory_id=f"m{number}", title="t", content="c", kind="knowledge")
    neighbour = make_database(other_scopes()[0], path=database.path)
    neighbour.add_memory(memory_id="other", title="t", content="c", kind="knowledge")
    events = database.audit_events()
    assert [(event.kind, event.subject_id) for event in events] == [
        ("memory_added", "m2"), ("memory_added", "m1"), ("memory_added", "m0"), ("scope_opened", "1"),
    ]  # fmt: skip
    assert [event.scope_seq for event in events] == [4, 3, 2, 1]
    assert {event.scope for event in events} == {SCOPE}
    assert [event.subject_id for event in database.audit_events("memory_added", limit=2)] == ["m2", "m1"]
    reader = open_writer(database.path)
    assert list_events(reader, other_scopes()[1]) == []
    reader.close()


def test_the_actor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """ARR_ACTOR names who acts; without it the system's user does; a blank one counts as none."""
    monkeypatch.setenv("ARR_ACTOR", " ada ")
    assert current_actor() == "ada"
    monkeypatch.setenv("ARR_ACTOR", "  ")
    assert current_actor().strip()
