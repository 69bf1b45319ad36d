"""Lines of a PDF page in the order a person reads them. Pure: positions in, lines out.

Two or more columns are found by a vertical strip that few lines cross, with running text on both sides; lines across it
(title, wide captions) divide the page into bands, and each band is read column by column. Rows of a table have one or
two words a cell and stay rows. Without columns the order of the page's content is trusted, unless it jumps about.
Repeated lines at the top and bottom of pages are dropped after their first appearance, page numbers always; words that
were hyphenated at a line end are mended.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

_MIN_ROWS = 3
_MAX_DEPTH = 3
_EDGE_LINES = 3
_MARGIN = 0.16  # LaTeX's `article` numbers its pages at 0.857
_MAX_SEGMENTS = 4_000
_LETTERS = {
    0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st",
    0xF0B7: "•", 0xF0A7: "▪", 0xF0D8: "➢", 0xF0FC: "✓",  # Word's bullets, of the Symbol and Wingdings fonts
}  # fmt: skip
_RADICALS = re.compile("[\u2e80-\u2fdf\uf900-\ufaff]")
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff\uf900-\ufaff]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")
_DIGITS = re.compile(r"\d{1,6}")
_LAST_WORD = re.compile(r"(?P<word>[^\W\d_]{2,}(?:-[^\W\d_]+)*)[-\u2010\xad]$")
_FIRST_WORD = re.compile(r"(?P<word>[^\W\d_]+)(?P<tail>[^\s]*)\s*")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of text without a wide gap; ``row`` numbers the lines as the PDF library saw them."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    size: float
    row: int

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def is_upright(self) -> bool:
        return self.bottom - self.top <= max(2.5 * self.size, 2.0 * (self.x1 - self.x0)) or len(self.text) < 4


@dataclass(frozen=True, slots=True)
class Row:
    """One line of text as read. ``place`` is its height on the page, 0 at the top and 1 at the bottom; ``gap`` says that
    a paragraph may begin here."""

    text: str
    size: float
    place: float
    gap: bool = False


def clean_text(text: str) -> str:
    """Ligatures and compatibility radicals as letters. A control character is a letter that the font doesn't name, most
    often an apostrophe, and becomes a space."""
    text = _CONTROL.sub(" ", text.translate(_LETTERS))
    if not text.isascii():
        text = _RADICALS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return " ".join(text.split())


def rows_of(segments: Sequence[Segment], height: float) -> list[Row]:
    """The lines of one page in reading order."""
    upright = [item for item in segments if item.is_upright]
    if len(upright) * 2 < len(segments):
        return _rows([[item] for item in segments], height)
    if len(upright) > _MAX_SEGMENTS:  # no page of text; a drawing whose labels are single letters, say
        return _rows(_plain_order(list(segments)), height)
    turned = [item for item in segments if not item.is_upright]
    return _rows([*_in_order(upright, 0), *([item] for item in turned)], height)


def _rows(lines: list[list[Segment]], height: float) -> list[Row]:
    rows: list[Row] = []
    before: Segment | None = None
    for line in lines:
        first = line[0]
        gap = before is None or first.top - before.bottom > 0.7 * first.size or first.top < before.top - first.size
        text = " ".join(item.text for item in line)
        place = min(1.0, max(0.0, first.middle / height)) if height > 0 else 0.5
        rows.append(Row(text, max(item.size for item in line), place, gap))
        before = line[-1]
    return rows


def _in_order(segments: list[Segment], depth: int) -> list[list[Segment]]:
    gutter = _gutter(segments) if depth < _MAX_DEPTH and len(segments) >= 2 * _MIN_ROWS else None
    if gutter is None:
        return _plain_order(segments)
    left = [item for item in segments if item.x1 <= gutter]
    right = [item for item in segments if item.x0 >= gutter]
    across = sorted((item for item in segments if item.x0 < gutter < item.x1), key=lambda item: item.middle)
    lines: list[list[Segment]] = []
    for wide in [*_plain_order(across), None]:
        limit = float("inf") if wide is None else min(item.middle for item in wide)
        for side in (left, right):
            band = [item for item in side if item.middle < limit]
            if band:
                lines += _in_order(band, depth + 1)
        left = [item for item in left if item.middle >= limit]
        right = [item for item in right if item.middle >= limit]
        if wide is not None:
            lines.append(wide)
    return lines


def _gutter(segments: list[Segment]) -> float | None:
    """The x of a vertical strip that separates two columns of running text, or None."""
    low, high = min(item.x0 for item in segments), max(item.x1 for item in segments)
    if high - low < 100 or high - low > 20_000:
        return None
    first = int(low)
    change = [0] * (int(high) - first + 3)
    for item in segments:
        change[int(item.x0) - first] += 1
        change[int(item.x1) - first + 1] -= 1
    crossing: list[int] = []
    total = 0
    for value in change:
        total += value
        crossing.append(total)
    start, end = int(len(crossing) * 0.15), int(len(crossing) * 0.85)
    least = min(crossing[start:end], default=0)
    best: tuple[int, int] | None = None  # width, place
    at = start
    while at < end:
        if crossing[at] > least:
            at += 1
            continue
        stop = at
        while stop < end and crossing[stop] <= least:
            stop += 1
        if best is None or stop - at > best[0]:
            best = stop - at, at
        at = stop
    if best is None or best[0] < 0.5 * median(item.size for item in segments):
        return None
    gutter = first + best[1] + best[0] / 2
    left = [item for item in segments if item.x1 <= gutter]
    right = [item for item in segments if item.x0 >= gutter]
    across = len(segments) - len(left) - len(right)
    if across > 0.6 * min(len(left), len(right)) + 2 or not (_is_running(left) and _is_running(right)):
        return None
    overlap = min(max(item.bottom for item in left), max(item.bottom for item in right)) - max(
        min(item.top for item in left), min(item.top for item in right)
    )
    return gutter if overlap > 2 * median(item.size for item in segments) else None


def _is_running(segments: list[Segment]) -> bool:
    """Lines of text rather than cells of a table."""
    if len(segments) < _MIN_ROWS:
        return False
    words = [max(len(item.text.split()), len(_HAN.findall(item.text)) // 2) for item in segments]
    return sum(words) >= 3 * len(words)


def _plain_order(segments: list[Segment]) -> list[list[Segment]]:
    """Lines without columns: as the content has them, or from top to bottom when that jumps about."""
    lines: list[list[Segment]] = []
    for item in segments:
        if lines and lines[-1][-1].row == item.row and _same_height(lines[-1][-1], item):
            lines[-1].append(item)
        else:
            lines.append([item])
    jumps = sum(below[0].top < above[0].top - 3 * below[0].size for above, below in pairwise(lines))
    if jumps <= max(2, len(lines) // 20):
        return lines
    lines = []
    for item in sorted(segments, key=lambda item: (item.middle, item.x0)):
        if lines and _same_height(lines[-1][0], item):
            lines[-1].append(item)
        else:
            lines.append([item])
    return [sorted(line, key=lambda item: item.x0) for line in lines]


def _same_height(one: Segment, other: Segment) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    return overlap >= 0.5 * min(one.bottom - one.top, other.bottom - other.top)


# --- several pages ----------------------------------------------------------------------------------------------------


def without_repeats(pages: list[list[Row]]) -> tuple[list[list[Row]], int]:
    """Pages without running headers, footers and page numbers, and how many lines were dropped.

    A line is one if it stands among the first or last three lines, and in the upper or lower margin, of at least three
    pages and of a third of all: word for word, or with a number that goes along with the pages. Its first appearance
    stays, and so does the only line of a page, unless it is nothing but a page number.
    """
    if len(pages) < 3:
        return pages, 0
    keys = [_edges(rows, number) for number, rows in enumerate(pages)]
    seen = Counter(key for page in keys for key in {key for row in page for key in row})
    wanted = max(3, len(pages) // 3)
    repeated = {key for key, count in seen.items() if count >= wanted}
    shown: set[str] = set()
    dropped = 0
    kept: list[list[Row]] = []
    for rows, page in zip(pages, keys, strict=True):
        left: list[Row] = []
        for row, known in zip(rows, page, strict=True):
            matches = known & repeated
            is_new = not matches & shown or len(rows) == 1
            if not matches or (is_new and _PAGE_NUMBER not in matches):
                left.append(row)
            else:
                dropped += 1
            shown |= matches
        kept.append(left)
    return kept, dropped


_PAGE_NUMBER = "#"
_ONLY_NUMBER = re.compile(
    r"[\W_]*(?:page\s*|p\.\s*|第\s*)?(?:\d{1,5}|[ivxlc]{1,7})(?:\s*(?:/|of|页|頁|共)[\s\W]*\d*\s*页?)?[\W_]*",
    re.IGNORECASE,
)


def _edges(rows: list[Row], page: int) -> list[frozenset[str]]:
    """For each row what it would repeat as: its text, and its text with its first, last or every number counted from
    the page's; nothing inside the page."""
    order = sorted(range(len(rows)), key=lambda index: rows[index].place)
    edges = {*order[:_EDGE_LINES], *order[-_EDGE_LINES:]}
    keys: list[frozenset[str]] = []
    for index, row in enumerate(rows):
        if index not in edges or _MARGIN < row.place < 1 - _MARGIN:
            keys.append(frozenset())
            continue
        text = row.text[:200].lower()
        side = "^" if row.place < 0.5 else "_"
        found = {side + text}
        if _ONLY_NUMBER.fullmatch(text):
            found.add(_PAGE_NUMBER)
        numbers = list(_DIGITS.finditer(text))
        for match in (*numbers[:1], *numbers[-1:]):
            found.add(side + text[: match.start()] + f"{{{int(match[0]) - page}}}" + text[match.end() :])
        if len(numbers) > 1:
            found.add(side + _DIGITS.sub(lambda match: f"{{{int(match[0]) - page}}}", text))
        keys.append(frozenset(found))
    return keys


def mend_hyphens(pages: list[list[Row]]) -> tuple[list[list[Row]], int]:
    """Words cut at a line end are put together on the first of the two lines, and how many were.

    The hyphen stays where the text writes the word with it elsewhere and not without.
    """
    words = Counter(match[0].lower() for rows in pages for row in rows for match in _WORD.finditer(row.text))
    mended = 0
    result: list[list[Row]] = []
    for rows in pages:
        texts = [row.text for row in rows]
        for index in range(len(texts) - 1):
            head, tail = (
                _LAST_WORD.search(texts[index], max(0, len(texts[index]) - 120)),
                _FIRST_WORD.match(texts[index + 1]),
            )
            if head is None or tail is None or not tail["word"][0].islower():
                continue
            joined, compound = head["word"] + tail["word"], f"{head['word']}-{tail['word']}"
            keeps = words[compound.lower()] > words[joined.lower()]
            texts[index] = texts[index][: head.start()] + (compound if keeps else joined) + tail["tail"]
            texts[index + 1] = texts[index + 1][tail.end() :]
            mended += 1
        result.append(
            [
                Row(text.replace("\xad", "-").strip(), row.size, row.place, row.gap)
                for row, text in zip(rows, texts, strict=True)
            ]
        )
    return [[row for row in rows if row.text] for rows in result], mended
