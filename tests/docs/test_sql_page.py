"""docs/sql.md: each recipe is run on the project of docs/audit.md, on every driver, and prints what the page shows.

Refresh the outputs:  python -m tests.docs.test_sql_page
"""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

import pytest

from arr_sql import add_functions
from tests.docs.audit_project import build
from tests.docs.blocks import ROOT, blocks, matches
from tests.drivers import connect, each_driver

PAGE = ROOT / "docs" / "sql.md"
RECIPES = [block for block in blocks(PAGE.read_text("utf-8")) if block.language == "sql"]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that the page asks, closed."""
    return build(tmp_path_factory.mktemp("sql"))


def answer(driver: str, database: Path, statement: str) -> str:
    """Rows as the sqlite3 shell prints them; or the error."""
    connection = connect(driver, database)
    add_functions(connection)
    try:
        cursor = connection.execute(statement)
        lines = ["|".join(column[0] for column in cursor.description)]
        lines += ["|".join("" if value is None else str(value) for value in row) for row in cursor]
    except connection.OperationalError as error:
        lines = [str(error)]
    finally:
        connection.close()
    return "\n".join(lines) + "\n"


def test_there_are_a_dozen_recipes() -> None:
    """Each with its output."""
    assert len(RECIPES) == 12 and all(block.output for block in RECIPES)


@each_driver
@pytest.mark.parametrize("number", range(len(RECIPES)))
def test_recipe(database: Path, driver: str, number: int) -> None:
    """The statement answers what the page shows."""
    block = RECIPES[number]
    if driver == "sqlite3" and sqlite3.sqlite_version_info < (3, 38):
        pytest.skip("this SQLite has no ->> operator")
    printed = answer(driver, database, block.code)
    assert matches(block.output or "", printed), f"docs/sql.md, line {block.line}: it prints\n{printed}"


def test_every_function_is_in_a_recipe() -> None:
    """arr_vector aside, which needs a model: tests/database/test_sql_store.py."""
    from arr_sql.retrieval.sql_functions import FUNCTIONS

    text = "\n".join(block.code for block in RECIPES)
    assert {function.name for function in FUNCTIONS if f"{function.name}(" not in text} == {"arr_vector"}


def refresh() -> None:
    """Write what the recipes print into the page, where it is not what the page shows."""
    page = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        database = build(Path(folder))
        for block in reversed([block for block in blocks(page) if block.language == "sql"]):
            assert block.output_span is not None
            start, end = block.output_span
            printed = answer("sqlite3", database, block.code)
            if not matches(block.output or "", printed):
                page = page[:start] + printed + page[end:]
    PAGE.write_text(page, "utf-8", newline="\n")


if __name__ == "__main__":
    refresh()
