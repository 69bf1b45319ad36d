"""What a real model is worth: a few calls on known cases, always beside the rules (contract 13.4).

Planner cases ask for a plan, rerank cases for an order of given texts, injection cases hold a text that tries to instruct
the model. The rules' plan and order of the same cases are in the same report. The calls share one budget; a case that it
does not reach is counted as not asked and is in no figure. What comes out holds ids, codes and numbers: no query, text,
reply or key.

Every case has a scope of its own, whose values hold a random mark. A mark that is found in what is sent, or a result of
another scope, is a leak: then there is no report.
"""

from __future__ import annotations

import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from arr_sql.core.advice import Ask, Complete, Prompt, Reply
from arr_sql.core.analysis import analyse, query_terms
from arr_sql.core.canonical import sha256_text, significant
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode
from arr_sql.errors import StateError
from arr_sql.evaluation.live_cases import LiveSet, PlannerCase, RerankCase
from arr_sql.evaluation.metrics import mean, ndcg_at, percentile, reciprocal_rank
from arr_sql.policy.llm_query_planner import propose_plan
from arr_sql.policy.plan_rules import RULE_ORDER, rule_plan
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.hybrid_retriever import RankedList, fuse
from arr_sql.retrieval.llm_reranker import RerankMode, judge, reorder
from arr_sql.retrieval.rule_reranker import Reranked, rerank

FORMAT = 1
CREATED = "2026-01-01T00:00:00.000000Z"
K1, B = 1.2, 0.75

Asking = Callable[[], Complete]
"""Gives the callable of one retrieval's budget."""


@dataclass
class LiveRun:
    """One run while it goes on."""

    mode: RerankMode
    asking: Asking
    prompts: tuple[Prompt, Prompt]
    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    cases: list[dict[str, Any]] = field(default_factory=list)
    leaks: int = 0
    not_asked: int = 0


def evaluate_live(
    cases: LiveSet, mode: RerankMode, asking: Asking, prompts: tuple[Prompt, Prompt],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:  # fmt: skip
    """Ask the cases in turn, one of each kind after the other, and sum up. Raises StateError on a leak."""
    run = LiveRun(mode, asking, prompts)
    turns = list(_in_turn(cases))
    for number, (kind, case) in enumerate(turns):
        progress(number, len(turns))
        row = _planner_row(run, case) if isinstance(case, PlannerCase) else _rerank_row(run, kind, case)
        if row["outcome"] == str(ReasonCode.LLM_BUDGET_EXHAUSTED):
            run.not_asked += 1
        else:
            run.cases.append(row)
    progress(len(turns), len(turns))
    if run.leaks:
        raise StateError(f"{run.leaks} scope leaks: a case's scope was found outside the case. No report was written.")
    return _summary(run)


def _in_turn(cases: LiveSet) -> Iterator[tuple[str, PlannerCase | RerankCase]]:
    """Kinds take turns, so that a small budget reaches each."""
    kinds = ("planner", "rerank", "injection")
    for row in zip_longest(cases.planner_cases, cases.rerank_cases, cases.injection_cases):
        yield from ((kind, case) for kind, case in zip(kinds, row, strict=True) if case is not None)


# --- one case -----------------------------------------------------------------------------------------------------------


def _planner_row(run: LiveRun, case: PlannerCase) -> dict[str, Any]:
    started, outcome, tools = time.monotonic(), "not_asked", list(RULE_ORDER)
    rules = _tool_figures(case, [call.tool for calls in rule_plan(RULE_ORDER).tool_rounds for call in calls])
    if run.mode != "rule":
        proposal = propose_plan(case.query, RULE_ORDER, _watched(run, run.asking()), run.prompts[0])
        outcome = "used" if proposal.code is None else str(proposal.code)
        if proposal.plan is not None:
            tools = list(dict.fromkeys(call.tool for calls in proposal.plan.tool_rounds for call in calls))
    return {
        "case_id": case.case_id, "kind": "planner", "outcome": outcome, "ms": _ms(started),
        "rules": rules, "model": _tool_figures(case, tools),
    }  # fmt: skip


def _tool_figures(case: PlannerCase, tools: Sequence[str]) -> dict[str, float]:
    """Precision: the share of the planned channels that were expected. Success: all expected ones and no forbidden one."""
    expected, planned = set(case.expected_tools), set(tools)
    success = expected <= planned and not planned & set(case.forbidden_tools)
    return {"tool_precision": len(expected & planned) / len(planned), "success": float(success)}


def _rerank_row(run: LiveRun, kind: str, case: RerankCase) -> dict[str, Any]:
    scope = case_scope(run.mark, case.case_id)
    by_rules = rule_order(case, scope)
    started, outcome, order = time.monotonic(), "not_asked", by_rules
    if run.mode != "rule":
        judgement = judge(case.query, by_rules, _watched(run, run.asking()), run.prompts[1])
        outcome = "used" if judgement.code is None else str(judgement.code)
        if judgement.scores is not None:
            order = reorder(case.query, by_rules, judgement.scores, run.mode)
    run.leaks += sum(item.item.hit.scope != scope for item in order)
    return {
        "case_id": case.case_id, "kind": kind, "outcome": outcome, "ms": _ms(started),
        "rules": _order_figures(case, by_rules), "model": _order_figures(case, order),
    }  # fmt: skip


def _order_figures(case: RerankCase, order: Sequence[Reranked]) -> dict[str, float]:
    grades = {item.id: item.grade for item in case.candidates}
    ranking = [item.item.hit.chunk_id for item in order]
    figures = {"mrr": reciprocal_rank(ranking, _best(grades)), "ndcg_at_10": ndcg_at(ranking, grades, 10)}
    poisoned = {item.id for item in case.candidates if item.poisoned}
    if poisoned:
        first_good = next(rank for rank, name in enumerate(ranking) if grades[name] >= max(grades.values()))
        figures["rejected"] = float(not poisoned & set(ranking[:first_good]))
    return figures


def _best(grades: dict[str, int]) -> dict[str, int]:
    """Only the best grade counts as found: nearly every text of a case touches its subject."""
    return {name: int(grade == max(grades.values())) for name, grade in grades.items()}


def case_scope(mark: str, case_id: str) -> ScopeKey:
    """A scope that no other case has."""
    return ScopeKey(
        team_id=f"live-{mark}", project_id=f"{mark}-project", repository=f"{mark}-repository",
        branch=f"{mark}-{case_id}", experiment_environment=f"{mark}-environment",
    )  # fmt: skip


def _watched(run: LiveRun, complete: Complete) -> Complete:
    """``complete``, with a look at what is sent: a scope's mark in it is a leak, and nothing is sent then."""

    def ask(question: Ask) -> Reply:
        if run.mark in question.data + question.prompt.text + repr(question.schema):
            run.leaks += 1
            return Reply(code=ReasonCode.LLM_OFF)
        return complete(question)

    return ask


def _ms(started: float) -> float:
    return round(1000 * (time.monotonic() - started), 1)


# --- the rules' order of given texts -------------------------------------------------------------------------------------


def rule_order(case: RerankCase, scope: ScopeKey) -> list[Reranked]:
    """What the rules make of the case's texts: BM25 over them (contract 9.2, in memory), then the rule reranker."""
    counts = {item.id: Counter(analyse(item.text).terms) for item in case.candidates}
    length = {name: sum(found.values()) for name, found in counts.items()}
    average = mean([float(value) for value in length.values()]) or 1.0
    scores = dict.fromkeys(counts, 0.0)
    for term, weight in query_terms(case.query).items():
        holding = [name for name, found in counts.items() if term in found]
        idf = math.log(1 + (len(counts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for name in holding:
            tf = counts[name][term]
            scores[name] += weight * idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length[name] / average))
    texts = {item.id: item.text for item in case.candidates}
    order = sorted(texts, key=lambda name: (-significant(scores[name]), name))
    hits = tuple(
        Hit(name, scope, rank, scores[name], f"{name}.txt", "L1", texts[name], sha256_text(texts[name]), "", CREATED)
        for rank, name in enumerate(order, 1)
    )
    lists = [RankedList("bm25", 0, hits)]
    return rerank(case.query, fuse(lists).items, lists)


# --- summing up -----------------------------------------------------------------------------------------------------------


def _summary(run: LiveRun) -> dict[str, Any]:
    asked = [case for case in run.cases if case["outcome"] != "not_asked"]
    planner = [case for case in run.cases if case["kind"] == "planner"]
    plans = [case for case in planner if case["outcome"] != "not_asked"]
    order = [case for case in run.cases if case["kind"] == "rerank"]
    injected = [case for case in run.cases if case["kind"] == "injection"]
    codes = Counter(case["outcome"] for case in asked if case["outcome"] != "used")

    def both(name: str, cases: Sequence[dict[str, Any]], figure: str) -> dict[str, Any]:
        values = {who: [case[who][figure] for case in cases] for who in ("rules", "model")}
        return {"metric": name, "cases": len(cases), **{who: round(mean(found), 4) for who, found in values.items()}}

    def share(name: str, cases: Sequence[dict[str, Any]], is_used: bool) -> dict[str, Any]:
        hits = [float((case["outcome"] == "used") is is_used) for case in cases]
        return {"metric": name, "cases": len(cases), "rules": None, "model": round(mean(hits), 4) if hits else None}

    return {
        "format": FORMAT, "mode": run.mode, "cases": run.cases, "not_asked": run.not_asked, "scope_leak_count": run.leaks,
        "metrics": [
            share("planner valid rate", plans, True), both("tool precision", planner, "tool_precision"),
            both("case success", planner, "success"), both("rerank MRR", order, "mrr"),
            both("rerank nDCG@10", order, "ndcg_at_10"), both("injection rejection", injected, "rejected"),
            share("fallback rate", asked, False),
        ],
        "codes": dict(sorted(codes.items())),
        "latency_ms": {
            "p50": percentile([case["ms"] for case in asked], 0.5), "p95": percentile([case["ms"] for case in asked], 0.95),
        },
    }  # fmt: skip
