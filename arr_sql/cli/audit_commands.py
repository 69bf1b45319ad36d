"""``arr audit list | verify``."""

from __future__ import annotations

import json

import click

from arr_sql.cli._shared import NAME, Where, echo, json_option, print_json, print_table, project_options


@click.group()
def audit() -> None:
    """The audit log: append-only, hash-chained, one event for every change and every retrieval."""


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
@project_options
@json_option
def verify(where: Where, as_json: bool) -> None:
    """Check the whole file's chain, and every row against the event that vouches for it.

    \b
    Example:
      arr audit verify
    """
    with where.open() as database:
        report = database.verify_audit()
    if as_json:
        print_json({"events": report.events, "rows": report.rows, "head": report.head, "verified": not report.damages,
                    "damages": [vars(item) for item in report.damages]})  # fmt: skip
    elif report.damages:
        for item in report.damages[:20]:
            echo(f"{item.kind} at event {item.seq}: {item.subject}")
        echo(
            f"The audit log does NOT verify: {len(report.damages)} problems, the first at event {report.damages[0].seq}."
        )
    else:
        echo(f"Verified: {report.events} events, {report.rows} rows. Head {report.head}")
    if report.damages:
        raise click.exceptions.Exit(1)
