"""``arr memory``: the group, and ``add | publish | list | show | revoke``. The others are in the modules imported below."""

from __future__ import annotations

from typing import Any

import click

from arr_sql.cli import memory_life_commands, memory_move_commands
from arr_sql.cli._memory import KINDS, STATUSES, metadata_of, print_memory
from arr_sql.cli._shared import (
    NAME,
    TEXT,
    Where,
    echo,
    json_option,
    print_json,
    print_table,
    project_options,
    visible,
)


@click.group()
def memory() -> None:
    """Research memories: what a person decided to keep. Only published ones are found by search."""


@memory.command()
@click.option("--title", type=TEXT, required=True, help="One line.")
@click.option("--content", type=TEXT, help="The text; left out, your editor opens, or it is read from standard input.")
@click.option("--kind", type=click.Choice(KINDS), default="knowledge", show_default=True)
@click.option("--source", "sources", type=NAME, multiple=True, metavar="REF", help="A source it rests on (repeatable).")
@click.option("--confidence", type=click.FloatRange(0, 1), default=0.8, show_default=True)
@click.option(
    "--only-env", "environments", type=NAME, multiple=True, metavar="NAME", help="Holds only there (repeatable)."
)
@click.option("--conflict-key", type=TEXT, metavar="KEY", help="Of memories with one key only one is found.")
@click.option("--expires", type=NAME, metavar="TIME", help="ISO time with zone, after which it is not found.")
@click.option("--related", type=NAME, multiple=True, metavar="ID", help="A related memory of this scope (repeatable).")
@click.option("--evidence", type=NAME, multiple=True, metavar="CHUNK", help="Of a research_case: a chunk (repeatable).")
@click.option(
    "--action", "actions", type=NAME, multiple=True, help="Of a research_case: what is proposed (repeatable)."
)
@click.option(
    "--meta", type=TEXT, multiple=True, metavar="KEY=VALUE", help="Anything else, as text or JSON (repeatable)."
)
@click.option("--id", "memory_id", type=NAME, metavar="ID", help="Its id (else derived).")
@project_options
@json_option
def add(
    title: str, content: str | None, kind: str, sources: tuple[str, ...], confidence: float,
    environments: tuple[str, ...], conflict_key: str | None, expires: str | None, related: tuple[str, ...],
    evidence: tuple[str, ...], actions: tuple[str, ...], meta: tuple[str, ...], memory_id: str | None, where: Where,
    as_json: bool,
) -> None:  # fmt: skip
    """Store a candidate. It is not found by search until someone publishes it.

    \b
    Example:
      arr memory add --title "Warmup" --content "Use 2000 steps." --source notes/warmup.md
    """
    from arr_sql.cli._editor import typed_content

    applicability = {"experiment_environments": list(environments)} if environments else {}
    values: dict[str, Any] = {
        "title": title, "kind": kind, "source_refs": sources, "confidence": confidence, "applicability": applicability,
        "conflict_key": conflict_key, "expires_at": expires, "related_memory_ids": related, "memory_id": memory_id,
        "evidence_chunk_ids": evidence, "proposed_actions": actions, "metadata": metadata_of(meta),
    }  # fmt: skip
    if content is not None:
        with where.open() as database:
            made = database.add_memory(content=content, **values)
    else:
        with typed_content("") as text, where.open() as database:
            made = database.add_memory(content=text, **values)
    print_memory(made, as_json, f"Next: arr memory publish {made.memory_id}")


@memory.command()
@click.argument("memory_id", type=NAME)
@click.option("--reason", type=TEXT, default="", help="Why; needed when the memory names no source.")
@project_options
@json_option
def publish(memory_id: str, reason: str, where: Where, as_json: bool) -> None:
    """Let search find a memory. Recorded with your name.

    \b
    Example:
      arr memory publish m0a1b2c3d4e5 --reason "measured twice"
    """
    with where.open() as database:
        made = database.set_memory_status(memory_id, "published", reason)
    print_memory(made, as_json)


@memory.command()
@click.argument("memory_id", type=NAME)
@click.option("--reason", type=NAME, required=True, help="Why it no longer holds.")
@project_options
@json_option
def revoke(memory_id: str, reason: str, where: Where, as_json: bool) -> None:
    """Take a memory out of search for good. Its history stays.

    \b
    Example:
      arr memory revoke m0a1b2c3d4e5 --reason "measured on the wrong split"
    """
    with where.open() as database:
        made = database.set_memory_status(memory_id, "revoked", reason)
    print_memory(made, as_json)


@memory.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Only of this status.")
@click.option("--kind", type=click.Choice(KINDS), help="Only of this kind.")
@click.option(
    "--since",
    type=NAME,
    metavar="TIME",
    help="Changed then or later: a time with zone, a date (00:00 UTC), today, yesterday, 36h, 7d, 2w.",
)
@project_options
@json_option
def list_(status: Any, kind: Any, since: str | None, where: Where, as_json: bool) -> None:
    """List the memories of this scope, newest change first.

    \b
    Example:
      arr memory list --status published --since yesterday
    """
    from arr_sql.core.clock import since_text, utc_now

    moment = since_text(since, utc_now()) if since is not None else None
    with where.open() as database:
        found = database.memories(status, kind=kind, since=moment)
    if as_json:
        print_json([item.model_dump(mode="json") for item in found])
        return
    rows = [[m.memory_id, m.status, m.kind, m.title, f"{m.confidence:g}", m.updated_at[:16]] for m in found]
    print_table("", ["id", "status", "kind", "title", "confidence", "changed"], rows)


@memory.command()
@click.argument("memory_id", type=NAME)
@click.option("--history", "with_history", is_flag=True, help="Its older versions too.")
@project_options
@json_option
def show(memory_id: str, with_history: bool, where: Where, as_json: bool) -> None:
    """Show one memory.

    \b
    Example:
      arr memory show m0a1b2c3d4e5
    """
    with where.open() as database:
        found = database.memory(memory_id)
        versions = database.memory_history(memory_id) if with_history else []
    if as_json:
        history = {"history": [version.model_dump(mode="json") for version in versions]} if with_history else {}
        print_json({**found.model_dump(mode="json"), **history})
        return
    for name, value in found.model_dump(mode="json", exclude={"scope", "content"}).items():
        if value not in (None, [], {}, ""):
            echo(f"{name}: {visible(str(value))}")
    echo(f"\n{visible(found.content)}")
    if with_history:
        echo()
        memory_life_commands.print_history(versions)


for _command in (*memory_life_commands.COMMANDS, *memory_move_commands.COMMANDS):
    memory.add_command(_command)
