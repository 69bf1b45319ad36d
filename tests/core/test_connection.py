"""The one door to SQLite: what a reader can't do, which library runs, and errors that say what to do next."""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.connection import (
    DRIVER,
    SQLITE_VERSION,
    Connection,
    open_reader,
    open_writer,
    read_transaction,
    sqlite3,
    store_errors,
    vec_version,
    write_transaction,
)
from arr_sql.core.filesystem import filesystem_kind, is_network_folder
from arr_sql.core.migrations import migrate
from arr_sql.core.process_lock import pause_before_asking_again, process_lock
from arr_sql.core.snapshot import same_snapshot
from arr_sql.errors import (
    ArrError,
    InputError,
    NotAnArrDatabase,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
)
from arr_sql.index.text_index import create_text_index
from tests.conftest import MakeDatabase

ROOT = Path(__file__).resolve().parents[2]


def python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a fresh process with these settings of ARR_SQLITE_DRIVER and ARR_SQLITE_VEC."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120,
        env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A migrated file with the text index."""
    path = tmp_path / "x.db"
    connection = open_writer(path, create=True)
    migrate(connection, path)
    create_text_index(connection)
    connection.close()
    return path


@pytest.fixture
def reader(path: Path) -> Iterator[Connection]:
    """A read connection to that file."""
    connection = open_reader(path)
    yield connection
    connection.close()


# --- What a reader can't do -------------------------------------------------------------------------------------------

REFUSED = [
    "INSERT INTO migration_record VALUES ('x', 'y', 'z')",
    "INSERT OR REPLACE INTO scope (id) VALUES (1)",
    "UPDATE scope SET team_id = 'x'",
    "UPDATE sqlite_master SET sql = ''",
    "DELETE FROM audit_event",
    "DELETE FROM sqlite_master",
    "CREATE TABLE t (x)",
    "CREATE TEMP TABLE t (x)",
    "CREATE TEMP VIEW t AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON scope BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE temp.t USING fts5(x)",
    "DROP TABLE scope",
    "ALTER TABLE scope RENAME TO t",
    "REINDEX",
    "ANALYZE",
    "VACUUM",
    "VACUUM INTO '{other}'",
    "ATTACH '{other}' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "SAVEPOINT s",
    "INSERT INTO chunk_fts (chunk_fts) VALUES ('rebuild')",
    "PRAGMA journal_mode=DELETE",
    "PRAGMA query_only=OFF",
    "PRAGMA writable_schema=ON",
    "PRAGMA user_version=9",
    "PRAGMA application_id=9",
    "PRAGMA foreign_keys=OFF",
    "PRAGMA trusted_schema=ON",
    "PRAGMA temp_store_directory='/tmp'",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA secure_delete=OFF",
    "PRAGMA incremental_vacuum",
    "PRAGMA optimize",
    "SELECT load_extension('{other}')",
    "SELECT writefile('{other}', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT edit('x')",
    "SELECT fts3_tokenizer('simple')",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_a_reader_can_only_select(reader: Connection, path: Path, tmp_path: Path, statement: str) -> None:
    """Every other statement is refused, changes no byte and makes no file."""
    before, names = path.read_bytes(), {item.name for item in tmp_path.iterdir()}
    with pytest.raises(sqlite3.DatabaseError):
        reader.execute(statement.format(other=tmp_path / "other.db")).fetchall()
    assert (path.read_bytes(), {item.name for item in tmp_path.iterdir()}) == (before, names)


@pytest.mark.parametrize(
    "statement",
    ["SELECT 1", "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
     "SELECT value FROM json_each('[1,2]')", "SELECT * FROM audit_trail", "SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH 'a'",
     "SELECT term FROM chunk_term WHERE term = 's1xa'", "PRAGMA table_info(scope)", "PRAGMA user_version", "PRAGMA journal_mode",
     "PRAGMA integrity_check", "PRAGMA foreign_key_check", "SELECT max(seq) OVER () FROM audit_event"],
)  # fmt: skip
def test_a_reader_can_ask_what_people_ask(reader: Connection, statement: str) -> None:
    """Selects over tables, views, JSON and the text index work, and the pragmas that only tell."""
    assert isinstance(reader.execute(statement).fetchall(), list)


def test_a_reader_sees_what_is_committed_meanwhile(path: Path, reader: Connection) -> None:
    """A reader outside a transaction sees the next commit; inside one it keeps its snapshot."""
    writer = open_writer(path)
    statement = "SELECT count(*) FROM migration_record"
    first = reader.execute(statement).fetchone()[0]
    with read_transaction(reader):
        reader.execute(statement).fetchone()
        writer.execute("INSERT INTO migration_record VALUES ('x', ?, '2026-01-01T00:00:00.000000Z')", ("0" * 64,))
        assert reader.execute(statement).fetchone()[0] == first
    assert reader.execute(statement).fetchone()[0] == first + 1
    writer.close()


def test_a_snapshot_inside_another_is_the_same(reader: Connection) -> None:
    """The outer one goes on when the inner one ends."""
    with read_transaction(reader):
        with read_transaction(reader):
            assert reader.in_transaction
        assert reader.in_transaction
    assert not reader.in_transaction


def test_several_readers_share_one_snapshot(make_database: MakeDatabase) -> None:
    """Connections begun together see the same committed state, whatever is written in between."""
    database = make_database()
    readers = [open_reader(database.path) for _ in range(3)]
    with same_snapshot(readers):
        database.add_memory(title="t", content="c", kind="knowledge")
        counts = [reader.execute("SELECT count(*) FROM memory").fetchone()[0] for reader in readers]
    assert counts == [0, 0, 0]
    assert [reader.in_transaction for reader in readers] == [False] * 3
    for reader in readers:
        reader.close()


@pytest.mark.parametrize("opened", [open_reader, open_writer])
def test_extension_loading_is_off_again(path: Path, opened: object) -> None:
    """After sqlite-vec was loaded, neither SQL nor a second call can load an extension (store-02)."""
    connection = opened(path)  # type: ignore[operator]
    try:
        with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|no such function"):
            connection.execute("SELECT load_extension('vec0')")
        if hasattr(connection, "load_extension"):
            with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
                connection.load_extension("vec0")
    finally:
        connection.close()


def test_a_writer_has_the_pragmas_of_the_contract(path: Path) -> None:
    """WAL, foreign keys, secure delete, full synchronisation, a busy timeout, and no schema that is trusted blindly."""
    writer = open_writer(path)
    pragmas = {
        name: writer.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "foreign_keys", "secure_delete", "synchronous", "busy_timeout", "recursive_triggers", "page_size",
                     "cell_size_check", "temp_store", "auto_vacuum")
    }  # fmt: skip
    trusted = writer.execute("PRAGMA trusted_schema").fetchone()[0]
    writer.close()
    assert pragmas == {
        "journal_mode": "wal", "foreign_keys": 1, "secure_delete": 1, "synchronous": 2, "busy_timeout": 5000, "page_size": 8192,
        "recursive_triggers": 1, "cell_size_check": 1, "temp_store": 2, "auto_vacuum": 2,
    }  # fmt: skip
    assert trusted == (0 if SQLITE_VERSION >= (3, 43, 0) else 1)


# --- Vectors with and without the extension ---------------------------------------------------------------------------


def blob(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


FLOATS = st.floats(min_value=-1, max_value=1, width=32)


@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=40))
def test_the_distance_is_the_same_with_and_without_the_extension(pairs: list[tuple[float, float]]) -> None:
    """``vec_distance_L2``, of sqlite-vec or its stand-in, is the Euclidean distance up to 32-bit rounding."""
    connection = LOADED
    left, right = blob(*(pair[0] for pair in pairs)), blob(*(pair[1] for pair in pairs))
    found = connection.execute("SELECT vec_distance_L2(?, ?)", (left, right)).fetchone()[0]
    assert math.isclose(found, math.dist(*zip(*pairs, strict=True)), rel_tol=1e-5, abs_tol=1e-6)


@pytest.fixture(scope="module", autouse=True)
def _loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One connection for the property above."""
    global LOADED
    LOADED = open_writer(tmp_path_factory.mktemp("vec") / "v.db", create=True)
    yield
    LOADED.close()


LOADED: Connection

VEC = """
import json, sys
from pathlib import Path
from arr_sql.core.connection import open_reader, vec_version
reader = open_reader(Path(sys.argv[1]))
rows = reader.execute("SELECT c.chunk_id, vec_distance_L2(e.vector, :v) AS d FROM chunk_embedding AS e JOIN chunk AS c ON c.id = e.chunk "
                      "ORDER BY d, c.chunk_id", {"v": bytes.fromhex(sys.argv[2])}).fetchall()
print(json.dumps({"version": vec_version(reader), "rows": [[row[0], round(row[1], 5)] for row in rows]}))
reader.close()
"""


def test_a_store_with_vectors_opens_without_the_extension(make_database: MakeDatabase, tmp_path: Path) -> None:
    """A file that holds vectors gives the same order with sqlite-vec, without it, and under the standard library."""
    (tmp_path / "a.md").write_text(
        "# One\n\nrouter budget\n\n# Two\n\nrouter design\n\n# Three\n\ncontrol plane\n", "utf-8"
    )
    database = make_database()
    database.add(tmp_path / "a.md")
    assert database.embed().embedded == 3
    query = database._embedder_source().embed_queries(["router design"])[0].hex()  # type: ignore[union-attr]
    given = [
        python(VEC, str(database.path), query, **environment)
        for environment in ({}, {"ARR_SQLITE_VEC": "off"}, {"ARR_SQLITE_DRIVER": "stdlib", "ARR_SQLITE_VEC": "off"})
    ]
    answers = [json.loads(item.stdout) for item in given]
    assert [item.stderr for item in given] == ["", "", ""]
    assert (answers[1]["version"], len(answers[0]["rows"])) == (None, 3)
    assert answers[0]["rows"] == answers[1]["rows"] == answers[2]["rows"]


@pytest.mark.skipif(DRIVER == "sqlite3", reason="the standard library of some Pythons has no extension loading")
@pytest.mark.skipif(os.environ.get("ARR_SQLITE_VEC") == "off", reason="switched off for this run")
def test_sqlite_vec_is_loaded_where_it_can_be(reader: Connection) -> None:
    """With a bundled driver sqlite-vec itself answers, not its stand-in."""
    assert (vec_version(reader) or "").startswith("v0.1.9")


# --- Which library runs -----------------------------------------------------------------------------------------------

WHICH = "from arr_sql.core.connection import DRIVER, sqlite3; print(DRIVER, sqlite3.__name__.split('.')[0])"


@pytest.mark.parametrize(
    ("wanted", "driver", "module"),
    [("stdlib", "sqlite3", "sqlite3"), ("STDLIB ", "sqlite3", "sqlite3"), ("pysqlite3", "pysqlite3", "pysqlite3"),
     ("sqlean", "sqlean", "sqlean")],
)  # fmt: skip
def test_the_driver_can_be_named(wanted: str, driver: str, module: str) -> None:
    """ARR_SQLITE_DRIVER decides which library runs; one that is not installed is said not to be."""
    result = python(WHICH, ARR_SQLITE_DRIVER=wanted)
    if (
        driver != "sqlite3"
        and subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode
    ):
        assert (
            f"ARR_SQLITE_DRIVER={wanted} but that package is not installed. Unset it or install {wanted}."
            in result.stderr
        )
    else:
        assert (result.stdout, result.stderr) == (f"{driver} {module}\n", "")


@pytest.mark.parametrize("wanted", ["auto", ""])
def test_left_alone_the_driver_is_a_bundled_one_where_there_is_one(wanted: str) -> None:
    """``auto`` takes pysqlite3, then sqlean, then the standard library."""
    installed = [
        name for name in ("pysqlite3", "sqlean", "sqlite3")
        if not subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode
    ]  # fmt: skip
    assert python(WHICH, ARR_SQLITE_DRIVER=wanted).stdout.split()[0] == installed[0]


def test_a_wrong_driver_is_one_clear_line(tmp_path: Path) -> None:
    """A name that is no driver stops the command line with what may be written instead."""
    (tmp_path / "arr.toml").write_text('[project]\nteam_id = "vision"\nproject_id = "lumen"\n', "utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "arr_sql", "status"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={**os.environ, "ARR_SQLITE_DRIVER": "oracle"}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    line = "Error: ARR_SQLITE_DRIVER='oracle' is unknown. Use auto, pysqlite3, sqlean or stdlib.\n"
    assert (result.returncode, result.stderr) == (1, line)


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("database is locked", StoreBusy), ("database table is locked: chunk", StoreBusy),
        ("database or disk is full", StoreFull), ("file is not a database", NotAnArrDatabase),
        ("database disk image is malformed", StoreDamaged), ("attempt to write a readonly database", StoreReadOnly),
        ("unable to open database file", StoreMissing), ("disk I/O error", StoreError), ("something new", StoreError),
    ],
)  # fmt: skip
def test_each_error_of_the_driver_has_its_own(text: str, kind: type[ArrError]) -> None:
    """No exception of the driver leaves the door; each becomes the error that says what, where and what next."""
    with pytest.raises(kind) as caught, store_errors(Path("lab.db")):
        raise sqlite3.OperationalError(text)
    assert (type(caught.value), "'lab.db'" in str(caught.value)) == (kind, True)
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)


def test_a_failing_disk_that_is_full_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite calls it a failure of the disk when there is no room for the shared memory of its log."""
    for free, kind in ((32_767, StoreFull), (32_768, StoreError)):
        monkeypatch.setattr(shutil, "disk_usage", lambda path, free=free: SimpleNamespace(free=free))
        with pytest.raises(StoreError) as caught, store_errors(tmp_path / "lab.db"):
            raise sqlite3.OperationalError("disk I/O error")
        assert type(caught.value) is kind


def test_a_text_index_of_a_newer_sqlite_says_what_to_install() -> None:
    """FTS5's own words name a command that would not help."""
    said = r"written by SQLite 3\.42 or newer, and .* can't read it\. Install pysqlite3"
    with pytest.raises(StoreError, match=said), store_errors(Path("lab.db")):
        raise sqlite3.OperationalError("invalid fts5 file format (found 5, expected 4) - run 'rebuild'")


def test_errors_of_our_own_pass_through() -> None:
    """What is already one of this package's errors is not wrapped again."""
    with pytest.raises(InputError, match=r"^mine$"), store_errors(Path("lab.db")):
        raise InputError("mine")


def test_a_lock_held_too_long_is_store_busy(path: Path) -> None:
    """Past the timeout a write ends in StoreBusy with exit code 4, and the connection can be used again."""
    holder, other = open_writer(path), open_writer(path, timeout=0.05)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="Nothing was changed; try again") as caught, write_transaction(other, path):
        raise AssertionError("the lock was not held")
    assert caught.value.exit_code == 4
    holder.execute("ROLLBACK")
    with write_transaction(other, path):
        other.execute("UPDATE migration_record SET applied_at = applied_at")
    holder.close()
    other.close()


def test_a_failed_block_is_rolled_back(path: Path) -> None:
    """An exception inside a write transaction undoes it, whatever kind it is."""
    writer = open_writer(path)
    for kind in (ValueError, KeyboardInterrupt, StoreFull):
        with pytest.raises(kind), write_transaction(writer, path):
            writer.execute("DELETE FROM migration_record")
            raise kind("stop")
        assert (writer.in_transaction, writer.execute("SELECT count(*) FROM migration_record").fetchone()[0] > 0) == (
            False,
            True,
        )
    writer.close()


def test_a_damaged_file_is_named(path: Path) -> None:
    """A file whose pages are overwritten is reported as damaged, with the command that looks closer."""
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[4096 * page : 4096 * page + 64] = b"\xff" * 64
    path.write_bytes(data)
    for opened in (open_reader, open_writer):
        with pytest.raises(StoreDamaged, match="Run `arr db check`"):
            opened(path)


def test_a_missing_folder_and_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    """What can't be opened is said to be missing, with its path."""
    with pytest.raises(StoreMissing, match="can't be opened"):
        open_writer(tmp_path / "none" / "x.db", create=True)
    (tmp_path / "folder.db").mkdir()
    for opened in (open_reader, open_writer):
        with pytest.raises(StoreMissing, match=r"folder\.db"):
            opened(tmp_path / "folder.db")


def test_odd_names_open(tmp_path: Path) -> None:
    """A path with spaces, a question mark, a hash, a percent sign and Han letters is one path, not a URI with options."""
    folder = tmp_path / "a b?mode=memory#c %41 研究"
    folder.mkdir()
    open_writer(folder / "x y.db", create=True).close()
    assert open_reader(folder / "x y.db").close() is None
    assert "x y.db" in os.listdir(folder)


# --- One lock across processes ----------------------------------------------------------------------------------------


def test_the_process_lock_keeps_others_out_and_dies_with_its_holder(tmp_path: Path) -> None:
    """While a process holds the lock another gets StoreBusy; when it is killed the lock is free."""
    code = """
import sys
from pathlib import Path
from arr_sql.core.process_lock import process_lock
with process_lock(Path(sys.argv[1]), 5):
    print("held", flush=True)
    sys.stdin.readline()
"""
    lock = tmp_path / "x.db-lock"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(StoreBusy, match="Try again") as caught, process_lock(lock, 0.05):
            raise AssertionError("the lock was not held")
        assert caught.value.exit_code == 4
        holder.kill()
        holder.wait()
    with process_lock(lock, 5):
        assert lock.exists()


# --- Network folders (store-06) ---------------------------------------------------------------------------------------


def mounts(*rows: tuple[str, str]) -> str:
    """The text of /proc/self/mounts with these (mount point, kind) rows over a local root."""
    table = [("/", "ext4"), *rows]
    return "".join(f"source {point} {kind} rw,relatime 0 0\n" for point, kind in table)


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "lustre", "9p"])
def test_no_wal_on_a_network_folder(tmp_path: Path, kind: str) -> None:
    """On a network mount the rollback journal is used, a WAL file that was copied there included; locally WAL."""
    path, network = tmp_path / "x.db", mounts((str(tmp_path.resolve()), kind))
    assert is_network_folder(tmp_path, network)
    open_writer(path, create=True, mounts=mounts()).close()
    connection = open_writer(path, mounts=network)
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    migrate(connection, path)
    connection.close()
    assert sorted(item.name for item in tmp_path.iterdir() if item.name != "x.db-lock") == ["x.db"]
    back = open_writer(path, mounts=mounts())
    assert back.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    back.close()


def test_the_nearest_mount_decides(tmp_path: Path) -> None:
    """Of several mounts above a folder the deepest counts, of two on one folder the later, and siblings do not."""
    top = tmp_path.resolve()
    inner = top / "a" / "data set"
    inner.mkdir(parents=True)
    escaped = str(inner).replace(" ", "\\040")
    assert filesystem_kind(inner, mounts((str(top), "nfs4"), (escaped, "xfs"))) == "xfs"
    assert filesystem_kind(inner, mounts((escaped, "xfs"), (str(top), "nfs4"))) == "xfs"
    assert filesystem_kind(inner, mounts((escaped, "xfs"), (escaped, "cifs"))) == "cifs"
    assert filesystem_kind(inner, mounts((f"{top}/a/data", "nfs4"))) == "ext4"
    assert filesystem_kind(inner, "rubbish\n\n") == "unknown"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists its mounts in a file")
def test_this_machine_names_its_own_file_system(tmp_path: Path) -> None:
    """Without a given table the system's own is read."""
    if not any(line.split()[1] == "/" for line in Path("/proc/self/mounts").read_text().splitlines()):
        pytest.skip("inside a chroot: the system's table does not say what / is on")
    assert filesystem_kind(tmp_path) not in ("unknown", "")


def test_what_a_killed_writer_left_in_a_rollback_journal_is_undone_for_a_reader(tmp_path: Path) -> None:
    """On a network folder a writer that dies leaves a journal that only a writer may roll back: a reader gets it done."""
    path = tmp_path / "x.db"
    code = """
import os, sys
from pathlib import Path
from arr_sql.core.connection import open_writer
path = Path(sys.argv[1])
connection = open_writer(path, create=True, mounts=f"nas:/ {sys.argv[2]} nfs4 rw 0 0\\n")
assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
connection.execute("CREATE TABLE t AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) SELECT x FROM n")
connection.execute("PRAGMA cache_size=5")  # so that pages of an open transaction reach the file
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE t SET x = -1")
os._exit(0)
"""
    done = python(code, str(path), str(tmp_path.resolve()))
    assert (done.returncode, done.stderr) == (0, "")
    assert path.with_name("x.db-journal").stat().st_size > 0
    reader = open_reader(path)
    assert reader.execute("SELECT min(x), count(*) FROM t").fetchone()[:] == (1, 20000)
    reader.close()


@given(st.floats(0, 60), st.floats(0, 60))
def test_who_has_waited_longer_asks_no_less_often(one: float, other: float) -> None:
    """The pause before a lock is asked for again shrinks with the time waited, within bounds that cost no processor."""
    shorter, longer = sorted((one, other))
    assert 0.0005 <= pause_before_asking_again(longer) <= pause_before_asking_again(shorter) <= 0.004


def test_the_busy_timeout_is_as_it_was(path: Path) -> None:
    """Waiting for a turn leaves the connection's own timeout alone, whether the turn came or not."""
    holder, other = open_writer(path, create=True), open_writer(path, timeout=0.2)
    with pytest.raises(StoreBusy), write_transaction(holder, path), write_transaction(other, path):
        raise AssertionError("two writers at once")
    with write_transaction(other, path):
        assert other.execute("PRAGMA busy_timeout").fetchone()[0] == 200
    assert other.execute("PRAGMA busy_timeout").fetchone()[0] == 200
    holder.close()
    other.close()
