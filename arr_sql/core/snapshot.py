"""One snapshot for channels that run side by side: several read connections that all see the same committed state.

Each connection has its own read transaction; they are begun together and compared by SQLite's ``data_version``-like
witness, the end of the audit chain (every write appends to it). If a write fell in between, they begin again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from arr_sql.core.connection import Connection
from arr_sql.core.statements import load
from arr_sql.errors import StoreBusy

ATTEMPTS = 50


@contextlib.contextmanager
def same_snapshot(connections: Sequence[Connection]) -> Iterator[None]:
    """Hold read transactions on all ``connections`` at one committed state. Raises StoreBusy if writers never pause."""
    try:
        for _ in range(ATTEMPTS):
            for connection in connections:
                connection.execute("BEGIN")
            if len({_witness(connection) for connection in connections}) == 1:
                yield
                return
            _end(connections)
        raise StoreBusy("Other processes write without a pause; no common snapshot was found. Try again.")
    finally:
        _end(connections)


def _witness(connection: Connection) -> Any:
    return tuple(connection.execute(load("read_snapshot_witness")).fetchone())


def _end(connections: Sequence[Connection]) -> None:
    for connection in connections:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
