"""What a model adds on the project's own gold set: a scripted planner and reranker on loopback, class by class.

The rewrites were written from the queries alone; the scores are the judgements' own (tests/llm/scripted_model.py). Without
vectors, so that it runs anywhere in seconds; docs/language-model.md has the figures with the default embedding model.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arr_sql.database.evaluating import EvaluationStore
from arr_sql.evaluation.gold import load_gold
from arr_sql.evaluation.metrics import mean
from arr_sql.llm.language_model import LanguageModel
from benchmarks.llm_value import CLASSES, measure, table
from tests.llm import servers
from tests.llm.scripted_model import GOLD, REWRITES, scripted, scripted_settings

Values = dict[str, dict[str, dict[str, float]]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Values]:
    """nDCG@10 by way, class and topic."""
    gold = load_gold(GOLD)
    with pytest.MonkeyPatch.context() as patch, servers.serving(servers.hang_up) as server:
        patch.setattr("arr_sql.index.embedders.model_paths.e5_distribution_path", lambda: None)
        model = LanguageModel(scripted_settings(server.url))
        folder = tmp_path_factory.mktemp("gold") / "store"
        with EvaluationStore(folder, gold, language_model=lambda: model) as store:
            store.build()
            server.behave = scripted(gold, store)
            yield measure(gold, store, ["rules", "planner", "both, llm", "both, hybrid"])


def average(found: Values, way: str, name: str) -> float:
    return mean(list(found[way][name].values()))


@pytest.mark.parametrize("name", ["cross_concept", "cross_language"])
def test_the_planner_alone_finds_what_other_words_hide(found: Values, name: str) -> None:
    """Synonyms and translations raise both classes by more than a tenth."""
    assert average(found, "planner", name) > average(found, "rules", name) + 0.1


@pytest.mark.parametrize("name", ["cross_concept", "cross_language"])
@pytest.mark.parametrize("way", ["both, llm", "both, hybrid"])
def test_planner_and_reranker_raise_them_further(found: Values, name: str, way: str) -> None:
    """In both modes."""
    assert average(found, way, name) > average(found, "planner", name) > average(found, "rules", name)


def test_hybrid_lowers_no_exact_term_topic(found: Values) -> None:
    """Not one of them."""
    rules, hybrid = found["rules"]["exact_term"], found["both, hybrid"]["exact_term"]
    assert len(rules) >= 20
    assert {topic: (rules[topic], value) for topic, value in hybrid.items() if value < rules[topic] - 1e-9} == {}


def test_the_script_covers_both_classes() -> None:
    """A rewrite for each topic of the two classes and for no other; the table has a line a way."""
    topics = {t.topic_id for t in load_gold(GOLD).topics if t.topic_class in ("cross_concept", "cross_language")}
    assert set(REWRITES) == topics
    lines = table({"rules": {name: {"t": 0.5} for name in CLASSES}}).splitlines()
    assert len(lines) == 3 and lines[-1] == "| rules | 0.500 | 0.500 | 0.500 |"
