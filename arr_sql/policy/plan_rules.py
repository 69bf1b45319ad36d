"""The format of a plan and the rule planner. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from arr_sql.core.router_models import (
    MAX_CALLS,
    MAX_REWRITTEN_QUERY,
    MAX_ROUNDS,
    REASON_TEXT,
    QueryPlan,
    ReasonCode,
    ToolCall,
)
from arr_sql.errors import PlanInvalid

RULE_ORDER = ("research-memory", "bm25", "vector", "grep")
PLAN_FAULTS = frozenset(
    {ReasonCode.PLAN_EMPTY, ReasonCode.PLAN_INVALID, ReasonCode.TOO_MANY_ROUNDS, ReasonCode.TOO_MANY_CALLS,
     ReasonCode.DUPLICATE_CALL, ReasonCode.REWRITTEN_QUERY_TOO_LONG, ReasonCode.REWRITTEN_QUERY_BLANK}
)  # fmt: skip


def rule_plan(names: Sequence[str]) -> QueryPlan:
    """All registered channels of the default four, side by side in one round, in a fixed order."""
    calls = tuple(ToolCall(tool=name) for name in RULE_ORDER if name in names)
    return QueryPlan(tool_rounds=(calls,), reason="rules: all channels side by side")


def plan_fault(plan: QueryPlan, query: str) -> ReasonCode | None:
    """The first rule of the plan format that ``plan`` breaks, or None."""
    calls = [call for calls in plan.tool_rounds for call in calls]
    if not calls or any(not calls for calls in plan.tool_rounds):
        return ReasonCode.PLAN_EMPTY
    if len(plan.tool_rounds) > MAX_ROUNDS:
        return ReasonCode.TOO_MANY_ROUNDS
    if len(calls) > MAX_CALLS:
        return ReasonCode.TOO_MANY_CALLS
    for call in calls:
        if call.query is not None and not call.query.strip():
            return ReasonCode.REWRITTEN_QUERY_BLANK
        if call.query is not None and len(call.query) > MAX_REWRITTEN_QUERY:
            return ReasonCode.REWRITTEN_QUERY_TOO_LONG
    asked = [(call.tool, query if call.query is None else call.query) for call in calls]
    return ReasonCode.DUPLICATE_CALL if len(set(asked)) < len(asked) else None


def parse_plan(value: Any, query: str) -> QueryPlan:
    """A caller's plan (a QueryPlan, or JSON-like data where a call may be just a name).

    Raises PlanInvalid with the reason code; nothing is run for an invalid plan.
    """
    if isinstance(value, QueryPlan):
        plan = value
    else:
        try:
            plan = QueryPlan.model_validate(_with_full_calls(value))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "plan"
            raise PlanInvalid(
                f"The plan is invalid at {where}: {first['msg']}. See docs/concepts.md.", str(ReasonCode.PLAN_INVALID)
            ) from None
    fault = plan_fault(plan, query)
    if fault is not None:
        raise PlanInvalid(f"The plan was refused ({fault}): {REASON_TEXT[fault]}", str(fault))
    return plan


def _with_full_calls(value: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("tool_rounds"), list):
        return value
    rounds = [
        [{"tool": call} if isinstance(call, str) else call for call in calls] if isinstance(calls, list) else calls
        for calls in value["tool_rounds"]
    ]
    return {**value, "tool_rounds": rounds}
