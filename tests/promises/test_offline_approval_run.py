"""The offline fake run: a package, another person's approval, a receipt, the audit. Nothing is published or executed.

Every command goes through the real entry point, in a process whose doors to the network and to other programs are shut.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import environment
from tests.promises.test_offline import SHUT

NO_PROGRAMS = """
import os, subprocess
STARTERS = ("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve", "execl", "execle",
            "execlp", "execlpe", "execvp", "execvpe", "spawnv", "spawnve", "startfile")

def refuse_program(*arguments, **keywords):
    raise AssertionError(f"a program was started: {arguments!r}")

for name in STARTERS:
    if hasattr(os, name):
        setattr(os, name, refuse_program)
subprocess.Popen = refuse_program
"""
RUN = """
import io, json, os, sys
from arr_sql.cli import main

class Stdin(io.TextIOWrapper):
    def isatty(self):
        return False

def arr(who, *command, stdin="", expected=0):
    os.environ["ARR_ACTOR"] = who
    sys.argv = ["arr", *command]
    sys.stdin = Stdin(io.BytesIO(stdin.encode()), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code or 0
    sys.stdout.flush()
    text = sys.stdout.buffer.getvalue().decode()
    sys.stdout = sys.__stdout__
    assert code == expected, (command, code, text)
    return json.loads(text) if text and "--json" in command else text

PLAN = '{"steps": ["rm -rf /", "python train.py --warmup 2000"], "plan": "fake"}'
arr("ana", "init")
arr("ana", "memory", "add", "--id", "case-r8", "--title", "R8", "--content", "Run r8.", "--kind", "research_case", "--source", "a.md")
package = arr("ana", "approval", "request", "case-r8", "--risk", "high", "--id", "pkg-r8", "--json", stdin=PLAN)
arr("ana", "approval", "decide", "pkg-r8", "--approve", "--payload-hash", package["payload_hash"], expected=1)
arr("bo", "memory", "publish", "case-r8", expected=1)
shown = arr("bo", "approval", "show", "pkg-r8", "--json")
decision = arr("bo", "approval", "decide", "pkg-r8", "--approve", "--payload-hash", shown["payload_hash"], "--json")
again = ("approval", "receipt", "pkg-r8", "--id", "step-1", "--case", "case-r8", "--payload-hash", shown["payload_hash"], "--status",
         "passed", "--evidence", "runs/r8.log", "--json")
first = arr("ana", *again, stdin=decision["receipt_token"])
second = arr("ana", *again, stdin=decision["receipt_token"] + "\\n")
arr("ana", *again[:3], "--id", "step-2", *again[5:], stdin=decision["receipt_token"], expected=1)
print("RESULT " + json.dumps({
    "package": package, "decision": decision, "first": first, "second": second,
    "memories": arr("bo", "memory", "list", "--json"), "search": arr("bo", "search", "r8", "--json"),
    "verify": arr("bo", "audit", "verify", "--json"), "check": arr("bo", "db", "check"),
    "events": arr("bo", "audit", "list", "--json", "--limit", "100"),
    "trail": arr("bo", "sql", "SELECT status, requested_by, decided_by, receipt_status FROM approval_trail", "--json"),
}))
"""


def tree(folder: Path) -> dict[str, str]:
    """Every file of the project but the database's, by hash."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*")) if path.is_file() and ".arr" not in path.parts
    }  # fmt: skip


def start(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh process."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the run printed, with the project's files before and after."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "a.md").write_text("r8 was stable.\n", "utf-8")
    (folder / "train.py").write_text("raise SystemExit('executed')\n", "utf-8")
    before = tree(folder)
    ran = start(SHUT + NO_PROGRAMS + RUN, folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.rpartition("RESULT ")[2])
    after = tree(folder)
    after.pop("arr.toml")
    after.pop(".gitignore", None)
    return {**found, "before": before, "after": after}


def test_the_run_leaves_an_account_that_verifies(result: dict[str, Any]) -> None:
    """Request, refusals, approval by another person and one receipt are events of a chain that verifies."""
    assert result["verify"]["verified"] and result["verify"]["damages"] == []
    assert result["trail"] == [
        {"status": "approved", "requested_by": "ana", "decided_by": "bo", "receipt_status": "passed"}
    ]
    kinds = [event["kind"] for event in reversed(result["events"])]
    assert [kind for kind in kinds if kind != "retrieval"] == [
        "scope_opened", "memory_added", "approval_requested", "approval_refused", "memory_refused", "approval_approved",
        "receipt_recorded", "receipt_refused",
    ]  # fmt: skip
    assert result["decision"]["receipt_token"] not in json.dumps(result["events"])


def test_the_same_receipt_gives_the_stored_one(result: dict[str, Any]) -> None:
    """Sent twice, it is one; a second one under the token was refused."""
    assert result["first"] == result["second"]


def test_nothing_is_published(result: dict[str, Any]) -> None:
    """After an approval and a passed receipt the case is the candidate it was, and no search finds it."""
    assert [(memory["memory_id"], memory["status"]) for memory in result["memories"]] == [("case-r8", "candidate")]
    assert result["search"]["evidence"] == []


def test_nothing_is_executed(result: dict[str, Any]) -> None:
    """No program was started, no socket opened, and no file of the project changed."""
    assert result["before"] == result["after"]
    assert result["package"]["payload"]["steps"][0] == "rm -rf /"


@pytest.mark.parametrize("use", ["os.system('true')", "subprocess.run(['true'])", "os.execv('/bin/true', ['true'])"])
def test_the_doors_are_really_shut(use: str, tmp_path: Path) -> None:
    """The check itself works: each way to start a program raises."""
    ran = start(SHUT + NO_PROGRAMS + f"import os, subprocess; {use}", tmp_path)
    assert ran.returncode != 0 and "a program was started" in ran.stderr
