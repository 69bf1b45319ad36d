"""Markdown by its blocks: headings give the path, code fences are never headings, table rows are never cut.

CommonMark's own rules decide what a block is (markdown-it-py, with tables). Text is always a slice of the file. A
table or list too long for one chunk is cut between rows or items, and then the header row or the parent item is added
to the heading of each part, as context and not as file content. Front matter gives title and metadata; math, footnotes
and HTML stay as they are.
"""

from __future__ import annotations

import re
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
        tokens: list[Token] = []
        if len(text) > _MAX_CHARS:
            warnings.append("markdown_too_long: read as plain text")
            cuts, title = paragraph_cuts(lines), ""
        else:
            body = [""] * front.end + [line.replace("\r", " ").replace("\0", " ") for line in lines[front.end :]]
            try:
                tokens = self._parser.parse("\n".join(body))
                cuts, title = _Outline(lines).cuts(tokens)
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

    def cuts(self, tokens: list[Token]) -> tuple[list[Cut], str]:
        cuts: list[Cut] = []
        title, first_heading = "", ""
        for index, token in enumerate(tokens):
            if token.level or token.map is None or token.nesting < 0:
                continue
            start, end = token.map
            if token.type == "heading_open":
                level = int(token.tag[1:])
                name = plain_heading(tokens[index + 1].content)
                self._path = [*self._path[: level - 1], *[""] * (level - 1 - len(self._path)), name]
                first_heading = first_heading or name
                title = title or (name if level == 1 else "")
                cuts.append(Cut(start + 1, self._heading(), STUB_KIND))
            elif token.type == "table_open":
                cuts.extend(self._table(start, end))
            elif token.type in {"bullet_list_open", "ordered_list_open"}:
                cuts.extend(self._list(tokens, index, start, end))
            else:
                kind = "code" if token.type in {"fence", "code_block"} else "text"
                cuts.append(Cut(start + 1, self._heading(), kind))
        return cuts, title or first_heading

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
    text = _LINK.sub(r"\1", text[:1000])
    return clip(_MARKS.sub("", text))
