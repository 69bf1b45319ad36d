"""What commands share: the options that choose project and scope, printing for people and for programs, progress."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from arr_sql.core.project import Project
    from arr_sql.database import ResearchDatabase

F = TypeVar("F", bound=Callable[..., Any])


class Utf8Text(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.5 on
    """Text that can be stored: bytes of the command line that are no UTF-8 arrive as half characters and are refused."""

    name = "text"

    def __init__(self, *, may_be_blank: bool = True) -> None:
        self.may_be_blank = may_be_blank

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value itself. Fails with a usage error."""
        text = str(value)
        if any("\ud800" <= character <= "\udfff" for character in text):
            self.fail("it holds bytes that are not UTF-8. Type it again in a UTF-8 terminal.", param, ctx)
        if not self.may_be_blank and not text.strip():
            self.fail("it is blank. Give a value, or leave the option out.", param, ctx)
        return text


class FloatRange(click.FloatRange):
    """A number within bounds. NaN is within none, though no comparison says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is no number in the range {self._describe_range()}.", param, ctx)
        return number


TEXT = Utf8Text()
NAME = Utf8Text(may_be_blank=False)


def project_options(command: F) -> F:
    """Add ``--project``, ``--db``, ``--env`` and ``--branch``, and pass them on as one ``where``."""

    @functools.wraps(command)
    def wrapped(*args: Any, project: Path, db: Path | None, env: str | None, branch: str | None, **kwargs: Any) -> Any:
        return command(*args, where=Where(project, db, env, branch), **kwargs)

    for option in (
        click.option("--branch", type=NAME, metavar="NAME", help="Use this branch's scope instead of the one checked out."),
        click.option("--env", type=NAME, metavar="NAME", help="Experiment environment (else ARR_ENV, else arr.toml)."),
        click.option("--db", type=click.Path(path_type=Path, dir_okay=False), help="Database file (else arr.toml)."),
        click.option(
            "-C", "--project", type=click.Path(path_type=Path, file_okay=False, exists=True), default=Path("."),
            show_default=True, help="Folder of the project.",
        ),
    ):  # fmt: skip
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


class Where:
    """Which project and scope a command is about."""

    def __init__(self, project: Path, db: Path | None, env: str | None, branch: str | None) -> None:
        self.folder, self.db, self.env, self.branch = project, db, env, branch

    def find(self) -> Project:
        """The project. Raises StoreMissing when there is none."""
        from arr_sql.core.project import find_project

        return find_project(self.folder, database=self.db, environment=self.env, branch=self.branch)

    @contextlib.contextmanager
    def open(self) -> Iterator[ResearchDatabase]:
        """The project's database in its scope, closed at the end."""
        from arr_sql.database import ResearchDatabase

        with ResearchDatabase.of_project(self.find()) as database:
            yield database


def echo(text: str = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print to the stream as it is: click alone would write UTF-8 to a console that said it is ASCII.

    No colours where NO_COLOR is set or the terminal is dumb; colours into a pipe where FORCE_COLOR is set.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    color = False if is_plain else True if os.environ.get("FORCE_COLOR") else None
    shown = click.style(text, **style) if style else text
    click.echo(shown, file=sys.stderr if err else sys.stdout, nl=nl, color=color)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def console(*, err: bool = False) -> Console:
    """A rich console: as wide as the terminal, 120 columns into a pipe or file."""
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:  # rich would exit with 1 by itself
            raise BrokenPipeError(errno.EPIPE, "the reader went away")

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() else 120
    return PlainConsole(file=stream, width=width, soft_wrap=False, highlight=False, emoji=False, markup=False)


def print_json(value: Any, *, in_one_line: bool = False) -> None:
    """One JSON value. UTF-8 where the stream is UTF-8, else ASCII escapes: it parses to the same text everywhere."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    indent = None if in_one_line else 2
    text = json.dumps(value, ensure_ascii=encoding != "utf8", indent=indent, allow_nan=False)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:  # half a character can't be written as UTF-8
        text = json.dumps(value, ensure_ascii=True, indent=indent, allow_nan=False)
    echo(text)
    if in_one_line:
        sys.stdout.flush()


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table for people."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible("" if value is None else str(value))) for value in row))
    console().print(table)


def print_pairs(title: str, pairs: Mapping[str, Any]) -> None:
    """Names and values, one a line."""
    if title:
        echo(title)
    width = max((len(name) for name in pairs), default=0)
    for name, value in pairs.items():
        echo(f"  {name.ljust(width)}  {visible(str(value))}")


def visible(text: str) -> str:
    """``text`` with control characters (but newline and tab) escaped: evidence must not move a terminal's cursor."""
    if text.isprintable():
        return text
    return "".join(
        c
        if c in "\n\t" or c.isprintable() or c == "\u3000"
        else f"\\x{ord(c):02x}"
        if ord(c) < 256
        else f"\\u{ord(c):04x}"
        for c in text
    )


@contextlib.contextmanager
def progress_bar(description: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr with a time estimate when that is a terminal; silent otherwise."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(), console=console(err=True), transient=True,
    ) as progress:  # fmt: skip
        task = progress.add_task(description, total=None)

        def update(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total or None)

        yield update


def read_stdin() -> str:
    """Standard input as UTF-8, whatever the console's own encoding is. Raises InputError when it is not UTF-8."""
    from arr_sql.errors import InputError

    if sys.stdin is None:
        raise InputError("There is no standard input. Pipe the text in, or give it with an option.")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"Standard input is not UTF-8 (byte {error.start}). Convert it first.") from None


MANY_FILES = 1_000
"""A search for lines that reads more files than this takes a good part of a second, and an index of them pays."""


def advise_line_index(n_files: int, *, indexed: bool) -> None:
    """Say what makes a search for lines quicker, where that is worth saying. By their number, so that it does not depend on
    how busy the machine is."""
    if n_files > MANY_FILES and not indexed:
        note(f"{n_files:,} files were read for their lines. `arr db line-index` spares most of that from then on.")


def advise_elsewhere(path: Path, is_read: bool) -> None:
    """Say so where what was just written is in a folder that is read: the next sync would take it for a source."""
    if is_read:
        note(
            f"{visible(str(path))} is in a folder that this scope reads: grep finds its lines, and the next `arr sync` takes it in "
            "as a source. Move it elsewhere (.arr is not read), or name it in .arrignore."
        )


def note(text: str) -> None:
    """A remark for people on stderr, out of the way of output that a program reads."""
    echo(text, err=True)
