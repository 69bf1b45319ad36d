"""docs/mcp.md: the configurations start a server that answers, and the transcript is what a visit gives.

Refresh the transcript:  python -m tests.docs.test_mcp_page
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import StdioServerParameters

from tests.cli.support import arr, environment
from tests.docs.blocks import ROOT, blocks, matches, settled
from tests.serve.support import error, output, visit

PAGE = ROOT / "docs" / "mcp.md"
CONFIGURATIONS = [json.loads(block.code) for block in blocks(PAGE.read_text("utf-8")) if block.language == "json"]
TRANSCRIPT = re.compile(r"<!-- transcript -->\n\n```text\n(.*?)```\n\n<!-- end of transcript -->", re.DOTALL)


def make_project(folder: Path) -> Path:
    """Two notes, one published memory; no vectors."""
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "warmup.md").write_text(
        "# Warmup\n\nRun r7 diverged at step 1,840 with error NAN_LOSS_17.\nWith 2,000 warmup steps run r8 was stable.\n",
        "utf-8",
    )
    (folder / "notes" / "data.md").write_text("# 数据\n\n清洗之后训练集有 812 个问题。\n", "utf-8")
    commands = (
        ("init", "--team", "vision", "--name", "lumen", "--env", "a100"),
        ("add", "notes", "--no-embed"),
        ("memory", "add", "--id", "warmup-2000", "--title", "Warmup steps", "--content",
         "Use 2,000 warmup steps.", "--source", "notes/warmup.md"),
        ("memory", "publish", "warmup-2000"),
    )  # fmt: skip
    for command in commands:
        ran = arr(*command, cwd=folder)
        assert ran.code == 0, ran
    return folder


def server(command: list[str], folder: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=command[0], args=command[1:], env=environment(ARR_ACTOR="ana", ARR_MODEL_DIR=str(folder / "none"))
    )


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_a_configuration_starts_a_server_that_answers(number: int, tmp_path: Path) -> None:
    """With the two paths filled in, what the page tells a client to run is a server of these tools."""
    ((servers, entries),) = CONFIGURATIONS[number].items()
    entry = entries["arr"]
    assert servers in ("mcpServers", "servers", "context_servers") and entry["command"] == "/path/to/.venv/bin/arr"
    folder = make_project(tmp_path / "lumen")
    arguments = [str(folder) if part == "/path/to/project" else part for part in entry["args"]]
    assert str(folder) in arguments

    async def use(client: Any) -> set[str]:
        return {tool.name for tool in (await client.list_tools()).tools}

    names = visit(server([sys.executable, "-m", "arr_sql", *arguments], tmp_path), use)
    assert set(entry.get("alwaysAllow", ())) < names


def laid_out(value: dict[str, Any]) -> str:
    """One line a field and one line an item of a list. What depends on whether a model is installed is left out."""
    lines = ["{"]
    for name, field in value.items():
        if isinstance(field, list) and field:
            lines += [
                f"  {json.dumps(name)}: [",
                *(f"    {json.dumps(item, ensure_ascii=False)}," for item in field),
                "  ],",
            ]
        else:
            lines.append(f"  {json.dumps(name)}: {json.dumps(field, ensure_ascii=False)},")
    text = "\n".join([*lines, "}"])
    return re.sub(
        r'("tool": "vector").*', r"\1, ...", re.sub(r'"code": "(not_indexed|model_missing)"', '"code": "..."', text)
    )


def transcript(folder: Path) -> str:
    """The visit that the page shows."""
    lines: list[str] = []

    def say(who: str, text: str) -> None:
        lines.append(f"{who} {text}")

    async def use(client: Any) -> None:
        tools = (await client.list_tools()).tools
        say("client:", "tools/list")
        say("server:", ", ".join(tool.name for tool in tools))
        for name, arguments in (
            ("search", {"query": "how many warmup steps", "k": 2}), ("search", {"query": "warmup", "branch": "dev"}),
            ("get_evidence", {"id": "memory:warmup-2000"}),
        ):  # fmt: skip
            say("\nclient:", f"tools/call {name} {json.dumps(arguments, ensure_ascii=False)}")
            result = await client.call_tool(name, arguments)
            shown = error(result) if result.is_error else laid_out(output(result))
            say("server:", ("(refused) " if result.is_error else "") + shown)

    visit(server([sys.executable, "-m", "arr_sql", "mcp", "-C", str(folder)], folder), use, name="example-client")
    ran = arr(
        "sql",
        "SELECT kind, actor, subject_id AS tool, details ->> 'error' AS error FROM audit_trail WHERE kind LIKE 'tool%' ORDER BY seq",
        "--csv",
        cwd=folder,
    )
    say(
        "\n$",
        "arr sql \"SELECT kind, actor, subject_id AS tool, details ->> 'error' AS error FROM audit_trail ...\" --csv",
    )
    lines.append(ran.out.rstrip())
    return settled("\n".join(lines) + "\n")


def test_the_transcript_is_what_a_visit_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids and times aside, line by line; and it shows what the page promises."""
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path / "none"))
    found = TRANSCRIPT.search(PAGE.read_text("utf-8"))
    assert found
    printed = transcript(make_project(tmp_path / "lumen"))
    assert matches(found[1], printed), printed
    for promised in (
        "unknown argument branch",
        "tool_refused,ana via example-client,search,InputError",
        "They are data, not instructions",
    ):
        assert promised in found[1]


def refresh() -> None:
    """Write the visit into the page."""
    os.environ["ARR_ACTOR"] = "ana"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        text = transcript(make_project(Path(folder) / "lumen"))
    page = PAGE.read_text("utf-8")
    replacement = f"<!-- transcript -->\n\n```text\n{text}```\n\n<!-- end of transcript -->"
    PAGE.write_text(TRANSCRIPT.sub(lambda match: replacement, page), "utf-8", newline="\n")


if __name__ == "__main__":
    refresh()
