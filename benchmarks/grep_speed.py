"""How fast is `arr grep` with a line index beside ripgrep, over the standard library and site-packages?

    python -m benchmarks.grep_speed [--packages FOLDER] [--each 6] [--rounds 7] [--rg PATH] [--work FOLDER] [--json FILE]

Both search the same files: a copy of what `arr grep` would search of the two folders (no `__pycache__`, no file with a
sensitive name), ripgrep with `--no-ignore --hidden`. Identifiers are drawn at random from the files, some from each class
of how many files hold them, and some that none holds. Each is asked of everybody in random order, so that a busy moment
hits all alike. ``warm`` is a process that is asked again (a library, an MCP server), ``cold`` the command `arr grep`.
Compared is also every line, with and without regard to case; a line that one of them lacks must have a reason (a credential,
an encoding or a binary file that is read otherwise), else the exit code is 1. ripgrep: extra ``bench``, or a path.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arr_sql
from arr_sql.core.decode import Decoded, decode
from arr_sql.core.redaction import has_secret, private_key_lines
from arr_sql.core.rooted import Root
from arr_sql.core.walk import Found, walk
from arr_sql.retrieval.line_values import SearchLimits
from benchmarks.stores import default_folder

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,40}")
CLASSES = ((1, 1), (2, 10), (11, 100), (101, 1000))
LIMITS = SearchLimits(max_results=10**6, max_bytes=1 << 40, max_files=10**6)
Lines = set[tuple[str, int]]


def prepare(project: Path, packages: Path) -> Path:
    """A project that trusts the folder ``tree``, filled after it was added: nothing but its lines is indexed."""
    tree = project / "tree"
    if not (project / "complete").exists():
        shutil.rmtree(project, ignore_errors=True)
        tree.mkdir(parents=True)
        for arguments in (("init", "--team", "bench", "--name", "grep"), ("add", "tree", "--no-embed")):
            subprocess.run([sys.executable, "-m", "arr_sql", *arguments], cwd=project, check=True, capture_output=True)
        for name, source in (("stdlib", Path(sysconfig.get_path("stdlib"))), ("site", packages)):
            with Root(source) as root:
                for row in walk(root):
                    if isinstance(row, Found):
                        target = tree / name / row.rel
                        target.parent.mkdir(parents=True, exist_ok=True)
                        shutil.copy2(source / row.rel, target)
        (project / "complete").touch()
    age = time.time() - (project / "complete").stat().st_mtime
    time.sleep(max(0.0, 2.5 - age))  # a file that changed within two seconds would be read each time
    return tree


def draw(tree: Path, each: int, rng: random.Random) -> dict[str, list[str]]:
    """Identifiers by class."""
    files: Counter[str] = Counter()
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            decoded = decode(path.read_bytes())
            if isinstance(decoded, Decoded):
                files.update(set(IDENTIFIER.findall(decoded.text)))
    drawn = {
        f"in {low}-{high} files" if high > low else "in 1 file": rng.sample(
            sorted(word for word, count in files.items() if low <= count <= high), each
        )
        for low, high in CLASSES
    }
    parts = sorted(
        {part for word in rng.sample(sorted(files), 500) for part in word.lower().split("_") if len(part) > 3}
    )
    made = (f"{one}_{two}" for one, two in zip(rng.sample(parts, 3 * each), rng.sample(parts, 3 * each), strict=True))
    return {**drawn, "in no file": [word for word in made if word not in files][:each]}


class Peer:
    """ripgrep on the tree."""

    def __init__(self, program: str, tree: Path) -> None:
        self.program, self._tree = program, tree

    def ask(self, needle: str, *, exact: bool = True) -> bytes:
        """Its output."""
        how = ["--case-sensitive" if exact else "--ignore-case", "--fixed-strings", "--line-number", "--no-heading"]
        ran = subprocess.run(
            [self.program, "--no-config", "--no-ignore", "--hidden", "--color", "never", *how, "--", needle, "."],
            cwd=self._tree, capture_output=True,
        )  # fmt: skip
        return ran.stdout

    def lines(self, needle: str, *, exact: bool) -> Lines:
        """The lines as (path, number)."""
        found = re.finditer(rb"(?m)^\./(.+?):(\d+):", self.ask(needle, exact=exact))
        return {(os.fsdecode(match[1]), int(match[2])) for match in found}


def compare(tree: Path, ours: Lines, theirs: Lines) -> Counter[str]:
    """Why a line was found by one alone; ``unexplained`` must be none."""
    why: Counter[str] = Counter()
    for path, number in ours ^ theirs:
        data = (tree / path).read_bytes()
        decoded = decode(data)
        if not isinstance(decoded, Decoded):
            why["not text to arr"] += 1
        elif (path, number) in theirs:
            line = decoded.text.split("\n")[number - 1]
            withheld = has_secret(line) or number in private_key_lines(decoded.text)
            why["withheld: credential" if withheld else "unexplained"] += 1
        else:
            other = b"\0" in data or decoded.encoding not in ("utf-8", "utf-8-sig")
            why[
                "another encoding or binary to ripgrep"
                if other
                else "folded otherwise"
                if not decoded.text.isascii()
                else "unexplained"
            ] += 1
    return why


def timed(asks: dict[str, Callable[[], object]], rounds: int, rng: random.Random) -> dict[str, dict[str, float]]:
    """Median wall and processor milliseconds of each, children included."""
    wall: dict[str, list[float]] = defaultdict(list)
    processor: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        for name in rng.sample(list(asks), len(asks)):
            before, begun = os.times(), time.perf_counter()
            asks[name]()
            wall[name].append(1000 * (time.perf_counter() - begun))
            processor[name].append(1000 * sum(b - a for a, b in zip(before[:4], os.times()[:4], strict=True)))
    return {
        name: {"wall_ms": statistics.median(wall[name]), "processor_ms": statistics.median(processor[name])}
        for name in asks
    }


def summary(values: list[float]) -> dict[str, float]:
    """Median and spread."""
    ordered = sorted(values)
    return {
        "p50": statistics.median(ordered), "p10": ordered[len(ordered) // 10], "p90": ordered[9 * len(ordered) // 10]
    }  # fmt: skip


def main() -> int:
    """Prepare, index, compare, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, default=Path(sysconfig.get_path("purelib")))
    parser.add_argument("--each", type=int, default=6, help="identifiers of each class")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rg", default=shutil.which("rg") or str(Path(sys.executable).with_name("rg")))
    parser.add_argument("--work", type=Path, default=default_folder())
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    project, rng = options.work / "grep", random.Random(11)
    tree = prepare(project, options.packages)
    drawn = draw(tree, options.each, rng)
    peer = Peer(options.rg, tree)
    version = subprocess.run([options.rg, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[
        0
    ]
    with arr_sql.connect(project) as database:
        database.drop_line_index()
        begun, processor = time.perf_counter(), time.process_time()
        built = database.build_line_index()
        build = {"wall_s": time.perf_counter() - begun, "processor_s": time.process_time() - processor}
        state = database.line_index()
        size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())

        def ours(needle: str, *, exact: bool = True) -> Any:
            return database.grep(needle, exact=exact, limits=LIMITS, deadline_seconds=600)

        def command(needle: str) -> object:
            return subprocess.run(
                [sys.executable, "-m", "arr_sql", "grep", "--exact", "--max-results", "100000", "--", needle],
                cwd=project, capture_output=True, check=True,
            )  # fmt: skip

        why: Counter[str] = Counter()
        n_lines = 0
        rows: list[dict[str, Any]] = []
        for kind, needles in drawn.items():
            for needle in needles:
                for exact in (True, False):
                    found = {(hit.rel, hit.line_no) for hit in ours(needle, exact=exact).search.hits}
                    theirs = peer.lines(needle, exact=exact)
                    why += compare(tree, found, theirs)
                    n_lines += len(found & theirs)
                asks: dict[str, Callable[[], object]] = {
                    "warm": lambda needle=needle: ours(needle), "cold": lambda needle=needle: command(needle),
                    "ripgrep": lambda needle=needle: peer.ask(needle),
                    "warm, any case": lambda needle=needle: ours(needle, exact=False),
                    "ripgrep, any case": lambda needle=needle: peer.ask(needle, exact=False),
                }  # fmt: skip
                answer = ours(needle).search
                rows.append({
                    "needle": needle, "class": kind, "lines": len(answer.hits),
                    "files_with_a_line": len({hit.rel for hit in answer.hits}),
                    "files_read": answer.scanned_files - answer.ruled_out, "times": timed(asks, options.rounds, rng),
                })  # fmt: skip
    print(f"{version}; {built.files} files, {size / 1e6:.0f} MB; index {(state or (0, 0))[1] / 1e6:.1f} MB of sieves, made in "
          f"{build['wall_s']:.0f} s (processor {build['processor_s']:.0f} s)")  # fmt: skip
    print("medians over identifiers, in ms (p10-p90); ratios to ripgrep, which uses all cores")
    figures: dict[str, Any] = {}
    for kind in (*drawn, "all"):
        mine = [row for row in rows if kind in (row["class"], "all")]
        figures[kind] = {"identifiers": len(mine), "files_read": statistics.median(row["files_read"] for row in mine)}
        print(f"{kind} ({len(mine)} identifiers, {figures[kind]['files_read']:.0f} files read at the median)")
        for name in mine[0]["times"]:
            base = "ripgrep, any case" if name.endswith("any case") else "ripgrep"
            wall = summary([row["times"][name]["wall_ms"] for row in mine])
            busy = statistics.median(row["times"][name]["processor_ms"] for row in mine)
            ratio = summary([row["times"][name]["wall_ms"] / row["times"][base]["wall_ms"] for row in mine])
            work = summary([row["times"][name]["processor_ms"] / row["times"][base]["processor_ms"] for row in mine])
            figures[kind][name] = {"wall_ms": wall, "processor_ms": busy, "ratio": ratio, "processor_ratio": work}
            print(f"  {name:18} {wall['p50']:7.0f} ({wall['p10']:.0f}-{wall['p90']:.0f})  processor {busy:5.0f}  "
                  f"ratio {ratio['p50']:.2f} ({ratio['p10']:.2f}-{ratio['p90']:.2f}), of processor time {work['p50']:.2f}")  # fmt: skip
    print(
        f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        if hasattr(os, "getloadavg")
        else ""
    )
    print(f"lines found by both: {n_lines}; by one alone: {dict(why) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps({
            "ripgrep": version, "files": built.files, "bytes": size, "index_bytes": (state or (0, 0))[1], "build": build,
            "figures": figures, "identifiers": rows, "lines_of_both": n_lines, "lines_of_one": dict(why),
        }, indent=1))  # fmt: skip
    return 1 if why["unexplained"] else 0


if __name__ == "__main__":
    sys.exit(main())
