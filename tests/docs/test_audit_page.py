"""docs/audit.md: each question is run, through the stock ``sqlite3`` shell where there is one and through Python."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from arr_sql.core.research_models import MemoryStatus
from tests.docs.audit_project import build
from tests.docs.blocks import ROOT, blocks, matches

PAGE = ROOT / "docs" / "audit.md"
QUESTIONS = [block for block in blocks(PAGE.read_text("utf-8")) if block.language == "sql"]
PROGRAMS = [block for block in blocks(PAGE.read_text("utf-8")) if block.language == "python"]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that the page asks, closed."""
    return build(tmp_path_factory.mktemp("audit"))


def test_there_are_twenty_questions() -> None:
    """The page holds twenty questions, four about one memory, and two checks by hand, each with its output."""
    assert (len(QUESTIONS), len(PROGRAMS)) == (24, 2)
    assert all(block.output for block in [*QUESTIONS, *PROGRAMS])


def test_every_kind_of_event_is_on_the_page(database: Path) -> None:
    """Each kind that the project's log holds, and each that a change of status can give, is named."""
    connection = sqlite3.connect(database)
    kinds = {row[0] for row in connection.execute("SELECT DISTINCT kind FROM audit_event")}
    connection.close()
    kinds |= {f"memory_{status}" for status in get_args(MemoryStatus)}
    named = set(
        re.findall(r"`([a-z]+(?:_[a-z]+)*)`", PAGE.read_text("utf-8").split("## Kinds of events")[1].split("\n## ")[0])
    )
    assert kinds <= named


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_question_through_python(database: Path, number: int) -> None:
    """The statement answers what the page shows."""
    block = QUESTIONS[number]
    printed = answer(database, block.code)
    assert matches(block.output or "", printed), f"docs/audit.md, line {block.line}: it prints\n{printed}"


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="no sqlite3 shell")
@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_question_through_the_sqlite3_shell(database: Path, number: int) -> None:
    """The stock shell, which knows nothing of arr_sql, gives the same rows."""
    block = QUESTIONS[number]
    done = subprocess.run(
        ["sqlite3", "-readonly", "-header", "-list", str(database), block.code],
        capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode and re.search(
        r"unsupported file format|malformed database schema|no such function|STRICT", done.stderr
    ):
        pytest.skip(f"this sqlite3 is too old: {done.stderr.strip()}")
    assert matches(block.output or "", done.stdout), (
        f"docs/audit.md, line {block.line}: it prints\n{done.stdout}{done.stderr}"
    )


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_check_by_hand(database: Path, number: int) -> None:
    """The programs use the standard library alone and find the file whole."""
    block = PROGRAMS[number]
    assert "arr_sql" not in block.code
    done = subprocess.run(
        [sys.executable, "-c", block.code], cwd=database.parents[1], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert matches(block.output or "", done.stdout), f"docs/audit.md, line {block.line}: it prints\n{done.stdout}"


def test_check_by_hand_can_fail(tmp_path: Path) -> None:
    """A byte changed behind the log's back makes the check by hand fail."""
    file = build(tmp_path)
    connection = sqlite3.connect(file)
    connection.execute("DROP TRIGGER audit_event_no_update")
    connection.execute("UPDATE audit_event SET actor = 'eve' WHERE seq = 3")
    connection.execute("UPDATE memory SET confidence = 0.9 WHERE retired_revision IS NULL")
    connection.commit()
    connection.close()
    for block in PROGRAMS:
        done = subprocess.run([sys.executable, "-c", block.code], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode != 0


def answer(database: Path, statement: str) -> str:
    """Rows as the sqlite3 shell prints them: names, then values, with ``|`` between."""
    connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)
    try:
        cursor = connection.execute(statement)
        lines = ["|".join(column[0] for column in cursor.description)]
        lines += ["|".join("" if value is None else str(value) for value in row) for row in cursor]
    finally:
        connection.close()
    return "\n".join(lines) + "\n"
