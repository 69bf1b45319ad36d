"""The Chinese tutorial is the English one in other words, and the Chinese codes are all the codes."""

from __future__ import annotations

import re

import pytest

from tests.docs.blocks import ROOT, blocks
from tests.docs.same_blocks import fences, with_blocks_of

ENGLISH = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
CHINESE = (ROOT / "docs" / "zh" / "tutorial.md").read_text("utf-8")


def test_the_blocks_are_equal() -> None:
    """What can be copied and what it prints: the English page is run by a test, so this one is as true."""
    fix = "python -m tests.docs.same_blocks docs/tutorial.md docs/zh/tutorial.md"
    assert fences(ENGLISH) == fences(CHINESE), f"Bring it up to date: {fix}"
    assert len(fences(CHINESE)) > 30


def test_the_same_blocks_need_the_model() -> None:
    """The marks that a runner heeds are the same."""
    assert [block.needs for block in blocks(ENGLISH)] == [block.needs for block in blocks(CHINESE)]


def test_the_sections_are_equal() -> None:
    """As many headings, with the same numbers, and words between all blocks that have words between them."""
    numbers = [re.findall(r"^## (\d+)\.", page, re.MULTILINE) for page in (ENGLISH, CHINESE)]
    assert numbers[0] == numbers[1] == [str(number) for number in range(1, 12)]
    gaps = [
        [bool(gap.strip()) for gap in re.split(r"^```.*?^```$", page, flags=re.MULTILINE | re.DOTALL)]
        for page in (ENGLISH, CHINESE)
    ]
    assert gaps[0] == gaps[1]


def test_blocks_are_carried_over() -> None:
    """The tool that mends a translation takes the original's blocks and keeps the words."""
    assert with_blocks_of("a\n```x\n1\n```\nb\n", "甲\n```x\n2\n```\n乙\n") == "甲\n```x\n1\n```\n乙\n"
    with pytest.raises(ValueError, match="1 blocks"):
        with_blocks_of("```x\n```\n", "甲\n")
