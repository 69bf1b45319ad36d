"""What reading on all cores gains: one folder added with and without worker processes, and are the stores the same?

    python -m benchmarks.parallel_reading [FOLDER] [--workers 2 4]

FOLDER defaults to Python's standard library. Wall time depends on what else runs; the CPU column does not.
"""

from __future__ import annotations

import argparse
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
import sys
from pathlib import Path
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
scope = ScopeKey(team_id="t", project_id="p", repository="r", branch="b", experiment_environment="e")
folder = Path(sys.argv[1])
with ResearchDatabase.create(folder / "a.db", scope, project_folder=folder) as database:
    summary = database.add(sys.argv[2])
print(len(summary.added), summary.bytes_read)
"""


def add(target: Path, workers: int) -> tuple[float, float, str, list[tuple[object, ...]]]:
    """Wall seconds, CPU seconds of all processes, what was read, and every chunk."""
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
        return wall, cpu, ran.stdout.strip(), rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(sysconfig.get_path("stdlib")))
    parser.add_argument("--workers", nargs="*", type=int, default=[2])
    options = parser.parse_args()
    wall, cpu, read, rows = add(options.folder, 0)
    print(f"{read} (files, bytes), {len(rows)} chunks, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"workers 0: {wall:6.1f} s, CPU {cpu:6.1f} s")
    for workers in options.workers:
        other_wall, other_cpu, _, other = add(options.folder, workers)
        same = "the same store" if other == rows else "ANOTHER STORE"
        print(
            f"workers {workers}: {other_wall:6.1f} s, CPU {other_cpu:6.1f} s, {wall / other_wall:.2f} times as fast, {same}"
        )


if __name__ == "__main__":
    main()
