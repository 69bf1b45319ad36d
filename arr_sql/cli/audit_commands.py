"""``arr audit list | verify | anchor | export``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from arr_sql.cli._shared import (
    NAME,
    Where,
    advise_elsewhere,
    echo,
    json_option,
    note,
    print_json,
    print_table,
    project_options,
    visible,
)


@click.group()
def audit() -> None:
    """The audit log: append-only, hash-chained, one event for every change and every retrieval."""


def _say_which_kinds(kind: str, kinds: Sequence[str]) -> None:
    """An empty list may be a slip of the pen."""
    import difflib

    near = difflib.get_close_matches(kind, kinds, 1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    note(f"This scope has no event of kind '{visible(kind)}'.{meant} It has: {', '.join(kinds) or 'none at all'}.")


@audit.command("list")
@click.option("--kind", type=NAME, metavar="KIND", help="Only of this kind, for example retrieval or source_added.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True)
@project_options
@json_option
def list_(kind: str | None, limit: int, where: Where, as_json: bool) -> None:
    """List the last events of this scope, newest first.

    \b
    Example:
      arr audit list --kind retrieval --limit 5
    """
    with where.open() as database:
        events = database.audit_events(kind, limit)
        if kind is not None and not events:
            _say_which_kinds(kind, database.event_kinds())
    if as_json:
        print_json([event.model_dump(mode="json") for event in events])
        return
    rows = [
        [e.scope_seq, e.at[:19], e.actor, e.kind, f"{e.subject_kind} {e.subject_id}",
         json.dumps(e.details, ensure_ascii=False), e.hash[:12]]
        for e in events
    ]  # fmt: skip
    print_table("", ["no.", "at (UTC)", "actor", "what", "subject", "details", "hash"], rows)


@audit.command()
@click.option(
    "--anchor",
    "anchor_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also compare with this file's anchors.",
)
@click.option("--git-note", is_flag=True, help="Also compare with the anchors in this repository's git notes.")
@click.option(
    "--export",
    "export_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Check this exported log instead, without opening a database.",
)
@project_options
@json_option
def verify(anchor_file: Path | None, git_note: bool, export_file: Path | None, where: Where, as_json: bool) -> None:
    """Check the whole file's chain, and every row against the event that vouches for it.

    A chain alone can't tell that its end is missing or that it was computed anew: an anchor kept elsewhere can.

    \b
    Example:
      arr audit verify --anchor ../lumen.anchor
    """
    from arr_sql.memory.audit_anchor import parse_anchors, read_anchors, verify_export

    anchors = read_anchors(anchor_file) if anchor_file is not None else []
    if git_note:
        from arr_sql.core.git_notes import NOTES_REF, read_notes

        anchors += parse_anchors(read_notes(where.folder), NOTES_REF)
    if export_file is not None:
        report = verify_export(export_file, anchors)
    else:
        with where.open() as database:
            report = database.verify_audit(anchors)
    if as_json:
        print_json({"events": report.events, "rows": report.rows, "head": report.head, "verified": not report.damages,
                    "anchors": len(anchors), "damages": [vars(item) for item in report.damages]})  # fmt: skip
    elif report.damages:
        for item in report.damages[:20]:
            echo(f"{item.kind} at event {item.seq}: {visible(item.subject)}")
        echo(
            f"The audit log does NOT verify: {len(report.damages)} problems, the first at event {report.damages[0].seq}."
        )
    else:
        rows = f", {report.rows} rows" if export_file is None else ""
        agreed = f", {len(anchors)} anchors" if anchors else ""
        echo(f"Verified: {report.events} events{rows}{agreed}. Head {report.head}")
    if report.damages:
        raise click.exceptions.Exit(1)


@audit.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--git-note", is_flag=True, help="Also append the anchor to the git note of the commit checked out.")
@project_options
@json_option
def anchor(file: Path, git_note: bool, where: Where, as_json: bool) -> None:
    """Append the log's head (number of events, hash, time) to FILE: keep it where the database can't reach it.

    FILE is only ever appended to, and not at all when it holds an anchor that this log contradicts. --git-note runs git
    with its hooks switched off.

    \b
    Example:
      arr audit anchor ../lumen.anchor
    """
    with where.open() as database:
        made, is_new = database.anchor_audit(file)
    commit = None
    if git_note:
        from arr_sql.core.git_notes import append_note

        commit = append_note(where.folder, made.line())
    if as_json:
        print_json({**vars(made), "appended": is_new, "git_commit": commit})
        return
    words = "Anchored" if is_new else "Anchored already"
    noted = f", and noted at commit {commit[:12]}" if commit else ""
    echo(f"{words}: {made.events} events, head {made.head} in {visible(str(file))}{noted}.")


@audit.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@project_options
@json_option
def export(file: Path, where: Where, as_json: bool) -> None:
    """Write every event of the file to FILE, one line of canonical JSON each. `verify --export FILE` checks it anywhere.

    \b
    Example:
      arr audit export audit.jsonl
    """
    with where.open() as database:
        count = database.export_audit(file)
        is_read = database.is_read(file)
    if as_json:
        print_json({"events": count, "file": str(file)})
    else:
        echo(f"Wrote {count} events to {visible(str(file))}.")
    advise_elsewhere(file, is_read)
