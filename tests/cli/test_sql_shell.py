"""The shell of ``arr sql`` on a real pseudo-terminal, with prompt_toolkit and with readline alone."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import ARR, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
pexpect = pytest.importorskip("pexpect")

# An interpreter in which prompt_toolkit is not installed.
WITHOUT = "import sys; sys.modules['prompt_toolkit'] = None; from arr_sql.cli import main; main()"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def shell(project: Path, history: Path, *, has_prompt_toolkit: bool) -> Any:
    command = list(ARR[1:]) if has_prompt_toolkit else ["-c", WITHOUT]
    child = pexpect.spawn(
        ARR[0], [*command, "sql"], cwd=str(project), dimensions=(50, 160), encoding="utf-8", timeout=30,
        env=environment(TERM="xterm-256color", ARR_SQL_HISTORY=str(history), PROMPT_TOOLKIT_NO_CPR="1"),
    )  # fmt: skip
    child.expect("Ctrl-D to leave")
    child.expect("arr>")
    return child


def leave(child: Any) -> None:
    """Ctrl-D until the shell has ended: between two prompts the terminal is not the shell's, and the key is lost."""
    for _ in range(30):
        child.sendeof()
        if child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=1) == 0:
            return
    raise AssertionError(f"Ctrl-D did not end the shell: {child.before}")


@pytest.mark.parametrize("has_prompt_toolkit", [True, False], ids=["prompt_toolkit", "readline"])
def test_a_visit(project: Path, tmp_path: Path, has_prompt_toolkit: bool) -> None:
    """A statement over two lines, a mistake, a refused write, a completed word, and out with Ctrl-D; history is kept."""
    if has_prompt_toolkit:
        pytest.importorskip("prompt_toolkit")
    else:
        pytest.importorskip("readline")
    history = tmp_path / "history"
    child = shell(project, history, has_prompt_toolkit=has_prompt_toolkit)
    child.send(".mode csv\r")
    child.send("SELECT 40 +\r")
    child.expect(r"\.\.\.")
    child.send("2 AS answer;\r")
    child.expect(r"answer\s+42\s")
    child.send("SELECT arr_rrf(0);\r")
    child.expect(r"arr_rrf\(\): argument rank is 0")
    child.send("DELETE FROM scope;\r")
    child.expect("Only SELECT is run")
    child.send("SELECT arr_verify_a")
    if has_prompt_toolkit:
        child.expect("arr_verify_audit")  # shown while typing; Tab takes it
    child.send("\t")
    child.expect("udit")
    child.send("() ->> 'verified' AS whole;\r")
    child.expect(r"whole\s+1\s")
    child.send(".help\r")
    child.expect("arr_snippet")
    leave(child)
    child.close()
    assert child.exitstatus == 0, ESCAPES.sub("", child.before)
    assert "2 AS answer;" in history.read_text("utf-8")


def test_ctrl_c_forgets_the_line_and_stops_a_statement(project: Path, tmp_path: Path) -> None:
    """Neither ends the shell."""
    pytest.importorskip("readline")
    child = shell(project, tmp_path / "history", has_prompt_toolkit=False)
    child.send("SELECT 'half\r")
    child.expect(r"\.\.\.")
    child.sendintr()
    child.expect("arr>")
    for _ in range(5):  # the key can come before the line was taken, and then the line is forgotten like the first
        child.send("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;\r")
        child.expect("FROM n;\r\n")
        child.sendintr()
        if child.expect(["Stopped", r"\^C\s+arr>"]) == 0:
            break
    else:
        raise AssertionError("no statement was stopped")
    child.expect("arr>")
    child.send(".quit\r")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
