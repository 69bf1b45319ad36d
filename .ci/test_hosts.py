"""sqlite-utils and Datasette, installed beside the package, answer the recipes of docs/sql.md. Not part of `pytest`:

python3 -m venv .venv-hosts && .venv-hosts/bin/python -m pip install -q -U pip
.venv-hosts/bin/python -m pip install -q . --group hosts
.venv-hosts/bin/python -m pytest -q .ci/test_hosts.py
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from datasette.app import Datasette

from tests.docs.audit_project import build
from tests.docs.blocks import ROOT, blocks, matches

PAGE = (ROOT / "docs" / "sql.md").read_text("utf-8")
RECIPES = [block for block in blocks(PAGE) if block.language == "sql"]
(CONFIGURATION,) = [block.code for block in blocks(PAGE) if block.language == "yaml"]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that the page asks, closed."""
    return build(tmp_path_factory.mktemp("hosts"))


def as_text(rows: Sequence[dict[str, Any]]) -> str:
    lines = ["|".join(rows[0])] + ["|".join("" if v is None else str(v) for v in row.values()) for row in rows]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("number", range(len(RECIPES)))
def test_sqlite_utils(database: Path, number: int) -> None:
    """`sqlite-utils query` prints what the page shows; the recipe that is refused says why."""
    block = RECIPES[number]
    done = subprocess.run(
        [sys.executable, "-m", "sqlite_utils", "query", str(database), block.code],
        capture_output=True, text=True, encoding="utf-8", cwd=database.parent,
    )  # fmt: skip
    printed = as_text(json.loads(done.stdout)) if done.returncode == 0 else done.stderr.removeprefix("Error: ")
    assert matches(block.output or "", printed), printed


def get(datasette: Datasette, path: str, **parameters: str) -> Any:
    async def ask() -> Any:
        await datasette.invoke_startup()
        return await datasette.client.get(f"{path}?{urlencode(parameters)}")

    return asyncio.run(ask())


@pytest.mark.parametrize("number", range(len(RECIPES)))
def test_datasette(database: Path, number: int) -> None:
    """Datasette's JSON holds what the page shows; the recipe that is refused says why."""
    block = RECIPES[number]
    datasette = Datasette([str(database)], settings={"sql_time_limit_ms": 20_000})
    answer = get(datasette, "/arr.json", sql=block.code.strip().rstrip(";"), _shape="objects").json()
    printed = as_text(answer["rows"]) if answer["ok"] else answer["error"] + "\n"
    assert matches(block.output or "", printed), printed


def test_the_configuration_of_the_page(database: Path) -> None:
    """The canned query answers; SQL is switched off; a scope that is not listed is refused."""
    configuration = yaml.safe_load(CONFIGURATION)
    datasette = Datasette([str(database)], metadata=configuration, settings={"sql_time_limit_ms": 20_000})
    rows = get(datasette, "/arr/evidence.json", query="warmup steps", _shape="array").json()
    assert rows[0]["source"] == "notes/warmup.md"
    assert get(datasette, "/arr.json", sql="select 1").status_code == 403
    configuration["databases"]["arr"]["queries"]["evidence"]["sql"] = (
        "SELECT arr_search(:query, arr_scope('vision', 'lumen', 'lab/lumen', 'dev', 'a100'))"
    )
    answer = get(Datasette([str(database)], metadata=configuration), "/arr/evidence.json", query="a").json()
    assert not answer["ok"] and "limited to other scopes" in answer["error"]


def test_datasette_writes_nothing(database: Path) -> None:
    """A read-only file, opened immutable, is answered for too, and no byte changes."""
    before = database.read_bytes()
    datasette = Datasette([], immutables=[str(database)], settings={"sql_time_limit_ms": 20_000})
    for block in RECIPES[:3]:
        assert get(datasette, "/arr.json", sql=block.code.strip().rstrip(";")).json()["ok"]
    assert database.read_bytes() == before


def test_datasette_as_a_process(database: Path) -> None:
    """The command `datasette`, as people run it."""
    path = "/arr.json?" + urlencode({"sql": "SELECT arr_rrf(1, 1) AS r", "_shape": "array"})
    done = subprocess.run(
        [sys.executable, "-m", "datasette", str(database), "--get", path], capture_output=True, text=True
    )
    assert json.loads(done.stdout) == [{"r": 0.5}], done.stderr
