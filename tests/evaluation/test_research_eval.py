"""A run on a real store: every mode, the store's own ways, leaks, TREC files that trec_eval agrees with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.router_models import RouterResult
from arr_sql.database.evaluating import EvaluationStore
from arr_sql.errors import InputError
from arr_sql.evaluation.explain import explain
from arr_sql.evaluation.gold import load_gold
from arr_sql.evaluation.gold_models import GoldSet
from arr_sql.evaluation.modes import MODES, RERANKED, SEARCH, mode_hits
from arr_sql.evaluation.research_eval import DEPTH, Run, evaluate, metric_names
from arr_sql.evaluation.store_protocol import Asked, StoredChunk
from arr_sql.evaluation.trec_files import write_trec
from arr_sql.retrieval.answer_floor import AnswerFloor
from tests.conftest import FakeEmbedder
from tests.evaluation.gold_maker import MEMORIES, put, write_collection, write_folder


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> GoldSet:
    """The small set."""
    return load_gold(write_folder(tmp_path_factory.mktemp("gold") / "small"))


@pytest.fixture(scope="module")
def store(gold: GoldSet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EvaluationStore]:
    """Its store."""
    with EvaluationStore(tmp_path_factory.mktemp("store") / "kept", gold, embedder=FakeEmbedder) as built:
        built.build()
        yield built


@pytest.fixture(scope="module")
def run(gold: GoldSet, store: EvaluationStore) -> Run:
    """A run of every mode."""
    return evaluate(gold, store)


def topic_of(run: Run, name: str) -> dict[str, Any]:
    """One topic's row."""
    return next(dict(topic) for topic in run.data["topics"] if topic["topic_id"] == name)


def test_every_mode_is_measured_on_the_same_topics(run: Run) -> None:
    """With the promised keys, intervals around the means, and latency."""
    assert tuple(run.data["modes"]) == MODES
    for row in run.data["modes"].values():
        assert {"recall_at_10", "mrr", "ndcg_at_10", "map", "scope_leak_count", "false_answer_rate"} <= row.keys()
        assert (row["topics"], row["topics_without_answer"], row["scope_leak_count"]) == (4, 1, 0)
        for name in metric_names(10):
            low, high = row["intervals"][name]
            assert 0 <= low <= row[name] <= high <= 1
        assert 0 < row["latency_ms"]["p50"] <= row["latency_ms"]["p95"]
        assert sorted(row["by_class"]) == ["code_error", "exact_term", "lure", "memory", "no_answer"]
        assert row["by_language"]["en"]["topics"] == 4
        assert [depth for depth, _ in row["recall_curve"]][-1] == DEPTH
    json.dumps(run.data, allow_nan=False)


def test_what_is_worked_out_by_hand(run: Run) -> None:
    """The memory is found by its channel alone, the function by the others; the topic without an answer has words of none."""
    modes = run.data["modes"]
    assert topic_of(run, "t2")["modes"]["research-memory"]["first"] == ["memory:m1"]
    assert modes["research-memory"]["recall_at_10"] == (1 / 2) / 4  # t2 has two relevant items
    assert modes["bm25"]["false_answer_rate"] == 0.0 and modes["vector"]["false_answer_rate"] == 1.0
    assert topic_of(run, "t5")["modes"]["bm25"]["mrr"] == 1.0
    assert topic_of(run, "t1")["relevant"][0]["stage"] == "found"


def test_the_reranked_mode_is_the_search_itself(gold: GoldSet, store: EvaluationStore, run: Run) -> None:
    """Item by item, and a fusion is what fusing the channels gives."""
    for topic in gold.topics:
        result, _ = store.search(topic.scope, topic.query, DEPTH)
        asked = store.ask(topic.scope, topic.query, DEPTH)
        fused = {hit.chunk_id for hit in mode_hits("rrf-4", asked)}
        assert {item.chunk_id for item in result.evidence} == fused
        row = topic_of(run, topic.topic_id)["modes"][RERANKED]
        assert row["answered"] is bool(result.evidence) and row["state"] == result.state
        for item in result.evidence:
            said = {(rank.channel, rank.rank) for rank in item.channels}
            alone = {
                (name, hit.rank) for name, one in asked.items() for hit in one.answer.hits if hit.chunk_id == item.chunk_id
            }  # fmt: skip
            assert said == alone


def test_a_second_run_gives_the_same(gold: GoldSet, store: EvaluationStore, run: Run) -> None:
    """All but times."""

    def untimed(data: Any) -> Any:
        if isinstance(data, dict):
            return {name: untimed(value) for name, value in data.items() if name not in ("ms", "latency_ms")}
        return [untimed(value) for value in data] if isinstance(data, list) else data

    again = evaluate(gold, store)
    assert untimed(again.data) == untimed(run.data) and again.rankings == run.rankings


def test_memories_stand_in_the_store_as_the_set_says(gold: GoldSet, store: EvaluationStore) -> None:
    """Each at its status, in its scope."""
    for memory in MEMORIES:
        database = store._open(str(memory["scope"]))
        assert database.memory(str(memory["memory_id"])).status == memory.get("status", "published")


def test_a_kept_store_is_used_again_and_another_set_is_refused(tmp_path: Path, gold: GoldSet) -> None:
    """Nothing is embedded twice; a folder with anything else is left alone."""
    embedder = FakeEmbedder()
    for reused in (False, True):
        embedder.calls.clear()
        with EvaluationStore(tmp_path / "kept", gold, embedder=lambda: embedder) as built:
            built.build()
            facts = built.facts()
        assert (facts["reused"], facts["sources"], facts["memories"]) == (reused, 5, 3)
        assert facts["vectors"] == facts["chunks"] and facts["vector_bytes"] == 64 * (
            facts["chunks"] + 2
        )  # two memories are published
    assert all(len(call) == 3 for call in embedder.calls)  # the canaries alone
    changed = replace(gold, topics=gold.topics[:2])
    with EvaluationStore(tmp_path / "kept", changed) as other, pytest.raises(InputError, match="another gold set"):
        other.build()
    put(tmp_path / "mine" / "thesis.md", "mine")
    with EvaluationStore(tmp_path / "mine", gold) as other, pytest.raises(InputError, match="not empty"):
        other.build()
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.md"]


def test_without_a_model_the_other_modes_are_measured(tmp_path: Path, gold: GoldSet) -> None:
    """And the run says what was missing, topic by topic."""
    with EvaluationStore(tmp_path / "kept", gold, embedder=lambda: None) as built:
        built.build()
        data = evaluate(gold, built).data
    assert data["errors"]["vector"] == {"model_missing": 5}
    assert data["errors"][RERANKED] == {"vector:model_missing": 5}
    assert data["modes"]["vector"]["recall_at_10"] == 0.0 < data["modes"]["bm25"]["recall_at_10"]


def test_a_judged_collection_is_one_chunk_a_document(tmp_path: Path) -> None:
    """Found by title too."""
    gold = load_gold(write_collection(tmp_path / "small"))
    with EvaluationStore(tmp_path / "kept", gold, embedder=FakeEmbedder) as built:
        built.build()
        assert [(chunk.source_ref, chunk.heading) for chunk in built.chunks("all")] == [("d1", "Router"), ("d2", "")]
        data = evaluate(gold, built, modes=("bm25",)).data
    assert data["modes"]["bm25"]["ndcg_at_10"] == 1.0


class Leaking:
    """A store whose search answers from two scopes."""

    def __init__(self, store: EvaluationStore) -> None:
        self._store = store

    def chunks(self, alias: str) -> Sequence[StoredChunk]:
        return self._store.chunks(alias)

    def ask(self, alias: str, query: str, depth: int) -> Mapping[str, Asked]:
        return self._store.ask(alias, query, depth)

    def search(self, alias: str, query: str, k: int, floor: bool = True) -> tuple[RouterResult, float]:
        result, ms = self._store.search(alias, query, k, floor)
        foreign, _ = self._store.search("rival", query, k, floor)
        disguised = tuple(item.model_copy(update={"scope": result.evidence[0].scope}) for item in foreign.evidence)
        return result.model_copy(update={"evidence": (*result.evidence, *disguised)}), ms

    def facts(self) -> dict[str, Any]:
        return self._store.facts()


def test_a_leak_is_counted_even_when_the_item_claims_the_right_scope(gold: GoldSet, store: EvaluationStore) -> None:
    """What belongs to a scope is read from the store, not from the answer; memories of one id are told apart."""
    data = evaluate(gold, Leaking(store), modes=("bm25", RERANKED)).data
    assert data["modes"]["bm25"]["scope_leak_count"] == 0
    for topic in gold.topics:
        foreign, _ = store.search("rival", topic.query, DEPTH)
        row = next(row for row in data["topics"] if row["topic_id"] == topic.topic_id)
        assert row["modes"][RERANKED]["scope_leak_count"] == len(foreign.evidence) > 0
    assert any(item.chunk_id == "memory:m1" for item in store.search("rival", gold.topics[1].query, 10)[0].evidence)


def test_lines_that_grep_reads_from_a_file_of_the_scope_are_no_leak(tmp_path: Path) -> None:
    """A notebook's own JSON is in no chunk; grep answers with its matching lines, which need not be neighbours."""
    folder = write_folder(tmp_path / "small")
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [f"step 4100 number {n}"]} for n in range(3)]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    put(folder / "files/main/notes/look.ipynb", json.dumps(notebook, indent=1))
    topic = {"topic_id": "t9", "scope": "main", "class": "exact_term", "query": 'where is "metadata" kept'}
    put(folder / "topics.jsonl", (folder / "topics.jsonl").read_text("utf-8") + json.dumps(topic) + "\n")
    put(folder / "qrels.tsv", (folder / "qrels.tsv").read_text("utf-8") + "t9\tnotes/look.ipynb\t1\n")
    gold = load_gold(folder)
    with EvaluationStore(tmp_path / "kept", gold, embedder=FakeEmbedder) as built:
        built.build()
        found = built.ask("main", topic["query"], DEPTH)["grep"].answer.hits
        assert any("\n" in hit.content and hit.metadata.get("as_on_disk") for hit in found)
        assert evaluate(gold, built).data["modes"]["grep"]["scope_leak_count"] == 0


def test_run_files_give_trec_eval_the_same_figures(run: Run, tmp_path: Path) -> None:
    """Read back as trec_eval reads them; ids with spaces are one word."""
    pytrec_eval: Any = pytest.importorskip("pytrec_eval", reason="no wheel of trec_eval for this platform")
    written = write_trec(run, tmp_path / "trec")
    assert {path.name for path in written} == {*(f"{mode}.run" for mode in MODES), "qrels.txt"}
    qrels = pytrec_eval.parse_qrel((tmp_path / "trec" / "qrels.txt").read_text("utf-8").splitlines())
    for mode in MODES:
        lines = (tmp_path / "trec" / f"{mode}.run").read_text("utf-8").splitlines()
        measured = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "recall", "ndcg_cut"}).evaluate(
            pytrec_eval.parse_run(lines)
        )
        for topic, values in measured.items():
            row = topic_of(run, topic)["modes"][mode]
            assert row["map"] == pytest.approx(values["map"], abs=1e-6)
            assert row["mrr"] == pytest.approx(values["recip_rank"], abs=1e-6)
            assert row["recall_at_10"] == pytest.approx(values["recall_10"], abs=1e-6)
            assert row["ndcg_at_10"] == pytest.approx(values["ndcg_cut_10"], abs=1e-6)


class Fitted(FakeEmbedder):
    """Hashed terms under the name of the model that the floor was fitted for; one question is far from every text."""

    def __init__(self) -> None:
        super().__init__(AnswerFloor().model_id, 1024)

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        return [self._vector("else" if text == "peak learning rate" else text) for text in texts]


def test_the_floor_is_a_mode_of_its_own(gold: GoldSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`search` answers with the floor, `reranked` without; what the floor cost is a stage of loss."""
    monkeypatch.setattr("arr_sql.retrieval.answer_floor.FEWEST_OTHERS", 0)  # this set is too small to be judged
    with EvaluationStore(tmp_path / "kept", gold, embedder=Fitted) as built:
        built.build()
        data = evaluate(gold, built, modes=(RERANKED, SEARCH)).data
        found = explain(gold, built, "t4")
    assert data["modes"][RERANKED]["false_answer_rate"] == 1.0 > data["modes"][SEARCH]["false_answer_rate"] == 0.0
    lost = [path["stage"] for topic in data["topics"] for path in topic["relevant"]]
    assert "below_floor" in lost and data["lost"]["below_floor"] == lost.count("below_floor")
    assert found["below_floor"] and found["relevant"][0]["stage"] == "below_floor" and found["state"] == "nothing_found"


def test_explain_follows_each_relevant_item(gold: GoldSet, store: EvaluationStore) -> None:
    """Its rank in each channel, what that means, and the answer with grades; an unknown topic names near ones."""
    found = explain(gold, store, "t1")
    assert [(path["item"], path["stage"], path["note"]) for path in found["relevant"]] == [
        ("notes/nan.md#step 4100", "found", "names the step")
    ]
    assert found["answer"][0] == {"rank": 1, "item": "notes/nan.md#step 4100", "where": "", "grade": 3}
    assert found["channels"]["research-memory"]["state"] in ("ok", "empty")
    assert explain(gold, store, "t3")["relevant"] == []
    with pytest.raises(InputError, match="Near: t1"):
        explain(gold, store, "t11")
