"""``arr db backup | restore | export | import``."""

from __future__ import annotations

from pathlib import Path

import click

from arr_sql.cli._shared import Where, echo, json_option, print_json, progress_bar, project_options, visible

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("file", type=FILE)
@project_options
@json_option
def backup(file: Path, where: Where, as_json: bool) -> None:
    """Copy the database to FILE while others may go on writing, and check the copy. FILE must not exist.

    \b
    Example:
      arr db backup lab-backup.db
    """
    with where.open() as database, progress_bar("Copying pages", quiet=as_json) as update:
        size = database.backup(file, update)
    if as_json:
        print_json({"file": str(file), "bytes": size, "checked": True})
    else:
        echo(f"Copied and checked: {visible(str(file))} ({size:,} bytes).")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--to", type=FILE, metavar="PATH", help="The new database file (else the project's).")
@project_options
@json_option
def restore(file: Path, to: Path | None, where: Where, as_json: bool) -> None:
    """Make a database from a backup: checked first, and never over a file that exists.

    \b
    Example:
      arr db restore lab-backup.db --to restored.db
    """
    from arr_sql.memory.store_copy import copy_store

    target = to or where.find().database
    with progress_bar("Copying pages", quiet=as_json) as update:
        size = copy_store(file, target, update)
    if as_json:
        print_json({"database": str(target), "bytes": size, "checked": True})
    else:
        echo(f"Restored and checked: {visible(str(target))} ({size:,} bytes).")


@click.command()
@click.argument("folder", type=FOLDER)
@project_options
@json_option
def export(folder: Path, where: Where, as_json: bool) -> None:
    """Write every table as lines of JSON into FOLDER, for reading, comparing and archiving.

    \b
    Example:
      arr db export lab-export
    """
    with where.open() as database, progress_bar("Writing tables", quiet=as_json) as update:
        rows = database.export(folder, update)
    if as_json:
        print_json({"folder": str(folder), "rows": rows})
    else:
        echo(f"Exported {sum(rows.values()):,} rows of {len(rows)} tables to {visible(str(folder))}.")


@click.command("import")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--to", type=FILE, metavar="PATH", help="The new database file (else the project's).")
@project_options
@json_option
def import_(folder: Path, to: Path | None, where: Where, as_json: bool) -> None:
    """Make a database from an exported FOLDER, ids kept and checked: it gives the same answers as the first.

    \b
    Example:
      arr db import lab-export --to copy.db
    """
    from arr_sql.memory.store_export import import_store

    target = to or where.find().database
    with progress_bar("Reading tables", quiet=as_json) as update:
        rows = import_store(folder, target, update)
    if as_json:
        print_json({"database": str(target), "rows": rows, "checked": True})
    else:
        echo(f"Imported and checked: {sum(rows.values()):,} rows into {visible(str(target))}.")
