"""``arr scope list | open | merge-preview``."""

from __future__ import annotations

import click

from arr_sql.cli._memory import other_scope
from arr_sql.cli._shared import NAME, F, Where, echo, json_option, print_json, print_pairs, print_table, project_options
from arr_sql.cli.memory_move_commands import preview_json, print_preview


def from_options(command: F) -> F:
    """Options that name another scope by the values in which it differs from this one."""
    for option in (
        click.option("--from-repository", "other_repository", type=NAME, metavar="NAME"),
        click.option("--from-project", "other_project", type=NAME, metavar="NAME"),
        click.option("--from-team", "other_team", type=NAME, metavar="NAME"),
        click.option("--from-env", "other_environment", type=NAME, metavar="NAME"),
        click.option(
            "--from", "other_branch", type=NAME, metavar="BRANCH", help="The other scope is this one with that branch."
        ),
    ):
        command = option(command)
    return command


@click.group()
def scope() -> None:
    """The scopes of the file: what each holds, opening one from another, and what a finished branch would promote."""


@scope.command("list")
@project_options
@json_option
def scope_list(where: Where, as_json: bool) -> None:
    """List every scope of the file with what it holds.

    \b
    Example:
      arr scope list
    """
    with where.open() as database:
        rows = database.scopes()
        mine = database.scope.values()
    if as_json:
        print_json(rows)
        return
    columns = ["", "team", "project", "repository", "branch", "environment", "sources", "chunks", "memories"]
    table = [
        [
            "*" if tuple(list(r.values())[:5]) == mine else "",
            *list(r.values())[:5],
            r["sources"],
            r["chunks"],
            r["memories"],
        ]
        for r in rows
    ]
    print_table("Scopes (* = here)", columns, table)


@scope.command("open")
@from_options
@project_options
@json_option
def scope_open(
    other_branch: str | None, other_environment: str | None, other_team: str | None, other_project: str | None,
    other_repository: str | None,
    where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Open this scope from another one: it begins empty and remembers which scope it came from, and at which revision.

    \b
    Example:
      arr scope open --branch try-lion --from main
    """
    with where.open() as database:
        parent = other_scope(
            database.scope, "--from", branch=other_branch, experiment_environment=other_environment, team_id=other_team,
            project_id=other_project, repository=other_repository,
        )  # fmt: skip
        revision = database.open_scope_from(parent)
        opened = database.scope
    if as_json:
        print_json({"scope": opened.model_dump(), "parent": parent.model_dump(), "parent_revision": revision})
        return
    print_pairs("Opened:", opened.model_dump())
    echo(f"From {parent} at revision {revision}. Nothing was copied; arr add . fills it.")


@scope.command("merge-preview")
@from_options
@project_options
@json_option
def merge_preview(
    other_branch: str | None, other_environment: str | None, other_team: str | None, other_project: str | None,
    other_repository: str | None,
    where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Show what another scope has published that is absent or different here. Writes nothing.

    \b
    Example:
      arr scope merge-preview --from try-lion
    """
    with where.open() as database:
        origin = other_scope(
            database.scope, "--from", branch=other_branch, experiment_environment=other_environment, team_id=other_team,
            project_id=other_project, repository=other_repository,
        )  # fmt: skip
        here, found = database.scope, database.merge_preview(origin)
    if as_json:
        print_json([preview_json(item) for item in found])
        return
    if not found:
        echo("Everything published there is here already.")
        return
    for item in found:
        print_preview(item)
    options = {
        "branch": "--to-branch", "experiment_environment": "--to-env", "team_id": "--to-team", "project_id": "--to-project",
        "repository": "--to-repository",
    }  # fmt: skip
    words = " ".join(
        f'{option} "{getattr(here, name)}"'
        for name, option in options.items()
        if getattr(here, name) != getattr(origin, name)
    )
    echo(f"\nEach is your decision. In that scope: arr memory promote ID {words}")
