"""The plugins of sqlite-utils and Datasette: found by their entry points, registered on every connection, limited by configuration."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pluggy
import pytest
import sqlite_utils

from arr_sql.errors import InputError
from arr_sql.serve import sql_plugins
from tests.cli.support import environment
from tests.drivers import connect, each_driver


def datasette(configuration: Any) -> Any:
    """What the hook uses of Datasette: its plugin's configuration."""
    return SimpleNamespace(plugin_config=lambda name, database: configuration if name == "arr-sql" else None)


@pytest.mark.parametrize("group", ["sqlite_utils", "datasette"])
def test_the_entry_points_name_the_plugin(group: str) -> None:
    """The installed distribution declares both."""
    (point,) = [
        point for point in importlib.metadata.entry_points(group=group) if point.dist and point.dist.name == "arr-sql"
    ]
    assert point.load() is sql_plugins


def test_each_host_finds_its_own_hook() -> None:
    """Both hooks are named prepare_connection, and each host gets the one with its arguments."""
    for name, function in (
        ("sqlite_utils", sql_plugins.prepare_sqlite_utils),
        ("datasette", sql_plugins.prepare_datasette),
    ):
        manager = pluggy.PluginManager(name)
        manager.register(sql_plugins)
        (found,) = manager.hook.prepare_connection.get_hookimpls()
        assert found.function is function


def test_sqlite_utils_has_the_functions(project: Path) -> None:
    """In a process of its own, with nothing but `import sqlite_utils`; in `sqlite-utils query` too."""
    code = "import sqlite_utils; print(next(sqlite_utils.Database('.arr/arr.db').query('SELECT arr_verify_audit() AS v'))['v'])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=project, env=environment(), capture_output=True, text=True)
    assert json.loads(ran.stdout)["verified"] == 1, ran.stderr
    command = [sys.executable, "-m", "sqlite_utils", "query", ".arr/arr.db"]
    ran = subprocess.run(
        [*command, "SELECT arr_rrf(1, 1) AS r"], cwd=project, env=environment(), capture_output=True, text=True
    )
    assert json.loads(ran.stdout) == [{"r": 0.5}]
    ran = subprocess.run(
        [*command, "SELECT arr_rrf(0)"], cwd=project, env=environment(), capture_output=True, text=True
    )
    assert ran.returncode == 1 and "Error: arr_rrf(): argument rank is 0" in ran.stderr


def test_registering_imports_nothing_heavy(project: Path) -> None:
    """A process that opens a database and calls no function of ours imports neither pydantic nor the store."""
    code = (
        "import sys, sqlite_utils; sqlite_utils.Database('.arr/arr.db').conn.execute('SELECT arr_rrf(1)').fetchall()\n"
        "print(sorted(name for name in sys.modules if name.startswith(('arr_sql.database', 'pydantic', 'arr_sql.core.conn'))))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=project, env=environment(), capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr


def test_the_librarys_own_use_of_sqlite_utils_is_left_alone() -> None:
    """Databases that this package opens through sqlite-utils take no plugins."""
    database = sqlite_utils.Database(memory=True, execute_plugins=False)
    with pytest.raises(Exception, match="no such function"):
        database.conn.execute("SELECT arr_rrf(1)")
    database.close()


@each_driver
def test_datasettes_configuration_limits_the_scopes(driver: str, project: Path) -> None:
    """Without it every scope of the file can be named; with it, only those."""
    here = {
        "team_id": "vision",
        "project_id": "lumen",
        "repository": "lumen",
        "branch": "no-git",
        "experiment_environment": "a100",
    }
    call = f"SELECT json_extract(arr_bm25('warmup', '{json.dumps(here)}'), '$.state')"
    for configuration, allowed in (
        (None, True), ({}, True), ({"scopes": [here]}, True), ({"scopes": [{**here, "branch": "x"}]}, False), ({"scopes": []}, False),
    ):  # fmt: skip
        connection = connect(driver, project / ".arr" / "arr.db")
        sql_plugins.prepare_datasette(connection, "arr", datasette(configuration))
        if allowed:
            assert connection.execute(call).fetchone()[0] == "ok"
        else:
            with pytest.raises(connection.OperationalError, match="limited to other scopes"):
                connection.execute(call)
        connection.close()


@pytest.mark.parametrize("scopes", ["main", [["a", "b", "c", "d", "e"]], [{"team_id": "a"}], {"team_id": "a"}])
def test_a_configuration_that_is_no_list_of_scopes_is_refused(scopes: Any) -> None:
    """Never taken for "no limit"."""
    connection = connect("sqlite3")
    with pytest.raises(InputError, match="plugins / arr-sql / scopes must be a list of objects with team_id"):
        sql_plugins.prepare_datasette(connection, "arr", datasette({"scopes": scopes}))
    connection.close()
