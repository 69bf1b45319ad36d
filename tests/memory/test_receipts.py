"""Receipts: one a token, gated by approval, case, payload and token; without credentials; without any effect."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.approval_models import event_key
from arr_sql.errors import AuditChainBroken, InputError, StateError
from arr_sql.memory.receipts import parse_body
from tests.memory.people import BODY, PAYLOAD_HASH, People, people
from tests.memory.test_approvals import tamper

__all__ = ["people"]

MIXED = "aB3" * 12
GITHUB = "gh" + "p_" + MIXED
WRONG_TOKEN = "a" * 64


@pytest.fixture
def token(people: People) -> str:
    """pkg-1 approved by bo: its token."""
    people.package()
    return people.approve().receipt_token or ""


def test_the_event_key_is_the_contracts_worked_value() -> None:
    """SHA-256 of the compact JSON array of package, token and receipt id."""
    expected = "a98a9f89a0f5a1d38ba32610f590be2eaa4eae3368fb8cb59ece468d40992fcb"
    assert event_key("pkg-1", "a" * 64, "step-1") == expected


def test_a_receipt_is_kept_with_what_it_names(people: People, token: str) -> None:
    """Package, case, payload hash, id, status and body come back; the token is stored nowhere."""
    made = people.receipt(token)
    assert (made.package_id, made.case_id, made.payload_hash, made.receipt_id, made.status) == (
        "pkg-1", "case-1", PAYLOAD_HASH, "step-1", "passed",
    )  # fmt: skip
    assert json.loads(made.body.model_dump_json()) == BODY
    assert made.event_key == event_key("pkg-1", token, "step-1")
    assert people.bo.approval("pkg-1").receipt == made
    event = people.bo.audit_events(limit=1)[0]
    assert (event.kind, event.subject_kind, event.subject_id) == (
        "receipt_recorded",
        "verification_receipt",
        made.event_key,
    )
    raw = people.path.read_bytes() + Path(f"{people.path}-wal").read_bytes()
    assert token.encode() not in raw and bytes.fromhex(token) not in raw


def test_the_same_receipt_again_returns_the_stored_one(people: People, token: str) -> None:
    """However often and whoever sends it, a second row or event does not come of it."""
    first = people.receipt(token)
    people.clock.move(days=3)
    before = people.kinds()
    assert people.receipt(token.upper(), body=dict(reversed(BODY.items()))) == first
    assert people.bo.record_receipt(
        "pkg-1", case_id="case-1", payload_hash=PAYLOAD_HASH, receipt_token=token, receipt_id=" step-1 ", status="passed", body=BODY
    ) == first  # fmt: skip
    assert (people.rows("verification_receipt"), people.kinds()) == (1, before)


DIFFERENT: list[dict[str, Any]] = [
    {"receipt_id": "step-2"}, {"status": "failed"}, {"body": {**BODY, "log_summary": "other"}},
    {"body": {**BODY, "evidence_refs": ["runs/r8.log", "runs/r9.log"]}},
]  # fmt: skip


@pytest.mark.parametrize("change", DIFFERENT, ids=str)
def test_a_different_receipt_is_refused(people: People, token: str, change: dict[str, Any]) -> None:
    """A token admits exactly one receipt; the stored one stays as it is, and the refusal is an event."""
    first = people.receipt(token)
    with pytest.raises(StateError, match=r"has admitted receipt 'step-1' already, and this one differs"):
        people.receipt(token, **change)
    assert (people.bo.approval("pkg-1").receipt, people.rows("verification_receipt")) == (first, 1)
    assert people.kinds()[-1] == "receipt_refused"


def test_the_token_is_that_packages_own(people: People, token: str) -> None:
    """A guess, another package's token and what is no token are refused, and no message repeats a token."""
    people.package("pkg-2")
    other = people.approve("pkg-2").receipt_token or ""
    for wrong in (WRONG_TOKEN, other):
        with pytest.raises(StateError, match="not the one that the approval of package 'pkg-1' returned") as caught:
            people.receipt(wrong)
        assert wrong not in str(caught.value)
    for malformed in ("", "x" * 64, token[:-1], token + "0", None, 7):
        with pytest.raises(InputError, match="64 hex digits"):
            people.receipt(malformed)  # type: ignore[arg-type]
    assert people.rows("verification_receipt") == 0
    assert people.receipt(token).status == "passed"


def test_the_receipt_names_case_and_payload(people: People, token: str) -> None:
    """A receipt about another case or another payload than the approved one is refused."""
    people.case("case-2")
    with pytest.raises(InputError, match=r"another case than package 'pkg-1'.*arr approval show pkg-1"):
        people.receipt(token, case_id="case-2")
    with pytest.raises(InputError, match="another payload hash than package 'pkg-1'"):
        people.receipt(token, payload_hash="0" * 64)
    with pytest.raises(InputError, match="no approval package 'none'"):
        people.receipt(token, package_id="none")
    assert people.rows("verification_receipt") == 0


@pytest.mark.parametrize("state", ["pending", "rejected", "expired"])
def test_only_an_approved_package_takes_a_receipt(people: People, state: str) -> None:
    """With whatever token."""
    people.package()
    if state == "rejected":
        people.bo.decide_approval("pkg-1", "rejected")
    if state == "expired":
        people.clock.move(hours=24)
    with pytest.raises(StateError, match=f"'pkg-1' is {state}. Only an approved package takes a receipt"):
        people.receipt(WRONG_TOKEN)
    assert people.rows("verification_receipt") == 0


def test_a_receipt_may_come_after_the_24_hours(people: People, token: str) -> None:
    """They are for the decision; a run may take longer."""
    people.clock.move(days=30)
    assert people.receipt(token).recorded_at == "2026-02-01T03:04:05.000000Z"


# --- The body ---------------------------------------------------------------------------------------------------------

WRONG_BODIES: list[tuple[Any, str]] = [
    (None, "must be a JSON object"), ([], "must be a JSON object"), ({}, "evidence_refs is wrong"),
    ({"evidence_refs": []}, "evidence_refs is wrong"), ({"evidence_refs": ["a", " "]}, "blank reference"),
    ({"evidence_refs": "a"}, "evidence_refs is wrong"), ({"evidence_refs": [1]}, "evidence_refs.0 is wrong"),
    ({**BODY, "notes": "x"}, "holds only environment, verification_summary, evidence_refs, assertions, log_summary"),
    ({**BODY, "log_summary": "x" * 4097}, "log_summary is wrong.*4096"), ({**BODY, "log_summary": 5}, "log_summary is wrong"),
    ({**BODY, "assertions": "x"}, "assertions is wrong"), ({**BODY, "assertions": [float("nan")]}, "body.assertions.0. is NaN"),
    ({**BODY, "environment": None}, "environment"), ({**BODY, "verification_summary": ["x"]}, "verification_summary is wrong"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), WRONG_BODIES, ids=[message for _, message in WRONG_BODIES])
def test_a_body_of_another_shape_is_refused(people: People, token: str, body: Any, message: str) -> None:
    """The five fields and no other, each of its type, evidence not empty, the log summary at most 4,096 characters."""
    with pytest.raises(InputError, match=message):
        people.receipt(token, body=body)
    assert people.rows("verification_receipt") == 0


def test_what_a_body_may_hold() -> None:
    """Evidence alone is enough; the environment may be an object, an assertion any JSON; 4,096 characters fit."""
    assert parse_body({"evidence_refs": ["a"]}).model_dump(mode="json") == {
        "environment": "", "verification_summary": "", "evidence_refs": ["a"], "assertions": [], "log_summary": "",
    }  # fmt: skip
    full = {
        "environment": {"gpu": "a100", "seeds": [1, 2]},
        "assertions": [{"loss": 2.04}, "stable"],
        "log_summary": "😀" * 4096,
    }
    assert parse_body({"evidence_refs": ["a"], **full}).model_dump(mode="json") == {
        "verification_summary": "",
        "evidence_refs": ["a"],
        **full,
    }


HIDDEN: list[dict[str, Any]] = [
    {"environment": {"HF_TOKEN": "x1"}}, {"environment": {"a": {"b": [{"Password": 1}]}}}, {"verification_summary": "api_key=abc"},
    {"evidence_refs": [f"https://bob:{MIXED}@x.org/r"]}, {"assertions": [{"secret": "quiet"}]}, {"log_summary": f"ok\nexport T={GITHUB}"},
    {"log_summary": "-----BEGIN RSA " + "PRIVATE KEY-----"},
    {"assertions": ["eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.abcdefghij_k"]},
    {"unknown": {"password": "x"}}, {"environment": {GITHUB: 1}},
]  # fmt: skip


@pytest.mark.parametrize("change", HIDDEN, ids=range(len(HIDDEN)))
def test_a_credential_anywhere_refuses_the_receipt_before_any_write(
    people: People, token: str, change: dict[str, Any]
) -> None:
    """No row, no byte of it in the file, no echo in the message; the token is not used up."""
    with pytest.raises(InputError, match="looks like a credential") as caught:
        people.receipt(token, body={**BODY, **change})
    raw = people.path.read_bytes() + Path(f"{people.path}-wal").read_bytes()
    assert GITHUB not in str(caught.value) and GITHUB.encode() not in raw and MIXED.encode() not in raw
    assert people.rows("verification_receipt") == 0
    assert people.receipt(token).status == "passed"


def test_the_receipt_never_holds_its_own_token(people: People, token: str) -> None:
    """Neither in the body nor in the id."""
    for change in ({"body": {**BODY, "log_summary": f"used {token.upper()}"}}, {"receipt_id": f"run-{token}"}):
        with pytest.raises(InputError, match="holds its own token"):
            people.receipt(token, **change)
    with pytest.raises(InputError, match="looks like a credential"):
        people.receipt(token, receipt_id=GITHUB)
    for receipt_id in ("", " ", "a\nb", "x" * 201):
        with pytest.raises(InputError, match="receipt id"):
            people.receipt(token, receipt_id=receipt_id)
    with pytest.raises(InputError, match="one of passed, failed, blocked"):
        people.receipt(token, status="done")


# --- No effect --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["passed", "failed", "blocked"])
def test_a_receipt_creates_and_publishes_no_memory(people: People, token: str, status: str) -> None:
    """Memories, their versions and what a search finds are the same before and after."""
    before, versions = people.bo.memories(), people.rows("memory")
    people.receipt(token, status=status)
    assert (people.bo.memories(), people.rows("memory")) == (before, versions)
    assert people.bo.memory("case-1").status == "candidate"
    assert people.bo.search("warmup").evidence == ()


def test_a_changed_receipt_is_not_handed_out(people: People, token: str) -> None:
    """Its body is checked against its hash on every read."""
    people.receipt(token)
    tamper(people, """UPDATE verification_receipt SET body = json_set(body, '$.log_summary', 'all is well')""")
    with pytest.raises(AuditChainBroken, match="'pkg-1' was changed: its receipt"):
        people.bo.approval("pkg-1")


def test_ten_senders_at_once_store_one_receipt(people: People, token: str) -> None:
    """Ten different receipts under one token at the same instant: one is stored, nine are refused."""
    barrier = threading.Barrier(10)
    outcomes: list[str] = []

    def send(number: int) -> None:
        database = people("ana")
        barrier.wait()
        try:
            database.record_receipt(
                "pkg-1", case_id="case-1", payload_hash=PAYLOAD_HASH, receipt_token=token, receipt_id=f"run-{number}",
                status="passed", body=BODY,
            )  # fmt: skip
            outcomes.append("stored")
        except StateError:
            outcomes.append("refused")
        database.close()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(outcomes), people.rows("verification_receipt")) == (["refused"] * 9 + ["stored"], 1)
