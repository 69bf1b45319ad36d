"""What the engine has taken from the file: it keeps each transaction as a file beside the database until it is merged.

The header of such a file (the LTX format, 100 bytes) says which transaction it is, when it was taken, and up to which byte of
which WAL it goes. Only headers are read here.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from arr_sql.replica.engine import StoredFile

_NAME = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})\.ltx")
_LTX = struct.Struct(">4s4xIIQQQ8xqqII")
"""Magic, page size, pages, first and last transaction, time in ms, WAL offset and size, and the WAL's two salts."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SAME_MOMENT = timedelta(seconds=60)
"""A store on the network tells when a file arrived, not when it was made."""


@dataclass(frozen=True)
class Taken:
    """What a header says: the last transaction, when it was taken, where in which WAL it ended; and the file's bytes."""

    last: int
    at: datetime
    wal_end: int
    salts: tuple[int, int]
    size: int


def taken_folder(path: Path) -> Path:
    """Where the engine keeps them, beside the file."""
    return path.with_name(f".{path.name}-litestream") / "ltx"


def forget_taken(path: Path) -> None:
    """Remove them. The engine makes a new snapshot when it runs again. Not while it runs."""
    if taken_folder(path).is_dir():
        shutil.rmtree(taken_folder(path))


def newest_taken(path: Path) -> Taken | None:
    """The newest one; None when none is kept."""
    folder = taken_folder(path) / "0"
    names = sorted(name.name for name in folder.glob("*.ltx") if _NAME.fullmatch(name.name)) if folder.is_dir() else []
    for name in reversed(names):
        try:
            with (folder / name).open("rb") as handle:
                header = handle.read(_LTX.size)
                size = handle.seek(0, 2)
        except OSError:  # the engine has just removed it
            continue
        if len(header) == _LTX.size and header[:4] == b"LTX1":
            _, _, _, _, last, milliseconds, offset, length, salt1, salt2 = _LTX.unpack(header)
            return Taken(last, _EPOCH + timedelta(milliseconds=milliseconds), offset + length, (salt1, salt2), size)
    return None


def is_newest_of(path: Path, stored: Sequence[StoredFile]) -> bool:
    """Is the newest transaction that was taken also the newest in the store, the same file?"""
    local = newest_taken(path)
    return local is not None and any(_is_copy(file, local) for file in stored) and stored[-1].last == local.last


def is_of(local: Taken, stored: Sequence[StoredFile]) -> bool:
    """As :func:`is_newest_of`, but content with the number where the store has merged the file into another one."""
    single = [file for file in stored if file.level == 0 and file.last == local.last]
    return stored[-1].last == local.last and (not single or any(_is_copy(file, local) for file in single))


def _is_copy(file: StoredFile, local: Taken) -> bool:
    return (
        file.level == 0
        and file.last == local.last
        and file.size == local.size
        and abs(file.at - local.at) < _SAME_MOMENT
    )
