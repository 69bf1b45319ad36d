"""``arr db check | migrate | rebuild | line-index | schema``; the others are in ``copy_commands`` and ``upkeep_commands``."""

from __future__ import annotations

from pathlib import Path

import click

from arr_sql.cli._shared import Where, echo, json_option, print_json, print_table, progress_bar, project_options
from arr_sql.cli.copy_commands import backup, export, import_, restore
from arr_sql.cli.upkeep_commands import prune, vacuum


@click.group()
def db() -> None:
    """The database file: check, migrate, rebuild, line-index, schema, backup, restore, export, import, vacuum, prune."""


for _command in (backup, restore, export, import_, vacuum, prune):
    db.add_command(_command)


@db.command()
@project_options
@json_option
def check(where: Where, as_json: bool) -> None:
    """Check the file: SQLite integrity, foreign keys, schema, FTS5, index = content, audit chain.

    \b
    Example:
      arr db check
    """
    from arr_sql.memory.store_check import check_store

    report = check_store(where.find().database)
    if as_json:
        print_json({"passed": report.passed, "findings": [vars(item) for item in report.findings]})
    else:
        print_table(
            "", ["check", "result"], [[f.check, "ok" if f.passed else "; ".join(f.problems)] for f in report.findings]
        )
    if not report.passed:
        raise click.exceptions.Exit(1)


@db.command()
@project_options
def migrate(where: Where) -> None:
    """Bring an older file to this program's schema. Safe to run twice, and from several processes.

    \b
    Example:
      arr db migrate
    """
    from arr_sql.core.connection import open_writer, write_transaction
    from arr_sql.core.migrations import migrate as apply
    from arr_sql.index.text_index import index_is_foreign, rebuild_text_index

    path = where.find().database
    connection = open_writer(path)
    try:
        names = apply(connection, path)
        with write_transaction(connection, path):
            if index_is_foreign(connection):
                rebuild_text_index(connection)
    finally:
        connection.close()
    echo(f"Applied: {', '.join(names)}" if names else "Already up to date.")


@db.command()
@project_options
def rebuild(where: Where) -> None:
    """Make the text index anew from the content. Answers stay the same.

    \b
    Example:
      arr db rebuild
    """
    with where.open() as database, progress_bar("Indexing") as update:
        count = database.rebuild(lambda done: update(done, 0))
    echo(f"Indexed {count} rows.")


@db.command("line-index")
@click.option("--drop", is_flag=True, help="Erase the index, and keep none from now on.")
@project_options
@json_option
def line_index(drop: bool, where: Where, as_json: bool) -> None:
    """Keep an index of this scope's lines, so that `arr grep` reads only files that may hold what it looks for.

    The lines found are the same, on the files as they are when they are asked for. `arr sync` brings the index up to
    date; run this again to do only that. It takes about a twentieth of the text's size in the file, and no text is in it.

    \b
    Example:
      arr db line-index
    """
    with where.open() as database:
        if drop:
            folders = database.drop_line_index()
            print_json({"folders_removed": folders}) if as_json else echo(f"Dropped: {folders} folders.")
            return
        with progress_bar("Indexing lines") as update:
            done = database.build_line_index(lambda phase, count, total: update(count, total))
        state = database.line_index()
    if as_json:
        print_json({**vars(done), "bytes": state[1] if state else 0})
        return
    echo(f"{done.files} files in {done.folders} folders; {done.indexed} read, {done.kept} unchanged.")
    if done.read_each_time:
        echo(
            f"{done.read_each_time} are read by each search: they hold a credential, are very large, or changed within the "
            "last two seconds."
        )


@db.command()
@click.option("--generate", type=click.Path(path_type=Path, dir_okay=False), help="Write the schema to this file.")
def schema(generate: Path | None) -> None:
    """Print the schema that the migrations make.

    \b
    Example:
      arr db schema
    """
    import tempfile

    from arr_sql.core.connection import open_writer
    from arr_sql.core.migrations import migrate as apply
    from arr_sql.core.migrations import schema_text

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fresh.db"
        connection = open_writer(path, create=True)
        try:
            apply(connection, path)
            text = schema_text(connection)
        finally:
            connection.close()
    if generate is None:
        echo(text, nl=False)
    else:
        generate.write_text(text, "utf-8", newline="\n")
