"""One call of a tool from outside: checked, run, bounded, audited. Blocks; the server runs it in a thread. No SDK here.

Every call leaves an audit event that names the client: ``tool_called`` for one that ran, ``tool_refused`` for one that
did not (an unknown tool, a wrong or unknown argument, a refusal further down). Events hold the tool's name, codes, ids
and the SHA-256 of the arguments, never a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from arr_sql.core.canonical import sha256_text
from arr_sql.core.project import Project
from arr_sql.database import ResearchDatabase
from arr_sql.database.base import shared_embedder
from arr_sql.database.hot_store import SharedHotStore
from arr_sql.errors import ArrError, InputError, StateError, StoreError
from arr_sql.memory.audit_log import current_actor
from arr_sql.serve.mcp_tools import PROPOSING, READING, Tool
from arr_sql.serve.mcp_values import Output, StatusOutput


@dataclass(frozen=True)
class Client:
    """Who calls, as the client says of itself. Printable and short, whatever it sent."""

    name: str
    version: str = ""

    @classmethod
    def of(cls, name: object, version: object = "") -> Client:
        """From what was sent at the beginning of the connection."""
        return cls(_label(name, 80) or "unnamed client", _label(version, 40))


@dataclass(frozen=True)
class Answer:
    """What goes back: the output as plain JSON values, or why there is none."""

    output: dict[str, Any] | None
    error: str = ""


class UnknownTool(InputError):
    """No tool of that name is offered."""


class Desk:
    """Takes calls for one project in the scope that it had when the server started."""

    def __init__(self, project: Project, *, may_propose: bool, **options: Any) -> None:
        """``options`` go to every ResearchDatabase that a call opens."""
        self.project, self.may_propose = project, may_propose
        self._hot = SharedHotStore(project.database)
        self._options = {
            "embedder": shared_embedder, "actor": current_actor(), "shared_hot": self._hot, **options,
        }  # fmt: skip
        self.tools: dict[str, Tool] = {tool.name: tool for tool in (*READING, *((PROPOSING,) if may_propose else ()))}

    def check(self) -> None:
        """Open and close the file once. Raises StoreError before a client waits for an answer."""
        ResearchDatabase.of_project(self.project, **self._options).close()

    def close(self) -> None:
        """Let go of what is kept in memory between calls."""
        self._hot.close()

    def call(
        self, name: str, arguments: Mapping[str, Any], client: Client, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Answer:
        """Run one call on connections of its own. Raises UnknownTool, after it was audited; any other refusal is an answer."""
        actor = f"{self._options['actor']} via {client.name}"
        try:
            with ResearchDatabase.of_project(self.project, **{**self._options, "actor": actor}) as database:
                return self._call(database, name, arguments, client, is_cancelled)
        except StoreError as error:
            return Answer(None, self._without_paths(str(error)))

    def _call(
        self, database: ResearchDatabase, name: str, arguments: Mapping[str, Any], client: Client,
        is_cancelled: Callable[[], bool],
    ) -> Answer:  # fmt: skip
        about: dict[str, Any] = {
            "client": client.name,
            "client_version": client.version,
            "arguments_hash": _hash(arguments),
        }
        tool = self.tools.get(name)
        if tool is None:
            database.note_tool_call("unknown", refused=True, details={**about, "error": "UnknownTool"})
            raise UnknownTool(f"There is no tool of that name. Tools: {', '.join(self.tools)}.")
        try:
            output = tool.run(database, checked(tool, arguments))
        except Exception as error:  # noqa: BLE001  whatever happens is audited, and a fault must not end the server
            refused = isinstance(error, InputError | StateError)
            database.note_tool_call(name, refused=refused, details={**about, "error": type(error).__name__})
            if isinstance(error, ArrError):
                return Answer(None, self._without_paths(str(error)))
            return Answer(None, f"Internal fault ({type(error).__name__}). `arr doctor` may say more.")
        if isinstance(output, StatusOutput):
            output = output.model_copy(update={"may_propose": self.may_propose})
        about["outcome"] = "cancelled" if is_cancelled() else "answered"
        if retrieval_id := getattr(output, "retrieval_id", None):
            about["retrieval_id"] = retrieval_id
        is_audited = database.note_tool_call(name, refused=False, details=about)
        return Answer(_sendable(output.model_copy(update={"audited": is_audited})))

    def _without_paths(self, message: str) -> str:
        """A message about the store without the folder that it is in."""
        for path in (str(self.project.folder.resolve()), str(self.project.folder)):
            message = message.replace(path, ".")
        return message


def checked(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """The arguments as the tool's own model. Raises InputError that names each argument that is unknown or wrong."""
    try:
        return tool.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        problems = [_problem(item) for item in error.errors(include_url=False, include_input=False)]
        more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
        takes = ", ".join(tool.arguments.model_fields) or "no arguments"
        raise InputError(f"{'; '.join(problems[:5])}{more}. {tool.name} takes {takes}. The scope is fixed.") from None


def _problem(item: Any) -> str:
    where = ".".join(_label(part, 60) for part in item["loc"][:6]) or "arguments"
    if item["type"] == "extra_forbidden":
        return f"unknown argument {where}"
    said = "should be an object" if item["type"] in ("model_type", "model_attributes_type") else item["msg"]
    return f"argument {where}: {said[:1].lower()}{said[1:200]}"


def _label(value: object, limit: int) -> str:
    """Text from outside as one short printable line."""
    text = "" if value is None else str(value)
    return "".join(c for c in text[: 4 * limit] if c.isprintable()).strip()[:limit].strip()


def _hash(arguments: Mapping[str, Any]) -> str:
    """The SHA-256 of the arguments as canonical JSON in ASCII; half characters are escaped, so nothing fails."""
    try:
        return sha256_text(json.dumps(dict(arguments), sort_keys=True, separators=(",", ":"), ensure_ascii=True))
    except (RecursionError, ValueError):
        return ""


def _sendable(output: Output) -> dict[str, Any]:
    """Plain values whose texts can be sent as UTF-8: a file name may hold bytes that are none."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return value.encode("utf-8", "replace").decode("utf-8")
        if isinstance(value, dict):
            return {clean(key): clean(item) for key, item in value.items()}
        return [clean(item) for item in value] if isinstance(value, list | tuple) else value

    cleaned: dict[str, Any] = clean(output.model_dump())
    return cleaned
