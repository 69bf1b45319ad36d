"""A real pseudo-terminal: progress, Ctrl-C, narrow windows, no colours, dumb terminals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arr_sql.index.embedders import model_store
from arr_sql.memory.store_check import check_store
from tests.cli.support import ARR, arr, assert_no_traceback, environment, process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals and POSIX signals")
pexpect = pytest.importorskip("pexpect")
pyte = pytest.importorskip("pyte")

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CURSOR = re.compile(r"\x1b\[[0-9;?]*[A-HJKhl]")


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A new project beside enough files that reading them takes a while."""
    for number in range(600):
        (tmp_path / "docs").mkdir(exist_ok=True)
        text = "\n\n".join(f"# Part {part}\n\nresult {number} of run {part} " + "word " * 80 for part in range(12))
        (tmp_path / f"docs/f{number:03d}.md").write_text(text, "utf-8")
    assert arr("init", cwd=tmp_path).code == 0
    return tmp_path


def on_terminal(*arguments: str, cwd: Path, columns: int = 100, rows: int = 60, **values: str) -> tuple[int, str]:
    """Run ``arr`` on a pseudo-terminal: its exit code and everything it wrote to it."""
    child = pexpect.spawn(
        ARR[0], [*ARR[1:], *arguments], cwd=str(cwd), dimensions=(rows, columns), encoding="utf-8", timeout=120,
        env=environment(**{"TERM": "xterm-256color", **values}),
    )  # fmt: skip
    written = child.read()
    child.close()
    return child.exitstatus, written


def screen(written: str, columns: int, rows: int = 60) -> list[str]:
    """What a person sees at the end."""
    display = pyte.Screen(columns, rows)
    pyte.Stream(display).feed(written)
    return [line.rstrip() for line in display.display]


def test_progress_shows_on_a_terminal_and_is_gone_at_the_end(big: Path) -> None:
    """Reading is shown with a count while it runs; the last screen holds the summary and no bar."""
    code, written = on_terminal("add", "docs", "--no-embed", cwd=big)
    assert code == 0
    assert "Reading docs" in written and re.search(r"\d+/600", written) and CURSOR.search(written)
    shown = "\n".join(screen(written, 100))
    assert "Files: 600 added" in shown and "Reading docs" not in shown and "━" not in shown


def test_no_progress_in_a_pipe(big: Path) -> None:
    """Neither stream of a pipe holds a bar, a colour or a cursor movement."""
    ran = process("add", "docs", "--no-embed", cwd=big)
    assert ran.returncode == 0 and ran.stderr == b"" and b"\x1b" not in ran.stdout and b"\r" not in ran.stdout


def test_json_on_a_terminal_is_json_alone(big: Path) -> None:
    """--json draws no bar."""
    code, written = on_terminal("add", "docs/f000.md", "--no-embed", "--json", cwd=big)
    assert code == 0 and written.lstrip().startswith("{") and "\x1b" not in written


def _wait_for_rows(database: Path, process: subprocess.Popen[bytes], minimum: int = 3) -> None:
    from arr_sql.core.connection import open_reader

    give_up = time.monotonic() + 60
    while time.monotonic() < give_up and process.poll() is None:
        reader = open_reader(database)
        try:
            if reader.execute("SELECT count(*) FROM source").fetchone()[0] >= minimum:
                return
        finally:
            reader.close()
        time.sleep(0.02)
    raise AssertionError("nothing was stored before the process ended")


def test_ctrl_c_during_add_keeps_what_was_stored(big: Path) -> None:
    """SIGINT: exit code 130, one sentence, no traceback; the file is whole and the next run goes on."""
    database = big / ".arr/arr.db"
    child = subprocess.Popen(
        [*ARR, "add", "docs", "--no-embed"], cwd=big, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    _wait_for_rows(database, child)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, (out, err)
    assert_no_traceback(err)
    assert err.strip() == b"Stopped. What was acknowledged is kept; run the command again to go on."
    assert check_store(database).passed
    again = arr("add", "docs", "--no-embed", "--json", cwd=big)
    assert again.code == 0 and 0 < len(again.json["syncs"][0]["added"]) < 600
    assert arr("status", "--json", cwd=big).json["sources"] == 600


@pytest.mark.parametrize("columns", [100, 40])
def test_ctrl_c_typed_at_a_terminal(columns: int, big: Path) -> None:
    """The key itself, while the bar is drawn: 130, the cursor is shown again, no traceback."""
    child = pexpect.spawn(
        ARR[0], [*ARR[1:], "add", "docs", "--no-embed"], cwd=str(big), dimensions=(40, columns), encoding="utf-8",
        timeout=60, env=environment(TERM="xterm-256color"),
    )  # fmt: skip
    child.expect(r"\d+/600" if columns == 100 else "Reading")
    child.sendintr()
    rest = child.read()
    child.wait()  # its output ends before it does, and close() would interrupt it a second time
    child.close()
    assert child.exitstatus == 130
    assert_no_traceback(rest)
    assert "Stopped." in rest
    assert rest.rfind("\x1b[?25h") > rest.rfind("\x1b[?25l")
    assert check_store(big / ".arr/arr.db").passed


@pytest.mark.model
def test_ctrl_c_while_embedding_says_that_text_is_searchable(big: Path) -> None:
    """Stopped between reading and the last vector: 130, the summary was printed, `arr embed` goes on."""
    if model_store.find_default_model() is None:
        pytest.skip("the default model's weights are not installed (extra `local`)")
    child = pexpect.spawn(
        ARR[0], [*ARR[1:], "add", "docs"], cwd=str(big), dimensions=(40, 100), encoding="utf-8", timeout=120,
        env=environment(TERM="xterm-256color"),
    )  # fmt: skip
    child.expect("Embedding")
    child.sendintr()
    rest = child.read()
    child.wait()  # its output ends before it does, and close() would interrupt it a second time
    child.close()
    assert child.exitstatus == 130
    assert_no_traceback(rest)
    assert "`arr embed` goes on where this stopped" in rest
    assert check_store(big / ".arr/arr.db").passed
    assert arr("status", "--json", cwd=big).json["sources"] == 600


def test_a_statement_can_be_stopped(project: Path) -> None:
    """Ctrl-C reaches a SELECT that would never end."""
    endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"
    child = subprocess.Popen([*ARR, "sql", endless], cwd=project, env=environment(), stderr=subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=1.5)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130 and err.strip().startswith(b"Stopped.")


COMMANDS = [
    ("search", "warmup"), ("search", "warmup", "--full"), ("status",), ("memory", "list"), ("audit", "list"), ("doctor",),
    ("scope", "list"), ("plan", "warmup"), ("--help",), ("search", "--help"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_narrow_terminal(command: tuple[str, ...], project: Path) -> None:
    """40 columns: everything still works and tables fit, so no row of a table is broken by the terminal."""
    code, written = on_terminal(*command, cwd=project, columns=40, rows=300)
    assert code == 0
    assert_no_traceback(written)
    lines = [COLOUR.sub("", line) for line in written.split("\r\n")]
    drawn = [line for line in lines if line[:1] in "│┃┡└┏" and line]
    assert all(len(line) <= 40 for line in drawn)


@pytest.mark.parametrize("command", [("search", "warmup"), ("memory", "list"), ("status",)], ids=" ".join)
def test_colours_only_where_they_are_wanted(command: tuple[str, ...], project: Path) -> None:
    """NO_COLOR and TERM=dumb print the same words as a colour terminal, without colours."""
    plain = [
        on_terminal(*command, cwd=project, columns=80, **values) for values in ({"NO_COLOR": "1"}, {"TERM": "dumb"})
    ]
    code, coloured = on_terminal(*command, cwd=project, columns=80)
    assert code == 0

    def words(text: str) -> list[str]:
        return re.sub(r"r\d+-[0-9a-f]{8}|score [0-9.]+", "", re.sub(r"\x1b\[[0-9;]*m", "", text)).split()

    for code, written in plain:
        assert code == 0 and not re.search(r"\x1b\[[0-9;]*3[0-9][0-9;]*m", written)
        assert words(written) == words(coloured)
    assert "\x1b" not in plain[1][1]
    if command[0] == "search":
        assert COLOUR.search(coloured)


def test_the_demo_respects_no_color(tmp_path: Path) -> None:
    """Its headings are coloured on a terminal, and plain with NO_COLOR."""
    code, written = on_terminal("demo", "--no-embed", cwd=tmp_path, NO_COLOR="1")
    assert code == 0 and not re.search(r"\x1b\[[0-9;]*3[0-9]m", written)
    assert "\x1b[36m" in on_terminal("demo", "--no-embed", cwd=tmp_path)[1]


def test_progress_on_a_dumb_terminal_moves_no_cursor(big: Path) -> None:
    """TERM=dumb: no escape sequence at all."""
    code, written = on_terminal("add", "docs", "--no-embed", cwd=big, TERM="dumb")
    assert code == 0 and "\x1b" not in written and "Files: 600 added" in written


def test_memory_add_at_a_terminal_asks_for_the_text(project: Path) -> None:
    """Without --content and without a pipe the command does not wait for ever."""
    code, written = on_terminal("memory", "add", "--title", "x", cwd=project)
    assert code == 2 and "Give the text with --content, or pipe it in." in written


def test_the_terminal_is_left_as_it_was(big: Path) -> None:
    """After a bar the cursor is visible and the colours are reset."""
    _, written = on_terminal("add", "docs", "--no-embed", cwd=big)
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") > 0
    assert os.linesep in written
