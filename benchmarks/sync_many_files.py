"""A folder of 20,000 files of mixed kinds: how long the first add takes, how long a second sync, and how much memory.

    python -m benchmarks.sync_many_files [--files 20000] [--keep FOLDER]

Aims: the second sync at most 5 % of the first, memory below 500 MB (the largest process; all together beside it).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

WORDS = [
    "warmup",
    "schedule",
    "learning",
    "rate",
    "attention",
    "gradient",
    "batch",
    "token",
    "layer",
    "loss",
    "cluster",
    "node",
    "checkpoint",
    "evaluation",
    "sample",
    "data",
    "训练",
    "数据",
    "模型",
    "学习率",
    "实验",
    "结果",
    "分析",
    "检索",
    "记忆",
    "论文",
]


def text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def content(rng: random.Random, kind: str, number: int) -> bytes:
    """One file of a kind. Its number makes it unlike all others."""
    if kind == "md":
        parts = [f"# Note {number}\n"] + [
            f"## Part {n}\n\n{text(rng, 60)}.\n\n- {text(rng, 8)}\n" for n in range(rng.randint(1, 6))
        ]
        return "\n".join(parts).encode()
    if kind == "py":
        return "\n".join(
            f'def step_{number}_{n}(x):\n    """{text(rng, 8)}"""\n    return x * {n} + {rng.random()}\n'
            for n in range(rng.randint(1, 8))
        ).encode()
    if kind == "log":
        return "\n".join(
            f"2026-01-{n % 28 + 1:02d} 10:00:{n % 60:02d} INFO run {number} {text(rng, 6)} loss={rng.random():.4f}"
            for n in range(30)
        ).encode()
    if kind == "csv":
        return "\n".join(["step,loss,name", *(f"{n},{rng.random():.5f},run{number}" for n in range(60))]).encode()
    if kind == "jsonl":
        return "\n".join(
            json.dumps({"id": f"{number}-{n}", "text": text(rng, 12)}, ensure_ascii=False) for n in range(12)
        ).encode()
    if kind == "bib":
        return "\n".join(
            f"@article{{key{number}x{n},\n  title = {{{text(rng, 7)}}},\n  author = {{Doe, Jane}},\n  year = {{20{n:02d}}}\n}}\n"
            for n in range(5)
        ).encode()
    if kind == "tex":
        return f"\\section{{Study {number}}}\n{text(rng, 90)}\n\\subsection{{More}}\n$a_{{{number}}} = b$ {text(rng, 60)}\n".encode()
    if kind == "ipynb":
        cells = [
            {
                "cell_type": "code",
                "metadata": {},
                "source": f"x = {n}  # {text(rng, 6)} {number}",
                "outputs": [],
                "execution_count": n,
            }
            for n in range(4)
        ]
        return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()
    if kind == "yaml":
        return "\n".join(f"key{n}: {text(rng, 3)}" for n in range(20)).encode() + f"\nrun: {number}\n".encode()
    if kind == "gbk.txt":
        return f"第{number}次实验的结果与分析，{text(rng, 30)}。\r\n数据库检索测试\r\n".encode("gbk")
    return bytes(rng.getrandbits(8) for _ in range(400))  # .bin: counted and left out


KINDS = ["md"] * 6 + ["py"] * 5 + ["log"] * 2 + ["csv", "jsonl", "bib", "tex", "ipynb", "yaml", "gbk.txt", "bin"]


def generate(folder: Path, files: int) -> int:
    """Write the files in folders of 200; how many bytes."""
    rng, total = random.Random(7), 0
    for number in range(files):
        kind = KINDS[rng.randrange(len(KINDS))]
        path = folder / f"d{number // 200:04d}" / f"f{number:06d}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content(rng, kind, number)
        path.write_bytes(data)
        os.utime(path, (1_700_000_000, 1_700_000_000))
        total += len(data)
    return total


def run(
    project: Path, *arguments: str, program: Sequence[str] = ("-m", "arr_sql")
) -> tuple[float, int, int, str]:  # fmt: skip
    """Run Python with these arguments: seconds, peak resident MB of the largest process and of all, output.

    It is looked at ten times a second.
    """
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *program, *arguments],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    peaks = [0, 0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.1):
            sizes = [_resident(pid) for pid in _family(process.pid)]
            peaks[0], peaks[1] = max(peaks[0], *sizes, 0), max(peaks[1], sum(sizes))

    watcher = threading.Thread(target=look)
    watcher.start()
    out, _ = process.communicate()
    done.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(out)
    return time.monotonic() - started, peaks[0], peaks[1], out


def _cpu() -> float:
    """Processor seconds of all processes that ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                found += _family(int(child))
        except OSError:
            pass
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    except OSError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--keep", type=Path, help="Put the folder here and leave it.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        project = options.keep or Path(temporary)
        size = generate(project / "files", options.files)
        run(project, "init", "--team", "bench")
        print(f"{options.files} files, {size / 1e6:.1f} MB, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        started = _cpu()
        first, largest, together, out = run(project, "add", "files", "--no-embed")
        first_cpu = _cpu() - started
        print(out.splitlines()[0])
        print(
            f"first add:   {first:7.1f} s, CPU {first_cpu:5.1f} s, peak {largest} MB in the largest process, {together} MB together"
        )
        started = _cpu()
        second, largest_second, _, out = run(project, "sync", "--no-embed")
        second_cpu = _cpu() - started
        print(out.splitlines()[0])
        print(
            f"second sync: {second:7.1f} s, CPU {second_cpu:5.1f} s, peak {largest_second} MB, {100 * second / first:.1f} % "
            f"of the first ({100 * second_cpu / first_cpu:.1f} % of its processor time)"
        )
        print(f"database {sum(p.stat().st_size for p in (project / '.arr').glob('arr.db*')) / 1e6:.0f} MB")
        if options.json:
            figure = f"{first:.1f} s, processor {first_cpu:.1f} s"
            again = f"{second:.1f} s, processor {second_cpu:.1f} s"
            rows = [
                [f"{options.files:,} files, {size / 1e6:.1f} MB: the first add", figure],
                ["a second sync, nothing changed", again, second / first, "the first add", 0.05],
                ["memory of the largest process", f"{largest} MB", largest / 500, "500 MB", 1.0],
            ]
            options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", "utf-8")
        met = second <= 0.05 * first and largest < 500
        print("both aims met" if met else "AN AIM IS MISSED")


if __name__ == "__main__":
    main()
