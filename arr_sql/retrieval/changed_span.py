"""Where a piece of evidence and its file differ now. Pure: text and text in, line numbers out.

The file as it was indexed is not stored, only its chunks are; so the lines of one chunk are compared with the lines of
the file as it is. Either the whole text still stands somewhere (moved, or the change lies elsewhere in the file), or the
smallest span is given that, taken out of both, leaves the same lines.

Held by ``tests/retrieval/test_changed_span.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

Lines: TypeAlias = tuple[int, int]
"""First and last line, counted from 1."""

LONG_LINE = 1_000
"""A chunk may begin or end inside a line only if the chunker had to split it: no shorter line is."""
MAX_PLACES = 1_000
"""So many equal lines are looked at as anchors; a chunk that begins with a blank line has thousands."""


class Span(NamedTuple):
    """``stands_at``: where the whole text stands now. Else ``changed_lines`` of the file as it is stand in the place of
    ``indexed_lines`` of the file as it was; the first is None where lines only went away, the second where lines only
    came in."""

    stands_at: Lines | None = None
    changed_lines: Lines | None = None
    indexed_lines: Lines | None = None


def changed_span(text: str, start: int, now: str) -> Span:
    """Compare a chunk's ``text``, which began at line ``start`` of its file, with the file's text ``now``."""
    old, new = text.split("\n"), now.removesuffix("\n").split("\n") if now else []
    places = list(_standing(text, now, len(old)))
    if places:
        return Span(stands_at=min(places, key=lambda place: (abs(place[0] - start), place)))
    new = [line.rstrip() if line.rstrip() == old[-1] else line for line in new]  # a chunk's end is trimmed
    first, last, kept_before, kept_after = _smallest(old, new, start)
    return Span(
        changed_lines=(first + 1, last) if first < last else None,
        indexed_lines=(start + kept_before, start + len(old) - kept_after - 1)
        if kept_before + kept_after < len(old)
        else None,
    )


def _standing(text: str, now: str, height: int) -> Iterator[Lines]:
    """Every place where the text stands in whole lines (or inside lines so long that they were split)."""
    place = now.find(text) if text else -1
    line, counted = 1, 0
    while place >= 0:
        end = place + len(text)
        line += now.count("\n", counted, place)
        counted = place
        begins = place == 0 or now[place - 1] == "\n"
        following = now.find("\n", end)
        rest = now[end : following if following >= 0 else len(now)]
        ends = not rest.strip()
        if (begins or _is_long(now, place)) and (ends or _is_long(now, end)):
            yield line, line + height - 1
        place = now.find(text, place + 1)


def _is_long(text: str, place: int) -> bool:
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    return (end if end >= 0 else len(text)) - start >= LONG_LINE


def _smallest(old: Sequence[str], new: Sequence[str], start: int) -> tuple[int, int, int, int]:
    """The place in ``new`` (half open) that stands for the middle of ``old``, and how many lines of ``old`` are kept
    before and after it. Of the ways to keep most lines, the one nearest to where the text was."""
    heads = [(place, _common(old, new, place)) for place in _near(_places(new, old[0]), start - 1)]
    tails = [
        (place + 1, _common_back(old, new, place + 1)) for place in _near(_places(new, old[-1]), start + len(old) - 2)
    ]
    expected = min(start - 1, len(new))
    found = [(expected, min(len(new), max(expected, start - 1 + len(old))), 0, 0)]
    for place, kept in heads:
        first = place + kept
        found.append((first, min(len(new), max(first, place + len(old))), kept, 0))
    for end, kept in tails:
        last = end - kept
        found.append((max(0, min(last, end - len(old))), last, 0, kept))
    for place, kept in sorted(heads, key=lambda item: -item[1])[:8]:
        for end, tail in tails:
            after = min(tail, len(old) - kept, end - place - kept)
            if after >= 0 and end >= place + kept:
                found.append((place + kept, end - after, kept, after))
    return min(
        found, key=lambda item: (-(item[2] + item[3]), item[1] - item[0], abs(item[0] - item[2] - start + 1), item)
    )


def _places(lines: Sequence[str], wanted: str) -> list[int]:
    return [place for place, line in enumerate(lines) if line == wanted]


def _near(places: list[int], expected: int) -> list[int]:
    return sorted(places, key=lambda place: (abs(place - expected), place))[:MAX_PLACES]


def _common(old: Sequence[str], new: Sequence[str], place: int) -> int:
    count = 0
    while count < len(old) and place + count < len(new) and old[count] == new[place + count]:
        count += 1
    return count


def _common_back(old: Sequence[str], new: Sequence[str], end: int) -> int:
    count = 0
    while count < len(old) and count < end and old[-1 - count] == new[end - 1 - count]:
        count += 1
    return count
