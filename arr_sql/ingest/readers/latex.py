"""LaTeX by its sections: the text as it stands (math, labels, citations and comments too), the structure in the heading.

What a comment or a verbatim block says is text and never structure. Headings are decoded (accents, Greek, the file's own
macros without arguments) and stand under the document's title. Figures, tables, displayed math and listings are not cut
at their blank lines. ``\\input`` and ``\\include`` are named in the metadata and never followed: the files they name are
read as the files they are, if the folder holds them. No TeX is run and no file is opened.

A parser such as pylatexenc or TexSoup needs to know every macro's arguments and loses text or raises where it does not;
this one only needs braces to balance within a heading.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from .base import JSON, STUB_KIND, Cut, ReadResult, TextReader, clip, cover, join_heading, split_lines
from .citation import citation, find_arxiv, split_names
from .tex_text import decode_tex

_LEVELS = {
    "part": 0,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
}
_SECTION = re.compile(
    r"\\(?P<name>part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?\s{0,9}(?:\[(?P<short>[^\[\]]{0,300})\]\s{0,9})?(?=\{)"
)
_DEFINED = re.compile(r"(?:command\*?\s?\{?|\\let\s?|def\s?)\Z")  # the macro is given a meaning, not used
_PART = re.compile(
    r"\\begin\s?\{(?P<begin>abstract|thebibliography|appendices|acknowledge?ments?|frame)\*?\}"
    r"|\\(?P<appendix>appendix)\b|\\bibitem\s?(?:\[[^\]]{0,300}\])?\s?\{(?P<item>[^{}]{1,200})\}"
)
_NAMES = {"abstract": "Abstract", "thebibliography": "References", "appendices": "Appendix"}
_KEPT = (
    "figure|table|equation|align|gather|multline|eqnarray|displaymath|algorithm|algorithmic|tikzpicture|longtable|tabular"
    "|subequations|lemma|theorem|definition|proposition|corollary|proof"
)
_VERBATIM = "verbatim|Verbatim|lstlisting|minted|comment|filecontents"
_ENVIRONMENT = re.compile(rf"\\(?P<what>begin|end)\s?\{{(?P<name>{_KEPT}|{_VERBATIM})\*?\}}")
_VERBATIM_START = re.compile(rf"\\begin\s?\{{(?P<name>(?:{_VERBATIM})\*?)\}}")
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_MACRO = re.compile(
    r"\\(?:(?:re|provide)?newcommand|DeclareRobustCommand)\*?\s?\{?\\(?P<name>[A-Za-z]{1,40})\}?\s?(?P<args>\[\d\])?(?:\[[^\]]{0,100}\])?\s?(?=\{)"
    r"|\\def\s?\\(?P<def>[A-Za-z]{1,40})\s?(?=\{)"
)
_DROPPED = re.compile(
    r"\\(?:label|cite[a-z]*|ref|eqref|index|footnote|footnotemark|thanks|protect|vspace|hspace|orcid|email|inst|affil)\*?\s?(?:\[[^\]]{0,200}\])?(?:\{[^{}]{0,500}\})?"
)
_PDF_STRING = re.compile(r"\\texorpdfstring\s?\{[^{}]{0,300}\}\s?(?=\{)")
_COMMAND = re.compile(r"\\([A-Za-z]{1,40})(?![A-Za-z])\s?(?:\{\})?")
_FILE = re.compile(
    r"\\(?:input|include|subfile|subfileinclude|includeonly|bibliography|addbibresource|lstinputlisting|import\*?\s?\{[^{}]{0,200}\})\s?(?:\[[^\]]{0,200}\])?\s?(?:\{(?P<braced>[^{}\n]{1,400})\}|(?<=input)\s+(?P<bare>[^\s{}\\]{1,200}))"
)
_LABEL = re.compile(r"\\label\s?\{([^{}\n]{1,200})\}")
_CITE = re.compile(r"\\[a-zA-Z]{0,10}[cC]ite[a-zA-Z]{0,12}\*?\s?(?:\[[^\]]{0,200}\]\s?){0,2}\{([^{}]{1,2000})\}")
_CLASS = re.compile(r"\\documentclass\s?(?:\[(?P<options>[^\]]{0,2000})\])?\s?\{(?P<name>[^{}]{1,100})\}")
_CHINESE = re.compile(
    r"ctex|cjk|thesis.*(?:sjtu|thu|ustc|zju|bit|hit)|(?:sjtu|thu|ustc|zju|bit|hit).*thesis", re.IGNORECASE
)
_FIELD = re.compile(
    r"\\(?P<name>title|ctitle|author|authors|cauthor|date|journal|doi)\*?\s?(?:\[[^\]]{0,300}\])?\s?(?=\{)"
)
_KEY_FIELD = re.compile(
    r"^[ \t]*(?:\w{1,10} */ *)?(?P<name>title|author|date)[ \t]{0,40}=[ \t]{0,40}(?=\{)", re.MULTILINE
)
_AND = re.compile(r"\\(?:and|And|AND)\b|\\\\|\s+and\s+|[，、]")
_COMMAS = re.compile(r"\s*(?:,\s*)+")
_MAX_LISTED = 500
_ARGUMENT_CHARS = 4_000


class LatexReader(TextReader):
    """``.tex`` and ``.ltx`` files."""

    name = "latex"
    suffixes = frozenset({".tex", ".ltx", ".latex"})

    def read(self, text: str, path: str) -> ReadResult:
        return _Document(text).result()


class _Document:
    def __init__(self, text: str) -> None:
        self._lines = split_lines(text)
        self._bare = mask(self._lines)
        self._starts = [0, *accumulate(len(line) + 1 for line in self._bare.split("\n"))]
        self._macros = self._read_macros()

    def result(self) -> ReadResult:
        fields = self._fields()
        title = self.plain(fields.get("title", ""))
        cuts = self._cuts(title)
        return ReadResult(cover(self._lines, cuts), clip(title), "latex", self._metadata(fields, title))

    def plain(self, text: str) -> str:
        """A heading as people write it: own macros expanded, labels and notes dropped, letters decoded."""
        for _ in range(4):
            expanded = _COMMAND.sub(lambda match: self._macros.get(match[1], match[0]), text)[:_ARGUMENT_CHARS]
            if expanded == text:
                break
            text = expanded
        return decode_tex(_DROPPED.sub("", _PDF_STRING.sub("", text)))

    # --- cuts -----------------------------------------------------------------------------------------------------

    def _cuts(self, title: str) -> list[Cut]:
        heads: dict[int, Cut | tuple[int, str, int]] = {}  # line -> a section's level, name and last line, or a cut
        for match in _SECTION.finditer(self._bare):
            name = argument(self._bare, match.end())
            if (
                name is not None
                and "#" not in name
                and not _DEFINED.search(self._bare, max(0, match.start() - 40), match.start())
            ):
                last = self._line(match.end() + len(name))
                heads[self._line(match.start())] = (_LEVELS[match["name"]], self.plain(name) or match["name"], last)
        for match in _PART.finditer(self._bare):
            line = self._line(match.start())
            if match["item"]:
                heads.setdefault(line, Cut(line, "", "entry", clip(match["item"], 120)))
            elif match["appendix"]:
                heads.setdefault(line, (0, "Appendix", line))
            else:
                heads.setdefault(line, (2, _NAMES.get(match["begin"], match["begin"].capitalize()), line))
        paragraphs = set(self._paragraphs())
        cuts: list[Cut] = []
        path: list[str] = []
        heading = join_heading(title)
        for line in sorted(paragraphs | set(heads)):
            head = heads.get(line)
            if isinstance(head, tuple):
                level, name, last = head
                path = [*path[:level], *[""] * (level - len(path)), name]
                heading = join_heading(title, *path)
                cuts.append(Cut(line, heading, STUB_KIND))
                # The text may begin on the next line without a blank one.
                if last + 1 not in heads and last < len(self._lines) and self._lines[last].strip():
                    cuts.append(Cut(last + 1, heading))
            elif head is not None:
                cuts.append(Cut(line, heading, head.kind, head.name))
            else:
                cuts.append(Cut(line, heading))
        return cuts

    def _paragraphs(self) -> Iterator[int]:
        """Numbers of lines that follow a blank one, outside figures, tables, displayed math and listings."""
        depth: list[str] = []
        ends = {1: -1}
        for match in _ENVIRONMENT.finditer(self._bare):
            if match["what"] == "begin":
                depth.append(match["name"])
                if len(depth) == 1:
                    first = self._line(match.start())
            elif match["name"] in depth:
                while depth.pop() != match["name"]:
                    pass
                if not depth:
                    ends[first] = self._line(match.start())
        closed = 0
        fresh = True
        for number, line in enumerate(self._lines, 1):
            if not line.strip():
                fresh = True
                continue
            if fresh and number > closed:
                yield number
            closed = max(closed, ends.get(number, 0))
            fresh = False

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    # --- metadata -------------------------------------------------------------------------------------------------

    def _read_macros(self) -> dict[str, str]:
        macros: dict[str, str] = {}
        for match in _MACRO.finditer(self._bare):
            body = argument(self._bare, match.end())
            name = match["name"] or match["def"]
            if body is not None and not match["args"] and len(body) <= 300 and f"\\{name}" not in body:
                macros[name] = body
            if len(macros) >= 2_000:
                break
        return macros

    def _fields(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for pattern in (_FIELD, _KEY_FIELD):
            for match in pattern.finditer(self._bare):
                value = argument(self._bare, match.end())
                if value is not None and value.strip():
                    found.setdefault(match["name"].removeprefix("c").removesuffix("s"), value)
        return found

    def _metadata(self, fields: dict[str, str], title: str) -> dict[str, JSON]:
        kind = _CLASS.search(self._bare)
        chinese = kind is not None and _CHINESE.search(f"{kind['name']} {kind['options'] or ''}") is not None
        written = [_COMMAS.sub(", ", self.plain(name)).strip(" ,") for name in _AND.split(fields.get("author", ""))]
        names = [name for part in written for name in split_names(part)]
        metadata = citation(
            title=title, authors=[name for name in names if name and "@" not in name], year=self.plain(fields.get("date", "")),
            doi=fields.get("doi", ""), arxiv_id=find_arxiv(self._bare[:3_000]), language="zh" if chinese else "",
            venue=self.plain(fields.get("journal", "")),
        )  # fmt: skip
        files = [
            name.strip()
            for match in _FILE.finditer(self._bare)
            for name in (match["braced"] or match["bare"]).split(",")
        ]
        keys = [key.strip() for match in _CITE.finditer(self._bare) for key in match[1].split(",")]
        for key, values in (("inputs", files), ("labels", _LABEL.findall(self._bare)), ("cites", keys)):
            unique = [clip(value, 200) for value in dict.fromkeys(values) if value]
            if unique:
                metadata[key] = [*unique[:_MAX_LISTED]]
        if kind:
            metadata["document_class"] = clip(kind["name"], 80)
        return metadata


def mask(lines: list[str]) -> str:
    """The text with comments and what stands verbatim replaced by spaces: same lines, same offsets."""
    masked: list[str] = []
    closing = ""
    for line in lines:
        if closing:
            at = line.find(closing)
            if at < 0:
                masked.append(" " * len(line))
                continue
            line, closing = " " * at + line[at:], ""
        if "%" in line:
            line = _COMMENT.sub(lambda match: match[1] + " " * (len(match[0]) - len(match[1])), line)
        opening = _VERBATIM_START.search(line) if "\\begin" in line else None
        if opening is not None:
            end = f"\\end{{{opening['name']}}}"
            at = line.find(end, opening.end())
            if at < 0:
                closing = end
                line = line[: opening.end()] + " " * (len(line) - opening.end())
            else:
                line = line[: opening.end()] + " " * (at - opening.end()) + line[at:]
        masked.append(line)
    return "\n".join(masked)


_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def argument(text: str, start: int) -> str | None:
    """What stands between the brace at ``start`` and the one that closes it, or None if that isn't near."""
    depth = 0
    for match in _BRACE.finditer(text, start, start + _ARGUMENT_CHARS):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth <= 0:
                return text[start + 1 : match.start()]
    return None
