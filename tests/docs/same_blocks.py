"""Keeps the blocks of a translated page those of its original.

Bring a translation up to date:  python -m tests.docs.same_blocks docs/tutorial.md docs/zh/tutorial.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def fences(page: str) -> list[str]:
    """Every fenced block with its fences, in order."""
    return FENCE.findall(page)


def with_blocks_of(original: str, translation: str) -> str:
    """``translation`` with the blocks of ``original``. Raises ValueError when they are not equally many."""
    wanted = fences(original)
    if len(wanted) != len(fences(translation)):
        raise ValueError(f"{len(wanted)} blocks in the original, {len(fences(translation))} in the translation")
    blocks = iter(wanted)
    return FENCE.sub(lambda _: next(blocks), translation)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:3])
    target.write_text(with_blocks_of(source.read_text("utf-8"), target.read_text("utf-8")), "utf-8", newline="\n")
