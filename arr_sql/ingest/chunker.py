"""Pieces to chunks: pieces of about ``target_chars``, never above ``max_chars``, with nothing lost or repeated.

Small neighbours under one heading share a chunk; a title travels with what stands below it; a piece above the limit is
split at a blank line, else at a line, else at the end of a sentence, else between words, and only a run of characters
without any of these is cut anywhere (never inside a combining sequence). There is no overlap, and no chunk is blank.
A piece of a few characters without a name (a lone ``{``, one comment line) goes with a neighbour of its heading: such
texts are near to everything in a vector space. Pages and cells (``Piece.locator``) never share a chunk.
The chunks' texts in order are the file's text, white space at their edges aside (``tests/ingest/test_chunker.py``).

Sizes are *weights*: a Han, kana or Hangul character counts 2.4, since about 500 of them and about 1,200 Latin
characters both come to some 400 tokens of an embedding model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from arr_sql.ingest.readers.base import HEADING_SEPARATOR, SIBLING_KINDS, STUB_KIND, Piece, ReadResult, clip

CHUNKER_VERSION = "2"
TARGET_CHARS = 1200
MAX_CHARS = 2400
# A piece with fewer visible characters goes with a neighbour, if it has no name of its own.
TINY_CHARS = 40
_BEGINNING = 4 * TINY_CHARS

_WIDE = re.compile(
    r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]+"
)
_VISIBLE = re.compile("[^\\s\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_VISIBLE_RUN = re.compile(_VISIBLE.pattern + "+")
_SENTENCE = re.compile(r"[.!?;:]['\")\]]*\s|[。！？；…]+[”’」』）]*")
_SPACE = re.compile(r"\s+|[,，、]")
_LOCATOR_NAME_CHARS = 120
_LABEL_CHARS = 600


class Chunk(NamedTuple):
    """What is indexed and cited. ``locator`` is ``L12-40``, or ``120-148 Trainer.step`` for a part with a name."""

    text: str
    start_line: int
    end_line: int
    heading: str
    locator: str
    kind: str
    ordinal: int


Line: TypeAlias = tuple[str, int]


def weight(text: str) -> int:
    """Characters, with Han, kana and Hangul counted 2.4 times."""
    if text.isascii():
        return len(text)
    return len(text) + sum(map(len, _WIDE.findall(text))) * 7 // 5


def chunk(result: ReadResult, *, target_chars: int = TARGET_CHARS, max_chars: int = MAX_CHARS) -> list[Chunk]:
    """The chunks of one file, ``ordinal`` counted from 0. An empty or blank file has none."""
    if not 0 < target_chars <= max_chars:
        raise ValueError("target_chars must be positive and at most max_chars")
    chunks: list[Chunk] = []
    for group in _with_tiny(list(_groups(result.pieces, target_chars)), max_chars):
        heading, kind, name = _label(group)
        for body, start, end in _bodies(group, target_chars, max_chars):
            locator = _locator(group[0].locator, name, start, end)
            chunks.append(Chunk(body, start, end, heading, locator, kind, len(chunks)))
    return chunks


def _bodies(group: list[Piece], target: int, limit: int) -> Iterator[tuple[str, int, int]]:
    """The texts of the chunks that a group becomes, each with its first and last line."""
    text = "\n".join([piece.text for piece in group])
    if weight(text) <= limit:
        whole = _trim_whole(text, group)
        parts = iter((_numbered(group),)) if whole is None else iter(())
        if whole is not None:
            yield whole
    else:
        parts = _split(_numbered(group), target, limit)
    for part in parts:
        trimmed = _trim(part)
        if trimmed is not None:
            yield trimmed


def _locator(place: str, name: str, start: int, end: int) -> str:
    if place:
        return clip(f"{place} {name}".rstrip(), _LOCATOR_NAME_CHARS)
    return f"{start}-{end} {name}" if name else f"L{start}-{end}"


def _numbered(group: list[Piece]) -> list[Line]:
    """Every line with its number. A reader of markup may give fewer or more lines than its span has."""
    return [
        (text, min(number, piece.end_line))
        for piece in group
        for number, text in enumerate(piece.text.split("\n"), piece.start_line)
    ]


def _groups(pieces: tuple[Piece, ...], target: int) -> Iterator[list[Piece]]:
    """Neighbouring pieces that will share a chunk (or be split together, if they come out too heavy)."""
    group: list[Piece] = []
    total, small, stub = 0, True, False
    for piece in pieces:
        size = weight(piece.text) + 1
        is_small = size <= target // 4
        if group and _joins(group, piece, small and is_small, stub) and (stub or total + size <= target):
            group.append(piece)
        else:
            if group:
                yield group
            group, total, small, stub = [piece], 0, True, True
        total += size
        small = small and is_small
        stub = stub and piece.kind == STUB_KIND
    if group:
        yield group


def _follows(last: Piece, piece: Piece) -> bool:
    """Nothing stands between the two, and a person finds both at one place."""
    return piece.start_line in {last.end_line, last.end_line + 1} and piece.locator == last.locator


def _joins(group: list[Piece], piece: Piece, small: bool, stub: bool) -> bool:
    last = group[-1]
    if not _follows(last, piece):
        return False
    if stub and piece.heading.startswith(last.heading):
        return True
    if piece.heading == last.heading and piece.name == last.name:
        return True
    if small and piece.kind in SIBLING_KINDS and last.kind in SIBLING_KINDS:
        return _parent(piece) == _parent(group[0]) or _parent(piece) == group[0].name
    return False


def _with_tiny(groups: list[list[Piece]], limit: int) -> list[list[Piece]]:
    """Tiny groups without a name go with the group below, else with the one above."""
    merged: list[list[Piece]] = []
    waiting: list[Piece] = []  # a tiny group that wants to go down
    for number, group in enumerate(groups):
        if waiting:
            group, waiting = [*waiting, *group], []
        if _is_tiny(group):
            below = groups[number + 1] if number + 1 < len(groups) else None
            if below is not None and _takes(below[0], group, below, limit) and _follows(group[-1], below[0]):
                waiting = group
                continue
            if merged and _takes(merged[-1][-1], group, merged[-1], limit) and _follows(merged[-1][-1], group[0]):
                merged[-1] = [*merged[-1], *group]
                continue
        merged.append(group)
    return merged


def _is_tiny(group: list[Piece]) -> bool:
    visible = 0
    for piece in group:
        if piece.name:
            return False
    for piece in group:  # as most; the same question, sooner
        beginning = piece.text[:_BEGINNING]
        if len(beginning) >= TINY_CHARS and beginning.isascii() and len("".join(beginning.split())) >= TINY_CHARS:
            return False
    for piece in group:
        for match in _VISIBLE_RUN.finditer(piece.text):
            visible += len(match[0])
            if visible >= TINY_CHARS:
                return False
    return True


def _takes(neighbour: Piece, tiny: list[Piece], group: list[Piece], limit: int) -> bool:
    """Whether ``tiny`` belongs under the heading of its neighbour, and makes no chunk too heavy that was not."""
    heading = tiny[-1].heading
    above = heading == "" or neighbour.heading == heading or neighbour.heading.startswith(heading + HEADING_SEPARATOR)
    if not above:
        return False
    size = sum(weight(piece.text) + 1 for piece in group)
    return size > limit or size + sum(weight(piece.text) + 1 for piece in tiny) <= limit


def _parent(piece: Piece) -> str:
    return "" if piece.kind == "config" else piece.name.rpartition(".")[0]


def _label(group: list[Piece]) -> tuple[str, str, str]:
    """Heading, kind and name of the chunk that ``group`` becomes."""
    heading = group[0].heading
    if all(piece.heading == heading and not piece.name for piece in group):  # as in prose
        kinds = list(dict.fromkeys([piece.kind for piece in group if piece.kind != STUB_KIND])) or [STUB_KIND]
        return clip(heading, _LABEL_CHARS), "text" if len(kinds) > 1 and "text" in kinds else kinds[0], ""
    names = list(dict.fromkeys(piece.name for piece in group if piece.name))
    headings = list(dict.fromkeys(piece.heading for piece in group if piece.heading))
    named = [piece for piece in group if piece.name and piece.kind not in SIBLING_KINDS]
    kinds = [piece.kind for piece in named or group if piece.kind != STUB_KIND] or [STUB_KIND]
    if len(headings) > 1 and group[0].kind == STUB_KIND:
        headings = headings[-1:]
    headings = [item for item in headings if not any(other.startswith(item + HEADING_SEPARATOR) for other in headings)]
    return (
        clip(", ".join(headings), _LABEL_CHARS),
        kinds[0] if len(set(kinds)) == 1 else "text" if "text" in kinds else kinds[0],
        clip(", ".join(names), _LOCATOR_NAME_CHARS),
    )


def _trim(part: list[Line]) -> tuple[str, int, int] | None:
    """Without blank lines at either edge (the line span follows); None if nothing visible is left."""
    if not any(_VISIBLE.search(text) for text, _ in part):
        return None
    first = next(index for index, (text, _) in enumerate(part) if text.strip())
    last = next(index for index in range(len(part) - 1, -1, -1) if part[index][0].strip())
    return "\n".join(text for text, _ in part[first : last + 1]).rstrip(), part[first][1], part[last][1]


def _trim_whole(text: str, group: list[Piece]) -> tuple[str, int, int] | None:
    """What :func:`_trim` gives of a whole group, without looking at each line; None where that takes a closer look."""
    body, last = text.rstrip(), group[-1]
    blank = text.count("\n", len(body))
    height = last.text.count("\n") + 1
    if not body or body[0].isspace() or blank >= height or not _VISIBLE.search(body):
        return None
    return body, group[0].start_line, min(last.start_line + height - 1 - blank, last.end_line)


def _split(lines: list[Line], target: int, limit: int) -> Iterator[list[Line]]:
    """Parts of at most ``limit``. Each line is weighed at most a few times, whatever the input."""
    buffer: list[Line] = []
    sizes: list[int] = []
    total = 0
    for line in lines:
        size = weight(line[0]) + 1
        if buffer and total + size > limit:
            keep = _best_break(buffer, sizes, total)
            yield buffer[:keep]
            buffer, sizes = buffer[keep:], sizes[keep:]
            total = sum(sizes)
            if total + size > limit and buffer:
                yield buffer
                buffer, sizes, total = [], [], 0
        elif total >= target and not line[0].strip():
            yield buffer
            buffer, sizes, total = [], [], 0
        if size > limit:
            if buffer:
                yield buffer
            for part in split_line(line[0], target, limit):
                yield [(part, line[1])]
            buffer, sizes, total = [], [], 0
            continue
        buffer.append(line)
        sizes.append(size)
        total += size
    if buffer:
        yield buffer


def _best_break(buffer: list[Line], sizes: list[int], total: int) -> int:
    """How many lines of a full buffer to give out: up to its last blank line if two fifths stand above it, else up to
    the last line that starts a block (no deeper indented than the first), else all."""
    indent = _indent(buffer[0][0])
    fallback, left = 0, total
    for keep in range(len(buffer) - 1, 0, -1):
        left -= sizes[keep]
        if left * 5 < total * 2:
            break
        line = buffer[keep][0]
        if not line.strip():
            return keep
        if not fallback and indent < _indent(buffer[keep - 1][0]) and _indent(line) <= indent:
            fallback = keep
    return fallback or len(buffer)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def split_line(line: str, target: int, limit: int) -> Iterator[str]:
    """Cut one long line into parts of at most ``limit`` whose concatenation is the line."""
    start = 0
    while start < len(line):
        end = _window(line, start, limit)
        if end < len(line):
            low = start + (end - start) // 3
            end = _last_end(_SENTENCE, line, low, end) or _last_end(_SPACE, line, low, end) or _whole(line, start, end)
        yield line[start:end]
        start = end


def _window(line: str, start: int, limit: int) -> int:
    """The end of the longest part from ``start`` that weighs at most ``limit`` (at least one character)."""
    end = min(start + limit, len(line))
    while end > start + 1:
        over = weight(line[start:end]) - limit
        if over <= 0:
            break
        end = max(start + 1, end - max(1, over * 5 // 12))
    return end


def _last_end(pattern: re.Pattern[str], line: str, low: int, high: int) -> int | None:
    last = None
    for match in pattern.finditer(line, low, high):
        last = match.end()
    return last


def _whole(line: str, start: int, end: int) -> int:
    """Move ``end`` left, by 64 characters at most, to a place where no combining sequence is cut."""
    for place in range(end, max(start, end - 64), -1):
        if not _glued(line[place - 1], line[place]):
            return place
    return end


def _glued(before: str, after: str) -> bool:
    return (
        unicodedata.combining(after) != 0
        or (not after.isascii() and unicodedata.category(after) in {"Mn", "Mc", "Me", "Cf", "Sk"})
        or before == "\u200d"
        or "\u1160" <= after <= "\u11ff"
        or ("\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff")
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
    )
