"""Start-up stays light: what each command may import, and that the package's parts don't pull each other in."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import arr, environment

HEAVY = ("pydantic", "rich", "sqlite_utils", "numpy", "httpx", "sqlite3", "pysqlite3", "sqlean", "pathspec",
         "markdown_it", "charset_normalizer", "onnxruntime", "importlib.metadata")  # fmt: skip
"""What takes time to import, by the name of its top module."""

SQLITE = {"sqlite3", "pysqlite3", "sqlean"}
OPEN = {"pydantic", "importlib.metadata", "pathspec", *SQLITE}
"""What opening a project needs: values, the analyser, ignore rules. NumPy only where there are vectors."""
MAY_IMPORT: dict[tuple[str, ...], set[str]] = {
    ("--help",): set(),
    ("-h",): set(),
    ("search", "--help"): set(),
    ("memory", "add", "--help"): set(),
    ("db", "--help"): set(),
    ("demo", "--help"): set(),
    ("completion", "bash"): set(),
    ("nonsense",): set(),
    ("status",): OPEN,
    ("audit", "list", "--json"): OPEN,
    ("memory", "list", "--json"): OPEN,
    ("search", "warmup", "--json"): OPEN,
    ("search", "warmup"): {*OPEN, "rich"},
}
NEVER = ("httpx", "requests", "urllib3", "torch", "transformers")
"""Modules that no command of an offline run imports."""

PROBE = """
import json, sys
from arr_sql.cli import main
sys.argv = ["arr", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit:
    pass
print("\\n" + json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one file and no vectors."""
    made = tmp_path_factory.mktemp("imports")
    (made / "a.md").write_text("warmup\n", "utf-8")
    for command in (("init",), ("add", "a.md", "--no-embed")):
        assert arr(*command, cwd=made).code == 0
    return made


def imported(command: tuple[str, ...], cwd: Path) -> set[str]:
    """Every module in a fresh process after it has run one command."""
    ran = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(command)], cwd=cwd, env=environment(), capture_output=True, text=True,
        encoding="utf-8", timeout=120,
    )  # fmt: skip
    return set(json.loads(ran.stdout.splitlines()[-1]))


def tops(modules: set[str]) -> set[str]:
    return {name for name in HEAVY if name in modules}


@pytest.mark.parametrize("command", MAY_IMPORT, ids=" ".join)
def test_a_command_imports_no_more_than_it_may(command: tuple[str, ...], folder: Path) -> None:
    """Help imports nothing heavy; a search neither httpx nor what only ingestion needs."""
    bare = set(json.loads(subprocess.run(
        [sys.executable, "-c", "import json, sys; print(json.dumps(sorted(sys.modules)))"], cwd=folder,
        env=environment(), capture_output=True, text=True, check=True,
    ).stdout))  # fmt: skip
    modules = imported(command, folder) - bare
    assert tops(modules) <= MAY_IMPORT[command]
    assert not [name for name in NEVER if name in modules]


def test_help_imports_no_part_of_the_library(folder: Path) -> None:
    """`arr --help` reads the command line's own modules and the errors, nothing else of arr_sql."""
    parts = {name for name in imported(("--help",), folder) if name.startswith("arr_sql")}
    assert parts == {"arr_sql", "arr_sql.errors", "arr_sql.cli", "arr_sql.cli._lazy"}


def test_a_commands_help_imports_only_its_own_module(folder: Path) -> None:
    """The help of one command does not import another's."""
    parts = {name for name in imported(("search", "--help"), folder) if name.startswith("arr_sql.")}
    assert parts == {
        "arr_sql.errors", "arr_sql.cli", "arr_sql.cli._lazy", "arr_sql.cli._shared", "arr_sql.cli.search_commands",
    }  # fmt: skip


def test_importing_the_package_imports_nothing_heavy(folder: Path) -> None:
    """`import arr_sql` is quick: heavy parts come when they are used."""
    code = "import json, sys, arr_sql; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment(), capture_output=True, check=True)
    assert not {"numpy", "httpx", "rich", "sqlite_utils"} & set(json.loads(ran.stdout))


def test_the_probe_would_see_a_heavy_import(folder: Path) -> None:
    """The check itself works: a search that prints for people does import rich, and demo's run imports sqlite_utils."""
    assert "rich" in tops(imported(("search", "warmup"), folder))
    copy = Path(shutil.copytree(folder, folder.parent / "copy"))
    assert "sqlite_utils" in imported(("db", "migrate"), copy)
