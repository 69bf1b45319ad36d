"""Exact lines in trusted folders, on the files as they are now: beneath the grep channel and ``arr grep``.

Promise: every line of every searched file that holds a needle is returned, in the order root, path, line, or the
result says what was left out: files by reason, credential lines by number, and which limit cut the search. The
numbers are those of ``grep -n``. A line that bears a credential is counted and never returned.

A needle matches by plain text after folding (width, ligatures, composition and case do not count), or byte for byte
with ``exact=True``. No patterns: a literal search takes time in proportion to what it reads, whoever wrote the needle.

Held by ``tests/retrieval/test_line_search*.py``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast

from arr_sql.core.decode import Undecodable, decode
from arr_sql.core.redaction import has_secret, private_key_lines
from arr_sql.core.rooted import FileInfo, Refused, Root
from arr_sql.core.walk import LEFT_OUT_REASONS, Found, LeftOut, LeftOutReason, walk
from arr_sql.retrieval.line_text import clip, fold, original_index

CLIP_WIDTH = 300
MAX_FILES = 20_000
MAX_BYTES = 256 << 20
MAX_FILE_BYTES = 8 << 20
MAX_RESULTS = 200
MAX_LISTED = 200  # rows of `left_out`; `skipped` counts all of them

# A credential further than this from the hit cannot be in the part of a long line that is shown.
_NEIGHBOURHOOD = 8_192


@dataclass(frozen=True, slots=True)
class LineHit:
    """One line. ``line_no`` and ``column`` count from 1; ``text`` starts at index ``offset`` of the whole line, whose
    length is ``true_length`` characters. ``needles`` are those that the line holds, in the order they were given."""

    root_name: str
    rel: str
    line_no: int
    text: str
    true_length: int
    clipped: bool
    needles: tuple[str, ...]
    column: int
    offset: int = 0


@dataclass(slots=True)
class LineSearch:
    """What was found and what was not looked at. ``cut`` is None, ``max_files``, ``max_bytes``, ``max_results``,
    ``max_depth`` or ``deadline``. ``left_out`` names the first files of ``skipped`` as (root, path, reason), without
    those that ignore rules and tool folders leave out."""

    hits: list[LineHit] = field(default_factory=list)
    scanned_files: int = 0
    scanned_bytes: int = 0
    withheld: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    cut: str | None = None
    left_out: list[tuple[str, str, str]] = field(default_factory=list)


def search_lines(
    roots: Sequence[tuple[str, Root]],
    needles: Sequence[str],
    *,
    max_files: int = MAX_FILES,
    max_bytes: int = MAX_BYTES,
    max_results: int = MAX_RESULTS,
    deadline: float,
    max_file_bytes: int = MAX_FILE_BYTES,
    exact: bool = False,
    ignore: bool = True,
    under: str = "",
    only: Mapping[str, str] = MappingProxyType({}),
) -> LineSearch:
    """Search every file below ``roots`` (or below the folder ``under`` of each) for any of ``needles``.

    Of a root that ``only`` names, that one file is searched and nothing beside it is looked at.

    ``deadline`` is a ``time.monotonic()`` value, looked at before each file. Needles that are empty or hold a line
    break match nothing. Raises nothing for what it meets on disk.
    """
    wanted: dict[str, str] = {}
    for needle in needles:
        form = needle if exact else fold(needle)
        if form and "\n" not in form:
            wanted.setdefault(form, needle)
    search = _Search(wanted, exact, max_results)
    if wanted:
        for name, root in roots:
            rows = _one_file(root, only[name], max_file_bytes) if name in only else walk(
                root, under=under, ignore=ignore, max_files=max_files - search.result.scanned_files,
                max_file_bytes=max_file_bytes, deadline=deadline,
            )  # fmt: skip
            search.root(name, root, rows, deadline, max_bytes, max_file_bytes)
            if search.result.cut not in (None, "max_depth"):
                break
    search.result.skipped = dict(sorted(search.skipped.items()))
    return search.result


class _Search:
    """One search: what is wanted and what was found so far."""

    def __init__(self, wanted: dict[str, str], exact: bool, max_results: int) -> None:
        self._wanted, self._exact, self._max_results = wanted, exact, max_results
        self.result = LineSearch()
        self.skipped: Counter[str] = Counter()

    def root(
        self, name: str, root: Root, rows: Iterable[Found | LeftOut], deadline: float, max_bytes: int, file_limit: int
    ) -> None:
        """Search one root until it ends or a limit is met."""
        result = self.result
        for row in rows:
            if isinstance(row, LeftOut):
                if row.reason == "limit_reached" and not row.rel.endswith("/"):
                    result.cut = "deadline" if time.monotonic() >= deadline else "max_files"
                    return
                if row.reason == "limit_reached":
                    result.cut = "max_depth"
                self._leave_out(name, row.rel, row.reason)
                continue
            if result.scanned_bytes + row.size > max_bytes:
                result.cut = "max_bytes"
                return
            read = root.read_file(row.rel, file_limit)
            if isinstance(read, Refused):
                self._leave_out(name, row.rel, read.code)
                continue
            result.scanned_files += 1
            result.scanned_bytes += read.size
            decoded = decode(read.data)
            if isinstance(decoded, Undecodable):
                self._leave_out(name, row.rel, decoded.code)
            elif not self._text(name, row.rel, decoded.text):
                result.cut = "max_results"
                return

    def _leave_out(self, name: str, rel: str, reason: str) -> None:
        self.skipped[reason] += 1
        if reason not in ("ignored", "vendored_or_tool_folder") and len(self.result.left_out) < MAX_LISTED:
            self.result.left_out.append((name, rel, reason))

    def _text(self, name: str, rel: str, text: str) -> bool:
        """Add the hits of one file. False when there are more than the results may hold."""
        haystack = text if self._exact else fold(text)
        forms = [form for form in self._wanted if form in haystack]
        if not forms:
            return True
        keys = private_key_lines(text)
        same_offsets = haystack is text or text.isascii()
        lines = None if same_offsets else text.split("\n")
        for line_no, start, end, places in _matching_lines(haystack, forms):
            line = (text[start:end] if lines is None else lines[line_no - 1]).removesuffix("\r")
            first = min(places.values())
            index = first if same_offsets else original_index(line, first)
            if line_no in keys or has_secret(_near(line, index)):
                self.result.withheld += 1  # takes no room from the results
                continue
            if len(self.result.hits) >= self._max_results:
                return False
            shown, offset = clip(line, index, CLIP_WIDTH)
            held = tuple(needle for form, needle in self._wanted.items() if form in places)
            self.result.hits.append(
                LineHit(name, rel, line_no, shown, len(line), len(shown) < len(line), held, index + 1, offset)
            )
        return True


def _one_file(root: Root, rel: str, max_file_bytes: int) -> Iterator[Found | LeftOut]:
    """The row of one file; none where it is gone."""
    info = root.look(rel)
    if isinstance(info, FileInfo):
        big = info.size > max_file_bytes
        yield LeftOut(rel, "too_large") if big else Found(info.rel, info.size, info.mtime_ns)
    elif info.code in LEFT_OUT_REASONS:
        yield LeftOut(rel, cast(LeftOutReason, info.code))


def _near(line: str, index: int) -> str:
    if len(line) <= 2 * _NEIGHBOURHOOD:
        return line
    return line[max(0, index - _NEIGHBOURHOOD) : index + _NEIGHBOURHOOD]


def _matching_lines(haystack: str, forms: Sequence[str]) -> Iterator[tuple[int, int, int, dict[str, int]]]:
    """Each line that holds a form: its number, its start and end, and per form the first index in it."""
    upcoming = {form: haystack.find(form) for form in forms}
    line_no, counted = 1, 0
    while upcoming:
        place = min(upcoming.values())
        line_no += haystack.count("\n", counted, place)
        start = haystack.rfind("\n", 0, place) + 1
        end = haystack.find("\n", place)
        end = len(haystack) if end < 0 else end
        places: dict[str, int] = {}
        for form in list(upcoming):
            if upcoming[form] < end:
                places[form] = upcoming[form] - start
                following = haystack.find(form, end)
                if following < 0:
                    del upcoming[form]
                else:
                    upcoming[form] = following
        counted = place
        yield line_no, start, end, places
