"""docs/frameworks.md: its blocks are run in order in an empty folder and print what the page shows.

Blocks that need a framework are run by .ci/test_adapters.py, where the frameworks are installed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Runner, blocks, matches

PAGE = ROOT / "docs" / "frameworks.md"


def run_page(folder: Path, *, has_frameworks: bool) -> int:
    """Run the blocks and compare; how many were run."""
    runner, ran = Runner(folder), 0
    for block in blocks(PAGE.read_text("utf-8")):
        if block.needs == "frameworks" and not has_frameworks:
            continue
        printed = runner.run(block)
        ran += 1
        if block.output is not None:
            assert matches(block.output, printed), f"docs/frameworks.md, line {block.line}: it prints\n{printed}"
    return ran


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="the page is written for bash")
def test_the_page(tmp_path: Path) -> None:
    """The project, the event loop and the agent; three blocks are the frameworks'."""
    assert run_page(tmp_path, has_frameworks=False) == 3
    assert sum(block.needs == "frameworks" for block in blocks(PAGE.read_text("utf-8"))) == 3
