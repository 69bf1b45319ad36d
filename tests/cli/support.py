"""Running ``arr`` in tests: in this process through its real entry point, or as a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arr_sql.cli import main

ARR = (sys.executable, "-m", "arr_sql")
MEMORY = "m0a1b2c3d4e5"
RETRIEVAL = "r1-0a1b2c3d"
"""The ids that the examples of the helps name."""


@dataclass(frozen=True)
class Ran:
    """What one run of ``arr`` did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


class _Stdin(io.TextIOWrapper):
    def isatty(self) -> bool:
        return False


def arr(*arguments: str, cwd: Path | None = None, stdin: bytes = b"") -> Ran:
    """Run the entry point in this process: quick, and the same code as the installed command."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2)]
    before = Path.cwd()
    code: int = -1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["arr", *arguments])
        patch.setattr(sys, "stdin", _Stdin(io.BytesIO(stdin), encoding="utf-8"))
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        if cwd is not None:
            os.chdir(cwd)
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        finally:
            os.chdir(before)
    texts = []
    for stream in streams:
        stream.flush()
        buffer = stream.buffer
        assert isinstance(buffer, io.BytesIO)
        texts.append(buffer.getvalue().decode("utf-8"))
    return Ran(code, *texts)


def environment(**values: str) -> dict[str, str]:
    """This process's environment without what changes Python's text streams, plus ``values``."""
    dropped = (
        "PYTHONIOENCODING",
        "PYTHONUTF8",
        "PYTHONCOERCECLOCALE",
        "PYTHONUNBUFFERED",
        "LC_ALL",
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
    )
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "OPENBLAS_NUM_THREADS": "1", **values}


def process(
    *arguments: str | bytes, cwd: Path, env: Mapping[str, str] | None = None, stdin: bytes | None = b"",
    command: Sequence[str] = ARR,
) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    """Run ``arr`` as a process of its own; its output as bytes."""
    return subprocess.run(
        [*command, *arguments], cwd=cwd, env=environment(**(env or {})), input=stdin, capture_output=True, timeout=120
    )


def assert_no_traceback(text: str | bytes) -> None:
    """Nothing of Python's, SQLite's or pydantic's own shows."""
    text = text if isinstance(text, str) else text.decode("utf-8", "replace")
    for sign in ("Traceback", "internal fault", "errors.pydantic.dev", "Exception ignored"):
        assert sign not in text, text
