"""``arr approval request | list | show | decide | receipt | expire``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from arr_sql.cli import arr as arr_group
from tests.cli.support import ARR, Ran, arr, assert_no_traceback, environment

PLAN = '{"plan":"fake","steps":["一",2]}'
HASH = "c83d206cc7edb1296e249c602e092df96f3fe15f9f94def88b32f5c23c753184"
SECRET = "gh" + "p_" + "aB3" * 12


class As:
    """``As("ana", project)("approval", "list")`` runs a command as ana."""

    def __init__(self, who: str, project: Path) -> None:
        self.who, self.project = who, project

    def __call__(self, *arguments: str, stdin: str = "", **variables: str) -> Ran:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {"ARR_ACTOR": self.who, **variables}.items():
                patch.setenv(name, value)
            return arr(*arguments, cwd=self.project, stdin=stdin.encode())


@pytest.fixture
def ana(project: Path) -> As:
    """Who asks; a case of hers lies in the project."""
    ana = As("ana", project)
    added = ana(
        "memory",
        "add",
        "--id",
        "case-1",
        "--title",
        "R8",
        "--content",
        "Run r8.",
        "--kind",
        "research_case",
        "--source",
        "a.md",
    )
    assert added.code == 0
    return ana


@pytest.fixture
def bo(project: Path) -> As:
    """Who decides."""
    return As("bo", project)


@pytest.fixture
def asked(ana: As) -> Ran:
    """ana's request for pkg-1."""
    return ana("approval", "request", "case-1", "--risk", "high", "--id", "pkg-1", stdin=PLAN)


def approve(bo: As) -> str:
    """bo approves pkg-1; the token."""
    return str(bo("approval", "decide", "pkg-1", "--approve", "--payload-hash", HASH, "--json").json["receipt_token"])


RECEIPT = (
    "approval",
    "receipt",
    "pkg-1",
    "--id",
    "step-1",
    "--case",
    "case-1",
    "--payload-hash",
    HASH,
    "--status",
    "passed",
)


def test_request_and_list(ana: As, asked: Ran, project: Path) -> None:
    """The answer says until when, under which hash, and what the other person does next; from a file it is the same."""
    assert asked.code == 0
    lines = asked.out.splitlines()
    assert lines[0].startswith("Package pkg-1 waits for another person until 20")
    assert lines[1:] == [f"Payload hash: {HASH}", "Next, for that person: arr approval decide pkg-1"]
    (project / "plan.json").write_bytes(b"\xef\xbb\xbf" + PLAN.encode())
    made = ana("approval", "request", "case-1", "--risk", "low", "--payload", "plan.json", "--json")
    assert (made.json["payload_hash"], made.json["status"], made.json["payload"]) == (HASH, "pending", json.loads(PLAN))
    listed = ana("approval", "list", "--json").json
    assert [item["package_id"] for item in listed] == [made.json["package_id"], "pkg-1"]
    assert set(listed[0]) == {
        "package_id", "scope", "case_id", "case_hash", "payload", "payload_hash", "risk_level", "status", "requested_by",
        "requested_at", "expires_at", "revision", "decision", "receipt",
    }  # fmt: skip
    table = ana("approval", "list", "--status", "pending", "--case", "case-1")
    assert table.code == 0 and "pkg-1" in table.out and "ana" in table.out
    assert ana("approval", "list", "--status", "approved", "--json").json == []


@pytest.mark.parametrize(
    ("stdin", "message"),
    [("{", "payload is not JSON"), ("[]", "must be a JSON object"), ('{"a":1,"a":2}', "a key twice"), ('{"a":NaN}', "holds NaN"),
     (json.dumps({"a": [SECRET]}), "payload.a[0] holds what looks like a credential"), ("", "payload is not JSON")],
)  # fmt: skip
def test_an_unfit_payload_is_one_line(ana: As, stdin: str, message: str) -> None:
    """Exit code 1, what is wrong and where, and no credential."""
    ran = ana("approval", "request", "case-1", "--risk", "low", stdin=stdin)
    assert (ran.code, ran.out) == (1, "") and message in ran.err and ran.err.count("\n") == 1
    assert SECRET not in ran.err


def test_show_is_the_whole_payload(asked: Ran, bo: As) -> None:
    """What the approver reads: everything, hash included; control characters can't hide a part of it."""
    shown = bo("approval", "show", "pkg-1")
    assert shown.code == 0
    assert f"payload hash  {HASH}" in shown.out and '"一"' in shown.out and "requested by  ana" in shown.out
    tricky = bo(
        "approval", "request", "case-1", "--risk", "low", "--id", "tricky", stdin=json.dumps({"a": "\u202eevil\x1b[8m"})
    )
    assert tricky.code == 0
    assert "\u202e" not in bo("approval", "show", "tricky").out and "\x1b" not in bo("approval", "show", "tricky").out
    missing = bo("approval", "show", "none")
    assert (missing.code, missing.out) == (1, "") and "arr approval list" in missing.err


def test_decide_without_a_terminal(asked: Ran, ana: As, bo: As) -> None:
    """Neither blindly nor by the requester; with the hash that was read, and the token is shown once."""
    for words in (("--approve",), ()):
        ran = bo("approval", "decide", "pkg-1", *words)
        assert (ran.code, ran.out) == (2, "") and "arr approval show pkg-1" in ran.err
    own = ana("approval", "decide", "pkg-1", "--approve", "--payload-hash", HASH)
    assert (own.code, own.out) == (1, "") and "Another person has to decide it" in own.err
    wrong = bo("approval", "decide", "pkg-1", "--approve", "--payload-hash", "0" * 64)
    assert wrong.code == 1
    made = bo("approval", "decide", "pkg-1", "--approve", "--payload-hash", HASH, "--reason", "two seeds are named")
    token = made.out.split("Receipt token: ")[1].strip()
    assert made.out.startswith("Package pkg-1 is approved by bo.\n") and len(token) == 64
    assert "shown this once" in made.err
    everywhere = "".join(bo(*words).out for words in (("approval", "show", "pkg-1"), ("approval", "show", "pkg-1", "--json"),
                         ("approval", "list", "--json"), ("audit", "list", "--json")))  # fmt: skip
    assert token not in everywhere and "two seeds are named" in everywhere
    assert "receipt_token" not in bo("approval", "show", "pkg-1", "--json").out
    again = bo("approval", "decide", "pkg-1", "--reject")
    assert again.code == 1 and "final" in again.err


def test_reject(asked: Ran, bo: As) -> None:
    """Needs no hash and gives no token."""
    made = bo("approval", "decide", "pkg-1", "--reject", "--json")
    assert (made.code, made.json["outcome"], made.json["receipt_token"]) == (0, "rejected", None)
    assert bo("approval", "list", "--json").json[0]["status"] == "rejected"


@pytest.mark.parametrize("way", ["stdin", "variable", "body on stdin", "body in a file"])
def test_receipt(asked: Ran, ana: As, bo: As, project: Path, way: str) -> None:
    """The token comes from standard input or the environment; the body from options, a file or standard input."""
    token = approve(bo)
    body = {
        "environment": "",
        "verification_summary": "Two seeds agree.",
        "evidence_refs": ["r8.log"],
        "assertions": ["stable"],
        "log_summary": "",
    }
    (project / "body.json").write_text(json.dumps(body), "utf-8")
    options = ("--evidence", "r8.log", "--summary", "Two seeds agree.", "--assertion", "stable", "--json")
    if way == "stdin":
        made = ana(*RECEIPT, *options, stdin=f"{token}\n")
    elif way == "variable":
        made = ana(*RECEIPT, *options, ARR_RECEIPT_TOKEN=token)
    elif way == "body on stdin":
        made = ana(*RECEIPT, "--body", "-", "--json", stdin=json.dumps(body), ARR_RECEIPT_TOKEN=token)
    else:
        made = ana(*RECEIPT, "--body", "body.json", "--json", stdin=token)
    assert made.code == 0, made
    assert (made.json["status"], made.json["body"], made.json["recorded_by"]) == ("passed", body, "ana")
    assert token not in made.out + made.err
    shown = ana("approval", "show", "pkg-1").out
    assert "Receipt step-1: passed, recorded by ana" in shown and "Two seeds agree." in shown
    assert ana("memory", "show", "case-1", "--json").json["status"] == "candidate"


def test_receipt_refusals(asked: Ran, ana: As, bo: As, project: Path) -> None:
    """Wrong usage is 2, a refused receipt 1; no message repeats a token or a credential."""
    token = approve(bo)
    (project / "body.json").write_text(json.dumps({"evidence_refs": ["a"], "log_summary": f"key {SECRET}"}), "utf-8")
    two_ways = ana(*RECEIPT, "--body", "body.json", "--evidence", "a", stdin=token)
    no_token = ana(*RECEIPT, "--body", "-", stdin="{}")
    assert (two_ways.code, no_token.code) == (2, 2) and "ARR_RECEIPT_TOKEN" in no_token.err
    refused = {
        "64 hex digits": ana(*RECEIPT, "--evidence", "a"),
        "not the one that the approval": ana(*RECEIPT, "--evidence", "a", stdin="a" * 64),
        "evidence_refs is wrong": ana(*RECEIPT, stdin=token),
        "looks like a credential": ana(*RECEIPT, "--body", "body.json", stdin=token),
        "another payload hash": ana(
            *(HASH[:-1] + "0" if word == HASH else word for word in RECEIPT), "--evidence", "a", stdin=token
        ),
    }
    for message, ran in refused.items():
        assert (ran.code, ran.out) == (1, "") and message in ran.err and token not in ran.err and SECRET not in ran.err
    assert ana("approval", "show", "pkg-1", "--json").json["receipt"] is None


def test_risk_goes_where_the_case_goes(asked: Ran, ana: As, bo: As, project: Path) -> None:
    """By promotion, which says so, and by a file: neither publishes it without an approval there."""
    assert ana("memory", "add", "--title", "z", "--content", "z", "--env", "h800").code == 0
    assert bo("memory", "verify", "case-1").code == 0
    ran = bo("memory", "promote", "case-1", "--to-env", "h800", "--yes")
    assert ran.code == 0 and "bears risk (high): there it needs an approval of its own" in ran.out
    refused = bo("memory", "publish", "case-1", "--env", "h800")
    assert refused.code == 1 and "Case 'case-1' is risk-bearing" in refused.err
    assert bo("memory", "export", "m.jsonl").code == 0
    text = (project / "m.jsonl").read_text("utf-8").replace('"case-1"', '"case-2"')
    (project / "m.jsonl").write_text(text.replace('"verified"', '"published"'), "utf-8")
    refused = bo("memory", "import", "m.jsonl", "--keep-status", "--reason", "x", "--skip-existing")
    assert refused.code == 1 and "Case 'case-2' can't be kept as published" in refused.err
    assert bo("memory", "import", "m.jsonl", "--skip-existing").code == 0
    assert "Case 'case-2' is risk-bearing" in bo("memory", "publish", "case-2").err


def test_no_option_takes_a_token() -> None:
    """An argument would show it to everybody on the machine."""
    group = arr_group.get_command(click.Context(arr_group), "approval")
    assert isinstance(group, click.Group)
    for command in group.commands.values():
        assert not any(
            "token" in name for parameter in command.params for name in (*parameter.opts, str(parameter.name))
        )


def test_expire(asked: Ran, bo: As) -> None:
    """Nothing is over yet; what has run out is named (tests/memory/test_approvals.py moves the clock)."""
    ran = bo("approval", "expire")
    assert (ran.code, ran.out) == (0, "0 expired.\n")
    assert bo("approval", "expire", "--json").json == []


def test_a_damaged_package_is_one_line(asked: Ran, bo: As, project: Path) -> None:
    """A changed payload is never shown as what was asked; the error names the package."""
    from arr_sql.core.connection import sqlite3

    connection = sqlite3.connect(project / ".arr" / "arr.db", isolation_level=None)
    connection.execute("DROP TRIGGER approval_package_no_update")
    connection.execute("""UPDATE approval_package SET payload = '{"plan":"other"}'""")
    connection.close()
    for command in (("show", "pkg-1"), ("list",), ("decide", "pkg-1", "--approve", "--payload-hash", HASH)):
        ran = bo("approval", *command)
        assert (ran.code, ran.out) == (1, "") and "'pkg-1' was changed" in ran.err and ran.err.count("\n") == 1
    assert bo("audit", "verify").code == 1


# --- A terminal -------------------------------------------------------------------------------------------------------


def dialogue(project: Path, who: str, *arguments: str, answers: tuple[tuple[str, str], ...]) -> tuple[int, str]:
    """Run ``arr`` on a pseudo-terminal and answer what it asks."""
    pexpect: Any = pytest.importorskip("pexpect")
    child = pexpect.spawn(
        ARR[0], [*ARR[1:], *arguments], cwd=str(project), dimensions=(60, 140), encoding="utf-8", timeout=60,
        env=environment(TERM="xterm", ARR_ACTOR=who),
    )  # fmt: skip
    written = ""
    for question, answer in answers:
        child.expect(question)
        written += child.before + child.after
        child.sendline(answer)
    written += child.read()
    child.close()
    assert_no_traceback(written)
    return child.exitstatus, written


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_on_a_terminal_the_payload_is_shown_before_the_question(asked: Ran, ana: As, project: Path) -> None:
    """The approver sees the payload, is asked twice, and the token that is typed for the receipt is not echoed."""
    answers = (("Approve or reject", "approve"), ("approve exactly this payload", "n"))
    code, written = dialogue(project, "bo", "approval", "decide", "pkg-1", answers=answers)
    assert code == 130 and '"plan": "fake"' in written
    assert ana("approval", "show", "pkg-1", "--json").json["status"] == "pending"
    answers = (("Approve or reject", "approve"), ("approve exactly this payload", "y"))
    code, written = dialogue(project, "bo", "approval", "decide", "pkg-1", answers=answers)
    assert code == 0 and written.index('"plan": "fake"') < written.index("Approve or reject")
    token = written.split("Receipt token: ")[1].split()[0]
    code, written = dialogue(project, "ana", *RECEIPT, "--evidence", "r8.log", answers=(("Receipt token", token),))
    assert code == 0 and "is recorded: passed" in written and token not in written
