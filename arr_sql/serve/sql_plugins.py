"""The SQL functions as plugins of sqlite-utils and Datasette, found through their entry points (docs/sql.md).

Both call ``prepare_connection`` on every connection that they open. Registering costs a fraction of a millisecond; what
a function needs is imported when it is first called. A file that is not arr_sql's has the functions too: those that ask
a store say that it is another application's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from arr_sql.errors import InputError
from arr_sql.retrieval.sql_functions import SCOPE_VALUES, Store, register

if TYPE_CHECKING:
    from arr_sql.core.research_models import ScopeKey

NAME = "arr-sql"
"""What the plugin is called in Datasette's configuration."""


@pluggy.HookimplMarker("sqlite_utils")(specname="prepare_connection")
def prepare_sqlite_utils(conn: Any) -> None:
    """sqlite-utils' hook: every connection of ``sqlite-utils query`` and ``sqlite_utils.Database``."""
    _add(conn, None)


@pluggy.HookimplMarker("datasette")(specname="prepare_connection")
def prepare_datasette(conn: Any, database: str, datasette: Any) -> None:
    """Datasette's hook. ``scopes`` in the plugin's configuration limits the functions to scopes of five values each."""
    _add(conn, _allowed(datasette.plugin_config(NAME, database=database)))


def _add(connection: Any, scopes: list[dict[str, str]] | None) -> None:
    path = next((row[2] for row in connection.execute("PRAGMA database_list") if row[1] == "main"), "")

    def store() -> Store:
        from arr_sql.core.research_models import ScopeKey
        from arr_sql.database.sql_store import SqlStore

        keys: list[ScopeKey] | None = None if scopes is None else [ScopeKey(**values) for values in scopes]
        return SqlStore(Path(path) if path else None, keys)

    register(connection, store)


def _allowed(configuration: Any) -> list[dict[str, str]] | None:
    """The scopes of the configuration, None for no limit. Raises InputError for anything else."""
    listed = (configuration or {}).get("scopes")
    if listed is None:
        return None
    if not isinstance(listed, list) or not all(isinstance(v, dict) and set(v) == set(SCOPE_VALUES) for v in listed):
        raise InputError(f"plugins / {NAME} / scopes must be a list of objects with {', '.join(SCOPE_VALUES)}.")
    return listed
