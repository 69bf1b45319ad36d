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
OPEN = {"pydantic", "importlib.metadata", *SQLITE}
"""What opening a project needs: values, the analyser. NumPy only where there are vectors, pathspec where files are ignored."""
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
    ("search", "warmup"): OPEN,
    ("audit", "list"): {*OPEN, "rich"},
}
NEVER = ("httpx", "requests", "urllib3", "torch", "transformers")
"""Modules that no command of an offline run imports."""

PACKAGES = {"click", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection",
            "pysqlite3", "sqlean"}  # fmt: skip
"""All packages that looking into a store may import, by top module, heavy or not; the last two are SQLite's drivers."""
OLDER = {"tomli", "colorama"}
"""Needed by these before Python 3.11 and on Windows."""
ONLY_THESE: dict[tuple[str, ...], set[str]] = {
    ("--help",): {"click"},
    ("search", "--help"): {"click"},
    ("status", "--json"): PACKAGES,
    ("search", "warmup", "--json"): PACKAGES,
    ("search", "warmup"): PACKAGES,
    ("audit", "list"): {*PACKAGES, "rich"},
    ("grep", "warmup", "--json"): PACKAGES,
    ("plan", "warmup", "--json"): PACKAGES,
    ("memory", "list", "--json"): PACKAGES,
    ("audit", "list", "--json"): PACKAGES,
}
NOT_FOR_A_SEARCH = {
    "arr_sql.core.approval_models", "arr_sql.core.legacy_encodings", "arr_sql.core.secret_walk",
    "arr_sql.database.replay_run",
    "arr_sql.database.revision_diff", "arr_sql.index.embedders.e5_file", "arr_sql.index.embedders.model_store",
    "arr_sql.ingest.sync", "arr_sql.memory.approvals", "arr_sql.memory.audit_verify", "arr_sql.memory.memory_import",
    "arr_sql.memory.promotion", "arr_sql.memory.research_store", "arr_sql.policy.replay_compare",
}  # fmt: skip
"""Parts that are methods of the database and not of a search: each is imported by the method that uses it."""

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


@pytest.mark.parametrize("command", ONLY_THESE, ids=" ".join)
def test_a_command_imports_only_these_packages(command: tuple[str, ...], folder: Path) -> None:
    """A package that is new to a command shows here, whether it is slow or not."""
    bare = {name.partition(".")[0] for name in imported(("completion", "bash"), folder)} - {"click"}
    found = {name.partition(".")[0] for name in imported(command, folder)} - bare - set(sys.stdlib_module_names)
    packages = {name for name in found if not name.startswith("_")}  # _sysconfigdata... belongs to Python too
    assert packages - OLDER <= ONLY_THESE[command]


def test_a_search_imports_no_part_that_it_does_not_use(folder: Path) -> None:
    """Approvals, replay, verification and promotion cost a search nothing."""
    assert not NOT_FOR_A_SEARCH & imported(("search", "warmup", "--json"), folder)


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
    """The check itself works: a table for people does import rich, and bringing a file up to date sqlite_utils."""
    assert "rich" in tops(imported(("audit", "list"), folder))
    copy = Path(shutil.copytree(folder, folder.parent / "copy"))
    assert "sqlite_utils" in imported(("db", "migrate"), copy)
