"""Pieces to chunks: pieces of about ``target_chars``, never above ``max_chars``, with nothing lost or repeated.

Small neighbours under one heading share a chunk; a title travels with what stands below it; a piece above the limit is
split at a blank line, else at a line, else at the end of a sentence, else between words, and only a run of characters
without any of these is cut anywhere (never inside a combining sequence). There is no overlap, and no chunk is blank.
The chunks' texts in order are the file's text, white space at their edges aside (``tests/ingest/test_chunker.py``).

Sizes are *weights*: a Han, kana or Hangul character counts 2.4, since about 500 of them and about 1,200 Latin
characters both come to some 400 tokens of an embedding model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from arr_sql.ingest.readers.base import SIBLING_KINDS, STUB_KIND, Piece, ReadResult, clip

CHUNKER_VERSION = "1"
TARGET_CHARS = 1200
MAX_CHARS = 2400

_WIDE = re.compile(
    r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]+"
)
_VISIBLE = re.compile("[^\\s\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_SENTENCE = re.compile(r"[.!?;:]['\")\]]*\s|[。！？；…]+[”’」』）]*")
_SPACE = re.compile(r"\s+|[,，、]")
_LOCATOR_NAME_CHARS = 120


@dataclass(frozen=True)
class Chunk:
    """What is indexed and cited. ``locator`` is ``L12-40``, or ``120-148 Trainer.step`` for a part with a name."""

    text: str
    start_line: int
    end_line: int
    heading: str
    locator: str
    kind: str
    ordinal: int


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
    for group in _groups(result.pieces, target_chars):
        heading, kind, name = _label(group)
        text = "\n".join(piece.text for piece in group)
        if weight(text) <= max_chars:
            parts: Iterator[tuple[str, int, int]] = iter([(text, group[0].start_line, group[-1].end_line)])
        else:
            parts = _split(text.split("\n"), group[0].start_line, target_chars, max_chars)
        for part in parts:
            trimmed = _trim(*part)
            if trimmed is not None:
                body, start, end = trimmed
                locator = f"{start}-{end} {name}" if name else f"L{start}-{end}"
                chunks.append(Chunk(body, start, end, heading, locator, kind, len(chunks)))
    return chunks


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


def _joins(group: list[Piece], piece: Piece, small: bool, stub: bool) -> bool:
    last = group[-1]
    if piece.start_line != last.end_line + 1:
        return False
    if stub and piece.heading.startswith(last.heading):
        return True
    if piece.heading == last.heading and piece.name == last.name:
        return True
    if small and piece.kind in SIBLING_KINDS and last.kind in SIBLING_KINDS:
        return _parent(piece) == _parent(group[0]) or _parent(piece) == group[0].name
    return False


def _parent(piece: Piece) -> str:
    return "" if piece.kind == "config" else piece.name.rpartition(".")[0]


def _label(group: list[Piece]) -> tuple[str, str, str]:
    """Heading, kind and name of the chunk that ``group`` becomes."""
    names = list(dict.fromkeys(piece.name for piece in group if piece.name))
    headings = list(dict.fromkeys(piece.heading for piece in group if piece.heading))
    kinds = [piece.kind for piece in group if piece.kind != STUB_KIND] or [STUB_KIND]
    if len(headings) > 1 and group[0].kind == STUB_KIND:
        headings = headings[-1:]
    return (
        ", ".join(headings),
        kinds[0] if len(set(kinds)) == 1 else "text" if "text" in kinds else kinds[0],
        clip(", ".join(names), _LOCATOR_NAME_CHARS),
    )


def _trim(text: str, start: int, end: int) -> tuple[str, int, int] | None:
    """Without blank lines at either edge (the line span follows); None if nothing visible is left."""
    if _VISIBLE.search(text) is None:
        return None
    lead = len(text) - len(text.lstrip())
    breaks = text.count("\n", 0, lead)
    if breaks:
        text = text[text.rindex("\n", 0, lead) + 1 :]
    body = text.rstrip()
    return body, start + breaks, end - text.count("\n", len(body))


def _split(lines: list[str], first: int, target: int, limit: int) -> Iterator[tuple[str, int, int]]:
    """Parts of at most ``limit``. Each line is weighed at most a few times, whatever the input."""
    buffer: list[tuple[str, int]] = []
    start, total = first, 0
    for number, line in enumerate(lines, first):
        size = weight(line) + 1
        if buffer and total + size > limit:
            keep = _best_break(buffer, total)
            yield "\n".join(text for text, _ in buffer[:keep]), start, start + keep - 1
            start += keep
            buffer = buffer[keep:]
            total = sum(item for _, item in buffer)
            if total + size > limit and buffer:
                yield "\n".join(text for text, _ in buffer), start, number - 1
                buffer, start, total = [], number, 0
        elif total >= target and not line.strip():
            yield "\n".join(text for text, _ in buffer), start, number - 1
            buffer, start, total = [], number, 0
        if size > limit:
            for part in split_line(line, target, limit):
                yield part, number, number
            buffer, start, total = [], number + 1, 0
            continue
        buffer.append((line, size))
        total += size
    if buffer:
        yield "\n".join(text for text, _ in buffer), start, start + len(buffer) - 1


def _best_break(buffer: list[tuple[str, int]], total: int) -> int:
    """How many lines of a full buffer to give out: up to its last blank line if two fifths stand above it, else up to
    the last line that starts a block (no deeper indented than the first), else all."""
    indent = _indent(buffer[0][0])
    fallback, left = 0, total
    for keep in range(len(buffer) - 1, 0, -1):
        left -= buffer[keep][1]
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
