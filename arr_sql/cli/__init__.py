"""The command line ``arr``: parse, call the database, print, map errors to exit codes.

Commands are imported when they are used, so that ``arr --help`` stays quick. Exit codes: 0 done, 1 error, 2 usage,
3 with ``--strict`` when the answer is partial or degraded, 4 when the file is busy, 130 after Ctrl-C (0 where that is the
way to end: ``sync --watch``), 141 when the reader of a pipe went away.
"""

from __future__ import annotations

import errno
import io
import os
import sys

import click

from arr_sql.cli._lazy import LazyGroup
from arr_sql.errors import ArrError

COMMANDS = {
    "init": ("arr_sql.cli.project_commands:init", "Make FOLDER a project: write arr.toml and .arr/arr.db."),
    "add": ("arr_sql.cli.source_commands:add", "Take in folders and files, then embed them."),
    "sync": (
        "arr_sql.cli.source_commands:sync",
        "Bring the added folders up to date with the disk: new, edited, renamed and deleted files.",
    ),
    "embed": ("arr_sql.cli.source_commands:embed", "Compute the vectors that are missing."),
    "search": ("arr_sql.cli.search_commands:search", "Find evidence for QUERY, with the account of how it was found."),
    "grep": (
        "arr_sql.cli.grep_command:grep",
        "Show the lines of the added folders that hold PATTERN, as they are on disk now.",
    ),
    "sql": (
        "arr_sql.cli.sql_command:sql",
        "Run STATEMENT on the project's file, with the retrieval functions; without one, open a shell.",
    ),
    "mcp": ("arr_sql.cli.mcp_command:mcp", "Serve this scope to an agent over MCP, on standard input and output."),
    "plan": ("arr_sql.cli.search_commands:plan", "Show the plan for QUERY and the verdict on each call."),
    "show": (
        "arr_sql.cli.search_commands:show",
        "Show a past retrieval (r...), a memory (memory:ID) or a chunk (c...).",
    ),
    "replay": (
        "arr_sql.cli.replay_commands:replay",
        "Run a past retrieval again on the store as it was, and compare it with its record.",
    ),
    "diff": (
        "arr_sql.cli.replay_commands:diff",
        "Show which sources and memories changed between revisions FIRST and LAST (default: now) of this scope.",
    ),
    "memory": (
        "arr_sql.cli.memory_commands:memory",
        "Research memories: add, edit, list, show, history, verify, publish, deprecate, conflict, resolve, expire, renew, "
        "revoke, link, promote, import, export.",
    ),
    "approval": (
        "arr_sql.cli.approval_commands:approval",
        "Approvals and receipts: request, list, show, decide, receipt, expire.",
    ),
    "status": ("arr_sql.cli.project_commands:status", "Show what this scope holds and how each channel stands."),
    "doctor": (
        "arr_sql.cli.project_commands:doctor",
        "Check this machine: Python, SQLite, sqlite-vec, the model, Litestream, the file system, the project.",
    ),
    "scope": ("arr_sql.cli.scope_commands:scope", "The scopes of the file: list, open, merge-preview."),
    "db": (
        "arr_sql.cli.db_commands:db",
        "The database file: check, migrate, rebuild, line-index, schema, backup, restore, export, import, vacuum, prune.",
    ),
    "replica": (
        "arr_sql.cli.replica_commands:replica",
        "Copies of the file on other machines, carried by Litestream: start, status, restore, follow, verify, purge.",
    ),
    "forget": (
        "arr_sql.cli.forget_commands:forget",
        "Erase memories, sources, queries or a scope for good, and prove it by reading the file's bytes.",
    ),
    "audit": ("arr_sql.cli.audit_commands:audit", "The audit log: list, verify, anchor, export."),
    "model": ("arr_sql.cli.model_commands:model", "Embedding models: list, install, add."),
    "llm": ("arr_sql.cli.llm_commands:llm", "The language model that may advise, off by default: check, prompts."),
    "bench": (
        "arr_sql.cli.bench_command:bench",
        "Measure search on questions made from this scope's own chunks: titles, sentences, renamed identifiers.",
    ),
    "eval": ("arr_sql.cli.eval_commands:evaluation", "Evaluation on a gold set: run, compare, explain, live."),
    "ui": (
        "arr_sql.cli.ui_command:ui",
        "Show the store as pages in your browser: search, retrievals, memories, sources, the audit log.",
    ),
    "demo": ("arr_sql.cli.demo_command:demo", "Index a sample project in a temporary folder and answer six questions."),
    "completion": ("arr_sql.cli.project_commands:completion", "Print the completion script for SHELL."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="arr-sql", prog_name="arr")
def arr() -> None:
    """Research memory and evidence retrieval in one SQLite file per project.

    \b
    Start here:
      arr demo                     see it work on a sample project
      arr init && arr add .        index your own folder
      arr search "your question"   ask
    """


def main() -> None:
    """Entry point: never a traceback, always an exit code that means something."""
    _require_utf8_names()
    _prepare_streams()
    # Looking for plugins reads what every installed package says of itself, and a plugin would see every value.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    code, stdout = 1, sys.stdout
    try:
        code = arr.main(prog_name="arr", standalone_mode=False) or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except SystemExit as stop:  # click's own way out: after completion, and (with stdout replaced) on a closed pipe
        code = stop.code if isinstance(stop.code, int) else 0
        if sys.stdout is not stdout:
            sys.stdout, code = stdout, 141
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as problem:
        _show(problem)
        code = problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        _fail("Stopped", "Stopped. What was acknowledged is kept; run the command again to go on.", prefix="")
        code = 130
    except ArrError as problem:
        _fail(type(problem).__name__, str(problem))
        code = problem.exit_code
    except OSError as problem:
        code = _os_error(problem)
    except Exception as problem:  # the last door: a fault of ours must not print a traceback at people
        if os.environ.get("ARR_DEBUG"):
            raise
        fault = f"{type(problem).__name__}: {problem}"
        _fail("InternalFault", f"internal fault ({fault}). Set ARR_DEBUG=1 and run again to see where.")
    _leave(code if isinstance(code, int) else 0)


def _require_utf8_names() -> None:
    """Start anew in UTF-8 mode where names and arguments are ASCII to Python (LC_ALL=C with coercion switched off).

    Else no query and no file name beyond ASCII could be read, and a sync would take such files for deleted ones. What
    is printed stays in the encoding that was asked for. tests/cli/test_encodings.py
    """
    if sys.getfilesystemencoding() in ("ascii", "us-ascii") and os.environ.get("PYTHONUTF8") != "1":
        encoding = getattr(sys.stdout, "encoding", None) or "ascii"
        environment = {"PYTHONIOENCODING": encoding, **os.environ, "PYTHONUTF8": "1"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def _prepare_streams() -> None:
    """Text that the console can't encode is escaped, never an error; a closed stdout is nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
            continue
        if isinstance(getattr(stream, "buffer", None), io.RawIOBase):
            # PYTHONUNBUFFERED: Python drops the rest of a write that a pipe or disk took only a part of.
            stream = io.TextIOWrapper(io.BufferedWriter(stream.buffer), encoding=stream.encoding)
            setattr(sys, name, stream)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _is_json() -> bool:
    """Did the caller ask for JSON? What stands behind ``--`` is no option."""
    arguments = sys.argv[1:]
    return "--json" in arguments[: arguments.index("--") if "--" in arguments else None]


def _fail(kind: str, message: str, *, prefix: str = "Error: ") -> None:
    """Whatever went wrong, in the form that was asked for."""
    from arr_sql.cli._shared import visible

    if _is_json():
        import json

        _say(json.dumps({"error": kind, "message": message}))
    else:
        _say(prefix + visible(message))


def _os_error(problem: OSError) -> int:
    if problem.errno == errno.EPIPE or isinstance(problem, BrokenPipeError):
        return 141  # the reader (`| head`) has seen enough
    if problem.errno == errno.ENOSPC:
        _fail("OSError", "the output could not be written: no space left on the device. Part of it is lost.")
    else:
        _fail("OSError", f"{problem.strerror or problem}{f': {problem.filename}' if problem.filename else ''}.")
    return 1


def _show(problem: click.ClickException) -> None:
    if _is_json():
        kind = "UsageError" if isinstance(problem, click.UsageError) else type(problem).__name__
        _fail(kind, problem.format_message())
        return
    try:
        problem.show(file=sys.stderr)
    except OSError:  # nowhere to say it: the exit code stands
        pass


def _say(text: str) -> None:
    from arr_sql.cli._shared import echo

    try:
        echo(text, err=True)
    except OSError:
        pass


def _leave(code: int) -> None:
    """Exit without letting Python flush a broken stream again: it would print a message and change the exit code."""
    for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except OSError as problem:
            if code == 0 and number == 1:
                code = _os_error(problem)
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    sys.exit(code)
