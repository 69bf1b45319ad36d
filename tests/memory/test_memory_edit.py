"""Edits, relations, renewal and history: nothing is lost, nothing published changes in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.clock import since_text, to_text
from arr_sql.core.research_models import MemoryStatus
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, MemoryChanged, MemoryInvalid, StateError
from arr_sql.memory.lifecycle import PublishFacts, publish_requirements, require_editable
from arr_sql.memory.store_check import check_store
from tests.conftest import MakeDatabase, StepClock, other_scopes
from tests.promises.test_concurrency import OPEN, Started, run_together

GIVEN = {"title": "Warmup", "content": "Use 2000 steps.", "source_refs": ["notes/warmup.md"], "memory_id": "m"}
PLAN = {"version": 1, "tool_rounds": [[{"tool": "research-memory"}]], "reason": "test"}
REACHED: dict[str, list[MemoryStatus]] = {
    "candidate": [], "verified": ["verified"], "published": ["published"], "deprecated": ["published", "deprecated"],
    "conflict": ["published", "conflict"], "expired": ["published", "expired"], "revoked": ["revoked"],
}  # fmt: skip


def found(database: ResearchDatabase, query: str = "warmup steps") -> list[str]:
    """The ids of the memories that a search finds."""
    return [str(item.metadata["memory_id"]) for item in database.search(query, plan=PLAN).evidence]


def brought_to(database: ResearchDatabase, status: str) -> None:
    """A memory ``m`` of this status."""
    database.add_memory(**GIVEN)
    for step in REACHED[status]:
        database.set_memory_status("m", step, "on its way")


# --- Editing ----------------------------------------------------------------------------------------------------------


def test_an_edit_is_a_new_version_and_the_old_one_stays(make_database: MakeDatabase) -> None:
    """Every field can be given anew; the version before is in the history, word for word, with both hashes in the log."""
    database = make_database()
    database.add_memory(**GIVEN, kind="research_case")
    database.add_memory(title="other", content="other", memory_id="o")
    changes: dict[str, Any] = {
        "title": "Warm-up", "content": "Use 2500 steps. 数据", "source_refs": ("b.md", "a.md"), "confidence": 0.5,
        "applicability": {"experiment_environments": ["a100"]}, "conflict_key": "warmup",
        "expires_at": "2030-01-01T00:00:00.000000Z", "related_memory_ids": ("o",), "evidence_chunk_ids": ("c1", "c2"),
        "proposed_actions": ("rerun r7",), "metadata": {"risk_level": "high"},
    }  # fmt: skip
    edited = database.edit_memory("m", reason="measured again", **changes)
    assert {name: getattr(edited, name) for name in changes} == changes
    assert (edited.revision, edited.status, edited.kind) == (3, "candidate", "research_case")
    first, second = database.memory_history("m")
    assert (first.memory.content, first.retired_revision, first.event) == (GIVEN["content"], 3, "memory_added")
    assert (second.memory, second.event, second.reason, second.actor) == (
        edited,
        "memory_edited",
        "measured again",
        "tester",
    )
    event = database.audit_events("memory_edited")[0]
    assert event.details == {"before": database.audit_events("memory_added")[1].subject_hash, "status": "candidate"}
    assert second.memory.created_at == first.memory.created_at < second.memory.updated_at
    assert database.verify_audit().damages == ()


@pytest.mark.parametrize("status", get_args(MemoryStatus))
def test_only_what_nobody_relies_on_can_be_edited(make_database: MakeDatabase, status: MemoryStatus) -> None:
    """A candidate or verified memory becomes a candidate; any other keeps its words, and the refusal says what to do."""
    database = make_database()
    brought_to(database, status)
    before = database.memory("m")
    if status in ("candidate", "verified"):
        assert database.edit_memory("m", content="new").status == "candidate"
        return
    with pytest.raises(StateError, match=f"is {status}.*add") as caught:
        database.edit_memory("m", content="new")
    assert database.memory("m") == before
    assert "arr memory" in str(caught.value) or status == "revoked"
    refused = database.audit_events("memory_refused")[0]
    assert refused.details == {"asked": "edit", "error": "StateError"}
    with pytest.raises(StateError):
        require_editable("m", status)


def test_what_is_taken_away_and_what_can_not_be(make_database: MakeDatabase) -> None:
    """None takes a conflict key or an expiry away; a title must be given; kind and status are no fields of an edit."""
    database = make_database()
    database.add_memory(**GIVEN, conflict_key="k", expires_at="2030-01-01T00:00:00Z")
    edited = database.edit_memory("m", conflict_key=None, expires_at=None, source_refs=())
    assert (edited.conflict_key, edited.expires_at, edited.source_refs) == (None, None, ())
    for change in ({"title": None}, {"title": " "}, {"confidence": True}, {"confidence": 2}, {"kind": "workflow"},
                   {"status": "published"}, {"expires_at": "2030-01-01"}, {"content": "a\0b"},
                   {"proposed_actions": ["x"]}, {"evidence_chunk_ids": ["c"]}, {"source_refs": [" "]}):  # fmt: skip
        with pytest.raises(MemoryInvalid) as caught:
            database.edit_memory("m", **change)
        assert caught.value.field == next(iter(change))
    with pytest.raises(InputError, match="credential"):
        database.edit_memory("m", content="aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    with pytest.raises(InputError, match="The reason holds what looks like a credential"):
        database.edit_memory(
            "m", title="new", reason="aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
        )
    with pytest.raises(InputError, match="There is no memory 'x'"):
        database.edit_memory("x", title="y")
    assert database.memory("m") == edited


def test_without_a_difference_nothing_is_written(make_database: MakeDatabase) -> None:
    """Saving the same again gives the live version back: no revision, no event; a verified one stays verified."""
    database = make_database()
    brought_to(database, "verified")
    before, events = database.memory("m"), len(database.audit_events())
    assert (
        database.edit_memory("m", content=GIVEN["content"], title="Warmup", source_refs=["notes/warmup.md"]) == before
    )
    assert (len(database.audit_events()), database.memory("m").status) == (events, "verified")


def test_a_lost_update_is_refused_with_the_current_version(make_database: MakeDatabase) -> None:
    """A and B read; B writes; A, who read the same, is told what is there now and can write on top of it (conc-01)."""
    database = make_database()
    read = database.add_memory(**GIVEN)
    other = make_database(path=database.path, actor="B")
    current = other.edit_memory("m", content="base+B", expected_revision=read.revision)
    with pytest.raises(
        MemoryChanged, match=r"at revision 2 \(candidate, changed by B at .*--expect-revision 2"
    ) as caught:
        database.edit_memory("m", content="base+A", expected_revision=read.revision)
    assert (caught.value.revision, caught.value.current) == (2, current)
    assert database.memory("m").content == "base+B"
    assert database.edit_memory("m", content="base+B+A", expected_revision=2).revision == 3
    with pytest.raises(MemoryChanged):
        database.link_memory("m", remove=["x"], expected_revision=2)


@given(steps=st.lists(st.tuples(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=30)
                                .filter(str.strip), st.booleans()), max_size=6))  # fmt: skip
def test_every_word_that_was_accepted_is_in_the_history(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bool]]
) -> None:
    """Edits and verifications in any order: the history is the list of accepted versions, and the log verifies."""
    from tests.conftest import SCOPE

    path = tmp_path_factory.mktemp("edits") / "arr.db"
    with ResearchDatabase.create(path, SCOPE, actor="tester", clock=StepClock(), embedder=lambda: None) as database:
        said = [database.add_memory(**GIVEN)]
        for content, is_verified in steps:
            if is_verified and said[-1].status == "candidate":
                said.append(database.set_memory_status("m", "verified"))
            made = database.edit_memory("m", content=content)
            if made != said[-1]:
                said.append(made)
        versions = database.memory_history("m")
        assert [version.memory for version in versions] == said
        assert [version.retired_revision for version in versions] == [*(m.revision for m in said[1:]), None]
        assert database.verify_audit().damages == ()


# --- Relations --------------------------------------------------------------------------------------------------------


def test_relations_are_added_in_order_and_keep_words_and_status(make_database: MakeDatabase) -> None:
    """New ones follow in the order given, each once; a published memory stays published, found, and as strong as it was."""
    database = make_database()
    brought_to(database, "published")
    for name in ("a", "b", "c"):
        database.add_memory(title=name, content=name, memory_id=name)
    before = database.memory("m")
    assert database.link_memory("m", "c", "a", "c").related_memory_ids == ("c", "a")
    linked = database.link_memory("m", "b", "a")
    assert linked.related_memory_ids == ("c", "a", "b")
    assert (linked.status, linked.updated_at, found(database)) == ("published", before.updated_at, ["m"])
    assert database.link_memory("m", remove=["a"]).related_memory_ids == ("c", "b")
    events = len(database.audit_events())
    assert database.link_memory("m", "c").related_memory_ids == ("c", "b")
    assert len(database.audit_events()) == events
    assert [version.event for version in database.memory_history("m")[2:]] == ["memory_linked"] * 3
    assert check_store(database.path).passed


def test_relations_stay_inside_the_scope(make_database: MakeDatabase) -> None:
    """One that does not exist here, the memory itself, or one that is not related: refused, nothing written (contract 5.6)."""
    database = make_database()
    database.add_memory(**GIVEN)
    make_database(other_scopes()[0], path=database.path).add_memory(title="t", content="c", memory_id="there")
    for others, remove, says in ((["there"], [], "does not exist in this scope"), (["m"], [], "related to itself"),
                                 ([], ["x"], "not related to 'x'")):  # fmt: skip
        with pytest.raises(InputError, match=says):
            database.link_memory("m", *others, remove=remove)
    with pytest.raises(InputError, match="related to itself"):
        database.edit_memory("m", related_memory_ids=["m"])
    database.set_memory_status("m", "revoked", "wrong")
    with pytest.raises(StateError, match="final"):
        database.link_memory("m", "m")
    assert database.memory("m").related_memory_ids == ()


# --- Conflict, expiry -------------------------------------------------------------------------------------------------


def test_a_conflict_is_marked_and_resolved_in_one_step(make_database: MakeDatabase) -> None:
    """Both leave the answers at once; then one is back and the other deprecated. If one step can't be done, none is."""
    database = make_database()
    for name in ("a", "b"):
        database.add_memory(**{**GIVEN, "memory_id": name})
        database.set_memory_status(name, "published")
    database.add_memory(**{**GIVEN, "memory_id": "c"})
    with pytest.raises(StateError, match="Memory 'c' is candidate and can't become conflict"):
        database.set_memory_statuses([("a", "conflict"), ("c", "conflict")], "r9")
    assert sorted(found(database)) == ["a", "b"]
    with pytest.raises(StateError, match="Memory 'b' is published, not conflict"):
        database.resolve_conflict("a", ["b"], "r9")
    database.set_memory_statuses([("a", "conflict"), ("b", "conflict")], "r9 says otherwise")
    assert found(database) == []
    made = database.resolve_conflict("a", ["b"], "wrong split")
    assert {memory.memory_id: memory.status for memory in made} == {"a": "published", "b": "deprecated"}
    assert found(database) == ["a"]


def test_what_ran_out_is_renewed_by_way_of_expired(make_database: MakeDatabase) -> None:
    """A published memory past its time is noted as expired, then published with the later time: two events (contract 5.1)."""
    clock = StepClock()
    database = make_database(clock=clock)
    database.add_memory(**GIVEN, expires_at="2026-01-03T00:00:00Z")
    database.set_memory_status("m", "published")
    with pytest.raises(StateError, match=r"has not run out.*arr memory expire m"):
        database.renew_memory("m", "2027-01-01T00:00:00Z")
    clock.now = datetime(2026, 2, 1, tzinfo=timezone.utc)
    assert found(database) == []
    with pytest.raises(InputError, match="not later than now"):
        database.renew_memory("m", "2026-01-31T00:00:00Z")
    renewed = database.renew_memory("m", "2027-01-01T08:00:00+08:00", "still true")
    assert (renewed.status, renewed.expires_at, found(database)) == ("published", "2027-01-01T00:00:00.000000Z", ["m"])
    last = [(version.memory.status, version.reason) for version in database.memory_history("m")[-2:]]
    assert last == [("expired", "ran out at 2026-01-03T00:00:00.000000Z"), ("published", "still true")]
    assert check_store(database.path).passed


def test_expired_comes_back_with_a_new_time_only(make_database: MakeDatabase) -> None:
    """Expired by hand: publishing it as it is is refused, renewing works; a candidate is edited instead."""
    database = make_database()
    brought_to(database, "expired")
    with pytest.raises(StateError, match=r"is expired\. Give it a new time: arr memory renew m"):
        database.set_memory_status("m", "published", "again")
    assert database.renew_memory("m", "2027-01-01T00:00:00Z").status == "published"
    database.add_memory(title="t", content="c", memory_id="c")
    with pytest.raises(StateError, match="arr memory edit c --expires"):
        database.renew_memory("c", "2027-01-01T00:00:00Z")


def test_the_gate_says_everything_that_is_missing() -> None:
    """Pure: no source and no reason, and run out; with a source or a reason and time left nothing is missing."""
    facts = {"memory_id": "m", "kind": "knowledge", "old_status": "candidate", "has_source": False, "reason": " ",
             "expires_at": "2026-01-01T00:00:00.000000Z", "is_new_expiry": False, "now": "2026-01-01T00:00:00.000000Z"}  # fmt: skip
    missing = publish_requirements(PublishFacts(**facts))  # type: ignore[arg-type]
    assert [text.split(". ")[0] for text in missing] == [
        "Memory 'm' names no source", "Memory 'm' expired at 2026-01-01T00:00:00.000000Z",
    ]  # fmt: skip
    fine = {**facts, "reason": "agreed", "expires_at": None}
    assert publish_requirements(PublishFacts(**fine)) == ()  # type: ignore[arg-type]


# --- Lists ------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["UTC", "America/Los_Angeles", "Asia/Kathmandu"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own time zone, which must not matter."""
    import time

    monkeypatch.setenv("TZ", request.param)
    getattr(time, "tzset", lambda: None)()


@pytest.mark.usefixtures("zone")
def test_since_and_newest_first_are_by_utc(make_database: MakeDatabase) -> None:
    """Memories written in several zones are ordered and filtered by the moment, in every time zone (time-01)."""
    clock = StepClock()
    database = make_database(clock=clock)
    moments = {"a": "2025-03-10T20:15:00-03:00", "b": "2025-03-10T22:40:00Z", "c": "2025-03-10T22:00:00.500+00:00",
               "d": "2025-03-10T22:00:00Z"}  # fmt: skip
    for name, moment in reversed(moments.items()):
        stopped = datetime.fromisoformat(moment.replace("Z", "+00:00"))
        with make_database(path=database.path, clock=lambda at=stopped: at) as other:
            other.add_memory(title=name, content=name, memory_id=name, kind="experiment" if name == "b" else None)
    now = datetime(2025, 3, 11, 12, tzinfo=timezone.utc)
    ids = lambda **filters: [memory.memory_id for memory in database.memories(**filters)]  # noqa: E731
    assert ids() == ["a", "b", "c", "d"]
    assert ids(since=since_text("2025-03-10T23:00:00Z", now)) == ["a"]
    assert ids(since=since_text("2025-03-10T22:00:00Z", now)) == ["a", "b", "c", "d"]
    assert ids(since=since_text("yesterday", now)) == ["a", "b", "c", "d"]
    assert ids(since=since_text("today", now)) == []
    assert ids(kind="experiment") == ["b"]
    assert database.memory("a").created_at == "2025-03-10T23:15:00.000000Z"


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2025-03-10", "2025-03-10T00:00:00.000000Z"), (" Yesterday ", "2025-03-09T00:00:00.000000Z"),
        ("today", "2025-03-10T00:00:00.000000Z"), ("36h", "2025-03-09T00:30:00.000000Z"),
        ("7d", "2025-03-03T12:30:00.000000Z"), ("2 weeks ago", "2025-02-24T12:30:00.000000Z"),
        ("90m", "2025-03-10T11:00:00.000000Z"), ("2025-03-10T20:15:00-03:00", "2025-03-10T23:15:00.000000Z"),
    ],
)  # fmt: skip
def test_what_since_means(text: str, moment: str) -> None:
    """Days are days in UTC: the same in every time zone of the machine."""
    assert (
        to_text(since_text(text, datetime(2025, 3, 10, 18, 15, tzinfo=timezone.utc).replace(hour=12, minute=30)))
        == moment
    )


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-03-29T02:30", "2026-10-25 02:30:00", "2026-02-30", "99999 years", "-1d", "5"]
)
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    """Wall-clock time in the gap or overlap of a change of clocks is not guessed; nor is anything else."""
    with pytest.raises(InputError):
        since_text(text, datetime(2025, 3, 10, tzinfo=timezone.utc))


# --- Several processes ------------------------------------------------------------------------------------------------

TAG = (
    OPEN
    + """
from arr_sql.errors import MemoryChanged
while True:
    read = database.memory("m")
    try:
        database.edit_memory("m", content=f"{read.content} {given['name']}", expected_revision=read.revision)
        break
    except MemoryChanged:
        pass
database.add_memory(memory_id=f"tag-{given['name']}", title="tag", content=given["name"])
print("done")
"""
)


def test_twenty_processes_append_a_tag_each(make_database: MakeDatabase) -> None:
    """All twenty tags are in the text and as memories; each accepted write is in the log exactly once (conc-01)."""
    database = make_database()
    database.add_memory(title="tags", content="base", memory_id="m")
    names = [f"t{number}" for number in range(20)]
    assert run_together([Started(TAG, database.path, name, 1) for name in names]) == [["done"]] * 20
    tags = database.memory("m").content.split()
    assert (tags[0], sorted(tags[1:])) == ("base", sorted(names))
    assert {memory.memory_id for memory in database.memories()} == {"m", *(f"tag-{name}" for name in names)}
    assert len(database.audit_events("memory_edited", limit=100)) == 20
    assert len(database.memory_history("m")) == 21
    assert check_store(database.path).passed


def test_identical_memories_are_two_documented_rows(make_database: MakeDatabase) -> None:
    """The same words saved at two moments are two memories with their own ids; at the same moment the second is told."""
    database = make_database()
    one, two = (database.add_memory(title="T", content="C") for _ in range(2))
    assert one.memory_id != two.memory_id
    stopped: Callable[[], datetime] = lambda: datetime(2026, 1, 1, tzinfo=timezone.utc)  # noqa: E731
    still = make_database(path=database.path, clock=stopped)
    still.add_memory(title="T", content="C")
    with pytest.raises(StateError, match="exists in this scope already"):
        still.add_memory(title="T", content="C")
    assert len(database.memories()) == 3


def test_a_revocation_races_with_an_edit(make_database: MakeDatabase) -> None:
    """One after the other, in whichever order: the memory ends revoked, and an edit that came later was told."""
    database = make_database()
    database.add_memory(**GIVEN)
    edit = OPEN + "from arr_sql.errors import StateError\ntry:\n    database.edit_memory('m', content='new')\n    print('edited')\n" \
        "except StateError as error:\n    print('told')\n"  # fmt: skip
    revoke = OPEN + "database.set_memory_status('m', 'revoked', 'wrong')\nprint('revoked')\n"
    (edited,), (revoked,) = run_together([Started(edit, database.path, "a", 1), Started(revoke, database.path, "b", 1)])
    assert (database.memory("m").status, revoked) == ("revoked", "revoked")
    assert len(database.memory_history("m")) == {"edited": 3, "told": 2}[edited]
    assert json.loads(json.dumps(database.memory_history("m")[-1].model_dump()))["memory"]["status"] == "revoked"
