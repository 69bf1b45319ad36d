"""A search that asks a model: what is used, what is recorded, and that a replay asks nobody and says ``identical``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_reader, open_writer
from arr_sql.core.migrations import triggers_off
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StateError
from arr_sql.llm.budget import CallBudget
from arr_sql.llm.endpoint import Endpoint
from arr_sql.llm.language_model import LanguageModel
from arr_sql.llm.settings import LLMSettings
from arr_sql.retrieval import llm_reranker
from tests.cli.support import arr
from tests.conftest import MakeDatabase
from tests.llm import servers
from tests.llm.servers import Request, Server, Wire, say
from tests.llm.test_adversarial import FILES, QUERY, same

PLAN = {"version": "plan-1", "tool_rounds": [["bm25", "vector"], [{"tool": "bm25", "query": "学习率 发散"}, "grep"]]}


def adviser(plan: Any = PLAN, best: str = "seeds", worst: float = 0.1) -> servers.Behaviour:
    """A model with a plan and a favourite: the text that holds ``best`` gets 1, the others ``worst``."""

    def behave(wire: Wire, request: Request) -> None:
        shown = json.loads(request.json["messages"][1]["content"])
        if "tools" in shown:
            say(json.dumps(plan))(wire, request)
            return
        scores = [{"id": c["id"], "score": 1.0 if best in c["text"].lower() else worst} for c in shown["candidates"]]
        say("<think>hm</think>" + json.dumps({"version": "rank-1", "scores": scores}))(wire, request)

    return behave


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """A good adviser on this machine."""
    return serve(adviser())


@pytest.fixture
def database(make_database: MakeDatabase, tmp_path: Path, server: Server) -> ResearchDatabase:
    """Six texts with vectors, and a model that the server plays."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in FILES.items():
        (notes / name).write_text(text, "utf-8")
    settings = LLMSettings(
        is_enabled=True,
        endpoint=Endpoint(server.url),
        model="lab/m-1",
        timeout_seconds=30,
        response_format="json_schema",
    )
    made = make_database(folder=notes, language_model=lambda: LanguageModel(settings))
    made.add(notes)
    made.embed()
    return made


def names(result: Any) -> list[str]:
    return [item.source_ref.rpartition("/")[2] for item in result.evidence]


def record(database: ResearchDatabase, result: Any) -> dict[str, Any]:
    return database.retrievals(result.retrieval_id)[0]


def test_a_good_plan_and_order_are_used_and_recorded(database: ResearchDatabase, server: Server) -> None:
    """Two calls, no degradation; the record names model and prompts and holds the plan and every score."""
    rules = database.search(QUERY)
    result = database.search(QUERY, planner="llm", rerank="llm")
    assert not result.degradations and not result.partial and len(server.requests) == 2
    assert names(result)[0] == "seeds.md" != names(rules)[0] and sorted(names(result)) == sorted(names(rules))
    kept = record(database, result)
    assert kept["plan_origin"] == "model" and len(kept["plan"]["tool_rounds"]) == 2
    told = kept["language_model"]
    assert (told["model"], told["where"]) == ("lab/m-1", "local")
    assert told["planner"] == {"outcome": "used", "prompt": "plan-1", "stripped": []}
    order = told["reranker"]
    assert (order["outcome"], order["prompt"], order["mode"], order["blend"]) == ("used", "rank-1", "llm", "1")
    assert order["stripped"] == ["think"] and order["cut"] == 0
    assert {chunk_id for chunk_id, _ in order["scores"]} == {item.chunk_id for item in result.evidence}
    assert record(database, rules)["language_model"] is None
    with_name = [row["language_model"] for row in trail(database)]
    assert with_name == [None, "lab/m-1"]


def trail(database: ResearchDatabase) -> list[Any]:
    reader = open_reader(database.path)
    rows = reader.execute("SELECT language_model FROM retrieval_trail ORDER BY at").fetchall()
    reader.close()
    return rows


@pytest.mark.parametrize("asked", [
    {"planner": "llm"}, {"rerank": "llm"}, {"rerank": "hybrid"}, {"planner": "llm", "rerank": "hybrid"},
])  # fmt: skip
@pytest.mark.parametrize(
    "behave", [adviser(), adviser(best="no such text", worst=0.7), say("nonsense"), servers.hang_up]
)
def test_a_replay_asks_nobody_and_is_identical(
    database: ResearchDatabase, server: Server, asked: dict[str, Any], behave: servers.Behaviour, tmp_path: Path
) -> None:
    """Whatever the model said then and would say now; also after the store has changed; and the log verifies."""
    server.behave = behave
    result = database.search(QUERY, k=4, **asked)
    (tmp_path / "notes" / "later.md").write_text("# Later\n\nThe warmup run diverged again.\n", "utf-8")
    database.sync()
    server.behave = adviser(best="later")
    before = server.connections
    again = database.replay(result.retrieval_id)
    assert (again.outcome, again.difference) == ("identical", None)
    assert [item.outcome for item in database.replay_all()] == ["identical"]
    assert server.connections == before
    assert database.verify_audit().damages == ()


def test_a_changed_score_is_found(database: ResearchDatabase) -> None:
    """The record's hash covers what the model said."""
    database.search(QUERY, rerank="hybrid")
    writer = open_writer(database.path)
    with triggers_off(writer):
        writer.execute("UPDATE retrieval SET language_model = json_set(language_model, '$.model', 'another')")
    writer.close()
    assert {item.kind for item in database.verify_audit().damages} == {"row_changed"}


def test_another_way_to_blend_is_named_as_the_cause(
    database: ResearchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that turns the same scores into another order says so."""
    result = database.search(QUERY, rerank="hybrid")
    monkeypatch.setattr(llm_reranker, "BLEND_VERSION", "2")
    monkeypatch.setattr(llm_reranker, "MODEL_WEIGHT", 0.9)
    again = database.replay(result.retrieval_id)
    assert (again.outcome, again.cause) == ("different", "index_version")


def test_a_record_that_keeps_hashes_only_says_why_it_can_not_run(
    make_database: MakeDatabase, database: ResearchDatabase, tmp_path: Path
) -> None:
    """The model's rewritten queries are kept as the person's query is."""
    hashing = make_database(folder=tmp_path / "notes", keep_query=False, language_model=database._language_model_source)
    result = hashing.search(QUERY, planner="llm")
    assert "学习率 发散" not in json.dumps(record(hashing, result), ensure_ascii=False)
    with pytest.raises(StateError, match="kept only as a hash"):
        hashing.replay(result.retrieval_id, query=QUERY)
    ordered = hashing.search(QUERY, rerank="hybrid")
    assert hashing.replay(ordered.retrieval_id, query=QUERY).outcome == "identical"


def test_nobody_is_asked_unless_the_search_asks(database: ResearchDatabase, server: Server) -> None:
    """Whatever is configured; nor when there is nothing to order."""
    database.search(QUERY)
    database.plan(QUERY)
    one = database.search("seed cosine", plan={"tool_rounds": [["bm25"]]}, k=1)
    assert server.connections == 0 and len(one.evidence) == 1
    alone = database.search("another seed", plan={"tool_rounds": [["bm25"]]}, rerank="llm")
    assert len(alone.evidence) == 1 and server.connections == 0 and not alone.degradations
    assert record(database, alone)["language_model"]["reranker"]["outcome"] == "not_asked"
    assert database.replay(alone.retrieval_id).outcome == "identical"


def test_the_first_n_of_a_longer_answer_are_the_shorter_one(database: ResearchDatabase) -> None:
    """The order is made before the cut at k."""
    longer = database.search(QUERY, rerank="llm")
    assert names(database.search(QUERY, k=2, rerank="llm")) == names(longer)[:2]


def test_a_shared_budget_is_kept_and_a_refused_call_is_not_made(database: ResearchDatabase, server: Server) -> None:
    """One call in all: the plan is asked for, the order is not, and the next search asks nothing."""
    rules, run = database.search(QUERY), CallBudget(1)
    first = database.search(QUERY, planner="llm", rerank="hybrid", llm_budget=run.for_retrieval())
    second = database.search(QUERY, planner="llm", rerank="hybrid", llm_budget=run.for_retrieval())
    refused = "llm_budget_exhausted"
    assert [(d.tool_name, str(d.code)) for d in first.degradations] == [("reranker", refused)]
    assert [(d.tool_name, str(d.code)) for d in second.degradations] == [("planner", refused), ("reranker", refused)]
    assert len(server.requests) == 1 == run.used
    same(second, rules)


def test_a_model_that_is_off_or_badly_set_is_a_code(database: ResearchDatabase, make_database: MakeDatabase) -> None:
    """The environment's default is off: a search that asks says so, and the rules answer."""
    for settings, code in (
        (LLMSettings(), "llm_off"),
        (LLMSettings(is_enabled=True, problem="x."), "llm_not_configured"),
    ):
        other = make_database(
            folder=database.project_folder, language_model=lambda settings=settings: LanguageModel(settings)
        )
        result = other.search(QUERY, planner="llm", rerank="llm")
        assert [str(d.code) for d in result.degradations] == [code, code] and len(result.evidence) == 6
        assert record(other, result)["language_model"]["model"] == ""


def test_wrong_arguments_are_the_callers_mistake(database: ResearchDatabase) -> None:
    """Nothing is asked and nothing is run."""
    for wrong in ({"planner": "model"}, {"rerank": "best"}, {"plan": {"tool_rounds": [["bm25"]]}, "planner": "llm"}):
        with pytest.raises(InputError):
            database.search(QUERY, **wrong)  # type: ignore[arg-type]


# --- the command line -----------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project without vectors."""
    folder = tmp_path / "lumen"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    assert arr("init", "--team", "vision", "--name", "lumen", cwd=folder).code == 0
    assert arr("add", ".", "--no-embed", cwd=folder).code == 0
    return folder


def test_the_command_line_asks_and_tells(project: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is shown, the record names the model, and the replay needs no server."""
    plan = {"version": "plan-1", "tool_rounds": [["bm25"], [{"tool": "grep", "query": "seed"}]]}
    server.behave = adviser(plan)
    for name, value in (("ENABLED", "1"), ("ENDPOINT", server.url), ("MODEL", "lab/m-1"), ("TIMEOUT_SECONDS", "30")):
        monkeypatch.setenv(f"ARR_LLM_{name}", value)
    ran = arr("search", "warmup run", "--planner", "llm", "--rerank", "hybrid", cwd=project)
    assert ran.code == 0 and "Plan:     language model (plan-1), bm25 then grep* (*: a rewritten query)" in ran.out
    retrieval = ran.out.rpartition("Retrieval ")[2].partition(":")[0]
    server.close()
    shown = arr("show", retrieval, cwd=project).out
    assert "Language model: lab/m-1; planner used (plan-1), reranker used (rank-1)" in shown
    replayed = arr("replay", retrieval, cwd=project)
    assert replayed.code == 0 and "identical" in replayed.out


def test_an_unreachable_server_ends_in_the_rules_answer(
    project: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0 and the codes; 3 with --strict."""
    server.close()
    for name, value in (("ENABLED", "1"), ("ENDPOINT", server.url), ("MODEL", "m")):
        monkeypatch.setenv(f"ARR_LLM_{name}", value)
    asked = ("search", "warmup run", "--planner", "llm", "--rerank", "llm")
    rules, ran = arr("search", "warmup run", "--json", cwd=project).json, arr(*asked, "--json", cwd=project)
    assert ran.code == 0
    chunk_ids = [[item["chunk_id"] for item in answer["evidence"]] for answer in (rules, ran.json)]
    assert chunk_ids[0] == chunk_ids[1] and len(chunk_ids[0]) >= 4
    assert [item["code"] for item in ran.json["degradations"] if item["tool_name"] in ("planner", "reranker")] == [
        "llm_unreachable", "llm_unreachable",
    ]  # fmt: skip
    assert "planner: llm_unreachable" in arr(*asked, cwd=project).out
    assert arr(*asked, "--strict", cwd=project).code == 3
