"""What a ranked list is worth, as trec_eval defines it (https://github.com/usnistgov/trec_eval). Pure.

A *ranking* is item ids best first, each once; *grades* map judged ids to a grade. An item is relevant when its grade is 1
or more; one that is not judged is not relevant. A topic without a relevant item has no recall: its value is 0 here, and
means leave it out (``research_eval``). ``tests/evaluation/test_metrics.py`` compares with trec_eval itself on random
runs, to 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

Grades = Mapping[str, int]


def relevant(grades: Grades) -> set[str]:
    """The ids with a grade of 1 or more."""
    return {item for item, grade in grades.items() if grade > 0}


def recall_at(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """The share of the relevant items among the first ``k`` (trec_eval's ``recall_k``)."""
    wanted = relevant(grades)
    return len(wanted & set(_checked(ranking)[:k])) / len(wanted) if wanted else 0.0


def reciprocal_rank(ranking: Sequence[str], grades: Grades) -> float:
    """1 / the rank of the first relevant item, 0 when there is none (``recip_rank``; its mean is MRR)."""
    wanted = relevant(grades)
    return next((1 / rank for rank, item in enumerate(_checked(ranking), 1) if item in wanted), 0.0)


def average_precision(ranking: Sequence[str], grades: Grades) -> float:
    """The mean over all relevant items of the precision at their rank, 0 for those not in the list (``map``)."""
    wanted = relevant(grades)
    found, total = 0, 0.0
    for rank, item in enumerate(_checked(ranking), 1):
        if item in wanted:
            found += 1
            total += found / rank
    return total / len(wanted) if wanted else 0.0


def ndcg_at(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """Normalised discounted cumulative gain (``ndcg_cut_k``): gain is the grade, discount log2(rank + 1).

    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; the ideal list is made of all judged items.
    """
    gained = sum(
        max(0, grades.get(item, 0)) / math.log2(rank + 1) for rank, item in enumerate(_checked(ranking)[:k], 1)
    )
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k]
    best = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))
    return gained / best if best else 0.0


def scope_leak_count(found: Iterable[str], own: frozenset[str] | set[str]) -> int:
    """How many ids of a whole list, however long, are not among those of the topic's own scope."""
    return sum(item not in own for item in found)


def false_answer_rate(answered: Sequence[bool]) -> float:
    """Of topics that have no answer, the share that got one all the same; 0 when there is no such topic."""
    return sum(answered) / len(answered) if answered else 0.0


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, exactly rounded; 0 of nothing."""
    return math.fsum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of ``values`` do not exceed (nearest rank); 0 of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _checked(ranking: Sequence[str]) -> Sequence[str]:
    """Raises ValueError for an item that is ranked twice: its second place would be counted again."""
    if len(set(ranking)) < len(ranking):
        raise ValueError("A ranking holds an item twice.")
    return ranking
