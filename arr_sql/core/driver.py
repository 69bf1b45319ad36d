"""Which SQLite library runs: chosen once, before sqlite-utils is first imported.

sqlite-utils looks for ``pysqlite3``, then the standard library, and for nothing else. Many Pythons (pyenv, macOS) have a
standard library without extension loading, so ``pysqlite3`` is a dependency where it has a wheel, and ``sqlean.py``,
which has wheels where ``pysqlite3`` has none, is put in its place. ``ARR_SQLITE_DRIVER`` names one explicitly
(``pysqlite3``, ``sqlean`` or ``stdlib``); the test suite runs under each.

Everything else imports ``sqlite3`` from :mod:`arr_sql.core.connection`: a bundled driver's ``Error`` is not the
standard library's, so two imports of "the same" module would miss each other's exceptions.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

from arr_sql.errors import InputError


def prepare_driver() -> str:
    """Put the chosen driver where sqlite-utils looks. Returns its name. Idempotent.

    Raises InputError when ``ARR_SQLITE_DRIVER`` names a driver that is unknown or not installed.
    """
    wanted = os.environ.get("ARR_SQLITE_DRIVER", "auto").strip().lower() or "auto"
    if wanted not in ("auto", "pysqlite3", "sqlean", "stdlib"):
        raise InputError(f"ARR_SQLITE_DRIVER={wanted!r} is unknown. Use auto, pysqlite3, sqlean or stdlib.")
    if "sqlite_utils.utils" in sys.modules:  # somebody was first (a Datasette plugin): live with their choice
        return str(sys.modules["sqlite_utils.utils"].sqlite3.__name__).split(".")[0]
    if wanted == "stdlib":
        sys.modules["pysqlite3"] = None  # type: ignore[assignment]
        return "sqlite3"
    if wanted in ("auto", "pysqlite3") and _importable("pysqlite3"):
        return "pysqlite3"
    if wanted in ("auto", "sqlean") and _importable("sqlean"):
        sys.modules["pysqlite3"] = importlib.import_module("sqlean")
        sys.modules["pysqlite3.dbapi2"] = importlib.import_module("sqlean.dbapi2")
        return "sqlean"
    if wanted != "auto":
        raise InputError(f"ARR_SQLITE_DRIVER={wanted} but that package is not installed. Unset it or install {wanted}.")
    return "sqlite3"


def _importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def driver_module(name: str) -> Any:
    """The very module that sqlite-utils will use (a test compares), without importing sqlite-utils.

    Importing sqlite-utils takes 0.1 s of every command's start and imports NumPy where that is installed, with BLAS
    threads that wait by spinning (the embedder, which asks for one thread, then runs six times slower).
    """
    if "sqlite_utils.utils" in sys.modules:
        return sys.modules["sqlite_utils.utils"].sqlite3
    return importlib.import_module("sqlite3" if name == "sqlite3" else "pysqlite3")


def import_sqlite_utils() -> ModuleType:
    """sqlite-utils, imported without NumPy and pandas, which it would only use to name column types."""
    hidden = [name for name in ("numpy", "pandas") if name not in sys.modules and "sqlite_utils" not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # to an import statement: not installed
    try:
        return importlib.import_module("sqlite_utils")
    finally:
        for name in hidden:
            del sys.modules[name]
