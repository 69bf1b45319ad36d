"""Output that can't go where it should: a reader that leaves, a closed stdout, a full device."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arr_sql.memory.store_check import check_store
from tests.cli.support import ARR, arr, environment

LINES = 200_000
PLAN = '{"tool_rounds": [["bm25"]]}'
pytestmark = pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="needs a POSIX shell")
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
COMMANDS = [
    "search number --full", "search number --json", "audit list", "memory list", "status",
    "--help", "search --help", "db schema", "sql 'SELECT content FROM chunk'", "scope list --json",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project of which every command has something to print."""
    made = tmp_path_factory.mktemp("pipes")
    (made / "short.txt").write_text("e r number\n" * 50, "utf-8")
    for command in (("init",), ("add", "short.txt", "--no-embed")):
        assert arr(*command, cwd=made).code == 0
    return made


@pytest.fixture(scope="module")
def long_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with 200,000 matching lines."""
    made = tmp_path_factory.mktemp("long")
    (made / "long.txt").write_text("".join(f"e r number {n} er\n" for n in range(LINES)), "utf-8")
    for command in (("init",), ("add", "long.txt", "--no-embed")):
        assert arr(*command, cwd=made).code == 0
    return made


def bash(code: str, folder: Path, **values: str) -> tuple[int, str, str]:
    """Run ``code`` in bash with ``arr`` as this Python's module: exit code, stdout, stderr."""
    command = " ".join(f"'{part}'" for part in ARR)
    ran = subprocess.run(
        ["bash", "-c", f"arr() {{ {command} \"$@\"; }}\n{code}"], cwd=folder, env=environment(**values),
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize("values", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("form", ["--full", "--json"])
def test_piping_into_head(form: str, values: dict[str, str], long_folder: Path) -> None:
    """The reader takes one line and leaves: 141, stderr is empty, and the store is whole and free."""
    code, out, err = bash(f"arr search number {form} -k 1000 --plan <(echo '{PLAN}') | head -1; exit ${{PIPESTATUS[0]}}",
                          long_folder, **values)  # fmt: skip
    assert (code, err) == (141, "") and len(out.splitlines()) == 1
    assert arr("memory", "add", "--title", "free", "--content", "x", cwd=long_folder).code == 0


def test_a_long_table_into_true(long_folder: Path) -> None:
    """`| true` on a table of every chunk: 141 and an empty stderr."""
    code, _, err = bash("arr sql 'SELECT chunk_id FROM chunk' | true; exit ${PIPESTATUS[0]}", long_folder)
    assert (code, err) == (141, "")
    assert check_store(long_folder / ".arr/arr.db").passed


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_is_gone_before_the_first_byte(command: str, folder: Path) -> None:
    """Every command: stderr stays empty (but for its notes) and the exit code is 141, never 1 and never a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [*ARR, *shlex.split(command)], cwd=folder, env=environment(), stdout=writer, stderr=subprocess.PIPE, timeout=120
    )
    os.close(writer)
    assert ran.returncode == 141
    assert b"".join(line for line in ran.stderr.splitlines(True) if not line.startswith(b"Note: ")) == b""


@pytest.mark.parametrize("command", COMMANDS)
def test_stdout_closed(command: str, folder: Path) -> None:
    """`>&-` is somebody who wants no output: done, exit code 0, nothing on stderr but notes."""
    code, out, err = bash(f"arr {command} >&-", folder)
    assert (code, out) == (0, "")
    assert [line for line in err.splitlines() if not line.startswith("Note: ")] == []


@full
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_device(command: str, folder: Path) -> None:
    """Output that is lost is an error that says so, once, without a traceback."""
    code, _, err = bash(f"arr {command} > /dev/full", folder)
    lines = [line for line in err.splitlines() if not line.startswith("Note: ")]
    said = "the output could not be written: no space left on the device. Part of it is lost."
    assert code == 1
    assert lines == [json.dumps({"error": "OSError", "message": said}) if "--json" in command else f"Error: {said}"]


@full
def test_a_full_device_for_messages_keeps_the_exit_code(folder: Path) -> None:
    """Nowhere to say what is wrong: the exit code still tells."""
    assert bash("arr memory show nobody 2>/dev/full", folder)[0] == 1
    assert bash("arr nonsense 2>/dev/full", folder)[0] == 2


def test_all_streams_closed(folder: Path) -> None:
    """Without stdin, stdout and stderr a command still does its work and says by its exit code how it went."""
    assert bash("arr status <&- >&- 2>&-", folder)[0] == 0
    assert bash("arr memory show nobody <&- >&- 2>&-", folder)[0] == 1
    code, _, err = bash("arr memory add --title x <&-", folder)
    assert code == 1 and "There is no standard input" in err
    assert check_store(folder / ".arr/arr.db").passed
