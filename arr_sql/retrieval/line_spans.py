"""Where the chunks of files stood when the files were read, and whether a line is still one of a chunk's."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load

_BEGUN_BEFORE = 8
"""How many of the spans that begin before a line are looked at: spans overlap little."""

Place = tuple[str, str]
"""A file: the name of its root, and its path there."""


@dataclass(slots=True)
class Spans:
    """Where the chunks of one file stood when it was read, and what the file system said of it then."""

    size: int
    mtime_ns: int
    starts: list[int]
    ends: list[int]
    chunks: list[int]

    def holder(self, line_no: int) -> int | None:
        """The chunk that held a line: the last that begins at or before it and reaches it."""
        end = bisect_right(self.starts, line_no)
        for number in range(end - 1, max(0, end - _BEGUN_BEFORE) - 1, -1):
            if self.ends[number] >= line_no:
                return self.chunks[number]
        return None


def read_spans(reader: Connection, scope: ScopeKey, places: Iterable[Place]) -> dict[Place, Spans]:
    """The spans of those files that were ingested."""
    wanted = [(int(root_name), rel) for root_name, rel in places]
    found: dict[int, Spans] = {}
    values = {**scope.bindings(), "files": json.dumps(wanted)}
    for file, chunk, start, end, size, mtime_ns in reader.execute(load("search_chunk_spans"), values):
        spans = found.get(file)
        if spans is None:
            spans = found[file] = Spans(size, mtime_ns, [], [], [])
        spans.starts.append(start)
        spans.ends.append(end)
        spans.chunks.append(chunk)
    return {(str(wanted[file][0]), wanted[file][1]): spans for file, spans in found.items()}


def read_texts(reader: Connection, scope: ScopeKey, chunks: Iterable[int]) -> dict[int, str]:
    """What the live chunks with these row ids say."""
    values = {**scope.bindings(), "chunks": json.dumps(sorted(chunks))}
    return {row["chunk"]: row["content"] for row in reader.execute(load("search_chunk_texts"), values)}


def holds(content: str, line: str, is_clipped: bool) -> bool:
    """Is the line as it is now part of the chunk as it was ingested? Of a clipped one that is not asked.

    Not where the reader wrote it otherwise (a notebook, a table), or the chunk ends within the line.
    """
    return is_clipped or line.strip() in content
