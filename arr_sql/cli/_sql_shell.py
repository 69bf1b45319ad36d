"""The shell of ``arr sql``: lines with history and completion, statements until a semicolon, commands with a dot.

With the extra `shell` (prompt_toolkit) completion shows as you type; without it Python's readline does history and Tab,
and where that is missing too, lines are read as they come. History is a file of one's own that only its owner can read;
a line that holds a credential is not kept.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from arr_sql.cli._shared import echo, note, print_pairs, print_table, visible
from arr_sql.cli._sql_output import MODES, print_rows
from arr_sql.errors import ArrError

if TYPE_CHECKING:
    from arr_sql.cli.sql_command import SqlEngine

HELP = {
    ".help": "this list, and the retrieval functions",
    ".schema [NAME]": "tables and views with their columns; of NAME the definition",
    f".mode {'|'.join(MODES)}": "how rows are shown",
    ".scope": "the five values that :scope stands for",
    ".quit": "leave (so does Ctrl-D)",
}
KEYWORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "ORDER",
    "LIMIT",
    "JOIN",
    "LEFT",
    "ON",
    "AS",
    "WITH",
    "UNION",
    "ALL",
    "DISTINCT",
    "COUNT",
    "HAVING",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "AND",
    "OR",
    "NOT",
    "NULL",
    "IN",
    "LIKE",
    "BETWEEN",
    "json_each",
    "json_extract",
]
WORD = re.compile(r"[:.\w]*$")
ReadLine = Callable[[str], str]


def run_shell(engine: SqlEngine, mode: str) -> None:
    """Read and run until the end of input. A statement that fails says so and the shell goes on."""
    words = completions(engine)
    echo(
        f"{visible(str(engine.project.database))}, {'writable' if engine.may_write else 'read-only'}. `.help` for help, Ctrl-D to leave."
    )
    with _lines(words) as read_line:
        pending = ""
        while True:
            try:
                line = read_line("  ... " if pending else "arr> ")
            except EOFError:
                echo()
                return
            except KeyboardInterrupt:
                pending = ""
                echo()
                continue
            try:
                if not pending and line.strip().startswith("."):
                    if line.strip() in (".quit", ".exit"):
                        return
                    mode = _command(engine, line.strip(), mode)
                    continue
                pending = f"{pending}\n{line}" if pending else line
                if not pending.strip():
                    pending = ""
                elif _is_complete(pending):
                    _run(engine, pending, mode)
                    pending = ""
            except KeyboardInterrupt:  # also one that comes just before the statement, or while its rows are printed
                pending = ""
                note("Stopped.")


def completions(engine: SqlEngine) -> list[str]:
    """Everything that can be completed: functions, tables, views, columns, commands, parameters, keywords."""
    from arr_sql.retrieval.sql_functions import FUNCTIONS

    names = {function.name for function in FUNCTIONS}
    for row in engine.objects():
        names.update((row["name"], *row["columns"].split()))
    commands = {command.split()[0] for command in HELP}
    return [*sorted(names), *sorted(commands), *(f":{name}" for name in engine.values), *KEYWORDS]


def matching(words: list[str], text: str) -> tuple[str, list[str]]:
    """The last word of ``text`` and what it can become."""
    found = WORD.search(text)
    start = found.group() if found else ""
    return start, [word for word in words if start and word.lower().startswith(start.lower()) and word != start]


def _run(engine: SqlEngine, statement: str, mode: str) -> None:
    try:
        for rows in engine.run(statement):
            print_rows(rows, mode)
    except ArrError as error:
        note(f"Error: {visible(str(error))}")


def _is_complete(text: str) -> bool:
    from arr_sql.core.connection import sqlite3

    return bool(sqlite3.complete_statement(text))


def _command(engine: SqlEngine, line: str, mode: str) -> str:
    """Run one command with a dot; the mode from now on."""
    from arr_sql.retrieval.sql_functions import FUNCTIONS

    name, _, argument = line.partition(" ")
    argument = argument.strip()
    if name == ".help":
        print_pairs("Commands", HELP)
        print_pairs("Functions", {function.signature: function.gives for function in FUNCTIONS})
    elif name == ".scope":
        print_pairs("", engine.project.scope.bindings())
    elif name == ".schema":
        rows = [row for row in engine.objects() if argument in ("", row["name"])]
        if argument and rows:
            echo(visible(rows[0]["sql"]))
        elif argument:
            note(f"There is no table or view '{visible(argument)}'. `.schema` lists them.")
        else:
            print_table("", ["name", "kind", "columns"], [[row["name"], row["type"], row["columns"]] for row in rows])
    elif name == ".mode" and argument in MODES:
        return argument
    elif name == ".mode":
        note(f"The mode is {mode}. Modes: {', '.join(MODES)}.")
    else:
        note(f"There is no command '{visible(name)}'. `.help` lists them.")
    return mode


# --- Reading lines ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _lines(words: list[str]) -> Iterator[ReadLine]:
    """How lines are read: prompt_toolkit, else readline, else as they come."""
    history = history_file()
    try:
        import prompt_toolkit
    except ImportError:
        with _readline(words, history) as read:
            yield read
        return
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    class Words(Completer):
        def get_completions(self, document: Document, complete_event: object) -> Iterator[Completion]:
            start, found = matching(words, document.text_before_cursor)
            return (Completion(word, -len(start)) for word in found)

    class Kept(FileHistory):
        def store_string(self, string: str) -> None:
            if may_keep(string):
                super().store_string(string)

    kept = Kept(str(history)) if history is not None else InMemoryHistory()
    yield prompt_toolkit.PromptSession(history=kept, completer=Words(), complete_while_typing=True).prompt


@contextlib.contextmanager
def _readline(words: list[str], history: Path | None) -> Iterator[ReadLine]:
    try:
        import readline
    except ImportError:  # Windows
        yield input
        return
    found: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            found[:] = matching(words, text)[1]
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n,()'\"=<>|")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    readline.set_auto_history(False)
    if history is not None:
        with contextlib.suppress(OSError):
            readline.read_history_file(history)

    def read(prompt: str) -> str:
        line = input(prompt)
        if line.strip() and may_keep(line):
            readline.add_history(line)
        return line

    try:
        yield read
    finally:
        if history is not None:
            readline.set_history_length(1000)
            with contextlib.suppress(OSError):
                readline.write_history_file(history)


def history_file() -> Path | None:
    """Where lines are kept, made for its owner alone: ``ARR_SQL_HISTORY`` (empty for nowhere), else the user's state folder."""
    chosen = os.environ.get("ARR_SQL_HISTORY")
    if chosen is not None:
        path = Path(chosen) if chosen.strip() else None
    elif sys.platform == "win32":
        path = Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "arr" / "sql_history"
    else:
        state = os.environ.get("XDG_STATE_HOME", "")
        path = (Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state") / "arr" / "sql_history"
    if path is None:
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:  # a home that can't be written: the shell works without
        return None
    return path


def may_keep(line: str) -> bool:
    """Is it free of credentials?"""
    from arr_sql.core.redaction import redact

    return redact(line) == line
