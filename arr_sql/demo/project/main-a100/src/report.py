"""Turn evaluation files into the table of the paper."""

import csv
import statistics
from collections import defaultdict
from pathlib import Path


def read_scores(path: Path) -> dict[tuple[str, int, str], list[float]]:
    """Read ``run,step,suite,score`` rows; several rows of one key are repeated evaluations."""
    scores = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            scores[row["run"], int(row["step"]), row["suite"]].append(float(row["score"]))
    return dict(scores)


def cell(values: list[float]) -> str:
    """Write a mean, and the half range when there is more than one value."""
    if len(values) == 1:
        return f"{values[0]:.1f}"
    half = (max(values) - min(values)) / 2
    return f"{statistics.fmean(values):.1f} \u00b1 {half:.1f}"


def table(scores, suites: list[str]) -> str:
    """Return a Markdown table, one line for each run and step, best mean first."""
    keys = {(run, step) for run, step, _ in scores}

    def mean(key):
        return statistics.fmean(statistics.fmean(scores[(*key, suite)]) for suite in suites)

    lines = ["| run | step | " + " | ".join(suites) + " | mean |", "|---" * (len(suites) + 3) + "|"]
    for key in sorted(keys, key=lambda k: (-mean(k), k)):
        cells = " | ".join(cell(scores[(*key, suite)]) for suite in suites)
        lines.append(f"| {key[0]} | {key[1]:,} | {cells} | {mean(key):.1f} |")
    return "\n".join(lines) + "\n"
