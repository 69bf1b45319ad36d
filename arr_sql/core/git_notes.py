"""Git notes, when a person asks for them: the one place that runs the git binary. Hooks, pagers and prompts are off.

A note is an object beside a commit: the work tree, the index and the branches stay as they are.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from arr_sql.errors import StateError

NOTES_REF = "refs/notes/arr-audit"
_QUIET = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=cat", "-c", "notes.rewriteRef=")
TIMEOUT_SECONDS = 30


def append_note(folder: Path, line: str) -> str:
    """Append ``line`` to the note of the commit that is checked out; the commit. Raises StateError when git refuses."""
    commit = _git(folder, "rev-parse", "--verify", "HEAD^{commit}").strip()
    _git(folder, "notes", f"--ref={NOTES_REF}", "append", "-m", line.strip(), commit)
    return commit


def read_notes(folder: Path) -> str:
    """The text of all notes, one after the other. Raises StateError when git refuses."""
    listed = _git(folder, "notes", f"--ref={NOTES_REF}", "list").split()
    return "\n".join(_git(folder, "cat-file", "blob", note) for note in listed[::2])


def _git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *_QUIET, *arguments], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8",
            errors="replace", timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StateError(
            f"git could not be run ({type(error).__name__}). Install git, or anchor to a file only."
        ) from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise StateError(f"git refused: {said}. Anchor to a file only, or make a first commit.")
    return done.stdout
