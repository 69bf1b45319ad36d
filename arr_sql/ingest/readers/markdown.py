"""Markdown by its blocks: headings give the path, code fences are never headings, table rows are never cut.

CommonMark's own rules decide what a block is (markdown-it-py, with tables). Text is always a slice of the file. A
table or list too long for one chunk is cut between rows or items, and then the header row or the parent item is added
to the heading of each part, as context and not as file content. Front matter gives title and metadata; math, footnotes
and HTML stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .base import STUB_KIND, Cut, ReadResult, TextReader, clip, cover, join_heading, split_lines
from .citation import CITATION_KEYS, citation, from_front_matter
from .front_matter import read_front_matter
from .text import paragraph_cuts

_LONG_BLOCK = 1200
_ROW_GROUP = 1000
# markdown-it-py takes about a second for a million characters; a longer file is generated.
_MAX_CHARS = 8_000_000
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_MARKS = re.compile(r"(\*{1,3}|~~|(?<!\w)_{1,3}|_{1,3}(?!\w)|`+)|<[^<>]*>|\s*\{#[^{}]*\}\s*$")
# Every mark begins with one of these; most headings hold none, and looking for one takes a fifth of the time.
_MAY_BE_MARKED = re.compile(r"[\[*~`<{]|(?<!\w)_|_(?!\w)")
_ITEM_MARK = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")


class MarkdownReader(TextReader):
    """Markdown, and R Markdown and MyST as far as they are Markdown."""

    name = "markdown"
    version = "2"
    suffixes = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".rmd", ".qmd"})

    def __init__(self) -> None:
        self._parser = MarkdownIt("commonmark").enable("table")
        self._parser.core.ruler.enableOnly(["normalize", "block"])

    def read(self, text: str, path: str) -> ReadResult:
        lines = split_lines(text)
        front = read_front_matter(lines)
        warnings = list(front.warnings)
        if len(text) > _MAX_CHARS:
            warnings.append("markdown_too_long: read as plain text")
            cuts, title = paragraph_cuts(lines), ""
        else:
            try:
                cuts, title = self._cuts(text, lines, front.end)
            except (RecursionError, MemoryError, IndexError, ValueError) as error:
                warnings.append(f"markdown_unreadable: {type(error).__name__}, read as plain text")
                cuts, title = paragraph_cuts(lines), ""
        if front.end:
            cuts = [Cut(1, kind="front_matter"), *(cut for cut in cuts if cut.line > front.end)]
            if not any(cut.line == front.end + 1 for cut in cuts):
                cuts.append(Cut(front.end + 1))
        named = front.values.get("title")
        if isinstance(named, str) and named:
            title = clip(named)
        # The fixed keys replace a front matter's own spelling of them; what is no year or no name stays in the text.
        own = {key: value for key, value in front.values.items() if key not in CITATION_KEYS}
        metadata = own | from_front_matter(front.values) | citation(title=title)
        return ReadResult(cover(lines, cuts), title, "markdown", metadata, tuple(warnings))

    def _cuts(self, text: str, lines: list[str], first: int) -> tuple[list[Cut], str]:
        """The cuts of the lines from ``first`` on, stretch by stretch: most need no parser, which takes ten times as long."""
        outline = _Outline(lines)
        cuts: list[Cut] = []
        body = lines[first:]
        if "\r" in text or "\0" in text:
            body = [line.replace("\r", " ").replace("\0", " ") for line in body]
        for stretch in stretches(body):
            if stretch.is_plain:
                cuts += outline.plain_cuts(body[stretch.start : stretch.end], first + stretch.start)
                continue
            tokens = self._parser.parse("\n".join(body[stretch.start : stretch.end]))
            for token in tokens:
                if token.map is not None:
                    token.map = [line + first + stretch.start for line in token.map]
            cuts += outline.cuts(tokens)
        return cuts, outline.title


# A line that CommonMark can only take for a paragraph's, and a heading without marks at its end.
_PARAGRAPH = re.compile(r"[A-Za-z(\"'$!\\]|[^\x00-\x7f]")
_HEADING = re.compile(r"(#{1,6})[ \t]+([^#\s][^#]*)")
_BLANK = re.compile(r"[ \t]*")
# What a heading does not end: a fence and raw HTML (at the left margin; inside a list they end with the list).
_OPENS = re.compile(r" {0,3}(?:```|~~~|<)")


@dataclass(frozen=True)
class Stretch:
    """Lines from ``start`` to before ``end`` that can be parsed by themselves; ``is_plain``: headings and paragraphs."""

    start: int
    end: int
    is_plain: bool


def stretches(body: list[str]) -> Iterator[Stretch]:
    """Cut a file before headings, so that a parser sees the same blocks in each part as in the whole.

    A heading at the left margin ends all that is open above it, except a fence or raw HTML: from the stretch that holds
    one of those on, the rest is one stretch.
    """
    start, heading, is_plain, is_open = 0, 0, True, False  # heading: the last one
    for number, line in enumerate(body):
        if not line or _PARAGRAPH.match(line) or _BLANK.fullmatch(line):
            continue
        if _HEADING.fullmatch(line):
            heading = number
            if not is_plain and not is_open:
                yield Stretch(start, number, False)
                start, is_plain = number, True
        elif is_plain:
            if heading > start:
                yield Stretch(start, heading, True)
            start, is_plain, is_open = heading, False, _OPENS.match(line) is not None
        else:
            is_open = is_open or _OPENS.match(line) is not None
    if start < len(body):
        yield Stretch(start, len(body), is_plain)


@dataclass(frozen=True)
class _Item:
    depth: int
    start: int  # indexes, end exclusive
    end: int


class _Outline:
    """Turns block tokens into cuts."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._path: list[str] = []
        self._first_heading = self._title = ""

    @property
    def title(self) -> str:
        """The first heading of the first level, else the first heading."""
        return self._title or self._first_heading

    def plain_cuts(self, body: list[str], first: int) -> list[Cut]:
        """The cuts of a stretch of headings and paragraphs that begins at line ``first``."""
        cuts: list[Cut] = []
        path, is_inside = self._heading(), False
        for number, line in enumerate(body, first + 1):
            sign = line[:1]
            if sign == "#":
                heading = _HEADING.fullmatch(line)
                assert heading is not None, "else the stretch were not plain"
                cuts.append(self._heading_cut(number, len(heading[1]), heading[2].strip()))
                path, is_inside = cuts[-1].heading, False
            elif not sign or (sign in " \t" and _BLANK.fullmatch(line)):
                is_inside = False
            elif not is_inside:
                cuts.append(Cut(number, path))
                is_inside = True
        return cuts

    def _heading_cut(self, line: int, level: int, content: str) -> Cut:
        name = plain_heading(content)
        self._path = [*self._path[: level - 1], *[""] * (level - 1 - len(self._path)), name]
        self._first_heading = self._first_heading or name
        self._title = self._title or (name if level == 1 else "")
        return Cut(line, self._heading(), STUB_KIND)

    def cuts(self, tokens: list[Token]) -> list[Cut]:
        """The cuts of what the parser found."""
        cuts: list[Cut] = []
        for index, token in enumerate(tokens):
            if token.level or token.map is None or token.nesting < 0:
                continue
            start, end = token.map
            if token.type == "heading_open":
                cuts.append(self._heading_cut(start + 1, int(token.tag[1:]), tokens[index + 1].content))
            elif token.type == "table_open":
                cuts.extend(self._table(start, end))
            elif token.type in {"bullet_list_open", "ordered_list_open"}:
                cuts.extend(self._list(tokens, index, start, end))
            else:
                kind = "code" if token.type in {"fence", "code_block"} else "text"
                cuts.append(Cut(start + 1, self._heading(), kind))
        return cuts

    def _heading(self, *more: str) -> str:
        return join_heading(*self._path, *more)

    def _size(self, start: int, end: int) -> int:
        return sum(map(len, self._lines[start:end])) + end - start

    def _table(self, start: int, end: int) -> list[Cut]:
        if self._size(start, end) <= _LONG_BLOCK:
            return [Cut(start + 1, self._heading(), "table")]
        cells = re.split(r"(?<!\\)\|", self._lines[start].strip().strip("|"))
        heading = self._heading(" | ".join(cell.strip() for cell in cells))
        cuts = [Cut(start + 1, heading, "table")]
        size = 0
        for index in range(start, end):
            length = len(self._lines[index]) + 1
            if size + length > _ROW_GROUP and index > start + 2:
                cuts.append(Cut(index + 1, heading, "table"))
                size = 0
            size += length
        return cuts

    def _list(self, tokens: list[Token], index: int, start: int, end: int) -> list[Cut]:
        if self._size(start, end) <= _LONG_BLOCK:
            return [Cut(start + 1, self._heading(), "list")]
        items: list[_Item] = []
        for token in tokens[index + 1 :]:
            if token.level == 0:
                break
            if token.type == "list_item_open" and token.map is not None:
                items.append(_Item(token.level, token.map[0], token.map[1]))
        cuts: list[Cut] = []
        parents: list[tuple[_Item, str]] = []
        for item in items:
            while parents and parents[-1][0].depth >= item.depth:
                parents.pop()
            # Items of a short parent stay with it.
            if any(self._size(parent.start, parent.end) <= _LONG_BLOCK for parent, _ in parents):
                continue
            cuts.append(Cut(item.start + 1, self._heading(*(label for _, label in parents)), "list"))
            label = plain_heading(_ITEM_MARK.sub("", self._lines[item.start], count=1))
            parents.append((item, clip(label, 80)))
        return cuts


def plain_heading(text: str) -> str:
    """A heading without its inline marks."""
    text = text[:1000]
    if _MAY_BE_MARKED.search(text):
        text = _MARKS.sub("", _LINK.sub(r"\1", text))
    return clip(text)
