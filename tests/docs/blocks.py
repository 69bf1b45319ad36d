"""Runs the fenced blocks of a Markdown page in order, and compares or refreshes the outputs that follow them.

A ``bash`` or ``python`` block is run; a ``text`` block directly after it is what it prints. In that text ``...``
stands for anything within a line, and a line that is only ``...`` for any lines. ``<!-- needs: model -->`` before a
block skips it, and its output, where the default embedding model is not installed.

Refresh the outputs of a page:  python -m tests.docs.blocks docs/tutorial.md
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROOT = Path(__file__).resolve().parents[2]

# What differs from run to run or from machine to machine.
CHANGING = (
    (re.compile(r"\b(r\d+-)[0-9a-f]{8}\b"), r"\1..."),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+Z)?)?"), "..."),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "..."),
    (re.compile(r"\bc[0-9a-f]{20}\b"), "..."),
    (re.compile(r"\d+ ms\b"), "... ms"),
    (re.compile(r"\(\d\.\d MB\)"), "(... MB)"),
)


@dataclass
class Block:
    """One fenced block. ``output`` is the text block directly below it, None when there is none."""

    language: str
    code: str
    line: int
    output: str | None
    output_span: tuple[int, int] | None
    needs: str


def blocks(page: str) -> list[Block]:
    """The runnable blocks of a page in order."""
    found: list[Block] = []
    fences = list(FENCE.finditer(page))
    for number, match in enumerate(fences):
        if match.group(1) == "text":
            continue
        before = page[: match.start()].rstrip().rsplit("\n", 1)[-1]
        needs = re.fullmatch(r"<!-- needs: (\w+) -->", before)
        after = fences[number + 1] if number + 1 < len(fences) else None
        follows = after is not None and after.group(1) == "text" and not page[match.end() : after.start()].strip()
        found.append(
            Block(
                match.group(1), match.group(2), page[: match.start()].count("\n") + 2,
                after.group(2) if follows and after else None, after.span(2) if follows and after else None,
                needs.group(1) if needs else "",
            )
        )  # fmt: skip
    return found


def has_model() -> bool:
    """Is the default embedding model installed?"""
    from arr_sql.index.embedders.model_store import find_default_model

    return find_default_model() is not None


class Runner:
    """Runs blocks in one folder; ``cd`` in a block holds for the next ones."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir()
        self.cwd = folder
        self.bash = shutil.which("bash")

    def run(self, block: Block) -> str:
        """What the block prints, standard error after standard output. Raises AssertionError when it fails."""
        if block.language == "bash":
            assert self.bash, "no bash"
            script = f"{block.code}\ncode=$?\npwd > {self.home.as_posix()}/cwd\nexit $code\n"
            command = [self.bash, "-eu", "-o", "pipefail", "-c", script]
        elif block.language == "python":
            command = [sys.executable, "-W", "error", "-c", block.code]
        else:
            raise AssertionError(f"line {block.line}: no runner for '{block.language}'")
        done = subprocess.run(
            command, cwd=self.cwd, env=self._environment(), capture_output=True, text=True, encoding="utf-8", timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, (
            f"line {block.line}: exit {done.returncode}\n{block.code}\n{done.stdout}{done.stderr}"
        )
        if block.language == "bash":
            self.cwd = Path((self.home / "cwd").read_text("utf-8").strip())
        text = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).splitlines())
        for place in (str(self.folder.resolve()), str(self.folder)):
            text = text.replace(place, "/home/you")
        return text.strip("\n") + "\n"

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ARR_", "GIT_", "XDG_"))}
        scripts = str(Path(sys.executable).parent)
        return {
            **kept, "PATH": os.pathsep.join((scripts, kept.get("PATH", ""))), "HOME": str(self.home), "ARR_ACTOR": "you",
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1",
        }  # fmt: skip


def matches(shown: str, printed: str) -> bool:
    """Is ``printed`` what the page shows, ``...`` aside?"""
    pattern = ""
    for line in shown.rstrip("\n").split("\n"):
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += "[^\n]*?".join(re.escape(part) for part in line.rstrip().split("...")) + "\n"
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def settled(printed: str) -> str:
    """``printed`` with ``...`` for what changes from run to run."""
    for pattern, replacement in CHANGING:
        printed = pattern.sub(replacement, printed)
    return printed


def refresh(path: Path) -> None:
    """Run a page and write what it prints into it. An output that still matches is left as it is."""
    page = path.read_text("utf-8")
    edits: list[tuple[tuple[int, int], str]] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        runner = Runner(Path(folder))
        for block in blocks(page):
            if block.language not in ("bash", "python"):
                continue
            printed = runner.run(block)
            if block.output_span and not matches(block.output or "", printed):
                edits.append((block.output_span, settled(printed)))
    for (start, end), text in reversed(edits):
        page = page[:start] + text + page[end:]
    path.write_text(page, "utf-8", newline="\n")
    print(f"{path}: {len(edits)} outputs refreshed")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
