"""A power cut between any two syncs: the file passes its check and holds a prefix of the log with all that was acknowledged.

Simulated: :mod:`tests.promises.recorded_disk` says how, and what it assumes of the disk. 40 cuts, with ``ARR_DEEP=1`` 1,000.
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_reader
from arr_sql.database import ResearchDatabase
from arr_sql.errors import ArrError
from tests.conftest import SCOPE, FakeEmbedder
from tests.promises.recorded_disk import Disk, Note, apply, library, survivors
from tests.promises.shared_file import ROOT, losses, problems

CUTS = 1_000 if os.environ.get("ARR_DEEP") == "1" else 40
SECRET = "the dodo laid one egg per year"

WORK = """
import pickle, sys
from pathlib import Path
from tests.conftest import SCOPE, FakeEmbedder
from tests.promises.recorded_disk import record
from tests.promises.test_power_cut import SECRET
from tests.promises.worker import Worker

path = Path(sys.argv[1])
with record() as notes:
    def acknowledge(done):
        notes.append(("ack", "", done))

    from arr_sql.database import ResearchDatabase
    ResearchDatabase.create(path, SCOPE, project_folder=path.parents[1], actor="ana", embedder=FakeEmbedder).close()
    acknowledge({"created": True})
    given = {"path": str(path), "scope": SCOPE.model_dump(), "name": "ana"}
    for turn in range(3):  # closing the last connection moves the WAL into the file and deletes it
        worker = Worker({**given, "name": f"ana{turn}"})
        worker.database._write().execute("PRAGMA wal_autocheckpoint=40")  # so that a short run has many
        for number in range(12):
            worker.number += 1
            acknowledge(getattr(worker, ("save", "publish", "ingest", "search")[number % 4])())
        if turn == 1:
            worker.database.add_memory(memory_id="dodo", title="Dodo", content=SECRET)
            acknowledge({"memory": "dodo"})
        if turn == 2:
            worker.database.rebuild()
            acknowledge({"forgetting": "dodo"})
            worker.database.forget(memory_ids=["dodo"])
            acknowledge({"forgotten": "dodo"})
        worker.database.close()
Path(sys.argv[2]).write_bytes(pickle.dumps(notes))
"""


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> list[Note]:
    """A run of one process, with everything that SQLite asked of the disk. In a process of its own: it changes SQLite."""
    if library() is None:
        pytest.skip("this SQLite library hides the functions through which its disk could be watched")
    folder = tmp_path_factory.mktemp("recorded")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WORK, str(folder / ".arr" / "arr.db"), str(folder / "notes.pickle")],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found: list[Note] = pickle.loads((folder / "notes.pickle").read_bytes())
    return found


def chain(path: Path) -> list[str]:
    """The hashes of the audit log in order."""
    reader = open_reader(path)
    try:
        return [row[0] for row in reader.execute("SELECT hash FROM audit_event ORDER BY seq")]
    finally:
        reader.close()


def write_out(files: dict[str, bytes], folder: Path) -> Path:
    """The files of a state in a folder of their own; the database's path. No -shm: it is memory, and a cut takes it."""
    (folder / ".arr").mkdir(parents=True)
    for name, data in files.items():
        (folder / ".arr" / Path(name).name).write_bytes(data)
    return folder / ".arr" / "arr.db"


def test_a_cut_between_any_two_syncs(notes: list[Note], tmp_path: Path) -> None:
    """Of what was not synced any part may be there, torn at any sector: what was acknowledged is, and the rest is whole."""
    chance = random.Random(20260312)
    disk, at = Disk(), sorted(chance.sample(range(len(notes)), min(CUTS, len(notes))))
    final = chain(write_out({name: bytes(data) for name, data in played(notes).certain.items()}, tmp_path / "final"))
    acknowledged: list[dict[str, Any]] = []
    seen: Counter[str] = Counter()
    for number, note in enumerate(notes):
        disk.take(note)
        if note[0] == "ack":
            acknowledged.append(note[2])
            if "forgetting" in note[2]:  # from here on it may be gone
                acknowledged.remove({"memory": "dodo"})
        if at and number == at[0]:
            at.pop(0)
            path = write_out(disk.after_a_cut(chance), tmp_path / f"cut{number}")
            seen[check_state(path, acknowledged, final)] += 1
            seen["with something unsynced"] += any(disk.asked.values())
    kinds = Counter(note[0] for note in notes)
    print(f"\n{len(notes):,} notes ({dict(kinds)}), {CUTS} cuts: {dict(seen)}; lost: 0, damaged: 0")
    assert seen["whole"] > CUTS / 2 and seen["with something unsynced"] > CUTS / 4


def played(notes: list[Note]) -> Disk:
    """The disk after everything, with nothing left to sync."""
    disk = Disk()
    for note in notes:
        disk.take(note)
    for path in list(disk.asked):
        disk.take(("sync", path))
    return disk


def check_state(path: Path, acknowledged: list[dict[str, Any]], final: list[str]) -> str:
    """Everything that must hold of one state; which of two cases it was."""
    if not acknowledged:  # cut while the file was made: making it again must work
        try:
            ResearchDatabase.create(
                path, SCOPE, project_folder=path.parents[1], actor="ana", embedder=FakeEmbedder
            ).close()
        except ArrError as error:
            raise AssertionError(f"{path} can't be made again") from error
        assert problems(path) == []
        return "made again"
    assert problems(path) == []
    assert losses(path, acknowledged) == []
    log = chain(path)
    assert log == final[: len(log)]
    return "whole"


def test_without_syncs_the_same_cuts_do_damage(notes: list[Note], tmp_path: Path) -> None:
    """The test above can fail: were nothing ever synced, the same cuts would lose or damage what was acknowledged."""
    chance, bad = random.Random(3), 0
    asked: dict[str, list[Note]] = {}
    acknowledged: list[dict[str, Any]] = []
    final = chain(write_out({name: bytes(data) for name, data in played(notes).certain.items()}, tmp_path / "final"))
    at = set(chance.sample(range(len(notes) // 3, 2 * len(notes) // 3), 10))
    for number, note in enumerate(notes):
        if note[0] == "ack":
            acknowledged.append(note[2])
        elif note[0] != "sync":
            asked.setdefault(note[1], []).append(note)
        if number in at:
            states = {path: apply(None, list(survivors(waiting, "some", chance))) for path, waiting in asked.items()}
            path = write_out({name: bytes(data) for name, data in states.items() if data}, tmp_path / f"cut{number}")
            try:
                check_state(path, acknowledged, final)
            except (AssertionError, ArrError):
                bad += 1
    assert bad == len(at)


def test_what_was_forgotten_does_not_come_back(notes: list[Note]) -> None:
    """After an erasure that was acknowledged, no state that a cut may leave holds the erased text."""
    chance, disk, held = random.Random(4), Disk(), False
    text = SECRET.encode()
    for number, note in enumerate(notes):
        disk.take(note)
        held = held or any(text in data for data in disk.certain.values())
        if note == ("ack", "", {"forgotten": "dodo"}):
            for _ in range(50):
                assert not [name for name, data in disk.after_a_cut(chance).items() if text in data], f"note {number}"
    assert held
