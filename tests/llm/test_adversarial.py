"""A language model can do no harm: every adversarial reply and text, through the real client, over real TLS.

For each reply: nothing is raised, evidence and order are the rules', the code is the right one, one request was made and
no other, and neither key, query nor evidence is written or said anywhere.
"""

from __future__ import annotations

import io
import json
import logging
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from arr_sql.cli import search_commands
from arr_sql.core.router_models import RouterResult
from arr_sql.database import ResearchDatabase
from arr_sql.llm.language_model import LanguageModel
from arr_sql.llm.network import Network
from arr_sql.llm.prompt_files import load_prompt
from arr_sql.llm.settings import LLMSettings
from tests.conftest import SCOPE, FakeEmbedder, StepClock
from tests.llm import adversary, servers
from tests.llm.adversary import EVIDENCE, KEY, QUERY
from tests.llm.servers import Authority, Server

REPLIES = adversary.read("replies.jsonl")
POISONED = adversary.read("poisoned.jsonl")
PATIENT, LIMIT = 30.0, 0.4
SLACK = 10.0
"""A busy machine may be slow; the servers that are slow on purpose go on for twice as long."""

FILES = {
    "warmup.md": f"# Warmup\n\nThe warmup run diverged at step 900. {EVIDENCE}\n",
    "schedule.md": "# Schedule\n\nAfter the warmup the learning rate follows a cosine decay.\n",
    "seeds.md": "# Seeds\n\nThe second warmup run did not diverge with another seed.\n",
    "预热.md": "# 预热\n\n学习率预热 warmup 太短，训练发散。\n",
    "nan.md": "# NaN hunt\n\nwarmup, then NaN: why the run went wrong.\n",
    "plan.md": "# Plan\n\nTry a longer warmup before the next run.\n",
}


@dataclass
class Lab:
    """A project, a server that plays the remote host, and a model between them."""

    database: ResearchDatabase
    server: Server
    network: Network
    folder: Path
    timeout: float = PATIENT

    def model(self) -> LanguageModel:
        """The operator's model."""
        settings = LLMSettings(is_enabled=True, model="m", key=SecretStr(KEY), timeout_seconds=self.timeout)
        return LanguageModel(settings, network=self.network)

    def bytes_on_disk(self) -> bytes:
        """The database's bytes, its WAL's included."""
        return b"".join(path.read_bytes() for path in sorted(self.folder.parent.glob("arr.db*")))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, authority: Authority, server_tls: ssl.SSLContext) -> Iterator[Lab]:
    """Six texts that answer the query, with vectors; queries are kept as hashes only."""
    folder = tmp_path_factory.mktemp("lab") / "notes"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    made: list[Lab] = []
    with (
        servers.serving(servers.hang_up, server_tls) as server,
        ResearchDatabase.create(
            folder.parent / "arr.db", SCOPE, project_folder=folder, actor="tester", clock=StepClock(),
            embedder=FakeEmbedder, keep_query=False, language_model=lambda: made[0].model(),
        ) as database,
    ):  # fmt: skip
        database.add(folder)
        database.embed()
        made.append(Lab(database, server, authority.network(server), folder))
        yield made[0]


@pytest.fixture(scope="module")
def rules(lab: Lab) -> RouterResult:
    """What the rules answer."""
    result = lab.database.search(QUERY)
    assert len(result.evidence) == 6 and not result.degradations
    return result


def same(result: RouterResult, rules: RouterResult) -> None:
    """All but ids, durations and degradations are as in the rules' run."""

    def shown(one: RouterResult) -> Any:
        traces = [trace.model_dump(exclude={"duration_ms"}) for trace in one.traces]
        return one.evidence, traces, one.rejections, one.partial, one.state, one.plan

    assert shown(result) == shown(rules)


def said_of(result: RouterResult) -> str:
    """What the command line prints and what it gives programs, evidence aside."""
    blind = result.model_copy(update={"evidence": ()})
    screen = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", screen)
        search_commands.print_result("warmup", blind)
    return screen.getvalue() + blind.model_dump_json() + repr(blind)


def is_clean(text: str) -> bool:
    """Is there no canary in it?"""
    return not any(canary in text for canary in (KEY, KEY.upper(), "canaryquery7f3a", EVIDENCE))


ASKS: dict[str, list[dict[str, Any]]] = {
    "plan": [{"planner": "llm"}],
    "order": [{"rerank": "llm"}, {"rerank": "hybrid"}],
    "both": [{"planner": "llm", "rerank": "hybrid"}],
}


@pytest.mark.parametrize("item", REPLIES, ids=[item["id"] for item in REPLIES])
def test_no_reply_does_harm(
    lab: Lab, rules: RouterResult, authority: Authority, item: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The rules' answer, the right code, one request a call, within the limit, and nothing said of it."""
    caplog.set_level(logging.DEBUG)
    lab.timeout = LIMIT if item["expect"] == "llm_timed_out" else PATIENT
    told = item.get("server", {})
    if told.get("do") == "certificate":
        shown = servers.make_authority() if "authority" in told else authority
        with servers.serving(servers.say("{}"), shown.server_tls(told.get("host", servers.HOST))) as other:
            lab.network, network = authority.network(other), lab.network
            result = lab.database.search(QUERY, **ASKS["both"][0])
            lab.network = network
            assert other.requests == []
        results = [(result, ASKS["both"][0])]
    else:
        lab.server.behave = adversary.behaviour(item, lab.server.port)
        results = []
        for asked in ASKS[item["asked_for"]]:
            before = len(lab.server.requests), lab.server.connections
            started = time.monotonic()
            results.append((lab.database.search(QUERY, **asked), asked))
            assert time.monotonic() - started < len(asked) * lab.timeout + 1 + SLACK
            made = len(lab.server.requests) - before[0], lab.server.connections - before[1]
            assert made == (len(asked), len(asked))
    for result, asked in results:
        same(result, rules)
        advisers = [{"planner": "planner", "rerank": "reranker"}[name] for name in asked]
        assert [(d.tool_name, str(d.code)) for d in result.degradations] == [
            (name, item["expect"]) for name in advisers
        ]
        record = lab.database.retrievals(result.retrieval_id)[0]
        assert [record["language_model"][name]["outcome"] for name in advisers] == [item["expect"]] * len(advisers)
        assert is_clean(said_of(result)) and is_clean(json.dumps({**record, "evidence": []}))
    assert is_clean(caplog.text)


def test_nothing_of_it_is_in_the_files_bytes(lab: Lab, rules: RouterResult, capfd: pytest.CaptureFixture[str]) -> None:
    """After many such searches: no key, no query, and the evidence's text only where the sources put it."""
    lab.database._write().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = lab.bytes_on_disk()
    assert before.count(EVIDENCE.encode()) > 0
    for item in REPLIES[::9]:
        lab.timeout = LIMIT if item["expect"] == "llm_timed_out" else PATIENT
        if item.get("server", {}).get("do") != "certificate":
            lab.server.behave = adversary.behaviour(item, lab.server.port)
            lab.database.search(QUERY, planner="llm", rerank="hybrid")
    lab.database._write().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    after = lab.bytes_on_disk()
    for canary in (KEY, KEY[3:], "canaryquery7f3a", KEY.upper()):
        assert canary.encode() not in after and canary.encode("utf-16-le") not in after
    assert after.count(EVIDENCE.encode()) == before.count(EVIDENCE.encode()) and len(after) > len(before)
    captured = capfd.readouterr()
    assert is_clean(captured.out + captured.err)
    assert lab.database.verify_audit().damages == ()


def test_what_reaches_the_model_is_this_and_no_more(lab: Lab) -> None:
    """No scope, path, id or file name; the texts under labels; the key in its header alone."""
    lab.timeout, lab.server.behave = PATIENT, servers.say("{}")
    start = len(lab.server.requests)
    result = lab.database.search(QUERY, planner="llm", rerank="llm")
    planner, reranker = lab.server.requests[start:]
    for request in (planner, reranker):
        assert set(request.json) == {"model", "temperature", "max_tokens", "stream", "messages", "response_format"}
        text = request.body.decode("ascii") + request.json["messages"][1]["content"]
        assert KEY not in text and request.headers["authorization"] == f"Bearer {KEY}"
        for private in (str(lab.folder), *FILES, *(item.chunk_id for item in result.evidence)):
            assert private not in text
        for value in SCOPE.values():
            assert f'"{value}"' not in text
    assert json.loads(planner.json["messages"][1]["content"]).keys() == {"query", "tools"}
    shown = json.loads(reranker.json["messages"][1]["content"])
    assert [one["id"] for one in shown["candidates"]] == ["e01", "e02", "e03", "e04", "e05", "e06"]
    assert {one["text"].split("\n", 1)[1].strip() for one in shown["candidates"]} == {
        item.content.strip() for item in result.evidence
    }
    assert EVIDENCE not in planner.body.decode("ascii") and QUERY in planner.json["messages"][1]["content"]


# --- poisoned texts and queries -----------------------------------------------------------------------------------------

ASKED = 'warmup 预热 "cosine decay"'
IN_EVIDENCE = [item for item in POISONED if item["in"] == "evidence"]
IN_QUERY = [item for item in POISONED if item["in"] == "query"]


@pytest.mark.parametrize("item", IN_EVIDENCE, ids=[item["id"] for item in IN_EVIDENCE])
def test_a_poisoned_text_moves_nothing_but_places(lab: Lab, item: dict[str, Any]) -> None:
    """Even where the model obeys: the same evidence; in hybrid the clear exact match keeps its place; else the rules' order."""
    lab.timeout = PATIENT
    path = lab.folder / "poison.md"
    path.write_text(item["text"] + "\n", "utf-8")
    lab.database.sync()
    lab.database.embed()
    try:
        rules = lab.database.search(ASKED)
        text = next(one.content for one in rules.evidence if one.source_ref.endswith("poison.md"))
        lab.server.behave = adversary.obedient(item["obeyed"], text.strip().split("\n")[0][:40])
        for mode in ("llm", "hybrid"):
            result = lab.database.search(ASKED, rerank=mode)
            request = lab.server.requests[-1].json
            assert [message["role"] for message in request["messages"]] == ["system", "user"]
            assert request["messages"][0]["content"] == load_prompt("reranker").text
            shown = json.loads(request["messages"][1]["content"])
            assert set(shown) == {"query", "candidates"} and shown["query"] == ASKED
            assert [one["id"] for one in shown["candidates"]] == [
                f"e{n:02d}" for n in range(1, len(rules.evidence) + 1)
            ]
            assert any(text.strip() in one["text"] for one in shown["candidates"])
            if item["expect"] != "used":
                same(result, rules)
                assert [str(d.code) for d in result.degradations] == [item["expect"]]
                continue
            assert not result.degradations
            moved = {"rerank_score", "rerank_reason"}
            assert sorted(one.model_dump_json(exclude=moved) for one in result.evidence) == sorted(
                one.model_dump_json(exclude=moved) for one in rules.evidence
            )
            if mode == "hybrid":
                assert place(result, "schedule.md") <= place(rules, "schedule.md")
    finally:
        path.unlink()
        lab.database.sync()


def place(result: RouterResult, name: str) -> int:
    """Where the evidence of a file stands."""
    return [one.source_ref.rpartition("/")[2] for one in result.evidence].index(name)


@pytest.mark.parametrize("item", IN_QUERY, ids=[item["id"] for item in IN_QUERY])
def test_a_poisoned_query_plans_nothing_but_searches(lab: Lab, item: dict[str, Any]) -> None:
    """The query stays data; what an obedient model makes of it is refused, or is a plan like any other."""
    lab.timeout = PATIENT
    lab.server.behave = adversary.obedient(item["obeyed"], "")
    rules = lab.database.search(item["text"])
    result = lab.database.search(item["text"], planner="llm")
    request = lab.server.requests[-1].json
    assert request["messages"][0]["content"] == load_prompt("planner").text
    shown = json.loads(request["messages"][1]["content"])
    assert shown["query"] == item["text"]
    assert [tool["name"] for tool in shown["tools"]] == ["research-memory", "bm25", "vector", "grep"]
    if item["expect"] == "used":
        assert not [d for d in result.degradations if d.tool_name == "planner"]
        assert result.plan.reason == "language model (plan-1)" and result.evidence
    else:
        same(result, rules)
        assert next((d.tool_name, str(d.code)) for d in result.degradations) == ("planner", item["expect"])


def test_the_set_is_as_large_and_as_mixed_as_it_should_be() -> None:
    """Counts, both languages, ids of their own, and no two replies alike."""
    assert len(REPLIES) >= 150 and len(POISONED) >= 60
    for items in (REPLIES, POISONED):
        assert len({item["id"] for item in items}) == len(items)
    assert len({item.get("reply") or json.dumps(item.get("server")) for item in REPLIES}) >= len(REPLIES) - 2
    assert len({item["text"] for item in POISONED}) == len(POISONED)
    assert min(sum(item["lang"] == lang for item in POISONED) for lang in ("en", "zh")) >= 20
    codes = {item["expect"] for item in REPLIES}
    assert len(codes) >= 20
