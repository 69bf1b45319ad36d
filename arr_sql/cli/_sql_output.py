"""Rows of ``arr sql`` as a table, JSON, CSV or one line a value."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arr_sql.cli._shared import echo, note, print_json, print_table, visible

MODES = ("table", "json", "csv", "line")


@dataclass(frozen=True)
class Rows:
    """What one statement gave; ``changed`` rows where it has no columns, -1 where SQLite does not count them."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    changed: int = -1


def print_rows(found: Rows, mode: str) -> None:
    """Print in one of :data:`MODES`. BLOBs are shown by their size: they are vectors."""
    if not found.columns:
        if found.changed >= 0:
            note(f"Rows changed: {found.changed}.")
        return
    if mode == "json":
        print_json([dict(zip(found.columns, map(_json_value, row), strict=True)) for row in found.rows])
    elif mode == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows([_shown(value) for value in row] for row in found.rows)
        echo(text.getvalue(), nl=False)
    elif mode == "line":
        width = max(map(len, found.columns))
        blocks = ("\n".join(f"{name.rjust(width)} = {visible(str(_shown(value)))}" for name, value in zip(found.columns, row, strict=True))
                  for row in found.rows)  # fmt: skip
        echo("\n\n".join(blocks))
    else:
        print_table("", found.columns, [[_shown(value) for value in row] for row in found.rows])


def distinct(names: Sequence[str]) -> list[str]:
    """Column names, a repeated one with its number: a JSON object holds a name once."""
    found: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in found:
            number += 1
            candidate = f"{name}_{number}"
        found.append(candidate)
    return found


def _shown(value: Any) -> Any:
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else "" if value is None else value


def _json_value(value: Any) -> Any:
    """JSON has no bytes and no infinity: both as text."""
    if isinstance(value, bytes):
        return _shown(value)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
