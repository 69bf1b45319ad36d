"""SQL lives in files: ``load("search_bm25")`` is the text of ``arr_sql/sql/search_bm25.sql``.

Python chooses a statement and binds values; it never builds SQL text (tests/core/test_statements.py compiles every
file, checks its comment, its plan and that it is loaded in exactly one place).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

SQL_FOLDER = Path(__file__).resolve().parents[1] / "sql"


@cache
def load(name: str) -> str:
    """The text of the statement ``name``. Raises FileNotFoundError when no such file was shipped."""
    return (SQL_FOLDER / f"{name}.sql").read_text("utf-8")
