"""Approval packages: frozen, shown, decided once by somebody else within a day, and the gate before publishing."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.approval_models import is_risky, package_status, person_key
from arr_sql.core.connection import sqlite3
from arr_sql.database import ResearchDatabase
from arr_sql.errors import AuditChainBroken, ImportInvalid, InputError, StateError
from arr_sql.memory.memory_files import FileRecord, file_values
from tests.conftest import SCOPE, other_scopes
from tests.memory.people import PAYLOAD, PAYLOAD_HASH, People, people

__all__ = ["people"]

SECRET = "gh" + "p_" + "aB3" * 12


# --- A package --------------------------------------------------------------------------------------------------------


def test_a_package_freezes_its_payload(people: People) -> None:
    """It is pending for exactly 24 hours, under the hash of the payload's canonical JSON (the contract's worked value)."""
    made = people.package()
    assert (made.status, made.payload, made.payload_hash, made.risk_level) == ("pending", PAYLOAD, PAYLOAD_HASH, "high")
    assert (made.requested_by, made.requested_at, made.expires_at) == (
        "ana",
        "2026-01-02T03:04:05.000000Z",
        "2026-01-03T03:04:05.000000Z",
    )
    assert people.bo.approval("pkg-1") == made
    stored = people.sql().execute("SELECT payload FROM approval_package").fetchone()[0]
    assert stored == r'{"plan":"fake","steps":["\u4e00",2]}'


def test_an_id_is_derived_when_none_is_given(people: People) -> None:
    """Without an id one is made; an id is taken once in a scope."""
    made = people.ana.request_approval("case-1", {"a": 1}, risk_level="low")
    assert re.fullmatch(r"p[0-9a-f]{12}", made.package_id)
    people.package()
    with pytest.raises(StateError, match=r"'pkg-1' exists in this scope already.*--id"):
        people.package()


@pytest.mark.parametrize("value", [None, [], "text", 1, [("a", 1)]])
def test_a_payload_is_an_object(people: People, value: Any) -> None:
    """Anything but an object is refused."""
    with pytest.raises(InputError, match="must be a JSON object"):
        people.ana.request_approval("case-1", value, risk_level="low")


@pytest.mark.parametrize(
    "value", [{"api_key": "x"}, {"a": [f"use {SECRET}"]}, {"a": "token=abc"}, {"a": float("nan")}, {1: 2}]
)
def test_a_payload_with_a_credential_or_no_json_is_refused_before_any_write(people: People, value: Any) -> None:
    """The error names the place, and neither a row nor an event holds what was refused."""
    before = people.kinds()
    with pytest.raises(InputError, match=r"payload(\.a|\.api_key| has a key)"):
        people.ana.request_approval("case-1", value, risk_level="low", package_id="pkg-1")
    assert (people.rows("approval_package"), people.kinds()) == (0, [*before, "approval_refused"])
    assert SECRET.encode() not in people.path.read_bytes() + Path(f"{people.path}-wal").read_bytes()


@pytest.mark.parametrize("field", ["package_id", "reason"])
def test_no_other_text_of_an_approval_holds_a_credential(people: People, field: str) -> None:
    """Ids and reasons are looked at too."""
    people.package()
    with pytest.raises(InputError, match="looks like a credential"):
        if field == "package_id":
            people.package(SECRET)
        else:
            people.bo.decide_approval("pkg-1", "rejected", reason=f"I tried {SECRET}")
    assert people.bo.approval("pkg-1").status == "pending"


def test_only_a_living_research_case_of_the_scope_has_packages(people: People) -> None:
    """Another kind, a revoked case, an unknown id and a case of a neighbour are refused."""
    people.ana.add_memory(memory_id="note", title="t", content="c", kind="knowledge")
    people.case("gone")
    people.bo.set_memory_status("gone", "revoked", "wrong")
    for scope in other_scopes():
        people("ana", scope).add_memory(memory_id="theirs", title="t", content="c", kind="research_case")
    with pytest.raises(StateError, match="of kind knowledge; only a research_case"):
        people.package(case_id="note")
    with pytest.raises(StateError, match="revoked, which is final"):
        people.package(case_id="gone")
    for missing in ("none", "theirs"):
        with pytest.raises(InputError, match=f"no memory '{missing}' in this scope"):
            people.package(case_id=missing)
    assert people.rows("approval_package") == 0


def test_a_package_states_at_least_the_risk_of_its_case(people: People) -> None:
    """Nobody approves as low what the case itself calls high."""
    people.case("risky", metadata={"risk_level": "high"})
    with pytest.raises(StateError, match=r"states risk level high, and the package only medium\. Ask for high"):
        people.package("p", "risky", "medium")
    assert people.package("p", "risky", "high").risk_level == "high"
    with pytest.raises(InputError, match="one of low, medium, high"):
        people.package("q", "risky", "none")


def test_packages_of_other_scopes_do_not_exist_here(people: People) -> None:
    """The same id in each neighbour is a package of its own, and none is seen from another scope."""
    people.package()
    for scope in other_scopes():
        there = people("cy", scope)
        with pytest.raises(InputError, match=r"no approval package 'pkg-1' in this scope"):
            there.approval("pkg-1")
        with pytest.raises(InputError, match=r"no approval package 'pkg-1' in this scope"):
            there.decide_approval("pkg-1", "approved", payload_hash=PAYLOAD_HASH)
        assert there.approvals() == []
        there.add_memory(memory_id="case-1", title="t", content="c", kind="research_case")
        there.request_approval("case-1", {"other": scope.team_id}, risk_level="low", package_id="pkg-1")
        assert len(there.approvals()) == 1
    assert [item.payload for item in people.bo.approvals()] == [PAYLOAD]
    assert people.bo.verify_audit().damages == ()


def test_lists_are_newest_first_and_filtered_by_the_clock(people: People) -> None:
    """Status is what the clock says; a case's packages can be asked for."""
    people.case("case-2")
    people.package("old")
    people.clock.move(hours=23)
    people.package("new", "case-2")
    people.clock.move(hours=1)
    ids = {
        status: [p.package_id for p in people.bo.approvals(status)]
        for status in (None, "pending", "expired", "approved")
    }
    assert ids == {None: ["new", "old"], "pending": ["new"], "expired": ["old"], "approved": []}
    assert [p.package_id for p in people.bo.approvals(case_id="case-2")] == ["new"]


# --- The decision -----------------------------------------------------------------------------------------------------


def test_another_person_approves_and_gets_the_token_once(people: People) -> None:
    """The answer to the approval carries 32 random bytes in hex; the file holds only their SHA-256."""
    people.package()
    people.package("pkg-2")
    decision, other = people.approve(), people.approve("pkg-2")
    token = decision.receipt_token or ""
    assert re.fullmatch(r"[0-9a-f]{64}", token) and token != other.receipt_token
    assert token not in repr(decision)
    package = people.bo.approval("pkg-1")
    assert (package.status, decision.decided_by, package.decision) == (
        "approved",
        "bo",
        decision.model_copy(update={"receipt_token": None}),
    )
    raw = people.path.read_bytes() + Path(f"{people.path}-wal").read_bytes()
    assert token.encode() not in raw and bytes.fromhex(token) not in raw


def test_approving_names_the_payload_that_was_read(people: People) -> None:
    """Without the hash, or with another payload's, nothing is approved; rejecting needs none."""
    people.package()
    for wrong in (None, "0" * 64, PAYLOAD_HASH[:12], ""):
        with pytest.raises(InputError, match=r"arr approval show pkg-1"):
            people.bo.decide_approval("pkg-1", "approved", payload_hash=wrong)
    with pytest.raises(InputError):
        people.bo.decide_approval("pkg-1", "rejected", payload_hash="0" * 64)
    assert people.bo.decide_approval("pkg-1", "rejected", reason=" no seed ").reason == "no seed"


SAME_PERSON = [
    ("ana", "ana"), ("ana", " Ana\t"), ("ANA", "ana"), ("ana", "\u3000ana\u00a0"), ("ana", "ａｎａ"), ("ana", "a\u200bna"),
    ("Straße", "STRASSE"), ("İpek", "i̇pek"), ("Ärzte", "A\u0308RZTE"), ("张三", " 张三 "), ("ΣΊΣΥΦΟΣ", "σίσυφος"),
]  # fmt: skip


@pytest.mark.parametrize(("requester", "approver"), SAME_PERSON)
def test_nobody_decides_their_own_request(people: People, requester: str, approver: str) -> None:
    """Trimming, case (beyond ASCII too), width and invisible characters make no other person."""
    people(requester).request_approval("case-1", PAYLOAD, risk_level="high", package_id="pkg-1")
    for outcome in ("approved", "rejected"):
        with pytest.raises(StateError, match="Another person has to decide it"):
            people(approver).decide_approval("pkg-1", outcome, payload_hash=PAYLOAD_HASH)
    assert (people.rows("approval_decision"), people.bo.approval("pkg-1").status) == (0, "pending")


@pytest.mark.parametrize("nobody", ["", "  ", "\u200b", "a\nb", "x" * 201])
def test_a_decision_and_a_request_name_a_person(people: People, nobody: str) -> None:
    """A blank, invisible, endless or many-lined name is nobody's."""
    people.package()
    with pytest.raises(InputError, match=r"name of the person.*ARR_ACTOR"):
        people(nobody).decide_approval("pkg-1", "approved", payload_hash=PAYLOAD_HASH)
    with pytest.raises(InputError, match=r"name of the person.*ARR_ACTOR"):
        people(nobody).request_approval("case-1", {"a": 1}, risk_level="low")


@given(st.text(min_size=1, max_size=20))
def test_a_persons_key_is_stable(name: str) -> None:
    """The key of a key is itself, and neither case nor space around a name changes it."""
    try:
        key = person_key(name)
    except InputError:
        return
    assert person_key(key) == key == person_key(f"  {name} ")
    assert person_key(name.upper().lower()) == person_key(name.upper())


@pytest.mark.parametrize("first", ["approved", "rejected", "expired"])
def test_each_outcome_is_final(people: People, first: Any) -> None:
    """After any outcome neither bo nor anybody else decides again, however much time passes."""
    people.package()
    if first == "expired":
        people.clock.move(hours=24)
        people.bo.expire_approvals()
    else:
        people.bo.decide_approval("pkg-1", first, payload_hash=PAYLOAD_HASH)
    decided = people.bo.approval("pkg-1")
    for name in ("bo", "cy"):
        for outcome in ("approved", "rejected"):
            with pytest.raises(StateError, match="final"):
                people(name).decide_approval("pkg-1", outcome, payload_hash=PAYLOAD_HASH)
    people.clock.move(days=400)
    assert (people.bo.expire_approvals(), people.bo.approval("pkg-1")) == ([], decided)
    assert (decided.status, people.rows("approval_decision")) == (first, 1)
    with pytest.raises(InputError, match="approved or rejected"):
        people.bo.decide_approval("pkg-1", "expired")


def test_at_expires_at_exactly_it_is_expired(people: People) -> None:
    """One microsecond before, it is approved; at that very moment, it is not, and the expiry is noted."""
    people.package("in-time")
    people.package("late")
    people.clock.move(hours=24, microseconds=-1)
    assert people.bo.decide_approval("in-time", "approved", payload_hash=PAYLOAD_HASH).outcome == "approved"
    people.clock.move(microseconds=1)
    assert (people.bo.approval("late").status, people.bo.approval("late").decision) == ("expired", None)
    with pytest.raises(StateError, match=r"expired at 2026-01-03T03:04:05.000000Z, which is final\. Request a new one"):
        people.bo.decide_approval("late", "approved", payload_hash=PAYLOAD_HASH)
    noted = people.bo.approval("late").decision
    assert noted is not None and (noted.outcome, noted.decided_by) == ("expired", "bo")
    assert people.bo.approval("in-time").status == "approved"


@given(st.sampled_from(["approved", "rejected", "expired", None]), st.booleans())
def test_status_follows_from_outcome_and_clock(outcome: Any, over: bool) -> None:
    """A decision stands whatever the time; without one the clock decides."""
    status = package_status(outcome, "2026-01-02", "2026-01-02" if over else "2026-01-01")
    assert status == (outcome or ("expired" if over else "pending"))


def test_two_deciders_at_once_make_one_decision(people: People) -> None:
    """Of twelve people who decide at the same instant exactly one does; eleven hear that it is final."""
    people.package()
    opened = [people(f"person {number}") for number in range(12)]
    outcomes: list[str] = []
    barrier = threading.Barrier(len(opened))

    def decide(database: ResearchDatabase) -> None:
        barrier.wait()
        try:
            database.decide_approval("pkg-1", "approved", payload_hash=PAYLOAD_HASH)
            outcomes.append("approved")
        except StateError:
            outcomes.append("final")
        database.close()

    threads = [threading.Thread(target=decide, args=(database,)) for database in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(outcomes), people.rows("approval_decision")) == (["approved", *["final"] * 11], 1)
    assert people.bo.verify_audit().damages == ()


# --- The account ------------------------------------------------------------------------------------------------------


def test_each_step_and_each_refusal_is_an_event(people: People) -> None:
    """Request, refusal, decision and expiry are in the log with ids and hashes, and no text of the payload is."""
    people.package()
    people.package("pkg-2")
    refusals: list[Callable[[], Any]] = [
        lambda: people.ana.decide_approval("pkg-1", "approved", payload_hash=PAYLOAD_HASH),
        lambda: people.bo.decide_approval("pkg-1", "approved"),
        lambda: people.bo.decide_approval(SECRET, "approved"),
    ]
    for refused in refusals:
        with pytest.raises((StateError, InputError)):
            refused()
    people.approve()
    people.clock.move(hours=24)
    assert [item.package_id for item in people.bo.expire_approvals()] == ["pkg-2"]
    events = list(reversed(people.bo.audit_events(limit=100)))
    assert [event.kind for event in events][2:] == [
        "approval_requested", "approval_requested", "approval_refused", "approval_refused", "approval_refused",
        "approval_approved", "approval_expired",
    ]  # fmt: skip
    assert [event.subject_id for event in events][2:] == [
        "pkg-1",
        "pkg-2",
        "pkg-1",
        "pkg-1",
        "(unknown)",
        "pkg-1",
        "pkg-2",
    ]
    assert events[2].details == {
        "case": "case-1", "payload_hash": PAYLOAD_HASH, "risk_level": "high", "expires_at": "2026-01-03T03:04:05.000000Z",
    }  # fmt: skip
    assert [event.details for event in events[4:7]] == [
        {"asked": "approved", "error": error} for error in ("StateError", "InputError", "InputError")
    ]  # fmt: skip
    assert "fake" not in json.dumps([event.model_dump() for event in events])


def test_a_refused_step_changes_nothing_but_the_log(people: People) -> None:
    """Tables and revision are as before."""
    people.package()
    before = (people.rows("approval_package"), people.rows("memory"), people.bo.status()["revision"])
    with pytest.raises(StateError):
        people.ana.decide_approval("pkg-1", "approved", payload_hash=PAYLOAD_HASH)
    assert (people.rows("approval_package"), people.rows("memory"), people.bo.status()["revision"]) == before
    assert people.rows("approval_decision") == 0


CHANGES = {
    "payload": """UPDATE approval_package SET payload = '{"plan":"other"}'""",
    "decision": """UPDATE approval_decision SET payload_hash = printf('%064d', 1)""",
    "approver": "UPDATE approval_decision SET decided_by = 'Ana', requested_by = 'zoe', decided_by_key = 'ana', requested_by_key = 'zoe'",
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_the_hashes_are_recomputed_on_every_read(people: People, what: str) -> None:
    """A payload or decision that was changed behind the log's back is handed out by no way; the error names the package."""
    people.package()
    people.approve()
    tamper(people, CHANGES[what])
    reads: list[Callable[[], Any]] = [
        lambda: people.bo.approval("pkg-1"), people.bo.approvals, people.bo.expire_approvals,
        lambda: people.bo.decide_approval("pkg-1", "rejected"), lambda: people.receipt("a" * 64),
        lambda: people.bo.set_memory_status("case-1", "published"),
    ]  # fmt: skip
    for read in reads:
        with pytest.raises(AuditChainBroken, match=r"'pkg-1' was changed: .*arr audit verify"):
            read()


def tamper(people: People, statement: str) -> None:
    """What somebody with the file can do: drop triggers, ignore foreign keys."""
    connection = sqlite3.connect(people.path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.execute("PRAGMA ignore_check_constraints=ON")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    assert connection.execute(statement).rowcount > 0
    connection.close()


# --- The gate before publishing (contract 5.2) ------------------------------------------------------------------------


def test_a_risk_bearing_case_is_published_with_approval_and_passed_receipt_alone(people: People) -> None:
    """Each step before the last leaves it unpublished and says what is missing; the receipt itself publishes nothing."""
    people.case("risky", metadata={"risk_level": "medium"})

    def publish() -> str:
        return people.bo.set_memory_status("risky", "published").status

    with pytest.raises(StateError, match="no package for it is approved"):
        publish()
    package = people.package("p", "risky")
    with pytest.raises(StateError, match="no package for it is approved"):
        publish()
    decision = people.approve("p")
    with pytest.raises(StateError, match="approved package 'p' has no passed receipt"):
        publish()
    people.receipt(decision.receipt_token or "", package_id="p", case_id="risky", payload_hash=package.payload_hash)
    assert people.bo.memory("risky").status == "candidate"
    assert publish() == "published"


@pytest.mark.parametrize("status", ["failed", "blocked"])
def test_only_a_passed_receipt_opens_the_gate(people: People, status: str) -> None:
    """A failed or blocked one does not; a second package with a passed one does."""
    people.package()
    people.receipt(people.approve().receipt_token or "", status=status)
    with pytest.raises(StateError, match="no passed receipt"):
        people.bo.set_memory_status("case-1", "published")
    people.package("pkg-2")
    people.receipt(people.approve("pkg-2").receipt_token or "", package_id="pkg-2")
    assert people.bo.set_memory_status("case-1", "published").status == "published"


def test_a_package_alone_makes_a_case_risk_bearing(people: People) -> None:
    """Whoever asked needs the answer: with a pending, rejected or expired package nothing is published."""
    people.package(risk="low")
    people.bo.decide_approval("pkg-1", "rejected")
    with pytest.raises(StateError, match="no package for it is approved"):
        people.bo.set_memory_status("case-1", "published")


@pytest.mark.parametrize("metadata", [{}, {"risk_level": "low"}, {"risk_level": None}])
def test_a_case_without_risk_needs_no_approval(people: People, metadata: dict[str, Any]) -> None:
    """No package and no risk level above low: published as any other memory."""
    people.case("plain", metadata=metadata)
    assert people.bo.set_memory_status("plain", "published").status == "published"


@pytest.mark.parametrize("level", ["medium", "high", "HIGH", "critical", "", 3, True, ["low"]])
def test_what_is_not_low_is_risk(level: Any) -> None:
    """A level that nobody knows counts as risk."""
    assert is_risky(level)


def test_another_kind_of_memory_needs_none(people: People) -> None:
    """The gate is about research cases."""
    people.ana.add_memory(
        memory_id="note", title="t", content="c", source_refs=["a.md"], metadata={"risk_level": "high"}
    )
    assert people.bo.set_memory_status("note", "published").status == "published"


def test_what_was_edited_since_is_not_what_was_approved(people: People) -> None:
    """An approval holds for what the case said; taking the risk level out afterwards opens nothing either."""
    people.case("risky", metadata={"risk_level": "high"})
    people.package("p", "risky")
    people.receipt(people.approve("p").receipt_token or "", package_id="p", case_id="risky")
    people.ana.edit_memory("risky", content="Run r9 with no warmup at all.")
    with pytest.raises(StateError, match="it was changed after its package was requested"):
        people.bo.set_memory_status("risky", "published")
    people.case("silent", metadata={"risk_level": "high"})
    people.ana.edit_memory("silent", metadata={})
    with pytest.raises(StateError, match="no package for it is approved"):
        people.bo.set_memory_status("silent", "published")


def test_a_step_of_status_keeps_the_approval(people: People) -> None:
    """Verifying, deprecating and publishing again change no word, so the approval still holds."""
    people.package()
    people.receipt(people.approve().receipt_token or "")
    for status in ("verified", "published", "deprecated", "published"):
        people.bo.set_memory_status("case-1", status, "step")
    assert people.bo.memory("case-1").status == "published"


def test_the_approval_of_a_neighbour_opens_nothing_here(people: People) -> None:
    """The same ids, approved and passed in each other scope, leave this one's case unpublished."""
    people.case("risky", metadata={"risk_level": "high"})
    for scope in other_scopes():
        there = People(people.path, scope)
        there.case("risky", metadata={"risk_level": "high"})
        there.package("p", "risky")
        there.receipt(there.approve("p").receipt_token or "", package_id="p", case_id="risky")
        there.bo.set_memory_status("risky", "published")
        there.close()
    with pytest.raises(StateError, match="no package for it is approved"):
        people.bo.set_memory_status("risky", "published")
    assert people.scope == SCOPE


def test_an_import_publishes_no_case_that_carries_risk(people: People) -> None:
    """With its status kept, a risk-bearing published case is refused with its line; as a candidate it comes in; a second
    import of what is here already changes nothing."""
    people.case("risky", metadata={"risk_level": "high"})
    people.package("p", "risky")
    people.receipt(people.approve("p").receipt_token or "", package_id="p", case_id="risky")
    people.bo.set_memory_status("risky", "published")
    records = [FileRecord(file_values(people.bo.memory("risky")), "m.jsonl", 7, {})]
    there = people("cy", other_scopes()[0])
    with pytest.raises(
        ImportInvalid, match=r"m\.jsonl:7: Case 'risky' can't be kept as published.*Import it as a candidate"
    ):
        there.import_memories(records, origin="m.jsonl", keep_status=True, reason="moved")
    assert there.import_memories(records, origin="m.jsonl").imported == ("risky",)
    with pytest.raises(StateError, match="no package for it is approved"):
        there.set_memory_status("risky", "published")
    assert people.bo.import_memories(records, origin="m.jsonl", keep_status=True, reason="again").unchanged == (
        "risky",
    )
