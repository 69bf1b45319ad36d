"""Write the line index: look at every file that ``arr grep`` would search, and read those that are not known as they are.

Each folder's row stands for itself, so batches may be cut anywhere: a kill loses what was not yet acknowledged, and two
processes that index at once leave rows of either, each of them true of the moment it names. Nothing that a search would
not show is kept: a file with a line that bears a credential is marked as one to read each time, and has no sieve.

Held by ``tests/ingest/test_line_indexer.py``.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arr_sql.core.connection import Connection, write_transaction
from arr_sql.core.filesystem import RACY_NS, keeps_folder_times
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import FileRead, FileStat, FolderStamp, Root
from arr_sql.core.walk import Found, Step, walk
from arr_sql.errors import PathRefused
from arr_sql.index.line_rows import (
    FILE_MARKS,
    FOLDER,
    LEFT_OUT_MARKS,
    NO_STAT,
    READ,
    FolderRow,
    RowDamaged,
    folder_rows,
    mark_and_sieve,
    pack,
    remove_folders,
    set_folders,
    unpack,
)
from arr_sql.ingest.roots import RootRow, is_other_branch
from arr_sql.ingest.sync_rules import is_text

MAX_INDEXED_BYTES = 8 << 20
"""A larger file is read each time; ``arr grep`` leaves it out unless its limit is raised."""
BATCH_BYTES = 4 << 20
BATCH_SECONDS = 2.0

Progress = Callable[[str, int, int], None]
_Marked = tuple[str, FileStat, bytes]
"""What is kept of a file: mark, stat, sieve."""


@dataclass
class LineIndexSummary:
    """What an indexing did. ``read_each_time`` counts the files that a search reads whatever it looks for: with a
    credential in them, too large or too varied, or changed within the last two seconds."""

    files: int = 0
    indexed: int = 0
    kept: int = 0
    read_each_time: int = 0
    folders: int = 0
    folders_written: int = 0
    folders_removed: int = 0


class _Notes:
    """What the walk says of the folders that it lists."""

    def __init__(self) -> None:
        self.folders: dict[str, tuple[FolderStamp, str, list[Step]]] = {}

    def recall(self, root: Root, rel: str, rules: str) -> list[Step] | None:
        """Nothing: every folder is listed."""
        return None

    def note(self, rel: str, stamp: FolderStamp, rules: str, steps: Sequence[Step]) -> None:
        """Keep it."""
        self.folders[rel] = (stamp, rules, list(steps))


class LineIndexer:
    """Indexes the lines of one scope's roots over one writer connection."""

    def __init__(
        self, connection: Connection, database: Path, scope: ScopeKey, scope_id: int, *,
        progress: Progress = lambda phase, done, total: None, now_ns: Callable[[], int] = time.time_ns,
    ) -> None:  # fmt: skip
        self._connection, self._database, self._scope, self._scope_id = connection, database, scope, scope_id
        self._progress, self._now_ns = progress, now_ns
        self._batch: list[dict[str, Any]] = []
        self._batch_bytes, self._batch_begun = 0, time.monotonic()
        self._sums: dict[str, int] = {}
        self.summary = LineIndexSummary()

    def refresh(self, roots: Sequence[RootRow]) -> LineIndexSummary:
        """Bring the index of ``roots`` up to date. A root that is not there, or has another branch, keeps its rows:
        they say nothing of any other tree."""
        for root in roots:
            if root.only_file is not None or is_other_branch(root, self._scope):
                continue
            try:
                opened = Root(root.path)
            except PathRefused:
                continue
            with opened:
                self._refresh_root(root.id, opened)
        self._write()
        return self.summary

    def _refresh_root(self, root_id: int, root: Root) -> None:
        known, damaged = self._known(root_id)
        looked_at = self._now_ns()
        notes, files, done = _Notes(), defaultdict[str, list[Found]](list), 0
        for item in walk(root, memory=notes):
            if isinstance(item, Found):
                files[item.rel.rpartition("/")[0]].append(item)
        total = sum(map(len, files.values()))
        keeps_times = keeps_folder_times(root.path)
        paths = [path for path in {**notes.folders, **files} if is_text(path)]
        for path in paths:
            old = known.get(path)
            stamp, rules, steps = notes.folders.get(path, (None, "", []))
            if not keeps_times or stamp is None or not _is_listable(stamp, steps, looked_at):
                stamp, rules, steps = None, "", []
            before = {name: (mark, stat, sieve) for name, mark, stat, sieve in old.files()} if old is not None else {}
            marked: dict[str, _Marked] = {}
            for found in files.get(path, []):
                name = found.rel.rpartition("/")[2]
                if is_text(name):
                    marked[name] = self._file(root, found, before.get(name), looked_at)
                done += 1
                self._progress("Indexing lines", done, total)
            packed = pack(self._scope_id, root_id, path, stamp, rules, *_parts(stamp, steps, marked))
            if old is None or packed["check_sum"] != self._sums[path]:
                self._set(packed)
            self.summary.folders += 1
        gone = sorted(({*known} | damaged) - {*paths})
        if gone:
            with write_transaction(self._connection, self._database):
                self.summary.folders_removed += remove_folders(self._connection, self._scope_id, root_id, gone)

    def _known(self, root_id: int) -> tuple[dict[str, FolderRow], set[str]]:
        """The rows that can be trusted, and the paths of the others."""
        known: dict[str, FolderRow] = {}
        others: set[str] = set()
        self._sums = {}
        for stored in folder_rows(self._connection, self._scope, root_id):
            try:
                row = unpack(stored)
            except RowDamaged:
                row = None
            if row is None:
                others.add(stored["path"])
            else:
                known[row.path] = row
                self._sums[row.path] = stored["check_sum"]
        return known, others

    def _file(self, root: Root, found: Found, before: _Marked | None, looked_at: int) -> _Marked:
        stat: FileStat = found[1:]
        self.summary.files += 1
        if before is not None and before[1] == stat:
            self.summary.kept += 1
            self.summary.read_each_time += before[0] == READ
            return before
        mark, sieve = READ, b""
        if max(found.mtime_ns, found.ctime_ns) >= looked_at - RACY_NS or not _fits(stat):
            stat = NO_STAT  # it may change again within the same tick of the clock
        elif found.size <= MAX_INDEXED_BYTES:
            mark, sieve = _mark(root, found.rel)
        self.summary.indexed += mark != READ
        self.summary.read_each_time += mark == READ
        return mark, stat, sieve

    def _set(self, packed: dict[str, Any]) -> None:
        self._batch.append(packed)
        self._batch_bytes += len(packed["sieves"]) + len(packed["names"])
        self.summary.folders_written += 1
        if self._batch_bytes > BATCH_BYTES or time.monotonic() - self._batch_begun > BATCH_SECONDS:
            self._write()

    def _write(self) -> None:
        if self._batch:
            with write_transaction(self._connection, self._database):
                set_folders(self._connection, self._scope_id, self._batch)
        self._batch, self._batch_bytes, self._batch_begun = [], 0, time.monotonic()


def _mark(root: Root, rel: str) -> tuple[str, bytes]:
    """What is kept of a file's content: its mark and its sieve.

    It may change after it was looked at. Its time is then another one than the one that is kept, and the row says
    nothing of it.
    """
    read = root.read_file(rel, MAX_INDEXED_BYTES)
    if not isinstance(read, FileRead):
        return READ, b""
    return mark_and_sieve(read.data)


def _is_listable(stamp: FolderStamp, steps: Sequence[Step], looked_at: int) -> bool:
    """Can the folder's stamp vouch for its names, and can they be stored?"""
    return (
        _fits(stamp) and max(stamp.mtime_ns, stamp.ctime_ns) < looked_at - RACY_NS
        and all(is_text(entry.name) and _letter(entry.kind, reason) for entry, reason in steps)
    )  # fmt: skip


def _letter(kind: str, reason: Any) -> str:
    """The mark of a name that is no file to search; empty for what can't be remembered, such as a file that vanished."""
    if reason is None:
        return FOLDER if kind == "folder" else READ if kind == "file" else ""
    return LEFT_OUT_MARKS.get((kind == "folder", reason), "")


def _fits(numbers: Sequence[int]) -> bool:
    return all(-(1 << 63) <= number < 1 << 63 for number in numbers)


def _parts(
    stamp: FolderStamp | None, steps: Sequence[Step], marked: dict[str, _Marked]
) -> tuple[list[tuple[str, str]], list[tuple[FileStat, bytes]]]:
    """The names of a folder with their marks, all of them where it need not be listed again, else only those of its files;
    and what is kept of the files."""
    names: list[tuple[str, str]] = []
    for entry, reason in steps:
        mark = _letter(entry.kind, reason)
        names.append((entry.name, marked[entry.name][0] if mark in FILE_MARKS else mark))
    if stamp is None:
        names = [(name, mark) for name, (mark, _, _) in marked.items()]
    return names, [marked[name][1:] for name, mark in names if mark in FILE_MARKS]
