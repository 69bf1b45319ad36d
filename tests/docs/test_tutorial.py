"""The tutorial is a test: its blocks are run in order in an empty folder, and what it shows is what is printed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import FENCE, ROOT, Runner, blocks, has_model, matches

PAGE = ROOT / "docs" / "tutorial.md"


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="the tutorial is written for bash")
def test_tutorial(tmp_path: Path) -> None:
    """Every block succeeds and prints what the page shows."""
    runner, ran = Runner(tmp_path), 0
    for block in blocks(PAGE.read_text("utf-8")):
        if block.needs == "model" and not has_model():
            continue
        printed = runner.run(block)
        ran += 1
        # Without the model every answer says so, where the page shows vectors.
        if block.output is not None and has_model():
            assert matches(block.output, printed), f"docs/tutorial.md, line {block.line}: it prints\n{printed}"
    assert ran > 15


def test_the_readme_shows_what_the_tutorial_prints() -> None:
    """The screen of `arr search` in the README is an output of the tutorial, so it is as true as that."""
    shown = [text for language, text in FENCE.findall((ROOT / "README.md").read_text("utf-8")) if language == "text"]
    outputs = [block.output for block in blocks(PAGE.read_text("utf-8")) if block.output]
    assert sum(any(matches(output, text) for output in outputs) for text in shown) == 1


def test_matching_tells_texts_apart() -> None:
    """The comparison can fail: only ``...`` stands for anything."""
    assert matches("a ... c\n...\nend\n", "a b c\nx\ny\nend\n")
    assert matches("...\n", "")
    assert not matches("a ... c\n", "a b d\n")
    assert not matches("a\n", "a\nb\n")
    assert not matches("a...b\n", "a\nb\n")
