"""docs/approvals.md: the run is run, and what the page shows is what is printed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Runner, blocks, matches

PAGE = ROOT / "docs" / "approvals.md"


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="the run is written for bash")
def test_the_run(tmp_path: Path) -> None:
    """Every block succeeds, and each that shows an output prints it."""
    runner, compared = Runner(tmp_path), 0
    for block in blocks(PAGE.read_text("utf-8")):
        printed = runner.run(block)
        if block.output is not None:
            assert matches(block.output, printed), f"docs/approvals.md, line {block.line}: it prints\n{printed}"
            compared += 1
    assert compared > 7
