"""The vector channel: one order with sqlite-vec and without, no vector of another model or scope, nothing unfit stored."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arr_sql.core.connection import Connection, open_reader, vec_version
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode
from arr_sql.database import ResearchDatabase
from arr_sql.errors import ModelError
from arr_sql.index.embedders.protocol import EmbedderSpec
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.vector_retriever import VectorRetriever, from_embedder
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, StepClock, other_scopes

TEXTS = {
    "a.txt": "router budget budget", "b.txt": "router design", "c.txt": "budget control plane",
    "d.txt": "当验证集损失不再下降时，学习率减半。", "e.txt": "router design", "f.txt": "def lr_decay(loss): return loss * 0.5",
}  # fmt: skip


class TableEmbedder:
    """An embedder whose vectors are written in a table, by the first word of the text; canaries and others get ``rest``."""

    def __init__(self, table: dict[str, Sequence[float]], rest: Sequence[float] = (1.0, 0.0, 0.0)) -> None:
        self.spec = EmbedderSpec(id="table", revision="1", dimension=len(rest), window_tokens=512)
        self._table, self._rest = table, rest

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """The table's vectors."""
        values = [self._table.get(text.split()[0], self._rest) for text in texts]
        return [struct.pack(f"<{len(row)}f", *row) for row in values]

    embed_passages = embed_queries


class Interrupted(Exception):
    """Somebody pressed Ctrl-C."""


class Failing(FakeEmbedder):
    """Stops at the ``after``-th batch of passages that are not canaries."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._left = after + 1  # the canaries come first

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        """As FakeEmbedder, until it stops."""
        self._left -= 1
        if self._left < 0:
            raise Interrupted
        return super().embed_queries(texts)


def fill(database: ResearchDatabase, folder: Path, texts: dict[str, str]) -> None:
    """Write the files and take them in."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    database.add(folder)


def retriever(reader: Connection, embedder: Any) -> VectorRetriever:
    """The channel with this model, or none."""
    vectors = None if embedder is None else from_embedder(embedder)
    return VectorRetriever(reader, lambda: vectors, lambda: vectors is not None)


INSTALLED = FakeEmbedder()
"""The model that made the vectors."""


def asked(path: Path, query: str, scope: ScopeKey = SCOPE, k: int = 10, embedder: Any = INSTALLED) -> ChannelAnswer:
    """The channel's answer over a connection of its own."""
    reader = open_reader(path)
    try:
        return retriever(reader, embedder).retrieve(query, scope, k, 0.0)
    finally:
        reader.close()


@pytest.fixture
def embedded(make_database: MakeDatabase, tmp_path: Path) -> ResearchDatabase:
    """Six chunks with vectors, two of them of one text."""
    database = make_database(folder=tmp_path / "docs")
    fill(database, tmp_path / "docs", TEXTS)
    database.embed()
    return database


# --- Order --------------------------------------------------------------------------------------------------------------


def test_the_nearest_come_first_with_their_cosines(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Field report emb-02: of 1 = [0, 1, 0], 3 = [0.2, 0.95, 0] and 4 = [0, -1, 0], the query [0, 1, 0] gives 1, 3, 4."""
    length = math.hypot(0.2, 0.95)
    table = {"one": (0.0, 1.0, 0.0), "three": (0.2 / length, 0.95 / length, 0.0), "four": (0.0, -1.0, 0.0)}
    model = TableEmbedder(table)
    database = make_database(folder=tmp_path / "docs", embedder=lambda: model)
    fill(database, tmp_path / "docs", {f"{name}.txt": name for name in table})
    database.embed()
    answer = asked(database.path, "one", embedder=model)
    assert [hit.source_ref for hit in answer.hits] == ["one.txt", "three.txt", "four.txt"]
    assert [round(hit.score, 6) for hit in answer.hits] == [1.0, round(0.95 / length, 6), -1.0]
    assert [hit.source_ref for hit in asked(database.path, "one", k=2, embedder=model).hits] == ["one.txt", "three.txt"]
    assert (answer.state, answer.candidate_count) == ("ok", 3)


def without_sqlite_vec(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Any]) -> Any:
    """What ``ask`` gives when new connections have only the stand-in."""
    with monkeypatch.context() as patch:
        patch.setenv("ARR_SQLITE_VEC", "off")
        return ask()


def loaded_version(path: Path) -> str | None:
    """sqlite-vec's version on a new connection."""
    reader = open_reader(path)
    try:
        return vec_version(reader)
    finally:
        reader.close()


@pytest.mark.parametrize("query", ["router", "budget plane", "学习率", "lr_decay loss", "router design"])
@pytest.mark.parametrize("k", [1, 2, 3, 6, 10])
def test_the_stand_in_gives_the_same_answer(
    embedded: ResearchDatabase, monkeypatch: pytest.MonkeyPatch, query: str, k: int
) -> None:
    """Contract 9.3: without the extension an exact scan gives the same hits, order and scores, to the bit."""
    path = embedded.path
    if loaded_version(path) is None:
        pytest.skip("sqlite-vec can't be loaded here: both answers would be the stand-in's")
    assert without_sqlite_vec(monkeypatch, lambda: loaded_version(path)) is None
    assert without_sqlite_vec(monkeypatch, lambda: asked(path, query, k=k)) == asked(path, query, k=k)


def test_rounding_in_32_bits_decides_nothing(
    make_database: MakeDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty vectors of the same components in another order are equally near: their ids decide, at every k."""
    random = Random(1)
    values = [random.uniform(-1.0, 1.0) for _ in range(64)]
    length = math.sqrt(math.fsum(value * value for value in values))
    table = {f"w{n}": [value / length for value in random.sample(values, 64)] for n in range(40)}
    model = TableEmbedder({**table, "asked": [0.125] * 64}, rest=[0.125] * 64)
    database = make_database(folder=tmp_path / "docs", embedder=lambda: model)
    fill(database, tmp_path / "docs", {f"{name}.txt": name for name in table})
    database.embed()
    answer = asked(database.path, "asked", k=40, embedder=model)
    found = [hit.chunk_id for hit in answer.hits]
    assert found == sorted(found) and len(found) == 40
    assert [hit.chunk_id for hit in asked(database.path, "asked", k=10, embedder=model).hits] == found[:10]
    assert without_sqlite_vec(monkeypatch, lambda: asked(database.path, "asked", k=40, embedder=model)) == answer


components = st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any)


@settings(max_examples=max(30, settings().max_examples // 4))
@given(rows=st.lists(components, min_size=1, max_size=8), query=components, k=st.integers(1, 9))
def test_the_order_is_that_of_the_cosines_in_64_bits(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], query: list[int], k: int
) -> None:
    """With many equal directions: best cosine first, equal ones by chunk id, min(k, all) of them, both ways of scanning."""

    def unit(values: list[int]) -> tuple[float, ...]:
        length = math.sqrt(sum(value * value for value in values))
        return tuple(value / length for value in values)

    folder = tmp_path_factory.mktemp("unit")
    table = {f"w{number}": unit(values) for number, values in enumerate(rows)} | {"asked": unit(query)}
    model = TableEmbedder(table)
    database = ResearchDatabase.create(
        folder / "arr.db",
        SCOPE,
        project_folder=folder / "docs",
        actor="tester",
        clock=StepClock(),
        embedder=lambda: model,
    )
    with database:
        fill(database, folder / "docs", {f"{number}.txt": f"w{number}" for number in range(len(rows))})
        database.embed()
    answer = asked(folder / "arr.db", "asked", k=k, embedder=model)
    with pytest.MonkeyPatch.context() as patch:
        assert without_sqlite_vec(patch, lambda: asked(folder / "arr.db", "asked", k=k, embedder=model)) == answer
    everything = asked(folder / "arr.db", "asked", k=100, embedder=model).hits
    stored = [struct.unpack("<3f", struct.pack("<3f", *table[hit.content])) for hit in everything]
    wanted = struct.unpack("<3f", struct.pack("<3f", *table["asked"]))
    exact = [float(f"{math.fsum(a * b for a, b in zip(row, wanted, strict=True)):.12g}") for row in stored]
    assert [hit.score for hit in everything] == exact
    keys = [(-hit.score, hit.chunk_id) for hit in everything]
    assert keys == sorted(keys)
    assert answer.hits == everything[:k]
    assert len(everything) == len(rows)


# --- Vectors that must not be ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((0.0, 0.0, 0.0), "zero vector"), ((math.nan, 0.0, 1.0), "NaN"), ((math.inf, 0.0, 0.0), "infinity"),
        ((1.0, 1.0, 0.0), "unit length"), ((1.0, 0.0), "wrong length"),
    ],
)  # fmt: skip
def test_an_unfit_vector_is_refused_by_name_before_anything_is_stored(
    make_database: MakeDatabase, tmp_path: Path, values: Sequence[float], named: str
) -> None:
    """Field report emb-02: the message says what is wrong, the batch is not stored, the text stays searchable."""
    model = TableEmbedder({"bad": values})
    database = make_database(folder=tmp_path / "docs", embedder=lambda: model)
    fill(database, tmp_path / "docs", {"bad.txt": "bad vector", "good.txt": "good vector"})
    with pytest.raises(ModelError, match=named):
        database.embed()
    answer = asked(database.path, "good", embedder=model)
    assert answer == ChannelAnswer("not_indexed", code=ReasonCode.NOT_INDEXED, detail={"indexed": 0, "chunks": 2})
    assert {item.source_ref for item in database.search("bad", plan={"tool_rounds": [["bm25"]]}).evidence} == {
        "bad.txt"
    }


@pytest.mark.parametrize("values", [(0.0, 0.0, 0.0), (math.nan, 0.0, 1.0), (0.0, math.inf, 0.0), (1.0, 0.0)])
def test_an_unfit_query_vector_disables_the_channel_and_no_other(
    make_database: MakeDatabase, tmp_path: Path, values: Sequence[float]
) -> None:
    """Field report emb-02: the vector leg is off with a code, lexical results are unaffected."""
    model = TableEmbedder({"odd": values})
    database = make_database(folder=tmp_path / "docs", embedder=lambda: model)
    fill(database, tmp_path / "docs", {"one.txt": "an odd word"})
    database.embed()
    assert asked(database.path, "odd", embedder=model) == ChannelAnswer("unavailable", code=ReasonCode.MODEL_FAILED)
    result = database.search("odd")
    assert [item.source_ref for item in result.evidence] == ["one.txt"]
    assert [(item.tool_name, item.code, result.partial) for item in result.degradations] == [
        ("vector", ReasonCode.MODEL_FAILED, True)
    ]


# --- Models ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [FakeEmbedder("fake-b"), FakeEmbedder("fake-16", dimension=8)], ids=["other id", "other dimension"]
)
def test_another_model_is_not_compared_with_the_stored_vectors(embedded: ResearchDatabase, other: FakeEmbedder) -> None:
    """Field report emb-01: unavailable, naming both, also for the same dimension or the same name; the query is not embedded."""
    answer = asked(embedded.path, "router", embedder=other)
    assert (answer.state, answer.code, answer.hits) == ("unavailable", ReasonCode.MODEL_CHANGED, ())
    assert {**answer.detail}.items() >= {"stored": "fake-16", "installed": other.spec.id}.items()
    assert other.calls == []


def test_changing_the_model_deletes_nothing(
    embedded: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """Field report emb-01: text goes on being taken in and found, the old model answers again, and a rebuild changes over."""
    changed = make_database(folder=tmp_path / "docs", embedder=lambda: FakeEmbedder("fake-b"))
    fill(changed, tmp_path / "docs", {"g.txt": "router again"})
    result = changed.search("again")
    assert [item.source_ref for item in result.evidence] == ["g.txt"]
    assert [(item.tool_name, item.code) for item in result.degradations] == [("vector", ReasonCode.MODEL_CHANGED)]
    old = asked(embedded.path, "router")
    assert (old.state, dict(old.detail), len(old.hits)) == ("not_indexed", {"indexed": 6, "chunks": 7}, 6)
    summary = changed.embed(rebuild=True)
    assert (summary.embedded + summary.reused, summary.missing, summary.retired_models) == (7, 0, True)
    assert asked(embedded.path, "router").code is ReasonCode.MODEL_CHANGED
    new = asked(embedded.path, "router design", embedder=FakeEmbedder("fake-b"))
    assert (new.state, len(new.hits)) == ("ok", 7)
    # No value of the old model was taken for the new one's: a text is nearest to itself.
    assert sorted((hit.source_ref, round(hit.score, 6)) for hit in new.hits[:2]) == [("b.txt", 1.0), ("e.txt", 1.0)]


def test_without_a_model_the_channel_says_so(embedded: ResearchDatabase) -> None:
    """Unavailable, not empty."""
    assert asked(embedded.path, "router", embedder=None) == ChannelAnswer("unavailable", code=ReasonCode.MODEL_MISSING)


def test_a_scope_without_chunks_is_empty(embedded: ResearchDatabase) -> None:
    """There is nothing to be missing."""
    assert asked(embedded.path, "router", other_scopes()[0]) == ChannelAnswer("empty")
    assert asked(embedded.path, "router", other_scopes()[0], embedder=None) == ChannelAnswer("empty")


def test_a_blank_query_is_empty(embedded: ResearchDatabase) -> None:
    """It has no vector."""
    assert asked(embedded.path, " ") == ChannelAnswer("empty")


# --- Embedding ------------------------------------------------------------------------------------------------------------


def test_the_channel_says_how_much_is_not_indexed(embedded: ResearchDatabase, tmp_path: Path) -> None:
    """n of m, with the hits that there are."""
    fill(embedded, tmp_path / "docs", {"g.txt": "router new", "h.txt": "plane new"})
    answer = asked(embedded.path, "router")
    assert (answer.state, answer.code, dict(answer.detail)) == (
        "not_indexed",
        ReasonCode.NOT_INDEXED,
        {"indexed": 6, "chunks": 8},
    )
    assert len(answer.hits) == 6
    embedded.embed()
    assert asked(embedded.path, "router").state == "ok"


def test_embedding_that_was_stopped_goes_on_where_it_was(make_database: MakeDatabase, tmp_path: Path) -> None:
    """One of two batches is stored when it stops; the next run computes the rest and only the rest."""
    stopping = Failing(after=1)
    database = make_database(folder=tmp_path / "docs", embedder=lambda: stopping)
    fill(database, tmp_path / "docs", {f"{number:03}.txt": f"text number {number}" for number in range(100)})
    with pytest.raises(Interrupted):
        database.embed()
    half = asked(database.path, "number")
    assert (half.state, dict(half.detail)) == ("not_indexed", {"indexed": 64, "chunks": 100})
    model = FakeEmbedder()
    going_on = make_database(folder=tmp_path / "docs", embedder=lambda: model)
    summary = going_on.embed()
    assert (summary.embedded, summary.reused, summary.missing) == (36, 0, 0)
    assert sum(len(texts) for texts in model.calls) == 36 + 3  # and the three canaries
    assert asked(database.path, "number").state == "ok"
    assert (going_on.embed().embedded, sum(len(texts) for texts in model.calls)) == (0, 36 + 3 + 3)


def test_a_value_is_reused_by_another_scope_and_a_row_is_not(
    embedded: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """Contract 8.4: the neighbour with the same texts has no vectors until it embeds, and then computes none."""
    scope, model = other_scopes()[3], FakeEmbedder()
    neighbour = make_database(scope=scope, folder=tmp_path / "theirs", embedder=lambda: model)
    fill(neighbour, tmp_path / "theirs", TEXTS)
    before = asked(neighbour.path, "router", scope)
    assert before == ChannelAnswer("not_indexed", code=ReasonCode.NOT_INDEXED, detail={"indexed": 0, "chunks": 6})
    summary = neighbour.embed()
    assert (summary.embedded, summary.reused) == (0, 6)
    assert sum(len(texts) for texts in model.calls) == 3  # the canaries
    theirs, ours = asked(neighbour.path, "router", scope), asked(embedded.path, "router")
    assert sorted(hit.score for hit in theirs.hits) == sorted(hit.score for hit in ours.hits)
    assert {hit.scope for hit in theirs.hits} == {scope}
    assert not {hit.chunk_id for hit in theirs.hits} & {hit.chunk_id for hit in ours.hits}


def test_a_text_that_only_moved_keeps_its_vector(embedded: ResearchDatabase, tmp_path: Path) -> None:
    """A renamed file has nothing to embed again; an edited one has."""
    (tmp_path / "docs" / "a.txt").rename(tmp_path / "docs" / "z.txt")
    embedded.sync()
    assert asked(embedded.path, "router").state == "ok"
    (tmp_path / "docs" / "b.txt").write_text("another design altogether", encoding="utf-8")
    embedded.sync()
    assert dict(asked(embedded.path, "router").detail) == {"indexed": 5, "chunks": 6}


def test_the_older_model_answers_until_the_new_one_is_complete(
    embedded: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """The new model has none, then some of its vectors: the older answers and is named. Then the new one answers alone."""
    new = FakeEmbedder("fake-b")
    older = {INSTALLED.spec.id: from_embedder(INSTALLED)}

    def ask(query: str = "router") -> ChannelAnswer:
        reader = open_reader(embedded.path)
        try:
            vectors = from_embedder(new)
            return VectorRetriever(reader, lambda: vectors, lambda: True, older=older.get).retrieve(
                query, SCOPE, 10, 0.0
            )
        finally:
            reader.close()

    alone = asked(embedded.path, "router")
    for number in range(70):
        (tmp_path / "docs" / f"more-{number}.txt").write_text(f"more router text {number}", encoding="utf-8")
    embedded.sync()
    embedded.embed()
    before = ask()
    assert (before.state, before.code) == ("not_indexed", ReasonCode.NOT_INDEXED)
    assert dict(before.detail) == {"indexed": 0, "chunks": 76, "chosen": "fake-b", "answered": INSTALLED.spec.id}
    assert before.hits == asked(embedded.path, "router").hits != alone.hits

    stopping = Failing(after=1)
    stopping.spec = new.spec
    with pytest.raises(Interrupted):
        make_database(folder=tmp_path / "docs", embedder=lambda: stopping).embed(rebuild=True)
    half = ask()
    assert dict(half.detail) == {"indexed": 64, "chunks": 76, "chosen": "fake-b", "answered": INSTALLED.spec.id}
    assert half.hits == before.hits

    summary = make_database(folder=tmp_path / "docs", embedder=lambda: new).embed(rebuild=True)
    assert (summary.embedded, summary.missing, summary.retired_models) == (12, 0, True)
    assert (ask().state, ask().code, dict(ask().detail)) == ("ok", None, {})
