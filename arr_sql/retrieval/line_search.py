"""Exact lines in trusted folders, on the files as they are now: beneath the grep channel and ``arr grep``.

Promise: every line of every searched file that holds a needle is returned, in the order root, path, line, or the
result says what was left out: files by reason, credential lines by number, and which limit cut the search. The
numbers are those of ``grep -n``. A line that bears a credential is counted and never returned.

A needle matches by plain text after folding (width, ligatures, composition and case do not count), or byte for byte
with ``exact=True``: that takes time in proportion to what is read, whoever wrote the needle. Patterns go through
:mod:`arr_sql.retrieval.line_pattern` (:func:`search_pattern`), on an engine that cannot backtrack.

A :class:`~arr_sql.retrieval.line_index.LineIndex` changes what is read and not what is found.

Held by ``tests/retrieval/test_line_search*.py`` and ``tests/retrieval/test_line_index.py``.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from arr_sql.core.decode import Undecodable, decode
from arr_sql.core.line_fold import fold
from arr_sql.core.line_sieve import needle_hashes
from arr_sql.core.redaction import has_secret, private_key_lines
from arr_sql.core.rooted import FileInfo, Refused, Root
from arr_sql.core.walk import LEFT_OUT_REASONS, FolderMemory, Found, LeftOut, LeftOutReason, walk
from arr_sql.retrieval.line_index import LineIndex, LineIndexSearch, Wanted
from arr_sql.retrieval.line_pattern import LinePattern
from arr_sql.retrieval.line_text import clip, original_index
from arr_sql.retrieval.line_values import (
    CLIP_WIDTH,
    MAX_BYTES,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_LISTED,
    MAX_RESULTS,
    MAX_WHOLE_LINE,
    NEIGHBOURHOOD,
    LineHit,
    LineMemory,
    LineSearch,
    Passed,
    SearchLimits,
    Target,
)  # fmt: skip

COUNTED_LIMITS = ("max_files", "max_bytes", "max_results")
GRACE_SECONDS = 1.0  # how long a pattern that is inside one long line may go on after the deadline


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
    indexes: Mapping[str, LineIndex] = MappingProxyType({}),
    memory: LineMemory | None = None,
) -> LineSearch:
    """Search every file below ``roots`` (or below the folder ``under`` of each) for any of ``needles``.

    Of a root that ``only`` names, that one file is searched and nothing beside it is looked at. ``indexes`` are the line
    indexes that there are, by the root's name. Hits that ``memory`` takes count as hits and are not among them.

    ``deadline`` is a ``time.monotonic()`` value, looked at before each file. Needles that are empty or hold a line
    break match nothing. Raises nothing for what it meets on disk.
    """
    wanted = wanted_forms(needles, exact=exact)
    targets = [
        Target(name, root, file=only[name])
        if name in only
        else Target(name, root, folder=under, index=indexes.get(name))
        for name, root in roots
    ]
    limits = SearchLimits(max_files, max_bytes, max_results, max_file_bytes)
    for by_folder in (True, False):
        search = _Search(wanted, exact, max_results, memory=memory)
        if memory is not None:
            memory.begin(by_folder=by_folder)
        if wanted:
            search.run(targets, limits, deadline, ignore=ignore)
        # Which line a limit cuts at is known only where files are counted one by one.
        if not (search.has_passed_over and search.result.cut in COUNTED_LIMITS):
            break
    return search.end()


def wanted_forms(needles: Iterable[str], *, exact: bool = False) -> dict[str, str]:
    """What lines are compared with, and the needle that it stands for."""
    wanted: dict[str, str] = {}
    for needle in needles:
        form = needle if exact else fold(needle)
        if form and "\n" not in form:
            wanted.setdefault(form, needle)
    return wanted


def search_targets(
    targets: Sequence[Target], needle: str | LinePattern, *, deadline: float, limits: SearchLimits, exact: bool = False,
    first_only: bool = False,
) -> LineSearch:  # fmt: skip
    """Search ``targets`` in order for one needle or pattern. ``first_only`` gives one line a file.

    A pattern that is still inside one very long line a second after the deadline is left behind in a thread of its own,
    and what was found until then is the answer.
    """
    if isinstance(needle, str):
        form = needle if exact else fold(needle)
        search = _Search({form: needle} if form and "\n" not in form else {}, exact, limits.max_results, first_only)
        if form and "\n" not in form:
            search.run(targets, limits, deadline)
        return search.end()
    search = _Search({}, True, limits.max_results, first_only, needle)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            search.run(targets, limits, deadline)
        except BaseException as error:  # noqa: BLE001  the thread that asked raises it
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True, name="arr-pattern")
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()) + GRACE_SECONDS)
    if not thread.is_alive():
        if failed:
            raise failed[0]
        return search.end()
    so_far = copy.copy(search.end())
    so_far.hits, so_far.left_out, so_far.cut = list(so_far.hits), list(so_far.left_out), "deadline"
    return so_far


class _Search:
    """One search: what is wanted and what was found so far."""

    def __init__(
        self, wanted: dict[str, str], exact: bool, max_results: int, first_only: bool = False,
        pattern: LinePattern | None = None, memory: LineMemory | None = None,
    ) -> None:  # fmt: skip
        self._wanted, self._exact, self._room = wanted, exact, max_results
        self._first_only, self._pattern, self._memory = first_only, pattern, memory
        self._deadline = float("inf")
        # One needle without a gram is enough: a file may hold that one.
        self._grams: Wanted = [needle_hashes(form, exact=exact) for form in wanted]
        if pattern is not None:
            self._grams = [sorted({one for text in pattern.literals for one in needle_hashes(text, exact=True)})]
        if not all(self._grams):
            self._grams = ()
        self.result = LineSearch()
        self.has_passed_over = False
        self.skipped: Counter[str] = Counter()

    def run(self, targets: Sequence[Target], limits: SearchLimits, deadline: float, *, ignore: bool = True) -> None:
        """Search the targets in turn until the end or a limit."""
        self._deadline = deadline
        for target in targets:
            known = None
            if target.index is not None and target.file is None:
                known = LineIndexSearch(
                    target.index, self._grams, lambda: len(self.result.left_out) >= MAX_LISTED, deadline
                )
            rows = _one_file(target.root, target.file, limits.max_file_bytes) if target.file is not None else walk(
                target.root, under=target.folder, ignore=ignore, max_files=limits.max_files - self.result.scanned_files,
                max_file_bytes=limits.max_file_bytes, deadline=deadline,
                memory=known or self._folders(target, limits),
            )  # fmt: skip
            self.root(target.name, target.root, rows, deadline, limits.max_bytes, limits.max_file_bytes, known)
            if self._memory is not None:
                self._count_passed(self._memory.passed_over(), limits)
            if known is not None and target.index is not None:
                self.result.indexed = True
                self.result.damaged += target.index.damaged
                self.result.scanned_files += known.passed + known.spared
                self.result.ruled_out += known.passed
                self.skipped += known.skipped
            if self.result.cut not in (None, "max_depth"):
                return

    def _folders(self, target: Target, limits: SearchLimits) -> FolderMemory | None:
        return None if self._memory is None else self._memory.folders(target.name, target.root, limits)

    def _count_passed(self, passed: Passed, limits: SearchLimits) -> None:
        """Add the files of one root that the walk did not name to what was searched."""
        result = self.result
        self.has_passed_over |= passed.n_files > 0
        self._room -= passed.n_hits
        result.scanned_files += passed.n_files
        result.scanned_bytes += passed.n_bytes
        result.withheld += passed.n_withheld
        if result.cut in (None, "max_depth"):
            if self._room < 0:
                result.cut = "max_results"
            elif result.scanned_files > limits.max_files:
                result.cut = "max_files"
            elif result.scanned_bytes > limits.max_bytes:
                result.cut = "max_bytes"

    def end(self) -> LineSearch:
        """The result."""
        self.result.skipped = dict(sorted(self.skipped.items()))
        return self.result

    def root(
        self, name: str, root: Root, rows: Iterable[Found | LeftOut], deadline: float, max_bytes: int, file_limit: int,
        index: LineIndexSearch | None = None,
    ) -> None:  # fmt: skip
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
            is_text, verdict = False, None
            if index is not None:
                verdict = index.judge(row)
                is_text = verdict == "text"  # and holds no credential: such a file has no sieve
                if verdict == "changed":
                    result.changed += 1
                elif verdict not in ("read", "text"):
                    result.scanned_files += 1
                    result.ruled_out += 1
                    if verdict != "ruled_out":
                        self._leave_out(name, row.rel, verdict)
                    continue
            if result.scanned_bytes + row.size > max_bytes:
                result.cut = "max_bytes"
                return
            if self._memory is not None and (taken := self._memory.take(name, row, self._room)) is not None:
                result.scanned_files += 1
                result.scanned_bytes += row.size
                result.withheld += taken[1]
                self._room -= taken[0]
                if taken[2]:
                    result.cut = "max_results"
                    return
                continue
            read = root.read_file(row.rel, file_limit)
            if isinstance(read, Refused):
                self._leave_out(name, row.rel, read.code)
                continue
            result.scanned_files += 1
            result.scanned_bytes += read.size
            is_same = (read.size, read.mtime_ns) == row[1:3]
            is_text = is_text and is_same
            decoded = decode(read.data, is_text=is_text)
            if isinstance(decoded, Undecodable):
                self._leave_out(name, row.rel, decoded.code)
                continue
            if index is not None and verdict == "read" and is_same:
                index.learn(row.rel, decoded.text)
            if self._memory is not None:
                self._memory.note(name, row, read, decoded.text)
            before = len(result.hits)
            cut = self._text(name, row.rel, decoded.text, is_clean=is_text)
            if len(result.hits) > before:
                result.files[name, row.rel] = read.size, read.mtime_ns
            if cut is not None:
                result.cut = cut
                return

    def _leave_out(self, name: str, rel: str, reason: str) -> None:
        self.skipped[reason] += 1
        if reason not in ("ignored", "vendored_or_tool_folder") and len(self.result.left_out) < MAX_LISTED:
            self.result.left_out.append((name, rel, reason))

    def _text(self, name: str, rel: str, text: str, *, is_clean: bool) -> str | None:
        """Add the hits of one file; the limit that was met, or None. ``is_clean``: no line of it bears a credential."""
        keys: frozenset[int] | None = frozenset() if is_clean else None
        for found in self._matches(text):
            if found is None:
                if time.monotonic() >= self._deadline:
                    return "deadline"
                continue
            line_no, line, index, held = found
            if keys is None:
                keys = private_key_lines(text)
            # Of a long line only a part is looked at, and the part may look like what the line is not.
            is_looked_at = not is_clean or len(line) > MAX_WHOLE_LINE
            if line_no in keys or (is_looked_at and has_secret(_near(line, index))):
                self.result.withheld += 1  # takes no room from the results
                continue
            if self._room <= 0:
                return "max_results"
            self._room -= 1
            shown, offset = clip(line, index, CLIP_WIDTH)
            self.result.hits.append(
                LineHit(name, rel, line_no, shown, len(line), len(shown) < len(line), held, index + 1, offset)
            )
            if self._first_only:
                return None
        return None

    def _matches(self, text: str) -> Iterator[tuple[int, str, int, tuple[str, ...]] | None]:
        """Number, text and first match of each line that matches, with the needles it holds; None: look at the clock."""
        if self._pattern is not None:
            for found in self._pattern.lines(text):
                yield None if found is None else (*found, (self._pattern.pattern,))
            return
        haystack = text if self._exact else fold(text)
        first_places = {form: place for form in self._wanted if (place := haystack.find(form)) >= 0}
        if not first_places:
            return
        same_offsets = haystack is text or text.isascii()
        lines = None if same_offsets else text.split("\n")
        for line_no, start, end, places in _matching_lines(haystack, first_places):
            line = (text[start:end] if lines is None else lines[line_no - 1]).removesuffix("\r")
            first = min(places.values())
            index = first if same_offsets else original_index(line, first)
            yield line_no, line, index, tuple(needle for form, needle in self._wanted.items() if form in places)


def _one_file(root: Root, rel: str, max_file_bytes: int) -> Iterator[Found | LeftOut]:
    """The row of one file; none where it is gone."""
    info = root.look(rel)
    if isinstance(info, FileInfo):
        big = info.size > max_file_bytes
        yield LeftOut(rel, "too_large") if big else Found(info.rel, info.size, info.mtime_ns)
    elif info.code in LEFT_OUT_REASONS:
        yield LeftOut(rel, cast(LeftOutReason, info.code))


def _near(line: str, index: int) -> str:
    if len(line) <= MAX_WHOLE_LINE:
        return line
    return line[max(0, index - NEIGHBOURHOOD) : index + NEIGHBOURHOOD]


def _matching_lines(haystack: str, upcoming: dict[str, int]) -> Iterator[tuple[int, int, int, dict[str, int]]]:
    """Each line that holds a form: its number, its start and end, and per form the first index in it.

    ``upcoming`` are the first places of the forms that occur; it is used up.
    """
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
