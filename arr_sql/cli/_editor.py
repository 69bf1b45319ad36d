"""The editor of the person at the terminal: opened on a text, its answer read back. No shell stands in between."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from arr_sql.cli._shared import note, read_stdin
from arr_sql.errors import ArrError


def editor_command() -> list[str]:
    """``$VISUAL``, else ``$EDITOR``, as words; empty when neither is set."""
    return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "", posix=os.name != "nt")


@contextlib.contextmanager
def typed_content(before: str) -> Iterator[str]:
    """The content that a person writes in their editor, or that a program pipes in.

    The text begins as ``before``. If the body of the ``with`` refuses it, the file is kept and named. Raises UsageError
    on a terminal without an editor, and when the editor fails or leaves nothing.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        yield read_stdin()
        return
    command = editor_command()
    if not command:
        raise click.UsageError("Give the text with --content, or pipe it in. Or set EDITOR to your editor.")
    folder = Path(tempfile.mkdtemp(prefix="arr-"))
    path = folder / "memory.md"
    path.write_text(before if before.endswith("\n") or not before else before + "\n", "utf-8", newline="")
    text = _edited(command, path)
    if text.endswith("\n") and not before.endswith("\n"):
        text = text[:-1].removesuffix("\r")
    try:
        if not text.strip():
            _remove(path)
            raise click.UsageError("The text is empty: nothing was written.")
        yield text
    except ArrError:
        note(f"Your text is kept in {path}")
        raise
    _remove(path)


def _edited(command: list[str], path: Path) -> str:
    import subprocess

    try:
        done = subprocess.run([*command, str(path)], check=False)
    except OSError as error:
        _remove(path)
        raise click.UsageError(f"The editor '{command[0]}' can't be run ({error.strerror}). Set EDITOR.") from None
    if done.returncode:
        raise click.UsageError(
            f"The editor ended with code {done.returncode}: nothing was written. Your text is in {path}"
        )
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError(f"The editor wrote no UTF-8: nothing was written. Your text is in {path}") from None


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
        path.parent.rmdir()
