"""Every SQLite driver that this Python can import: a host of the SQL functions may use any of them."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest


def _importable(name: str) -> bool:
    if sys.modules.get(name, ...) is None:  # ARR_SQLITE_DRIVER=stdlib hides it
        return False
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


DRIVERS = [name for name in ("sqlite3", "pysqlite3", "sqlean") if _importable(name)]
each_driver = pytest.mark.parametrize("driver", DRIVERS)


def connect(driver: str, path: object = ":memory:") -> Any:
    """A plain connection of ``driver``, as its users open it."""
    return importlib.import_module(driver).connect(str(path))
