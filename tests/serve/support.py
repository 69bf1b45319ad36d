"""A small project to serve, and ways to call its server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, Implementation

from tests.cli.support import arr, environment

T = TypeVar("T")


def parameters(project: Path, *options: str) -> StdioServerParameters:
    """How a client starts ``arr mcp`` as a process of its own."""
    return StdioServerParameters(
        command=sys.executable, args=["-m", "arr_sql", "mcp", "-C", str(project), *options], env=environment(ARR_ACTOR="ana")
    )  # fmt: skip


def visit(server: Any, use: Callable[[Client], Awaitable[T]], *, name: str = "probe", mode: str = "auto") -> T:
    """Connect with the SDK's own client, do something, and leave."""

    async def run() -> T:
        info = Implementation(name=name, version="1.2")
        async with Client(server, client_info=info, mode=mode, read_timeout_seconds=60) as client:
            return await use(client)

    return asyncio.run(run())


def output(result: CallToolResult) -> dict[str, Any]:
    """The structured output of a call that went well."""
    assert not result.is_error, result.content
    value: dict[str, Any] = result.structured_content
    return value


def error(result: CallToolResult) -> str:
    """The message of a call that was refused."""
    assert result.is_error and result.structured_content is None
    (content,) = result.content
    text: str = content.text
    return text


def events(project: Path, kind: str) -> list[dict[str, Any]]:
    """The audit events of one kind, oldest first."""
    found: list[dict[str, Any]] = arr("audit", "list", "--kind", kind, "--json", cwd=project).json
    return found[::-1]
