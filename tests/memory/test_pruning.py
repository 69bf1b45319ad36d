"""Pruning: the oldest records of one scope go, the log vouches for what went, and what is left is as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from arr_sql.core.connection import open_writer
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StateError
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, MakeDatabase, other_scopes

Write = Callable[[str, str | bytes], Path]
NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW - timedelta(days=400))


@pytest.fixture
def database(make_database: MakeDatabase, write: Write, tmp_path: Path, clock: Clock) -> ResearchDatabase:
    """Records of 400, 200 and 0 days ago in two scopes, two of each."""
    write("notes/a.md", "# Router\n\nThe router keeps a budget. 学习率减半。\n")
    scopes = [make_database(scope=scope, clock=clock) for scope in (other_scopes()[0], SCOPE)]
    for made in scopes:
        made.add(tmp_path / "notes")
    for days in (400, 200, 0):
        clock.now = NOW - timedelta(days=days)
        for made in scopes:
            for query in ("router budget", "学习率减半"):
                made.search(query)
    return scopes[1]


def is_whole(path: Path) -> bool:
    return check_store(path).passed


def test_only_what_is_older_goes_and_the_log_says_what(database: ResearchDatabase) -> None:
    """Two of six records, their evidence rows with them; the chain verifies and the others replay as they were."""
    before = database.retrievals(limit=100)
    plan = database.plan_pruning(300)
    assert (plan.records, len(database.retrievals(limit=100))) == (2, 6)
    assert plan.evidence == sum(len(record["evidence"]) for record in before[-2:]) and plan.bytes > 1000
    assert (plan.oldest, plan.newest) == (before[-1]["at"], before[-2]["at"])
    assert replace(database.prune(300), before=plan.before) == plan
    assert database.retrievals(limit=100) == before[:4]
    assert database.verify_audit().damages == () and is_whole(database.path)
    assert {item.outcome for item in database.replay_all()} == {"identical"}
    (event,) = database.audit_events(kind="retrievals_pruned")
    assert (event.details["records"], event.subject_id) == (2, before[-2]["retrieval_id"])
    assert database.prune(300).records == 0 and len(database.audit_events(kind="retrievals_pruned")) == 1


def test_another_scope_keeps_its_records(database: ResearchDatabase, make_database: MakeDatabase) -> None:
    """Pruning acts in one scope, and what it would win tells nothing of others."""
    other = make_database(scope=other_scopes()[0])
    records = other.retrievals(limit=100)
    database.prune(100)
    assert other.retrievals(limit=100) == records and len(records) == 6
    assert {item.outcome for item in other.replay_all()} == {"identical"}


def test_a_pruned_retrieval_says_so(database: ResearchDatabase) -> None:
    """Replaying or explaining it names the pruning; an id that never was is an input error as before."""
    oldest = database.retrievals(limit=100)[-1]["retrieval_id"]
    database.prune(100)
    for ask in (database.replay, database.explain):
        with pytest.raises(StateError, match=f"The record of retrieval {oldest} was pruned at 2026-06-01T"):
            ask(oldest)
        with pytest.raises(InputError, match="There is no retrieval 'r9-00000000'"):
            ask("r9-00000000")


def test_which_of_two_prunings_took_a_record(database: ResearchDatabase, clock: Clock) -> None:
    """A record that the first one left is told as gone with the second, also when it was made before both."""
    ids = [record["retrieval_id"] for record in reversed(database.retrievals(limit=100))]
    database.prune(300)
    clock.now = NOW + timedelta(days=30)
    assert database.prune(100).records == 2
    for retrieval_id, day in ((ids[0], "06-01"), (ids[1], "06-01"), (ids[2], "07-01"), (ids[3], "07-01")):
        with pytest.raises(StateError, match=f"of retrieval {retrieval_id} was pruned at 2026-{day}T"):
            database.replay(retrieval_id)


def test_the_newest_record_stays_and_numbers_go_on(database: ResearchDatabase, clock: Clock) -> None:
    """When all are old, one is left: no later record gets an earlier one's number."""
    clock.now = NOW + timedelta(days=1000)
    assert database.prune(1).records == 5
    database.search("router")
    assert [record["retrieval_id"].split("-")[0] for record in database.retrievals(limit=100)] == ["r7", "r6"]
    assert database.prune(1).records == 1  # r6; r7 is the newest now
    assert database.verify_audit().damages == ()


def test_a_clock_that_was_set_back_removes_nothing_too_early(database: ResearchDatabase, clock: Clock) -> None:
    """A record with an old time behind a young one stays until the young one is old."""
    clock.now = NOW - timedelta(days=900)
    database.search("router")
    database.search("budget")
    clock.now = NOW
    assert database.plan_pruning(300).records == 2


def test_prune_and_forget_together(database: ResearchDatabase) -> None:
    """A record that was rewritten by an erasure can be pruned, and pruned records don't disturb a later erasure."""
    database.forget(queries=["学习率减半"])
    assert database.prune(300).records == 2
    assert database.verify_audit().damages == ()
    database.forget(queries=["router budget"])
    database.prune(100)
    assert database.verify_audit().damages == () and is_whole(database.path)


@pytest.mark.parametrize("damage", ["one more", "another"])
def test_a_record_that_goes_without_its_pruning_is_found(database: ResearchDatabase, damage: str) -> None:
    """Verification excuses exactly the records of the event: one more that is missing, or one changed before, is damage."""
    if damage == "another":
        _tamper(database.path, "UPDATE retrieval SET record_hash = lower(hex(zeroblob(32))) WHERE scope_seq = 1")
    database.prune(300)
    if damage == "one more":
        _tamper(database.path, "DELETE FROM retrieval_evidence", "DELETE FROM retrieval WHERE scope_seq = 3")
    kinds = {item.kind for item in database.verify_audit().damages}
    assert kinds >= ({"event_without_row"} if damage == "one more" else {"pruned_otherwise"})


def _tamper(path: Path, *statements: str) -> None:
    writer = open_writer(path)
    try:
        for statement in statements:
            writer.execute(statement)
    finally:
        writer.close()


@pytest.mark.parametrize("days", [0, -1, 36_501])
def test_an_age_is_needed(database: ResearchDatabase, days: int) -> None:
    """There is no way to prune everything by a slip."""
    for ask in (database.plan_pruning, database.prune):
        with pytest.raises(InputError, match="from 1 to 36,500"):
            ask(days)


def test_an_empty_scope_has_nothing(make_database: MakeDatabase) -> None:
    """A scope that was never opened: nothing to win, nothing written."""
    made = make_database()
    assert made.prune(1).records == 0 and made.audit_events() == []
