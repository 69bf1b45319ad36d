"""One search's use of a language model: asked for a plan, for an order, for both, or for neither.

Nothing of a client is imported before a search asks for one. Whatever goes wrong is a reason code in ``degradations``
under the name ``planner`` or ``reranker``, and the rules' plan or order stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from arr_sql.core.router_models import Degradation, QueryPlan, ReasonCode
from arr_sql.errors import InputError
from arr_sql.policy.plan_rules import rule_plan
from arr_sql.retrieval.rule_reranker import Reranked

if TYPE_CHECKING:
    from collections.abc import Callable

    from arr_sql.llm.budget import RetrievalBudget
    from arr_sql.llm.language_model import LanguageModel

PlannerName = Literal["rules", "llm"]
RerankName = Literal["rule", "llm", "hybrid"]
ADVISERS = ("planner", "reranker")
"""Where a degradation's ``tool_name`` is one of these and its code is about advice, it is about advice."""


def installed_language_model() -> LanguageModel:
    """The model that the environment names, or one that says that it is off."""
    from arr_sql.llm.language_model import LanguageModel

    return LanguageModel()


@dataclass
class Advice:
    """What one search asks of a model, and what came of it."""

    source: Callable[[], LanguageModel]
    planner: PlannerName = "rules"
    rerank: RerankName = "rule"
    budget: RetrievalBudget | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    _degradations: dict[str, Degradation] = field(default_factory=dict)
    _model: LanguageModel | None = None

    def __post_init__(self) -> None:
        for name, value, kind in (("planner", self.planner, PlannerName), ("rerank", self.rerank, RerankName)):
            if value not in get_args(kind):
                raise InputError(f"{name} is {value!r}; it must be one of {', '.join(get_args(kind))}.")

    def plan(self, query: str, names: Sequence[str]) -> tuple[QueryPlan, Literal["rules", "model"]]:
        """The model's plan if one was asked for and is sound, else the rules'."""
        if self.planner == "rules":
            return rule_plan(names), "rules"
        from arr_sql.llm.prompt_files import load_prompt
        from arr_sql.policy.llm_query_planner import propose_plan

        prompt = load_prompt("planner")
        proposal = propose_plan(query, names, self._complete(), prompt)
        self._note("planner", proposal.code, proposal.detail, prompt=prompt.version, stripped=list(proposal.stripped))
        return (rule_plan(names), "rules") if proposal.plan is None else (proposal.plan, "model")

    def reorder(self, query: str, best: Sequence[Reranked]) -> list[Reranked]:
        """``best`` in the model's or the blended order if one was asked for and is sound, else as it is."""
        if self.rerank == "rule":
            return list(best)
        from arr_sql.llm.prompt_files import load_prompt
        from arr_sql.retrieval.llm_reranker import BLEND_VERSION, candidates, cut_count, judge, reorder

        items, prompt = candidates(best), load_prompt("reranker")
        told: dict[str, Any] = {"mode": self.rerank, "blend": BLEND_VERSION, "prompt": prompt.version}
        if len(items) < 2:  # nothing to order, so nothing is asked
            self.notes["reranker"] = {**told, "outcome": "not_asked"}
            return list(best)
        judgement = judge(query, items, self._complete(), prompt)
        self._note(
            "reranker", judgement.code, judgement.detail, **told, stripped=list(judgement.stripped),
            cut=cut_count(items), scores=sorted((judgement.scores or {}).items()),
        )  # fmt: skip
        return list(best) if judgement.scores is None else reorder(query, best, judgement.scores, self.rerank)

    def placed_around(self, degradations: Sequence[Degradation]) -> tuple[Degradation, ...]:
        """The run's degradations with the planner's before and the reranker's after them."""
        planner, reranker = ([self._degradations[name]] if name in self._degradations else [] for name in ADVISERS)
        return (*planner, *degradations, *reranker)

    def record(self) -> dict[str, Any] | None:
        """What the retrieval record keeps; None where nothing was asked for."""
        if self.planner == "rules" and self.rerank == "rule":
            return None
        settings = self._model.settings if self._model is not None else None
        where = "" if settings is None or not settings.model else "local" if settings.endpoint.is_local else "remote"
        return {"model": settings.model if settings is not None else "", "where": where, **self.notes}

    def _complete(self) -> Any:
        if self._model is None:
            self._model = self.source()
        if self.budget is None:
            from arr_sql.llm.budget import CallBudget

            self.budget = CallBudget().for_retrieval()
        return self._model.asking(self.budget)

    def _note(self, name: str, code: ReasonCode | None, detail: Mapping[str, int], **told: Any) -> None:
        self.notes[name] = {**told, "outcome": "used" if code is None else str(code)}
        if code is not None:
            self._degradations[name] = Degradation(code=code, tool_name=name, detail=dict(detail))


def is_advice(degradation: Mapping[str, Any], name: str) -> bool:
    """Is a recorded degradation about the advice of ``name`` (and not about a channel that happens to be called so)?"""
    from arr_sql.policy.plan_rules import PLAN_FAULTS

    code = degradation["code"]
    return degradation["tool_name"] == name and (code.startswith("llm_") or code in PLAN_FAULTS)


def recorded_order(record: Mapping[str, Any]) -> Callable[[str, Sequence[Reranked]], list[Reranked]] | None:
    """The order that a record's own scores of the model make: a replay asks nobody."""
    told = (record["language_model"] or {}).get("reranker", {})
    if told.get("outcome") != "used":
        return None
    from arr_sql.retrieval.llm_reranker import reorder

    scores, mode = {chunk_id: float(score) for chunk_id, score in told["scores"]}, told["mode"]
    return lambda query, best: reorder(query, best, scores, mode)


def is_of_another_blend(record: Mapping[str, Any]) -> bool:
    """Did another version of the reranker turn the model's scores into this record's order?"""
    from arr_sql.retrieval.llm_reranker import BLEND_VERSION

    told = (record["language_model"] or {}).get("reranker", {})
    return bool(told.get("outcome") == "used" and told["blend"] != BLEND_VERSION)
