"""docs/memory.md is a test: its blocks are run in order, and its table of steps is checked against the pure rules."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from arr_sql.cli.memory_commands import memory
from arr_sql.memory.lifecycle import TRANSITIONS
from tests.docs.blocks import ROOT, Runner, blocks, matches

PAGE = ROOT / "docs" / "memory.md"


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="the page is written for bash")
def test_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    """Every block succeeds and prints what the page shows."""
    (tmp_path / "lumen").mkdir()
    runner = Runner(tmp_path)
    runner.cwd = tmp_path / "lumen"
    for block in (block for block in blocks(PAGE.read_text("utf-8")) if block.language == "bash"):
        printed = runner.run(block)
        assert block.output is not None
        assert matches(block.output, printed), f"docs/memory.md, line {block.line}: it prints\n{printed}"


def test_the_table_of_steps_is_the_code() -> None:
    """Each allowed step has a command that exists, each other entry is empty."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text("utf-8").splitlines()
        if re.match(rf"\| ({'|'.join(TRANSITIONS)}|from) \|", line)
    ]
    columns = rows[0][1:]
    found = {row[0]: {column: cell for column, cell in zip(columns, row[1:], strict=True) if cell} for row in rows[1:]}
    assert {old: set(cells) for old, cells in found.items()} == {old: set(new) for old, new in TRANSITIONS.items()}
    assert {cell.strip("`") for cells in found.values() for cell in cells.values()} <= set(memory.commands)
