"""NumPy is loaded with one BLAS thread unless somebody chose otherwise, and the environment is left as it was."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("numpy", reason="the embedder needs NumPy (extra `local`)")

NAMES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
REPORT = f"print(workers(), [name for name in {NAMES!r} if name in os.environ])"
LOAD = "import os, sys; from arr_sql.index.embedders.numpy_threads import load_numpy, workers; "


def run(program: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in NAMES}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_numpy_gets_one_thread_and_we_share_the_cores() -> None:
    """The variables are set for the import only."""
    cores = min(8, len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1)

    assert run(LOAD + "load_numpy(); assert 'numpy' in sys.modules; " + REPORT) == f"{cores} []"


def test_the_host_program_keeps_its_choice() -> None:
    """NumPy imported earlier, or a variable that asks for two threads: then we add none."""
    assert run("import numpy; " + LOAD + "load_numpy(); " + REPORT) == "1 []"
    assert run(LOAD + "load_numpy(); " + REPORT, OPENBLAS_NUM_THREADS="2") == "1 ['OPENBLAS_NUM_THREADS']"


def test_a_missing_numpy_is_named_with_its_extra() -> None:
    """The message is the command to type."""
    program = (
        LOAD + "from arr_sql.errors import ModelError; sys.modules['numpy'] = None\n"
        "try: load_numpy()\nexcept ModelError as error: print(error)"
    )

    assert "pip install 'arr-sql[local]'" in run(program)
