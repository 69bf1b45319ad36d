"""A plan proposed by a language model: what it is shown, and what its reply must be (contract 10.1, 12.4, 12.5).

It is shown the query with credentials taken out, and each channel's name with one fixed sentence. It holds a callable
that asks once; it holds no scope, store, channel or client. The reply may choose channels and rewrite the query. It can
say nothing else: the format has no field for scopes, paths or limits, and a rewritten query that names one is refused.
Any fault gives a code, and the caller runs the rules' plan (tests/llm/test_planner.py, test_adversarial.py).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arr_sql.core.advice import Ask, Complete, Prompt
from arr_sql.core.redaction import redact
from arr_sql.core.router_models import MAX_CALLS, MAX_REWRITTEN_QUERY, MAX_ROUNDS, QueryPlan, ReasonCode, ToolCall
from arr_sql.core.strict_json import Stripped, reply_json
from arr_sql.policy.plan_rules import plan_fault

CAPABILITIES = {
    "research-memory": "Published notes of the team: decisions, findings, preferences and literature, found by their words.",
    "bm25": "Full text of notes, papers, code and logs, ranked by the words that they share with the query.",
    "vector": "The same texts and the team's notes, ranked by meaning; works across wording and between Chinese and English.",
    "grep": "Exact lines in the files as they are now; best for quoted strings, identifiers, error codes and file names.",
}
OWN_CHANNEL = "A further local, read-only channel."


@dataclass(frozen=True)
class Proposal:
    """What came of asking. Exactly one of ``plan`` and ``code`` is set."""

    plan: QueryPlan | None = None
    code: ReasonCode | None = None
    detail: Mapping[str, int] = field(default_factory=dict)
    stripped: tuple[Stripped, ...] = ()


def propose_plan(query: str, names: Sequence[str], complete: Complete, prompt: Prompt) -> Proposal:
    """Ask for a plan over the channels ``names``. Never raises."""
    reply = complete(planner_ask(query, names, prompt))
    if reply.text is None:
        return Proposal(code=reply.code or ReasonCode.LLM_NOT_A_COMPLETION, detail=reply.detail)
    return read_plan(reply.text, query, names, prompt.version)


def planner_ask(query: str, names: Sequence[str], prompt: Prompt) -> Ask:
    """All that a model is shown."""
    tools = [{"name": name, "capability": CAPABILITIES.get(name, OWN_CHANNEL)} for name in names]
    shown = {"query": redact(query).encode("utf-8", "replace").decode("utf-8"), "tools": tools}
    return Ask(prompt, json.dumps(shown, ensure_ascii=False), _schema(names, prompt.version))


def read_plan(text: str, query: str, names: Sequence[str], version: str) -> Proposal:
    """The plan in a model's reply, or the first rule that it breaks. Pure."""
    try:
        value, stripped = reply_json(text)
    except ValueError:
        return Proposal(code=ReasonCode.LLM_NOT_JSON)
    code = _shape_fault(value, version)
    if code is not None:
        return Proposal(code=code, stripped=stripped)
    plan = QueryPlan(
        tool_rounds=tuple(tuple(_call(call) for call in calls) for calls in value["tool_rounds"]),
        reason=f"language model ({version})",
    )
    code = _plan_fault(plan, query, names)
    return Proposal(code=code, stripped=stripped) if code is not None else Proposal(plan, stripped=stripped)


def _shape_fault(value: Any, version: str) -> ReasonCode | None:
    if not isinstance(value, dict) or not isinstance(value.get("version"), str):
        return ReasonCode.LLM_WRONG_SHAPE
    if value["version"] != version:
        return ReasonCode.LLM_WRONG_VERSION
    rounds = value.get("tool_rounds")
    if set(value) != {"version", "tool_rounds"} or not isinstance(rounds, list):
        return ReasonCode.LLM_WRONG_SHAPE
    if not all(isinstance(calls, list) and all(map(_is_call, calls)) for calls in rounds):
        return ReasonCode.LLM_WRONG_SHAPE
    return None


def _is_call(call: Any) -> bool:
    """A name of 1 to 100 characters, or an object with a name and a query and nothing else."""
    if isinstance(call, dict):
        return set(call) == {"tool", "query"} and _is_name(call["tool"]) and _is_text(call["query"])
    return _is_name(call)


def _is_name(value: Any) -> bool:
    return _is_text(value) and 0 < len(value) <= 100


def _is_text(value: Any) -> bool:
    """Text that can be kept: half a character (an unpaired surrogate), which JSON can spell, can't."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _call(call: Any) -> ToolCall:
    return ToolCall(tool=call) if isinstance(call, str) else ToolCall(tool=call["tool"], query=call["query"])


def _plan_fault(plan: QueryPlan, query: str, names: Sequence[str]) -> ReasonCode | None:
    fault = plan_fault(plan, query)
    if fault is not None:
        return fault
    calls = [call for calls in plan.tool_rounds for call in calls]
    if any(call.tool not in names for call in calls):
        return ReasonCode.LLM_UNKNOWN_TOOL
    if any(call.query is not None and is_unsafe_rewrite(call.query, query) for call in calls):
        return ReasonCode.LLM_UNSAFE_REWRITE
    return ReasonCode.LLM_QUERY_DROPPED if all(call.query not in (None, query) for call in calls) else None


_FORBIDDEN = (
    # a web or file address
    re.compile(r"[a-z][a-z0-9+.-]*://\S*|\bwww\.\S+|\b(?:javascript|data|file|mailto):\S+", re.IGNORECASE),
    # a rooted, home, relative or Windows path, or folders that end in a file
    re.compile(r"(?<![\w/])(?:~|\.{1,2})?/[\w.~-]\S*"),
    re.compile(r"(?<!\w)[a-z]:[\\/]\S*|\.\.\\\S*|\\\\\w\S*", re.IGNORECASE),
    re.compile(r"[\w.-]+(?:/[\w.-]+)*/[\w-]*\.[a-z][a-z0-9]{0,5}(?!\w)", re.IGNORECASE),
    # a value of a scope or a limit of the run
    re.compile(
        r"\b(?:team_id|project_id|repository|branch|experiment_environment|scope(?:_id)?|limit|top_?k|k|depth|max_calls"
        r"|deadline(?:_seconds)?)\s*[:=]\s*\S+",
        re.IGNORECASE,
    ),
)


def is_unsafe_rewrite(rewritten: str, query: str) -> bool:
    """Does a rewritten query hold a path, an address, a scope's value, a limit, a credential, or unprintable characters?

    What the person's own query holds may be said again.
    """
    if any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for character in rewritten):
        return True
    if redact(rewritten) != rewritten:
        return True
    said = unicodedata.normalize("NFKC", query)
    return any(found not in said for found in _forbidden_parts(unicodedata.normalize("NFKC", rewritten)))


def _forbidden_parts(text: str) -> Iterator[str]:
    for pattern in _FORBIDDEN:
        for match in pattern.finditer(text):
            yield match[0]


def _schema(names: Sequence[str], version: str) -> dict[str, Any]:
    """The reply's format as JSON Schema, for servers that can hold a model to one. The checks above do not rely on it."""
    tool = {"type": "string", "enum": list(names)}
    call = {
        "type": "object", "properties": {"tool": tool, "query": {"type": "string", "maxLength": MAX_REWRITTEN_QUERY}},
        "required": ["tool", "query"], "additionalProperties": False,
    }  # fmt: skip
    calls = {"type": "array", "minItems": 1, "maxItems": MAX_CALLS, "items": {"anyOf": [tool, call]}}
    rounds = {"type": "array", "minItems": 1, "maxItems": MAX_ROUNDS, "items": calls}
    return {
        "type": "object", "properties": {"version": {"type": "string", "enum": [version]}, "tool_rounds": rounds},
        "required": ["version", "tool_rounds"], "additionalProperties": False,
    }  # fmt: skip
