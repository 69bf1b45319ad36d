"""What does a search cost in a scope of 10,000 chunks when 1,000,000 chunks of other scopes lie in the same file?

    python -m benchmarks.cost_isolation [--others 1000000] [--questions 60] [--work FOLDER] [--json FILE]

Both files are made by ``many_scopes`` (the large one takes half an hour, once). The same questions are asked of both, alternating
in random order, in long-running processes' way (``hot``) and over a database opened for each question (``cold``, which is a
command without Python's start). Everything else is equal: the scope's rows, the folder that grep reads, the record written.
Also compared: that both files give the same evidence with the same scores, and what ``arr db status`` costs.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arr_sql.core.router_models import RouterResult
from arr_sql.database import ResearchDatabase
from benchmarks.corpus import Corpus
from benchmarks.many_scopes import MEASURED, many_scopes
from benchmarks.random_vectors import RandomVectors
from benchmarks.stores import default_folder, scope

PLANS: dict[str, Any] = {
    "search": None,
    "search without grep": {"tool_rounds": [["research-memory", "bm25", "vector"]]},
    "bm25": {"tool_rounds": [["bm25"]]},
    "vector": {"tool_rounds": [["vector"]]},
}


def opened(path: Path, work: Path) -> ResearchDatabase:
    """The measured scope of one file."""
    embedder = RandomVectors()
    return ResearchDatabase.create(
        path, scope(), project_folder=work / "project", actor="bench", embedder=lambda: embedder
    )


def answer(result: RouterResult) -> list[Any]:
    """What must not depend on other scopes."""
    return [(item.chunk_id, item.rrf_score, item.rerank_score, item.channels) for item in result.evidence]


def measure(paths: dict[str, Path], work: Path, questions: list[str]) -> dict[str, Any]:
    """Milliseconds of each plan by file, hot and cold, and how many answers differ."""
    rng, different = random.Random(1), 0
    spent: dict[str, dict[str, list[tuple[float, float]]]] = {}

    def timed(kind: str, file: str, ask: Callable[[], RouterResult]) -> RouterResult:
        wall, processor = time.perf_counter(), time.process_time()
        result = ask()
        took = (time.perf_counter() - wall, time.process_time() - processor)
        spent.setdefault(kind, {}).setdefault(file, []).append(took)
        return result

    databases = {file: opened(path, work) for file, path in paths.items()}
    for database in databases.values():
        for text in questions[:5]:
            database.search(text)
            database._hot.grep.wait()
        database._hot.vectors.wait()
    for text in questions[5:]:
        for name, plan in PLANS.items():
            answers = {}
            for file in rng.sample(list(paths), len(paths)):
                ask = lambda file=file: databases[file].search(text, plan=plan)  # noqa: B023, E731
                answers[file] = answer(timed(f"{name}, hot", file, ask))
            different += len({repr(found) for found in answers.values()}) > 1
    for database in databases.values():
        database.close()
    for text in questions[5:]:
        for file in rng.sample(list(paths), len(paths)):

            def once(file: str = file, text: str = text) -> RouterResult:
                with ResearchDatabase(
                    paths[file], scope(), project_folder=work / "project", actor="bench", embedder=RandomVectors
                ) as database:
                    return database.search(text)

            timed("search, cold", file, once)
    figures = {
        kind: {
            file: {
                "p50_ms": 1000 * statistics.median(wall for wall, _ in times),
                "processor_p50_ms": 1000 * statistics.median(used for _, used in times),
            }
            for file, times in files.items()
        }
        for kind, files in spent.items()
    }
    return {"figures": figures, "different": different}


def main() -> int:
    """Make what is missing, measure copies, print. Exit code 1 when an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--work", type=Path, default=default_folder())
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    paths = {}
    for name, others in (("alone", 0), ("among others", options.others)):
        made = many_scopes(others, options.work)
        paths[name] = made.with_suffix(".measured.db")
        shutil.copy(made, paths[name])
    asker = Corpus(29)
    try:
        report = measure(paths, options.work, [asker.question() for _ in range(options.questions + 5)])
        report["bytes"] = {name: path.stat().st_size for name, path in paths.items()}
    finally:
        for path in paths.values():
            for left in path.parent.glob(path.name + "*"):
                left.unlink()
    report |= {"others": options.others, "measured": MEASURED, "questions": options.questions, "ratios": {}}
    for kind, files in report["figures"].items():
        ratio = {key: files["among others"][key] / files["alone"][key] for key in ("p50_ms", "processor_p50_ms")}
        report["ratios"][kind] = ratio
        print(
            f"{kind:26} alone {files['alone']['p50_ms']:7.1f} ms, among {options.others:,} others"
            f" {files['among others']['p50_ms']:7.1f} ms: {ratio['p50_ms']:.2f} times"
            f" (processor {ratio['processor_p50_ms']:.2f})"
        )
    print(f"answers that differ: {report['different']}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 1 if report["different"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
