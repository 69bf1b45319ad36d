"""Loads NumPy with one BLAS thread, and says how many threads of our own may then share the work.

The thread pools of BLAS libraries wait by spinning. On a busy machine that cost 5 to 20 times: on two shared cores
0.7 passages a second with two BLAS threads, 6 with one. Python threads over independent micro-batches wait
without spinning and NumPy releases the interpreter lock, so they take their place.

BLAS reads its settings once, when NumPy is first imported. If the host program imported NumPy before us, or set one
of the variables, its choice stands and we add no threads. ``tests/index/test_e5_threads.py`` holds that.
"""

from __future__ import annotations

import importlib
import os
import sys

from arr_sql.errors import ModelError

#: Of OpenBLAS, of OpenMP builds, of MKL and of Apple's Accelerate.
_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_MOST_WORKERS = 8
_loaded_by_us = False


def load_numpy() -> None:
    """Import NumPy, with one BLAS thread if nobody chose otherwise. Raises ModelError when it is not installed."""
    global _loaded_by_us
    if sys.modules.get("numpy") is not None:
        return
    free_to_choose = not any(name in os.environ for name in _VARIABLES)
    if free_to_choose:
        os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        importlib.import_module("numpy")
    except ImportError as error:
        raise ModelError(
            "NumPy is not installed, and the local embedding models need it. Run `pip install 'arr-sql[local]'`."
        ) from error
    finally:
        if free_to_choose:
            for name in _VARIABLES:
                os.environ.pop(name, None)
    _loaded_by_us = free_to_choose


def workers() -> int:
    """How many threads may run micro-batches at once: the cores this process may use, or 1 where BLAS has threads."""
    single = _loaded_by_us or os.environ.get("OPENBLAS_NUM_THREADS") == "1" or os.environ.get("OMP_NUM_THREADS") == "1"
    return min(_available_cores(), _MOST_WORKERS) if single else 1


def _available_cores() -> int:
    if sys.platform == "linux":
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
