"""BibTeX: one piece per entry, its raw text untouched, its title and authors decoded in the heading.

Entries end where their braces balance, as BibTeX itself counts them. An entry that never closes ends where the next
line begins with ``@word{``, so one slip does not swallow the library. What is wrong with an entry is a warning with its
line and key; its sound fields are used all the same. ``@string`` abbreviations and the month names are expanded in the
heading, and an entry inherits what it lacks from its ``crossref``; ``name`` is the cite key.

Written here because bibtexparser 1 is LGPL and version 2 has been in beta for years, and neither gives the lines that a
locator needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .base import JSON, Cut, ReadResult, TextReader, clip, cover, split_lines
from .citation import arxiv_id_of, citation, find_arxiv, find_doi
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
_SHOWN = ("title", "author", "editor", "journal", "booktitle", "publisher", "month", "year", "date", "keywords", "doi")
# No newline in the white space: from each of twenty thousand empty lines it would be run through again (8 s).
_NEXT_FIELD = re.compile(r"[,}\"\n][^\S\n]*(?=[A-Za-z][\w:.+/-]*\s*=\s*[\"{\w])")
_NOTHING_LEFT = re.compile(r"[ \t\r\n,]*\Z")
_LETTERS = re.compile(r"[^\W\d_]{2,40}")
_MAX_LISTED = 2_000
# BibTeX's and BibLaTeX's types, and those that exporters write.
_TYPES_NAMES = (
    "article book booklet conference inbook incollection inproceedings manual mastersthesis misc phdthesis"
    " proceedings techreport unpublished mvbook bookinbook suppbook collection mvcollection suppcollection dataset"
    " online patent periodical suppperiodical mvproceedings reference mvreference inreference report set software"
    " thesis xdata artwork audio bibnote commentary image jurisdiction legislation legal letter movie music"
    " performance review standard video electronic www newspaper archive preprint"
)
_TYPES = frozenset(_TYPES_NAMES.split())


@dataclass(frozen=True)
class Entry:
    """One entry: where it stands (character offsets), its type, key and fields (raw values)."""

    start: int
    end: int
    type: str
    key: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    closed: bool = True
    problems: tuple[str, ...] = ()

    @property
    def is_reference(self) -> bool:
        return self.type not in {"comment", "preamble", "string"}


class BibtexReader(TextReader):
    """``.bib`` files."""

    name = "bibtex"
    version = "2"
    suffixes = frozenset({".bib", ".bibtex"})

    def read(self, text: str, path: str) -> ReadResult:
        lines = split_lines(text)
        entries = parse_bibtex(text)
        by_key: dict[str, Entry] = {}
        for entry in entries:
            if entry.key:
                by_key.setdefault(entry.key.lower(), entry)
        cuts: list[Cut] = []
        warnings: list[str] = []
        listed: list[JSON] = []
        line, seen = 1, 0
        for entry in entries:
            line += text.count("\n", seen, entry.start)
            seen = entry.start
            last = line + text.count("\n", entry.start, max(entry.start, entry.end - 1))
            if not entry.is_reference:
                if not entry.closed:
                    warnings.append(f"bibtex_unclosed: line {line}")
                cuts += [Cut(line, kind="text"), Cut(last + 1)]
                continue
            fields, missing = _inherited(entry, by_key)
            where = f"line {line}" + (f": {clip(entry.key, 80)}" if entry.key else "")
            if not entry.closed:
                warnings.append(f"bibtex_unclosed: {where}")
            if entry.type not in _TYPES:
                warnings.append(f"bibtex_type: {where}: unknown type {clip(entry.type, 40)}")
            warnings += [f"bibtex_broken: {where}: {problem}" for problem in entry.problems]
            if missing:
                warnings.append(f"bibtex_crossref: {where}: no entry {clip(missing, 80)}")
            if entry.key and by_key[entry.key.lower()] is not entry:
                warnings.append(f"bibtex_duplicate: {where}")
            cuts += [Cut(line, _heading(fields), "entry", entry.key), Cut(last + 1)]
            listed.append({"key": entry.key, **cited(fields)})
        metadata: dict[str, JSON] = {"entries": len(listed)}
        if len(listed) == 1 and isinstance(listed[0], dict):
            metadata |= {key: value for key, value in listed[0].items() if key != "key"}
        elif listed:
            metadata["references"] = listed[:_MAX_LISTED]
        return ReadResult(cover(lines, _later_wins(cuts)), "", "bibtex", metadata, tuple(warnings))


def cited(fields: Mapping[str, str]) -> dict[str, JSON]:
    """The fixed keys of ``citation`` out of an entry's fields."""
    plain = {key: decode_tex(fields[key][:2000]) for key in fields if key in _CITED}
    eprint = plain.get("eprint", "")
    is_arxiv = plain.get("archiveprefix", plain.get("eprinttype", "arxiv")).lower() == "arxiv"
    near = " ".join(plain.get(key, "") for key in ("url", "note", "journal", "journaltitle", "howpublished"))
    names = _AND.split(fields.get("author") or fields.get("editor") or "")
    return citation(
        title=plain.get("title", ""), authors=[decode_tex(name[:500]) for name in names],
        year=plain.get("year") or plain.get("date", ""), doi=plain.get("doi") or find_doi(plain.get("url", "")),
        arxiv_id=eprint if is_arxiv and arxiv_id_of(eprint) else find_arxiv(near),
        language=plain.get("langid") or plain.get("language", ""),
        venue=next((plain[key] for key in _VENUES if plain.get(key)), ""),
    )  # fmt: skip


_VENUES = ("journal", "journaltitle", "booktitle", "school", "institution", "publisher")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_CITED_NAMES = (
    "title year date doi eprint archiveprefix eprinttype url note journal journaltitle howpublished booktitle"
    " school institution publisher langid language"
)
_CITED = frozenset(_CITED_NAMES.split())


def _inherited(entry: Entry, by_key: Mapping[str, Entry]) -> tuple[Mapping[str, str], str]:
    """Fields with those of the ``crossref`` (one step, as BibTeX does), and the key that leads nowhere."""
    key = entry.fields.get("crossref", "").strip()
    parent = by_key.get(key.lower()) if key else None
    if parent is None or parent is entry:
        return entry.fields, key if parent is None else ""
    fields = dict(parent.fields)
    if "title" in fields:
        fields.setdefault("booktitle", fields.pop("title"))
    return {**fields, **entry.fields}, ""


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


def _heading(fields: Mapping[str, str]) -> str:
    """The fields people know an entry by, decoded; then what an abstract or note says only in TeX's letters."""
    parts = [decode_tex(fields[name]) for name in _SHOWN if fields.get(name)]
    hidden: dict[str, None] = {}
    for name, value in fields.items():
        if name not in _SHOWN and ("\\" in value or "{" in value):
            raw = set(_LETTERS.findall(value))
            hidden.update(dict.fromkeys(word for word in _LETTERS.findall(decode_tex(value)) if word not in raw))
    parts.append(" ".join(list(hidden)[:40]))
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
            strings.update(_fields(body, 0, strings)[0])
            entries.append(Entry(match.start(), end, kind, closed=closed))
        else:
            key = _KEY.match(body)
            fields, problems = _fields(body, key.end() if key else 0, strings)
            if key is None:
                problems.insert(0, "no cite key")
            elif not fields and not problems:
                problems.append("no fields")
            name = key["key"] if key else ""
            entries.append(Entry(match.start(), end, kind, name, fields, closed, tuple(problems[:5])))
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


def _fields(body: str, place: int, strings: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Field values with their parts joined and abbreviations expanded, and what is wrong. The first value counts."""
    fields: dict[str, str] = {}
    problems: list[str] = []
    is_recovered = False
    while True:
        match = _FIELD.match(body, place)
        if match is None:
            if _NOTHING_LEFT.match(body, place):
                return fields, problems
            problems.append(
                "a part without a field name" + (f" after {name}" if (name := next(reversed(fields), "")) else "")
            )
            onward = _NEXT_FIELD.search(body, place)
            if onward is None:
                return fields, problems
            place = onward.end()
            is_recovered = True
            continue
        name = match["name"].lower()
        if fields and not is_recovered and "," not in match[0].partition(match["name"])[0]:
            problems.append(f"no comma before {clip(name, 60)}")
        is_recovered = False
        value, place = _value(body, match.end(), strings)
        if not value and body[match.end() : match.end() + 1] not in ("{", '"'):
            problems.append(f"no value for {clip(name, 60)}")
        fields.setdefault(name, value)


def _value(body: str, place: int, strings: dict[str, str]) -> tuple[str, int]:
    """The parts of a value, which are joined by ``#``; without one, what follows is no part of it."""
    parts: list[str] = []
    n_joins = 0
    while place < len(body):
        if body[place].isspace():
            place += 1
        elif body[place] == "#":
            place, n_joins = place + 1, n_joins + 1
        elif n_joins < len(parts):
            break
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
