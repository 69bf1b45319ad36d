"""Text for the line search: where a hit stands in the line as it was written, and a long line cut around it. Pure.

Bytes become text in :mod:`arr_sql.core.decode`, as for ingestion, so that both see the same lines.
"""

from __future__ import annotations

import unicodedata

from arr_sql.core.line_fold import fold


def original_index(line: str, folded_index: int) -> int:
    """The index in ``line`` of the character that position ``folded_index`` of ``fold(line)`` comes from."""
    if line.isascii():
        return folded_index
    place, folded = 0, 0
    block = 4_096
    while place < len(line):
        end = _after_marks(line, min(len(line), place + block))
        length = len(fold(line[place:end]))
        if folded + length > folded_index:
            if block == 1:
                return place
            block = max(1, block // 8)  # the hit is in this block: look closer
            continue
        folded += length
        place = end
    return len(line)


def clip(line: str, start: int, width: int) -> tuple[str, int]:
    """``line`` cut to about ``width`` characters around the hit at ``start``, and where the cut begins.

    Never cuts between a character and its combining marks, so what is shown is what was written.
    """
    if len(line) <= width:
        return line, 0
    first = max(0, min(start - width // 3, len(line) - width))
    last = min(len(line), first + width)
    while first > 0 and _joins(line[first]) and first > start - width:
        first -= 1
    return line[first : _after_marks(line, last)], first


def _after_marks(line: str, end: int) -> int:
    stop = min(len(line), end + 32)
    while 0 < end < stop and (_joins(line[end]) or line[end - 1] == "\u200d"):
        end += 1
    return end


def _joins(char: str) -> bool:
    if char.isascii():
        return False
    return char in "\u200d\ufe0e\ufe0f" or "\U0001f3fb" <= char <= "\U0001f3ff" or unicodedata.category(char)[0] == "M"
