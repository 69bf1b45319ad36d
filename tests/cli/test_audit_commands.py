"""``arr audit list | verify``."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.cli.support import arr

EVENT_KEYS = {
    "seq", "scope", "scope_seq", "revision", "at", "actor", "kind", "subject_kind", "subject_id", "subject_hash",
    "details", "prev_hash", "hash",
}  # fmt: skip


def test_list_is_newest_first_and_filtered(project: Path) -> None:
    """Events of this scope with every field; --kind and --limit narrow them."""
    events = arr("audit", "list", "--json", cwd=project).json
    assert all(set(event) == EVENT_KEYS for event in events)
    numbers = [event["scope_seq"] for event in events]
    assert numbers == sorted(numbers, reverse=True)
    assert events[0]["kind"] == "retrieval" and events[0]["actor"] == "tester"
    assert [e["kind"] for e in arr("audit", "list", "--kind", "retrieval", "--json", cwd=project).json] == ["retrieval"]
    assert arr("audit", "list", "--limit", "2", "--json", cwd=project).json == events[:2]
    text = arr("audit", "list", "--limit", "2", cwd=project).out
    assert "retrieval" in text and events[0]["hash"][:12] in text and "no." in text


def test_list_holds_no_query_and_no_text(project: Path) -> None:
    """An event names ids and hashes, never what was asked or written."""
    assert arr("search", "zzqx774120", cwd=project).code == 0
    out = arr("audit", "list", "--json", cwd=project).out
    assert "zzqx774120" not in out and "Use 2000 steps" not in out


def test_verify_says_how_much_it_checked(project: Path) -> None:
    """A sound log: events, rows and the head, the same in both forms."""
    report = arr("audit", "verify", "--json", cwd=project).json
    assert report["verified"] is True and report["damages"] == [] and report["events"] > 5
    ran = arr("audit", "verify", cwd=project)
    assert ran.code == 0
    assert ran.out == f"Verified: {report['events']} events, {report['rows']} rows. Head {report['head']}\n"


def test_verify_names_the_first_damage(project: Path) -> None:
    """A changed event: exit code 1, with its number in both forms."""
    connection = sqlite3.connect(project / ".arr/arr.db")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f'DROP TRIGGER "{name}"')
    connection.execute("UPDATE audit_event SET actor = 'somebody' WHERE seq = 3")
    connection.commit()
    connection.close()
    ran = arr("audit", "verify", cwd=project)
    assert ran.code == 1 and "does NOT verify" in ran.out and "event 3" in ran.out
    report = arr("audit", "verify", "--json", cwd=project)
    assert report.code == 1 and report.json["verified"] is False and report.json["damages"][0]["seq"] == 3


def test_a_kind_that_there_is_not(project: Path) -> None:
    """An empty list may be a slip of the pen: what there is stands on stderr, the nearest first."""
    ran = arr("audit", "list", "--kind", "retreival", "--json", cwd=project)
    assert (ran.code, ran.json) == (0, []) and "Did you mean 'retrieval'?" in ran.err and "source_added" in ran.err
