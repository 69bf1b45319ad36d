"""``arr bench``: how well the answers are found in one's own store."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from arr_sql.cli._shared import Where, echo, json_option, note, print_json, print_table, progress_bar, project_options


@click.command()
@click.option("--each", type=click.IntRange(1, 1000), default=60, show_default=True, help="Questions of each kind.")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed draws other questions.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the run, for `arr eval compare`.")
@project_options
@json_option
def bench(each: int, seed: int, save: Path | None, where: Where, as_json: bool) -> None:
    """Measure search on questions made from this scope's own chunks: titles, sentences, renamed identifiers.

    Titles that are asked for are taken out of the index first, in a temporary copy; the project's file is only read. A
    scope too small to tell one ranking from another is refused.

    \b
    Example:
      arr bench --each 20
    """
    from arr_sql.database.benching import PLAIN_GREP, BenchStore
    from arr_sql.database.evaluating import scope_chunks
    from arr_sql.evaluation.modes import MODES
    from arr_sql.evaluation.own_questions import own_set
    from arr_sql.evaluation.report import tables
    from arr_sql.evaluation.research_eval import evaluate

    modes = (PLAIN_GREP, *(mode for mode in MODES if mode not in ("research-memory", "rrf-3")))
    with where.open() as database, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        gold = own_set(scope_chunks(database), database.scope, each=each, seed=seed)
        with BenchStore(Path(folder) / "store", gold, database) as store:
            with progress_bar("Copying the chunks") as update:
                store.build(lambda phase, done, total: update(done, total))
            with progress_bar("Asking") as update:
                made = evaluate(gold, store, modes=modes, progress=lambda phase, done, total: update(done, total))
    if save is not None:
        save.write_text(json.dumps(made.data, ensure_ascii=False), encoding="utf-8", newline="\n")
        note(f"Wrote {save}.")
    if as_json:
        print_json(made.data)
        return
    echo(f"{len(gold.topics)} questions over {len(gold.documents)} chunks, each answered by one chunk. Seed {seed}.")
    for title, columns, rows in tables(made.data):
        if title not in ("Store", "Errors"):
            print_table(title, columns, rows)
    for mode, codes in made.data["errors"].items():
        for code, count in codes.items():
            echo(f"{mode}: {code} in {count} questions")
