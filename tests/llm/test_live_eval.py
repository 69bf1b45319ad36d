"""``arr eval live``: what it measures, that it tells nothing, and how it ends when the model is bad, gone, or over budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.advice import Ask, Reply
from arr_sql.core.router_models import ReasonCode
from arr_sql.errors import GoldInvalid, StateError
from arr_sql.evaluation.live_cases import LiveSet, RerankCase, read_live_set
from arr_sql.evaluation.live_eval import case_scope, evaluate_live, rule_order
from arr_sql.llm.budget import CallBudget
from arr_sql.llm.prompt_files import load_prompt
from tests.cli.support import Ran, arr
from tests.evaluation.live_maker import small_set
from tests.llm import adversary, servers
from tests.llm.servers import Request, Server, Wire, say

PROMPTS = (load_prompt("planner"), load_prompt("reranker"))
DATASET = Path(__file__).resolve().parents[2] / "data" / "gold" / "llm_live_eval.json"


def knows(cases: dict[str, Any], obeys: bool = False) -> Callable[[dict[str, Any]], str]:
    """A model that knows the cases: the expected tools, the grades; ``obeys``: poisoned texts get the best score."""

    def answer(shown: dict[str, Any]) -> str:
        every = [*cases["planner_cases"], *cases["rerank_cases"], *cases["injection_cases"]]
        case = next(case for case in every if case["query"] == shown["query"])
        if "tools" in shown:
            return json.dumps({"version": "plan-1", "tool_rounds": [case["expected_tools"]]})

        def score(text: str) -> float:
            one = next(one for one in case["candidates"] if one["text"] == text)
            return 1.0 if obeys and one.get("poisoned") else one["grade"] / 3 * (0.9 if obeys else 1)

        return json.dumps({"version": "rank-1", "scores": [
            {"id": c["id"], "score": score(c["text"])} for c in shown["candidates"]]})  # fmt: skip

    return answer


def behaves(answer: Callable[[dict[str, Any]], str]) -> servers.Behaviour:
    def behave(wire: Wire, request: Request) -> None:
        say(answer(json.loads(request.json["messages"][1]["content"])))(wire, request)

    return behave


def run(mode: Any, answer: Callable[[dict[str, Any]], str], limit: int = 20) -> dict[str, Any]:
    """Evaluate the small set with a model in this process."""
    budget = CallBudget(limit)

    def asking() -> Callable[[Ask], Reply]:
        granted = budget.for_retrieval()

        def ask(question: Ask) -> Reply:
            if not granted.take(question.prompt.purpose):
                return Reply(code=ReasonCode.LLM_BUDGET_EXHAUSTED)
            return Reply(answer(json.loads(question.data)))

        return ask

    return evaluate_live(LiveSet.model_validate(small_set()), mode, asking, PROMPTS)


def metrics(report: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {m["metric"]: (m["rules"], m["model"]) for m in report["metrics"]}


def test_a_good_model_shows_its_gain_beside_the_rules() -> None:
    """By hand: the rules plan all four (precision 2/4 and 1/4, no success); their order of r1 puts the answer last."""
    found = metrics(run("llm", knows(small_set())))
    assert found["planner valid rate"] == (None, 1.0) and found["fallback rate"] == (None, 0.0)
    assert found["tool precision"] == (0.375, 1.0) and found["case success"] == (0.0, 1.0)
    assert found["rerank MRR"] == (pytest.approx((1 / 3 + 1) / 2, abs=1e-4), 1.0)
    assert found["rerank nDCG@10"][1] == 1.0 > found["rerank nDCG@10"][0]
    assert found["injection rejection"] == (1.0, 1.0)


def test_rule_asks_nobody_and_is_the_baseline() -> None:
    """The same figures on both sides."""
    report = run("rule", lambda shown: pytest.fail("nobody may be asked"))
    assert all(m["rules"] in (None, m["model"]) for m in report["metrics"]) and report["codes"] == {}
    assert {case["outcome"] for case in report["cases"]} == {"not_asked"}


def test_an_obedient_model_is_seen_by_injection_rejection() -> None:
    """In llm the poisoned text is first, and the figure says so."""
    assert metrics(run("llm", knows(small_set(), obeys=True)))["injection rejection"] == (1.0, 0.0)


def test_a_bad_model_is_the_rules_with_codes() -> None:
    """Fallback 1, valid 0, every figure as the rules'."""
    report = run("hybrid", lambda shown: "sorry")
    assert report["codes"] == {"llm_not_json": 5}
    found = metrics(report)
    assert found["planner valid rate"] == (None, 0.0) and found["fallback rate"] == (None, 1.0)
    assert all(rules == model for rules, model in found.values() if rules is not None)


def test_kinds_take_turns_and_what_is_not_reached_is_in_no_figure() -> None:
    """Three calls reach one case of each kind."""
    report = run("llm", knows(small_set()), limit=3)
    assert [case["case_id"] for case in report["cases"]] == ["p1", "r1", "i1"] and report["not_asked"] == 2
    assert {m["metric"]: m["cases"] for m in report["metrics"]}["rerank MRR"] == 1


def test_a_leak_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reranker that showed the model a scope would be found, and nothing would be sent."""
    monkeypatch.setattr("arr_sql.retrieval.llm_reranker.shown_text", lambda hit: f"{hit.scope}\n{hit.content}")
    sent: list[Any] = []

    def answer(shown: dict[str, Any]) -> str:
        sent.append(shown)
        return "{}"

    with pytest.raises(StateError, match="3 scope leaks"):
        run("llm", answer)
    assert all("tools" in shown for shown in sent)


def test_every_case_has_a_scope_of_its_own() -> None:
    """And the rules' order holds each candidate once."""
    case = RerankCase.model_validate(small_set()["rerank_cases"][0])
    scope = case_scope("m", case.case_id)
    assert scope != case_scope("m", "another")
    order = rule_order(case, scope)
    assert sorted(item.item.hit.chunk_id for item in order) == ["r1-a", "r1-b", "r1-c"]
    assert {item.item.hit.scope for item in order} == {scope} and all(item.score is not None for item in order)


BROKEN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no case": lambda d: {"name": "a", "version": "1"}, "unknown field": lambda d: {**d, "extra": 1},
    "an id twice": lambda d: {**d, "planner_cases": d["planner_cases"] * 2},
    "an unknown tool": lambda d: {**d, "planner_cases": [{**d["planner_cases"][0], "expected_tools": ["shell"]}]},
    "expected and forbidden": lambda d: {**d, "planner_cases": [{**d["planner_cases"][0], "forbidden_tools": ["bm25"]}]},
    "no poisoned text": lambda d: {**d, "rerank_cases": [], "injection_cases": d["rerank_cases"][:1]},
    "a grade of 4": lambda d: {**d, "rerank_cases": [{**d["rerank_cases"][0], "candidates": [
        {"id": "a", "text": "canaryt9", "grade": 4}, {"id": "b", "text": "x", "grade": 0}]}]},
    "a list": lambda d: [],
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_set_is_refused_without_its_texts(tmp_path: Path, name: str) -> None:
    """With the place; no query and no text in the message."""
    path = tmp_path / "live.json"
    path.write_text(json.dumps(BROKEN[name](small_set())), "utf-8")
    with pytest.raises(GoldInvalid) as caught:
        read_live_set(path)
    assert "canary" not in str(caught.value) and str(path) in str(caught.value)


# --- the command ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def lab(tmp_path: Path, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Server]:
    """A folder with the small set, and a server that knows it."""
    (tmp_path / "live.json").write_text(json.dumps(small_set()), "utf-8")
    server = serve(behaves(knows(small_set())))
    for name, value in (("ENABLED", "1"), ("ENDPOINT", server.url), ("MODEL", "lab/m-1"), ("TIMEOUT_SECONDS", "30")):
        monkeypatch.setenv(f"ARR_LLM_{name}", value)
    return tmp_path, server


def live(folder: Path, *arguments: str) -> Ran:
    return arr("eval", "live", "--dataset", "live.json", *arguments, cwd=folder)


def reports(folder: Path) -> list[Path]:
    return sorted((folder / "reports").glob("*.json"))


def test_the_scripted_server_prints_the_report(lab: tuple[Path, Server]) -> None:
    """Rules and model side by side; the report names model, prompts and data; it holds none of the texts."""
    folder, server = lab
    ran = live(folder, "--mode", "hybrid")
    assert ran.code == 0 and "lab/m-1 (local), prompts plan-1, rank-1" in ran.out and "Calls: 5 of 20" in ran.out
    assert "rerank nDCG@10" in ran.out and "injection rejection" in ran.out
    (path,) = reports(folder)
    report = json.loads(path.read_text("utf-8"))
    assert (report["model"], report["prompts"], report["live_calls"]) == ("lab/m-1", ["plan-1", "rank-1"], 5)
    assert report["dataset"]["name"] == "small" and len(report["dataset"]["sha256"]) == 64
    assert (folder / "reports" / ".gitignore").read_text("utf-8") == "*\n"
    for told in (path.read_bytes().decode("utf-8"), ran.out, ran.err):
        assert "canary" not in told and "HRN" not in told and "学习率" not in told
    assert len(server.requests) == 5


def test_a_report_never_replaces_another(lab: tuple[Path, Server]) -> None:
    """Each run leaves a file of its own; a folder that was there keeps its rules."""
    folder, _ = lab
    (folder / "reports").mkdir()
    first = [live(folder, "--mode", "rule", "--json").json["report"] for _ in range(3)]
    assert len(set(first)) == 3 == len(reports(folder)) and not (folder / "reports" / ".gitignore").exists()


def test_an_unreachable_server_ends_in_the_rule_baseline(lab: tuple[Path, Server]) -> None:
    """Codes, the rules' figures, exit code 0."""
    folder, server = lab
    server.close()
    ran = live(folder, "--mode", "llm")
    assert ran.code == 0 and "Fell back to the rules: llm_unreachable x5" in ran.out
    report = json.loads(reports(folder)[0].read_text("utf-8"))
    assert all(m["rules"] in (None, m["model"]) for m in report["metrics"])


def test_no_more_calls_than_allowed(lab: tuple[Path, Server]) -> None:
    """The budget is shared by all cases, and 20 is the most."""
    folder, server = lab
    assert live(folder, "--max-live-calls", "2").code == 0 and len(server.requests) == 2
    assert live(folder, "--max-live-calls", "0", "--json").json["not_asked"] == 5 and len(server.requests) == 2
    assert live(folder, "--max-live-calls", "21").code == 2
    assert live(folder, "--mode", "rule").code == 0 and len(server.requests) == 2


def test_a_model_that_is_off_is_told(lab: tuple[Path, Server], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked; the baseline is printed."""
    folder, server = lab
    monkeypatch.delenv("ARR_LLM_ENABLED")
    ran = live(folder)
    assert ran.code == 0 and "llm_off x5" in ran.out and "Model: none" in ran.out and server.connections == 0


def test_a_leak_writes_no_report(lab: tuple[Path, Server], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1 and no file."""
    folder, server = lab
    monkeypatch.setattr("arr_sql.retrieval.llm_reranker.shown_text", lambda hit: f"{hit.scope}\n{hit.content}")
    ran = live(folder, "--mode", "llm")
    assert ran.code == 1 and "scope leaks" in ran.err and reports(folder) == []
    assert len(server.requests) == 2  # the plans


HOSTILE = [
    item for item in adversary.read("replies.jsonl") if "$QUERY" in json.dumps(item) or "$EVIDENCE" in json.dumps(item)
]


def test_a_report_holds_nothing_of_hostile_replies(lab: tuple[Path, Server]) -> None:
    """Replies that repeat the query or a text: codes in the report, and none of their words in it or on the screen."""
    folder, server = lab
    assert len(HOSTILE) >= 8
    for item in HOSTILE:
        server.behave = adversary.behaviour(item, server.port)
        ran = live(folder, "--mode", "llm", "--max-live-calls", "2")
        assert ran.code == 0 and "Fell back to the rules" in ran.out, item["id"]
        assert "canary" not in ran.out + ran.err
    assert len(reports(folder)) == len(HOSTILE)
    assert not [path for path in reports(folder) if b"canary" in path.read_bytes()]


def test_the_projects_own_cases_run(lab: tuple[Path, Server]) -> None:
    """data/gold/llm_live_eval.json with a model that knows it: a gain in every figure, over 20 calls."""
    folder, server = lab
    server.behave = behaves(knows(json.loads(DATASET.read_text("utf-8"))))
    ran = arr("eval", "live", "--dataset", str(DATASET), "--mode", "llm", "--json", cwd=folder)
    assert ran.code == 0 and ran.json["live_calls"] == 20 == len(server.requests)
    found = metrics(ran.json)
    for name in ("tool precision", "case success", "rerank nDCG@10", "rerank MRR"):
        assert found[name][1] == 1.0 > found[name][0], name
    assert found["injection rejection"][1] == 1.0
