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

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from arr_sql.core.connection import Connection
from arr_sql.core.line_sieve import may_hold
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import Entry, FileStat, FolderStamp, Root
from arr_sql.core.walk import Found, Step
from arr_sql.index.line_rows import (
    BINARY,
    FILE_MARKS,
    FOLDER,
    LEFT_OUT,
    SIEVED,
    UNREADABLE,
    FolderRow,
    RowDamaged,
    folder_rows,
    unpack,
)

Verdict = Literal["read", "changed", "ruled_out", "binary", "unreadable"]
"""Read it (``changed``: the index does not know it as it is now), or what became of it when it was indexed."""

Wanted = Sequence[Sequence[int]]
"""The hashes of each needle's grams. Empty where the sieves can't tell, because a needle has none."""

_KINDS: dict[str, Any] = {"symlink": "symlink", "special_file": "special"}
_STEPS: dict[str, tuple[Any, Any]] = {
    FOLDER: ("folder", None),
    **{mark: ("folder" if is_folder else _KINDS.get(why, "file"), why) for mark, (is_folder, why) in LEFT_OUT.items()},
}


class LineIndex:
    """The line index of one root, as one statement gave it."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self.damaged = 0
        self.folders: dict[str, FolderRow] = {}
        for stored in rows:
            try:
                row = unpack(stored)
            except RowDamaged:
                self.damaged += 1
                continue
            if row is not None:
                self.folders[row.path] = row

    def __bool__(self) -> bool:
        """Is there anything in it, be it damage?"""
        return bool(self.folders or self.damaged)


class LineIndexSearch:
    """A line index as the memory of one walk, for one search. ``passed`` counts the files that the walk does not name,
    because they are as they were and can't match."""

    def __init__(self, index: LineIndex, wanted: Wanted) -> None:
        self._folders, self._wanted = index.folders, wanted
        self._files: dict[str, dict[str, tuple[str, FileStat, bytes]]] = {}
        self.passed = 0

    def recall(self, root: Root, rel: str, rules: str) -> list[Step] | None:
        """See :class:`arr_sql.core.walk.FolderMemory`. Files that are passed over are not among the steps."""
        row = self._folders.get(rel)
        if row is None or row.stamp is None or row.rules != rules:
            return None
        named = list(zip(row.names, row.marks, strict=True))
        stats = root.look_again(rel, row.stamp, [name for name, mark in named if mark in FILE_MARKS])
        if stats is None:
            return None
        wanted, sieves, steps = self._wanted, row.sieves, []
        number = place = passed = 0
        for name, mark in named:
            if mark not in FILE_MARKS:
                kind, reason = _STEPS[mark]
                steps.append((Entry(name, kind, 0, 0), reason))
                continue
            stat, end = stats[number], place + row.lengths[number]
            if mark == SIEVED and wanted and stat == row.stats[number] and not may_hold(sieves, place, end, wanted):
                passed += 1
            else:
                steps.append((Entry(name, "file", *stat), None))
            number, place = number + 1, end
        self.passed += passed
        return steps

    def note(self, rel: str, stamp: FolderStamp, rules: str, steps: Sequence[Step]) -> None:
        """Nothing: a search writes nothing."""

    def judge(self, found: Found) -> Verdict:
        """What to do with a file that the walk named."""
        folder, _, name = found.rel.rpartition("/")
        if folder not in self._files:
            row = self._folders.get(folder)
            self._files[folder] = {file[0]: file[1:] for file in row.files()} if row is not None else {}
        mark, stat, sieve = self._files[folder].get(name, ("", None, b""))
        if stat != found[1:]:
            return "changed"
        if mark == SIEVED:
            possible = not self._wanted or may_hold(sieve, 0, len(sieve), self._wanted)
            return "read" if possible else "ruled_out"
        return "binary" if mark == BINARY else "unreadable" if mark == UNREADABLE else "read"


def read_line_index(connection: Connection, scope: ScopeKey, root_id: int) -> LineIndex | None:
    """The line index of one root; None when there is none."""
    return LineIndex(folder_rows(connection, scope, root_id)) or None
