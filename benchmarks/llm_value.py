"""What a language model adds to the rules on a gold set, class by class, in nDCG@10.

    python -m benchmarks.llm_value data/gold/research_zh_en --store /tmp/gold

asks the model that the environment names (ARR_LLM_*, see docs/language-model.md), at most 20 calls, of which each topic
takes two. tests/llm/test_gold_value.py runs the same with a scripted model.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from arr_sql.database.evaluating import EvaluationStore
from arr_sql.evaluation.gold import load_gold
from arr_sql.evaluation.gold_models import GoldSet
from arr_sql.evaluation.metrics import mean, ndcg_at
from arr_sql.evaluation.units import Units
from arr_sql.llm.budget import PER_RUN, CallBudget
from arr_sql.llm.language_model import LanguageModel

WAYS: dict[str, dict[str, Any]] = {
    "rules": {}, "planner": {"planner": "llm"}, "rerank llm": {"rerank": "llm"}, "rerank hybrid": {"rerank": "hybrid"},
    "both, llm": {"planner": "llm", "rerank": "llm"}, "both, hybrid": {"planner": "llm", "rerank": "hybrid"},
}  # fmt: skip
CLASSES = ("cross_concept", "cross_language", "exact_term")
K = 10


def measure(
    gold: GoldSet, store: EvaluationStore, ways: Sequence[str], classes: Sequence[str] = CLASSES,
    budget: Callable[[], CallBudget] = CallBudget, limit: int | None = None,
) -> dict[str, dict[str, dict[str, float]]]:  # fmt: skip
    """nDCG@10 by way, class and topic. ``budget`` is asked once for each way."""
    chunks = {alias: store.chunks(alias) for alias in gold.scopes}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for way in ways:
        shared = budget()
        for topic in [topic for topic in gold.topics if topic.topic_class in classes][:limit]:
            units = Units(gold.judgements.get(topic.topic_id, ()), chunks[topic.scope])
            if any(grade > 0 for grade in units.grades.values()):
                asked = {**WAYS[way], "llm_budget": shared.for_retrieval()}
                result, _ = store.search(topic.scope, topic.query, 100, **asked)
                ranking = units.ranking(item.chunk_id for item in result.evidence)
                by_class = found.setdefault(way, {}).setdefault(topic.topic_class, {})
                by_class[topic.topic_id] = ndcg_at(ranking, units.grades, K)
    return found


def table(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """One line a way: the mean of each class."""
    classes = list(next(iter(found.values())))
    lines = ["| way | " + " | ".join(classes) + " |", "|---|" + "---|" * len(classes)]
    for way, by_class in found.items():
        lines.append(
            f"| {way} | " + " | ".join(f"{mean(list(by_class[name].values())):.3f}" for name in classes) + " |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure with the model of the environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--store", type=Path, required=True, help="a folder for the store, new or of the same set")
    parser.add_argument("--class", dest="topic_class", default="cross_language")
    parser.add_argument("--way", choices=list(WAYS), default="both, hybrid")
    arguments = parser.parse_args()
    gold = load_gold(arguments.gold)
    with EvaluationStore(arguments.store, gold, language_model=LanguageModel) as store:
        store.build()
        found = measure(
            gold, store, ["rules", arguments.way], [arguments.topic_class], lambda: CallBudget(PER_RUN), PER_RUN // 2
        )
    print(table(found))


if __name__ == "__main__":
    main()
