"""Killed, stopped, or out of disk: what was acknowledged is kept, nothing is half there, the next run completes."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arr_sql.core.connection import Connection, open_reader, open_writer, store_errors, write_transaction
from arr_sql.database import ResearchDatabase
from arr_sql.errors import StoreError, StoreFull
from arr_sql.ingest.sync import BATCH_FILES
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, FakeEmbedder, StepClock

FILES = 300
KILLS = 10


def arr(folder: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the real command line in ``folder``."""
    command = [sys.executable, "-m", "arr_sql", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, **options
    )  # type: ignore[call-overload,no-any-return]


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "arr_sql", *arguments]
    return subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def note_text(turn: int, number: int) -> str:
    words = random.Random(1000 * turn + number).choices([f"word{n}" for n in range(2000)], k=60)
    return f"# Note {number} of turn{turn}\n\n{' '.join(words[:30])}\n\n## Second part\n\n{' '.join(words[30:])}\n"


def write_notes(folder: Path, turn: int) -> None:
    (folder / "notes").mkdir(exist_ok=True)
    for number in range(FILES):
        (folder / "notes" / f"n{number:03}.md").write_text(note_text(turn, number), "utf-8")


def live_notes(path: Path) -> dict[str, tuple[str, int, int]]:
    """Of each live source: the hash of its bytes, how many chunks it should have, and how many live ones there are."""
    reader = open_reader(path)
    try:
        rows = reader.execute(
            "SELECT v.source_ref, v.content_hash, v.n_chunks, (SELECT count(*) FROM chunk AS c "
            "WHERE c.source_id = v.source_id AND c.retired_revision IS NULL) FROM source_version AS v "
            "WHERE v.retired_revision IS NULL"
        )
        return {row[0]: (row[1], row[2], row[3]) for row in rows}
    finally:
        reader.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with 300 notes that have not been added yet."""
    folder = tmp_path / "lab"
    folder.mkdir()
    write_notes(folder, 0)
    assert arr(folder, "init", "--team", "vision", "--name", "lumen").returncode == 0
    return folder


def test_a_kill_at_any_instant_loses_nothing_acknowledged(project: Path) -> None:
    """After SIGKILL at ten random instants the file passes `arr db check`, no file is half present, and sync completes."""
    path = project / ".arr" / "arr.db"
    begun = time.monotonic()
    assert arr(project, "add", "--no-embed", "notes").returncode == 0
    whole_run = time.monotonic() - begun
    chance = random.Random(7)
    acknowledged: dict[str, tuple[str, int, int]] = live_notes(path)
    assert len(acknowledged) == FILES
    for turn in range(1, KILLS + 1):
        write_notes(project, turn)
        process = start(project, "add", "--no-embed", "notes")
        time.sleep(chance.uniform(0.1, 1.0) * whole_run)
        process.kill()
        process.communicate()
        report = check_store(path)
        assert [finding for finding in report.findings if not finding.passed] == []
        now = live_notes(path)
        assert set(now) == set(acknowledged)
        for name, (content_hash, expected, held) in now.items():
            new = hashlib.sha256((project / name).read_bytes()).hexdigest()
            assert content_hash in (acknowledged[name][0], new), f"{name} is neither the old nor the new version"
            assert held == expected, f"{name} has {held} chunks of {expected}"
        acknowledged = now
    last = arr(project, "sync", "--no-embed")
    assert (last.returncode, last.stderr) == (0, "")
    hashes = {name: content_hash for name, (content_hash, _, _) in live_notes(path).items()}
    assert hashes == {
        f"notes/n{n:03}.md": hashlib.sha256(note_text(KILLS, n).encode()).hexdigest() for n in range(FILES)
    }
    assert check_store(path).passed


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to another process is a POSIX thing")
def test_ctrl_c_stops_in_order(project: Path) -> None:
    """SIGINT in the middle of taking files in exits with 130 and one line, and the next sync goes on to the end."""
    path = project / ".arr" / "arr.db"
    total = 2 * BATCH_FILES + 100
    for number in range(FILES, total):
        (project / "notes" / f"n{number}.md").write_text(f"# Note {number}\n\nword{number}\n", "utf-8")
    holder = open_writer(path)
    process = start(project, "add", "--no-embed", "notes")
    while process.poll() is None:
        holder.execute("BEGIN IMMEDIATE")  # while this is held the process gets no further than the batch that is seen
        if live_notes(path):
            break
        holder.execute("ROLLBACK")
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    holder.execute("ROLLBACK")
    holder.close()
    assert (process.returncode, errors.strip("\n")) == (
        130,
        "Stopped. What was acknowledged is kept; run the command again to go on.",
    )
    kept = live_notes(path)
    assert 0 < len(kept) < total
    assert check_store(path).passed
    again = arr(project, "sync", "--no-embed")
    assert (
        f"Files: {total - len(kept)} added, 0 changed, 0 renamed, 0 removed, 0 touched, {len(kept)} unchanged."
        in again.stdout
    )
    assert len(live_notes(path)) == total


# --- No space left ----------------------------------------------------------------------------------------------------


class SmallDisk(ResearchDatabase):
    """A database whose file may grow by ``room`` pages and not one more: SQLite answers SQLITE_FULL, as a full disk does."""

    room: int | None = None

    def _write(self) -> Connection:
        connection = super()._write()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={1 << 30 if self.room is None else pages + self.room}")
        return connection


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A database with file A in it, on a disk that can be made full."""
    (tmp_path / "a.md").write_text("# A\n\nalphaword is here.\n", "utf-8")
    database = SmallDisk.create(
        tmp_path / ".arr" / "arr.db",
        SCOPE,
        project_folder=tmp_path,
        actor="tester",
        clock=StepClock(),
        embedder=FakeEmbedder,
    )
    assert database.add(tmp_path / "a.md").added == ["a.md"]
    yield database
    database.close()


def rows_of(path: Path) -> dict[str, int]:
    """How many rows each content table has, and how many terms the text index."""
    reader = open_reader(path)
    try:
        names = (
            "source",
            "source_version",
            "chunk",
            "chunk_embedding",
            "audit_event",
            "source_stat",
            "memory",
            "chunk_term",
        )
        return {name: reader.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
    finally:
        reader.close()


def big_text(parts: int) -> str:
    """About 1,200 bytes a part."""
    return "\n\n".join(f"# Part {n}\n\nbetaword {' '.join(f'term{n}x{i}' for i in range(120))}" for n in range(parts))


def test_a_full_disk_undoes_the_batch_and_keeps_the_rest(small_disk: SmallDisk, tmp_path: Path) -> None:
    """SQLITE_FULL in the middle of a file: a clear error, no trace of that file, the other still searchable."""
    (tmp_path / "notes").mkdir()
    small_disk.add(tmp_path / "notes")
    (tmp_path / "notes" / "b.md").write_text(big_text(200), "utf-8")
    before = rows_of(small_disk.path)
    small_disk.room = 20
    with pytest.raises(StoreFull, match=r"The disk that holds .* is full. The last step was undone; free some space"):
        small_disk.sync()
    after = rows_of(small_disk.path)
    assert after == before
    found = small_disk.search("alphaword", plan=one_channel("bm25"))
    assert [item.source_ref for item in found.evidence] == ["a.md"]
    assert small_disk.search("betaword", plan=one_channel("bm25")).evidence == ()
    assert check_store(small_disk.path).passed
    small_disk.room = None
    assert small_disk.sync().added == ["notes/b.md"]
    assert small_disk.search("betaword", plan=one_channel("bm25")).evidence[0].source_ref == "notes/b.md"
    assert check_store(small_disk.path).passed


def one_channel(name: str) -> dict[str, object]:
    return {"version": 1, "tool_rounds": [[{"tool": name}]], "reason": "test"}


def test_an_answer_does_not_need_room_for_its_record(small_disk: SmallDisk) -> None:
    """With not one page left a search still answers, and says that it could not be recorded."""
    small_disk.room = 0
    big = "alphaword " + " ".join(f"w{n}" for n in range(150))
    found = [small_disk.search(f"{big} {turn}", plan=one_channel("bm25")) for turn in range(40)]
    assert all([item.source_ref for item in result.evidence] == ["a.md"] for result in found)
    last = found[-1]
    assert (last.retrieval_id, [str(item.code) for item in last.degradations]) == ("unrecorded", ["record_not_written"])
    assert check_store(small_disk.path).passed


def test_full_rolls_back_by_itself_and_the_connection_goes_on(tmp_path: Path) -> None:
    """After SQLITE_FULL the connection is outside a transaction, and the next write on it works."""
    path = tmp_path / "x.db"
    connection = open_writer(path, create=True)
    connection.execute("CREATE TABLE t (x)")
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(StoreFull), write_transaction(connection, path):
        connection.execute("INSERT INTO t VALUES ('first')")
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    assert connection.in_transaction is False
    with write_transaction(connection, path):
        connection.execute("INSERT INTO t VALUES ('second')")
    assert [row[0] for row in connection.execute("SELECT x FROM t")] == ["second"]
    connection.close()


def test_a_limit_on_file_size_is_a_clear_error(project: Path) -> None:
    """When the system refuses to let the file grow (quota, `ulimit -f`), the command says so and the file is whole."""
    resource = pytest.importorskip("resource", reason="limits of a process are a POSIX thing")
    path = project / ".arr" / "arr.db"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100_000, resource.RLIM_INFINITY))

    result = arr(project, "add", "--no-embed", "notes", preexec_fn=limit)
    assert (result.returncode, len(result.stderr.splitlines())) == (1, 1)
    assert "The disk failed while reading or writing" in result.stderr or "is full" in result.stderr
    assert "Traceback" not in result.stderr
    assert check_store(path).passed
    assert arr(project, "sync", "--no-embed").returncode == 0
    assert len(live_notes(path)) == FILES


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """A real file system of 2 MiB, and a way to make it larger."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if sys.platform != "linux" or os.geteuid() != 0 or not mount or not umount:
        pytest.skip("mounting a file system of 2 MiB needs Linux and root")
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True).returncode:
        pytest.skip("this sandbox does not let root mount a tmpfs")

    def resize(size: str) -> None:
        subprocess.run([mount, "-o", f"remount,size={size}", str(folder)], check=True)

    yield folder, resize
    subprocess.run([umount, "-l", str(folder)], check=True)


def test_a_real_full_disk(tiny_disk: tuple[Path, Callable[[str], None]], tmp_path: Path) -> None:
    """On a file system of 2 MiB a larger file stops with one line; the rest answers; with more room it completes."""
    disk, resize = tiny_disk
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "a.md").write_text("# A\n\nalphaword is here.\n", "utf-8")
    assert arr(disk, "init", "--team", "vision", "--name", "lumen").returncode == 0
    assert arr(disk, "add", "--no-embed", str(sources)).returncode == 0
    (sources / "b.md").write_text(big_text(700), "utf-8")
    full = arr(disk, "sync", "--no-embed")
    assert (full.returncode, full.stderr.count("\n")) == (1, 1)
    assert "is full. The last step was undone; free some space and run it again." in full.stderr
    found = arr(disk, "search", "alphaword", "--json")
    assert (found.returncode, '"source_ref": "sources/a.md"' in found.stdout) == (0, True)
    assert list(live_notes(disk / ".arr" / "arr.db")) == ["sources/a.md"]
    assert arr(disk, "db", "check").returncode == 0
    resize("64m")
    assert arr(disk, "sync", "--no-embed").returncode == 0
    assert [name for name, (_, expected, held) in sorted(live_notes(disk / ".arr" / "arr.db").items()) if held == expected > 0] == [
        "sources/a.md", "sources/b.md",
    ]  # fmt: skip
    assert arr(disk, "db", "check").returncode == 0


def test_errors_of_the_disk_are_store_errors(tmp_path: Path) -> None:
    """A full disk is a StoreError like the others, so one handler is enough."""
    with pytest.raises(StoreError), store_errors(tmp_path):
        raise StoreFull("x")
