"""``arr memory import | export | promote``: memories that come from files or go into another scope."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arr_sql.cli._memory import other_scope, print_memory
from arr_sql.cli._shared import (
    NAME,
    TEXT,
    Where,
    advise_elsewhere,
    echo,
    json_option,
    note,
    print_json,
    project_options,
    visible,
)

if TYPE_CHECKING:
    from arr_sql.memory.promotion import PromotionPreview


@click.command("import")
@click.argument("paths", type=click.Path(path_type=Path, allow_dash=True), nargs=-1, required=True, metavar="PATH...")
@click.option("--keep-status", is_flag=True, help="Not as candidates: keep status and time of change. Needs --reason.")
@click.option("--reason", type=TEXT, default="", help="Why their status is to be trusted; goes into the history.")
@click.option("--skip-existing", is_flag=True, help="Pass over those whose id is here with other words.")
@project_options
@json_option
def import_(
    paths: tuple[Path, ...], keep_status: bool, reason: str, skip_existing: bool, where: Where, as_json: bool
) -> None:
    """Add the memories of JSON lines, Markdown files or folders of them: all, or none if anything is broken.

    They arrive as candidates. One that is here already with the same words is left as it is. '-' reads JSON lines from
    standard input.

    \b
    Example:
      arr memory import memories.jsonl
    """
    from arr_sql.cli._shared import read_stdin
    from arr_sql.errors import InputError
    from arr_sql.memory.memory_files import from_jsonl
    from arr_sql.memory.memory_paths import read_paths

    if keep_status and not reason.strip():
        raise click.UsageError("--keep-status is a person's decision: give --reason.")
    if Path("-") in paths:
        if len(paths) > 1:
            raise InputError("Read either standard input ('-') or files.")
        records, problems = from_jsonl(read_stdin(), "(standard input)")
        origin = "standard input"
    else:
        records, problems = read_paths(paths)
        origin = ", ".join(path.name or str(path) for path in paths)
    with where.open() as database:
        result = database.import_memories(
            records, problems, origin=origin, keep_status=keep_status, skip_existing=skip_existing, reason=reason
        )
    if as_json:
        print_json({"imported": result.imported, "unchanged": result.unchanged, "skipped": result.skipped})
        return
    echo(f"Imported {len(result.imported)}, here already {len(result.unchanged)}, passed over {len(result.skipped)}.")
    if any("history" in record.values for record in records):
        note("Older versions in the file were not taken over: their history belongs to the scope they come from.")
    if result.imported and not keep_status:
        echo("They are candidates. Next: arr memory list --status candidate")


@click.command("export")
@click.argument("path", type=click.Path(path_type=Path, allow_dash=True), default=Path("-"))
@click.option("--markdown", is_flag=True, help="PATH is a folder: one Markdown file a memory, with front matter.")
@click.option("--history", "with_history", is_flag=True, help="Older versions too (JSON lines only).")
@click.option("--replace", is_flag=True, help="Write over files that are there.")
@project_options
@json_option
def export(path: Path, markdown: bool, with_history: bool, replace: bool, where: Where, as_json: bool) -> None:
    """Write all memories of this scope as JSON lines, or as Markdown files into a folder.

    Without PATH, or with '-', the lines go to standard output.

    \b
    Example:
      arr memory export memories.jsonl
      arr memory export --markdown shared-memories
    """
    from arr_sql.memory.memory_files import to_jsonl
    from arr_sql.memory.memory_paths import write_file, write_folder

    is_stdout = path == Path("-")
    if markdown and (with_history or is_stdout):
        raise click.UsageError("--markdown needs a folder, and holds no history. Leave it out for JSON lines.")
    with where.open() as database:
        memories, histories = database.exported_memories(with_history=with_history)
        text = to_jsonl(memories, histories)
        if is_stdout:
            if as_json:
                print_json([json.loads(line) for line in text.split("\n") if line])
            else:
                echo(_writable(text), nl=False)
            return
        if markdown:
            write_folder(path, memories, replace=replace)
        else:
            write_file(path, text, replace=replace)
        is_read = database.is_read(path / "memory.md" if markdown else path)
    if as_json:
        print_json({"path": str(path), "memories": len(memories)})
    else:
        echo(f"Wrote {len(memories)} memories to {visible(str(path))}")
    advise_elsewhere(path, is_read)


def _writable(lines: str) -> str:
    """The lines as they are where standard output can hold them, else with ASCII escapes: they parse to the same."""
    try:
        lines.encode(getattr(sys.stdout, "encoding", None) or "ascii")
        return lines
    except UnicodeEncodeError:
        return "".join(json.dumps(json.loads(line)) + "\n" for line in lines.split("\n") if line)


@click.command()
@click.argument("memory_id", type=NAME)
@click.option("--to-branch", "other_branch", type=NAME, metavar="NAME")
@click.option("--to-env", "other_environment", type=NAME, metavar="NAME")
@click.option("--to-team", "other_team", type=NAME, metavar="NAME")
@click.option("--to-project", "other_project", type=NAME, metavar="NAME")
@click.option("--to-repository", "other_repository", type=NAME, metavar="NAME")
@click.option("--as", "new_id", type=NAME, metavar="ID", help="Its id there (else the same).")
@click.option("--reason", type=TEXT, default="", help="Why, for the history there.")
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@project_options
@json_option
def promote(
    memory_id: str, other_branch: str | None, other_environment: str | None, other_team: str | None, other_project: str | None,
    other_repository: str | None, new_id: str | None, reason: str, dry_run: bool, yes: bool, where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Copy a published or verified memory into another scope of this file, as a candidate there.

    The other scope is this one with the values that you name. Shows first what is there already and what differs, and
    asks. Both scopes get an event; the copy says where it came from.

    \b
    Example:
      arr memory promote m-kept --to-branch main --yes
    """
    with where.open() as database:
        target = other_scope(
            database.scope, "--to", branch=other_branch, experiment_environment=other_environment, team_id=other_team,
            project_id=other_project, repository=other_repository,
        )  # fmt: skip
        preview = database.preview_promotion(memory_id, target, new_id=new_id)
        if not as_json:
            print_preview(preview)
        if dry_run:
            if as_json:
                print_json(preview_json(preview))
            return
        if not preview.refusal and not yes:
            if as_json or sys.stdin is None or not sys.stdin.isatty():
                raise click.UsageError("Nothing was written. Look with --dry-run, then say --yes.")
            if not click.confirm("Promote it?", err=True):
                note("Nothing was written.")
                raise click.exceptions.Exit(1)
        made = database.promote_memory(preview, reason)
    if as_json:
        print_json({"preview": preview_json(preview), "memory": made.model_dump(mode="json")})
        return
    print_memory(made, False, f"It is in {made.scope}. Publish it there.")


def preview_json(preview: PromotionPreview) -> dict[str, object]:
    """A preview for programs, with its state and its conflicts in words."""
    from arr_sql.memory.promotion import CONFLICT_TEXT

    conflicts = [{**c.model_dump(), "text": CONFLICT_TEXT[c.code]} for c in preview.conflicts]
    return {**preview.model_dump(mode="json"), "conflicts": conflicts, "state": preview.state}


def print_preview(preview: PromotionPreview) -> None:
    """A preview for people: where to, what is there, what differs."""
    from arr_sql.memory.promotion import CONFLICT_TEXT

    memory = preview.memory
    echo(f"{memory.memory_id} ({memory.status}, revision {memory.revision}): {visible(memory.title)}")
    echo(f"  to {visible(str(preview.target))} as {preview.new_id}: {preview.state} there")
    for found in preview.conflicts:
        echo(f"  {found.memory_id} ({found.status}): {CONFLICT_TEXT[found.code]}")
    if preview.risk is not None:
        echo(f"  bears risk ({preview.risk}): there it needs an approval of its own before it is published")
    if preview.relations_left_out:
        echo(f"  not there, so no longer related: {', '.join(preview.relations_left_out)}")
    for line in preview.diff:
        echo(f"  {visible(line)}")
    if preview.refusal:
        echo(f"  can't be promoted: {visible(preview.refusal)}")


COMMANDS: Sequence[click.Command] = (import_, export, promote)
