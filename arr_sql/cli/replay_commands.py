"""``arr replay`` and ``arr diff``: past retrievals run again, and what changed between two revisions."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import click

from arr_sql.cli._shared import (
    NAME,
    TEXT,
    Where,
    echo,
    json_option,
    print_json,
    print_table,
    progress_bar,
    project_options,
    visible,
)

CAUSES = {
    "row_revised": "A row that took part is not what it was; `arr audit verify` names it.",
    "row_erased": "The query, or a row that took part, was erased; `arr forget` leaves a receipt.",
    "index_version": "Ranks are computed by another version of the index, BM25 or the reranker than then.",
    "analyser_version": "Texts are analysed by another version than then.",
    "model_missing": "The query's vector, or the vectors of the model that made it, are gone.",
    "policy_changed": "Other calls are admitted than then, or a channel of one's own is not registered here.",
    "file_changed": "Files that grep reads are not what they were, or another branch is checked out.",
}
UNEXPLAINED = "Nothing known explains it: run `arr db check`."


@click.command()
@click.argument("retrieval_id", required=False, type=NAME)
@click.option("--all", "is_all", is_flag=True, help="Every retrieval of this scope, with a summary.")
@click.option(
    "--since",
    type=NAME,
    metavar="TIME",
    help="With --all: only those since then: a time with zone, a date (00:00 UTC), today, yesterday, 36h, 7d, 2w.",
)
@click.option(
    "--query",
    type=TEXT,
    metavar="TEXT",
    help="The query, when the record keeps only its hash; it is checked against it.",
)
@project_options
@json_option
def replay(
    retrieval_id: str | None, is_all: bool, since: str | None, query: str | None, where: Where, as_json: bool
) -> None:
    """Run a past retrieval again on the store as it was, and compare it with its record.

    Says `identical`, or the first difference with its cause; exits with 1 when anything differs. Nothing is recorded
    but an audit event.

    \b
    Example:
      arr replay r1-0a1b2c3d
      arr replay --all --since 2026-03-10T00:00:00Z
    """
    if is_all == (retrieval_id is not None):
        raise click.UsageError("Name one retrieval, or give --all. `arr audit list --kind retrieval` shows their ids.")
    if (since is not None and not is_all) or (query is not None and is_all):
        raise click.UsageError("--since goes with --all, --query with one retrieval.")
    from arr_sql.core.clock import since_text, to_text, utc_now

    with where.open() as database:
        if retrieval_id is not None:
            found = [database.replay(retrieval_id, query=query)]
        else:
            with progress_bar("Replaying", quiet=as_json) as update:
                found = database.replay_all(None if since is None else to_text(since_text(since, utc_now())), update)
    if as_json:
        values = [_value(item) for item in found]
        print_json(values if is_all else values[0])
    elif is_all:
        _print_summary(found)
    else:
        _print_one(found[0])
    if any(item.outcome == "different" for item in found):
        raise click.exceptions.Exit(1)


def _value(item: Any) -> dict[str, Any]:
    value = dict(vars(item))
    value["difference"] = vars(item.difference) if item.difference is not None else None
    return value


def _print_one(item: Any) -> None:
    if item.outcome == "identical":
        echo(f"identical  ({item.retrieval_id}, store at revision {item.revision})")
    elif item.outcome == "not_replayable":
        echo(f"not replayable: {item.reason}")
    else:
        echo(f"different at {item.difference.where}")
        echo(f"  recorded: {_short(item.difference.recorded)}")
        echo(f"  replayed: {_short(item.difference.replayed)}")
        echo(f"  cause:    {item.cause or 'unknown'}. {CAUSES.get(item.cause or '', UNEXPLAINED)}")


def _short(value: Any) -> str:
    shown = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return shown if len(shown) <= 200 else shown[:199] + "…"


def _print_summary(found: list[Any]) -> None:
    rows = [
        [item.retrieval_id, item.at[:19], item.revision, item.outcome, item.cause or ("unknown" if item.difference else ""),
         item.difference.where if item.difference else item.reason]
        for item in found if item.outcome != "identical"
    ]  # fmt: skip
    if rows:
        print_table("", ["retrieval", "at (UTC)", "revision", "outcome", "cause", "first difference, or why not"], rows)
    counts = Counter(item.outcome for item in found)
    echo(
        f"{len(found)} retrievals: {counts['identical']} identical, {counts['different']} different, "
        f"{counts['not_replayable']} not replayable."
    )


@click.command()
@click.argument("first", type=click.IntRange(0))
@click.argument("last", type=click.IntRange(0), required=False)
@click.option(
    "--retrievals", is_flag=True, help="Also ask every past retrieval again and name those that answer otherwise now."
)
@project_options
@json_option
def diff(first: int, last: int | None, retrievals: bool, where: Where, as_json: bool) -> None:
    """Show which sources and memories changed between revisions FIRST and LAST (default: now) of this scope.

    `arr status` shows the present revision, `arr audit list` the revision of each event.

    \b
    Example:
      arr diff 0
      arr diff 3 7 --retrievals
    """
    with where.open() as database, progress_bar("Asking again", quiet=as_json or not retrievals) as update:
        found = database.diff(first, last, retrievals=retrievals, progress=update)
    if as_json:
        value: dict[str, Any] = {
            "first": found.first, "last": found.last, "subjects": [vars(item) for item in found.subjects]
        }  # fmt: skip
        if retrievals:
            value |= {
                "retrievals": [vars(item) for item in found.answers], "compared": found.answers_compared,
                "not_replayable": found.answers_not_replayable,
            }  # fmt: skip
        print_json(value)
        return
    if found.subjects:
        rows = [[item.kind, item.change, item.name, item.before, item.after] for item in found.subjects]
        print_table(f"Revision {found.first} to {found.last}", ["what", "change", "name", "before", "after"], rows)
    else:
        echo(f"Nothing changed between revisions {found.first} and {found.last}.")
    if not retrievals:
        return
    if found.answers:
        rows = [
            [item.retrieval_id, item.at[:19], item.query, ", ".join(item.gained), ", ".join(item.lost), ", ".join(item.changed),
             "yes" if item.is_reordered else ""]
            for item in found.answers
        ]  # fmt: skip
        title = f"Past retrievals that would answer otherwise at revision {found.last}"
        print_table(title, ["retrieval", "at (UTC)", "query", "gained", "lost", "other text", "reordered"], rows)
    echo(
        f"{len(found.answers)} of {found.answers_compared} past retrievals would answer otherwise"
        + (f"; {found.answers_not_replayable} can't be asked again." if found.answers_not_replayable else ".")
    )
