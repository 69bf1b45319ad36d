"""The vector channel: one order with sqlite-vec and without, no vector of another model or scope, nothing unfit stored."""

from __future__ import annotations

import math
import struct
import tempfile
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
    assert (summary.embedded, summary.missing, summary.retired_models) == (7, 0, True)
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
    assert (summary.embedded, summary.missing) == (36, 0)
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
    assert summary.embedded == 6  # and not a word of how many were there: that would tell what the neighbour holds
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


# --- Memories -----------------------------------------------------------------------------------------------------------


def remember(database: ResearchDatabase, memory_id: str, content: str, title: str = "note", **values: Any) -> None:
    """A published memory."""
    database.add_memory(memory_id=memory_id, title=title, content=content, kind="knowledge", **values)
    database.set_memory_status(memory_id, "published", "measured")


NEAR = {"学习率怎么调": (1.0, 0.0, 0.0), "Rate": (0.8, 0.6, 0.0), "Colour": (0.0, 1.0, 0.0), "chunk": (0.6, 0.8, 0.0)}


def bilingual(make_database: MakeDatabase, tmp_path: Path) -> tuple[ResearchDatabase, TableEmbedder]:
    """Two English memories and a chunk; a Chinese question is near to one of the memories."""
    model = TableEmbedder(NEAR, rest=(0.0, 0.0, 1.0))
    database = make_database(folder=tmp_path / "docs", embedder=lambda: model)
    fill(database, tmp_path / "docs", {"c.txt": "chunk"})
    remember(database, "rate", "Halve it when the loss stops falling.", "Rate")
    remember(database, "colour", "Blue is demand.", "Colour")
    return database, model


def test_a_question_reaches_a_memory_in_the_other_language(make_database: MakeDatabase, tmp_path: Path) -> None:
    """No word is shared. Chunks and memories stand in one list by their cosines; before they have vectors, nothing is weaker."""
    database, model = bilingual(make_database, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arr_sql.index.vector_index.get_args", lambda kinds: ("chunk",))
        database.embed()
    before = database.search("学习率怎么调")
    assert [item.chunk_id[:7] for item in before.evidence] == [database.search("chunk").evidence[0].chunk_id[:7]]
    assert (before.traces[2].detail, before.partial) == ({"memories_without_vector": 2}, False)
    assert database.status()["vectors"][0]["memories_embedded"] == 0

    summary = database.embed()
    assert (summary.embedded, summary.missing) == (2, 0)
    answer = asked(database.path, "学习率怎么调", embedder=model)
    assert [(hit.source_ref, round(hit.score, 6)) for hit in answer.hits] == [
        ("memory:rate", 0.8), ("c.txt", 0.6), ("memory:colour", 0.0)
    ]  # fmt: skip
    assert (answer.state, answer.candidate_count, answer.detail) == ("ok", 3, {"memories": 2})
    assert [hit.rank for hit in asked(database.path, "学习率怎么调", k=2, embedder=model).hits] == [1, 2]
    first = database.search("学习率怎么调").evidence[0]
    assert first.chunk_id == "memory:rate" and [rank.channel for rank in first.channels] == ["vector"]
    assert first.metadata["memory_id"] == "rate" and first.locator == "revision 4"


def test_both_channels_give_a_memory_as_the_same_item(embedded: ResearchDatabase) -> None:
    """Found by its words and by its meaning, it is one piece of evidence with two ranks, in conflict with nothing."""
    remember(embedded, "lost", "old budget", conflict_key="b", confidence=0.1)
    remember(embedded, "router", "router budget", conflict_key="b", expires_at="2030-01-01T00:00:00Z")
    embedded.embed()
    result = embedded.search("router budget")
    (found,) = [item for item in result.evidence if item.chunk_id == "memory:router"]
    assert {rank.channel for rank in found.channels} == {"research-memory", "vector"} and result.rejections == ()
    by_words, by_meaning = (
        item.model_dump(exclude={"channels", "rerank_score", "rerank_reason"})
        for name in ("research-memory", "vector")
        for item in embedded.search("router budget", plan={"tool_rounds": [[name]]}).evidence
        if item.chunk_id == "memory:router"
    )
    assert by_words == by_meaning
    assert by_meaning["metadata"]["conflict_losers"] == ["lost"]


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.sampled_from(["router", "budget", "plane", "学习率"]), min_size=1, max_size=4), max_size=30)
)
def test_memories_and_chunks_have_one_order_by_every_way(texts: list[list[str]]) -> None:
    """With sqlite-vec and with the stand-in, for every k: the sorted cosines of everything, ties by id."""
    with tempfile.TemporaryDirectory() as folder:
        path, place = Path(folder) / "arr.db", Path(folder)
        (place / "a.txt").write_text("router budget", "utf-8")
        with ResearchDatabase.create(
            path, SCOPE, project_folder=place, clock=StepClock(), embedder=FakeEmbedder
        ) as one:
            one.add(place / "a.txt")
            for number, words in enumerate(texts):
                remember(one, f"m{number}", " ".join(words))
            one.embed()
        whole = asked(path, "router 学习率", k=100)
        assert len(whole.hits) == whole.candidate_count == len(texts) + 1
        assert list(whole.hits) == sorted(whole.hits, key=lambda hit: (-hit.score, hit.chunk_id))
        for k in (1, 3, 7):
            assert asked(path, "router 学习率", k=k).hits == whole.hits[:k]
        with pytest.MonkeyPatch.context() as patch:
            assert without_sqlite_vec(patch, lambda: asked(path, "router 学习率", k=100)) == whole


def test_the_same_words_keep_their_vector(embedded: ResearchDatabase, make_database: MakeDatabase) -> None:
    """Set aside and published again needs no model; other words have no vector until the next embedding."""
    remember(embedded, "m1", "router budget")
    embedded.embed()
    writer = make_database(folder=embedded.project_folder, embedder=lambda: None)
    for status in ("deprecated", "published", "conflict", "published", "expired"):
        writer.set_memory_status("m1", status, "why not")
    assert "memory:m1" not in [hit.chunk_id for hit in asked(embedded.path, "router budget").hits]
    writer.renew_memory("m1", "2030-01-01T00:00:00Z", "still true")
    writer.link_memory("m1")
    answer = asked(embedded.path, "router budget")
    assert "memory:m1" in [hit.chunk_id for hit in answer.hits] and answer.detail == {"memories": 1}
    reader = open_reader(embedded.path)
    live = reader.execute("SELECT count(*) AS n FROM memory_embedding WHERE retired_revision IS NULL").fetchone()["n"]
    reader.close()
    assert (live, embedded.verify_audit().damages) == (1, ())

    writer.add_memory(memory_id="m2", title="note", content="router", kind="knowledge")
    writer.edit_memory("m2", content="router plane")
    writer.set_memory_status("m2", "published", "measured")
    assert asked(embedded.path, "router plane").detail == {"memories_without_vector": 1, "memories": 1}
    assert embedded.embed().embedded == 1


def test_a_scope_of_memories_alone(make_database: MakeDatabase) -> None:
    """Without vectors it has nothing to say; with them it answers, with the older model while the new one has none."""
    new, older = FakeEmbedder("fake-b"), {INSTALLED.spec.id: from_embedder(INSTALLED)}
    database = make_database()
    remember(database, "m1", "router budget")
    assert asked(database.path, "router") == ChannelAnswer("empty", detail={"memories_without_vector": 1})
    assert asked(database.path, "router", embedder=None).state == "empty"
    database.embed()
    assert [hit.chunk_id for hit in asked(database.path, "router").hits] == ["memory:m1"]
    assert asked(database.path, "router", embedder=None).code is ReasonCode.MODEL_MISSING
    assert asked(database.path, "router", embedder=new).code is ReasonCode.MODEL_CHANGED
    reader = open_reader(database.path)
    channel = VectorRetriever(reader, lambda: from_embedder(new), lambda: True, older=older.get)
    assert channel.retrieve("router", SCOPE, 10, 0.0) == asked(database.path, "router")
    reader.close()
    assert make_database(embedder=lambda: new).embed(rebuild=True).retired_models
    assert asked(database.path, "router").code is ReasonCode.MODEL_CHANGED
    assert [hit.chunk_id for hit in asked(database.path, "router", embedder=new).hits] == ["memory:m1"]
    assert database.verify_audit().damages == ()


def test_an_equal_text_of_a_neighbour_is_reused_as_a_value(
    embedded: ResearchDatabase, make_database: MakeDatabase
) -> None:
    """A promoted memory is not embedded again, and has no vector before its own scope embeds."""
    remember(embedded, "m1", "router budget")
    embedded.embed()
    model = FakeEmbedder()
    neighbour = make_database(scope=other_scopes()[3], embedder=lambda: model)
    remember(neighbour, "m1", "router budget")
    assert asked(neighbour.path, "router", neighbour.scope).hits == ()
    assert neighbour.embed().embedded == 1 and sum(map(len, model.calls)) == 3  # the canaries
    assert [hit.scope for hit in asked(neighbour.path, "router", neighbour.scope).hits] == [neighbour.scope]
