"""The fit of the floor's weights: a logistic regression for the directions, then the constant that errs least. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from arr_sql.index.embedders.numpy_threads import load_numpy

load_numpy()
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from arr_sql.evaluation.metrics import mean  # noqa: E402
from arr_sql.retrieval.answer_floor import AnswerEvidence, AnswerFloor, foreign_parts, own_parts, strength  # noqa: E402

Numbers = NDArray[np.float64]
MOST_LOST, MOST_FALSE = 0.02, 0.10
"""What the floor may cost in recall, and how many questions without an answer may get one."""
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


def is_foreign(seen: Seen) -> bool:
    """Are all texts that were found in another script than the question?"""
    return seen.evidence is not None and seen.evidence.own is None


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
    floor = _fit_sum(
        replace(_NONE, model_id=model_id, name_covered=AnswerFloor().name_covered),
        [
            (item, foreign_parts(evidence.foreign, _ONES))
            for item, evidence in _counted(foreign, True)
            if evidence.foreign
        ],
    )
    judged = _counted(same, False)
    gaps = [evidence.own.gap for item, evidence in judged if evidence.own and item.kind in FALSE_KINDS]
    floor = replace(floor, stands_out=round(float(np.quantile(gaps, 1 - ONE_IN)) + 0.001, 3))
    return _fit_sum(
        floor, [(item, own_parts(evidence.own, evidence, _ONES)) for item, evidence in judged if evidence.own]
    )


def _fit_sum(floor: AnswerFloor, rows: Sequence[tuple[Seen, Mapping[str, float]]]) -> AnswerFloor:
    """The floor with the weights and the constant (the last one) of a sum: the weights by regression on the questions that
    nothing else decides, the constant by the errors on all.
    """
    unsure = [(item, values) for item, values in rows if item.evidence is not None and not item.evidence.is_exact]
    *names, constant = unsure[0][1]
    table = np.array([[values[name] for name in names] for _, values in unsure])
    has_answer = np.array([item.kind == "own" for item, _ in unsure])
    weights, intercept = _regression(table, has_answer, _importance([item for item, _ in unsure]))
    floor = replace(floor, **dict(zip(names, (round(float(w), 2) for w in weights), strict=True)))
    steps = np.arange(intercept - 4, intercept + 4, 0.01)
    return replace(floor, **{constant: _best([item for item, _ in rows], floor, constant, steps)})


_NONE, _ONES = (AnswerFloor("", *(value for _ in fields(AnswerFloor)[1:])) for value in (0.0, 1.0))


def _counted(seen: Sequence[Seen], of_foreign: bool) -> list[tuple[Seen, AnswerEvidence]]:
    """Those that the floor should answer, and those that it should not. What the search had not found is neither."""
    return [
        (item, item.evidence)
        for item in seen
        if item.evidence is not None
        and is_foreign(item) is of_foreign
        and (item.kind in FALSE_KINDS or item.recall > 0)
    ]


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
    """The value of one field with which the squared errors, each beside what is allowed, are least: the mean of the
    collections' lost recall and the mean of their false answers count the same. A strength grows or falls evenly with each of
    the fields asked for, so the nearest three places are enough.
    """
    groups: dict[tuple[str, str], list[Seen]] = {}
    for item in seen:
        groups.setdefault((item.collection, item.kind), []).append(item)

    def errors(value: float) -> float:
        tried = replace(floor, **{name: value})
        lost = [(lost_recall(items, tried) / MOST_LOST) ** 2 for (_, kind), items in groups.items() if kind == "own"]
        false = [(answered(items, tried) / MOST_FALSE) ** 2 for (_, kind), items in groups.items() if kind != "own"]
        return mean(lost) + mean(false)

    coarse = min(steps[::10].tolist(), key=errors)
    close = [value for value in steps.tolist() if abs(value - coarse) <= 10 * (steps[1] - steps[0])]
    return round(float(min(close, key=errors)), 3)
