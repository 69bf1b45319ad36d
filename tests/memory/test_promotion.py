"""Memories cross scopes only by an explicit step that shows first, is asked for, and is written in both scopes (2.7)."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import open_reader
from arr_sql.core.research_models import SCOPE_COLUMNS, ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StateError
from arr_sql.memory.promotion import CONFLICT_TEXT, PromotionPreview, preview_of
from arr_sql.memory.research_store import checked_memory
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, MakeDatabase, StepClock, other_scopes

BRANCH = ScopeKey(**{**SCOPE.model_dump(), "branch": "try-lion"})
AT = "2026-01-02T03:04:05.000000Z"
GIVEN: dict[str, Any] = {
    "title": "Warmup",
    "content": "Use 2000 steps.",
    "source_refs": ["notes/warmup.md"],
    "memory_id": "m",
}


@pytest.fixture
def pair(make_database: MakeDatabase) -> tuple[ResearchDatabase, ResearchDatabase]:
    """The branch and main, in one file, both opened; the branch has a published memory ``m``."""
    clock = StepClock()
    main = make_database(clock=clock)
    main.add_memory(title="main's own", content="main's own", memory_id="own")
    branch = make_database(BRANCH, path=main.path, clock=clock, actor="bo")
    branch.open_scope_from(SCOPE)
    branch.add_memory(**GIVEN)
    branch.set_memory_status("m", "published")
    return branch, main


def codes(preview: PromotionPreview) -> list[tuple[str, str]]:
    """Each conflict with whom."""
    return [(conflict.code, conflict.memory_id) for conflict in preview.conflicts]


# --- Opening a scope --------------------------------------------------------------------------------------------------


def test_a_scope_is_opened_from_another_and_copies_nothing(make_database: MakeDatabase) -> None:
    """It remembers its parent and the parent's revision; it is empty; the parent sees no change."""
    main = make_database()
    for name in ("a", "b"):
        main.add_memory(title=name, content=name)
    events = main.audit_events()
    branch = make_database(BRANCH, path=main.path)
    assert branch.open_scope_from(SCOPE) == 2
    assert (branch.memories(), main.audit_events()) == ([], events)
    (event,) = branch.audit_events()
    assert (event.kind, event.details) == ("scope_opened", {"parent": list(SCOPE.values()), "parent_revision": 2})
    reader = open_reader(main.path)
    row = reader.execute(
        "SELECT p.branch, s.parent_revision FROM scope AS s JOIN scope AS p ON p.id = s.parent_scope_id"
    ).fetchone()
    reader.close()
    assert tuple(row) == ("main", 2)
    listed = {scope["branch"]: (scope["parent"], scope["parent_revision"]) for scope in main.scopes()}
    assert listed == {"main": (None, None), "try-lion": (list(SCOPE.values()), 2)}
    with pytest.raises(StateError, match="is open already"):
        branch.open_scope_from(SCOPE)
    (refused,) = branch.audit_events("scope_refused")
    assert refused.details == {"asked": "open", "error": "StateError"}
    assert check_store(main.path).passed


def test_a_scope_that_is_not_there_is_no_parent(make_database: MakeDatabase) -> None:
    """Neither itself nor a slip of the pen; nothing is opened then."""
    main = make_database()
    main.add_memory(title="a", content="a")
    branch = make_database(BRANCH, path=main.path)
    for parent, says in ((BRANCH, "from itself"), (other_scopes()[0], "holds no scope")):
        with pytest.raises(InputError, match=says):
            branch.open_scope_from(parent)
    assert len(main.scopes()) == 1


# --- Promoting --------------------------------------------------------------------------------------------------------


def test_a_copy_arrives_as_a_candidate_that_says_where_it_came_from(
    pair: tuple[ResearchDatabase, ResearchDatabase],
) -> None:
    """Words and values are the same, the status is not; both scopes have an event; the origin is as it was."""
    branch, main = pair
    branch.add_memory(
        title="Case", content="The case. 数据", kind="research_case", evidence_chunk_ids=["c1"], proposed_actions=["rerun"],
        memory_id="case", related_memory_ids=["m"], confidence=0.6, conflict_key="k", source_refs=["a.md"],
        metadata={"seed": 7}, expires_at="2030-01-01T00:00:00Z",
    )  # fmt: skip
    origin = branch.set_memory_status("case", "verified")
    events = len(main.audit_events())
    preview = branch.preview_promotion("case", SCOPE)
    assert (preview.state, preview.refusal, codes(preview), preview.relations_left_out) == ("absent", "", [], ("m",))
    assert (len(main.audit_events()), branch.memory("case")) == (events, origin)
    copy = branch.promote_memory(preview, "the branch is done")
    assert copy == main.memory("case") and (copy.status, copy.scope) == ("candidate", SCOPE)
    same = {
        "title",
        "content",
        "kind",
        "source_refs",
        "confidence",
        "conflict_key",
        "expires_at",
        "proposed_actions",
        "applicability",
    }
    assert copy.model_dump(include=same) == origin.model_dump(include=same)
    assert (copy.related_memory_ids, copy.evidence_chunk_ids) == ((), ())
    assert copy.metadata == {
        "seed": 7,
        "promoted_from": {
            "scope": BRANCH.model_dump(), "memory_id": "case", "revision": origin.revision, "status": "verified",
            "content_hash": sha256_text("The case. 数据"), "created_at": origin.created_at, "evidence_chunk_ids": ["c1"],
            "relations_left_out": ["m"],
        },
    }  # fmt: skip
    there, here = main.audit_events()[0], branch.audit_events()[0]
    assert (there.kind, there.actor, there.details["from"]) == ("memory_received", "bo", list(BRANCH.values()))
    assert (here.kind, here.details["to"], here.details["to_revision"]) == (
        "memory_promoted",
        list(SCOPE.values()),
        copy.revision,
    )
    assert (
        there.details["from_hash"]
        == here.details["from_hash"]
        == branch.audit_events("memory_verified")[0].subject_hash
    )
    assert main.memory_history("case")[0].reason == "the branch is done"
    assert branch.memory("case") == origin
    assert branch.verify_audit().damages == () and check_store(main.path).passed


@pytest.mark.parametrize("column", SCOPE_COLUMNS)
def test_to_any_scope_that_differs_in_one_value(make_database: MakeDatabase, column: str) -> None:
    """And the four other neighbours get nothing."""
    home = make_database()
    home.add_memory(**GIVEN)
    home.set_memory_status("m", "published")
    neighbours = {scope: make_database(scope, path=home.path) for scope in other_scopes()}
    for neighbour in neighbours.values():
        neighbour.add_memory(title="theirs", content="theirs", memory_id="t")
    target = next(scope for scope in neighbours if getattr(scope, column) != getattr(SCOPE, column))
    home.promote_memory(home.preview_promotion("m", target))
    assert [scope for scope, neighbour in neighbours.items() if len(neighbour.memories()) > 1] == [target]


def test_what_is_there_is_shown_with_the_difference(pair: tuple[ResearchDatabase, ResearchDatabase]) -> None:
    """Same id, same key, same words, came from here before, revoked there, not applicable there: each is named."""
    branch, main = pair
    branch.add_memory(**{**GIVEN, "memory_id": "keyed", "content": "Use 2500 steps."}, conflict_key="k",
                      applicability={"experiment_environments": ["h800"]})  # fmt: skip
    branch.set_memory_status("keyed", "published")
    main.add_memory(title="Warmup", content="Use 1000 steps.", conflict_key="k", memory_id="other")
    main.add_memory(title="Warmup", content="Use 2500 steps.", memory_id="gone")
    main.set_memory_status("gone", "revoked", "wrong")
    preview = branch.preview_promotion("keyed", SCOPE)
    assert codes(preview) == [("revoked_there", "gone"), ("same_conflict_key", "other"), ("not_applicable", "keyed")]
    assert (preview.state, preview.refusal) == ("different", "")
    assert {"-Use 1000 steps.", "+Use 2500 steps."} <= set(preview.diff)
    main.add_memory(title="Warmup", content="Use 3000 steps.", memory_id="m")
    same_id = branch.preview_promotion("m", SCOPE)
    assert codes(same_id) == [("same_id", "m")]
    assert same_id.refusal == "A memory 'm' is there already. Give the copy another id with --as."
    with pytest.raises(StateError, match="another id with --as"):
        branch.promote_memory(same_id)
    (refused,) = branch.audit_events("memory_refused")
    assert (refused.subject_id, refused.details) == (
        sha256_text("m")[:16], {"asked": "promote", "error": "StateError"},
    )  # fmt: skip
    assert main.audit_events("memory_refused") == []
    branch.promote_memory(branch.preview_promotion("m", SCOPE, new_id="m-lion"))
    again = branch.preview_promotion("m", SCOPE, new_id="m-again")
    assert codes(again) == [("same_content", "m-lion")] and "as 'm-lion' (candidate)" in again.refusal
    main.edit_memory("m-lion", content="Use 2001 steps.")
    assert codes(branch.preview_promotion("m", SCOPE, new_id="m-again")) == [("promoted_before", "m-lion")]
    assert {code for code, _ in [*codes(preview), *codes(same_id), *codes(again)]} | {"promoted_before"} == set(
        CONFLICT_TEXT
    )


@pytest.mark.parametrize("change", ["there", "here", "the same promotion"])
def test_only_what_was_shown_is_written(pair: tuple[ResearchDatabase, ResearchDatabase], change: str) -> None:
    """When either scope changed in between so that the preview would differ, nothing is written and the person looks again."""
    branch, main = pair
    branch.add_memory(**{**GIVEN, "memory_id": "keyed", "content": "other"}, conflict_key="k")
    branch.set_memory_status("keyed", "published")
    preview = branch.preview_promotion("keyed", SCOPE)
    if change == "there":
        main.add_memory(title="x", content="x", conflict_key="k", memory_id="x")
    elif change == "here":
        branch.link_memory("keyed", "m")
    else:
        branch.promote_memory(preview)
    before = main.memories()
    with pytest.raises(StateError, match=r"changed since you looked|is there already"):
        branch.promote_memory(preview)
    assert main.memories() == before


def test_what_may_not_be_promoted(pair: tuple[ResearchDatabase, ResearchDatabase]) -> None:
    """A candidate, one that ran out, into itself, into a scope that is not in the file, by nobody."""
    branch, main = pair
    branch.add_memory(title="c", content="c", memory_id="c")
    assert "is candidate; only a published or verified" in branch.preview_promotion("c", SCOPE).refusal
    branch.add_memory(**{**GIVEN, "memory_id": "old", "content": "old"}, expires_at="2026-01-03T00:00:00Z")
    branch.set_memory_status("old", "published")
    clock = branch._clock
    assert isinstance(clock, StepClock)
    clock.now = datetime(2026, 2, 1, tzinfo=timezone.utc)
    assert "expired at 2026-01-03" in branch.preview_promotion("old", SCOPE).refusal
    for target, says in ((BRANCH, "this very scope"), (other_scopes()[3], "holds no scope")):
        with pytest.raises(InputError, match=says):
            branch.preview_promotion("m", target)
    preview = branch.preview_promotion("m", SCOPE)
    branch.actor = " "
    with pytest.raises(InputError, match="names a person"):
        branch.promote_memory(preview)
    assert [memory.memory_id for memory in main.memories()] == ["own"]


def test_a_copy_of_a_copy_keeps_the_whole_way(make_database: MakeDatabase) -> None:
    """From branch to branch to main: each step stands in the provenance."""
    first = make_database()
    first.add_memory(**GIVEN)
    first.set_memory_status("m", "published")
    second, third = (make_database(scope, path=first.path) for scope in other_scopes()[:2])
    for database in (second, third):
        database.add_memory(title="x", content="x")
    first.promote_memory(first.preview_promotion("m", second.scope))
    second.set_memory_status("m", "published")
    copy = second.promote_memory(second.preview_promotion("m", third.scope))
    origin = copy.metadata["promoted_from"]
    assert (origin["scope"], origin["promoted_from"]["scope"]) == (second.scope.model_dump(), SCOPE.model_dump())


# --- Merge preview ----------------------------------------------------------------------------------------------------


def test_what_a_finished_branch_would_promote(pair: tuple[ResearchDatabase, ResearchDatabase]) -> None:
    """What is published there and absent or different here; not what is here, is no longer usable, or was never published."""
    branch, main = pair
    for name, content, expires in (("here", "same", None), ("differs", "branch's", None), ("over", "over", "2026-01-03T00:00:00Z"),
                                   ("draft", "draft", None), ("revoked", "revoked", None)):  # fmt: skip
        branch.add_memory(title=name, content=content, memory_id=name, source_refs=["a"], expires_at=expires)
        if name != "draft":
            branch.set_memory_status(name, "published")
    branch.set_memory_status("revoked", "revoked", "wrong")
    main.add_memory(title="here", content="same", memory_id="under-another-id")
    main.add_memory(title="differs", content="main's", memory_id="differs")
    clock = branch._clock
    assert isinstance(clock, StepClock)
    clock.now = datetime(2026, 2, 1, tzinfo=timezone.utc)
    before = (main.audit_events(), branch.audit_events())
    found = main.merge_preview(BRANCH)
    assert [(item.memory.memory_id, item.state) for item in found] == [("differs", "different"), ("m", "absent")]
    assert "+branch's" in found[0].diff
    assert (main.audit_events(), branch.audit_events()) == before
    branch.promote_memory(found[1])
    assert [item.memory.memory_id for item in main.merge_preview(BRANCH)] == ["differs"]


# --- Pure -------------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "c"])
DRAWN = st.builds(
    lambda memory_id, title, content, key, status: {
        "memory_id": memory_id, "title": title, "content": content, "conflict_key": key, "status": status,
    },
    WORDS, WORDS, WORDS, st.none() | WORDS,
    st.sampled_from(["candidate", "verified", "published", "deprecated", "conflict", "expired", "revoked"]),
)  # fmt: skip


@given(mine=DRAWN, theirs=st.lists(DRAWN, max_size=3, unique_by=lambda values: values["memory_id"]))
def test_a_preview_refuses_exactly_what_would_not_be_a_new_memory(
    mine: dict[str, Any], theirs: list[dict[str, Any]]
) -> None:
    """Whatever is there: promotable means published or verified, its id free and its words not there yet."""
    memory = checked_memory(BRANCH, created_at=AT, updated_at=AT, revision=1, **mine)
    there = [checked_memory(SCOPE, created_at=AT, updated_at=AT, revision=1, **values) for values in theirs]
    preview = preview_of(memory, SCOPE, there, AT)
    is_free = all(other.memory_id != memory.memory_id for other in there)
    is_new = not any(
        (other.title, other.content) == (memory.title, memory.content) and other.status != "revoked" for other in there
    )
    assert (preview.refusal == "") == (memory.status in ("published", "verified") and is_free and is_new)
    assert (preview.state == "same") == (not is_new)
    assert json.loads(preview.model_dump_json())["new_id"] == memory.memory_id


# --- Cases that bear risk ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["package", "stated once", "stated", "promoted before"])
def test_a_copy_of_a_case_that_bears_risk_bears_it_too(make_database: MakeDatabase, by: str) -> None:
    """Whatever makes it so, and whoever edits the copy: it needs an approval of its own."""
    here = make_database()
    stated = {"risk_level": "high"} if by in ("stated", "stated once") else {}
    here.add_memory(memory_id="c", title="T", content="C", kind="research_case", source_refs=["x.md"], metadata=stated)
    there = make_database(BRANCH, path=here.path, actor="bo")
    there.open_scope_from(SCOPE)
    if by in ("package", "promoted before"):
        here.request_approval("c", {"plan": 1}, risk_level="low")
    if by == "stated once":
        here.edit_memory("c", metadata={})
    here.set_memory_status("c", "verified")
    here.promote_memory(here.preview_promotion("c", BRANCH))
    last = there
    if by == "promoted before":
        last = make_database(other_scopes()[0], path=here.path, actor="cy")
        last.add_memory(title="own", content="own")
        there.set_memory_status("c", "verified")
        there.promote_memory(there.preview_promotion("c", last.scope))
    with pytest.raises(StateError, match="risk-bearing"):
        last.set_memory_status("c", "published")
    last.edit_memory("c", metadata={})
    with pytest.raises(StateError, match="risk-bearing"):
        last.set_memory_status("c", "published")


def test_a_copy_of_a_case_without_risk_is_published(make_database: MakeDatabase) -> None:
    """Nothing is asked for that was not needed where it came from."""
    here = make_database()
    here.add_memory(memory_id="c", title="T", content="C", kind="research_case", source_refs=["x.md"])
    there = make_database(BRANCH, path=here.path, actor="bo")
    there.open_scope_from(SCOPE)
    here.set_memory_status("c", "verified")
    copy = here.promote_memory(here.preview_promotion("c", BRANCH))
    assert "risk_bearing" not in copy.metadata["promoted_from"]
    assert there.set_memory_status("c", "published").status == "published"
