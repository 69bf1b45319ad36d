"""What does an agent wait for that asks through MCP, with and without what the server keeps in memory between calls?

    python -m benchmarks.server_calls [--chunks 10000] [--calls 60] [--work FOLDER] [--json FILE]

Each call opens the file and closes it again; the project has no vectors. ``memory`` is the server as it is, ``none`` one that
keeps nothing; both answer every question, in random order, and the answers are compared. The first calls, which fill the
memory, are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from pathlib import Path
from typing import Any

from arr_sql.core.project import find_project
from arr_sql.serve.mcp_calls import Client, Desk
from benchmarks.corpus import Corpus
from benchmarks.start_up import project
from benchmarks.stores import default_folder

NOT_COUNTED = 25
PAUSE_SECONDS = 0.1
"""Between two calls: nobody asks without a pause, and lines are learned in it."""


def measure(chunks: int, calls: int, work: Path) -> dict[str, Any]:
    """Milliseconds of a call, medians with quartiles, and how many answers differ."""
    found = find_project(project(chunks, work))
    desks = {"memory": Desk(found, may_propose=False), "none": Desk(found, may_propose=False, shared_hot=None)}
    rng, asker, client = random.Random(1), Corpus(29), Client("benchmark")
    spent: dict[str, list[float]] = {name: [] for name in desks}
    differ = 0
    for number in range(-NOT_COUNTED, calls):
        question, answers = asker.question(), {}
        for name in rng.sample(list(desks), len(desks)):
            began = time.perf_counter()
            answer = desks[name].call("search", {"query": question}, client)
            if number >= 0:
                spent[name].append(1000 * (time.perf_counter() - began))
            assert answer.output is not None, answer.error
            answers[name] = json.dumps({**answer.output, "retrieval_id": ""})
            time.sleep(PAUSE_SECONDS)
        differ += len(set(answers.values())) > 1
    for desk in desks.values():
        desk.close()
    figures = {
        name: dict(zip(("p25_ms", "p50_ms", "p75_ms"), statistics.quantiles(times, n=4), strict=True))
        for name, times in spent.items()
    }
    return {"chunks": chunks, "calls": calls, "figures": figures, "differ": differ,
            "memory / none": figures["memory"]["p50_ms"] / figures["none"]["p50_ms"]}  # fmt: skip


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--work", type=Path, default=default_folder())
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    report = measure(options.chunks, options.calls, options.work)
    print(f"{report['chunks']:,} chunks, {report['calls']} calls of `search` through MCP, no vectors")
    for name, value in report["figures"].items():
        print(f"  {name:8} p50 {value['p50_ms']:7.1f} ms ({value['p25_ms']:.1f} to {value['p75_ms']:.1f})")
    print(f"  memory / none: {report['memory / none']:.2f}; answers that differ: {report['differ']}")
    if options.json:
        options.json.write_text(json.dumps({"cores": os.cpu_count(), **report}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
