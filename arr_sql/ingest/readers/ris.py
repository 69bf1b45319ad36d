"""RIS, as reference managers and publishers export it: one piece per entry, its fields in the heading.

An entry goes from ``TY  -`` to ``ER  -``. One that isn't closed ends where the next begins; lines before any entry and
lines that are no field of one are kept with the text, and each slip is a warning with its line. No maintained library
gives the lines that a locator needs (rispy reads fields only), and the format is one line a field.
"""

from __future__ import annotations

import re
from collections import defaultdict

from .base import JSON, Cut, ReadResult, TextReader, clip, cover, split_lines
from .citation import citation, find_arxiv, find_doi

_FIELD = re.compile(r"\s{0,3}(?P<tag>[A-Z][A-Z0-9])\s{1,3}-(?:\s(?P<value>.*))?$")
_START = re.compile(r"\ufeff?\s{0,3}TY\s{1,3}-")
_SHOWN = ("title", "authors", "venue", "year", "doi", "arxiv_id")
_TITLES, _AUTHORS, _VENUES = (
    ("TI", "T1", "CT"),
    ("AU", "A1", "A2", "A3", "ED"),
    ("JO", "JF", "T2", "BT", "JA", "J2", "J1", "PB"),
)
_MAX_LISTED = 2_000


class RisReader(TextReader):
    """``.ris`` files."""

    name = "ris"
    suffixes = frozenset({".ris"})

    def read(self, text: str, path: str) -> ReadResult:
        lines = split_lines(text)
        cuts: list[Cut] = []
        warnings: list[str] = []
        listed: list[JSON] = []
        start = -1  # index of the open entry's first line
        odd: list[int] = []
        for index, line in enumerate(lines):
            match = _FIELD.match(line[:2000].lstrip("\ufeff"))
            tag = match["tag"] if match else ""
            if tag == "TY":
                if start >= 0:
                    warnings.append(f"ris_unclosed: line {start + 1}")
                    cuts.append(self._entry(lines, start, index, listed, warnings))
                start = index
            elif tag == "ER" and start >= 0:
                cuts += [self._entry(lines, start, index, listed, warnings), Cut(index + 2)]
                start = -1
            elif tag and start < 0:
                odd.append(index + 1)
        if start >= 0:
            warnings.append(f"ris_unclosed: line {start + 1}")
            cuts.append(self._entry(lines, start, len(lines), listed, warnings))
        if odd:
            warnings.append(f"ris_outside: line {odd[0]}: {len(odd)} fields belong to no entry")
        metadata: dict[str, JSON] = {"entries": len(listed)}
        if len(listed) == 1 and isinstance(listed[0], dict):
            metadata |= {key: value for key, value in listed[0].items() if key != "key"}
        elif listed:
            metadata["references"] = listed[:_MAX_LISTED]
        return ReadResult(cover(lines, cuts), "", "ris", metadata, tuple(warnings))

    def _entry(self, lines: list[str], start: int, end: int, listed: list[JSON], warnings: list[str]) -> Cut:
        fields: dict[str, list[str]] = defaultdict(list)
        tag = ""
        for line in lines[start:end]:
            match = _FIELD.match(line[:20_000])
            if match:
                tag = match["tag"]
                fields[tag].append((match["value"] or "").strip())
            elif tag and line.strip():
                fields[tag][-1] = f"{fields[tag][-1]} {line.strip()}"[:20_000]  # a value that goes on
        known = _cited(fields)
        if "title" not in known:
            warnings.append(f"ris_broken: line {start + 1}: no title")
        key = next((value for name in ("ID", "LB") for value in fields.get(name, ()) if value), "")
        listed.append({"key": clip(key, 80), **known} if key else dict(known))
        parts = [
            ", ".join(map(str, value)) if isinstance(value := known.get(name, ""), list) else str(value)
            for name in _SHOWN
        ]
        keywords = ", ".join(fields.get("KW", ())[:20])
        return Cut(
            start + 1, clip(" — ".join(part for part in [*parts, keywords] if part), 480), "entry", clip(key, 80)
        )


def _cited(fields: dict[str, list[str]]) -> dict[str, JSON]:
    def first(*tags: str) -> str:
        return next((value for tag in tags for value in fields.get(tag, ()) if value), "")

    links = " ".join(
        value for tag in ("UR", "L1", "L2", "M3", "N1", "AN", "JO", "T2") for value in fields.get(tag, ())[:5]
    )
    return citation(
        title=first(*_TITLES), authors=next((fields[tag] for tag in _AUTHORS if fields.get(tag)), []), year=first("PY", "Y1", "DA"),
        doi=first("DO") or find_doi(links), arxiv_id=find_arxiv(links) or find_arxiv(first("DO")), language=first("LA"),
        venue=first(*_VENUES),
    )  # fmt: skip
