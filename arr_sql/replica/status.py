"""How far behind is the copy? The store's list of files is compared with the file and its WAL, which are only read.

What the engine took last says up to which byte of which WAL it goes (:mod:`arr_sql.replica.taken`). Frames behind that byte
are not copied yet. Where the WAL has been begun anew, or is gone because nobody has the file open, the time of the last event
of the audit log decides: every write has one. A clock that was set back since makes times worthless, and a store whose newest
file is not the one that was taken has another machine's states: then the copy counts as behind.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from arr_sql.core.clock import from_text, to_text, utc_now
from arr_sql.core.migrations import current_reader
from arr_sql.errors import InputError
from arr_sql.memory.audit_log import last_event
from arr_sql.replica.copying import is_copying
from arr_sql.replica.engine import StoredFile, list_store
from arr_sql.replica.register import is_clock_set_back, targets_of
from arr_sql.replica.taken import Taken, is_of, newest_taken
from arr_sql.replica.target import Target

_WAL_HEADER, _FRAME_HEADER = 32, 24


@dataclass(frozen=True)
class ReplicaStatus:
    """``lag_seconds`` is 0 when everything is in the store, else the age of the newest that is; None for an empty store.

    ``transaction`` and ``copied_at`` are of the newest file in the store, ``restorable_from`` of the oldest state that it
    can give back.
    """

    target: str
    endpoint: str
    is_running: bool
    transaction: int | None
    copied_at: str | None
    restorable_from: str | None
    stored_bytes: int
    is_complete: bool
    lag_seconds: float | None


def replica_status(path: Path, target: Target, now: datetime | None = None) -> ReplicaStatus:
    """The copy of ``path`` in ``target``.

    Raises ReplicaError when the store can't be asked, InputError when it holds another file's copy, StoreError for the file.
    """
    files = list_store(path.resolve(), target)
    if files and target not in targets_of(path):
        raise InputError(f"{target.text} holds the copy of another file.")
    now = now or utc_now()
    running = is_copying(path)
    if not files:
        return ReplicaStatus(target.text, target.endpoint, running, None, None, None, 0, False, None)
    newest = files[-1]
    local = newest_taken(path)
    moment = local.at if local is not None and local.last == newest.last else newest.at
    is_complete = (local is None or is_of(local, files)) and _is_all_taken(path, local, moment)
    return ReplicaStatus(
        target.text, target.endpoint, running, newest.last, to_text(moment), to_text(oldest_state(files)),
        sum(file.size for file in files), is_complete,
        0.0 if is_complete else max(0.0, round((now - moment).total_seconds(), 3)),
    )  # fmt: skip


def oldest_state(files: list[StoredFile]) -> datetime:
    """The time of the oldest file that begins with the first transaction: a whole file, from which others lead on."""
    return min(file.at for file in files if file.first == min(file.first for file in files))


def _is_all_taken(path: Path, local: Taken | None, moment: datetime) -> bool:
    """Is nothing in the file that the engine has not taken?"""
    if local is not None:
        try:
            with path.with_name(path.name + "-wal").open("rb") as wal:
                salts = struct.unpack(">II", wal.read(_WAL_HEADER)[16:24].ljust(8, b"\0"))
                if salts == local.salts:
                    wal.seek(local.wal_end)
                    frame = wal.read(_FRAME_HEADER)
                    return len(frame) < _FRAME_HEADER or struct.unpack(">II", frame[8:16]) != local.salts
        except FileNotFoundError:
            pass
    with current_reader(path) as reader:
        row = last_event(reader)
        return row is None or (from_text(row["at"]) <= moment and not is_clock_set_back(reader))
