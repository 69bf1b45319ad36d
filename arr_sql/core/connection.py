"""The one door to SQLite: opening, pragmas, sqlite-vec or its stand-in, locks, and errors with a next step.

Promises (tests/core/test_connection.py): a reader cannot write or attach; a writer begins IMMEDIATE, so it waits for
its turn instead of failing; extension loading is switched off again; without it ``vec_distance_L2`` still exists as
an exact Python function, so every statement runs unchanged; no driver exception leaves :func:`store_errors`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arr_sql.core.driver import driver_module, prepare_driver
from arr_sql.core.filesystem import is_network_folder
from arr_sql.core.process_lock import pause_before_asking_again, process_lock
from arr_sql.core.statements import load
from arr_sql.errors import (
    ArrError,
    NotAnArrDatabase,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
)

DRIVER = prepare_driver()
# The module that `from sqlite_utils.utils import sqlite3` gives: a bundled driver's Error is not the standard library's.
sqlite3 = driver_module(DRIVER)

if TYPE_CHECKING:
    import sqlite3 as sqlite3_types

    Connection = sqlite3_types.Connection
else:
    Connection = sqlite3.Connection

__all__ = [
    "APPLICATION_ID", "DRIVER", "SQLITE_VERSION", "Connection", "file_version", "open_reader", "open_writer",
    "read_transaction", "sqlite3", "store_errors", "vec_version", "write_transaction", "writers_lock",
]  # fmt: skip

SQLITE_VERSION: tuple[int, ...] = tuple(int(part) for part in sqlite3.sqlite_version.split("."))
APPLICATION_ID = 0x41525231  # "ARR1"
MINIMUM_SQLITE = (3, 37, 0)  # STRICT tables
# Below this, two connections that reset the WAL at the same instant can corrupt the file: hold one lock across processes.
WAL_RESET_FIXED = (3, 51, 3)
# Before this, json_valid() in our CHECKs counts as unsafe under trusted_schema=OFF ("unsafe use of json_valid()").
JSON_IS_INNOCUOUS = (3, 43, 0)
BUSY_TIMEOUT_SECONDS = 5.0
SHARED_MEMORY_BYTES = 32_768
"""What SQLite needs beside a file in WAL mode, even to read it."""
PAGE_SIZE = 8192
"""Of new files. A chunk's row takes about a kilobyte, so pages of 4 KB leave a sixth of the table unused, these a half of that."""


def open_writer(
    path: Path, *, create: bool = False, timeout: float = BUSY_TIMEOUT_SECONDS, mounts: str | None = None,
    keep_journal: bool = False,
) -> Connection:  # fmt: skip
    """A connection that may write. Autocommit; use :func:`write_transaction` around changes.

    ``mounts`` stands for ``/proc/self/mounts``; with ``keep_journal`` the file's journal mode, which is a byte of the file,
    stays as it is. Raises StoreMissing when the file is not there (unless ``create``),
    StoreReadOnly, StoreBusy, and NotAnArrDatabase before a byte of another application's file is changed.
    """
    _require_sqlite(path)
    if not create and not path.is_file():
        raise StoreMissing(f"There is no database at '{path}'. Run `arr init` in your project first.")
    if path.exists() and not os.access(path, os.W_OK):
        raise StoreReadOnly(f"'{path}' is read-only. Searching works; to write, change its permissions or copy it.")
    with store_errors(path):
        connection = _connect(path, "rwc" if create else "rw", timeout)
        try:
            file_version(connection, path)
            if create and not connection.execute("PRAGMA page_count").fetchone()[0]:
                connection.execute(f"PRAGMA page_size={PAGE_SIZE}")
                connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # lets core/pages.py give pages back
            if not keep_journal:
                _set_journal(connection, is_network_folder(path.parent, mounts), timeout)
            for pragma in ("synchronous=FULL", "secure_delete=ON", "recursive_triggers=ON"):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(path: Path, *, timeout: float = BUSY_TIMEOUT_SECONDS) -> Connection:
    """A connection that can only SELECT: opened read-only, with an authorizer that refuses everything else.

    Works on read-only files and media. Raises StoreMissing, NotAnArrDatabase.
    """
    _require_sqlite(path)
    if not path.is_file():
        raise StoreMissing(f"There is no database at '{path}'. Run `arr init` in your project first.")
    with store_errors(path):
        try:
            connection = _connect(path, "ro", timeout)
        except sqlite3.OperationalError:
            if path.with_name(path.name + "-journal").exists() and os.access(path, os.W_OK):
                # A killed writer left a rollback journal: only who may write can undo what it had begun.
                _connect(path, "rw", timeout).close()
                connection = _connect(path, "ro", timeout)
            else:
                # A WAL file on a medium where no -shm can be made. Without a -wal file nothing is missed by "immutable".
                wal = path.with_name(path.name + "-wal")
                if os.access(path.parent, os.W_OK) or (wal.exists() and wal.stat().st_size):
                    raise
                connection = _connect(path, "ro&immutable=1", timeout)
        connection.set_authorizer(_only_select)
    return connection


def _connect(path: Path, mode: str, timeout: float) -> Connection:
    uri = path.resolve().as_uri() + f"?mode={mode}"
    # The statement cache keeps prepared statements; 256 holds all of ours.
    connection: Connection = sqlite3.connect(
        uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        connection.row_factory = sqlite3.Row
        for pragma in ("foreign_keys=ON", "cell_size_check=ON", "temp_store=MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        if SQLITE_VERSION >= JSON_IS_INNOCUOUS:
            connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # is it a database that can be read?
        _load_vec(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def file_version(connection: Connection, path: Path) -> int:
    """The file's schema version, 0 for an empty file. Raises NotAnArrDatabase for another application's file."""
    row = connection.execute(load("read_application")).fetchone()
    if row["application_id"] == APPLICATION_ID:
        return int(row["user_version"])
    if row["application_id"] or row["has_tables"]:
        raise NotAnArrDatabase(f"'{path}' is an SQLite database of another application. Name another file with --db.")
    return 0


def _set_journal(connection: Connection, is_network: bool, timeout: float) -> None:
    """WAL, or a rollback journal on a network folder, where WAL's shared memory does not work.

    Changing the mode ignores the busy timeout, hence the loop.
    """
    wanted = "delete" if is_network else "wal"
    give_up = time.monotonic() + timeout
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != wanted:
                connection.execute(f"PRAGMA journal_mode={wanted}")
            return
        except sqlite3.OperationalError as error:
            if "locking protocol" in str(error):  # shared memory is not to be had here: the older journal works
                connection.execute("PRAGMA journal_mode=delete")
                return
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.02)


# --- sqlite-vec, or the same function in Python ---------------------------------------------------------------------


def _load_vec(connection: Connection) -> None:
    if not (hasattr(connection, "enable_load_extension") and _is_vec_loaded(connection)):
        connection.create_function("vec_distance_L2", 2, _distance_l2, deterministic=True)


def _is_vec_loaded(connection: Connection) -> bool:
    """Load sqlite-vec. False: switched off, not installed, or built for another machine; the stand-in answers then."""
    try:
        # Importing the package would import NumPy, see core/driver.py; only the path of its library is needed.
        package = importlib.util.find_spec("sqlite_vec")
        if os.environ.get("ARR_SQLITE_VEC", "").lower() == "off" or package is None or package.origin is None:
            return False
        connection.enable_load_extension(True)
        connection.load_extension(str(Path(package.origin).with_name("vec0")))
        return True
    except (ImportError, sqlite3.OperationalError, AttributeError):
        return False
    finally:
        connection.enable_load_extension(False)  # in every case: some builds begin with it on


def _distance_l2(left: bytes, right: bytes) -> float:
    """Euclidean distance of two float32 BLOBs, as sqlite-vec's function of the same name gives it."""
    a, b = array("f", left), array("f", right)
    return math.sqrt(math.fsum((x - y) * (x - y) for x, y in zip(a, b, strict=True)))


def vec_version(connection: Connection) -> str | None:
    """sqlite-vec's version on this connection, or None when its functions are replaced by the exact Python scan."""
    try:
        return str(connection.execute("SELECT vec_version()").fetchone()[0])
    except sqlite3.DatabaseError:
        return None


# --- Transactions ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def write_transaction(connection: Connection, path: Path) -> Iterator[Connection]:
    """BEGIN IMMEDIATE ... COMMIT, or nothing at all.

    Raises StoreBusy when another process holds the lock past the timeout, StoreFull when the disk is full.
    """
    with store_errors(path), writers_lock(path):
        _begin(connection)
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLITE_FULL rolls back by itself
                connection.execute("ROLLBACK")
            raise


def _begin(connection: Connection) -> None:
    """BEGIN IMMEDIATE, waiting for a turn as long as the connection's busy timeout says.

    SQLite's own waiting sleeps the longer the longer it lasts, up to 0.1 s, so newcomers pass: sixteen processes that write
    without a pause let some of them wait for more than 5 s (tests/promises/test_load.py).
    """
    timeout = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    begun = time.monotonic()
    connection.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - begun
                if "locked" not in str(error) or 1000 * waited > timeout:
                    raise
                time.sleep(pause_before_asking_again(waited))
    finally:
        connection.execute(f"PRAGMA busy_timeout={timeout}")


@contextlib.contextmanager
def read_transaction(connection: Connection) -> Iterator[Connection]:
    """One snapshot for several reads: that of a transaction which is open already, else one of its own."""
    if connection.in_transaction:
        yield connection
        return
    connection.execute("BEGIN")
    try:
        yield connection
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextlib.contextmanager
def writers_lock(path: Path) -> Iterator[None]:
    """One writer at a time over all processes, where this SQLite needs that (WAL_RESET_FIXED); else nothing."""
    if SQLITE_VERSION >= WAL_RESET_FIXED:
        yield
        return
    with process_lock(path.with_name(path.name + "-lock"), BUSY_TIMEOUT_SECONDS):
        yield


# --- The authorizer of read connections -----------------------------------------------------------------------------

_ALLOWED_ACTIONS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION,
                              sqlite3.SQLITE_TRANSACTION, getattr(sqlite3, "SQLITE_RECURSIVE", 33)})  # fmt: skip
_ALLOWED_PRAGMAS = frozenset({"data_version", "integrity_check", "foreign_key_check", "table_list", "journal_mode",
                              "user_version", "application_id", "page_count", "page_size", "freelist_count"})  # fmt: skip
_PRAGMAS_WITH_ARGUMENT = frozenset({"table_info", "index_list", "index_info"})
_REFUSED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})


def _only_select(action: int, first: str | None, second: str | None, _db: str | None, _trigger: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _REFUSED_FUNCTIONS:
        return int(sqlite3.SQLITE_DENY)
    # UPDATE of sqlite_master: how SQLite 3.40 declares a virtual table on first use. A real one is refused all the same.
    if action in _ALLOWED_ACTIONS or (action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"):
        return int(sqlite3.SQLITE_OK)
    name = (first or "").lower()
    if action == sqlite3.SQLITE_PRAGMA and (
        name in _PRAGMAS_WITH_ARGUMENT or (name in _ALLOWED_PRAGMAS and second is None)
    ):
        return int(sqlite3.SQLITE_OK)
    return int(sqlite3.SQLITE_DENY)


# --- Errors ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn the driver's exceptions into this package's, each with what to do next."""
    try:
        yield
    except ArrError:
        raise
    except UnicodeDecodeError as error:  # SQLite's own message about a damaged schema quotes its bytes
        raise StoreDamaged(
            f"'{path}' holds text that is not UTF-8: it is damaged. Run `arr db check`; restore a backup."
        ) from error
    except sqlite3.Error as error:
        raise _translated(error, path) from error


def _translated(error: Any, path: Path) -> StoreError:
    text = str(error)
    lower = text.lower()
    if "database is locked" in lower or "database table is locked" in lower or "busy" in lower:
        return StoreBusy(
            f"Another process kept '{path}' locked for more than {BUSY_TIMEOUT_SECONDS:.0f} s. Nothing was changed; try again."
        )
    if "disk is full" in lower:
        return StoreFull(
            f"The disk that holds '{path}' is full. The last step was undone; free some space and run it again."
        )
    if "not a database" in lower:
        return NotAnArrDatabase(f"'{path}' is not an SQLite database. Name another file with --db.")
    if "malformed" in lower or "corrupt" in lower:
        return StoreDamaged(f"SQLite reports that '{path}' is damaged ({text}). Run `arr db check`; restore a backup.")
    if "readonly" in lower or "read-only" in lower:
        return StoreReadOnly(
            f"'{path}' can't be written ({text}). Searching works; to write, change its permissions or copy it."
        )
    if "unable to open" in lower:
        return StoreMissing(
            f"'{path}' can't be opened ({text}). Check that the folder exists and that you may read it."
        )
    if "invalid fts5 file format" in lower:
        return StoreError(
            f"The text index of '{path}' was written by SQLite 3.42 or newer, and {sqlite3.sqlite_version}, which runs here, can't"
            " read it. Install pysqlite3, or use a newer Python; `arr doctor` says which SQLite runs."
        )
    # A full disk has no room for the shared memory of the log either, and SQLite calls that a failure of the disk.
    if "disk i/o error" in lower and _is_full(path):
        return StoreFull(
            f"The disk that holds '{path}' is full: SQLite has no room for what it keeps beside the file. Free some space,"
            " and run it again."
        )
    if "disk i/o error" in lower:
        return StoreError(
            f"The disk failed while reading or writing '{path}' ({text}). Check the disk, then `arr db check`."
        )
    return StoreError(f"SQLite on '{path}': {text}. Run `arr db check`.")


def _is_full(path: Path) -> bool:
    import shutil  # with its compression modules, so only here

    try:
        return shutil.disk_usage(path.resolve().parent).free < SHARED_MEMORY_BYTES
    except OSError:
        return False


def _require_sqlite(path: Path) -> None:
    if SQLITE_VERSION < MINIMUM_SQLITE:
        have = ".".join(map(str, SQLITE_VERSION))
        raise StoreError(
            f"SQLite {have} is too old to open '{path}': 3.37 or newer is needed. Run `pip install pysqlite3` or use a newer Python."
        )
