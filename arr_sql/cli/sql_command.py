"""``arr sql``: one statement, a script from standard input, or a shell."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from arr_sql.cli._shared import NAME, Where, note, project_options, read_stdin

if TYPE_CHECKING:
    from arr_sql.cli._sql_output import Rows
    from arr_sql.core.connection import Connection
    from arr_sql.core.project import Project

ONLY_SELECT = "Only SELECT is run; --write allows the rest."
HINT = "`arr db schema` shows the tables, `.help` in the shell the functions."


@click.command()
@click.argument("statement", type=NAME, required=False)
@click.option("--json", "mode", flag_value="json", help="Print JSON for programs: an array of objects a statement.")
@click.option("--csv", "mode", flag_value="csv", help="Print CSV with a line of names.")
@click.option("--table", "mode", flag_value="table", help="Print tables (the default).")
@click.option("--write", is_flag=True, help="Allow statements that change the file. They write no audit event.")
@project_options
def sql(statement: str | None, mode: str | None, write: bool, where: Where) -> None:
    """Run STATEMENT on the project's file, with the retrieval functions; without one, open a shell.

    Without STATEMENT and with something piped in, that is run. The connection can only SELECT, unless --write is given.
    :scope stands for this scope as the functions want it, :team_id, :project_id, :repository, :branch and
    :experiment_environment for its five values. `.help` in the shell lists the functions and commands; docs/sql.md has
    recipes. The shell is better with the extra `shell`.

    \b
    Example:
      arr sql "SELECT at, query, state FROM retrieval_trail LIMIT 3"
      arr sql "SELECT value ->> 'source_ref' AS file FROM json_each(arr_search('warmup', :scope, 3), '$.evidence')"
    """
    project = where.find()
    engine = SqlEngine(project, may_write=write)
    try:
        if statement is None and sys.stdin is not None and sys.stdin.isatty():
            from arr_sql.cli._sql_shell import run_shell

            run_shell(engine, mode or "table")
            return
        from arr_sql.cli._sql_output import print_rows

        for rows in engine.run(read_stdin()) if statement is None else [engine.run_one(statement)]:
            print_rows(rows, mode or "table")
    finally:
        engine.close()


class SqlEngine:
    """Runs statements on a project's file, with the retrieval functions and the scope's values bound."""

    def __init__(self, project: Project, *, may_write: bool) -> None:
        import json

        from arr_sql.core.connection import open_reader, open_writer
        from arr_sql.core.migrations import require_current
        from arr_sql.database.sql_store import add_functions

        self.project, self.may_write = project, may_write
        bindings = project.scope.bindings()
        self.values = {**bindings, "scope": json.dumps(bindings, ensure_ascii=False)}
        self._is_stopped = False
        self.connection: Connection = (open_writer if may_write else open_reader)(project.database)
        try:
            require_current(self.connection, project.database)
            add_functions(self.connection, project.database)
            # Gives Python its turn while SQLite is working, so that Ctrl-C is seen, and ends the statement after it.
            self.connection.set_progress_handler(lambda: self._is_stopped, 100_000)
        except BaseException:
            self.connection.close()
            raise
        if may_write:
            note("What you change here has no audit event: `arr audit verify` will report it.")

    def run(self, script: str) -> Iterator[Rows]:
        """The rows of each statement of ``script`` in turn. Raises InputError for one that is refused."""
        for statement in self._statements(script):
            yield self._one(statement)

    def run_one(self, statement: str) -> Rows:
        """The rows of one statement. Raises InputError when it is refused, or is several."""
        from arr_sql.errors import InputError

        statements = self._statements(statement)
        if len(statements) > 1:
            raise InputError(
                f"STATEMENT holds {len(statements)} statements. Give one, or pipe the script into `arr sql`."
            )
        return self._one(statements[0])

    def _statements(self, script: str) -> list[str]:
        from arr_sql.core.migrations import split_statements
        from arr_sql.errors import InputError

        try:
            statements = list(split_statements(script))
        except ValueError as error:
            raise InputError(f"{str(error)[:1].upper()}{str(error)[1:]} A quote or a comment is open.") from None
        if not statements:
            raise InputError("There is no statement to run. `arr sql --help` shows an example.")
        return statements

    def _one(self, statement: str) -> Rows:
        from arr_sql.cli._sql_output import Rows, distinct
        from arr_sql.core.connection import sqlite3, writers_lock
        from arr_sql.errors import InputError

        try:
            if self.may_write:
                with writers_lock(self.project.database), self._stoppable():
                    cursor = self.connection.execute(statement, self.values)
                    rows = [tuple(row) for row in cursor]
            else:
                with self._stoppable():
                    cursor = self.connection.execute(statement, self.values)
                    rows = [tuple(row) for row in cursor]
        except (sqlite3.Error, sqlite3.Warning) as error:
            is_refused = any(word in str(error) for word in ("not authorized", "authorization denied", "readonly"))
            hint = ONLY_SELECT if is_refused and not self.may_write else HINT
            raise InputError(f"The statement was refused: {str(error).rstrip('.')}. {hint}") from None
        columns = distinct([item[0] for item in cursor.description or ()])
        if not columns and not self.may_write:
            raise InputError(f"The statement gives no rows. {ONLY_SELECT}")
        return Rows(columns, rows, cursor.rowcount)

    @contextlib.contextmanager
    def _stoppable(self) -> Iterator[None]:
        """Ctrl-C is noted and raised at the end: raised inside a callback of SQLite, the driver would drop it.

        Where it came while the statement was being prepared, it was read as "not authorized".
        """
        import signal
        import threading

        before = signal.getsignal(signal.SIGINT)
        if before in (None, signal.SIG_IGN) or threading.current_thread() is not threading.main_thread():
            yield
            return

        def note_it(number: int, frame: object) -> None:
            self._is_stopped = True

        self._is_stopped = False
        signal.signal(signal.SIGINT, note_it)
        try:
            yield
        except Exception:
            if self._is_stopped:
                raise KeyboardInterrupt from None
            raise
        finally:
            signal.signal(signal.SIGINT, before)
        if self._is_stopped:
            raise KeyboardInterrupt

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self.connection.close()

    def objects(self) -> list[Any]:
        """Tables and views with their columns and definitions."""
        from arr_sql.core.statements import load

        return self.connection.execute(load("read_objects")).fetchall()
