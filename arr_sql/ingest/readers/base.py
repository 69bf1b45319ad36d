"""What a reader is: text in, pieces out, every line of the file covered exactly once.

A reader says *where* a file may be cut and what each part is called; it never rewrites the file. All built-in
readers return their cuts through :func:`cover`, which slices the lines itself, so a reader cannot lose, repeat or
invent text (``tests/ingest/test_reader_promises.py`` holds that for arbitrary input). Words that help a search but
do not stand at that place (a table's header, a decoded BibTeX title) go into ``heading``.

Lines are separated by ``\\n`` only, as ``grep -n`` counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

JSON: TypeAlias = "str | int | float | bool | list[JSON] | dict[str, JSON] | None"

HEADING_SEPARATOR = " > "
HEADING_PART_CHARS = 160
HEADING_CHARS = 480

# Kinds whose neighbours may share a chunk when they are small and belong to the same parent.
SIBLING_KINDS = frozenset({"class", "code", "config", "function"})
# A piece of this kind is only a title: it travels with the piece below it.
STUB_KIND = "heading"


@dataclass(frozen=True)
class Piece:
    """A run of whole lines, from ``start_line`` to ``end_line`` inclusive, counted from 1.

    ``heading`` is a path (``A > B``) or a qualified name and is searched with more weight than ``text``; ``name`` is
    what a person would call the piece (``Trainer.step``, a cite key) and is shown in the locator.
    """

    text: str
    start_line: int
    end_line: int
    heading: str = ""
    kind: str = "text"
    name: str = ""


@dataclass(frozen=True)
class ReadResult:
    """The pieces of one file in order. ``warnings`` are ``code`` or ``code: detail`` and are shown by ``arr sync``."""

    pieces: tuple[Piece, ...]
    title: str = ""
    language: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@runtime_checkable
class Reader(Protocol):
    """Reads decoded text. ``version`` changes whenever the same text may give other pieces."""

    name: str
    version: str
    suffixes: frozenset[str]
    reads_bytes: bool

    def read(self, text: str, path: str) -> ReadResult:
        """Cut ``text``; never raises for any text. ``path`` is only used for its name."""
        ...


@runtime_checkable
class BytesReader(Reader, Protocol):
    """Reads a format that is not text (PDF): ``reads_bytes`` is true and the file is not decoded first."""

    def read_bytes(self, data: bytes, path: str) -> ReadResult:
        """Cut ``data``. Line numbers then count the lines of the text that was extracted."""
        ...


class TextReader:
    """Common part of the built-in readers."""

    name: str = ""
    version: str = "1"
    suffixes: frozenset[str] = frozenset()
    reads_bytes: bool = False
    # Whole file names, lower case, for files that are known by name and not by suffix.
    file_names: frozenset[str] = frozenset()

    def read(self, text: str, path: str) -> ReadResult:
        raise NotImplementedError


@dataclass(frozen=True)
class Cut:
    """From ``line`` on (until the next cut) the file is a piece with this heading, kind and name."""

    line: int
    heading: str = ""
    kind: str = "text"
    name: str = ""


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` as ``grep -n`` counts them; a final newline opens no further line."""
    if not text:
        return []
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def cover(lines: list[str], cuts: Iterable[Cut], first: Cut | None = None) -> tuple[Piece, ...]:
    """Slice ``lines`` at ``cuts``. The last cut given for a line wins; lines before the first cut belong to ``first``.

    Blank lines go with the piece above them, so a piece never consists of blank lines unless the file does (then there
    is no piece at all). Every other line is in exactly one piece.
    """
    at: dict[int, Cut] = {1: first or Cut(1)}
    for cut in cuts:
        if 1 <= cut.line <= len(lines):
            at[cut.line] = cut
    starts = sorted(at)
    pieces: list[Piece] = []
    for start, end in zip(starts, [*(line - 1 for line in starts[1:]), len(lines)], strict=True):
        text = "\n".join(lines[start - 1 : end])
        blank = not text.strip()
        if blank and not pieces:
            continue
        if blank:
            above = pieces.pop()
            pieces.append(Piece(above.text + "\n" + text, above.start_line, end, above.heading, above.kind, above.name))
            continue
        cut = at[start]
        pieces.append(Piece(text, start, end, cut.heading, cut.kind, cut.name))
    return tuple(pieces)


def clip(text: str, limit: int = HEADING_PART_CHARS) -> str:
    """One line of at most ``limit`` characters; a shortened text ends in an ellipsis."""
    text = " ".join(text[: limit * 8].split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def join_heading(*parts: str) -> str:
    """A heading path. Empty parts are left out; a long path loses its middle, never its last part."""
    shown = [clip(part) for part in parts if part.strip()]
    while len(shown) > 2 and len(HEADING_SEPARATOR.join(shown)) > HEADING_CHARS:
        del shown[1]
    return HEADING_SEPARATOR.join(shown)
