"""What reading on all cores gains: one folder added with and without worker processes, and are the stores the same?

    python -m benchmarks.parallel_reading [FOLDER] [--workers 2 4] [--json FILE]

FOLDER defaults to Python's standard library. Wall time depends on what else runs. Processor time depends less on it: what
it allows on two idle cores is the one process's time over the larger of the writer's time and half of all of it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from arr_sql.core.connection import open_reader

PROGRAM = """
import sys, time
from pathlib import Path
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
scope = ScopeKey(team_id="t", project_id="p", repository="r", branch="b", experiment_environment="e")
folder = Path(sys.argv[1])
with ResearchDatabase.create(folder / "a.db", scope, project_folder=folder) as database:
    summary = database.add(sys.argv[2])
print(time.process_time(), len(summary.added), summary.bytes_read)
"""


def add(target: Path, workers: int) -> tuple[float, float, float, str, list[tuple[object, ...]]]:
    """Wall seconds, CPU seconds of all processes and of the one that writes, what was read, and every chunk."""
    with tempfile.TemporaryDirectory() as folder:
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, folder, str(target)], capture_output=True, text=True, check=True,
            env={**os.environ, "ARR_WORKERS": str(workers)},
        )  # fmt: skip
        wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        reader = open_reader(Path(folder) / "a.db")
        rows = [
            tuple(row)
            for row in reader.execute("SELECT id, chunk_id, locator, content_hash, terms_hash FROM chunk ORDER BY id")
        ]
        reader.close()
        own, _, read = ran.stdout.strip().partition(" ")
        return wall, cpu, float(own), read, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(sysconfig.get_path("stdlib")))
    parser.add_argument("--workers", nargs="*", type=int, default=[2])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wall, cpu, _, read, rows = add(options.folder, 0)
    print(f"{read} (files, bytes), {len(rows)} chunks, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"workers 0: {wall:6.1f} s, CPU {cpu:6.1f} s")
    table: list[list[object]] = [["one process", f"{wall:.1f} s, processor {cpu:.1f} s"]]
    for workers in options.workers:
        other_wall, other_cpu, writer, _, other = add(options.folder, workers)
        same = "the same store" if other == rows else "ANOTHER STORE"
        figure = f"{other_wall:.1f} s, processor {other_cpu:.1f} s, {same}"
        table.append([f"{workers} workers", figure, wall / other_wall, "one process (times as fast)"])
        print(
            f"workers {workers}: {other_wall:6.1f} s, CPU {other_cpu:6.1f} s, of them {writer:.1f} s in the process that writes; "
            f"{wall / other_wall:.2f} times as fast, by processor time {cpu / max(writer, other_cpu / 2):.2f}; {same}"
        )
    if options.json:
        options.json.write_text(json.dumps({"rows": table}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
