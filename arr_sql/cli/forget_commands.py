"""``arr forget``: erase for good, with a receipt."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from arr_sql.cli._shared import NAME, Where, echo, json_option, note, print_json, progress_bar, project_options, visible

SHOWN = 20


@click.command()
@click.option(
    "--memory", "memories", type=NAME, multiple=True, metavar="ID", help="A memory with its whole history (repeatable)."
)
@click.option(
    "--source", "sources", type=NAME, multiple=True, metavar="REF", help="A source with all its versions (repeatable)."
)
@click.option(
    "--query",
    "queries",
    type=NAME,
    multiple=True,
    metavar="TEXT|ID",
    help="A query by its text or retrieval id (repeatable).",
)
@click.option("--scope", "whole_scope", is_flag=True, help="Everything that this scope holds.")
@click.option(
    "--backup",
    "backups",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    multiple=True,
    metavar="FILE",
    help="Erase it from this backup too (repeatable).",
)
@click.option("--dry-run", is_flag=True, help="List everything that would go, and change nothing.")
@click.option("--resume", is_flag=True, help="Finish erasures that were interrupted, and erase nothing new.")
@click.option("--yes", is_flag=True, help="Don't ask; needed where no terminal is.")
@project_options
@json_option
def forget(
    memories: tuple[str, ...], sources: tuple[str, ...], queries: tuple[str, ...], whole_scope: bool,
    backups: tuple[Path, ...], dry_run: bool, resume: bool, yes: bool, where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Erase memories, sources, queries or a scope for good, and prove it by reading the file's bytes.

    Rows, history, index terms and vectors go; the file is written anew and its raw bytes are searched for what went.
    The receipt that stays holds hashes only. There is no way back but a backup.

    \b
    Example:
      arr forget --memory m0a1b2c3d4e5 --dry-run
    """
    with where.open() as database:
        if resume:
            _resume(database, as_json)
            return
        wanted: dict[str, Any] = {
            "memory_ids": memories, "source_refs": sources, "queries": queries, "whole_scope": whole_scope,
        }  # fmt: skip
        listing = database.plan_forgetting(**wanted)
        if dry_run or not as_json:
            _print_listing(listing, as_json)
        if dry_run:
            return
        if not yes:
            if sys.stdin is None or not sys.stdin.isatty():
                raise click.UsageError(
                    "Erasing can't be undone. Say --yes to erase, or --dry-run to see what would go."
                )
            click.confirm("Erase this for good?", abort=True, err=True)
        with progress_bar("Erasing", quiet=as_json) as update:
            report = database.forget(**wanted, backups=backups, progress=lambda phase, done, total: update(done, total))
    if as_json:
        print_json({**vars(report), "completed": list(report.completed), "still_on_disk": list(report.still_on_disk),
                    "backups": list(report.backups), "replicas": list(report.replicas)})  # fmt: skip
    else:
        _print_report(report)
    if report.result != "clean" or any(item["result"] != "clean" for item in report.backups):
        raise click.exceptions.Exit(1)


def _resume(database: Any, as_json: bool) -> None:
    with progress_bar("Finishing", quiet=as_json) as update:
        done = database.resume_forgetting(lambda phase, done, total: update(done, total))
        replicas = database.copies_elsewhere() if done else ()
    if as_json:
        print_json({"completed": list(done), "replicas": list(replicas)})
    else:
        echo(f"Finished: {', '.join(done)}." if done else "No erasure was interrupted.")
        _print_copies(replicas)


def _print_listing(listing: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(listing)
        return
    if not listing["counts"]:
        echo("Nothing of this name is held in this scope.")
        return
    echo("Goes for good: " + ", ".join(_counted(name, count) for name, count in listing["counts"].items()) + ".")
    lines = [f"memory {item['memory_id']} ({item['status']}): {item['title']}" for item in listing["memories"]]
    lines += [f"source {item['source_ref']}{'' if item['live'] else ' (removed)'}" for item in listing["sources"]]
    lines += [f"approval package {name}" for name in listing["approval_packages"]]
    lines += [f"retrieval {item['retrieval_id']}: {item['query'] or '(hash only)'}" for item in listing["retrievals"]]
    lines += [f"name of a file left out: {name}" for name in listing["left_out_names"]]
    lines += [f"root {name}" for name in listing["roots"]]
    for line in lines[:SHOWN]:
        echo(f"  - {visible(line)}")
    if len(lines) > SHOWN:
        echo(f"  ... and {len(lines) - SHOWN} more (--json lists all)")


def _counted(name: str, count: int) -> str:
    """``2 source versions``, ``1 source version``."""
    if count == 1:
        name = "memory" if name == "memories" else re.sub(r"s(_|$)", r"\1", name, count=1)
    return f"{count} {name.replace('_', ' ')}"


def _print_report(report: Any) -> None:
    if report.receipt_id is not None:
        if report.result != "clean":
            how = "PARTS OF IT ARE LEFT in the file"
        elif report.held_here or report.held_in_file:
            how = "its rows are gone; bytes of it are left in the rows named below, which are not its own"
        else:
            how = "none of it is left in the bytes of the file"
        echo(f"Erased, receipt {report.receipt_id}: {how}.")
    for name in report.completed:
        echo(f"Finished the interrupted erasure {name}.")
    for item in report.backups:
        result = "clean" if item["result"] == "clean" else "NOT CLEAN"
        echo(f"Backup {visible(item['path'])}: {sum(item['counts'].values())} rows erased, {result}.")
        _print_held(item["held_here"], item["held_in_file"], f"in the backup {visible(item['path'])}")
    _print_held(report.held_here, report.held_in_file, "in this scope")
    for name in report.still_on_disk:
        note(
            f"Still on disk: {visible(name)}. Delete it or put it into .arrignore, or the next `arr sync` takes it in again."
        )
    _print_copies(report.replicas)
    if report.receipt_id is not None:
        note(
            "Other scopes' own copies are not touched. Older copies of the file still hold it: name backups with --backup."
        )


def _print_held(held_here: dict[str, int], held_in_file: dict[str, int], where: str) -> None:
    for table, rows in held_here.items():
        note(f"The same words still stand in {rows} rows of '{table}' {where}: forget those too if they have to go.")
    for table, rows in held_in_file.items():
        note(
            f"The table '{visible(table)}', which is not arr_sql's, holds words of it in {rows} rows: "
            "only whoever made the table can take them out."
        )


def _print_copies(replicas: Sequence[str]) -> None:
    for name in replicas:
        note(
            f"The copy in {visible(name)} holds it until its older states are gone: run `arr replica purge {visible(name)}`."
        )
        if "://" not in name and not Path(name).is_dir():
            note("  That folder is not there now. If it is on a disk that is not attached, attach it first.")
