"""The language axis: taken out of a question where a scope holds two scripts, and nowhere else; a replay needs none."""

from __future__ import annotations

import base64
import json
import math
import struct
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.connection import open_reader
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.index.embedders.protocol import EmbedderSpec, check_vector
from arr_sql.retrieval.language_axis import FEWEST, SAMPLE, SHRINK, LanguageAxis, language_axis, read_language_axis
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, other_scopes

ENGLISH = [
    "the loss diverges late", "warmup helps the loss", "seeds change the order", "the router drops tokens", "queues fill up",
]  # fmt: skip
CHINESE = ["损失在后期发散", "预热有助于损失", "种子改变顺序", "路由丢弃词元", "队列在夜里排满"]


def unit(*values: float) -> bytes:
    """A unit vector in the direction of ``values``."""
    length = math.sqrt(math.fsum(value * value for value in values))
    return struct.pack(f"<{len(values)}f", *(value / length for value in values))


def dot(vector: bytes, direction: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(array("f", vector), direction, strict=True))


def plus(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


class Clustering(FakeEmbedder):
    """A model whose vectors cluster by language: the first component is the script, three others what a text is about."""

    def __init__(self) -> None:
        self.spec = EmbedderSpec(id="clustering", revision="1", dimension=4, window_tokens=512)
        self.calls = []

    def _vector(self, text: str) -> bytes | None:
        about = [
            1.0 if any(word in text for word in words) else 0.1
            for words in (("loss", "损失"), ("seed", "种子"), ("rout", "路由"))
        ]
        return unit(1.0 if plus(text) else -1.0, *about)


# --- By itself ----------------------------------------------------------------------------------------------------------


def test_the_axis_of_worked_vectors() -> None:
    """Means (1, 0) and (0, 1): the axis is their difference at unit length, half of it goes with 20 texts of each kind."""
    axis = language_axis([("plain words", unit(1, 0))] * SHRINK + [("汉字", unit(0, 1))] * (SHRINK + 5))
    assert axis is not None
    assert axis.direction == pytest.approx((-math.sqrt(0.5), math.sqrt(0.5)))
    assert (axis.weight, axis.texts) == (0.5, SHRINK)
    taken = array("f", axis.taken_from(unit(0, 1)))
    assert list(taken) == pytest.approx([1 / math.sqrt(10), 3 / math.sqrt(10)])  # (1/4, 3/4) at unit length


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [("only letters", unit(1, 0)), ("and more", unit(0, 1))],
        [("只有汉字", unit(1, 0)), ("再来", unit(0, 1))],
        [("1234", unit(1, 0)), ("汉字", unit(0, 1))],
        [("half a text 汉字的一半文本", unit(1, 0)), ("汉字", unit(0, 1)), ("汉 two or three words", unit(0, 1))],
        [("letters", unit(1, 0)), ("汉字", unit(1, 0))],
    ],
    ids=["nothing", "letters", "characters", "numbers", "mixed", "equal means"],
)
def test_there_is_no_axis_without_two_kinds(texts: list[tuple[str, bytes]]) -> None:
    """A scope in one language, texts of neither kind, and means that do not differ."""
    assert language_axis(texts * FEWEST) is None


def test_four_texts_of_a_kind_are_too_few() -> None:
    """Their mean would be their subject."""
    few = [("words", unit(1, 0))] * 90 + [("汉字", unit(0, 1))] * (FEWEST - 1)
    assert language_axis(few) is None and language_axis([*few, ("汉字", unit(0, 1))]) is not None


components = st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3).filter(lambda v: math.hypot(*v) > 0.1)


@given(components, components, st.floats(0, 1))
def test_what_is_left_is_a_unit_vector_with_less_of_the_axis(
    vector: list[float], along: list[float], weight: float
) -> None:
    """And what stands across the axis keeps its direction."""
    length = math.hypot(*along)
    axis = LanguageAxis(tuple(value / length for value in along), weight, 1)
    before = unit(*vector)
    after = axis.taken_from(before)
    check_vector(after, 3)
    if after != before:
        assert abs(dot(after, axis.direction)) <= abs(dot(before, axis.direction)) + 1e-6
    if weight == 0:
        assert dot(after, array("f", before)) == pytest.approx(1.0, abs=1e-6)


def test_a_question_that_is_nothing_else_stays_as_it_is() -> None:
    """Taken away whole there would be no direction to compare."""
    assert LanguageAxis((1.0, 0.0), 1.0, 9).taken_from(unit(1, 0)) == unit(1, 0)


# --- In a scope ---------------------------------------------------------------------------------------------------------


def filled(
    make_database: MakeDatabase, folder: Path, texts: Sequence[str], scope: ScopeKey = SCOPE
) -> ResearchDatabase:
    """A store of these texts, with vectors that cluster by language."""
    database = make_database(scope=scope, folder=folder, embedder=Clustering)
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"{number}.md").write_text(f"{text}\n", "utf-8")
    database.add(folder)
    database.embed()
    return database


def nearest(database: ResearchDatabase, query: str, k: int = 3) -> list[str]:
    result = database.search(query, plan={"tool_rounds": [["vector"]]}, k=k)
    return [item.content.strip() for item in result.evidence]


def test_a_question_finds_the_text_in_the_other_language_first(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Every Chinese text was nearer to a Chinese question than the English one that answers it; with the axis it is not."""
    texts = [f"{text} {number}" for number in range(20) for text in ENGLISH[1:]]
    texts += [f"{text} {number}" for number in range(30) for text in (CHINESE[1], CHINESE[3])]
    database = filled(make_database, tmp_path / "notes", texts)
    first = database.search("种子", plan={"tool_rounds": [["vector"]]}, k=3)
    assert all("seeds" in item.content for item in first.evidence)
    assert first.traces[0].detail == {"language_axis_texts": 60}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arr_sql.retrieval.hot_vectors.read_language_axis", lambda *given: None)
        plain = make_database(folder=tmp_path / "notes", embedder=Clustering)
        assert all(plus(text) for text in nearest(plain, "种子"))


def test_a_scope_in_one_language_is_asked_with_the_model_s_own_vector(
    make_database: MakeDatabase, tmp_path: Path
) -> None:
    """The bytes in the record are the model's, whatever a neighbour in two languages holds."""
    filled(make_database, tmp_path / "theirs", [*ENGLISH, *CHINESE], other_scopes()[3])
    database = filled(make_database, tmp_path / "ours", ENGLISH)
    result = database.search("种子", plan={"tool_rounds": [["vector"]]})
    assert "language_axis_texts" not in result.traces[0].detail
    reader = open_reader(database.path)
    kept = reader.execute("SELECT query_vectors FROM retrieval").fetchone()["query_vectors"]
    reader.close()
    assert list(map(base64.b64decode, json.loads(kept).values())) == Clustering().embed_queries(["种子"])


def test_a_replay_uses_the_vector_that_was_used(make_database: MakeDatabase, tmp_path: Path) -> None:
    """The axis of today is another; the answer of then comes again to the byte."""
    database = filled(make_database, tmp_path / "notes", [*ENGLISH, *CHINESE])
    first = database.search("种子", plan={"tool_rounds": [["vector", "bm25"]]})
    assert first.traces[0].detail == {"language_axis_texts": 5}
    for number in range(5, 8):
        (tmp_path / "notes" / f"{number}.md").unlink()
    for number in range(9):
        (tmp_path / "notes" / f"more-{number}.md").write_text(f"{CHINESE[0]}，{number} 次\n", "utf-8")
    database.sync()
    database.embed()
    assert nearest(database, "种子") != [item.content.strip() for item in first.evidence[:3]]
    assert [item.outcome for item in database.replay_all()] == ["identical", "identical"]


def test_the_sample_is_bounded_and_the_scope_s_own(make_database: MakeDatabase, tmp_path: Path) -> None:
    """The same axis for the same chunks in the same order of ids, cold and kept; a change of the scope makes another."""
    database = filled(
        make_database, tmp_path / "notes", [*ENGLISH, *CHINESE * 4, *(f"text {n}" for n in range(SAMPLE))]
    )
    reader = open_reader(database.path)
    try:
        model = reader.execute("SELECT id FROM embedding_model").fetchone()["id"]
        rows = reader.execute(
            "SELECT c.content AS content, e.vector AS vector FROM chunk AS c JOIN chunk_embedding AS e ON e.chunk = c.id "
            "ORDER BY c.chunk_id"
        ).fetchall()
        axis = read_language_axis(reader, SCOPE, model)
        assert axis is not None and axis == language_axis((row["content"], row["vector"]) for row in rows[:SAMPLE])
        assert axis != language_axis((row["content"], row["vector"]) for row in rows) or len(rows) <= SAMPLE
        (row,) = database._hot.vectors.state(reader, SCOPE)
        kept = database._hot.vectors.axis(reader, SCOPE, row)
        assert kept == axis and database._hot.vectors.axis(reader, SCOPE, row) is kept
        assert read_language_axis(reader, other_scopes()[1], model) is None
    finally:
        reader.close()
