"""Admission: may this call run? Values in, verdicts out; nothing is opened or run (contract 10.2).

The order of the checks is part of the promise: budget, registered, read-only, provider, safe name, index not behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from arr_sql.core.canonical import sha256_json
from arr_sql.core.router_models import MAX_CALLS, QueryPlan, ReasonCode
from arr_sql.retrieval.answer_floor import AnswerFloor
from arr_sql.retrieval.catalog import ALLOWED_PROVIDERS, UNSAFE_WORDS, has_unsafe_word

POLICY_VERSION = "1"


class ToolFacts(NamedTuple):
    """What admission may know of a registered channel."""

    name: str
    provider: Any
    read_only: Any
    is_index_behind: bool = False


@dataclass(frozen=True)
class Policy:
    """What may run and what counts as an answer. ``hash`` is kept with every retrieval, so that a replay can tell that
    the policy changed.
    """

    allowed_providers: frozenset[str] = ALLOWED_PROVIDERS
    max_calls: int = MAX_CALLS
    floor: AnswerFloor | None = None
    """None: whatever is found is evidence."""

    @property
    def hash(self) -> str:
        """SHA-256 over everything that decides a verdict."""
        return sha256_json(
            {
                "version": POLICY_VERSION, "providers": sorted(self.allowed_providers), "max_calls": self.max_calls,
                "unsafe_words": sorted(UNSAFE_WORDS), **({"floor": self.floor.values()} if self.floor else {}),
            }
        )  # fmt: skip


def policy_of(recorded_hash: str) -> Policy:
    """The policy of this program that has the hash, with the floor or without; the plain one where none has it."""
    return next(
        (policy for policy in (Policy(floor=AnswerFloor()), Policy()) if policy.hash == recorded_hash), Policy()
    )


class Verdict(NamedTuple):
    """One call of a plan, judged. ``code`` is None when it may run."""

    round_index: int
    call_index: int
    tool_name: str
    query: str
    code: ReasonCode | None = None

    @property
    def is_admitted(self) -> bool:
        """May it run?"""
        return self.code is None


def admit(plan: QueryPlan, query: str, tools: Mapping[str, ToolFacts], policy: Policy) -> tuple[Verdict, ...]:
    """A verdict for each call in plan order. Only admitted calls use up the budget."""
    verdicts: list[Verdict] = []
    used = 0
    for round_index, calls in enumerate(plan.tool_rounds):
        for call_index, call in enumerate(calls):
            code = _refusal(call.tool, tools, policy, used)
            used += code is None
            verdicts.append(
                Verdict(round_index, call_index, call.tool, query if call.query is None else call.query, code)
            )
    return tuple(verdicts)


def _refusal(name: str, tools: Mapping[str, ToolFacts], policy: Policy, used: int) -> ReasonCode | None:
    if used >= policy.max_calls:
        return ReasonCode.BUDGET_EXHAUSTED
    facts = tools.get(name)
    if facts is None:
        return ReasonCode.NOT_REGISTERED
    if facts.read_only is not True:
        return ReasonCode.NOT_READ_ONLY
    if not isinstance(facts.provider, str) or facts.provider not in policy.allowed_providers:
        return ReasonCode.PROVIDER_NOT_ALLOWED
    if has_unsafe_word(facts.name) or has_unsafe_word(facts.provider):
        return ReasonCode.UNSAFE_NAME
    if facts.is_index_behind:
        return ReasonCode.STALE_INDEX
    return None
