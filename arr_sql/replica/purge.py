"""Taking out of a folder what was copied to it before: after `arr forget`, its older files still hold what was erased.

The engine's own rules keep merged files for as long as a snapshot leads to them, so they are not the way. The old files are
set aside, the engine makes a whole new copy, that is looked at, and then the old ones go: at no moment is there none. The
files of a store on the network are removed with that store's tools; `arr replica start` then begins anew by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from arr_sql.core.clock import utc_now
from arr_sql.errors import InputError, ReplicaError
from arr_sql.replica.copying import (
    DOOMED_FILES,
    FILES,
    OLD_FILES,
    copy_once,
    only_process,
    require_fit,
    tidy_folder,
)
from arr_sql.replica.engine import find_engine, list_store
from arr_sql.replica.register import note_event, targets_of
from arr_sql.replica.taken import forget_taken
from arr_sql.replica.target import Target


@dataclass(frozen=True)
class Purged:
    """How many files were removed, and how many hold the file as it is now."""

    target: str
    removed: int
    kept: int


def purge_store(path: Path, target: Target, *, actor: str, clock: Callable[[], datetime] = utc_now) -> Purged:
    """Leave in the folder ``target`` the file as it is now, and nothing older.

    Raises InputError for a store on the network and for another file's copy, StateError while a copy runs, ReplicaError when no
    new copy could be made: then the old files are where they were.
    """
    if target.kind != "folder":
        raise InputError(
            f"The files of {target.text} are removed with the store's own tools, all versions of them, for example"
            f" `aws s3 rm --recursive {target.text}`. After that `arr replica start` copies the file anew."
        )
    find_engine()
    require_fit(path)
    folder = Path(target.text)
    files, aside = folder / FILES, folder / OLD_FILES
    if not files.is_dir() and not aside.is_dir():
        raise InputError(f"There is no copy in {target.text}.")
    if target not in targets_of(path):
        raise InputError(f"{target.text} holds the copy of another file. Nothing was removed.")
    if files.is_symlink():  # it would be taken away, and the files stay where it leads
        raise InputError(f"'{files}' is a link. Put the folder that it leads to in its place, then run this again.")
    with only_process(path) as lock:
        tidy_folder(folder)
        removed = len(list_store(path.resolve(), target))
        note_event(path, target, "replica_purged", actor=actor, now=clock())
        files.rename(aside)
        forget_taken(path)
        try:
            copy_once(path, target, lock)
            kept = len(list_store(path.resolve(), target))
            if not kept:
                raise ReplicaError("Litestream made no new copy. The old one is as it was; run this again.")
        except BaseException:
            tidy_folder(folder)
            forget_taken(path)
            raise
        aside.rename(folder / DOOMED_FILES)
        tidy_folder(folder)
    return Purged(target.text, removed, kept)
