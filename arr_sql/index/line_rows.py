"""The rows of the line index: what one folder held when it was last looked at, packed and checked.

Promise: a row that is not, to the last bit, what was written is an error (:class:`RowDamaged`), never another answer.
A row that was made by other rules (:mod:`arr_sql.index.line_rules`) is read as absent.
Who writes is :mod:`arr_sql.ingest.line_indexer`, who reads :mod:`arr_sql.retrieval.line_index`.

Held by ``tests/index/test_line_rows.py``.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from arr_sql.core.connection import Connection
from arr_sql.core.decode import Undecodable, decode
from arr_sql.core.line_sieve import make_sieve
from arr_sql.core.redaction import has_secret, private_key_lines
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import FileStat, FolderStamp
from arr_sql.core.statements import load
from arr_sql.core.walk import LeftOutReason
from arr_sql.index.line_rules import made_by

# One letter for each name of a folder. Files, in the order of `stats`:
SIEVED, READ, BINARY, UNREADABLE = "t", "r", "b", "u"
"""A text with its sieve; a file that is read each time; known to be no text, in the words of :mod:`arr_sql.core.decode`."""
FILE_MARKS = frozenset((SIEVED, READ, BINARY, UNREADABLE))
FOLDER = "/"
LEFT_OUT: Mapping[str, tuple[bool, LeftOutReason]] = {
    "i": (False, "ignored"), "I": (True, "ignored"), "v": (False, "vendored_or_tool_folder"),
    "V": (True, "vendored_or_tool_folder"), "n": (False, "sensitive_name"), "N": (True, "sensitive_name"),
    "l": (False, "symlink"), "s": (False, "special_file"),
}  # fmt: skip
"""Names that are left out: is it a folder, and why."""
LEFT_OUT_MARKS = {value: mark for mark, value in LEFT_OUT.items()}

NO_STAT = (0, -1, -1, 0)
"""Of a file that had just changed when it was looked at: no file has these, so it is read."""
_STAMP = ("device", "inode", "mtime_ns", "ctime_ns")
_SUMMED = ("scope_id", "root_id", "path", "made_by", "rules", "names", "marks", *_STAMP)
_STAT = struct.Struct("<4q")
_MARKS = FILE_MARKS.union(LEFT_OUT, FOLDER)
_NO_NAMES = frozenset(("", ".", ".."))


class RowDamaged(ValueError):
    """A row of the line index is not what was written."""


@dataclass(frozen=True, slots=True)
class FolderRow:
    """One folder. ``stats`` are those of its files, ``lengths`` those of their sieves, which follow one another."""

    path: str
    stamp: FolderStamp | None
    rules: str
    names: Sequence[str]
    marks: str
    stats: Sequence[FileStat]
    lengths: Sequence[int]
    sieves: bytes

    def files(self) -> Iterator[tuple[str, str, FileStat, bytes]]:
        """Each file: its name, mark, stat and sieve."""
        place = 0
        marked = ((name, mark) for name, mark in zip(self.names, self.marks, strict=True) if mark in FILE_MARKS)
        for (name, mark), stat, length in zip(marked, self.stats, self.lengths, strict=True):
            yield name, mark, stat, self.sieves[place : place + length]
            place += length


def mark_and_sieve(data: bytes) -> tuple[str, bytes]:
    """What is kept of a file's content: its mark and its sieve. A file with a credential in it has none."""
    decoded = decode(data)
    if isinstance(decoded, Undecodable):
        return (BINARY if decoded.code == "binary" else UNREADABLE), b""
    if has_secret(decoded.text) or private_key_lines(decoded.text):
        return READ, b""
    sieve = make_sieve(decoded.text)
    return (READ, b"") if sieve is None else (SIEVED, sieve)


def pack(
    scope_id: int, root_id: int, path: str, stamp: FolderStamp | None, rules: str, marked: Sequence[tuple[str, str]],
    files: Sequence[tuple[FileStat, bytes]],
) -> dict[str, Any]:  # fmt: skip
    """The columns of a row. ``marked`` are the names with their marks, ``files`` those of them that are files."""
    row: dict[str, Any] = {
        "scope_id": scope_id, "root_id": root_id, "path": path, "made_by": made_by(), "rules": rules,
        **dict(zip(_STAMP, stamp or (None,) * 4, strict=True)),
        "names": "/".join(name for name, _ in marked), "marks": "".join(mark for _, mark in marked),
        "stats": b"".join(_STAT.pack(*stat) for stat, _ in files),
        "lengths": struct.pack(f"<{len(files)}I", *(len(sieve) for _, sieve in files)),
        "sieves": b"".join(sieve for _, sieve in files),
    }  # fmt: skip
    return {**row, "check_sum": _check_sum(row)}


def unpack(row: Any) -> FolderRow | None:
    """The row as it was packed; None for one that other rules made. Raises RowDamaged."""
    try:
        if row["check_sum"] != _check_sum(row):
            raise RowDamaged("the check sum does not match")
        if row["made_by"] != made_by():
            return None
        marks, names = row["marks"], row["names"].split("/") if row["marks"] else []
        stats = list(_STAT.iter_unpack(row["stats"]))
        lengths = struct.unpack(f"<{len(stats)}I", row["lengths"])
        if (
            len(names) != len(marks) or sum(lengths) != len(row["sieves"]) or not _MARKS.issuperset(marks)
            or sum(map(marks.count, FILE_MARKS)) != len(stats) or not _NO_NAMES.isdisjoint(names)
        ):  # fmt: skip
            raise RowDamaged("its parts do not fit together")
        stamp = None if row["device"] is None else FolderStamp(*(int(row[name]) for name in _STAMP))
        return FolderRow(row["path"], stamp, row["rules"], names, marks, stats, lengths, row["sieves"])
    except (AttributeError, TypeError, struct.error) as error:
        raise RowDamaged(f"a value is of another type: {error}") from None


def _check_sum(row: Any) -> int:
    value = crc32("\0".join([str(row[name]) for name in _SUMMED]).encode())
    for name in ("stats", "lengths", "sieves"):
        value = crc32(row[name], value)
    return value


# --- Statements -------------------------------------------------------------------------------------------------------


def folder_rows(connection: Connection, scope: ScopeKey, root_id: int) -> Iterator[Any]:
    """The rows of one root, as they are stored."""
    return iter(connection.execute(load("search_line_index"), {**scope.bindings(), "root_id": root_id}))


def line_index_state(connection: Connection, scope: ScopeKey) -> tuple[int, int] | None:
    """How many folders the scope's line index holds and the bytes of its sieves; None when the scope keeps none."""
    row = connection.execute(load("read_line_index"), scope.bindings()).fetchone()
    return None if row is None else (row["folders"], row["bytes"])


def line_index_sums(connection: Connection, scope: ScopeKey) -> tuple[int, int] | None:
    """Another value whenever a row of the scope's line index was written; None when the scope keeps none."""
    row = connection.execute(load("read_line_index_state"), scope.bindings()).fetchone()
    return None if row is None else (row["n_folders"], row["check_sums"])


def damaged_rows(connection: Connection) -> list[str]:
    """What is wrong with the rows of all scopes, for ``arr db check``."""
    found, counted, summed = [], Counter[int](), Counter[int]()
    for row in connection.execute(load("read_line_index_rows")):
        counted[row["scope_id"]] += 1
        summed[row["scope_id"]] += row["check_sum"]
        try:
            unpack(row)
        except RowDamaged as error:
            found.append(f"folder '{row['path']}': {error}; run `arr db line-index`")
    said = {row["scope_id"]: row for row in connection.execute(load("read_line_index_counts"))}
    for scope_id in sorted({*said, *counted}):
        row = said.get(scope_id)
        if row is None or (row["n_folders"], row["check_sums"]) != (counted[scope_id], summed[scope_id]):
            found.append(f"folders of scope {scope_id} are missing or were changed; run `arr db line-index`")
    return found


def drop_line_index(connection: Connection, scope_id: int, *, keep_wanted: bool = False) -> int:
    """Erase a scope's line index; how many folders it held. ``keep_wanted``: the next sync makes it anew.

    Call inside a write transaction.
    """
    removed = remove_folders(connection, scope_id, None, None)
    if not keep_wanted:
        connection.execute(load("remove_line_index"), {"scope_id": scope_id})
    return removed


def want_line_index(connection: Connection, scope_id: int) -> None:
    """From now on each sync keeps the scope's line index. Call inside a write transaction."""
    connection.execute(load("add_line_index"), {"scope_id": scope_id})


def remove_folders(connection: Connection, scope_id: int, root_id: int | None, paths: Sequence[str] | None) -> int:
    """Take folders out (all of them where ``paths`` is None); how many rows went. Call inside a write transaction."""
    values = {"scope_id": scope_id, "root_id": root_id, "paths": None if paths is None else json.dumps(paths)}
    removed = connection.execute(load("remove_line_index_folders"), values).rowcount
    _note_counts(connection, scope_id)
    return removed


def set_folders(connection: Connection, scope_id: int, packed: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows of folders. Call inside a write transaction."""
    connection.executemany(load("set_line_index_folder"), packed)
    _note_counts(connection, scope_id)


def _note_counts(connection: Connection, scope_id: int) -> None:
    connection.execute(load("set_line_index_counts"), {"scope_id": scope_id})
