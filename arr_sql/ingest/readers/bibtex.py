"""BibTeX: one piece per entry, its raw text untouched, its title and authors decoded in the heading.

Entries end where their braces balance, as BibTeX itself counts them. An entry that never closes ends where the next
line begins with ``@word{`` and is reported, so one slip does not swallow the library. ``@string`` abbreviations and the
month names are expanded in the heading; ``name`` is the cite key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .base import Cut, ReadResult, TextReader, clip, cover, split_lines
from .tex_text import decode_tex

_START = re.compile(r"^[ \t]*@[ \t]*(?P<type>[A-Za-z]+)[ \t]*(?P<open>[{(])", re.MULTILINE)
_ANY_START = re.compile(r"@[ \t]*(?P<type>[A-Za-z]+)[ \t]*(?P<open>[{(])")
_BRACKET = re.compile(r"[{}()\"]")
_FIELD = re.compile(r"\s*,?\s*(?P<name>[A-Za-z][\w:.+/-]*)\s*=\s*")
_WORD = re.compile(r"[^\s,#{}\"=()]+")
_KEY = re.compile(r"\s*(?P<key>[^\s,={}\"()]+)\s*(?:,|$)")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_FIELD_CHARS = 20_000
_SHOWN = ("title", "author", "editor", "journal", "booktitle", "publisher", "month", "year", "date", "keywords")


@dataclass(frozen=True)
class Entry:
    """One entry: where it stands (character offsets), its type, key and fields (raw values)."""

    start: int
    end: int
    type: str
    key: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    closed: bool = True


class BibtexReader(TextReader):
    """``.bib`` files."""

    name = "bibtex"
    suffixes = frozenset({".bib", ".bibtex"})

    def read(self, text: str, path: str) -> ReadResult:
        lines = split_lines(text)
        entries = parse_bibtex(text)
        cuts: list[Cut] = []
        warnings: list[str] = []
        line, seen = 1, 0
        for entry in entries:
            line += text.count("\n", seen, entry.start)
            seen = entry.start
            if not entry.closed:
                warnings.append(f"bibtex_unclosed: line {line}")
            last = line + text.count("\n", entry.start, max(entry.start, entry.end - 1))
            if entry.key:
                cuts.append(Cut(line, _heading(entry), "entry", entry.key))
            else:
                cuts.append(Cut(line, kind="text"))
            cuts.append(Cut(last + 1))
        return ReadResult(cover(lines, _later_wins(cuts)), language="bibtex", warnings=tuple(warnings))


def _later_wins(cuts: list[Cut]) -> list[Cut]:
    """An entry that begins on the line where another ends stays with that one; its key is added to the name."""
    by_line: dict[int, Cut] = {}
    for cut in cuts:
        above = by_line.get(cut.line)
        if above is not None and above.name and cut.name:
            cut = Cut(cut.line, f"{above.heading}; {cut.heading}", "entry", f"{above.name}, {cut.name}")
        if above is None or cut.name or not above.name:
            by_line[cut.line] = cut
    return list(by_line.values())


def _heading(entry: Entry) -> str:
    parts = [decode_tex(entry.fields[name]) for name in _SHOWN if entry.fields.get(name)]
    return clip(" — ".join(part for part in parts if part), 480)


def parse_bibtex(text: str) -> list[Entry]:
    """All entries in order. Linear: text between entries is looked at once, each entry twice."""
    strings = {name[:3].lower(): name for name in _MONTHS}
    entries: list[Entry] = []
    place = 0
    while (match := _ANY_START.search(text, place)) is not None:
        end, closed = _closing(text, match)
        kind = match["type"].lower()
        body = text[match.end() : end - 1 if closed else end]
        if kind in {"comment", "preamble"}:
            entries.append(Entry(match.start(), end, kind, closed=closed))
        elif kind == "string":
            strings.update(_fields(body, 0, strings))
            entries.append(Entry(match.start(), end, kind, closed=closed))
        else:
            key = _KEY.match(body)
            fields = _fields(body, key.end() if key else 0, strings)
            entries.append(Entry(match.start(), end, kind, key["key"] if key else "", fields, closed))
        place = max(end, match.end())
    return entries


def _closing(text: str, start: re.Match[str]) -> tuple[int, bool]:
    """The offset after the entry's closing bracket, or where the next entry begins if there is none."""
    following = _START.search(text, start.end())
    limit = following.start() if following else len(text)
    depth = 0
    while True:
        for bracket in _BRACKET.finditer(text, start.end(), limit):
            sign = bracket.group()
            if sign == "{":
                depth += 1
            elif sign == "}" and (depth > 0 or start["open"] == "{"):
                if depth == 0:
                    return bracket.end(), True
                depth -= 1
            elif sign == ")" and depth == 0 and start["open"] == "(":
                return bracket.end(), True
        return limit, False


def _fields(body: str, place: int, strings: dict[str, str]) -> dict[str, str]:
    """Field values with their parts joined and abbreviations expanded. The first value of a field counts."""
    fields: dict[str, str] = {}
    while (match := _FIELD.match(body, place)) is not None:
        value, place = _value(body, match.end(), strings)
        fields.setdefault(match["name"].lower(), value)
    return fields


def _value(body: str, place: int, strings: dict[str, str]) -> tuple[str, int]:
    parts: list[str] = []
    while place < len(body):
        if body[place].isspace() or body[place] == "#":
            place += 1
        elif body[place] in '{"':
            end = _quoted_end(body, place)
            parts.append(body[place + 1 : end - 1])
            place = end
        elif (word := _WORD.match(body, place)) is not None:
            parts.append(strings.get(word.group().lower(), word.group()))
            place = word.end()
        else:
            break
    return "".join(parts)[:_FIELD_CHARS], place


def _quoted_end(body: str, start: int) -> int:
    """After the ``}`` or ``"`` that closes what opens at ``start``; a quote inside braces closes nothing."""
    depth = 0
    for bracket in _BRACKET.finditer(body, start + 1):
        sign = bracket.group()
        if sign == "{":
            depth += 1
        elif sign == "}":
            if depth == 0 and body[start] == "{":
                return bracket.end()
            depth = max(0, depth - 1)
        elif sign == '"' and depth == 0 and body[start] == '"':
            return bracket.end()
    return len(body)
