"""Two runs side by side, and a run against expectations. Pure.

Topics are paired by id. The first stage at which a topic differs is the first of the channels, fusion and reranking whose
whole list is another one, so a difference in the answer is traced to where it began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arr_sql.errors import InputError
from arr_sql.evaluation.bootstrap import intervals
from arr_sql.evaluation.metrics import mean
from arr_sql.evaluation.modes import CHANNELS, FUSIONS, RERANKED, SEARCH

STAGES = (*CHANNELS, *FUSIONS, RERANKED, SEARCH)
EQUAL = 1e-9
DEFAULT_TOLERANCE = 0.005
FLOOR_ERRORS = ("lost_recall", "off_topic", "nonsense", "on_subject", "near_miss")
"""What ``python -m benchmarks.answer_floor`` measures: recall that the floor costs, and who gets an answer without one."""
LOWER_IS_BETTER = frozenset({"scope_leak_count", "false_answer_rate", *FLOOR_ERRORS})


@dataclass(frozen=True)
class TopicChange:
    """A topic whose value or list differs; ``stage`` is '' when every list is the same."""

    topic_id: str
    before: float
    after: float
    stage: str


@dataclass(frozen=True)
class Comparison:
    """Of one metric in one mode: the second run against the first. ``interval`` is of the mean difference, 95 %."""

    mode: str
    metric: str
    before: float
    after: float
    interval: tuple[float, float]
    wins: int
    losses: int
    ties: int
    changes: tuple[TopicChange, ...]
    only_in_one: int


def compare(first: Mapping[str, Any], second: Mapping[str, Any], mode: str, metric: str) -> Comparison:
    """Raises InputError when a run lacks the mode or metric, or no topic is in both."""
    rows = [{t["topic_id"]: t for t in run["topics"] if t["has_answer"]} for run in (first, second)]
    shared = [name for name in rows[0] if name in rows[1]]
    if not shared:
        raise InputError("The two runs have no topic in common. Compare runs of the same gold set.")
    pairs: list[tuple[str, float, float, str]] = []
    for name in shared:
        one, other = rows[0][name]["modes"], rows[1][name]["modes"]
        pairs.append((name, _value(one, mode, metric), _value(other, mode, metric), _first_difference(one, other)))
    differences = [after - before for _, before, after, _ in pairs]
    changes = [TopicChange(*pair) for pair in pairs if pair[3] or abs(pair[2] - pair[1]) > EQUAL]
    changes.sort(key=lambda change: (change.after - change.before, change.topic_id))
    return Comparison(
        mode, metric, mean([p[1] for p in pairs]), mean([p[2] for p in pairs]), intervals({"": differences})[""],
        sum(d > EQUAL for d in differences), sum(d < -EQUAL for d in differences),
        sum(abs(d) <= EQUAL for d in differences), tuple(changes), len(rows[0].keys() ^ rows[1].keys()),
    )  # fmt: skip


def _value(modes: Mapping[str, Any], mode: str, metric: str) -> float:
    if mode not in modes:
        raise InputError(f"A run has no mode '{mode}' here. It has {', '.join(modes)}.")
    found = modes[mode].get(metric)
    if type(found) not in (int, float):
        figures = ", ".join(name for name, value in modes[mode].items() if type(value) in (int, float))
        raise InputError(f"A run has no metric '{metric}' here. It has {figures}.")
    return float(found)


def _first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    both = [stage for stage in STAGES if stage in one and stage in other]
    return next((stage for stage in both if one[stage]["digest"] != other[stage]["digest"]), "")


@dataclass(frozen=True)
class Check:
    """One expected value and what was measured; ``holds`` within the tolerance."""

    name: str
    mode: str
    metric: str
    expected: float
    measured: float | None
    holds: bool


def is_expectation(value: Mapping[str, Any]) -> bool:
    """Is it a file of expectations, and not a run?"""
    return "expected" in value


def is_readable(value: Any) -> bool:
    """Is it a run, a table of figures, or expectations, in the shape that the functions here read? Files are anybody's."""
    if not isinstance(value, dict):
        return False
    if "expected" in value or "measured" in value:
        return _are_figures(value.get("expected", value.get("measured"))) and type(value.get("tolerance", 0.0)) in (
            int,
            float,
        )
    topics, gold = value.get("topics"), value.get("gold")
    return (
        isinstance(topics, list)
        and all(isinstance(topic, dict) and topic.keys() >= {"topic_id", "has_answer", "modes"} for topic in topics)
        and isinstance(gold, dict)
        and "name" in gold
        and _are_figures({"": value.get("modes")})
    )


def _are_figures(value: Any) -> bool:
    """Set, mode, metric, and what a metric came to: numbers where it is one figure."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            isinstance(modes, dict)
            and all(
                isinstance(metrics, dict)
                and all(isinstance(name, str) and not isinstance(held, (str, bool)) for name, held in metrics.items())
                for metrics in modes.values()
            )
            for modes in value.values()
        )
    )


def check(run: Mapping[str, Any], expectation: Mapping[str, Any], tolerance: float | None = None) -> list[Check]:
    """Every expectation for what ``run`` measured. One that it did not measure does not hold.

    ``tolerance`` (else the file's, else 0.005) is how far a value may be below what is expected, or above it where lower
    is better; a leak is never tolerated. Raises InputError when the file expects nothing of this set.
    """
    limit = float(expectation.get("tolerance", DEFAULT_TOLERANCE)) if tolerance is None else tolerance
    measured = measurements(run)
    checks = []
    for name, modes in expectation["expected"].items():
        if name not in measured:
            continue
        for mode, metrics in modes.items():
            for metric, wanted in metrics.items():
                value = measured[name].get(mode, {}).get(metric)
                checks.append(Check(name, mode, metric, float(wanted), value, _holds(metric, wanted, value, limit)))
    if not checks:
        raise InputError(
            f"The expectations are of {', '.join(expectation['expected'])}; the run is of {', '.join(measured)}."
        )
    return checks


def measurements(run: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """Set, mode, metric, value: of a run of one set, or of a benchmark's table over several (key ``measured``)."""
    return dict(run["measured"]) if "measured" in run else {run["gold"]["name"]: run["modes"]}


def _holds(metric: str, wanted: float, value: float | None, tolerance: float) -> bool:
    if value is None:
        return False
    if metric == "scope_leak_count":
        return value <= wanted
    return value <= wanted + tolerance if metric in LOWER_IS_BETTER else value >= wanted - tolerance
