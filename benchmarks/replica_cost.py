"""What does a running copy cost the writer, and how large does the WAL grow?

    python -m benchmarks.replica_cost [--writes 1500]

The same writes into three new files: without a copy, with one, and with one while SQLite's own checkpoints are switched off
(``wal_autocheckpoint=0``, which Litestream's pages recommend for very many writes). Prints the time of one acknowledged
write and the largest WAL seen. Litestream looks every second and lets SQLite restart the WAL when it has copied all of it.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase

SCOPE = ScopeKey(team_id="t", project_id="p", repository="r", branch="main", experiment_environment="e")
TEXT = "the warmup schedule of run seven diverged at step nine hundred " * 12


def measure(folder: Path, writes: int, *, is_copied: bool, autocheckpoint: int | None) -> tuple[float, float, float]:
    """Median and 99th percentile of a write in ms, and the largest WAL in MB."""
    subprocess.run(
        [sys.executable, "-m", "arr_sql", "init", "--team", "t", "--name", "p"], cwd=folder, capture_output=True
    )
    path = folder / ".arr" / "arr.db"
    command = [sys.executable, "-m", "arr_sql", "replica", "start", str(folder.with_name(folder.name + "-copy"))]
    with ResearchDatabase.create(path, SCOPE, project_folder=folder, actor="b", embedder=lambda: None) as database:
        copying = None
        if is_copied:
            copying = subprocess.Popen(
                [*command, "--db", str(path)], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
            )
            assert copying.stderr is not None
            while b"is in the store" not in (line := copying.stderr.readline()):
                assert line, "the copy did not begin"
        if autocheckpoint is not None:
            database._write().execute(f"PRAGMA wal_autocheckpoint={autocheckpoint}")
        times, largest, wal = [], 0, path.with_name("arr.db-wal")
        for number in range(writes):
            begun = time.perf_counter()
            database.add_memory(title=f"Note {number}", content=TEXT)
            times.append(1000 * (time.perf_counter() - begun))
            largest = max(largest, wal.stat().st_size)
            time.sleep(0.002)
        if copying is not None:
            copying.send_signal(signal.SIGTERM)
            copying.communicate()
    return statistics.median(times), statistics.quantiles(times, n=100)[98], largest / 1e6


def main() -> None:
    """Measure the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writes", type=int, default=1500)
    options = parser.parse_args()
    print("copy  own checkpoints  write p50 ms  p99 ms  largest WAL MB")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for number, (is_copied, pages) in enumerate(((False, None), (True, None), (True, 0))):
            folder = Path(name) / f"f{number}"
            folder.mkdir()
            middle, high, wal = measure(folder, options.writes, is_copied=is_copied, autocheckpoint=pages)
            print(
                f"{'yes' if is_copied else 'no':4}  {'off' if pages == 0 else 'on':15}  {middle:12.2f}  {high:6.1f}  {wal:14.1f}"
            )


if __name__ == "__main__":
    main()
