"""An order proposed by a language model, and the two ways to use it (contract 11.5, 12.4, 12.5).

The model is shown the query and the texts of at most 20 candidates, credentials taken out, under labels that say nothing
(``e01``); it gives each label a score. ``llm`` orders by those scores. ``hybrid`` takes the mean of the model's score and
the rule score (brought to 0..1), with one rule above it: among the first n there are, for every n, at least as many
clear exact matches as the rules put there. So a text that holds what was asked for to the letter can give way to another
such text, and to nothing else.

Any fault gives a code and the rules' order. What is reordered is the rules' own list: nothing can be added, dropped or
changed but places, scores and their reasons (tests/llm/test_reranker.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from arr_sql.core.advice import Ask, Complete, Prompt
from arr_sql.core.analysis import fold, identifiers, phrase_in, query_terms
from arr_sql.core.canonical import significant
from arr_sql.core.redaction import redact, withhold_lines
from arr_sql.core.router_models import MAX_RERANKED, ReasonCode
from arr_sql.core.strict_json import Stripped, reply_json
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.needles import quoted
from arr_sql.retrieval.rule_reranker import Reranked

RerankMode = Literal["rule", "llm", "hybrid"]
BLEND_VERSION = "1"
"""Kept with every record that used a model's scores: how they became an order."""
MODEL_WEIGHT = 0.5
MAX_SHOWN = 1_200
"""Characters of a candidate that the model is shown; how many were cut is in the record."""


@dataclass(frozen=True)
class Judgement:
    """What came of asking. Exactly one of ``scores`` (chunk id to 0..1) and ``code`` is set."""

    scores: Mapping[str, float] | None = None
    code: ReasonCode | None = None
    detail: Mapping[str, int] = field(default_factory=dict)
    stripped: tuple[Stripped, ...] = ()


def candidates(best: Sequence[Reranked]) -> list[Reranked]:
    """Those that are judged: what the rule reranker scored, at most 20."""
    return [item for item in best if item.score is not None][:MAX_RERANKED]


def judge(query: str, items: Sequence[Reranked], complete: Complete, prompt: Prompt) -> Judgement:
    """Ask for a score of each item. Never raises."""
    reply = complete(reranker_ask(query, items, prompt))
    if reply.text is None:
        return Judgement(code=reply.code or ReasonCode.LLM_NOT_A_COMPLETION, detail=reply.detail)
    return read_scores(reply.text, items, prompt.version)


def reranker_ask(query: str, items: Sequence[Reranked], prompt: Prompt) -> Ask:
    """All that a model is shown: the query, and each candidate's heading and text up to a limit, without credentials."""
    shown = {
        "query": _storable(redact(query)),
        "candidates": [{"id": label, "text": shown_text(item.item.hit)} for label, item in _labelled(items).items()],
    }
    return Ask(prompt, json.dumps(shown, ensure_ascii=False), _schema(list(_labelled(items)), prompt.version))


def shown_text(hit: Hit) -> str:
    """What the model is shown of one hit."""
    text = _whole_text(hit)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + " [cut]"


def cut_count(items: Sequence[Reranked]) -> int:
    """How many of the items are shown only in part."""
    return sum(len(_whole_text(item.item.hit)) > MAX_SHOWN for item in items)


def read_scores(text: str, items: Sequence[Reranked], version: str) -> Judgement:
    """The scores in a model's reply, or the first rule that it breaks. Pure."""
    try:
        value, stripped = reply_json(text)
    except ValueError:
        return Judgement(code=ReasonCode.LLM_NOT_JSON)
    labelled = _labelled(items)
    code = _fault(value, list(labelled), version)
    if code is not None:
        return Judgement(code=code, stripped=stripped)
    scores = {labelled[given["id"]].item.hit.chunk_id: significant(float(given["score"])) for given in value["scores"]}
    return Judgement(scores, stripped=stripped)


def reorder(query: str, best: Sequence[Reranked], scores: Mapping[str, float], mode: RerankMode) -> list[Reranked]:
    """``best`` in the order that ``mode`` makes of the model's ``scores``. Pure; the same items come out.

    Scores that are not those of the candidates (a replay on another store) change nothing.
    """
    head = candidates(best)
    if mode == "rule" or {item.item.hit.chunk_id for item in head} != set(scores):
        return list(best)
    chosen = {item.item.hit.chunk_id for item in head}
    rest = [item for item in best if item.item.hit.chunk_id not in chosen]
    return (_by_model(head, scores) if mode == "llm" else _blended(query, head, scores)) + rest


def is_exact(query: str, hit: Hit) -> bool:
    """Does the text hold the whole query as a phrase, or all that it quotes, or all identifiers that it names?"""
    text = f"{hit.heading}\n{hit.content}"
    if len(query_terms(query)) > 1 and phrase_in(fold(query).strip(), text):
        return True
    wanted = [string for string in quoted(query) if fold(string).strip()] or identifiers(query)
    return bool(wanted) and all(phrase_in(fold(name).strip(), text) for name in wanted)


def _by_model(head: Sequence[Reranked], scores: Mapping[str, float]) -> list[Reranked]:
    """By the model's score; ties stay as the rules have them."""
    scored = [
        item._replace(score=scores[item.item.hit.chunk_id], reason=f"model={scores[item.item.hit.chunk_id]:.3f}")
        for item in head
    ]
    return sorted(scored, key=lambda item: -(item.score or 0.0))


def _blended(query: str, head: Sequence[Reranked], scores: Mapping[str, float]) -> list[Reranked]:
    """The mean of both scores, taken from the best down; an exact match steps forward where else one would be missing."""
    highest = max((item.score or 0.0 for item in head), default=0.0)
    exact = {item.item.hit.chunk_id for item in head if is_exact(query, item.item.hit)}
    waiting = []
    for item in head:
        rule = (1 - MODEL_WEIGHT) * ((item.score or 0.0) / highest if highest > 0 else 0.0)
        model = MODEL_WEIGHT * scores[item.item.hit.chunk_id]
        waiting.append(item._replace(score=significant(rule + model), reason=f"rule={rule:.3f} model={model:.3f}"))
    waiting.sort(key=lambda item: -(item.score or 0.0))  # stable: ties stay as the rules have them
    placed: list[Reranked] = []
    due = have = 0
    for by_rules in head:
        due += by_rules.item.hit.chunk_id in exact
        first = waiting[0]
        if have < due and first.item.hit.chunk_id not in exact:
            lifted = next(item for item in waiting if item.item.hit.chunk_id in exact)
            waiting.remove(lifted)
            lift = (first.score or 0.0) - (lifted.score or 0.0)
            placed.append(lifted._replace(score=first.score, reason=f"{lifted.reason} exact={lift:.3f}"))
        else:
            placed.append(waiting.pop(0))
        have += placed[-1].item.hit.chunk_id in exact
    return placed


def _fault(value: Any, labels: Sequence[str], version: str) -> ReasonCode | None:
    if not isinstance(value, dict) or not isinstance(value.get("version"), str):
        return ReasonCode.LLM_WRONG_SHAPE
    if value["version"] != version:
        return ReasonCode.LLM_WRONG_VERSION
    given = value.get("scores")
    if set(value) != {"version", "scores"} or not isinstance(given, list):
        return ReasonCode.LLM_WRONG_SHAPE
    if not all(isinstance(one, dict) and set(one) == {"id", "score"} and isinstance(one["id"], str) for one in given):
        return ReasonCode.LLM_WRONG_SHAPE
    if sorted(one["id"] for one in given) != sorted(labels):
        return ReasonCode.LLM_WRONG_IDS
    return None if all(_is_score(one["score"]) for one in given) else ReasonCode.LLM_BAD_SCORE


def _is_score(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1  # false for NaN


def _labelled(items: Sequence[Reranked]) -> dict[str, Reranked]:
    return {f"e{number:02d}": item for number, item in enumerate(items, 1)}


def _whole_text(hit: Hit) -> str:
    text = f"{hit.heading}\n{hit.content}" if hit.heading else hit.content
    return _storable(redact(withhold_lines(text).text))


def _storable(text: str) -> str:
    """Half a character can't be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _schema(labels: Sequence[str], version: str) -> dict[str, Any]:
    """The reply's format as JSON Schema, for servers that can hold a model to one. The checks above do not rely on it."""
    one = {
        "type": "object", "properties": {"id": {"type": "string", "enum": list(labels)}, "score": {"type": "number"}},
        "required": ["id", "score"], "additionalProperties": False,
    }  # fmt: skip
    scores = {"type": "array", "minItems": len(labels), "maxItems": len(labels), "items": one}
    return {
        "type": "object", "properties": {"version": {"type": "string", "enum": [version]}, "scores": scores},
        "required": ["version", "scores"], "additionalProperties": False,
    }  # fmt: skip
