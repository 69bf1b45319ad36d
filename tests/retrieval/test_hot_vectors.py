"""Vectors in memory: the same answer as a scan of the file, gone with the next change, bounded, no trace of a fault."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from arr_sql.core.connection import Connection, open_reader
from arr_sql.database import ResearchDatabase
from arr_sql.errors import StoreError
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.hot_vectors import COLD_QUESTIONS, HotVectors, _Budget
from arr_sql.retrieval.language_axis import read_language_axis
from arr_sql.retrieval.vector_retriever import VectorRetriever, from_embedder
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase

pytest.importorskip("numpy", reason="vectors in memory need NumPy (extra `local`)")
pytest.importorskip("onnxruntime", reason="vectors in memory need ONNX Runtime (extra `local`)")

MODEL = FakeEmbedder()
QUERIES = ["router", "budget plane", "number 17", "学习率", "router design", "nothing of the kind"]


class Asking:
    """One channel over one reader, with vectors in memory, and one that always scans the file."""

    def __init__(self, path: Path, budget: _Budget | None = None) -> None:
        self.reader = open_reader(path)
        self.budget = budget or _Budget(1 << 20)
        self.hot = HotVectors(lambda: open_reader(path), self.budget, fewest=1)
        vectors = from_embedder(MODEL)
        self._warm = VectorRetriever(self.reader, lambda: vectors, lambda: True, self.hot)
        self._cold = VectorRetriever(self.reader, lambda: vectors, lambda: True)

    def warm(self, query: str = "router", k: int = 10) -> ChannelAnswer:
        return self._warm.retrieve(query, SCOPE, k, 0.0)

    def cold(self, query: str = "router", k: int = 10) -> ChannelAnswer:
        return self._cold.retrieve(query, SCOPE, k, 0.0)

    def ask_until_held(self) -> bool:
        for _ in range(COLD_QUESTIONS + 1):
            self.warm()
        return self.hot.wait()


@pytest.fixture
def store(make_database: MakeDatabase, tmp_path: Path) -> ResearchDatabase:
    """Sixty chunks with vectors, some of one text, so that scores are equal."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number:02}.txt").write_text(
            f"router design number {number % 40}, budget {number % 7} 学习率", "utf-8"
        )
    database = make_database(folder=folder, embedder=lambda: MODEL)
    database.add(folder)
    database.embed()
    return database


@pytest.fixture
def asking(store: ResearchDatabase) -> Iterator[Asking]:
    asking = Asking(store.path)
    yield asking
    asking.hot.close()
    asking.reader.close()


@pytest.mark.parametrize("k", [1, 3, 10, 59, 60, 100])
def test_the_answer_is_that_of_the_file(asking: Asking, k: int) -> None:
    """Every hit, score, rank and count, at every depth."""
    assert asking.ask_until_held()

    for query in QUERIES:
        assert asking.warm(query, k) == asking.cold(query, k)
        assert len(asking.warm(query, k).hits) == min(k, 60)


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_held_whole_or_as_codes_alone(asking: Asking, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """A scope with few vectors is answered without reading any; one with more reads the candidates. The answer is one."""
    monkeypatch.setattr("arr_sql.retrieval.hot_vectors.MOST_WHOLE_BYTES", most)
    assert asking.ask_until_held()
    assert (asking.hot._held is not None and asking.hot._held.chunks is not None) == bool(most)

    for query in QUERIES:
        assert [asking.warm(query, k) for k in (1, 10, 100)] == [asking.cold(query, k) for k in (1, 10, 100)]


def test_a_command_that_asks_once_reads_nothing_into_memory(asking: Asking) -> None:
    """Nor one that asks twice."""
    for _ in range(COLD_QUESTIONS):
        asking.warm()

    assert not asking.hot.wait()


def test_a_change_lets_it_go(asking: Asking, store: ResearchDatabase, tmp_path: Path) -> None:
    """A new chunk is in the next answer, a removed one is not, and the memory is given back and taken again."""
    assert asking.ask_until_held()
    (tmp_path / "docs" / "new.txt").write_text("router", "utf-8")
    (tmp_path / "docs" / "03.txt").unlink()
    store.sync()
    store.embed()

    assert asking.warm("router", 1).hits[0].source_ref == "new.txt"
    assert asking.warm(k=100) == asking.cold(k=100)
    assert not asking.hot.wait()
    assert asking.ask_until_held()
    assert asking.warm(k=100) == asking.cold(k=100)


def test_a_forgotten_text_is_not_answered_from_memory(asking: Asking, store: ResearchDatabase) -> None:
    """The codes of one revision do not outlive it."""
    assert asking.ask_until_held()
    gone = asking.warm("number 17", 1).hits[0].source_ref
    store.forget(source_refs=[gone])

    answer = asking.warm("number 17", 60)
    assert gone not in {hit.source_ref for hit in answer.hits}
    assert answer == asking.cold("number 17", 60)


def test_nothing_is_kept_beyond_the_budget(store: ResearchDatabase) -> None:
    """The file is scanned then; what one database lets go another may take."""
    small = _Budget(60 * (16 + 12))
    first, second = Asking(store.path, small), Asking(store.path, small)
    try:
        assert first.ask_until_held()
        assert not second.ask_until_held()
        assert second.warm() == first.warm()
        first.hot.close()
        assert second.ask_until_held()
        assert second.warm() == second.cold()
    finally:
        for asking in (first, second):
            asking.hot.close()
            asking.reader.close()
    assert small.take(60 * (16 + 12))


def test_a_fault_while_reading_changes_no_answer(store: ResearchDatabase) -> None:
    """The connection cannot be had: questions go on being answered from the file."""
    asking = Asking(store.path)

    def fail() -> Connection:
        raise StoreError("the file is busy")

    hot = HotVectors(fail, asking.budget, fewest=1)
    vectors = from_embedder(MODEL)
    channel = VectorRetriever(asking.reader, lambda: vectors, lambda: True, hot)
    try:
        answers = [channel.retrieve("router", SCOPE, 10, 0.0) for _ in range(8)]
        assert not hot.wait()
        assert all(answer == asking.cold() for answer in answers)
        assert asking.budget.take(1 << 20)
    finally:
        hot.close()
        asking.hot.close()
        asking.reader.close()


def test_closing_a_database_ends_its_thread(store: ResearchDatabase) -> None:
    """Whatever it is doing; closing twice is harmless."""
    for _ in range(COLD_QUESTIONS + 2):
        store.search("router", write_record=False)
    store.close()
    store.close()

    assert not [thread for thread in threading.enumerate() if thread.name == "arr-vectors"]


def test_a_search_gives_the_same_result_from_memory(store: ResearchDatabase) -> None:
    """The whole answer of `search`, with what the database itself keeps."""
    store._hot.vectors = HotVectors(lambda: open_reader(store.path), _Budget(1 << 20), fewest=1)
    before = store.search("router design", write_record=False)
    for _ in range(COLD_QUESTIONS + 1):
        store.search("router design", write_record=False)
    assert store._hot.vectors.wait()

    assert store.search("router design", write_record=False).evidence == before.evidence


def test_two_questions_at_two_revisions(asking: Asking, store: ResearchDatabase, tmp_path: Path) -> None:
    """Of two that share the memory each is answered for its own revision, whoever has filled it."""
    assert asking.ask_until_held()
    asking.reader.execute("BEGIN")
    (old,) = asking.hot.state(asking.reader, SCOPE)
    vector = MODEL.embed_queries(["router"])[0]
    assert vector is not None and asking.hot.nearest(SCOPE, old, vector, 3)
    (tmp_path / "docs" / "new.txt").write_text("router design of another revision", "utf-8")
    store.add(tmp_path / "docs")
    store.embed()
    later = open_reader(store.path)
    try:
        for _ in range(COLD_QUESTIONS + 1):
            (new,) = asking.hot.state(later, SCOPE)
            asking.hot.candidates(SCOPE, new, vector, 3)
        assert asking.hot.wait() and asking.hot.nearest(SCOPE, new, vector, 3)
        # The first question goes on with the row that it was given.
        assert (
            asking.hot.nearest(SCOPE, old, vector, 3) is None and asking.hot.candidates(SCOPE, old, vector, 3) is None
        )
        axis = asking.hot.axis(asking.reader, SCOPE, old)
        assert axis == read_language_axis(asking.reader, SCOPE, old["model"])
        assert asking.warm() == asking.cold()
    finally:
        later.close()
        asking.reader.execute("ROLLBACK")
