"""What the line index knows of one root, asked against the disk as it is now: which files need not be read.

Promise: a search with it gives the lines that a search without it gives. A file is passed over only when its size, its
times and its inode are what they were when it was indexed, it had been at rest for two seconds then, and its sieve says
that no line of it matches. Every other file is read. A folder is not listed again only when its stamp and the ignore rules
in it are the same. A damaged row is as good as none, and is counted.

A program that sets the clock back, or writes to the disk past its file system, can deceive it; one that gives a changed
file its old size and time can not, except on Windows, where no system call tells when a file was last changed.

Held by ``tests/retrieval/test_line_index.py``.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from arr_sql.core.connection import Connection
from arr_sql.core.line_sieve import make_sieve, may_hold, which_may_hold
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import Entry, FileStat, FolderStamp, Root
from arr_sql.core.walk import Found, Step
from arr_sql.errors import ModelError
from arr_sql.index.embedders.numpy_threads import load_numpy
from arr_sql.index.line_rows import (
    BINARY,
    FILE_MARKS,
    FOLDER,
    LEFT_OUT,
    READ,
    SIEVED,
    UNREADABLE,
    FolderRow,
    RowDamaged,
    folder_rows,
    line_index_sums,
    unpack,
)
from arr_sql.retrieval.all_sieves import AllSieves

FROM_QUESTION = 2
"""Which question of an index is the first to be asked of it as a whole: a command asks once, and NumPy takes long to load."""

MOST_LEARNED = 16 << 20
"""Bytes of sieves that one index in memory learns beside those that are stored."""

Verdict = Literal["read", "text", "changed", "ruled_out", "binary", "unreadable"]
"""Read it (``text``: it is known to be text; ``changed``: the index does not know it as it is now), or what became of it when
it was indexed."""

VERDICTS: dict[str, Verdict] = {BINARY: "binary", UNREADABLE: "unreadable"}

Wanted = Sequence[Sequence[int]]
"""The hashes of each needle's grams. Empty where the sieves can't tell, because a needle has none."""

_KINDS: dict[str, Any] = {"symlink": "symlink", "special_file": "special"}
_STEPS: dict[str, tuple[Any, Any]] = {
    FOLDER: ("folder", None),
    **{mark: ("folder" if is_folder else _KINDS.get(why, "file"), why) for mark, (is_folder, why) in LEFT_OUT.items()},
}


_File = tuple[str, str, FileStat, int, int]
"""Name, mark, stat, and where its sieve begins and ends."""


class _Folder:
    """A row in the form in which searches ask it."""

    __slots__ = ("always", "below", "file_names", "files", "is_plain", "others", "row", "sieved", "steps", "told")

    def __init__(self, row: FolderRow) -> None:
        self.row = row
        self.files: list[_File] = []
        self.others: list[tuple[int, Step]] = []  # with the number of files that come before
        number = place = 0
        for name, mark in zip(row.names, row.marks, strict=True):
            if mark in FILE_MARKS:
                end = place + row.lengths[number]
                self.files.append((name, mark, row.stats[number], place, end))
                number, place = number + 1, end
            else:
                kind, reason = _STEPS[mark]
                self.others.append((number, (Entry(name, kind, 0, 0), reason)))
        self.file_names = [file[0] for file in self.files]
        self.steps = [step for _, step in self.others]
        marked = [(place, *file[1:2], *file[3:]) for place, file in enumerate(self.files)]
        self.sieved = [(place, start, end) for place, mark, start, end in marked if mark == SIEVED]
        self.always = [place for place, mark, *_ in marked if mark == READ]
        self.told = [(place, mark) for place, mark, *_ in marked if mark in (BINARY, UNREADABLE)]
        self.below = [entry.name for entry, reason in self.steps if entry.kind == "folder" and reason is None]
        self.is_plain = not self.always and not self.told and len(self.below) == len(self.steps)
        """Is nothing in it that a walk names whatever is searched for?"""


class LineIndex:
    """The line index of one root, as one statement gave it."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self.damaged = self.size = self._asked = 0
        self._sieves: AllSieves | None = None
        self.learned: dict[str, bytes | None] = {}
        """The sieves of files that have none in the index, because they hold a credential: in memory only, for a process that
        asks again, and of the files as the index knows them. By path; None for a file that gets none."""
        self._learned_size = 0
        self.folders: dict[str, _Folder] = {}
        for stored in rows:
            try:
                row = unpack(stored)
            except RowDamaged:
                self.damaged += 1
                continue
            if row is not None:
                self.folders[row.path] = _Folder(row)
                self.size += len(row.sieves)

    def __bool__(self) -> bool:
        """Is there anything in it, be it damage?"""
        return bool(self.folders or self.damaged)

    def holding(self, wanted: Wanted) -> Mapping[str, Sequence[int]] | None:
        """By folder the numbers of the files whose sieves may hold what is wanted; None where each folder is to be asked.

        An index that is asked again is asked as a whole, which is quicker and needs NumPy.
        """
        self._asked += 1
        if not wanted or self._asked < FROM_QUESTION:
            return None
        if self._sieves is None:
            try:
                load_numpy()
            except ModelError:
                return None
            self._sieves = AllSieves(
                (path, folder.row.sieves, folder.sieved) for path, folder in self.folders.items()
            )  # fmt: skip
        return self._sieves.holding(wanted)

    def learn(self, rel: str, text: str) -> None:
        """Keep the sieve of a file that has none in the index."""
        sieve = make_sieve(text) if self._learned_size < MOST_LEARNED else None
        self._learned_size += len(sieve or b"")
        self.learned[rel] = sieve


class LineIndexSearch:
    """A line index as the memory of one walk, for one search. ``passed`` counts the files that the walk does not name,
    because they are as they were and can't match; ``spared`` those of which only the memory of this process knows that."""

    def __init__(
        self, index: LineIndex, wanted: Wanted, is_told: Callable[[], bool] = lambda: False, deadline: float = math.inf
    ) -> None:
        """``is_told``: files that are no text need only be counted from now on. ``deadline`` as of ``walk``."""
        self._folders, self._wanted, self._is_told, self._deadline = index.folders, wanted, is_told, deadline
        self._index, self._holding, self._learned = index, index.holding(wanted), index.learned
        self._files: dict[str, dict[str, _File]] = {}
        self._looked: dict[str, Sequence[FileStat] | None] = {}
        self._left: dict[str, list[str]] = {}
        self.passed = self.spared = 0
        self.skipped: Counter[str] = Counter()

    def recall(self, root: Root, rel: str, rules: str) -> list[Step] | None:
        """See :class:`arr_sql.core.walk.FolderMemory`. Files that are passed over are not among the steps, nor are folders
        in which all are, and in the folders below too."""
        folder = self._folders.get(rel)
        if folder is None or folder.row.stamp is None or folder.row.rules != rules:
            return None
        stats = self._looked[rel] if rel in self._looked else _look(root, folder, folder.row.stamp)
        if stats is None:
            return None
        named = self._unchanged(folder) if stats is folder.row.stats else self._each(folder, stats)
        steps: list[Step] = []
        others = iter(self._others(root, rel, folder))
        before, other = next(others, (-1, None))
        for number in named:
            while other is not None and before <= number:
                steps.append(other)
                before, other = next(others, (-1, None))
            steps.append((Entry(folder.file_names[number], "file", *stats[number]), None))
        if other is not None:
            steps.append(other)
        steps.extend(step for _, step in others)
        return steps

    def _others(self, root: Root, rel: str, folder: _Folder) -> list[tuple[int, Step]]:
        """The steps that are no files, without folders below that are passed over."""
        if not folder.below:
            return folder.others
        left = self._left.get(rel)
        if left is None:
            left = self._left_below(root, rel, folder)
        if len(left) == len(folder.below):
            return folder.others
        passed = set(folder.below).difference(left)
        return [item for item in folder.others if item[1][0].name not in passed]

    def _left_below(self, root: Root, rel: str, folder: _Folder) -> list[str]:
        prefix = f"{rel}/" if rel else ""
        return [name for name in folder.below if not self._is_passed(root, prefix + name, folder.row.rules)]

    def _is_passed(self, root: Root, rel: str, rules: str) -> bool:
        """Would the walk name nothing of a folder and all below it? Then its files count as passed over.

        What was looked at for that is not looked at again. The rules are the same as above: a folder with ignore files of its
        own is not in the index.
        """
        folder = self._folders.get(rel)
        if (
            folder is None or not folder.is_plain or folder.row.stamp is None or folder.row.rules != rules
            or time.monotonic() >= self._deadline or self._named(folder)
        ):  # fmt: skip
            return False
        stats = self._looked[rel] = _look(root, folder, folder.row.stamp)
        if stats is not folder.row.stats:
            return False
        if folder.below and (left := self._left_below(root, rel, folder)):
            self._left[rel] = left
            return False
        self.passed += len(folder.sieved)
        return True

    def _named(self, folder: _Folder) -> Sequence[int]:
        """Of the files of a folder that have a sieve those that may hold what is wanted."""
        if not self._wanted:
            return [number for number, _, _ in folder.sieved]
        if self._holding is not None:
            return self._holding.get(folder.row.path, ())
        return which_may_hold(folder.row.sieves, folder.sieved, self._wanted)

    def _unchanged(self, folder: _Folder) -> list[int]:
        """Which files of a folder, all of which are as they were, the walk is to name."""
        named = [*self._named(folder)]
        self.passed += len(folder.sieved) - len(named)
        if folder.told and self._is_told():
            self.passed += len(folder.told)
            self.skipped.update(VERDICTS[mark] for _, mark in folder.told)
        else:
            named += [number for number, _ in folder.told]
        always = folder.always
        if always and self._wanted and self._learned:
            prefix = f"{folder.row.path}/" if folder.row.path else ""
            always = [number for number in always if self._may_hold(prefix + folder.file_names[number])]
            self.spared += len(folder.always) - len(always)
        return sorted([*named, *always])

    def _may_hold(self, rel: str) -> bool:
        sieve = self._learned.get(rel)
        return sieve is None or may_hold(sieve, 0, len(sieve), self._wanted)

    def learn(self, rel: str, text: str) -> None:
        """The text of a file that has no sieve and is as the index knows it (``read``)."""
        if self._holding is not None and rel not in self._learned:
            self._index.learn(rel, text)

    def _each(self, folder: _Folder, stats: Sequence[FileStat]) -> list[int]:
        """Which files of a folder the walk is to name, some of which have changed."""
        named = []
        for number, (stat, (_, mark, known, start, end)) in enumerate(zip(stats, folder.files, strict=True)):
            may = mark != SIEVED or not self._wanted or stat != known
            if may or may_hold(folder.row.sieves, start, end, self._wanted):
                named.append(number)
            else:
                self.passed += 1
        return named

    def note(self, rel: str, stamp: FolderStamp, rules: str, steps: Sequence[Step]) -> None:
        """Nothing: a search writes nothing."""

    def judge(self, found: Found) -> Verdict:
        """What to do with a file that the walk named."""
        path, _, name = found.rel.rpartition("/")
        folder = self._folders.get(path)
        if path not in self._files:
            self._files[path] = {file[0]: file for file in folder.files} if folder is not None else {}
        file = self._files[path].get(name)
        if folder is None or file is None or file[2] != found[1:]:
            return "changed"
        if file[1] == SIEVED:
            possible = not self._wanted or may_hold(folder.row.sieves, file[3], file[4], self._wanted)
            return "text" if possible else "ruled_out"
        return VERDICTS.get(file[1], "read")


def _look(root: Root, folder: _Folder, stamp: FolderStamp) -> Sequence[FileStat] | None:
    """What the files of a folder are now: the very list of the index where they are as it says, so that nothing is kept."""
    known = folder.row.stats
    found = root.look_again(folder.row.path, stamp, folder.file_names, known)
    return known if found == known else found


class LineIndexes:
    """The line indexes of one scope's roots for a process that asks again and again: read anew only when they were written.
    Safe to use from several threads. Of at most 64 MB of sieves; 15 MB of memory for 15,800 files with 6 MB.

    A row that was read is true of the files that it names as they were then, whatever became of the row since.
    """

    MAX_SIZE = 64 << 20

    def __init__(self) -> None:
        self._state: tuple[Any, ...] = ()
        self._kept: dict[int, LineIndex | None] = {}
        self._lock = threading.Lock()

    def of(self, reader: Connection, scope: ScopeKey, root_id: int) -> LineIndex | None:
        """The index of one root; None when there is none."""
        state = (scope, line_index_sums(reader, scope))
        with self._lock:
            if state != self._state:
                self._state, self._kept = state, {}
            kept = self._kept
        if root_id not in kept:
            found = read_line_index(reader, scope, root_id)
            if sum(index.size for index in (*kept.values(), found) if index is not None) > self.MAX_SIZE:
                return found
            kept[root_id] = found
        return kept[root_id]


def read_line_index(connection: Connection, scope: ScopeKey, root_id: int) -> LineIndex | None:
    """The line index of one root; None when there is none."""
    return LineIndex(folder_rows(connection, scope, root_id)) or None
