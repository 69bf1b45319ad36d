"""HTML as a reader sees it: text by headings, tables row by row, with the line numbers of the source.

Scripts, styles, navigation and hidden parts are left out and counted; entities are decoded; a paragraph that was broken
over source lines keeps its breaks, so every line of a piece says where it stands. The encoding is that of the bytes or,
if they leave it open, of ``<meta charset>`` (``core.decode``). Title, authors, year, DOI and language come from ``<title>``
and the meta tags that publishers and archives use (``citation_*``, Dublin Core, Open Graph).

The scanner is written here. It is linear in the text for any input, keeps source lines, and has nothing to install: lxml
drops what is nested deeper than 256 and html5lib keeps no lines, Lexbor (selectolax) neither, and the standard library's
parser took minutes for a page of ``<!`` in several supported Pythons (CVE-2025-6069).
"""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass, field

from .base import JSON, STUB_KIND, Piece, ReadResult, TextReader, clip, join_heading
from .citation import citation, split_names

_TAG = re.compile(r"<(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9:-]{0,60})")
_ATTRIBUTE = re.compile(
    r"\s{0,200}(?P<name>[^\s=>/\"'<]{1,100})(?:\s{0,20}=\s{0,20}(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s>\"']{1,2000})))?"
)
_TAG_END = re.compile(r"[^>\"']*(?:\"[^\"]*\"[^>\"']*|'[^']*'[^>\"']*)*>")
_RAW_NAMES = "script style template noscript svg math iframe object canvas audio video select datalist"
_RAW = frozenset(_RAW_NAMES.split())
_SKIPPED_NAMES = "nav footer aside dialog menu button"
_SKIPPED = frozenset(_SKIPPED_NAMES.split())
_VOID_NAMES = "area base br col embed hr img input link meta param source track wbr"
_VOID = frozenset(_VOID_NAMES.split())
_BLOCKS_NAMES = (
    "address article blockquote body center dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5"
    " h6 header hr html li main ol p pre section summary table tbody td tfoot th thead tr ul caption title head"
)
_BLOCKS = frozenset(_BLOCKS_NAMES.split())
_CELLS = frozenset({"td", "th"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN = re.compile(r"display\s{0,5}:\s{0,5}none|visibility\s{0,5}:\s{0,5}hidden", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\f\v\u00a0]+")
_MAX_DEPTH = 200
_TAG_CHARS = 65_536


@dataclass
class _Block:
    """Text between two block tags: its lines by source line number."""

    kind: str = "text"
    lines: dict[int, list[str]] = field(default_factory=dict)

    def add(self, line: int, text: str) -> None:
        self.lines.setdefault(line, []).append(text)


class HtmlReader(TextReader):
    """``.html``, ``.htm`` and ``.xhtml`` files."""

    name = "html"
    suffixes = frozenset({".html", ".htm", ".xhtml"})

    def read(self, text: str, path: str) -> ReadResult:
        page = _Page(text)
        result = page.result()
        if page.swallowed:  # a navigation that never ends would hide the rest of the page
            page = _Page(text, skips=False)
            result = page.result()
        return result


class _Page:
    def __init__(self, text: str, *, skips: bool = True) -> None:
        self._text = text
        self._skips = skips
        self._warnings: list[str] = (
            [] if skips else ["html_unclosed: navigation or a hidden part never ends, so it is kept"]
        )
        self._last_end = text.rfind(">")
        self.swallowed = False
        self._line = 1
        self._seen = 0  # offset up to which lines are counted
        self._pieces: list[Piece] = []
        self._block = _Block()
        self._path: list[str] = []
        self._open: list[str] = []  # names of open elements that matter: skipped, table rows, pre, headings
        self._meta: dict[str, list[str]] = {}
        self._language = ""
        self._left_out: Counter[str] = Counter()
        self._title: list[str] = []

    def result(self) -> ReadResult:
        self._scan()
        self._flush()
        self.swallowed = self._is_skipped()
        title = clip(" ".join("".join(self._title).split())) or clip(self._path[0] if self._path else "")
        metadata = self._citation(title)
        if self._left_out:
            metadata["elements_left_out"] = dict(sorted(self._left_out.items()))
        return ReadResult(tuple(self._pieces), title, "html", metadata, tuple(self._warnings))

    # --- scanning -------------------------------------------------------------------------------------------------

    def _scan(self) -> None:
        text, at, end = self._text, 0, len(self._text)
        while at < end:
            start = text.find("<", at)
            if start < 0:
                self._say(at, end)
                return
            self._say(at, start)
            at = self._markup(start)

    def _markup(self, start: int) -> int:
        """Handle what begins with the ``<`` at ``start``; the offset after it."""
        text = self._text
        if text.startswith("<!--", start):
            return self._after("-->", start + 4)
        if text.startswith("<![CDATA[", start):
            stop = text.find("]]>", start)
            stop = len(text) if stop < 0 else stop
            self._say(start + 9, stop, raw=True)
            return min(len(text), stop + 3)
        if text.startswith(("<!", "<?"), start):
            return self._after(">", start + 2)
        tag = _TAG.match(text, start)
        if tag is None:
            following = text.find("<", start + 1)
            while following == start + 1:  # a row of them: none begins a tag but perhaps the last
                start, following = following, text.find("<", following + 1)
            following = len(text) if following < 0 else following
            self._say(start, following)
            return following
        if self._last_end < start:  # no tag ends from here on
            self._say(start, len(text))
            return len(text)
        # With unbalanced quotes, or in a tag longer than that, the next > ends it.
        closing = _TAG_END.match(text, tag.end(), tag.end() + _TAG_CHARS)
        end = closing.end() if closing else text.index(">", tag.end()) + 1
        name = tag["name"].lower().rpartition(":")[2]
        if tag["close"]:
            self._ended(name, start)
            return end
        attributes = self._attributes(tag.end(), min(end - 1, tag.end() + _TAG_CHARS))
        if name in _RAW:
            self._left_out[name] += 1
            self._break(name)
            return end if text[end - 2] == "/" else self._after_raw(name, end)
        self._started(name, attributes, start)
        return end

    def _after(self, mark: str, start: int) -> int:
        """The offset after ``mark``; without one the rest of the file belongs to it, as browsers have it."""
        at = self._text.find(mark, start)
        return self._unclosed(start, "comment or declaration") if at < 0 else at + len(mark)

    def _after_raw(self, name: str, start: int) -> int:
        found = re.compile(rf"</{name}(?![a-zA-Z0-9])[^>]*>?", re.IGNORECASE).search(self._text, start)
        return found.end() if found else self._unclosed(start, name)

    def _unclosed(self, start: int, what: str) -> int:
        if self._text[start:].strip():
            self._warnings.append(
                f"html_unclosed: line {self._line_at(start)}: {what}, the rest of the file belongs to it"
            )
        return len(self._text)

    def _attributes(self, start: int, end: int) -> dict[str, str]:
        found: dict[str, str] = {}
        while start < end and len(found) < 200:
            match = _ATTRIBUTE.match(self._text, start, end)
            if match is None:
                start += 1
                continue
            value = match["double"] or match["single"] or match["bare"] or ""
            found.setdefault(match["name"].lower(), html.unescape(value[:5_000]))
            start = match.end()
        return found

    # --- elements -------------------------------------------------------------------------------------------------

    def _started(self, name: str, attributes: dict[str, str], start: int) -> None:
        self._language = self._language or (
            attributes.get("lang") or attributes.get("xml:lang", "") if name == "html" else ""
        )
        if name == "meta":
            key = (attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or "").lower()
            if key and len(self._meta) < 500:
                self._meta.setdefault(key, []).append(attributes.get("content", ""))
        if name == "img" and attributes.get("alt"):
            self._put(self._line_at(start), attributes["alt"])
        hidden = (
            "hidden" in attributes
            or attributes.get("aria-hidden") == "true"
            or _HIDDEN.search(attributes.get("style", ""))
        )
        skipped = self._skips and (
            name in _SKIPPED
            or attributes.get("role") in {"navigation", "banner", "search"}
            or bool(hidden and name in _BLOCKS)
        )
        self._break(name)
        if name in _VOID or len(self._open) >= _MAX_DEPTH:
            return
        if skipped and not self._is_skipped():
            self._left_out[name if name in _SKIPPED else "hidden" if hidden else "navigation"] += 1
        if skipped or (self._open and self._open[-1].startswith("!")):
            # Inside a skipped element only its own name counts, so that its end is found.
            if (skipped and not self._is_skipped()) or (self._is_skipped() and name == self._open[-1][1:]):
                self._open.append("!" + name)
        elif name in _HEADINGS or name in {"pre", "title", "tr"}:
            self._open.append(name)

    def _ended(self, name: str, start: int) -> None:
        if self._is_skipped():
            if self._open[-1] == "!" + name:
                self._flush()
                self._open.pop()
            return
        if name in _HEADINGS and name in self._open:
            self._flush(heading=_HEADINGS[name])
        elif name not in _CELLS:
            self._break(name)
        if name in self._open:
            while self._open.pop() != name:
                pass

    def _is_skipped(self) -> bool:
        return bool(self._open) and self._open[-1].startswith("!")

    def _break(self, name: str) -> None:
        if name in _CELLS and "tr" in self._open:
            if self._block.lines:
                self._block.add(next(reversed(self._block.lines)), " | ")
        elif name == "br":
            if self._block.lines:
                self._block.add(next(reversed(self._block.lines)), " ")
        elif name in _BLOCKS:
            self._flush()
            self._block.kind = (
                "table" if name == "tr" else "code" if name == "pre" else "list" if name == "li" else "text"
            )

    # --- text -----------------------------------------------------------------------------------------------------

    def _line_at(self, offset: int) -> int:
        self._line += self._text.count("\n", self._seen, offset)
        self._seen = offset
        return self._line

    def _say(self, start: int, end: int, *, raw: bool = False) -> None:
        """Text from ``start`` to ``end``, on the lines where it stands."""
        if start >= end or self._is_skipped():
            return
        line = self._line_at(start)
        for part in self._text[start:end].split("\n"):
            self._put(line, part if raw else html.unescape(part))
            line += 1

    def _put(self, line: int, text: str) -> None:
        if self._is_skipped():
            return
        text = text.replace("\n", " ")
        if "title" in self._open:
            self._title.append(text + " ")
        if "pre" not in self._open:
            text = _SPACES.sub(" ", text)
        if text.strip() or (text and line in self._block.lines):
            self._block.add(line, text)

    def _flush(self, heading: int = 0) -> None:
        lines, kind = self._block.lines, self._block.kind
        self._block = _Block()
        if not lines:
            return
        first, last = next(iter(lines)), next(reversed(lines))
        keep = kind == "code"
        shown: list[str] = []
        for number in range(first, last + 1):
            text = "".join(lines.get(number, ()))
            shown.append(text.rstrip() if keep else " ".join(text.split()))
        while shown and not shown[-1].strip(" |"):
            shown.pop()
        if not any(line.strip(" |") for line in shown):
            return
        if heading:
            name = clip(" ".join(shown))
            self._path = [*self._path[: heading - 1], *[""] * (heading - 1 - len(self._path)), name]
            kind = STUB_KIND
        text = "\n".join(shown).rstrip(" |") if kind == "table" else "\n".join(shown)
        self._pieces.append(Piece(text, first, first + len(shown) - 1, join_heading(*self._path), kind))

    # --- metadata -------------------------------------------------------------------------------------------------

    def _citation(self, title: str) -> dict[str, JSON]:
        def first(*names: str) -> str:
            return next((value for name in names for value in self._meta.get(name, ()) if value), "")

        authors = next(
            (
                self._meta[name]
                for name in ("citation_author", "dc.creator", "author", "article:author")
                if name in self._meta
            ),
            [],
        )
        names = authors if len(authors) > 1 else split_names(authors[0]) if authors else []
        return citation(
            title=first("citation_title", "dc.title", "og:title") or title, authors=names,
            year=first("citation_publication_date", "citation_date", "citation_year", "dc.date", "article:published_time", "date"),
            doi=" ".join(value for key in ("citation_doi", "dc.identifier", "prism.doi") for value in self._meta.get(key, ())),
            arxiv_id=first("citation_arxiv_id"),
            language=self._language or first("citation_language", "dc.language", "og:locale"),
            venue=first("citation_journal_title", "citation_conference_title", "prism.publicationname", "og:site_name"),
        )  # fmt: skip
