"""With the model off, as it is by default, every way to retrieve runs with the network shut, and no client is imported.

The tests in tests/retrieval and tests/policy run with the network shut too (tests/no_network.py).
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import environment
from tests.evaluation.gold_maker import single_file
from tests.llm.test_settings import REMOTE
from tests.no_network import shut
from tests.promises.test_offline import RUN, SHUT

PLAN = {"tool_rounds": [["bm25", "vector"], [{"tool": "grep", "query": "diverged"}, "research-memory"]]}
WAYS = [
    ["init"], ["add", ".", "--no-embed"], ["search", "warmup"], ["search", "warmup", "-k", "1000", "--json"],
    ["search", "发散", "--plan", "plan.json"], ["search", '"warmup run"', "--full"], ["plan", "warmup"],
    ["grep", "warmup"], ["memory", "add", "--title", "Warmup", "--content", "2000 steps", "--source", "a.md", "--id", "m1"],
    ["memory", "publish", "m1"], ["search", "warmup steps"], ["show", "memory:m1"], ["replay", "--all"],
    ["diff", "0", "--retrievals"], ["eval", "run", "gold.json", "--json"], ["audit", "verify"], ["status"],
]  # fmt: skip
ASKING = [["search", "warmup", "--planner", "llm", "--rerank", "hybrid"], ["llm", "check"], ["llm", "prompts"]]


def run(folder: Path, commands: list[list[str]], **values: str) -> subprocess.CompletedProcess[str]:
    """Run the commands one after the other in one process whose network is shut."""
    return subprocess.run(
        [sys.executable, "-c", SHUT + RUN, json.dumps(commands)], cwd=folder, env=environment(**values),
        capture_output=True, text=True, encoding="utf-8", timeout=300,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files for every way."""
    (tmp_path / "a.md").write_text("# Warmup\n\nThe warmup run diverged. 训练发散。\n", "utf-8")
    (tmp_path / "plan.json").write_text(json.dumps(PLAN), "utf-8")
    (tmp_path / "gold.json").write_text(json.dumps(single_file()), "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["nothing set", "all set but the switch", "switched on and not asked"])
def test_every_way_to_retrieve_runs_with_the_network_shut(folder: Path, name: str) -> None:
    """Whatever is configured: a search that does not ask for the model opens nothing and imports no client."""
    values = {} if name == "nothing set" else dict(REMOTE)
    if name == "all set but the switch":
        values["ARR_LLM_ENABLED"] = "0"
    ran = run(folder, WAYS, **values)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert not {"httpx", "httpcore", "h11", "certifi"} & set(json.loads(ran.stdout.rpartition("MODULES ")[2]))


def test_a_search_that_asks_while_the_model_is_off_opens_nothing(folder: Path) -> None:
    """It says ``llm_off`` and answers by the rules; the check opens nothing even where all is set."""
    ran = run(folder, [*WAYS[:3], *ASKING])
    assert ran.returncode == 0 and "planner: llm_off" in ran.stdout and "reranker: llm_off" in ran.stdout, ran.stderr
    ran = run(folder, ASKING[1:], **REMOTE)
    assert ran.returncode == 0 and "not tried" in ran.stdout


def test_the_shut_network_is_shut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself works."""
    shut(monkeypatch)
    with pytest.raises(AssertionError, match="the network was used"):
        socket.create_connection(("127.0.0.1", 9))
    with socket.socket() as made, pytest.raises(AssertionError, match="the network was used"):
        made.connect(("127.0.0.1", 9))
