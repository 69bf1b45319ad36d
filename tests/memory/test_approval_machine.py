"""Any order of requests, decisions, receipts, tamperings by SQL and passing time against a small model of the rules."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from arr_sql.core.approval_models import person_key
from arr_sql.core.connection import Connection, sqlite3
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StateError
from tests.memory.people import BODY, PAYLOAD, PAYLOAD_HASH, People

NAMES = ["ana", "Ana ", "ANA", "bo", " BO", "cy", "\u00c4da", "a\u0308DA"]
IDS = ["p1", "p2", "p3"]
NAME, ID = st.sampled_from(NAMES), st.sampled_from(IDS)


@dataclass
class Model:
    """What the rules say of one package."""

    requester: str
    expires_at: datetime
    outcome: str | None = None
    token: str | None = None
    receipt: tuple[str, str] | None = None


class Approvals(RuleBasedStateMachine):
    """The store beside :class:`Model`; every rule says in advance whether the step is allowed."""

    template: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="arr-machine-"))
        self.people = People(Path(shutil.copy(self.template, self.folder / "lab.db")))
        self.database = self.people.ana
        self.model: dict[str, Model] = {}
        self.tokens: list[str] = ["a" * 64]

    def teardown(self) -> None:
        """Close and remove the file."""
        self.people.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def by(self, name: str) -> ResearchDatabase:
        """The file in the hands of ``name``: one connection does for all, only the actor differs."""
        self.database.actor = name
        return self.database

    def noted(self, model: Model | None) -> None:
        """A refused step about a package whose time is over notes that."""
        if model and model.outcome is None and self.now >= model.expires_at:
            model.outcome = "expired"

    @property
    def now(self) -> datetime:
        """The machine's time."""
        return self.people.clock.now

    def allowed(self, step: Any, is_allowed: bool) -> Any:
        """Take the step; it must succeed exactly when the model says so."""
        try:
            result = step()
        except (StateError, InputError):
            assert not is_allowed
            return None
        assert is_allowed
        return result

    @rule(by=NAME, package_id=ID, risk=st.sampled_from(["low", "high"]))
    def request(self, by: str, package_id: str, risk: Any) -> None:
        """Allowed once an id."""
        step = lambda: self.by(by).request_approval("case-1", PAYLOAD, risk_level=risk, package_id=package_id)  # noqa: E731
        if self.allowed(step, package_id not in self.model):
            self.model[package_id] = Model(by, self.now + timedelta(hours=24))
        else:
            self.noted(self.model[package_id])

    @rule(by=NAME, package_id=ID, outcome=st.sampled_from(["approved", "rejected"]), saw=st.booleans())
    def decide(self, by: str, package_id: str, outcome: Any, saw: bool) -> None:
        """Allowed to another person, in time, once, and for an approval with the payload's hash."""
        model = self.model.get(package_id)
        is_allowed = (
            model is not None and model.outcome is None and self.now < model.expires_at
            and person_key(by) != person_key(model.requester) and (saw or outcome == "rejected")
        )  # fmt: skip
        shown = PAYLOAD_HASH if saw else None
        made = self.allowed(lambda: self.by(by).decide_approval(package_id, outcome, payload_hash=shown), is_allowed)
        if made and model:
            model.outcome, model.token = outcome, made.receipt_token
            self.tokens += [made.receipt_token] if made.receipt_token else []
        else:
            self.noted(model)

    @rule(
        package_id=ID,
        token=st.integers(0, 3),
        receipt_id=st.sampled_from(["r1", "r2"]),
        status=st.sampled_from(["passed", "failed"]),
    )
    def receive(self, package_id: str, token: int, receipt_id: str, status: Any) -> None:
        """Allowed with the package's own token, and then only the same receipt again."""
        model, given = self.model.get(package_id), self.tokens[-1 - token % len(self.tokens)]
        is_allowed = (
            model is not None and model.outcome == "approved" and model.token == given
            and model.receipt in (None, (receipt_id, status))
        )  # fmt: skip
        made = self.allowed(
            lambda: self.by("cy").record_receipt(
                package_id, case_id="case-1", payload_hash=PAYLOAD_HASH, receipt_token=given, receipt_id=receipt_id,
                status=status, body=BODY,
            ), is_allowed,
        )  # fmt: skip
        if made and model:
            model.receipt = (receipt_id, status)
        else:
            self.noted(model)

    @rule(hours=st.sampled_from([1, 12, 24]))
    def wait(self, hours: int) -> None:
        """Time passes."""
        self.people.clock.move(hours=hours)

    @rule(by=NAME)
    def expire(self, by: str) -> None:
        """Notes exactly the undecided packages whose time is over."""
        over = {name for name, m in self.model.items() if m.outcome is None and self.now >= m.expires_at}
        assert {item.package_id for item in self.by(by).expire_approvals()} == over
        for name in over:
            self.model[name].outcome = "expired"

    @rule(by=NAME)
    def publish(self, by: str) -> None:
        """Allowed when no package exists, or one is approved and passed."""
        if self.by(by).memory("case-1").status == "published":
            return
        passed = any(m.receipt is not None and m.receipt[1] == "passed" for m in self.model.values())
        self.allowed(lambda: self.by(by).set_memory_status("case-1", "published", "why"), passed or not self.model)
        if self.by(by).memory("case-1").status == "published":
            self.by(by).set_memory_status("case-1", "deprecated", "so that it can be published again")

    @rule(package_id=ID, who=NAME, verb=st.sampled_from(["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE"]))
    def decide_by_sql(self, package_id: str, who: str, verb: str) -> None:
        """A second decision, or one by the requester, is refused by the database. Nothing is kept of the attempt."""
        model = self.model.get(package_id)
        if model is None or (model.outcome is None and person_key(who) != person_key(model.requester)):
            return  # what would be a first decision by another person is the log's to find, not the constraint's
        connection: Connection = self.people.sql()
        values = {
            "decided_by": who.strip(), "decided_by_key": person_key(who),
            "decided_at": model.expires_at.strftime("%Y-%m-%dT00:00:00.000000Z"),
            "token_hash": "c" * 64, "package_id": package_id,
        }  # fmt: skip
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(
                f"""{verb} INTO approval_decision (scope_id, package_id, case_id, payload_hash, requested_by, requested_by_key,
                expires_at, outcome, decided_by, decided_by_key, decided_at, reason, token_hash, added_revision)
                SELECT scope_id, package_id, case_id, payload_hash, requested_by, requested_by_key, expires_at, 'approved',
                :decided_by, :decided_by_key, :decided_at, '', :token_hash, 1
                FROM approval_package WHERE package_id = :package_id""", values,
            )  # fmt: skip
            changed = connection.execute("SELECT changes()").fetchone()[0]
        except sqlite3.IntegrityError:
            changed = 0
        finally:
            connection.execute("ROLLBACK")
            connection.close()
        assert changed == 0

    @invariant()
    def the_store_is_what_the_model_says(self) -> None:
        """Status, decisions and receipts agree; nobody decided their own; no package has two of anything."""
        found = {package.package_id: package for package in self.by("cy").approvals()}
        assert set(found) == set(self.model)
        for name, model in self.model.items():
            package = found[name]
            over = model.outcome is None and self.now >= model.expires_at
            assert package.status == ("expired" if over else model.outcome or "pending")
            assert (package.decision is None) == (model.outcome is None)
            if package.decision and package.decision.outcome != "expired":
                assert person_key(package.decision.decided_by) != person_key(package.requested_by)
            assert (package.receipt and (package.receipt.receipt_id, package.receipt.status)) == model.receipt
        kinds = [event.kind for event in self.by("cy").audit_events(limit=1000)]
        decided = [kind for kind in kinds if kind in ("approval_approved", "approval_rejected", "approval_expired")]
        assert len(decided) == sum(model.outcome is not None for model in self.model.values())
        assert kinds.count("receipt_recorded") == sum(model.receipt is not None for model in self.model.values())

    @invariant()
    def the_log_verifies(self) -> None:
        """Whatever was tried."""
        assert self.by("cy").verify_audit().damages == ()


def test_no_path_reaches_two_decisions_self_approval_or_two_receipts(tmp_path: Path) -> None:
    """60 histories of up to 30 steps; the profile ``deep`` runs thousands."""
    people = People(tmp_path / "lab.db")
    people.case()
    people.close()
    Approvals.template = people.path
    deep = settings.get_profile("deep").max_examples == settings().max_examples
    runs = settings().max_examples if deep else 60
    run_state_machine_as_test(Approvals, settings=settings(settings(), max_examples=runs, stateful_step_count=30))
