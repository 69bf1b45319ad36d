"""`arr audit verify` vouches for packages, decisions and receipts: each row that is changed, removed or added is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arr_sql.core.connection import open_reader, sqlite3
from arr_sql.memory.audit_verify import VerifyReport, verify_audit
from tests.memory.people import People

ROWS: dict[str, tuple[str, str]] = {
    "a payload": ("""UPDATE approval_package SET payload = '{"plan":"other"}' WHERE package_id = 'p1'""", "text_changed"),
    "a payload and its hash": (
        """UPDATE approval_package SET payload = '{}', payload_hash = '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'
        WHERE package_id = 'p1'""", "row_changed"),
    "the case's hash": ("UPDATE approval_package SET case_hash = printf('%064d', 1) WHERE package_id = 'p1'", "row_changed"),
    "the risk": ("UPDATE approval_package SET risk_level = 'low' WHERE package_id = 'p1'", "row_changed"),
    "who asked": ("UPDATE approval_package SET requested_by = 'zoe', requested_by_key = 'zoe' WHERE package_id = 'p1'", "row_changed"),
    "the end of its life": (
        "UPDATE approval_package SET expires_at = '2027-01-01T00:00:00.000000Z' WHERE package_id = 'p1'", "row_changed"),
    "a package that is removed": ("DELETE FROM approval_package WHERE package_id = 'p3'", "event_without_row"),
    "a package that is added": (
        """INSERT INTO approval_package SELECT 99, scope_id, 'p9', case_id, case_hash, payload, payload_hash, risk_level,
        requested_by, requested_by_key, requested_at, expires_at, added_revision FROM approval_package WHERE package_id = 'p1'""",
        "row_without_event"),
    "an outcome": (
        "UPDATE approval_decision SET outcome = 'approved', token_hash = printf('%064d', 1) WHERE package_id = 'p2'", "row_changed"),
    "who decided": ("UPDATE approval_decision SET decided_by = 'zoe', decided_by_key = 'zoe' WHERE package_id = 'p1'", "row_changed"),
    "a reason": ("UPDATE approval_decision SET reason = 'fine' WHERE package_id = 'p2'", "row_changed"),
    "a token's hash": ("UPDATE approval_decision SET token_hash = printf('%064d', 1) WHERE package_id = 'p1'", "row_changed"),
    "a decision that is removed": ("DELETE FROM approval_decision WHERE package_id = 'p2'", "event_without_row"),
    "a decision that is added": (
        """INSERT INTO approval_decision SELECT 99, scope_id, 'p3', case_id, payload_hash, requested_by, requested_by_key,
        expires_at, outcome, decided_by, decided_by_key, decided_at, reason, printf('%064d', 1), added_revision
        FROM approval_decision WHERE package_id = 'p1'""", "row_without_event"),
    "a receipt's body": ("UPDATE verification_receipt SET body = json_set(body, '$.log_summary', 'well')", "text_changed"),
    "a receipt's status": ("UPDATE verification_receipt SET status = 'passed'", "row_changed"),
    "a receipt's id": ("UPDATE verification_receipt SET receipt_id = 'other'", "row_changed"),
    "who recorded": ("UPDATE verification_receipt SET recorded_by = 'zoe'", "row_changed"),
    "a receipt that is removed": ("DELETE FROM verification_receipt", "event_without_row"),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """p1 approved with a failed receipt, p2 rejected, p3 pending, p4 expired."""
    people = People(tmp_path_factory.mktemp("whole") / "lab.db")
    people.case()
    people.package("p4")
    people.clock.move(hours=24)
    people.bo.expire_approvals()
    for name in ("p1", "p2", "p3"):
        people.package(name)
    people.receipt(people.approve("p1").receipt_token or "", package_id="p1", status="failed")
    people.bo.decide_approval("p2", "rejected", reason="no seed")
    people.close()
    return people.path


def verify(path: Path) -> VerifyReport:
    reader = open_reader(path)
    try:
        return verify_audit(reader)
    finally:
        reader.close()


def test_an_untouched_file_verifies(whole: Path) -> None:
    """Four packages, three decisions and a receipt are rows with their events."""
    report = verify(whole)
    assert (report.damages, report.rows) == ((), 1 + 4 + 3 + 1)


@pytest.mark.parametrize("what", ROWS)
def test_a_row_that_is_not_what_its_event_saw(whole: Path, tmp_path: Path, what: str) -> None:
    """Found, named for what it is, at its event where it has one."""
    path = Path(shutil.copy(whole, tmp_path / "lab.db"))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys=OFF")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    statement, kind = ROWS[what]
    assert connection.execute(statement).rowcount == 1
    connection.close()
    (found,) = verify(path).damages
    assert found.kind == kind
    assert (found.seq is None) == (kind == "row_without_event")
    assert found.subject.split()[0] in ("approval_package", "approval_decision", "verification_receipt")


@pytest.mark.parametrize("kind", ["approval_requested", "approval_rejected", "approval_expired", "receipt_recorded"])
def test_an_event_that_is_taken_out_leaves_its_row_alone(whole: Path, tmp_path: Path, kind: str) -> None:
    """A row whose event was removed stands without one, beside the broken chain."""
    path = Path(shutil.copy(whole, tmp_path / "lab.db"))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER audit_event_no_delete")
    connection.execute("DELETE FROM audit_event WHERE seq = (SELECT min(seq) FROM audit_event WHERE kind = ?)", (kind,))
    connection.close()
    kinds = {item.kind for item in verify(path).damages}
    assert "row_without_event" in kinds
