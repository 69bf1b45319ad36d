"""``arr init | status | doctor | completion``."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import click

from arr_sql.cli._shared import (
    NAME,
    Where,
    echo,
    json_option,
    note,
    print_json,
    print_pairs,
    print_table,
    project_options,
    visible,
)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("."))
@click.option("--team", type=NAME, metavar="NAME", help="team_id (else your user name).")
@click.option("--name", type=NAME, metavar="NAME", help="project_id (else the folder's name).")
@click.option("--env", type=NAME, metavar="NAME", help="experiment_environment (else 'default').")
@json_option
def init(folder: Path, team: str | None, name: str | None, env: str | None, as_json: bool) -> None:
    """Make FOLDER a project: write arr.toml and .arr/arr.db.

    Run again it changes nothing that is there, and brings an older database file up to date.

    \b
    Example:
      arr init --team vision --name lumen
    """
    from arr_sql.core.git_identity import read_git_identity
    from arr_sql.core.project import derive_scope, find_project
    from arr_sql.core.settings import CONFIG_NAME, ProjectTable, Settings, settings_text
    from arr_sql.database import ResearchDatabase
    from arr_sql.errors import InputError
    from arr_sql.memory.audit_log import current_actor

    folder = folder.absolute()
    if not folder.is_dir():
        raise InputError(f"'{folder}' is not a folder. Make it first, or name another one.")
    config = folder / CONFIG_NAME
    is_new = not config.exists()
    if is_new:
        table = ProjectTable.model_construct(
            team_id=team or _as_name(current_actor()), project_id=name or _as_name(folder.name),
            experiment_environment=env or "default", repository=None,
        )  # fmt: skip
        # Unfit values are refused (by the rules of a scope) before anything is written.
        derive_scope(folder, Settings.model_construct(project=table), read_git_identity(folder))
        config.write_text(settings_text(table), "utf-8", newline="\n")
    elif team or name or env:
        raise InputError(f"'{config}' exists already. Edit it to change the team, the name or the environment.")
    project = find_project(folder)
    own = project.database
    own.parent.mkdir(parents=True, exist_ok=True)
    if own.parent.name == ".arr" and not (own.parent / ".gitignore").exists():
        (own.parent / ".gitignore").write_text("*\n", "utf-8")  # the file is yours, not the repository's
    ResearchDatabase.create(own, project.scope, project_folder=project.folder).close()
    if as_json:
        print_json({"config": str(config), "database": str(own), "created": is_new,
                    "scope": project.scope.model_dump(), "notes": list(project.notes)})  # fmt: skip
        return
    echo(f"{'Wrote' if is_new else 'Kept'} {config}\nDatabase {own}")
    print_pairs("Scope:", project.scope.model_dump())
    for text in project.notes:
        note(f"Note: {text}")
    echo("Next: arr add .")


def _as_name(text: str) -> str:
    kept = "".join(c if unicodedata.category(c) not in ("Cc", "Cs") else " " for c in text)
    return re.sub(r"\s+", " ", kept).strip()[:200] or "project"


@click.command()
@click.option("--sources", "by_source", is_flag=True, help="Go source by source, and name all that was left out.")
@click.option("--check", is_flag=True, help="With --sources: read each file and say whether it has changed.")
@project_options
@json_option
def status(by_source: bool, check: bool, where: Where, as_json: bool) -> None:
    """Show what this scope holds and how each channel stands.

    \b
    Example:
      arr status --json
      arr status --sources --check
    """
    if check and not by_source:
        raise click.UsageError("--check goes with --sources.")
    project = where.find()
    with where.open() as database:
        state = database.status()
        listed = database.source_list(check_files=check) if by_source else None
    if listed is not None:
        state = {**state, "source_list": listed["sources"], "left_out_list": listed["left_out"]}
    if as_json:
        print_json({**state, "notes": list(project.notes)})
        return
    print_pairs("Scope:", state["scope"])
    held = {
        "database": f"{state['database']} ({state['file_bytes'] / 1e6:.1f} MB)",
        "sources": f"{state.get('sources', 0)} ({state.get('bytes', 0) / 1e6:.1f} MB), {state.get('chunks', 0)} chunks",
        "memories": _counts(state["memories"]),
        "left out": _counts(state["left_out"]),
        "lines withheld": state.get("lines_withheld", 0),
        "retrievals": state.get("retrievals", 0),
        "audit events": state.get("events", 0),
        "revision": state.get("revision", 0),
    }
    print_pairs("Holds:", held)
    chunks = state.get("chunks", 0)
    vectors = state["vectors"]
    channels = {
        "research-memory": "stale, run `arr db rebuild`" if "memory_text" in state["stale_indexes"] else "ready",
        "bm25": "stale, run `arr db rebuild`" if "chunk_text" in state["stale_indexes"] else "ready",
        "vector": "; ".join(_vector_state(v, chunks, state["memories"].get("published", 0)) for v in vectors)
        or f"not_indexed (0 of {chunks}), run `arr embed`",
        "grep": _grep_state(state["roots"]),
    }
    print_pairs("Channels:", channels)
    for root in state["roots"]:
        state_text = (
            "missing" if root["missing"] else "another branch is checked out" if root["other_branch"] else "here"
        )
        place = f"{root['path']}{'/' + root['file'] if root['file'] else ''}"
        echo(f"  root  {visible(place)}  ({state_text})")
    if listed is not None:
        from arr_sql.cli._sources import print_sources

        print_sources(listed)
    for text in project.notes:
        note(f"Note: {text}")
    if not state["roots"]:
        note("Nothing has been added to this scope. `arr add FOLDER` does; `arr scope list` shows the file's scopes.")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items())) or "none"


def _vector_state(vectors: dict[str, Any], chunks: int, published: int) -> str:
    """How many chunks have a vector of one model, and, where there are published memories, how many of them."""
    memories = f", {vectors['memories_embedded']} of {published} published memories" if published else ""
    return f"{vectors['model']}: {vectors['embedded']} of {chunks}{memories}"


def _grep_state(roots: list[dict[str, Any]]) -> str:
    usable = [root for root in roots if not root["other_branch"] and not root["missing"]]
    if not roots:
        return "unavailable (no_roots), run `arr add FOLDER`"
    return "ready" if len(usable) == len(roots) else f"{len(usable)} of {len(roots)} folders usable"


@click.command()
@project_options
@json_option
def doctor(where: Where, as_json: bool) -> None:
    """Check this machine: Python, SQLite, sqlite-vec, the model, Litestream, the file system, the project.

    \b
    Example:
      arr doctor
    """
    from arr_sql.cli._doctor import examine

    findings = examine(where)
    if as_json:
        print_json([{"check": f.check, "state": f.state, "found": f.found, "next": f.next_step} for f in findings])
    else:
        print_table("", ["check", "state", "found"], [[f.check, f.state, f.found] for f in findings])
        for finding in findings:
            if finding.next_step:
                echo(f"{finding.check}: {finding.next_step}")
    if any(finding.state == "broken" for finding in findings):
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Example:
      arr completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    from arr_sql.cli import arr

    made = get_completion_class(shell)
    assert made is not None
    completer = made(arr, {}, "arr", "_ARR_COMPLETE")
    echo(completer.source_template % completer.source_vars())  # .source() would run bash to ask its version
