"""What the database itself refuses, whoever writes to it: direct SQL against the approval tables, triggers on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import Connection, open_writer, sqlite3
from tests.memory.people import PAYLOAD_HASH, People

LATER = "2026-01-02T05:00:00.000000Z"
EXPIRY = "2026-01-03T03:04:05.000000Z"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pending: 'open'; approved without receipt: 'free'; approved with receipt: 'done'. A note lies beside the case."""
    people = People(tmp_path_factory.mktemp("made") / "lab.db")
    people.case()
    for name in ("open", "free", "done"):
        people.package(name)
    people.approve("free")
    people.receipt(people.approve("done").receipt_token or "", package_id="done")
    people.ana.add_memory(memory_id="note", title="t", content="c", kind="knowledge")
    people.close()
    return people.path


@pytest.fixture
def sql(made: Path, tmp_path: Path) -> Iterator[Connection]:
    """A connection to a copy that may write anything."""
    connection = open_writer(Path(shutil.copy(made, tmp_path / "lab.db")))
    yield connection
    connection.close()


def row(sql: Connection, table: str, package: str) -> dict[str, Any]:
    """A stored row to make a wrong one from."""
    found = dict(sql.execute(f"SELECT * FROM {table} WHERE package_id = ?", (package,)).fetchone())
    del found["id"]
    return found


def decision(sql: Connection, **changes: Any) -> dict[str, Any]:
    """A decision about 'open' that would be accepted."""
    return {**row(sql, "approval_decision", "free"), "package_id": "open", "token_hash": "b" * 64, **changes}


def receipt(sql: Connection, **changes: Any) -> dict[str, Any]:
    """A receipt for 'free' that would be accepted."""
    token_hash = row(sql, "approval_decision", "free")["token_hash"]
    return {
        **row(sql, "verification_receipt", "done"),
        "package_id": "free",
        "token_hash": token_hash,
        "event_key": "b" * 64,
        **changes,
    }


def package(sql: Connection, **changes: Any) -> dict[str, Any]:
    """A package that would be accepted."""
    return {**row(sql, "approval_package", "open"), "package_id": "new", **changes}


def insert(sql: Connection, table: str, values: dict[str, Any], verb: str = "INSERT") -> None:
    sql.execute(
        f"{verb} INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", tuple(values.values())
    )


def test_rows_that_keep_the_rules_are_accepted(sql: Connection) -> None:
    """The rows that the tests below spoil are fine unspoilt, so each is refused for its one fault."""
    insert(sql, "approval_package", package(sql))
    insert(sql, "approval_decision", decision(sql))
    insert(sql, "verification_receipt", receipt(sql))


PACKAGES: dict[str, dict[str, Any]] = {
    "another kind of memory": {"case_id": "note"}, "no such case": {"case_id": "none"}, "no such scope": {"scope_id": 99},
    "no JSON": {"payload": "{"}, "no object": {"payload": "[]"}, "no hash": {"payload_hash": "abc"},
    "risk": {"risk_level": "none"}, "no life": {"expires_at": "2026-01-02T03:04:05.000000Z"}, "time": {"requested_at": "now"},
    "blank id": {"package_id": ""}, "id with space": {"package_id": " new"}, "name with space": {"requested_by": "ana "},
    "key of somebody else": {"requested_by_key": "zoe"}, "no key": {"requested_by_key": ""}, "nobody": {"requested_by": ""},
}  # fmt: skip


@pytest.mark.parametrize("what", PACKAGES)
def test_a_package_that_breaks_a_rule(sql: Connection, what: str) -> None:
    """Each single fault is refused."""
    with pytest.raises(sqlite3.IntegrityError):
        insert(sql, "approval_package", package(sql, **PACKAGES[what]))


ANA = {"decided_by": "ana", "decided_by_key": "ana"}
DECISIONS: dict[str, dict[str, Any]] = {
    "by the requester": ANA, "by the requester, rejecting": {**ANA, "outcome": "rejected", "token_hash": None},
    "in capitals": {"decided_by": "ANA", "decided_by_key": "ana"},
    "in capitals with a key in capitals": {"decided_by": "ANA", "decided_by_key": "ANA"},
    "under a key of somebody else": {"decided_by": "ana", "decided_by_key": "bo"},
    "with a wide space and a lying key": {"decided_by": "ana\u3000", "decided_by_key": "bo"},
    "with a no-break space and a lying key": {"decided_by": "\u00a0Ana", "decided_by_key": "bo"},
    "with a tab": {"decided_by": "ana\t", "decided_by_key": "ana\t"},
    "with the key of the requester": {"decided_by": "ａｎａ", "decided_by_key": "ana"},
    "lying about who asked": {**ANA, "requested_by": "zoe", "requested_by_key": "zoe"},
    "about another payload": {"payload_hash": "0" * 64}, "about another case": {"case_id": "note"},
    "about another expiry": {"expires_at": "2027-01-03T03:04:05.000000Z"}, "about no package": {"package_id": "none"},
    "from another scope": {"scope_id": 2}, "a second one": {"package_id": "free"},
    "another outcome": {"outcome": "pending", "token_hash": None},
    "approved too late": {"decided_at": EXPIRY}, "rejected too late": {"decided_at": EXPIRY, "outcome": "rejected", "token_hash": None},
    "expired too early": {"outcome": "expired", "token_hash": None, "decided_at": LATER},
    "approved without a token": {"token_hash": None}, "rejected with a token": {"outcome": "rejected"},
    "expired with a token": {"outcome": "expired", "decided_at": EXPIRY}, "by nobody": {"decided_by": "", "decided_by_key": ""},
}  # fmt: skip


@pytest.mark.parametrize("what", DECISIONS)
def test_a_decision_that_breaks_a_rule(sql: Connection, what: str) -> None:
    """Self-approval in any ASCII case or trimming, a second decision, a decision out of time: all refused by constraints."""
    with pytest.raises(sqlite3.IntegrityError):
        insert(sql, "approval_decision", decision(sql, **DECISIONS[what]))


def test_an_expiry_may_be_noted_by_the_requester(sql: Connection) -> None:
    """It decides nothing."""
    insert(sql, "approval_decision", decision(sql, **ANA, outcome="expired", token_hash=None, decided_at=EXPIRY))


RECEIPTS: dict[str, dict[str, Any]] = {
    "for a pending package": {"package_id": "open"}, "a second one": {"package_id": "done"}, "another token": {"token_hash": "0" * 64},
    "no token": {"token_hash": None}, "another payload": {"payload_hash": "0" * 64}, "another case": {"case_id": "note"},
    "another scope": {"scope_id": 2}, "a status": {"status": "done"}, "no evidence": {"body": '{"evidence_refs":[],"log_summary":""}'},
    "evidence that is no list": {"body": '{"evidence_refs":"a","log_summary":""}'}, "no JSON": {"body": "{"},
    "no evidence field": {"body": '{"log_summary":""}'},
    "a long log": {"body": '{"evidence_refs":["a"],"log_summary":"%s"}' % ("x" * 4097)},
    "no id": {"receipt_id": ""}, "nobody": {"recorded_by": " "}, "no key": {"event_key": "abc"},
}  # fmt: skip


@pytest.mark.parametrize("what", RECEIPTS)
def test_a_receipt_that_breaks_a_rule(sql: Connection, what: str) -> None:
    """No receipt without the approval whose token it has, none of another shape, none twice."""
    with pytest.raises(sqlite3.IntegrityError):
        insert(sql, "verification_receipt", receipt(sql, **RECEIPTS[what]))


TABLES = ("approval_package", "approval_decision", "verification_receipt")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("recursive", [0, 1])
def test_rows_are_never_changed_removed_or_replaced(sql: Connection, table: str, recursive: int) -> None:
    """UPDATE, DELETE and every form of REPLACE are refused, with recursive_triggers off and on."""
    sql.execute(f"PRAGMA recursive_triggers={recursive}")
    before = [tuple(found) for found in sql.execute(f"SELECT * FROM {table}")]
    columns = list(row(sql, table, "done"))
    for column in columns:
        with pytest.raises(sqlite3.IntegrityError, match=r"frozen|final"):
            sql.execute(f"UPDATE {table} SET {column} = {column}")
    with pytest.raises(sqlite3.IntegrityError, match=r"frozen|final"):
        sql.execute(f"DELETE FROM {table}")
    same = row(sql, table, "done")
    number = sql.execute(f"SELECT id FROM {table} WHERE package_id = 'done'").fetchone()[0]
    for values in (same, {"id": number, **same}, {"id": number, **same, "package_id": "open"}):
        for verb in ("INSERT OR REPLACE", "REPLACE", "INSERT"):
            with pytest.raises(sqlite3.IntegrityError):
                insert(sql, table, values, verb)
    with pytest.raises(sqlite3.IntegrityError):
        insert(sql, table, {"id": number, **same}, "INSERT OR IGNORE")
    assert [tuple(found) for found in sql.execute(f"SELECT * FROM {table}")] == before


def test_the_view_tells_the_story_in_one_line(sql: Connection) -> None:
    """Who asked, who decided, what was reported, on which evidence, in which scope."""
    told = {
        found["package_id"]: dict(found) for found in sql.execute("SELECT * FROM approval_trail ORDER BY package_id")
    }
    done = told["done"]
    assert {name: done[name] for name in ("status", "requested_by", "decided_by", "receipt_status", "recorded_by", "evidence_refs")} == {
        "status": "approved", "requested_by": "ana", "decided_by": "bo", "receipt_status": "passed", "recorded_by": "ana",
        "evidence_refs": '["runs/r8.log"]',
    }  # fmt: skip
    assert (done["payload_hash"], done["team_id"], done["experiment_environment"]) == (PAYLOAD_HASH, "vision", "a100")
    assert [told[name]["status"] for name in ("open", "free")] == ["pending", "approved"]
