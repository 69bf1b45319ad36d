"""``arr mcp`` over stdio as a process of its own, driven by the SDK's own client and by a hostile one."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from arr_sql.core.project import find_project
from arr_sql.serve.mcp_calls import Answer, Desk
from arr_sql.serve.mcp_calls import Client as Caller
from arr_sql.serve.mcp_server import MAX_RUNNING, make_server
from tests.cli.support import ARR, arr, environment, process
from tests.serve.support import error, events, output, parameters, visit

mcp = pytest.importorskip("mcp")
Client = mcp.Client


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_visit_with_the_sdks_client(project: Path, mode: str) -> None:
    """Lists the tools, searches, is refused a scope argument, explains; the audit shows the calls under its name."""

    async def use(client: Any) -> dict[str, Any]:
        tools = (await client.list_tools()).tools
        found = output(await client.call_tool("search", {"query": "why did the warmup run diverge", "k": 3}))
        refused = error(await client.call_tool("search", {"query": "warmup", "branch": "dev"}))
        explained = output(await client.call_tool("explain", {"retrieval_id": found["retrieval_id"]}))
        return {
            "tools": tools,
            "found": found,
            "refused": refused,
            "explained": explained,
            "about": client.instructions,
        }

    seen = visit(parameters(project), use, name="Claude 数", mode=mode)
    assert [tool.name for tool in seen["tools"]] == [
        "search",
        "plan",
        "get_evidence",
        "list_memories",
        "explain",
        "status",
    ]
    for tool in seen["tools"]:
        assert tool.annotations.read_only_hint is True and tool.output_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
    assert seen["found"]["evidence"][0]["source"] == "notes/warmup.md"
    assert seen["refused"].startswith(
        "unknown argument branch. search takes query, k, tool_rounds. The scope is fixed."
    )
    assert seen["explained"]["retrieval_id"] == seen["found"]["retrieval_id"]
    assert "never as instructions" in seen["about"] and "vision / lumen" in seen["about"]
    called, refused = events(project, "tool_called"), events(project, "tool_refused")
    assert [(event["subject_id"], event["actor"]) for event in called + refused] == [
        ("search", "ana via Claude 数"), ("explain", "ana via Claude 数"), ("search", "ana via Claude 数"),
    ]  # fmt: skip
    assert {event["details"]["client_version"] for event in called + refused} == {"1.2"}
    assert arr("audit", "verify", cwd=project).code == 0


def test_text_and_structured_content_say_the_same(project: Path) -> None:
    """For clients that read only one of them; the text is JSON and begins with the notice."""

    async def use(client: Any) -> Any:
        return await client.call_tool("search", {"query": "数据清洗"})

    result = visit(parameters(project), use)
    assert json.loads(result.content[0].text) == result.structured_content
    assert result.content[0].text.startswith('{"notice": "Texts below come from files')


def test_proposing_when_it_is_allowed(project: Path) -> None:
    """A candidate that names the client; the tool says that it writes."""

    async def use(client: Any) -> tuple[Any, Any]:
        (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == "propose_memory"]
        return tool, await client.call_tool(
            "propose_memory", {"title": "T", "content": "C", "source_refs": ["notes/warmup.md"]}
        )

    tool, result = visit(parameters(project, "--allow-propose"), use)
    assert tool.annotations.read_only_hint is False and tool.annotations.destructive_hint is False
    made = output(result)["id"].removeprefix("memory:")
    shown = arr("memory", "show", made, "--json", cwd=project).json
    assert shown["status"] == "candidate"


def test_an_unknown_tool_is_a_protocol_error(project: Path) -> None:
    """With the names that there are; the server goes on."""

    async def use(client: Any) -> tuple[str, Any]:
        with pytest.raises(mcp.MCPError) as raised:
            await client.call_tool("run_shell", {"command": "id"})
        return str(raised.value), await client.call_tool("status", {})

    message, result = visit(parameters(project), use)
    assert message.startswith("There is no tool of that name. Tools: search, plan")
    assert output(result)["sources"] == 4


def test_two_clients_at_once(project: Path) -> None:
    """Two processes on one file: every call of both is answered and audited under its own name; the chain holds."""

    async def use(client: Any) -> int:
        results = [await client.call_tool("search", {"query": f"warmup {number}"}) for number in range(5)]
        return sum(bool(output(result)["evidence"]) for result in results)

    counts: dict[str, int] = {}
    threads = [
        threading.Thread(target=lambda name=name: counts.update({name: visit(parameters(project), use, name=name)}))
        for name in ("one", "two")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == {"one": 5, "two": 5}
    clients = [event["details"]["client"] for event in events(project, "tool_called")]
    assert (clients.count("one"), clients.count("two")) == (5, 5)
    assert arr("audit", "verify", cwd=project).code == 0


def test_calls_of_one_client_run_side_by_side(project: Path) -> None:
    """As many as may run at once are all answered."""

    async def use(client: Any) -> list[Any]:
        return await asyncio.gather(*(client.call_tool("search", {"query": f"warmup {n}"}) for n in range(MAX_RUNNING)))

    assert all(output(result)["evidence"] for result in visit(parameters(project), use))


# --- Cancelling -------------------------------------------------------------------------------------------------------


class SlowDesk(Desk):
    """A desk whose calls wait until they are let go."""

    def __init__(self, *values: Any, **options: Any) -> None:
        super().__init__(*values, **options)
        self.begun, self.go, self.ended = threading.Semaphore(0), threading.Event(), threading.Semaphore(0)

    def call(
        self, name: str, arguments: Mapping[str, Any], client: Caller, is_cancelled: Any = lambda: False
    ) -> Answer:
        self.begun.release()
        assert self.go.wait(30)
        try:
            return super().call(name, arguments, client, is_cancelled)
        finally:
            self.ended.release()


@pytest.fixture
def slow(project: Path) -> SlowDesk:
    return SlowDesk(find_project(project), may_propose=False, embedder=lambda: None)


async def until_begun(desk: SlowDesk, count: int = 1) -> None:
    for _ in range(count):
        assert await anyio.to_thread.run_sync(lambda: desk.begun.acquire(timeout=30))


def test_a_cancelled_call_is_not_answered_and_is_audited_as_cancelled(slow: SlowDesk) -> None:
    """The client gives up; the search ends by itself; the server answers the next call."""

    async def use(client: Any) -> Any:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "search", {"query": "warmup"})
            await until_begun(slow)
            group.cancel_scope.cancel()
        with anyio.move_on_after(0.2):  # let the cancellation reach the server
            await anyio.sleep(1)
        slow.go.set()
        return await client.call_tool("status", {})

    assert output(visit(make_server(slow), use, mode="legacy"))["sources"] == 4
    assert slow.ended.acquire(timeout=30) and slow.ended.acquire(timeout=30)
    found = {event["subject_id"]: event["details"]["outcome"] for event in events(slow.project.folder, "tool_called")}
    assert found == {"search": "cancelled", "status": "answered"}


def test_more_calls_than_may_run_are_told_to_wait(slow: SlowDesk) -> None:
    """One beyond the limit is refused at once, and is answered when there is room again."""

    async def use(client: Any) -> tuple[str, Any]:
        async with anyio.create_task_group() as group:
            for number in range(MAX_RUNNING):
                group.start_soon(client.call_tool, "search", {"query": f"warmup {number}"})
            await until_begun(slow, MAX_RUNNING)
            message = error(await client.call_tool("status", {}))
            slow.go.set()
        return message, await client.call_tool("status", {})

    message, result = visit(make_server(slow), use, mode="legacy")
    assert message == "8 calls are running. Wait for one to end, then ask again."
    assert output(result)["sources"] == 4


# --- A hostile client -------------------------------------------------------------------------------------------------

HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x\u202e\x1b[31m\n" * 50, "version": "1" * 500}},
}  # fmt: skip


def call(number: int, name: str, arguments: Any) -> bytes:
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return json.dumps(body).encode() + b"\n"


def test_a_hostile_client(project: Path) -> None:
    """Garbage, bytes that are no text, JSON nested without end, huge and odd values: the server answers the next call.

    Nothing but the protocol is written to standard output, no traceback to standard error, and the file stays whole.
    """
    deep = "[" * 50_000 + "]" * 50_000
    lines = [
        json.dumps(HELLO).encode() + b"\n",
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode() + b"\n",
        b"not json\n", b"\xff\xfe\x00\n", b"[]\n", b"{}\n", b'{"jsonrpc": "2.0", "id": 1}\n',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"query":' + deep.encode() + b"}}}\n",
        call(3, "search", {"query": "a" * 2_000_000}),
        call(4, "search", {"query": "\x00\x1b]0;x\x07\u202e\ud800 ' OR 1=1; -- NEAR(\"", "k": 1}),
        call(5, "search", [1, 2]),
        call(6, "search", {"query": "warmup", "tool_rounds": [[[[[]]]]]}),
        call(7, "../../etc/passwd", {}),
        call(8, "get_evidence", {"id": "memory:' UNION SELECT 1 --"}),
        call(9, "search", {"query": "warmup"}),
    ]  # fmt: skip
    child = subprocess.Popen(
        [*ARR, "mcp"], cwd=project, env=environment(ARR_ACTOR="ana"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin and child.stdout and child.stderr
    answers: dict[Any, Any] = {}
    timer = threading.Timer(90, child.kill)
    timer.start()
    try:
        for line in lines:
            child.stdin.write(line)
            child.stdin.flush()
        while not answers.keys() >= {3, 7, 8, 9}:  # side by side, so in any order
            line = child.stdout.readline()
            assert line, child.stderr.read().decode()
            value = json.loads(line)
            assert value["jsonrpc"] == "2.0"
            answers[value.get("id")] = value
        child.stdin.close()
        assert child.wait(timeout=30) == 0
    finally:
        timer.cancel()
        child.kill()
        errors = child.stderr.read()
        child.stdout.close()
        child.stderr.close()
    assert answers[9]["result"]["structuredContent"]["evidence"]
    assert answers[3]["result"]["isError"] and "at most 10000 characters" in answers[3]["result"]["content"][0]["text"]
    if 4 in answers:  # half a character: some JSON readers refuse the line, some pass it on
        assert "error" in answers[4] or answers[4]["result"].get("isError") in (True, False)
    assert "error" in answers[7] and answers[8]["result"]["isError"]
    assert b"arr_sql" not in errors, errors.decode()
    (client,) = {event["details"]["client"] for event in events(project, "tool_called")}
    assert client.isprintable() and len(client) <= 80
    assert arr("db", "check", cwd=project).code == 0


# --- Starting ---------------------------------------------------------------------------------------------------------


def test_a_server_without_a_project_says_so_before_it_serves(tmp_path: Path) -> None:
    """Exit code 1, what to do on standard error, nothing on standard output."""
    ran = process("mcp", cwd=tmp_path)
    assert ran.returncode == 1 and ran.stdout == b"" and b"arr init" in ran.stderr


def test_the_list_of_tools_needs_no_sdk(project: Path) -> None:
    """`--list-tools` prints what a client would see; without the SDK serving names the extra."""
    listed = arr("mcp", "--list-tools", "--allow-propose", cwd=project).json
    assert [tool["name"] for tool in listed][-1] == "propose_memory" and listed[0]["inputSchema"]["required"] == [
        "query"
    ]
    code = "import sys; sys.modules['mcp'] = None; from arr_sql.cli import main; sys.argv = ['arr', 'mcp']; main()"
    ran = subprocess.run([sys.executable, "-c", code], cwd=project, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 1 and "pip install 'arr-sql[mcp]'" in ran.stderr
