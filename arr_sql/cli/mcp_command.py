"""``arr mcp``."""

from __future__ import annotations

import os
import secrets

import click

from arr_sql.cli._shared import Where, note, print_json, project_options

SHORTEST_TOKEN = 16


@click.command()
@click.option(
    "--http",
    "port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve on 127.0.0.1:PORT instead (0: any free port).",
)
@click.option("--allow-propose", is_flag=True, help="Offer propose_memory, which stores candidates.")
@click.option(
    "--list-tools", "only_list", is_flag=True, help="Print the tools with their schemas as JSON, and serve nothing."
)
@project_options
def mcp(port: int | None, allow_propose: bool, only_list: bool, where: Where) -> None:
    """Serve this scope to an agent over MCP, on standard input and output.

    An agent's program starts this itself; docs/mcp.md has the configuration of the common ones. The scope is the one of
    --project, --env and --branch when the server starts: no argument of a tool can change it. Tools only read, unless
    --allow-propose. Every call is in the audit log with the client's name. Needs the extra `mcp`.

    With --http every request must carry the token of ARR_MCP_TOKEN (16 characters or more); where that is not set, one is
    made and printed on standard error.

    \b
    Example:
      arr mcp --list-tools
    """
    from arr_sql.errors import InputError
    from arr_sql.serve.mcp_calls import Desk

    desk = Desk(where.find(), may_propose=allow_propose)
    if only_list:
        print_json([
            {"name": t.name, "description": t.description, "inputSchema": t.input_schema(), "outputSchema": t.output_schema()}
            for t in desk.tools.values()
        ])  # fmt: skip
        return
    token = os.environ.get("ARR_MCP_TOKEN", "")
    if port is not None and token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise InputError(f"ARR_MCP_TOKEN must be {SHORTEST_TOKEN} or more printable ASCII characters.")
    try:
        from arr_sql.serve.mcp_server import PATH, serve_http, serve_stdio
        from arr_sql.serve.server import HOST
    except ImportError:
        raise InputError("The MCP server needs the extra `mcp`: pip install 'arr-sql[mcp]'.") from None
    desk.check()
    if port is None:
        try:
            serve_stdio(desk)
        finally:
            desk.close()
        return
    made = "" if token else secrets.token_urlsafe(32)

    def ready(bound: int) -> None:
        note(f"Serving {desk.project.scope} on http://{HOST}:{bound}{PATH}")
        if made:
            note(f"Token: {made}")

    try:
        serve_http(desk, port, token or made, ready)
    finally:
        desk.close()
