"""Whole tables as plain rows: what an export writes and what a search for left-over text has to account for.

Every ordinary table of the file, whatever later migrations (or other programs) added; index structures are left out,
being derived. The statements follow the schema, so sqlite-utils writes them. Held by tests/memory/test_backup.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from arr_sql.core.connection import Connection
from arr_sql.core.driver import import_sqlite_utils
from arr_sql.core.statements import load


def table_names(connection: Connection) -> list[str]:
    """Every ordinary table by name. SQLite's own and the text index's are left out."""
    return [row["name"] for row in connection.execute(load("read_table_names"))]


def table_rows(connection: Connection, table: str) -> Iterator[dict[str, Any]]:
    """The rows of one table of :func:`table_names`, in the order of its primary key."""
    database = import_sqlite_utils().Database(connection, execute_plugins=False, recursive_triggers=False)
    keys = ", ".join(f"[{name}]" for name in database[table].pks)
    yield from database[table].rows_where(order_by=keys)


def insert_rows(connection: Connection, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Put rows into a table that exists. Raises KeyError when it does not: a misspelt name makes no table."""
    if table not in table_names(connection):
        raise KeyError(table)
    database = import_sqlite_utils().Database(connection, execute_plugins=False, recursive_triggers=False)
    database[table].insert_all(rows, alter=False)


def schema_text_values(connection: Connection) -> Iterator[tuple[str, str]]:
    """The definitions of everything in the file, each text with the name of what it defines: they stand in its bytes too."""
    for row in connection.execute(load("read_definitions")):
        yield from ((row["name"], text) for text in (row["name"], row["tbl_name"], row["sql"] or ""))
