"""``arr mcp --http``: loopback, a token on every request, Host and Origin of this server only."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import ARR, arr, environment, process
from tests.serve.support import error, events, output, visit

mcp = pytest.importorskip("mcp")
TOKEN = "0123456789abcdef-token"
HELLO = json.dumps({
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "plain", "version": "1"}},
})  # fmt: skip


@dataclass
class Served:
    """A running server."""

    project: Path
    port: int
    said: str

    def request(
        self, method: str = "POST", path: str = "/mcp", body: str | bytes = HELLO, **headers: str
    ) -> tuple[int, str]:
        """Status and body of one plain request; ``_`` in a header's name stands for ``-``."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read(100_000).decode("utf-8", "replace")
        finally:
            connection.close()

    @contextlib.asynccontextmanager
    async def transport(self, token: str) -> AsyncIterator[Any]:
        """The SDK's transport with a token."""
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as client,
            streamable_http_client(f"http://127.0.0.1:{self.port}/mcp", http_client=client) as streams,
        ):
            yield streams


@contextlib.contextmanager
def serving(project: Path, **values: str) -> Iterator[Served]:
    child = subprocess.Popen(
        [*ARR, "mcp", "--http", "0"], cwd=project, env=environment(ARR_ACTOR="ana", **values), stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, encoding="utf-8",
    )  # fmt: skip
    assert child.stderr and child.stdout
    timer = threading.Timer(120, child.kill)
    timer.start()
    try:
        said = ""
        while (found := re.search(r"http://127\.0\.0\.1:(\d+)/mcp", said)) is None:
            line = child.stderr.readline()
            assert line, said
            said += line
        if "ARR_MCP_TOKEN" not in values:
            said += child.stderr.readline()
        yield Served(project, int(found[1]), said)
    finally:
        timer.cancel()
        if sys.platform == "win32":
            child.kill()
        else:
            child.send_signal(signal.SIGINT)
        child.wait(timeout=30)
        child.stderr.close()
        child.stdout.close()


@pytest.fixture(scope="module")
def served(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests of this file."""
    project = Path(shutil.copytree(prepared, tmp_path_factory.mktemp("http") / "lumen"))
    with serving(project, ARR_MCP_TOKEN=TOKEN) as found:
        yield found


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdks_client_with_the_token(served: Served, mode: str) -> None:
    """The same tools, refusals and audit as over stdio."""

    async def use(client: Any) -> tuple[Any, Any]:
        return await client.call_tool("search", {"query": "warmup"}), await client.call_tool(
            "search", {"query": "a", "scope": "b"}
        )

    found, refused = visit(served.transport(TOKEN), use, name=f"web {mode}", mode=mode)
    assert output(found)["evidence"] and "unknown argument scope" in error(refused)
    for kind in ("tool_called", "tool_refused"):
        assert [event["details"]["client"] for event in events(served.project, kind)].count(f"web {mode}") == 1


def test_no_token_a_wrong_one_and_odd_ones_are_refused(served: Served) -> None:
    """401 for each, whatever the path and the method; nothing is audited; the body tells nothing."""
    right, before = f"Bearer {TOKEN}", len(events(served.project, "tool_called"))
    wrong = [{}, *({"Authorization": value} for value in (
        "", "Bearer", "Bearer ", "Bearer x", right + "x", right[:-1], right.lower(), f"Basic {TOKEN}", f" {right[7:]}", "Bearer \xff",
    ))]  # fmt: skip
    for headers in wrong:
        for method, path in (
            ("POST", "/mcp"),
            ("GET", "/mcp"),
            ("DELETE", "/mcp"),
            ("GET", "/"),
            ("POST", f"/mcp?token={TOKEN}"),
        ):
            status, body = served.request(method, path, **headers)
            assert (status, body) == (401, "The token is missing or wrong.\n"), (headers, method, path)
    with pytest.raises(BaseException):  # noqa: B017  a group of the SDK's own

        async def use(client: Any) -> None:
            raise AssertionError("it got in")

        visit(served.transport("wrong-token-wrong-token"), use)
    assert len(events(served.project, "tool_called")) == before


def test_a_foreign_host_or_origin_is_refused_even_with_the_token(served: Served) -> None:
    """What a web page that rebinds a name, or that posts from another site, would send."""
    token = {"Authorization": f"Bearer {TOKEN}"}
    for host in (
        "evil.example",
        f"evil.example:{served.port}",
        "127.0.0.1.evil.example",
        f"localhost.evil.example:{served.port}",
        "127.0.0.1:1",
    ):
        assert served.request(Host=host, **token)[0] == 421, host
    for origin in (
        "https://evil.example",
        "null",
        "http://127.0.0.1:1",
        f"https://127.0.0.1:{served.port}",
        f"http://127.0.0.1:{served.port}.evil.example",
    ):
        assert served.request(Origin=origin, **token)[0] == 403, origin
    assert served.request(Host=f"localhost:{served.port}", Origin=f"http://localhost:{served.port}", **token)[0] == 200


def test_huge_and_broken_bodies(served: Served) -> None:
    """Too large is 413; garbage and deep JSON are errors; the server goes on."""
    token = {"Authorization": f"Bearer {TOKEN}"}
    assert served.request(body="x" * (1 << 21), **token)[0] == 413
    for body in ("", "not json", "[" * 20_000, b"\xff\xfe", json.dumps({"jsonrpc": "2.0"})):
        assert 400 <= served.request(body=body, **token)[0] < 500
    assert served.request(**token)[0] == 200


def test_it_listens_on_loopback_alone(served: Served) -> None:
    """Another address of this machine does not answer."""
    import socket

    with contextlib.suppress(OSError):
        address = socket.gethostbyname(socket.gethostname())
        if not address.startswith("127."):
            with pytest.raises(OSError):
                socket.create_connection((address, served.port), timeout=2)
    assert "http://127.0.0.1:" in served.said and TOKEN not in served.said


def test_a_token_is_made_where_none_is_given(project: Path) -> None:
    """Printed once on standard error, new each time; it opens the server."""
    seen = []
    for _ in range(2):
        with serving(project) as found:
            (token,) = re.findall(r"^Token: (\S+)$", found.said, re.MULTILINE)
            assert len(token) >= 43 and found.request(Authorization=f"Bearer {token}")[0] == 200
            seen.append(token)
    assert seen[0] != seen[1]


@pytest.mark.parametrize("token", ["short", "é" * 20, "with\nnewline-and-more"])
def test_a_weak_token_is_refused(project: Path, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything listens."""
    monkeypatch.setenv("ARR_MCP_TOKEN", token)
    ran = arr("mcp", "--http", "0", cwd=project)
    assert ran.code == 1 and "16 or more printable ASCII characters" in ran.err


def test_a_taken_port_is_said(served: Served) -> None:
    """An error and exit code 1, no traceback."""
    ran = process("mcp", "--http", str(served.port), cwd=served.project, env={"ARR_MCP_TOKEN": TOKEN})
    assert ran.returncode == 1 and b"Traceback" not in ran.stderr and str(served.port).encode() in ran.stderr


def test_the_audit_verifies_after_all_that(served: Served) -> None:
    """Served and refused, the file is whole."""
    served.request(Authorization=f"Bearer {TOKEN}")
    assert arr("audit", "verify", cwd=served.project).code == 0
