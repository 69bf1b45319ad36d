"""What SQLite asks of the disk, in order, and what a power cut may leave of it.

:func:`record` puts a layer between SQLite and the system (a VFS, by ctypes) in its own process: each write, truncation,
deletion and sync is noted, with the acknowledgements in between. :class:`Disk` plays the notes back up to any of them.
What was synced is on the disk; of what came later, each write is there, is not, or only some of its 512-byte sectors are.
That is what SQLite counts on (https://www.sqlite.org/atomiccommit.html, "powersafe overwrite") and no more.
"""

from __future__ import annotations

import ctypes
import importlib
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arr_sql.core.connection import sqlite3

SECTOR = 512
KEPT_FILES = 0x100 | 0x800 | 0x80000  # SQLITE_OPEN_MAIN_DB, _MAIN_JOURNAL, _WAL: temporary files need not survive
CREATE = 0x4
Note = tuple[Any, ...]
"""``(kind, path, ...)``; of an acknowledgement ``("ack", "", value)``."""


class _Methods(ctypes.Structure):
    """sqlite3_io_methods."""

    _fields_ = [("version", ctypes.c_int), *[(name, ctypes.c_void_p) for name in (
        "close", "read", "write", "truncate", "sync", "size", "lock", "unlock", "check", "control", "sector", "traits",
        "shm_map", "shm_lock", "shm_barrier", "shm_unmap", "fetch", "unfetch")]]  # fmt: skip


class _File(ctypes.Structure):
    """sqlite3_file: what follows belongs to the system's own layer."""

    _fields_ = [("methods", ctypes.POINTER(_Methods))]


class _Vfs(ctypes.Structure):
    """sqlite3_vfs, as far as it is changed here."""

    _fields_ = [
        ("version", ctypes.c_int), ("file_size", ctypes.c_int), ("longest_path", ctypes.c_int), ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("open", ctypes.c_void_p), ("delete", ctypes.c_void_p),
        *[(f"other{number}", ctypes.c_void_p) for number in range(14)],
    ]  # fmt: skip


_INT, _PTR, _LONG = ctypes.c_int, ctypes.c_void_p, ctypes.c_int64
# Names as pointers: SQLite reads an URI's parameters behind the name's end.
OPEN = ctypes.CFUNCTYPE(_INT, _PTR, _PTR, ctypes.POINTER(_File), _INT, _PTR)
DELETE = ctypes.CFUNCTYPE(_INT, _PTR, _PTR, _INT)
WRITE = ctypes.CFUNCTYPE(_INT, _PTR, _PTR, _INT, _LONG)
TRUNCATE = ctypes.CFUNCTYPE(_INT, _PTR, _LONG)
SYNC = ctypes.CFUNCTYPE(_INT, _PTR, _INT)


def library() -> Any:
    """The SQLite library that the driver uses, or None where it hides its functions (Windows)."""
    for name in (f"{sqlite3.__name__}._sqlite3", "_sqlite3"):
        try:
            found = ctypes.CDLL(str(importlib.import_module(name).__file__))
            found.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
            return found
        except (ImportError, AttributeError, OSError):
            continue
    return None


@contextmanager
def record() -> Iterator[list[Note]]:
    """Note everything that connections opened in this block ask of the disk. One process, one thread that writes."""
    sqlite = library()
    original = sqlite.sqlite3_vfs_find(None)
    notes: list[Note] = []
    paths: dict[int, str] = {}
    kept: list[Any] = []  # what C holds pointers to
    layers: dict[int, Any] = {}
    plain_open, plain_delete = OPEN(original.contents.open), DELETE(original.contents.delete)

    def layer(methods: Any) -> Any:
        """The same methods with three of them noted."""
        address = ctypes.addressof(methods.contents)
        if address not in layers:
            mine = _Methods.from_buffer_copy(methods.contents)
            write, truncate, sync = WRITE(mine.write), TRUNCATE(mine.truncate), SYNC(mine.sync)

            def on_write(file: int, data: int, size: int, offset: int) -> int:
                notes.append(("write", paths[file], offset, ctypes.string_at(data, size)))
                return int(write(file, data, size, offset))

            def on_truncate(file: int, size: int) -> int:
                notes.append(("truncate", paths[file], size))
                return int(truncate(file, size))

            def on_sync(file: int, flags: int) -> int:
                notes.append(("sync", paths[file]))
                return int(sync(file, flags))

            calls = (WRITE(on_write), TRUNCATE(on_truncate), SYNC(on_sync))
            mine.write, mine.truncate, mine.sync = (ctypes.cast(call, _PTR).value for call in calls)
            kept.append(calls)
            layers[address] = mine
        return ctypes.pointer(layers[address])

    def on_open(_vfs: int, name: int | None, file: Any, flags: int, out: int) -> int:
        path = ctypes.string_at(name).decode() if name is not None else ""
        is_new = bool(path and flags & CREATE) and not Path(path).exists()
        code = int(plain_open(ctypes.addressof(original.contents), name, file, flags, out))
        if code == 0 and path and flags & KEPT_FILES:
            paths[ctypes.addressof(file.contents)] = path
            if is_new:
                notes.append(("create", path))
            file.contents.methods = layer(file.contents.methods)
        return code

    def on_delete(_vfs: int, name: int, is_synced: int) -> int:
        notes.append(("delete", ctypes.string_at(name).decode(), bool(is_synced)))
        return int(plain_delete(ctypes.addressof(original.contents), name, is_synced))

    mine = _Vfs.from_buffer_copy(original.contents)
    open_call, delete_call = OPEN(on_open), DELETE(on_delete)
    mine.name, mine.next = b"recorded", None
    mine.open, mine.delete = ctypes.cast(open_call, _PTR).value, ctypes.cast(delete_call, _PTR).value
    kept += [mine, open_call, delete_call]
    sqlite.sqlite3_vfs_register(ctypes.byref(mine), 1)
    try:
        yield notes
    finally:
        sqlite.sqlite3_vfs_register(original, 1)
        sqlite.sqlite3_vfs_unregister(ctypes.byref(mine))


@dataclass
class Disk:
    """Files as they are for certain, and what was asked of each since."""

    certain: dict[str, bytearray] = field(default_factory=dict)
    asked: dict[str, list[Note]] = field(default_factory=dict)

    def take(self, note: Note) -> None:
        """The next note."""
        kind, path = note[0], note[1]
        waiting = self.asked.setdefault(path, [])
        if kind == "sync":
            if any(item[0] == "create" for item in waiting):
                self._settle_names()  # the first sync of a new file syncs its folder too
            self.certain.update(_one(path, apply(self.certain.get(path), waiting)))
            waiting.clear()
        elif kind == "delete" and note[2]:
            waiting.append(note)
            self._settle_names()
        elif kind == "create":  # a file system keeps the order of its own names: the old file of that name is gone
            waiting.clear()
            self.certain.pop(path, None)
            waiting.append(note)
        elif kind != "ack":
            waiting.append(note)

    def _settle_names(self) -> None:
        """A folder was synced: what was deleted stays deleted."""
        for path, waiting in self.asked.items():
            last = max((number for number, item in enumerate(waiting) if item[0] == "delete"), default=None)
            if last is not None:
                del waiting[: last + 1]
                self.certain.pop(path, None)

    def after_a_cut(self, chance: random.Random) -> dict[str, bytes]:
        """One of the states in which the files may be found."""
        fate = chance.choice(["nothing", "everything", "some", "some", "torn", "torn"])
        found: dict[str, bytearray] = {}
        for path in self.certain.keys() | self.asked.keys():
            notes = list(survivors(self.asked.get(path, []), fate, chance))
            found.update(_one(path, apply(self.certain.get(path), notes)))
        return {path: bytes(state) for path, state in found.items()}


def _one(path: str, state: bytearray | None) -> dict[str, bytearray]:
    return {} if state is None else {path: state}


def survivors(notes: Sequence[Note], fate: str, chance: random.Random) -> Iterator[Note]:
    """What of these reached the disk."""
    for note in notes:
        if fate == "everything" or (fate != "nothing" and chance.random() < 0.5):
            if note[0] == "write" and fate == "torn":
                _, path, offset, data = note
                for start in range(0, len(data), SECTOR):
                    if chance.random() < 0.5:
                        yield ("write", path, offset + start, data[start : start + SECTOR])
            else:
                yield note


def apply(state: bytearray | None, notes: Sequence[Note]) -> bytearray | None:
    """A file after these."""
    data = bytearray(state) if state is not None else None
    for note in notes:
        if note[0] == "delete":
            data = None
            continue
        data = bytearray() if data is None else data
        if note[0] == "write":
            _, _, offset, new = note
            data.extend(bytes(max(0, offset - len(data))))
            data[offset : offset + len(new)] = new
        elif note[0] == "truncate":
            del data[note[2] :]
            data.extend(bytes(note[2] - len(data)))
    return data
