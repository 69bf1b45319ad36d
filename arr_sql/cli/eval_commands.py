"""``arr eval run | compare | explain | live``: measure the answers on a gold set. Needs no project."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arr_sql.cli._shared import (
    NAME,
    FloatRange,
    echo,
    json_option,
    note,
    print_json,
    print_table,
    progress_bar,
    visible,
)
from arr_sql.cli.eval_live_command import live

if TYPE_CHECKING:
    from arr_sql.database.evaluating import EvaluationStore
    from arr_sql.evaluation.gold_models import GoldSet
    from arr_sql.evaluation.store_protocol import Progress

GOLD = click.Path(path_type=Path, exists=True)
FILE = click.Path(path_type=Path, dir_okay=False, writable=True)
store_option = click.option(
    "--store", type=click.Path(path_type=Path, file_okay=False),
    help="Keep the built store in this folder and use it again.  [default: a temporary one]",
)  # fmt: skip
k_option = click.option("-k", type=click.IntRange(1, 100), default=10, show_default=True, help="Depth of the metrics.")


@click.group("eval")
def evaluation() -> None:
    """Evaluation: measure the answers on a gold set, compare two runs, see where an item was lost."""


evaluation.add_command(live)


@evaluation.command("run")
@click.argument("gold", type=GOLD)
@click.option("--modes", type=NAME, help="Modes, with commas between.  [default: all]")
@k_option
@store_option
@click.option("--save", type=FILE, help="Write the run as JSON, for `arr eval compare`.")
@click.option("--html", type=FILE, help="Write a report as one page.")
@click.option("--trec", type=click.Path(path_type=Path, file_okay=False), help="Write run files for trec_eval.")
@json_option
def run(
    gold: Path, modes: str | None, k: int, store: Path | None, save: Path | None, html: Path | None, trec: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Ask every topic of GOLD in every mode and print what the answers are worth.

    GOLD is a folder with set.json, a .json file, or a folder with corpus.jsonl: see docs/evaluation.md.

    \b
    Example:
      arr eval run gold.json --save run.json
    """
    from arr_sql.evaluation.gold import load_gold
    from arr_sql.evaluation.modes import MODES
    from arr_sql.evaluation.research_eval import evaluate

    chosen = [mode.strip() for mode in modes.split(",")] if modes else list(MODES)
    unknown = [mode for mode in chosen if mode not in MODES]
    if unknown:
        raise click.BadParameter(f"'{unknown[0]}' is none of {', '.join(MODES)}.", param_hint="--modes")
    with _built(load_gold(gold), store) as (loaded, built, progress):
        made = evaluate(loaded, built, modes=list(dict.fromkeys(chosen)), k=k, progress=progress)
    made.data["program"] = _program()
    if save is not None:
        _write(save, json.dumps(made.data, ensure_ascii=False))
    if html is not None:
        from arr_sql.evaluation.report import html_page

        _write(html, html_page(made.data))
    if trec is not None:
        from arr_sql.evaluation.trec_files import write_trec

        write_trec(made, trec)
    if as_json:
        print_json(made.data)
        return
    from arr_sql.evaluation.report import tables

    echo(f"{visible(loaded.name)} {visible(loaded.version)}: {len(loaded.topics)} topics")
    for title, columns, rows in tables(made.data):
        print_table(title, columns, rows)


@evaluation.command("compare")
@click.argument("first", type=GOLD)
@click.argument("second", type=GOLD)
@click.option("--mode", type=NAME, default="search", show_default=True)
@click.option("--metric", type=NAME, default="ndcg_at_10", show_default=True)
@click.option("--tolerance", type=FloatRange(min=0), help="How far below an expected value is no loss.")
@json_option
def compare(first: Path, second: Path, mode: str, metric: str, tolerance: float | None, as_json: bool) -> None:
    """Compare run SECOND with run FIRST, topic by topic; or run FIRST with the expectations in SECOND.

    Against expectations the exit code is 1 when a value is below what is expected by more than the tolerance.

    \b
    Example:
      arr eval compare before.json run.json
    """
    from arr_sql.errors import InputError
    from arr_sql.evaluation import compare as comparing

    one, other = _read(first), _read(second)
    if comparing.is_expectation(one):
        raise InputError(f"'{first}' holds expectations. Give the run first: `arr eval compare {second} {first}`.")
    if comparing.is_expectation(other):
        _print_checks(comparing.check(one, other, tolerance), as_json)
        return
    for path, run in ((first, one), (second, other)):
        if "topics" not in run:
            raise InputError(f"'{path}' holds figures without topics: it can be compared with expectations only.")
    found = comparing.compare(one, other, mode, metric)
    if as_json:
        from dataclasses import asdict

        print_json(asdict(found))
        return
    low, high = found.interval
    echo(f"{found.metric} of {found.mode}: {found.before:.4f} -> {found.after:.4f}")
    echo(f"  difference {found.after - found.before:+.4f}, 95 % interval {low:+.4f} to {high:+.4f} (paired bootstrap)")
    echo(f"  {found.wins} wins, {found.losses} losses, {found.ties} ties")
    if found.only_in_one:
        echo(f"  {found.only_in_one} topics are in one run only and are left out")
    rows = [
        [change.topic_id, f"{change.before:.4f}", f"{change.after:.4f}", f"{change.after - change.before:+.4f}",
         change.stage or "same lists"]
        for change in found.changes
    ]  # fmt: skip
    if rows:
        print_table(
            "Topics that differ, losses first", ["topic", "first", "second", "difference", "first differs at"], rows
        )


def _print_checks(checks: list[Any], as_json: bool) -> None:
    failed = [check for check in checks if not check.holds]
    if as_json:
        from dataclasses import asdict

        print_json({"holds": not failed, "checks": [asdict(check) for check in checks]})
    else:
        rows = [
            [check.name, check.mode, check.metric, f"{check.expected:.4f}",
             "not measured" if check.measured is None else f"{check.measured:.4f}", "yes" if check.holds else "NO"]
            for check in checks
        ]  # fmt: skip
        print_table("Expectations", ["set", "mode", "metric", "expected", "measured", "holds"], rows)
        echo(f"{len(checks) - len(failed)} of {len(checks)} hold.")
    if failed:
        raise click.exceptions.Exit(1)


@evaluation.command("explain")
@click.argument("gold", type=GOLD)
@click.argument("topic", type=NAME)
@k_option
@store_option
@json_option
def explain(gold: Path, topic: str, k: int, store: Path | None, as_json: bool) -> None:
    """Show where each relevant item of TOPIC was lost: not indexed, not offered, cut, fused down or reranked down.

    \b
    Example:
      arr eval explain gold.json t1
    """
    from arr_sql.evaluation.explain import explain as explained
    from arr_sql.evaluation.explain import find_topic
    from arr_sql.evaluation.gold import load_gold

    loaded = load_gold(gold)
    find_topic(loaded, topic)  # before the store is built
    with _built(loaded, store) as (_, built, _progress):
        found = explained(loaded, built, topic, k)
    if as_json:
        print_json(found)
        return
    asked = found["topic"]
    echo(f"{visible(asked['topic_id'])} ({asked['class']}) in {visible(asked['scope'])}: {visible(asked['query'])}")
    states = "  ".join(
        f"{name} {one['state']} {one['candidates'] or ''}".rstrip() for name, one in found["channels"].items()
    )
    echo(f"Channels: {states}.  Answer: {found['state']}.")
    for path in found["relevant"]:
        ranks = "  ".join(f"{name} {rank or '-'}" for name, rank in path["channels"].items())
        echo(f"\n{visible(path['item'])}  (grade {path['grade']})")
        echo(f"  {path['stage']}: {path['meaning']}")
        echo(f"  ranks: {ranks}  fused {path['fused'] or '-'}  reranked {path['reranked'] or '-'}")
        if path["note"]:
            echo(f"  note: {visible(path['note'])}")
    if not found["relevant"]:
        echo("\nNothing is relevant to this topic.")
    rows = [
        [row["rank"], row["where"] or row["item"], "" if row["grade"] is None else row["grade"]]
        for row in found["answer"]
    ]
    if rows:
        print_table("Answer", ["rank", "item", "grade"], rows)


@contextlib.contextmanager
def _built(gold: GoldSet, folder: Path | None) -> Iterator[tuple[GoldSet, EvaluationStore, Progress]]:
    """The set, its store, and a progress that names the phase."""
    from arr_sql.database.evaluating import EvaluationStore

    with contextlib.ExitStack() as stack:
        # Windows keeps a file that was open a moment ago: what is left of a temporary folder is the system's to clear.
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))) / "store"
        store = stack.enter_context(EvaluationStore(place, gold))
        with progress_bar("Building the store") as update:
            store.build(lambda phase, done, total: update(done, total))
        with progress_bar("Asking") as update:
            yield gold, store, lambda phase, done, total: update(done, total)


def _read(path: Path) -> Any:
    from arr_sql.errors import InputError
    from arr_sql.evaluation.compare import is_readable

    try:
        value = json.loads(path.read_text("utf-8"))
        if is_readable(value):
            return value
    except (ValueError, OSError, RecursionError):
        pass
    raise InputError(f"'{path}' is neither a run nor expectations. Make a run with `arr eval run GOLD --save FILE`.")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
    note(f"Wrote {path}.")


def _program() -> dict[str, str]:
    """What the figures were made with. No name of the machine and no path."""
    import platform

    from arr_sql import __version__
    from arr_sql.core.clock import to_text, utc_now
    from arr_sql.core.connection import DRIVER, SQLITE_VERSION
    from arr_sql.database.retrieval import INDEX_VERSION

    return {
        "arr_sql": __version__, "python": platform.python_version(), "sqlite": f"{'.'.join(map(str, SQLITE_VERSION))} ({DRIVER})",
        "system": f"{platform.system()} {platform.machine()}", "index": INDEX_VERSION, "at": to_text(utc_now()),
    }  # fmt: skip
