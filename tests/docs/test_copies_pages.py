"""docs/forgetting.md, docs/backup.md and docs/replica.md are tests: their blocks are run in order and print what the pages show."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Runner, blocks, matches
from tests.replica.support import needs_engine


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="the pages are written for bash")
@pytest.mark.parametrize("name", ["forgetting.md", "backup.md"])
def test_the_page_prints_what_it_shows(tmp_path: Path, name: str) -> None:
    """Every block succeeds and prints what the page shows."""
    (tmp_path / "lumen").mkdir()
    runner = Runner(tmp_path)
    runner.cwd = tmp_path / "lumen"
    found = blocks((ROOT / "docs" / name).read_text("utf-8"))
    assert len(found) >= 2
    for block in found:
        printed = runner.run(block)
        assert block.output is not None
        assert matches(block.output, printed), f"docs/{name}, line {block.line}: it prints\n{printed}"


@needs_engine
@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="the pages are written for bash")
def test_the_page_about_other_machines(tmp_path: Path) -> None:
    """Its bash blocks succeed and print what it shows; Litestream is the real one."""
    (tmp_path / "lumen").mkdir()
    runner = Runner(tmp_path)
    runner.cwd = tmp_path / "lumen"
    found = [block for block in blocks((ROOT / "docs" / "replica.md").read_text("utf-8")) if block.language == "bash"]
    assert len(found) == 5
    for block in found:
        printed = runner.run(block)
        assert block.output is not None
        assert matches(block.output, printed), f"docs/replica.md, line {block.line}: it prints\n{printed}"
