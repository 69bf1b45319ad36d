"""The Chinese README has the same blocks, in the same order, as the English one."""

from __future__ import annotations

import re

from tests.docs.blocks import ROOT

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"<!-- command: (\w+) -->\n```bash\n(.*?)```", re.DOTALL)
ENGLISH = (ROOT / "README.md").read_text("utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text("utf-8")


def test_the_blocks_are_equal() -> None:
    """What can be copied is the same in both."""
    assert FENCE.findall(ENGLISH) == FENCE.findall(CHINESE)
    assert len(FENCE.findall(ENGLISH)) >= 4


def test_the_sections_and_tables_are_equally_many() -> None:
    """Neither has a section, a table row or a link target that the other lacks."""
    for pattern in (r"^## ", r"^\|"):
        assert len(re.findall(pattern, ENGLISH, re.MULTILINE)) == len(re.findall(pattern, CHINESE, re.MULTILINE))
    links = [set(re.findall(r"\]\(([^)]+)\)", text)) - {"README.md", "README.zh-CN.md"} for text in (ENGLISH, CHINESE)]
    # Pages in Chinese and pictures of the other language are the one's own.
    links[0], links[1] = (
        {_english(link) for link in found if not link.startswith("docs/images/")} - {None} for found in links
    )
    assert links[0] == links[1]


def _english(link: str) -> str | None:
    """The English page of a Chinese one; None where there is none."""
    other = link.replace("docs/zh/", "docs/")
    return other if other == link or (ROOT / other).is_file() else None


def test_the_two_commands_are_marked() -> None:
    """CI takes the block below each marker: one command for the demo, one for the tests."""
    for text in (ENGLISH, CHINESE):
        commands = dict(MARKER.findall(text))
        assert set(commands) == {"demo", "test"}
        assert commands["demo"].strip().endswith("arr demo")
        assert "pytest" in commands["test"]
        assert all(len(command.strip().splitlines()) == 1 for command in commands.values())
