"""Consoles and locales that can't encode the text: no traceback, the usual exit code, JSON that parses to the same text."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import ARR, arr, assert_no_traceback, environment, process

TEXT = "✅ 数据 é naïve \U0001f600"
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
SETTINGS: dict[str, dict[str, str]] = {
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "gbk": {"PYTHONIOENCODING": "gbk"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "C locale": C_LOCALE,
}
ENCODING = {"cp1252": "cp1252", "gbk": "gbk", "ascii": "ascii", "C locale": "ascii"}
settings = pytest.mark.parametrize("setting", SETTINGS)
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX locales")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose memory and file hold what the consoles can't show."""
    made = tmp_path_factory.mktemp("encodings")
    (made / "数据 é.md").write_text(f"# {TEXT}\n\nzebra {TEXT}\n", "utf-8")
    for command in (
        ("init",), ("add", ".", "--no-embed"),
        ("memory", "add", "--title", f"zebra {TEXT}", "--content", f"zebra {TEXT}", "--source", "数据 é.md", "--id", "kept"),
        ("memory", "publish", "kept"),
    ):  # fmt: skip
        assert arr(*command, cwd=made).code == 0
    return made


def words(shown: str) -> str:
    """What a console of that encoding shows of ``TEXT``: only what it can't encode is escaped."""
    return TEXT.encode(shown, "backslashreplace").decode(shown)


@settings
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("search", "zebra"), 0),
        (("memory", "show", "kept"), 0),
        (("status",), 0),
        (("--help",), 0),
        (("search", "--help"), 0),
        (("audit", "list"), 0),
        (("add", "数据-missing"), 1),
        (("memory", "show", "没有"), 1),
        (("search", "zebra", "--没有"), 2),
    ],
    ids=str,
)
def test_text_to_a_pipe_and_a_file(
    setting: str, command: tuple[str, ...], code: int, folder: Path, tmp_path: Path
) -> None:
    """The exit code is the usual one, nothing of Python shows, and a pipe gets what a file gets."""
    values, encoding = SETTINGS[setting], ENCODING[setting]
    if command == ("search", "zebra"):
        target = tmp_path / "out.txt"
        with target.open("wb") as out:
            done = subprocess.run(
                [*ARR, *command], cwd=folder, env=environment(**values), stdout=out, stderr=subprocess.PIPE
            )
        assert done.returncode == code and done.stderr == b""
        assert words(encoding) in target.read_bytes().decode(encoding)
    ran = process(*command, cwd=folder, env=values)
    assert ran.returncode == code
    assert_no_traceback(ran.stdout)
    assert_no_traceback(ran.stderr)
    ran.stdout.decode(encoding)
    ran.stderr.decode(encoding)
    if command == ("memory", "show", "kept"):
        assert words(encoding) in ran.stdout.decode(encoding)
    if code == 1:
        assert ran.stderr.startswith(b"Error: ") and ran.stdout == b""


@settings
@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_json_parses_to_the_same_text(setting: str, unbuffered: dict[str, str], folder: Path) -> None:
    """Whatever the console, --json is the same value."""
    ran = process("search", "zebra", "--json", cwd=folder, env={**SETTINGS[setting], **unbuffered})
    assert (ran.returncode, ran.stderr) == (0, b"")
    found = {item["source_ref"]: item["content"] for item in json.loads(ran.stdout)["evidence"]}
    assert set(found) == {"memory:kept", "数据 é.md"}
    assert found["memory:kept"] == f"zebra {TEXT}" and found["数据 é.md"].rstrip() == f"# {TEXT}\n\nzebra {TEXT}"


@settings
def test_a_json_error_parses_to_the_same_text(setting: str, folder: Path) -> None:
    """An error's message too."""
    ran = process("memory", "show", "没有", "--json", cwd=folder, env=SETTINGS[setting])
    error = json.loads(ran.stderr)
    assert (ran.returncode, error["error"]) == (1, "InputError") and "'没有'" in error["message"]


@posix
@pytest.mark.parametrize("values", [C_LOCALE, {"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}], ids=str)
def test_queries_and_file_names_in_the_c_locale(values: dict[str, str], folder: Path, tmp_path: Path) -> None:
    """A query beyond ASCII is understood, its file is opened and called fresh, and a sync takes no file for gone."""
    copy = Path(shutil.copytree(folder, tmp_path / folder.name))
    ran = process("search", "数据", "--json", cwd=copy, env=values)
    evidence: list[dict[str, Any]] = json.loads(ran.stdout)["evidence"]
    assert {(item["source_ref"], item["freshness"]) for item in evidence} == {
        ("数据 é.md", "fresh"), ("memory:kept", "fresh"),
    }  # fmt: skip
    synced = json.loads(process("sync", "--no-embed", "--json", cwd=copy, env=values).stdout)["syncs"][0]
    assert (synced["removed"], synced["added"]) == ([], [])
    assert synced["unchanged"] == 1


@settings
def test_a_pipe_gives_utf8_text(setting: str, folder: Path, tmp_path: Path) -> None:
    """Standard input is UTF-8 whatever the locale."""
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    ran = process("memory", "add", "--title", "x", "--json", cwd=copy, env=SETTINGS[setting], stdin=TEXT.encode())
    assert ran.returncode == 0 and json.loads(ran.stdout)["content"] == TEXT


@settings
def test_tables_are_drawn_with_what_the_console_has(setting: str, folder: Path) -> None:
    """No box of escapes: where line-drawing characters can't be encoded, ASCII is used."""
    ran = process("memory", "list", cwd=folder, env=SETTINGS[setting])
    assert ran.returncode == 0 and b"\\u25" not in ran.stdout and b"kept" in ran.stdout
