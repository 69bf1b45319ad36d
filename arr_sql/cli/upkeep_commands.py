"""``arr db vacuum | prune``: both show what they would win, and change nothing until they are told to."""

from __future__ import annotations

import sys
from typing import Any

import click

from arr_sql.cli._shared import Where, echo, json_option, note, print_json, project_options

YES = click.option("--yes", is_flag=True, help="Don't ask; needed where no terminal is.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Say what it would win, and change nothing.")


@click.command()
@DRY_RUN
@YES
@project_options
@json_option
def vacuum(dry_run: bool, yes: bool, where: Where, as_json: bool) -> None:
    """Write the file anew without its empty pages, and merge the text index. Answers stay the same.

    Readers go on meanwhile; whoever wants to write waits. The disk needs room for two copies of what is used.

    \b
    Example:
      arr db vacuum --dry-run
    """
    with where.open() as database:
        space = database.space()
        if dry_run or not as_json:
            _print_space(space, as_json)
        if dry_run:
            return
        _confirm(yes, "Writing a large file anew takes a while, and writers wait.", "Write the file anew?")
        before, after = database.vacuum(lambda phase: None if as_json else note(f"{phase} ..."))
    given = before.file + before.wal - after.file
    if as_json:
        print_json({"bytes_before": before.file + before.wal, "bytes_after": after.file, "bytes_given_back": given})
    else:
        echo(f"Written anew: {after.file:,} bytes, {abs(given):,} {'fewer' if given >= 0 else 'more'} than before.")


@click.command()
@click.option(
    "--older-than", "days", type=click.IntRange(1, 36_500), required=True, metavar="DAYS", help="Age in days."
)
@DRY_RUN
@YES
@project_options
@json_option
def prune(days: int, dry_run: bool, yes: bool, where: Where, as_json: bool) -> None:
    """Remove this scope's retrieval records that are older than DAYS days. They can't be run again then.

    The audit log keeps their events. Earlier texts and vectors stay, so that younger retrievals can be run again.

    \b
    Example:
      arr db prune --older-than 365 --dry-run
    """
    with where.open() as database:
        plan = database.plan_pruning(days)
        if dry_run or not as_json:
            _print_plan(plan, as_json)
        if dry_run or not (plan.records or as_json):
            return
        if plan.records:
            _confirm(yes, "Pruned records can't be brought back.", "Remove them for good?")
            plan = database.prune(days)
    if as_json:
        print_json({"records_removed": plan.records, **vars(plan)})
    else:
        echo(f"Removed {_counted(plan.records, 'record')}. `arr db vacuum` gives their space back to the disk.")


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _confirm(yes: bool, why: str, question: str) -> None:
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError(f"{why} Say --yes to do it, or --dry-run to see what it would win.")
    click.confirm(question, abort=True, err=True)


def _print_space(space: Any, as_json: bool) -> None:
    if as_json:
        print_json({**{f"{name}_bytes": value for name, value in vars(space).items()}, "needed_bytes": space.needed})
        return
    echo(
        f"The file has {space.file:,} bytes, {space.free:,} of them in empty pages, and {space.wal:,} in its log beside it."
    )
    echo(
        f"Wins at least {space.free + space.wal:,} bytes. Takes up to {space.needed:,} meanwhile; the disk has "
        f"{space.disk_free:,} free."
    )


def _print_plan(plan: Any, as_json: bool) -> None:
    if as_json:
        print_json(vars(plan))
        return
    if plan.records:
        records, evidence = _counted(plan.records, "retrieval record"), _counted(plan.evidence, "evidence row")
        echo(f"{records} with {evidence}, from {plan.oldest} to {plan.newest}: about {plan.bytes:,} bytes.")
    else:
        echo(f"No retrieval record is older than {plan.before}.")
    echo(
        f"Kept, so that the others can be run again: {plan.kept_chunks:,} earlier chunks ({plan.kept_chunk_bytes:,} bytes) "
        f"and {plan.kept_vectors:,} earlier vectors ({plan.kept_vector_bytes:,} bytes)."
    )
