"""Copies of the whole file: a backup while others write, and back. Each is checked before it gets its name.

A copy is made beside its place under a name of its own, passes every check of `arr db check`, and then takes its name in
one step; what exists is never overwritten. Killed at any instant, there is a whole checked copy or none.
Held by tests/memory/test_backup.py.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from arr_sql.core.byte_scan import SIDE_FILES
from arr_sql.core.connection import open_reader, open_writer, read_transaction, sqlite3, store_errors, write_transaction
from arr_sql.core.migrations import migrate, schema_version
from arr_sql.errors import InputError, StoreDamaged, StoreFull
from arr_sql.index.text_index import index_is_foreign, rebuild_text_index
from arr_sql.memory.store_check import check_store

PAGES = 256
_WRITE_VERSION_AT, _ROLLBACK, _READ_COPY = 18, 1, 0x41  # in the header: 1 and 2 are known to SQLite
Progress = Callable[[int, int], None]


def copy_store(source: Path, target: Path, progress: Progress = lambda done, total: None) -> int:
    """Copy a database to a new file, as it is at one moment, and check the copy; its size in bytes.

    An older file's copy is brought to this program's schema. ``progress`` is called with pages. Raises InputError when
    ``target`` exists, StoreMissing, NotAnArrDatabase, StoreFull, StoreDamaged when the copy does not pass.
    """
    with new_store(target) as made:
        reader = open_reader(source)
        made.touch(mode=0o600)  # nobody else's to read while it is made
        try:
            with store_errors(source), contextlib.closing(sqlite3.connect(made)) as copy, read_transaction(reader):
                schema_version(reader, source)  # also the first read: from here on others' writes are not seen
                reader.backup(copy, pages=PAGES, progress=lambda _, left, total: progress(total - left, total))
        except StoreFull:  # said of the source, which is only read
            raise StoreFull(
                f"The disk on which '{target}' was to be made is full. Nothing was kept; free some space, or name another place."
            ) from None
        finally:
            reader.close()
        if is_read_copy(made):
            _mark(made, _ROLLBACK)
        made.chmod(source.stat().st_mode & 0o777 | 0o200)
        bring_up_to_date(made)
        require_whole(made, source)
    return target.stat().st_size


def bring_up_to_date(path: Path, *, create: bool = False) -> None:
    """Bring an older file, or with ``create`` a new one, to this program's schema and analyser."""
    writer = open_writer(path, create=create)
    try:
        migrate(writer, path)
        with write_transaction(writer, path):
            if index_is_foreign(writer):
                rebuild_text_index(writer)
    finally:
        writer.close()


def make_single_file(path: Path) -> None:
    """Leave WAL mode, so that a copy is one file, also while it is read, and on read-only media."""
    writer = open_writer(path)
    try:
        with store_errors(path):
            writer.execute("PRAGMA journal_mode=delete")
    finally:
        writer.close()


def require_whole(path: Path, origin: Path) -> None:
    """Raises StoreDamaged, naming what failed, unless the file passes every check."""
    failed = [finding for finding in check_store(path).findings if not finding.passed]
    if failed:
        problems = "; ".join(f"{item.check}: {item.problems[0]}" for item in failed)
        raise StoreDamaged(
            f"The copy of '{origin}' does not pass the checks ({problems}). Nothing was kept; run `arr db check`."
        )


def is_read_copy(path: Path) -> bool:
    """Was the file marked by :func:`mark_read_copy`?"""
    with path.open("rb") as handle:
        return handle.read(_WRITE_VERSION_AT + 1)[_WRITE_VERSION_AT:] == bytes([_READ_COPY])


def mark_read_copy(path: Path) -> None:
    """Make SQLite itself refuse to write to the file, whoever asks: for a copy that another one will replace.

    With a read version that it knows and a write version above those, SQLite opens a file for reading only
    (sqlite.org/fileformat2.html, 1.3.3). A copy made of the copy by :func:`copy_store` can be written again.
    """
    make_single_file(path)
    _mark(path, _READ_COPY)
    path.chmod(path.stat().st_mode & 0o444)  # readable for whom it was before


def _mark(path: Path, version: int) -> None:
    with path.open("rb+") as handle:
        handle.seek(_WRITE_VERSION_AT)
        handle.write(bytes([version]))
        handle.flush()
        os.fsync(handle.fileno())


@contextlib.contextmanager
def new_store(target: Path) -> Iterator[Path]:
    """A path beside ``target`` to make a database at; at the end of the block it becomes ``target``, or is removed.

    Raises InputError when ``target``, or a file that SQLite would take for part of it, exists.
    """
    for ending in SIDE_FILES:
        if target.with_name(target.name + ending).exists():
            raise InputError(
                f"'{target}{ending}' exists already. Nothing is overwritten: name another file (restore and import: --to), or "
                "move that one away."
            )
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f".{target.name}.{os.getpid()}.part")
    made.unlink(missing_ok=True)
    try:
        yield made
        make_single_file(made)
        with made.open("rb+") as handle:
            os.fsync(handle.fileno())
        _take_name(made, target)
    finally:
        for ending in (*SIDE_FILES, "-lock"):
            made.with_name(made.name + ending).unlink(missing_ok=True)


def _take_name(made: Path, target: Path) -> None:
    """In one step, and never over a file that somebody made meanwhile."""
    try:
        os.link(made, target)
    except FileExistsError:
        raise InputError(
            f"'{target}' was made by somebody else meanwhile. Nothing is overwritten; name another file."
        ) from None
    except OSError:  # a file system without hard links
        if target.exists():
            raise InputError(
                f"'{target}' exists already. Nothing is overwritten; name another file (restore and import: --to)."
            ) from None
        made.rename(target)
