"""``arr add | sync | embed``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arr_sql.cli._shared import Where, echo, json_option, note, print_json, progress_bar, project_options, visible
from arr_sql.ingest.readers import UNREADABLE

if TYPE_CHECKING:
    from arr_sql.database import ResearchDatabase
    from arr_sql.ingest.sync_state import SyncSummary

MAX_NAMED = 20
REASONS = {
    "ignored": "ignored by .gitignore or .arrignore",
    "vendored_or_tool_folder": "folders of tools and vendored code",
    "symlink": "symbolic links",
    "special_file": "pipes, sockets, devices",
    "sensitive_name": "names of secrets (never opened)",
    "permission_denied": "not readable by you",
    "too_large": "larger than the limit",
    "vanished": "gone while looking",
    "unreadable": "unknown encoding or read error",
    "binary": "binary",
    "unknown_format": "no reader for this kind of file",
    "changed_while_reading": "changed while being read (next sync)",
    "not_a_file": "not a file",
    "name_not_utf8": "names that are not UTF-8",
    "limit_reached": "beyond a limit of the walk",
    "own_file": "arr.toml and .arrignore themselves",
    **UNREADABLE,
}


def _asked(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The passwords given, each that has no value asked for."""
    return tuple(value or click.prompt("Password of the encrypted files", hide_input=True) for value in values)


passwords_option = click.option(
    "--password",
    "passwords",
    multiple=True,
    is_flag=False,
    flag_value="",
    callback=_asked,
    help="Open encrypted PDFs; without a value it is asked for, and it may be repeated. It is kept nowhere.",
)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@passwords_option
@click.option("--no-embed", is_flag=True, help="Leave the vectors for a later `arr embed`.")
@project_options
@json_option
def add(paths: tuple[Path, ...], passwords: tuple[str, ...], no_embed: bool, where: Where, as_json: bool) -> None:
    """Take in folders and files, then embed them.

    Text is searchable as soon as it is stored; vectors follow, and may be stopped with Ctrl-C and resumed with
    `arr embed`.

    \b
    Example:
      arr add notes papers/README.md
    """
    from arr_sql.ingest.roots import require_addable

    with where.open() as database:
        for path in paths:  # all of them before anything is taken in
            require_addable(path)
        results = []
        for path in paths:
            with progress_bar(f"Reading {path.name or path}", quiet=as_json) as update:
                results.append(database.add(path, lambda phase, done, total: update(done, total), passwords=passwords))
        _finish(database, results, no_embed, as_json, next_step='arr search "your question"')


@click.command()
@passwords_option
@click.option("--no-embed", is_flag=True, help="Leave the vectors for a later `arr embed`.")
@click.option("--watch", "is_watching", is_flag=True, help="Go on syncing when files change, until Ctrl-C.")
@project_options
@json_option
def sync(passwords: tuple[str, ...], no_embed: bool, is_watching: bool, where: Where, as_json: bool) -> None:
    """Bring the added folders up to date with the disk: new, edited, renamed and deleted files.

    With --watch (which needs the extra `watch`) it goes on: changes are gathered for a moment, then synced, and what
    each sync did is printed; with --json each as one line. Ctrl-C ends it with exit code 0.

    \b
    Example:
      arr sync
    """
    if is_watching:
        _watch(where, passwords, no_embed, as_json)
        return
    with where.open() as database:
        with progress_bar("Looking for changes", quiet=as_json) as update:
            results = [database.sync(lambda phase, done, total: update(done, total), passwords=passwords)]
        _finish(database, results, no_embed, as_json)


def _watch(where: Where, passwords: tuple[str, ...], no_embed: bool, as_json: bool) -> None:
    """Sync now and after each change; what a sync did is printed when it did something."""
    from arr_sql.cli._watch import require_watcher, watch

    require_watcher()
    is_first = True

    def once() -> None:
        nonlocal is_first
        # Opened anew each time: between two changes nothing is held.
        with where.open() as database:
            done = database.sync(passwords=passwords)
            if is_first or done.has_changes:
                _finish(database, [done], no_embed, as_json, in_lines=True)
        is_first = False

    with where.open() as database:
        roots, path = database.roots(), database.path
    watch(roots, path, once)


@click.command()
@click.option("--rebuild", is_flag=True, help="Replace the vectors of another model once this one's are complete.")
@project_options
@json_option
def embed(rebuild: bool, where: Where, as_json: bool) -> None:
    """Compute the vectors that are missing. Stop with Ctrl-C at any time; what is done is kept.

    \b
    Example:
      arr embed
    """
    with where.open() as database, progress_bar("Embedding", quiet=as_json) as update:
        done = database.embed(rebuild=rebuild, progress=update)
    if as_json:
        print_json(vars(done))
    else:
        echo(_embedded_text(vars(done)))


def _finish(
    database: ResearchDatabase, results: list[SyncSummary], no_embed: bool, as_json: bool, next_step: str = "", *,
    in_lines: bool = False,
) -> None:  # fmt: skip
    """Say what was taken in, then compute the vectors: stopped there, the text is searchable and the exit code 130."""
    from arr_sql.errors import ModelError

    if not as_json:
        for item in results:
            _print_summary(item)
    embedded, is_stopped = None, False
    try:
        if not no_embed:
            with progress_bar("Embedding (Ctrl-C is safe)", quiet=as_json) as update:
                embedded = vars(database.embed(progress=update))
    except ModelError as error:
        note(f"No vectors: {error}\nText, memory and grep search work without them.")
    except KeyboardInterrupt:
        if in_lines:
            raise
        note("Stopped embedding. Text is searchable; `arr embed` goes on where this stopped.")
        is_stopped = True
    if as_json:
        print_json({"syncs": [_as_values(item) for item in results], "vectors": embedded}, in_one_line=in_lines)
    elif embedded is not None:
        echo(_embedded_text(embedded))
    if is_stopped:
        raise click.exceptions.Exit(130)
    if next_step and not as_json:
        echo(f"Next: {next_step}")


def _embedded_text(done: dict[str, Any]) -> str:
    text = f"Vectors ({done['model_id']}): {done['embedded']} added, {done['missing']} missing."
    return text + (" Other models' vectors were retired." if done["retired_models"] else "")


def _as_values(item: SyncSummary) -> dict[str, Any]:
    return {
        **vars(item),
        "left_out": dict(item.left_out),
        "warnings": {key: list(value) for key, value in item.warnings.items()},
    }


def _print_summary(item: SyncSummary) -> None:
    parts = [
        f"{len(item.added)} added", f"{len(item.changed)} changed", f"{len(item.renamed)} renamed",
        f"{len(item.removed)} removed", f"{len(item.touched)} touched", f"{item.unchanged} unchanged",
    ]  # fmt: skip
    echo("Files: " + ", ".join(parts) + f". Chunks: +{item.chunks_added} -{item.chunks_retired}.")
    if len(item.added) + len(item.changed) + len(item.renamed) + len(item.removed) + len(item.touched) <= MAX_NAMED:
        for sign, names in (("+", item.added), ("~", item.changed), ("-", item.removed), ("=", item.touched)):
            for name in names:
                echo(f"  {sign} {visible(name)}")
        for old, new in item.renamed:
            echo(f"  > {visible(old)} -> {visible(new)}")
    if item.left_out:
        echo("Left out:")
        for reason, count in item.left_out.most_common():
            echo(f"  {count:6d}  {reason}: {REASONS.get(reason, reason)}")
    if item.lines_withheld:
        echo(f"Withheld: {item.lines_withheld} lines that hold credentials.")
    for name, warnings in list(item.warnings.items())[:MAX_NAMED]:
        echo(f"  warning: {visible(name)}: {visible('; '.join(warnings))}")
    if len(item.warnings) > MAX_NAMED:
        echo(f"  ... and warnings about {len(item.warnings) - MAX_NAMED} more files (--json lists all)")
    for path in item.roots_missing:
        note(f"Not there now, kept as it was: {path}")
    for path in item.roots_other_branch:
        note(f"Not synced: {path} has another branch or repository than this scope. Check it out, or drop --branch.")
    if item.index_rebuilt:
        note("The text index was built anew: it had been made by another analyser.")
