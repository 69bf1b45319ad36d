"""What a reader is: text in, pieces out, every line of the file covered exactly once.

A reader says *where* a file may be cut and what each part is called; it never rewrites the file. All built-in
readers return their cuts through :func:`cover`, which slices the lines itself, so a reader cannot lose, repeat or
invent text (``tests/ingest/test_reader_promises.py`` holds that for arbitrary input). Words that help a search but
do not stand at that place (a table's header, a decoded BibTeX title) go into ``heading``.

Lines are separated by ``\\n`` only, as ``grep -n`` counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    what a person would call the piece (``Trainer.step``, a cite key) and is shown in the locator. ``locator`` replaces
    the line numbers in what people are shown (``p.4``, ``cell 7``); pieces of two locators never share a chunk.
    """

    text: str
    start_line: int
    end_line: int
    heading: str = ""
    kind: str = "text"
    name: str = ""
    locator: str = ""


@dataclass(frozen=True)
class ReadResult:
    """The pieces of one file in order. ``warnings`` are ``code`` or ``code: detail`` and are shown by ``arr sync``."""

    pieces: tuple[Piece, ...]
    title: str = ""
    language: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


# Why a file gives no pieces, and what a person can do about it. The closed set that readers may answer with.
UNREADABLE: Mapping[str, str] = {
    "empty": "The file has no bytes, and an empty file of this format is a failed download or a broken save.",
    "encrypted": "The PDF needs a password and none was given, or none of those given opens it.",
    "malformed": "The file is cut off or damaged, or is not of the format its name says.",
    "needs_extra_pdf": "Reading PDF needs the extra `pdf`: `pip install 'arr-sql[pdf]'`, then `arr sync`.",
    "no_text_layer": "No page holds text, only images (a scan). Run OCR over it first, for example with ocrmypdf.",
    "not_a_pdf": "The name says PDF and the content is something else, often the HTML page of a failed download.",
    "reader_failed": "A reader raised or answered with something that is no result; a fault of that reader, not of the file.",
    "too_complex": "Reading it exceeded a limit of time, memory, pages or text that is stated in docs/readers.md.",
}
UNREADABLE_CODES: tuple[str, ...] = tuple(UNREADABLE)


@dataclass(frozen=True)
class Unreadable:
    """A reader's refusal: ``code`` is one of :data:`UNREADABLE_CODES`; ``detail`` says more and never quotes the file."""

    code: str
    detail: str = ""

    def __post_init__(self) -> None:
        if self.code not in UNREADABLE:
            raise ValueError(f"Unreadable code {self.code!r} is not one of {', '.join(UNREADABLE_CODES)}")


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
    """Reads a format that is not text (PDF): ``reads_bytes`` is true and the file is not decoded first.

    Credentials are withheld from its pieces afterwards, by ``ingest.prepare``.
    """

    def read_bytes(self, data: bytes, path: str) -> ReadResult | Unreadable:
        """Cut ``data``; never raises for any bytes. Line numbers count the lines of the text that was extracted."""
        ...


@runtime_checkable
class GrammarReader(Reader, Protocol):
    """A reader of a language whose grammar the words for a withheld line would break."""

    def read_withheld(self, text: str, original: str, path: str) -> ReadResult:
        """As ``read(text, path)``, where ``text`` has words in place of some lines of ``original``.

        Of ``original`` only the places where things begin and end are used: no text of it is in the result.
        """
        ...


@runtime_checkable
class PasswordReader(BytesReader, Protocol):
    """A reader of files that may be encrypted. A reader holds no password unless it was made with one."""

    def with_passwords(self, passwords: Sequence[str]) -> BytesReader:
        """The same reader, which tries ``passwords`` in order where a file asks for one."""
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
