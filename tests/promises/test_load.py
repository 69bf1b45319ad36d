"""Contract 4.6: writers and readers at once. No error reaches a caller, no row is lost, every retrieval record is complete.

Two writers and two readers for four seconds; ``ARR_DEEP=1`` makes it 60 seconds and adds eight of each. The readers'
waiting times, alone and beside the writers, are printed (``pytest -s``) and never judged: they belong to the machine.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_reader
from arr_sql.database import ResearchDatabase
from tests.conftest import SCOPE, FakeEmbedder
from tests.promises.shared_file import (
    WRITES,
    Process,
    all_ended,
    counts,
    incomplete_records,
    losses,
    new_file,
    problems,
)

DEEP = os.environ.get("ARR_DEEP") == "1"
SECONDS = 60.0 if DEEP else 4.0
PAUSE = 0.02
"""Between two steps of one process. People and agents pause; without it, eight busy loops on two cores measure the cores."""


@dataclass(frozen=True)
class Load:
    """What the processes did, and the readers' times in milliseconds by when a search began."""

    acknowledged: list[dict[str, Any]]
    idle: list[float]
    loaded: list[float]
    writes: list[float]


def run_load(path: Path, writers: int, readers: int, seconds: float, pause: float = PAUSE) -> Load:
    """Readers alone for a quarter of the time, then ``seconds`` of both. Every process must end well and say nothing."""
    options: Any = {"pause": pause, "is_synced": False}
    of_readers = [Process(path, f"reader{number}", ["search"], **options) for number in range(readers)]
    of_writers = [Process(path, f"writer{number}", WRITES, **options) for number in range(writers)]
    everybody = [*of_writers, *of_readers]
    with all_ended(everybody):
        for process in everybody:
            process.wait_until_ready()
        for process in of_readers:
            process.go()
        time.sleep(seconds / 4)
        begun = time.monotonic()
        for process in of_writers:
            process.go()
        time.sleep(seconds)
        ended = time.monotonic()
        for process in everybody:
            process.stop()
    searches = [done for process in of_readers for done in process.acknowledged()]
    written = [done for process in of_writers for done in process.acknowledged()]
    return Load(
        [*written, *searches], [done["ms"] for done in searches if done["begun"] < begun],
        [done["ms"] for done in searches if begun <= done["begun"] < ended], [done["ms"] for done in written],
    )  # fmt: skip


def quantile(values: list[float], part: float) -> float:
    """The value below which this part of them lies."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def shown(name: str, values: list[float]) -> str:
    """One line of the table."""
    return f"  {name:20} {len(values):7,} calls   p50 {quantile(values, 0.5):7.1f} ms   p99 {quantile(values, 0.99):7.1f} ms"


@pytest.mark.parametrize("many", [2, 8] if DEEP else [2])
def test_writers_and_readers(many: int, tmp_path: Path) -> None:
    """As many writers as readers: what each acknowledged is there, complete and vouched for, and counts have no gap."""
    path = new_file(tmp_path)
    with ResearchDatabase(path, SCOPE, project_folder=tmp_path, actor="tester", embedder=FakeEmbedder) as database:
        (tmp_path / "notes").mkdir()
        for number in range(20):
            (tmp_path / "notes" / f"{number}.md").write_text(
                f"# Note {number}\n\nrouter budget word{number}\n", "utf-8"
            )
        database.add(tmp_path / "notes")
        database.embed()
    load = run_load(path, many, many, SECONDS)
    print(f"\n{many} writers and {many} readers for {SECONDS:.0f} s: {counts(load.acknowledged)}")
    print(
        shown("readers alone", load.idle), shown("readers beside", load.loaded), shown("writers", load.writes), sep="\n"
    )
    print(f"  readers' p99 beside writers / alone: {quantile(load.loaded, 0.99) / quantile(load.idle, 0.99):.1f}")
    assert (losses(path, load.acknowledged), incomplete_records(path), problems(path)) == ([], [], [])
    reader = open_reader(path)
    for table in ("retrieval", "audit_event"):
        statement = f"SELECT count(*), max(scope_seq), min(scope_seq) FROM {table} WHERE scope_id = 1"
        held, highest, lowest = reader.execute(statement).fetchone()
        assert (held, lowest) == (highest, 1)
    reader.close()
    assert {done["step"] for done in load.acknowledged} == {*WRITES, "search"}
