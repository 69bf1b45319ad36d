"""Keeping the engine running: one process a file, told to end in an order in which its last copy holds everything.

The lock on ``NAME-replica-lock`` is handed to the engine, so that it is held as long as the engine lives, also when the
process that started it is killed (not on Windows). The engine runs in a group of its own: Ctrl-C reaches ``arr`` alone, which
writes its event first and then lets the engine copy that too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arr_sql.core.clock import utc_now
from arr_sql.core.connection import SQLITE_VERSION, WAL_RESET_FIXED, open_writer, store_errors
from arr_sql.core.process_lock import process_lock
from arr_sql.errors import InputError, ReplicaError, StateError, StoreBusy, StoreError
from arr_sql.replica.engine import complaint, find_engine, list_store, read_line
from arr_sql.replica.register import note_event, targets_of
from arr_sql.replica.taken import forget_taken, is_newest_of
from arr_sql.replica.target import Target, engine_config, engine_environment

END_SECONDS = 60.0
"""How long the engine may take for its last copy before it is ended without one."""
FILES, OLD_FILES, DOOMED_FILES = "ltx", "ltx.old", "ltx.doomed"
"""In a folder: the engine's files; those that a purge has set aside; and, when their successor is whole, on their way out."""
_KEPT_LINES = 50


@dataclass(frozen=True)
class Copied:
    """A transaction that is in the store now, or the engine's complaint. Neither: the copy begins."""

    transaction: int | None = None
    problem: str = ""


Tell = Callable[[Copied], None]


def silent(copied: Copied) -> None:
    """Tells nobody."""


def copy_continuously(
    path: Path, target: Target, *, actor: str, keep_days: int = 7, is_once: bool = False, tell: Tell = silent,
    clock: Callable[[], datetime] = utc_now,
) -> None:  # fmt: skip
    """Copy what is new to ``target`` each second until KeyboardInterrupt, or once what is there now.

    Raises StateError when a process does so already or the file can't be copied this way, ReplicaError when the engine is
    missing or gives up, InputError for a folder that is not a store.
    """
    engine_environment(target)  # are the keys there?
    find_engine()
    require_fit(path)
    if target.kind == "folder":
        _prepare_folder(Path(target.text), path)
    with only_process(path) as lock:
        is_known = target in targets_of(path)
        if target.kind == "folder" and is_known:
            tidy_folder(Path(target.text))
        stored = list_store(path.resolve(), target)
        if not is_known and (stored or is_set_aside(target)):
            raise InputError(
                f"{target.text} holds the copy of another file, which this one would spoil. Name a new or empty place."
            )
        if not is_newest_of(path, stored):
            # What the engine keeps belongs to another store, or another machine has written to this one since: pages of two
            # histories must not be mixed. Without it the engine begins with a whole snapshot.
            forget_taken(path)
        tell(Copied())
        note_event(path, target, "replica_started", actor=actor, now=clock(), keep_days=keep_days, once=is_once)
        if is_once:
            copy_once(path, target, lock, keep_days=keep_days, tell=tell)
            return
        with _engine(path, target, lock, keep_days=keep_days) as (process, said):
            try:
                _listen(process, said, tell)
            except BaseException:
                try:
                    with contextlib.suppress(StoreError):  # the copy ends all the same
                        note_event(path, target, "replica_stopped", actor=actor, now=clock())
                finally:
                    _end(process, said, tell)
                raise
        raise ReplicaError(f"Litestream ended by itself: {complaint(''.join(said))}")


def copy_once(path: Path, target: Target, lock: int, *, keep_days: int = 7, tell: Tell = silent) -> None:
    """Copy what is there now, under the caller's lock. Raises ReplicaError."""
    with _engine(path, target, lock, "-once", keep_days=keep_days) as (process, said):
        try:
            _listen(process, said, tell)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ReplicaError(f"Litestream gave up: {complaint(''.join(said))}")


def config_path(path: Path) -> Path:
    """The engine's configuration beside the file, for people to look at. Holds no credential."""
    return path.with_name(path.name + "-replica.yml")


def lock_path(path: Path) -> Path:
    """The lock that is held while a copy of this file runs."""
    return path.with_name(path.name + "-replica-lock")


def engine_process(path: Path) -> int | None:
    """The number of the process that copies this file, or copied it last; None where it isn't known (Windows)."""
    try:
        return int(lock_path(path).read_text("ascii"))
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def only_process(path: Path) -> Iterator[int]:
    """Hold the lock for the block. Raises StateError when a copy of this file runs."""
    with contextlib.ExitStack() as held:
        try:
            lock = held.enter_context(process_lock(lock_path(path), 0.5))
        except StoreBusy:
            number = engine_process(path)
            who = f" (process {number})" if number is not None else ""
            raise StateError(
                f"A copy of '{path}' is running{who}. End it first (Ctrl-C in its window, or stop its service)."
            ) from None
        if sys.platform != "win32":
            os.ftruncate(lock, 0)  # the number of a process that has ended
        yield lock


@contextlib.contextmanager
def no_copying(path: Path) -> Iterator[None]:
    """Nobody copies the file during the block. Raises StateError when somebody does. Leaves no trace where nobody ever did."""
    if not lock_path(path).exists():
        yield
        return
    with only_process(path):
        yield


def is_copying(path: Path) -> bool:
    """Does a process copy this file now?"""
    if not lock_path(path).exists():
        return False
    try:
        with process_lock(lock_path(path), 0.0):
            return False
    except StoreBusy:
        return True


def require_fit(path: Path) -> None:
    """Raises StateError for a file that can't be copied while it is used."""
    if SQLITE_VERSION < WAL_RESET_FIXED:
        have, need = (".".join(map(str, version)) for version in (SQLITE_VERSION, WAL_RESET_FIXED))
        raise StateError(
            f"SQLite {have} can damage a file when it and Litestream reset the WAL at the same instant; {need} is needed."
            " Install pysqlite3, or use a Python with a newer SQLite. `arr db backup` works with this one."
        )
    writer = open_writer(path)
    try:
        with store_errors(path):
            mode = writer.execute("PRAGMA journal_mode").fetchone()[0]
    finally:
        writer.close()
    if mode != "wal":
        raise StateError(
            f"'{path}' is not in WAL mode (it lies on a network folder), which Litestream needs. Move it to a local disk."
        )


def _prepare_folder(folder: Path, path: Path) -> None:
    """Make the folder. Raises InputError when it holds anything but an engine's files, or is where the database lies."""
    if folder == path.resolve().parent or folder in path.resolve().parents:
        raise InputError(
            f"'{folder}' holds the database itself. Name a folder of its own, best on another disk or machine."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(item.name for item in folder.iterdir() if item.name not in (FILES, OLD_FILES, DOOMED_FILES))
    except OSError as error:
        raise InputError(f"'{folder}' can't be used ({error.strerror}). Name a folder you may write to.") from None
    if others:
        raise InputError(f"'{folder}' holds something else ('{others[0]}'). Name a new or empty folder.")


def tidy_folder(folder: Path) -> None:
    """Undo a purge that was killed before its new copy was whole, or end one that was killed after.

    Raises ReplicaError when files can't be removed: they hold what was to be forgotten, so that is not passed over.
    """
    _remove(folder / DOOMED_FILES)
    if (folder / OLD_FILES).is_dir():
        _remove(folder / FILES)
        (folder / OLD_FILES).rename(folder / FILES)


def is_set_aside(target: Target) -> bool:
    """Does the folder hold files that a purge, killed in the middle, has set aside?"""
    return target.kind == "folder" and any((Path(target.text) / name).is_dir() for name in (OLD_FILES, DOOMED_FILES))


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ReplicaError(
            f"'{folder}' could not be removed whole ({error.strerror or error}). It holds older states of the file: remove it,"
            " then run this again."
        ) from None


@contextlib.contextmanager
def _engine(
    path: Path, target: Target, lock: int, *options: str, keep_days: int
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The engine as a process that holds ``lock``, and the end of what it says; waited for at the end of the block."""
    config = config_path(path)
    config.write_text(engine_config(path.resolve(), target, keep_days=keep_days), encoding="utf-8")
    group: dict[str, Any] = {}
    if sys.platform == "win32":
        group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    else:
        group = {"start_new_session": True, "pass_fds": (lock,)}
    try:
        process = subprocess.Popen(
            [str(find_engine()), "replicate", "-config", str(config), "-no-expand-env", *options],
            env=engine_environment(target), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace", **group,
        )  # fmt: skip
    except OSError as error:
        raise ReplicaError(f"Litestream could not be run ({error.strerror}). Install it again.") from None
    if sys.platform != "win32":  # there the locked byte would move
        os.ftruncate(lock, 0)
        os.write(lock, str(process.pid).encode("ascii"))
    with process:
        yield process, []


def _listen(process: subprocess.Popen[str], said: list[str], tell: Tell) -> None:
    """Pass on what the engine says until it ends. Its words are not promised by it: an unknown line is no news."""
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        del said[:-_KEPT_LINES]
        event = read_line(line)
        if event.get("msg") == "ltx file uploaded":
            with contextlib.suppress(KeyError, ValueError, TypeError):
                tell(Copied(transaction=int(event["maxTXID"], 16)))
        elif event.get("level") in ("WARN", "ERROR"):
            tell(Copied(problem=complaint(line)))


def _end(process: subprocess.Popen[str], said: list[str], tell: Tell) -> None:
    """Ask the engine to end, which makes it copy what is left, and wait for that. A second Ctrl-C ends it at once."""
    timer = threading.Timer(END_SECONDS, process.kill)
    timer.start()
    try:
        if process.poll() is None:
            if sys.platform == "win32":
                process.send_signal(signal.CTRL_BREAK_EVENT)
            else:
                process.terminate()
        _listen(process, said, tell)
        process.wait()
    except BaseException:
        process.kill()
        raise
    finally:
        timer.cancel()
