"""Contract 4.5: a process killed at any instant loses no acknowledged write and leaves a file that passes its check.

Two processes save, publish, take files in and search on one file without a pause. Ten kills; ``ARR_DEEP=1`` makes it 300,
thirty to a file. After each kill every acknowledgement is looked up and `arr db check` runs, while the process that was
left alive works on. ``pytest -s`` shows the counts.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

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
FILES, KILLS = (10, 30) if DEEP else (1, 10)
STEPS = (*WRITES, "search")
LONGEST = 0.4  # seconds from the first step to the kill; a step takes about 10 ms


@pytest.mark.parametrize("number", range(FILES))
def test_no_kill_loses_what_was_acknowledged(number: int, tmp_path: Path) -> None:
    """SIGKILL to one of two processes, or to both, at random instants: nothing lost, nothing half there, chain intact."""
    path = new_file(tmp_path)
    chance = random.Random(20260311 + number)
    started: list[Process] = []

    def start() -> Process:
        started.append(Process(path, f"p{len(started)}", STEPS))
        return started[-1]

    alive, spare = [start(), start()], [start(), start()]
    kills = both = 0
    with all_ended(started):
        while kills < KILLS:
            for process in alive:
                process.go()
            time.sleep(chance.uniform(0, LONGEST))
            victims = list(alive) if chance.random() < 0.25 else [chance.choice(alive)]
            for process in victims:
                process.kill()
            kills, both = kills + len(victims), both + (len(victims) == 2)
            acknowledged = [done for process in started for done in process.acknowledged()]
            assert losses(path, acknowledged) == []
            assert incomplete_records(path) == []
            assert problems(path) == []
            for process in victims:  # the spare one has its modules loaded, so that the next instant is soon
                alive[alive.index(process)] = spare.pop(0)
                spare.append(start())
        for process in alive:
            process.go()
        time.sleep(LONGEST)
        for process in alive:
            process.stop()
    acknowledged = [done for process in started for done in process.acknowledged()]
    print(f"\n{kills} kills ({both} times of both at once); acknowledged: {counts(acknowledged)}; lost: 0")
    assert (losses(path, acknowledged), incomplete_records(path), problems(path)) == ([], [], [])
    assert {done["step"] for done in acknowledged} == set(STEPS)
