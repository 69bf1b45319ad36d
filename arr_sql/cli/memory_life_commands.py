"""``arr memory edit | history | verify | deprecate | conflict | resolve | expire | renew | link``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from arr_sql.cli._memory import metadata_of, print_memories, print_memory
from arr_sql.cli._shared import (
    NAME,
    TEXT,
    Where,
    json_option,
    note,
    print_json,
    print_table,
    project_options,
    read_stdin,
)

if TYPE_CHECKING:
    from arr_sql.core.research_models import MemoryVersion, ResearchMemory

EMPTIED: dict[str, tuple[str, Any]] = {
    "sources": ("source_refs", ()), "only-env": ("applicability", {}), "conflict-key": ("conflict_key", None),
    "expires": ("expires_at", None), "related": ("related_memory_ids", ()), "evidence": ("evidence_chunk_ids", ()),
    "actions": ("proposed_actions", ()), "meta": ("metadata", {}),
}  # fmt: skip
"""What ``--clear`` can name: the field and its empty value."""

expect_revision = click.option(
    "--expect-revision", "expected", type=click.IntRange(min=1), metavar="N",
    help="The revision you read; refused if somebody changed it since.",
)  # fmt: skip


@click.command()
@click.argument("memory_id", type=NAME)
@click.option("--title", type=TEXT, help="One line.")
@click.option("--content", type=TEXT, help="The text; '-' reads standard input. Without any option your editor opens.")
@click.option("--source", "sources", type=NAME, multiple=True, metavar="REF", help="The sources anew (repeatable).")
@click.option("--confidence", type=click.FloatRange(0, 1))
@click.option(
    "--only-env", "environments", type=NAME, multiple=True, metavar="NAME", help="Holds only there (repeatable)."
)
@click.option("--conflict-key", type=NAME, metavar="KEY", help="Of memories with one key only one is found.")
@click.option("--expires", type=NAME, metavar="TIME", help="ISO time with zone, after which it is not found.")
@click.option(
    "--evidence", type=NAME, multiple=True, metavar="CHUNK", help="Of a research_case: the chunks anew (repeatable)."
)
@click.option(
    "--action", "actions", type=NAME, multiple=True, help="Of a research_case: the proposals anew (repeatable)."
)
@click.option(
    "--meta", type=TEXT, multiple=True, metavar="KEY=VALUE", help="Set one entry, the others stay (repeatable)."
)
@click.option("--clear", type=click.Choice(list(EMPTIED)), multiple=True, help="Take this away (repeatable).")
@click.option("--reason", type=TEXT, default="", help="Why, for the history.")
@expect_revision
@project_options
@json_option
def edit(
    memory_id: str, title: str | None, content: str | None, sources: tuple[str, ...], confidence: float | None,
    environments: tuple[str, ...], conflict_key: str | None, expires: str | None, evidence: tuple[str, ...],
    actions: tuple[str, ...], meta: tuple[str, ...], clear: tuple[str, ...], reason: str, expected: int | None,
    where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Give a candidate or verified memory a new version, as a candidate.

    Without an option for a field, your editor opens on the content, and standard input is read where there is no
    terminal. Published words stay: add a new memory, publish it, and deprecate the old one.

    \b
    Example:
      arr memory edit m0a1b2c3d4e5 --content "Use 2500 steps." --reason "measured again"
    """
    changes: dict[str, Any] = dict(EMPTIED[name] for name in clear)
    given = {
        "title": title, "content": read_stdin() if content == "-" else content, "source_refs": sources or None,
        "confidence": confidence, "conflict_key": conflict_key, "expires_at": expires,
        "applicability": {"experiment_environments": list(environments)} if environments else None,
        "evidence_chunk_ids": evidence or None, "proposed_actions": actions or None,
    }  # fmt: skip
    changes |= {name: value for name, value in given.items() if value is not None}
    with where.open() as database:
        before = database.memory(memory_id)
        if meta:
            changes["metadata"] = {**({} if "metadata" in changes else before.metadata), **metadata_of(meta)}
        if not changes:
            made = _edited_by_hand(database, before, expected, reason)
        else:
            # Entries of --meta are put beside those that were read, so the memory must still be as it was read.
            seen = before.revision if meta and expected is None else expected
            made = database.edit_memory(memory_id, expected_revision=seen, reason=reason, **changes)
    if made.revision == before.revision and not as_json:
        note("Nothing differs: nothing was written.")
    print_memory(made, as_json)


def _edited_by_hand(database: Any, before: ResearchMemory, expected: int | None, reason: str) -> Any:
    """The content from editor or pipe. In an editor the revision that it opened on is expected."""
    import sys

    from arr_sql.cli._editor import typed_content
    from arr_sql.memory.lifecycle import require_editable, require_revision

    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if is_terminal:  # don't let a person write what will be refused anyway
        require_editable(before.memory_id, before.status)
        require_revision(before, expected, "somebody else")
    with typed_content(before.content) as text:
        seen = before.revision if is_terminal else expected
        return database.edit_memory(before.memory_id, expected_revision=seen, reason=reason, content=text)


@click.command()
@click.argument("memory_id", type=NAME)
@project_options
@json_option
def history(memory_id: str, where: Where, as_json: bool) -> None:
    """Show every version of a memory, oldest first: who, when, why, and the event that vouches for it.

    \b
    Example:
      arr memory history m0a1b2c3d4e5
    """
    with where.open() as database:
        versions = database.memory_history(memory_id)
    if as_json:
        print_json([version.model_dump(mode="json") for version in versions])
        return
    print_history(versions)


def print_history(versions: Sequence[MemoryVersion]) -> None:
    """Versions as a table, with what each changed."""
    rows = []
    before: ResearchMemory | None = None
    for version in versions:
        now = version.memory
        changed = [
            name
            for name in type(now).model_fields
            if before is not None
            and name not in ("scope", "revision", "status", "updated_at")
            and getattr(now, name) != getattr(before, name)
        ]
        rows.append(
            [
                now.revision,
                version.at[:19],
                version.event,
                now.status,
                ", ".join(changed),
                version.actor,
                version.reason,
            ]
        )
        before = now
    print_table("", ["revision", "at", "event", "status", "changed", "by", "reason"], rows)


@click.command()
@click.argument("memory_id", type=NAME)
@click.option("--reason", type=TEXT, default="", help="What was checked.")
@project_options
@json_option
def verify(memory_id: str, reason: str, where: Where, as_json: bool) -> None:
    """Note that a candidate was checked. It is still not found until it is published.

    \b
    Example:
      arr memory verify m0a1b2c3d4e5 --reason "numbers agree with run r8"
    """
    with where.open() as database:
        made = database.set_memory_status(memory_id, "verified", reason)
    print_memory(made, as_json, f"Next: arr memory publish {made.memory_id}")


@click.command()
@click.argument("memory_id", type=NAME)
@click.option("--reason", type=NAME, required=True, help="What replaces it, or why it is set aside.")
@project_options
@json_option
def deprecate(memory_id: str, reason: str, where: Where, as_json: bool) -> None:
    """Set a published memory aside. It is no longer found, and can be published again.

    \b
    Example:
      arr memory deprecate m-kept --reason "replaced by the numbers of run r8"
    """
    with where.open() as database:
        made = database.set_memory_status(memory_id, "deprecated", reason)
    print_memory(made, as_json)


@click.command()
@click.argument("memory_ids", type=NAME, nargs=-1, required=True, metavar="ID...")
@click.option("--reason", type=NAME, required=True, help="What contradicts what.")
@project_options
@json_option
def conflict(memory_ids: tuple[str, ...], reason: str, where: Where, as_json: bool) -> None:
    """Mark published memories as contradicting each other or the facts: all of them, or none if one can't be.

    None of them is found until the conflict is resolved.

    \b
    Example:
      arr memory conflict m-kept --reason "run r9 says otherwise"
    """
    with where.open() as database:
        made = database.set_memory_statuses([(name, "conflict") for name in dict.fromkeys(memory_ids)], reason)
    print_memories(made, as_json)


@click.command()
@click.argument("winner", type=NAME)
@click.option("--deprecate", "losers", type=NAME, multiple=True, metavar="ID", help="One that gives way (repeatable).")
@click.option("--reason", type=NAME, required=True, help="What decided it.")
@project_options
@json_option
def resolve(winner: str, losers: tuple[str, ...], reason: str, where: Where, as_json: bool) -> None:
    """Resolve a conflict: WINNER is published again, those that give way are deprecated, in one step.

    To revoke one for good instead, use `arr memory revoke`.

    \b
    Example:
      arr memory resolve m-kept --reason "run r9 used the wrong split"
    """
    with where.open() as database:
        made = database.resolve_conflict(winner, losers, reason)
    print_memories(made, as_json)


@click.command()
@click.argument("memory_id", type=NAME)
@click.option("--reason", type=NAME, required=True, help="Why it ends now.")
@project_options
@json_option
def expire(memory_id: str, reason: str, where: Where, as_json: bool) -> None:
    """End a published memory now, whatever its expiry. It can be renewed.

    \b
    Example:
      arr memory expire m-kept --reason "the old cluster is gone"
    """
    with where.open() as database:
        made = database.set_memory_status(memory_id, "expired", reason)
    print_memory(made, as_json, f"To bring it back: arr memory renew {made.memory_id} --expires TIME")


@click.command()
@click.argument("memory_id", type=NAME)
@click.option("--expires", type=NAME, required=True, metavar="TIME", help="ISO time with zone, later than now.")
@click.option("--reason", type=TEXT, default="", help="Why; needed when the memory names no source.")
@project_options
@json_option
def renew(memory_id: str, expires: str, reason: str, where: Where, as_json: bool) -> None:
    """Publish a memory that ran out, with a later expiry.

    \b
    Example:
      arr memory renew m-kept --expires 2099-01-01T00:00:00Z --reason "still true"
    """
    with where.open() as database:
        made = database.renew_memory(memory_id, expires, reason)
    print_memory(made, as_json)


@click.command()
@click.argument("memory_id", type=NAME)
@click.argument("others", type=NAME, nargs=-1, metavar="[OTHER]...")
@click.option("--remove", type=NAME, multiple=True, metavar="ID", help="No longer related (repeatable).")
@expect_revision
@project_options
@json_option
def link(
    memory_id: str, others: tuple[str, ...], remove: tuple[str, ...], expected: int | None, where: Where, as_json: bool
) -> None:
    """Relate a memory to OTHER memories of this scope, in the order given. Its words and status stay.

    \b
    Example:
      arr memory link m0a1b2c3d4e5 m-kept
    """
    if not others and not remove:
        raise click.UsageError("Name a memory to relate to, or one to --remove.")
    with where.open() as database:
        made = database.link_memory(memory_id, *others, remove=remove, expected_revision=expected)
    print_memory(made, as_json, f"Related: {', '.join(made.related_memory_ids) or 'none'}")


COMMANDS: Sequence[click.Command] = (edit, history, verify, deprecate, conflict, resolve, expire, renew, link)
