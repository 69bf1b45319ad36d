"""Score answers on the dev suites: token F1, exact match, and buckets by evidence position."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

HAN = re.compile(r"[\u4e00-\u9fff]")
WORD = re.compile(r"[\u4e00-\u9fff]|[a-z0-9]+")
ARTICLES = {"a", "an", "the"}


def answer_units(text: str) -> list[str]:
    """Split an answer into comparable units: one Han character or one Latin word each."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [unit for unit in WORD.findall(folded) if unit not in ARTICLES]


def f1(predicted: str, gold: str) -> float:
    """Harmonic mean of unit precision and recall, 0..1. Two empty answers count as equal."""
    left, right = Counter(answer_units(predicted)), Counter(answer_units(gold))
    if not left or not right:
        return float(left == right)
    common = sum((left & right).values())
    if common == 0:
        return 0.0
    precision, recall = common / sum(left.values()), common / sum(right.values())
    return 2 * precision * recall / (precision + recall)


def best_f1(predicted: str, golds: Iterable[str]) -> float:
    """The best score over all accepted answers."""
    return max((f1(predicted, gold) for gold in golds), default=0.0)


def bucket_by_position(position: int, context: int) -> str:
    """Name the third of the context in which the evidence starts."""
    if not 0 <= position < context:
        raise ValueError(f"position {position} is outside a context of {context}")
    return ("front", "middle", "back")[3 * position // context]


def suite_mean(scores: dict[str, list[float]], names: Iterable[str]) -> float:
    """Mean of suite means, in percent. Suites count equally, whatever their size."""
    means = [sum(scores[name]) / len(scores[name]) for name in names]
    return 100 * sum(means) / len(means)


def answered_in_other_language(question: str, answer: str) -> bool:
    """True when a Chinese question got an answer without any Han character (numbers excepted)."""
    if not HAN.search(question) or HAN.search(answer):
        return False
    return bool(re.search(r"[A-Za-z]", answer))
