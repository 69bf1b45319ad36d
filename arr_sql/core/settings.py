"""``arr.toml``: who the project is and how it wants to be searched. Closed: an unknown key is an error with its name.

Nothing here can name an endpoint or a key (contract 12.2): those come from the operator's environment alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arr_sql.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIG_NAME = "arr.toml"
DEFAULT_ENVIRONMENT = "default"


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProjectTable(_Table):
    team_id: Annotated[str, Field(min_length=1, max_length=200)]
    project_id: Annotated[str, Field(min_length=1, max_length=200)]
    experiment_environment: Annotated[str, Field(min_length=1, max_length=200)] = DEFAULT_ENVIRONMENT
    # Set only when git can't tell or should not: otherwise the remote's name is used.
    repository: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class DatabaseTable(_Table):
    path: Annotated[str, Field(min_length=1)] = ".arr/arr.db"


class AuditTable(_Table):
    query: Literal["text", "hash"] = "text"


class SearchTable(_Table):
    k: Annotated[int, Field(ge=1, le=1000)] = 10
    deadline_seconds: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] = 10.0


class SourcesTable(_Table):
    max_file_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = 16 << 20


class Settings(_Table):
    """Everything ``arr.toml`` may say."""

    project: ProjectTable
    database: DatabaseTable = DatabaseTable()
    audit: AuditTable = AuditTable()
    search: SearchTable = SearchTable()
    sources: SourcesTable = SourcesTable()


def read_settings(path: Path) -> Settings:
    """The settings in ``path``. Raises InputError naming the file and the key that is wrong."""
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise InputError(f"'{path}' can't be read ({error.strerror}). Check its permissions.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"'{path}' is not valid TOML: {error}. Correct it, or move it away and run `arr init`."
        ) from error
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InputError(f"'{path}': {key}: {first['msg']}. Correct that line.") from error


def settings_text(project: ProjectTable) -> str:
    """The ``arr.toml`` that ``arr init`` writes."""
    lines = [
        "# Who this project is. The repository and branch of a scope come from git.",
        "[project]",
        f"team_id = {_toml_string(project.team_id)}",
        f"project_id = {_toml_string(project.project_id)}",
        f"experiment_environment = {_toml_string(project.experiment_environment)}",
    ]
    if project.repository is not None:
        lines.append(f"repository = {_toml_string(project.repository)}")
    lines += [
        "",
        "[audit]",
        "# What a retrieval record keeps of the query: its text (credentials taken out) or only its hash.",
        'query = "text"',
        "",
    ]
    return "\n".join(lines)


def _toml_string(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c for c in escaped) + '"'
