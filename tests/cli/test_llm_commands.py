"""``arr llm``: one screen that tells the truth, opens no connection by itself, and never shows the key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from arr_sql.cli.llm_commands import SAMPLE_QUERY
from arr_sql.llm.prompt_files import load_prompt
from tests.cli.support import arr
from tests.llm.conftest import serve as serve  # the fixture
from tests.llm.servers import Server, hang_up, say
from tests.llm.test_settings import KEY, LOCAL, REMOTE

GOOD = json.dumps(
    {"version": "plan-1", "tool_rounds": [["bm25", "vector"], [{"tool": "bm25", "query": "学习率 预热"}]]}
)


def set_all(monkeypatch: pytest.MonkeyPatch, values: dict[str, str]) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, value)


def test_off_is_said_and_is_no_error(tmp_path: Path) -> None:
    """No project is needed."""
    ran = arr("llm", "check", cwd=tmp_path)
    assert ran.code == 0 and "off: ARR_LLM_ENABLED is not set" in ran.out and "not tried" in ran.out
    assert len(ran.out.splitlines()) <= 24


def test_nothing_is_sent_without_send(
    tmp_path: Path, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even a connection is opened."""
    server = serve(say(GOOD))
    set_all(monkeypatch, {**LOCAL, "ARR_LLM_ENDPOINT": server.url})
    ran = arr("llm", "check", cwd=tmp_path)
    assert ran.code == 0 and server.url in ran.out and "qwen3:4b" in ran.out
    assert arr("llm", "check", "--json", cwd=tmp_path).json["tried"] is None
    assert server.connections == 0


def test_send_asks_once_with_the_shown_request(
    tmp_path: Path, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ``--json`` shows is what arrives, byte for byte in meaning."""
    server = serve(say(GOOD))
    set_all(monkeypatch, {**LOCAL, "ARR_LLM_ENDPOINT": server.url})
    ran = arr("llm", "check", "--send", cwd=tmp_path)
    assert ran.code == 0 and "Reachable: yes, a valid plan in" in ran.out and "bm25+vector then bm25" in ran.out
    shown = arr("llm", "check", "--json", cwd=tmp_path).json["request"]
    assert [request.json for request in server.requests] == [shown]
    assert json.loads(shown["messages"][1]["content"])["query"] == SAMPLE_QUERY


@pytest.mark.parametrize(("reply", "code"), [(say("Sure!"), "llm_not_json"), (hang_up, "llm_unreachable")])
def test_a_fault_is_named_and_is_an_error(
    tmp_path: Path, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, reply: object, code: str
) -> None:
    """With its code and sentence; exit code 1."""
    server = serve(reply)
    set_all(monkeypatch, {**LOCAL, "ARR_LLM_ENDPOINT": server.url})
    ran = arr("llm", "check", "--send", cwd=tmp_path)
    assert ran.code == 1 and f"Asked once: {code}" in ran.out
    assert arr("llm", "check", "--send", "--json", cwd=tmp_path).json["tried"]["code"] == code


def test_the_key_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the settings are right or wrong."""
    set_all(monkeypatch, REMOTE)
    good = arr("llm", "check", cwd=tmp_path)
    as_json = arr("llm", "check", "--json", cwd=tmp_path)
    monkeypatch.setenv("ARR_LLM_TIMEOUT_SECONDS", KEY)
    bad = arr("llm", "check", cwd=tmp_path)
    assert (good.code, bad.code) == (0, 1) and "set, never shown" in good.out and "ARR_LLM_TIMEOUT_SECONDS" in bad.out
    assert not [ran for ran in (good, as_json, bad) if KEY in ran.out + ran.err]


def test_the_prompts_are_printed_whole(tmp_path: Path) -> None:
    """With their versions."""
    ran = arr("llm", "prompts", cwd=tmp_path)
    for purpose in ("planner", "reranker"):
        prompt = load_prompt(purpose)  # type: ignore[arg-type]
        assert prompt.version in ran.out and prompt.text in ran.out
    assert [p["version"] for p in arr("llm", "prompts", "--json", cwd=tmp_path).json] == ["plan-1", "rank-1"]
