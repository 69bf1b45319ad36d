"""The generated parts of docs/schema.md and docs/statements.md, from the migrations and the statement files."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from _generate import PACKAGE, cell

# --- docs/schema.md ---------------------------------------------------------------------------------------------------


def schema_objects() -> list[tuple[str, str, str]]:
    """(type, name, sql) of every table, view, trigger and index of a freshly migrated file in memory."""
    connection = _migrated()
    try:
        rows = connection.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        )
        return [(row[0], row[1], row[3]) for row in rows]
    finally:
        connection.close()


def _migrated() -> Any:
    from arr_sql.core.connection import sqlite3
    from arr_sql.core.migrations import all_migrations, split_statements

    connection = sqlite3.connect(":memory:")
    for migration in all_migrations():
        for statement in split_statements(migration.sql):
            connection.execute(statement)
    return connection


def schema_page() -> str:
    """Tables with their columns, then views, then triggers."""
    connection = _migrated()
    try:
        found = schema_objects()
        parts = ["## Tables\n"]
        for kind, name, sql in found:
            if kind == "table":
                indexes = [other for t, other, text in found if t == "index" and f" ON {name} " in text]
                parts.append(_table(connection, name, sql, indexes))
        parts.append("## Views\n")
        for kind, name, sql in found:
            if kind == "view":
                columns = ", ".join(f"`{row[1]}`" for row in connection.execute(f"PRAGMA table_info({name})"))
                parts.append(f"### {name}\n\n{_comment(sql)}\n\nColumns: {columns}.\n")
        parts.append("## Triggers\n")
        for kind, name, sql in found:
            if kind == "trigger":
                said = re.search(r"RAISE\(ABORT, '([^']*)'\)", sql)
                parts.append(f"- `{name}` refuses with: {said.group(1) if said else 'nothing'}.")
        return "\n".join(parts) + "\n"
    finally:
        connection.close()


def _comment(sql: str) -> str:
    """The comment directly below the first line of a CREATE statement."""
    lines = []
    for line in sql.splitlines()[1:]:
        if not line.strip().startswith("--"):
            break
        lines.append(line.strip().removeprefix("--").strip())
    return " ".join(lines)


def _column_comments(sql: str) -> dict[str, str]:
    """Column name -> the comment directly above it, or behind it where a migration added the column."""
    comments: dict[str, str] = {}
    pending: list[str] = []
    for line in sql.splitlines()[1 + len(_comment_lines(sql)) :]:
        text = line.strip()
        if text.startswith("--"):
            pending.append(text.removeprefix("--").strip())
        else:
            if pending and (match := re.match(r"([a-z_0-9]+) [A-Z]", text)):
                comments[match.group(1)] = " ".join(pending)
            pending = []
            if match := re.search(r", ([a-z_0-9]+) [A-Z]+ -- (.+)$", text):
                comments[match.group(1)] = match.group(2)
    return comments


def _comment_lines(sql: str) -> list[str]:
    lines = []
    for line in sql.splitlines()[1:]:
        if not line.strip().startswith("--"):
            break
        lines.append(line)
    return lines


def _table(connection: Any, name: str, sql: str, indexes: list[str]) -> str:
    comments = _column_comments(sql)
    points_at = {row[3]: f"`{row[2]}.{row[4]}`" for row in connection.execute(f"PRAGMA foreign_key_list({name})")}
    rows = ["| column | type | empty? | about |", "|---|---|---|---|"]
    for _, column, kind, notnull, default, key in connection.execute(f"PRAGMA table_info({name})"):
        about = [comments[column]] if column in comments else []
        if column in points_at:
            about.append(f"Points at {points_at[column]}.")
        if key:
            about.append("Part of the primary key.")
        if default is not None:
            about.append(f"Default `{default}`.")
        rows.append(f"| `{column}` | {kind} | {'no' if notnull or key else 'NULL allowed'} | {cell(' '.join(about))} |")
    listed = f"\nIndexes: {', '.join(f'`{index}`' for index in indexes)}.\n" if indexes else ""
    return f"### {name}\n\n{_comment(sql)}\n\n" + "\n".join(rows) + f"\n{listed}"


def derived_tables() -> str:
    """The index tables, from the statements that build them."""
    rows = ["| table | what it is | built by |", "|---|---|---|"]
    for path in sorted((PACKAGE / "sql").glob("build_*.sql")):
        made = re.search(r"CREATE VIRTUAL TABLE (?:IF NOT EXISTS )?([a-z_.]+)", path.read_text("utf-8"))
        if made:
            rows.append(f"| `{made.group(1)}` | {cell(first_comment(path))} | `{path.stem}` |")
    return "\n".join(rows) + "\n"


# --- docs/statements.md -----------------------------------------------------------------------------------------------


def statement_files() -> list[Path]:
    """Every statement file, by name."""
    return sorted((PACKAGE / "sql").glob("*.sql"))


def first_comment(path: Path) -> str:
    """The comment that opens a statement file, as one paragraph."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return " ".join(lines)


def loaders() -> dict[str, list[str]]:
    """Statement name -> the modules that hold it as a string."""
    names = {path.stem for path in statement_files()}
    found: dict[str, list[str]] = {name: [] for name in names}
    for path in sorted(PACKAGE.rglob("*.py")):
        if "project" in path.parts:
            continue
        module = path.relative_to(PACKAGE).as_posix()
        strings = {
            node.value for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }  # fmt: skip
        for name in names & strings:
            found[name].append(module)
    return found


def statements_page() -> str:
    """One table a verb."""
    verbs = {
        "search": "Search one scope (each binds the five scope values)", "read": "Read", "add": "Add", "set": "Change",
        "remove": "Remove", "build": "Build an index", "drop": "Drop an index", "check": "Check an index",
    }  # fmt: skip
    used = loaders()
    parts = []
    for verb in [*verbs, *sorted({path.stem.split("_")[0] for path in statement_files()} - set(verbs))]:
        files = [path for path in statement_files() if path.stem.split("_")[0] == verb]
        if files:
            parts += [
                f"## {verbs.get(verb, verb.capitalize())}\n",
                "| statement | what it answers or does | loaded by |",
                "|---|---|---|",
            ]
            parts += [
                f"| [`{path.stem}`](../arr_sql/sql/{path.name}) | {cell(first_comment(path))} "
                f"| {', '.join(f'`{module}`' for module in used[path.stem]) or 'nothing'} |"
                for path in files
            ]
            parts.append("")
    return "\n".join(parts)
