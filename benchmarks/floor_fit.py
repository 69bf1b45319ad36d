"""The fit of the floor's weights: a logistic regression for the directions, then the constant that errs least. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from arr_sql.index.embedders.numpy_threads import load_numpy

load_numpy()
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from arr_sql.retrieval.answer_floor import AnswerEvidence, AnswerFloor, parts, strength  # noqa: E402

Numbers = NDArray[np.float64]
MOST_LOST, MOST_FALSE = 0.01, 0.10
"""What the floor may cost in recall, and how many questions without an answer may get one. The aim is 2 % of recall; a
collection that the fit has not seen loses more than those it has.
"""
PENALTY = 1e-3
"""On the squares of the weights of standardised evidence."""
FALSE_KINDS = ("off_topic", "nonsense")
"""Questions without an answer that the fit sees; near misses and questions on the subject are only reported."""
ONE_IN = 0.02
"""So many of the questions without an answer have a nearest vector that stands out by nearly ``stands_out``. Chosen by hand:
at one in a hundred a paraphrase of the sample project, which shares no word with its answer, is set aside.
"""


@dataclass(frozen=True)
class Seen:
    """One question asked: what was found, and the recall among the first ten (0 for a question without an answer)."""

    collection: str
    corpus: str
    is_whole: bool
    kind: str
    half: int
    """0 or 1: what is fitted on the questions of one half can be reported on the other."""
    evidence: AnswerEvidence | None
    recall: float


def is_answered(seen: Seen, floor: AnswerFloor) -> bool:
    """Would the search answer? Without a vector to compare there is nothing to judge, and nothing was found either."""
    return seen.evidence is not None and strength(seen.evidence, floor) >= 0


def lost_recall(seen: Sequence[Seen], floor: AnswerFloor) -> float:
    """The share of the recall that the floor costs."""
    whole = sum(item.recall for item in seen)
    return 1 - sum(item.recall for item in seen if is_answered(item, floor)) / whole if whole else 0.0


def answered(seen: Sequence[Seen], floor: AnswerFloor) -> float:
    """The share of questions that get an answer."""
    return sum(is_answered(item, floor) for item in seen) / len(seen) if seen else 0.0


def fit(same: Sequence[Seen], foreign: Sequence[Seen], model_id: str) -> AnswerFloor:
    """Everything for texts in the question's script, fitted on ``same``, and for texts in another, on ``foreign``."""
    judged = [(item, item.evidence) for item in same if _counts(item, False) and item.evidence is not None]
    unsure = [(item, evidence) for item, evidence in judged if not evidence.is_exact]
    *names, constant = parts(unsure[0][1], _ONES)
    table = np.array([[parts(evidence, _ONES)[name] for name in names] for _, evidence in unsure])
    has_answer = np.array([item.kind == "own" for item, _ in unsure])
    weights, intercept = _regression(table, has_answer, _importance([item for item, _ in unsure]))
    others = [item for item in foreign if _counts(item, True)]
    floor = replace(_NONE, model_id=model_id)
    floor = replace(floor, foreign_stands_out=_best(others, floor, "foreign_stands_out", np.arange(0, 0.25, 0.001)))
    floor = replace(floor, **dict(zip(names, (round(float(w), 2) for w in weights), strict=True)))
    nonsense = [evidence.gap for item, evidence in judged if item.kind in FALSE_KINDS]
    floor = replace(floor, stands_out=round(float(np.quantile(nonsense, 1 - ONE_IN)) + 0.001, 3))
    steps = np.arange(intercept - 4, intercept + 4, 0.01)
    return replace(floor, **{constant: _best([item for item, _ in judged], floor, constant, steps)})


_NONE, _ONES = (AnswerFloor("", *(value for _ in fields(AnswerFloor)[1:])) for value in (0.0, 1.0))


def _counts(item: Seen, is_foreign: bool) -> bool:
    """Is it one that the floor should answer, or should not? What the search had not found is neither."""
    is_asked = item.evidence is not None and item.evidence.is_foreign is is_foreign
    return is_asked and (item.kind in FALSE_KINDS or item.recall > 0)


def _importance(seen: Sequence[Seen]) -> Numbers:
    """Each collection counts the same, whole and in samples, with and without an answer; within, recall counts."""
    share = {"own": 1.0, "off_topic": 0.7, "nonsense": 0.3}
    keys = [(item.collection, item.is_whole, item.kind) for item in seen]
    own = np.array([item.recall if item.kind == "own" else 1.0 for item in seen])
    totals: dict[tuple[str, bool, str], float] = {}
    for key, value in zip(keys, own, strict=True):
        totals[key] = totals.get(key, 0.0) + value
    weights = np.array([share[key[2]] * value / totals[key] for key, value in zip(keys, own, strict=True)])
    return np.asarray(weights / weights.sum())


def _regression(table: Numbers, has_answer: NDArray[np.bool_], importance: Numbers) -> tuple[Numbers, float]:
    """Logistic regression by Newton's method with a ridge penalty (Hastie, Tibshirani, Friedman 2009, 4.4)."""
    mean, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    rows = np.column_stack([(table - mean) / spread, np.ones(len(table))])
    ridge = np.full(rows.shape[1], PENALTY)
    ridge[-1] = 1e-6
    w = np.zeros(rows.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(rows @ w, -30, 30)))
        gradient = rows.T @ (importance * (p - has_answer)) + ridge * w
        curvature = (rows * (importance * p * (1 - p))[:, None]).T @ rows + np.diag(ridge)
        w -= np.linalg.solve(curvature, gradient)
    weights = w[:-1] / spread
    return weights, float(w[-1] - weights @ mean)


def _best(seen: Sequence[Seen], floor: AnswerFloor, name: str, steps: Numbers) -> float:
    """The value of one field with which the sum over collections of the squared errors, each beside what is allowed, is
    least. A strength grows or falls evenly with each of the fields asked for, so the nearest three places are enough.
    """
    groups: dict[tuple[str, str], list[Seen]] = {}
    for item in seen:
        groups.setdefault((item.collection, item.kind), []).append(item)

    def errors(value: float) -> float:
        tried = replace(floor, **{name: value})
        return sum(
            (lost_recall(items, tried) / MOST_LOST) ** 2
            if kind == "own"
            else (answered(items, tried) / MOST_FALSE) ** 2
            for (_, kind), items in groups.items()
        )

    coarse = min(steps[::10].tolist(), key=errors)
    close = [value for value in steps.tolist() if abs(value - coarse) <= 10 * (steps[1] - steps[0])]
    return round(float(min(close, key=errors)), 3)
