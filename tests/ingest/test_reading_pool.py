"""Reading on all cores changes how long a sync takes and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_reader
from arr_sql.errors import InputError
from arr_sql.ingest import reading_pool
from arr_sql.ingest.prepare import NotTaken, Prepared, prepare
from arr_sql.ingest.reading_pool import ReadingPool, worker_count
from arr_sql.memory.store_check import check_store
from tests.cli.support import environment
from tests.conftest import MakeDatabase

TEXTS = {
    "a.md": "# One\n\n" + "alpha beta gamma. " * 300, "b.py": "def f(x):\n    return x\n" * 40, "c.txt": "数据库检索测试\n" * 50,
    "d.csv": "a,b\n1,2\n", "e.bib": "@article{k, title={T}}\n", "f.json": '{"a": [1, 2]}\n', "empty.md": "", "g.md": "gone\n",
}  # fmt: skip


def same(one: Prepared | NotTaken, two: Prepared | NotTaken) -> bool:
    """Equal but for the moment."""
    drop = {"read_at_ns"}
    return {k: v for k, v in vars(one).items() if k not in drop} == {
        k: v for k, v in vars(two).items() if k not in drop
    }


def test_a_worker_answers_as_this_process(tmp_path: Path) -> None:
    """Taken and refused files alike, in any order of finishing; a password arrives; no worker is left."""
    files = [*((name, text.encode()) for name, text in TEXTS.items()), ("x.unknown", b"x"), ("y.md", bytes(range(256)))]
    with ReadingPool(2) as pool:
        futures = [pool.submit(name, data, 7) for name, data in files * 3]
        answers = [future.result(60) for future in futures]
        assert not pool.is_broken
        processes = [worker._process for worker in pool._started]
    assert all(same(answer, prepare(name, data, 7)) for answer, (name, data) in zip(answers, files * 3, strict=True))
    assert 1 <= len(processes) <= 2 and all(process.poll() is not None for process in processes)


def fill(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number in range(30):
        for name, text in TEXTS.items():
            (folder / f"{number}-{name}").write_text(
                text.replace("alpha", f"alpha{number}") + (f"{number}" if text else ""), "utf-8"
            )
    (folder / "binary.md").write_bytes(bytes(range(256)))


def age(folder: Path) -> None:
    """One old time for all: an event's hash covers times, and files changed just now are read again by the next sync."""
    for path in folder.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))


def stored(path: Path) -> list[Any]:
    reader = open_reader(path)
    try:
        return [
            [tuple(row) for row in reader.execute(statement)]
            for statement in (
                "SELECT id, chunk_id, source_id, ordinal, locator, content_hash, terms_hash, added_revision, retired_revision "
                "FROM chunk ORDER BY id",
                "SELECT id, source_id, source_ref, content_hash, n_chunks, chunks_hash, added_revision FROM source_version ORDER BY id",
                "SELECT path_in_root, reason FROM source_left_out ORDER BY path_in_root",
                "SELECT seq, kind, subject_hash FROM audit_event ORDER BY seq",
            )
        ]
    finally:
        reader.close()


def test_the_store_is_the_same_byte_for_byte(
    make_database: MakeDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First sync and a second one with edits, renames, copies, a file that turns binary and deletions: ids, order, events."""
    fill(tmp_path / "notes")
    outcomes = []
    for workers in ("0", "3"):
        monkeypatch.setenv("ARR_WORKERS", workers)
        monkeypatch.setattr(
            "arr_sql.ingest.sync.BATCH_SECONDS", 1e9
        )  # batches by size alone: the clock is not the same twice
        folder = tmp_path / f"p{workers}"
        database = make_database(path=folder / "arr.db", folder=tmp_path)
        age(tmp_path / "notes")
        first = vars(database.add(tmp_path / "notes"))
        (tmp_path / "notes/3-a.md").rename(tmp_path / "notes/zz-moved.md")
        (tmp_path / "notes/4-a.md").write_bytes(bytes(range(256)))  # unfit now, and its old bytes stand in a new file
        (tmp_path / "notes/yy-copy.md").write_text(TEXTS["a.md"].replace("alpha", "alpha4") + "4", "utf-8")
        (tmp_path / "notes/5-b.py").write_text("x = 1\n", "utf-8")
        (tmp_path / "notes/6-c.txt").unlink()
        age(tmp_path / "notes")
        second = vars(database.sync())
        assert [finding for finding in check_store(database.path).findings if not finding.passed] == []
        outcomes.append((first, second, stored(database.path)))
        for name in ("zz-moved.md", "yy-copy.md"):
            (tmp_path / "notes" / name).unlink()
        for name in ("3-a.md", "4-a.md", "5-b.py", "6-c.txt"):
            number, kind = name.split("-")
            (tmp_path / "notes" / name).write_text(TEXTS[kind].replace("alpha", f"alpha{number}") + number, "utf-8")
    assert outcomes[0] == outcomes[1]
    assert sorted(outcomes[0][1]["renamed"]) == [
        ("notes/3-a.md", "notes/zz-moved.md"),
        ("notes/4-a.md", "notes/yy-copy.md"),
    ]


@pytest.mark.parametrize("fault", ["no interpreter", "dies", "nonsense"])
def test_without_workers_it_goes_on_here(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restricted machine, a process that ends, an answer that is none: every file is prepared all the same."""
    if fault == "no interpreter":
        monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    elif fault == "dies":
        monkeypatch.setattr(reading_pool, "_BOOT", "raise SystemExit(3)")
    else:
        monkeypatch.setattr(reading_pool, "_BOOT", "print('hello ' * 1000)")
    with ReadingPool(2) as pool:
        answers = [pool.submit(name, text.encode(), 7).result(60) for name, text in TEXTS.items()]
        assert pool.is_broken
    assert all(
        same(answer, prepare(name, text.encode(), 7))
        for answer, (name, text) in zip(answers, TEXTS.items(), strict=True)
    )


def test_a_reader_that_prints_spoils_nothing(tmp_path: Path) -> None:
    """What another package's code writes to standard output is no answer."""
    (tmp_path / "noisy.py").write_text("print('noise ' * 5000)\n", "utf-8")
    noisy = (
        "import arr_sql.ingest.reading_worker as w; real = w.prepare; "
        "w.prepare = lambda *a, **k: (print('noise' * 9999), real(*a, **k))[1]; main()"
    )
    boot = reading_pool._BOOT.replace("import main; main()", f"import main; {noisy}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading_pool, "_BOOT", boot)
        with ReadingPool(1) as pool:
            assert same(pool.submit("a.md", b"text\n", 7).result(60), prepare("a.md", b"text\n", 7))
            assert not pool.is_broken


def test_small_syncs_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few files or few bytes are read here; the variable decides where it is set."""
    many, much = reading_pool.MIN_FILES, reading_pool.MIN_BYTES
    assert (worker_count(many - 1, much), worker_count(many, much - 1)) == (0, 0)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert worker_count(many, much) == (0 if cores == 1 else min(cores, reading_pool.MAX_WORKERS))
    for value, expected in (("0", 0), ("1", 0), ("3", 3)):
        monkeypatch.setenv("ARR_WORKERS", value)
        assert worker_count(many, much) == expected


SCRIPT = """
import sys
from pathlib import Path
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
scope = ScopeKey(team_id="t", project_id="p", repository="r", branch="b", experiment_environment="e")
folder = Path(sys.argv[1])
database = ResearchDatabase.create(folder / "a.db", scope, project_folder=folder)
print("started", flush=True)
print(len(database.add(folder / "notes").added))
"""


def test_a_script_without_a_main_guard(tmp_path: Path) -> None:
    """Nobody's script is run a second time, whatever the start method of the system."""
    fill(tmp_path / "notes")
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing\nmultiprocessing.set_start_method('spawn')\n" + textwrap.dedent(SCRIPT), "utf-8"
    )
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env=environment(ARR_WORKERS="2"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "started\n240\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and process groups")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_stopped_in_the_middle(tmp_path: Path, number: int) -> None:
    """Ctrl-C and a kill leave a whole file and no worker behind; what was written stays."""
    (tmp_path / "notes").mkdir()
    for n in range(400):
        (tmp_path / f"notes/{n}.md").write_text(f"# {n}\n\n" + f"alpha{n} beta gamma. " * 400, "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], env=environment(ARR_WORKERS="2"), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "started\n"
    time.sleep(2)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.kill()
    process.wait(60)
    process.stdout.close()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except (ProcessLookupError, PermissionError):
            break
        time.sleep(0.1)
    else:
        pytest.fail("a worker is left")
    assert [finding for finding in check_store(tmp_path / "a.db").findings if not finding.passed] == []


@pytest.mark.parametrize(("given", "workers"), [("1", 0), ("0", 0), (" 3 ", 3), ("999999999999999999999", 64)])
def test_how_many_is_said(given: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment, within reason."""
    monkeypatch.setenv("ARR_WORKERS", given)
    assert worker_count(1, 1) == workers


@pytest.mark.parametrize("given", ["abc", "-1", "2.5", "٣"])
def test_what_is_no_number_of_processes(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said, not passed over."""
    monkeypatch.setenv("ARR_WORKERS", given)
    with pytest.raises(InputError, match="ARR_WORKERS"):
        worker_count(1, 1)
