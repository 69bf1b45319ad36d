"""Keep what a run measured as what later runs are expected to reach.

    python -m benchmarks.keep_expected RUN.json benchmarks/expected/NAME.json --command "arr eval run ..."

RUN is what ``arr eval run --save``, or ``--json`` of ``benchmarks.retrieval_table`` or ``benchmarks.answer_floor``, wrote.
docs/evaluation.md prints the kept figures.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from arr_sql.evaluation.compare import FLOOR_ERRORS, measurements

KEPT = ("recall_at_10", "mrr", "ndcg_at_10", "map", "scope_leak_count", "false_answer_rate", *FLOOR_ERRORS)


def main() -> None:
    """Read a run, write expectations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("expected", type=Path)
    parser.add_argument("--command", required=True, help="the command that made the run")
    parser.add_argument("--tolerance", type=float, default=0.01)
    arguments = parser.parse_args()
    run = json.loads(arguments.run.read_text("utf-8"))
    kept = {
        name: {
            mode: {metric: round(values[metric], 4) for metric in KEPT if metric in values}
            for mode, values in modes.items()
        }
        for name, modes in measurements(run).items()
    }
    value = {"command": arguments.command, "tolerance": arguments.tolerance, "expected": kept}
    arguments.expected.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
