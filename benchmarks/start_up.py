"""How long does a command take from a cold process, beside the least that a click program takes?

    python -m benchmarks.start_up [--rounds 15] [--chunks 10000] [--work FOLDER] [--json FILE]

``import click`` is ``python -c "import click"``, which a click program can't undercut; ``arr search QUESTION`` runs in a project
of 10,000 chunks without vectors, its record written. Each round starts every command once, in random order, so that a
busy moment hits all alike. Wall time, and the processor time of the started process; ratios are of medians. The modules'
bytecode is kept, as it is wherever a package is installed, even where this process is told not to write any.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from arr_sql.core.project import find_project
from arr_sql.database import ResearchDatabase
from benchmarks.corpus import Corpus
from benchmarks.stores import default_folder, source_folder

CLICK, HELP, SEARCH = "python -c 'import click'", "arr --help", "arr search QUESTION"
NAME = "project"
COMMANDS = {
    CLICK: ["-c", "import click"],
    HELP: ["-m", "arr_sql", "--help"],
    SEARCH: ["-m", "arr_sql", "search"],
    SEARCH + " --json": ["-m", "arr_sql", "search", "--json"],
}


def project(chunks: int, work: Path) -> Path:
    """A project of ``chunks`` generated chunks without vectors. Made on the first call.

    Its scope's repository is the folder's name, so its copies have to be called the same.
    """
    folder = work / f"start-up-{chunks}" / NAME
    if not folder.is_dir():
        unfinished = work / f"start-up-{chunks}.making" / NAME
        shutil.rmtree(unfinished.parent, ignore_errors=True)
        shutil.copytree(source_folder(chunks, work), unfinished / "notes")
        run = [sys.executable, "-m", "arr_sql"]
        for command in (["init"], ["add", "notes", "--no-embed"]):
            subprocess.run([*run, *command], cwd=unfinished, check=True, capture_output=True)
        unfinished.parent.rename(folder.parent)
    found = find_project(folder)
    with ResearchDatabase.create(found.database, found.scope):  # of an older version: brought up to date
        return folder


def started(arguments: list[str], cwd: Path) -> tuple[float, float]:
    """Wall and processor seconds of one process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, begun = os.times(), time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - begun, os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def measure(rounds: int, folder: Path) -> dict[str, dict[str, float]]:
    """Milliseconds of each command, medians with the lower and upper quartile."""
    rng, asker = random.Random(1), Corpus(13)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for number in range(-1, rounds):  # the first round warms the disk's cache and is not counted
        question = asker.question()
        for name in rng.sample(list(COMMANDS), len(COMMANDS)):
            more = [question] if "search" in name else []
            took = started([*COMMANDS[name], *more], folder)
            if number >= 0:
                spent[name].append(took)
    found = {}
    for name, times in spent.items():
        low, middle, high = statistics.quantiles([1000 * wall for wall, _ in times], n=4)
        processor = statistics.median(1000 * used for _, used in times)
        found[name] = {"p25_ms": low, "p50_ms": middle, "p75_ms": high, "processor_p50_ms": processor}
    return found


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--work", type=Path, default=default_folder())
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / NAME
        shutil.copytree(project(options.chunks, options.work), copy)
        figures = measure(options.rounds, copy)
    ratios: dict[str, Any] = {}
    for name, value in figures.items():
        ratios[name] = {key: value[key] / figures[CLICK][key] for key in ("p50_ms", "processor_p50_ms")}
        print(
            f"{name:28} p50 {value['p50_ms']:7.1f} ms ({value['p25_ms']:.1f} to {value['p75_ms']:.1f}),"
            f" processor {value['processor_p50_ms']:6.1f} ms: {ratios[name]['p50_ms']:.2f} times"
            f" (processor {ratios[name]['processor_p50_ms']:.2f})"
        )
    if options.json:
        options.json.write_text(
            json.dumps({"chunks": options.chunks, "figures": figures, "ratios": ratios}, indent=1) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main()
