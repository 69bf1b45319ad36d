"""``arr eval live``: a few calls to the operator's model on known cases, beside the rules."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from arr_sql.cli._shared import echo, json_option, print_json, print_table, progress_bar, visible

MAX_CALLS = 20


@click.command("live")
@click.option(
    "--dataset", type=click.Path(path_type=Path, dir_okay=False, exists=True), required=True, help="The cases (JSON)."
)
@click.option(
    "--mode",
    type=click.Choice(["rule", "llm", "hybrid"]),
    default="hybrid",
    show_default=True,
    help="How an order is made; `rule` asks nobody.",
)
@click.option(
    "--max-live-calls",
    "max_calls",
    type=click.IntRange(0, MAX_CALLS),
    default=MAX_CALLS,
    show_default=True,
    help="Calls in all, plans and orders together.",
)
@click.option(
    "--reports",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reports"),
    show_default=True,
    help="Folder for the report; it is made, and kept out of git, when it is not there.",
)
@json_option
def live(dataset: Path, mode: Any, max_calls: int, reports: Path, as_json: bool) -> None:
    """Ask the language model about known cases and print what it adds to the rules. Needs no project.

    The report holds ids, codes and numbers, no query, text, reply or key. What fails falls back to the rules and is told
    by its code; the exit code is 0 then too. A scope leak writes no report and exits with 1.

    \b
    Example:
      arr eval live --dataset live.json --mode rule
    """
    from arr_sql.evaluation.live_cases import read_live_set
    from arr_sql.evaluation.live_eval import evaluate_live
    from arr_sql.llm.budget import CallBudget
    from arr_sql.llm.language_model import LanguageModel
    from arr_sql.llm.prompt_files import load_prompt

    cases, fingerprint = read_live_set(dataset)
    model, budget = LanguageModel(), CallBudget(max_calls)
    prompts = (load_prompt("planner"), load_prompt("reranker"))
    with progress_bar("Asking", quiet=as_json) as progress:
        found = evaluate_live(cases, mode, lambda: model.asking(budget.for_retrieval()), prompts, progress)
    settings = model.settings
    report = {
        "at": datetime.now(timezone.utc).isoformat(timespec="seconds"), "program": _version(),
        "dataset": {"name": cases.name, "version": cases.version, "sha256": fingerprint},
        "model": settings.model if settings.is_enabled else "", "where": "local" if settings.endpoint.is_local else "remote",
        "prompts": [prompt.version for prompt in prompts], "max_live_calls": max_calls, "live_calls": budget.used, **found,
    }  # fmt: skip
    path = _written(report, reports)
    if as_json:
        print_json({**report, "report": str(path)})
    else:
        _print(report, path)


def _version() -> str:
    import arr_sql

    return arr_sql.__version__


def _written(report: dict[str, Any], folder: Path) -> Path:
    """Write the report under a name that was free. A folder that is made here is kept out of git by its own rule."""
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    stamp = report["at"].replace(":", "").replace("+0000", "Z")
    for number in range(1, 1_000):
        path = folder / f"live-{stamp}-{report['mode']}{f'-{number}' if number > 1 else ''}.json"
        try:
            with open(path, "x", encoding="utf-8", newline="\n") as file:
                file.write(json.dumps(report, indent=2, sort_keys=True) + "\n")
        except FileExistsError:
            continue
        return path
    raise click.ClickException(f"'{folder}' holds a thousand reports of this second. Name another folder.")


def _print(report: dict[str, Any], path: Path) -> None:
    data = report["dataset"]
    echo(f"{visible(data['name'])} {visible(data['version'])}: {len(report['cases'])} cases, mode {report['mode']}")
    where = f" ({report['where']})" if report["model"] else ""
    echo(f"Model: {visible(report['model'] or 'none')}{where}, prompts {', '.join(report['prompts'])}")
    rows = [[m["metric"], m["cases"], _figure(m["rules"]), _figure(m["model"])] for m in report["metrics"]]
    print_table("", ["metric", "cases", "rules", f"with the model ({report['mode']})"], rows)
    for code, count in report["codes"].items():
        echo(f"Fell back to the rules: {code} x{count}")
    latency = report["latency_ms"]
    echo(f"Calls: {report['live_calls']} of {report['max_live_calls']}; {report['not_asked']} cases not reached; "
         f"p50 {latency['p50']:.0f} ms, p95 {latency['p95']:.0f} ms")  # fmt: skip
    echo(f"Report: {path}")


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
