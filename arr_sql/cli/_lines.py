"""Styled lines for people, broken between words where the terminal ends.

An answer is lines of text, no table, and rich takes as long to import as a search without files takes to run. The lines are
those that rich makes (tests/cli/test_lines.py), but that no space is left at the end of a broken one.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import Any

import click

from arr_sql.cli._shared import echo

PIPE_COLUMNS = 1 << 30
"""Into a pipe or file nothing is broken: whoever reads it looks for lines as they are."""
_WORD = re.compile(r"\s*\S+\s*")


def print_pieces(*pieces: tuple[str, dict[str, Any]]) -> None:
    """One line, or as many as it takes: texts with their styles (as ``click.style`` names them), one behind the other."""
    expanded = [(text.expandtabs(8), style) for text, style in pieces]
    whole, width = "".join(text for text, _ in expanded), columns()
    for start, end in broken(whole, width):
        place, shown = 0, []
        for text, style in expanded:
            part = text[max(0, start - place) : max(0, end - place)]
            place += len(text)
            shown.append(click.style(part, **style) if part and style else part)
        echo("".join(shown))


def print_text(text: str, **style: Any) -> None:
    """A text in one style."""
    print_pieces((text, style))


def columns() -> int:
    """Columns of the terminal; no end of them into a pipe or file."""
    if not sys.stdout.isatty():
        return PIPE_COLUMNS
    return max(1, shutil.get_terminal_size().columns - (os.name == "nt"))  # Windows breaks a line that is full


def broken(text: str, width: int) -> list[tuple[int, int]]:
    """Where each line of ``text`` begins and ends, none wider than ``width``: a word goes to the next line whole, one that is
    wider than a line is cut. Spaces at a break are left out."""
    lines: list[tuple[int, int]] = []
    begin = 0
    for line in text.split("\n"):
        lines += [(begin + start, begin + end) for start, end in _broken_line(line, width)]
        begin += len(line) + 1
    return lines


def _broken_line(text: str, width: int) -> list[tuple[int, int]]:
    if cells(text) <= width:
        return [(0, len(text))]
    starts, used = [0], 0
    for match in _WORD.finditer(text):
        word = match[0].rstrip()
        size = cells(word)
        if used and used + size > width:
            starts.append(match.start())
            used = 0
        if size > width:
            for place, character in enumerate(word, match.start()):
                if used + cells(character) > width and place > starts[-1]:
                    starts.append(place)
                    used = 0
                used += cells(character)
            size = 0
        used += size + cells(match[0][len(word) :])
    ends = [start + len(text[start:end].rstrip()) for start, end in pairwise(starts)]
    return list(zip(starts, [*ends, len(text)], strict=True))


def cells(text: str) -> int:
    """How many columns a text takes: two for a character of Chinese and the like, none for a mark on another."""
    return len(text) if text.isascii() else sum(map(_cell, text))


@lru_cache(maxsize=4096)
def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
