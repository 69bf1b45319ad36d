"""The writer's machine dies in mid-load: what another one restores is whole, a beginning of the history, and answers the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import environment
from tests.replica.support import needs_engine

ROOT = Path(__file__).resolve().parents[2]


@needs_engine
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_killed_in_mid_load() -> None:
    """Writer, arr and Litestream get SIGKILL; the folder between the machines holds a whole file."""
    options = ("--rounds", "1", "--seconds", "1", "--records", "12", "--files", "12", "--no-embed")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.replica_kill", *options], cwd=ROOT, env=environment(), capture_output=True,
        text=True, encoding="utf-8", timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert "1 of 1 whole, with 12 of 12 retrievals identical." in done.stdout
