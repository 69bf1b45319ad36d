"""What does a project cost before it holds anything, and what do a thousand project files cost?

    python -m benchmarks.fleet_of_files [--files 1000] [--json FILE]

Measured: the size of a new store; the time from opening one to its first answer and closing it again, in a process that
has all modules loaded; and what a process pays to hold many of them open at once (memory, file descriptors).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from arr_sql.database import ResearchDatabase
from benchmarks.stores import scope


def resident() -> int:
    """Resident bytes of this process."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def descriptors() -> int | None:
    """How many files this process holds open, where that can be told."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else None


def measure(folder: Path, files: int) -> dict[str, Any]:
    """Figures of one file and of all."""
    (folder / "a.md").write_text("# One note\n\nthe warmup run\n", "utf-8")
    first = folder / "first.db"
    started = time.perf_counter()
    with ResearchDatabase.create(first, scope(), project_folder=folder, embedder=lambda: None):
        created = time.perf_counter() - started
    empty = first.stat().st_size
    with ResearchDatabase.create(first, scope(), project_folder=folder, embedder=lambda: None) as database:
        database.add(folder / "a.md")
        database.search("warmup")
        database._write().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    paths = [folder / f"{number}.db" for number in range(files)]
    for path in paths:
        shutil.copy(first, path)
    opened: list[float] = []
    for path in paths[: min(100, files)]:
        started = time.perf_counter()
        with ResearchDatabase(path, scope(), project_folder=folder, embedder=lambda: None) as database:
            database.search("warmup", write_record=False)
        opened.append(time.perf_counter() - started)
    before, held = (resident(), descriptors()), []
    limit = _room_for_descriptors()
    try:
        for path in paths:
            held.append(ResearchDatabase(path, scope(), project_folder=folder, embedder=lambda: None))
            if limit is not None and (descriptors() or 0) > limit - 50:
                break
        after = resident(), descriptors()
    finally:
        for database in held:
            database.close()
    return {
        "files": files, "created_ms": 1000 * created, "empty_bytes": empty, "one_note_bytes": first.stat().st_size,
        "opened_ms": 1000 * statistics.median(opened), "held_open": len(held),
        "bytes_each": (after[0] - before[0]) / len(held),
        "descriptors_each": None if after[1] is None or before[1] is None else (after[1] - before[1]) / len(held),
    }  # fmt: skip


def _room_for_descriptors() -> int | None:
    """How many files this process may hold open; raised as far as it may be."""
    if sys.platform == "win32":
        return None
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else None


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        report = measure(Path(name), options.files)
    for key, value in report.items():
        print(f"{key:18} {value:,.1f}" if isinstance(value, float) else f"{key:18} {value:,}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
