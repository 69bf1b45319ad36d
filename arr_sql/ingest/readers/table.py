"""Tables: CSV, TSV and JSON lines by rows, never cutting a row, with the column names as heading of every part.

The column names are context, so they go into the heading and not into the text of later parts.
"""

from __future__ import annotations

import csv
import json
import re

from .base import Cut, ReadResult, TextReader, clip, cover, split_lines

_GROUP_CHARS = 1000
_MAX_ROW_LINES = 200
_HEADER_CHARS = 300


class TableReader(TextReader):
    """Rows in groups of about a thousand characters."""

    name = "table"
    suffixes = frozenset({".csv", ".tsv", ".tab", ".psv", ".jsonl", ".ndjson"})

    def read(self, text: str, path: str) -> ReadResult:
        lines = split_lines(text)
        suffix = "." + path.lower().rpartition(".")[2]
        if suffix in {".jsonl", ".ndjson"}:
            columns, rows = _json_columns(lines), list(range(len(lines)))
        else:
            columns, rows = _columns(lines, suffix), _row_starts(lines)
        heading = clip(" | ".join(columns), _HEADER_CHARS)
        cuts: list[Cut] = []
        size = _GROUP_CHARS
        for start, end in zip(rows, [*rows[1:], len(lines)], strict=False):  # no row: nothing to pair
            length = sum(map(len, lines[start:end]))
            if size + length > _GROUP_CHARS:
                cuts.append(Cut(start + 1, heading, "rows"))
                size = 0
            size += length
        return ReadResult(
            cover(lines, cuts, Cut(1, heading, "rows")),
            language=suffix[1:],
            metadata={"columns": [clip(column) for column in columns[:200]]},
        )


def _row_starts(lines: list[str]) -> list[int]:
    """Indexes where rows begin. A quoted field may hold line breaks; a stray quote may not swallow the file."""
    starts: list[int] = []
    index = 0
    while index < len(lines):
        starts.append(index)
        end, quotes = index, 0
        while end < len(lines) and end - index < _MAX_ROW_LINES:
            quotes += lines[end].count('"')
            end += 1
            if quotes % 2 == 0:
                break
        index = end if quotes % 2 == 0 else index + 1
    return starts


def _columns(lines: list[str], suffix: str) -> list[str]:
    """The cells of the first row, if they look like names."""
    first = next((line for line in lines if line.strip()), "")[:20_000]
    delimiter = "\t" if suffix in {".tsv", ".tab"} else "|" if suffix == ".psv" else max(",;\t|", key=first.count)
    try:
        cells = next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error:
        cells = first.split(delimiter)
    cells = [cell.strip() for cell in cells]
    numbers = sum(re.fullmatch(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?%?", cell) is not None for cell in cells)
    return cells if cells and numbers * 2 < len(cells) and any(cells) else []


def _json_columns(lines: list[str]) -> list[str]:
    """The keys of the first object."""
    first = next((line for line in lines if line.strip()), "")
    if len(first) > 200_000:
        return []
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return []
    return list(row) if isinstance(row, dict) else []
