"""Windows by characters: nothing of a text is lost or read twice, and its vector is the mean of its windows."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.errors import ModelError
from arr_sql.index.embedders.protocol import Embedder, EmbedderSpec
from arr_sql.index.embedders.window_embedder import WindowEmbedder, cut

TEXTS = st.text(st.sampled_from("ab 字\n，é🎉"), max_size=200)


class Counting(WindowEmbedder):
    """Vectors that say how many letters a and b a window has; it reads three estimated tokens."""

    def __init__(self) -> None:
        self.spec = EmbedderSpec(
            id="counting", revision="1", dimension=2, window_tokens=3, query_prefix="q", passage_prefix="p"
        )
        self.seen: list[str] = []
        self.answer: list[list[float]] | None = None

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """Counts, or what a test wants."""
        self.seen += texts
        return self.answer or [[float(text.count("a")), float(text.count("b"))] for text in texts]


@given(TEXTS, st.integers(1, 9))
def test_the_windows_are_the_text(text: str, tokens: int) -> None:
    """Joined they are the text; none is empty, none is longer than what is read."""
    windows = list(cut(text, tokens))

    assert "".join(windows) == text
    for window in windows:
        assert window
        assert sum(3 if character >= "\u2e80" else 1 for character in window) <= 3 * tokens


def test_words_stay_whole_where_they_can() -> None:
    """Cut after white space; a word longer than a window is cut where it must be; Han anywhere."""
    assert list(cut("aaa bbb ccccccccccccc dd", 3)) == ["aaa bbb ", "ccccccccc", "cccc dd"]
    assert list(cut("一二三四五", 2)) == ["一二", "三四", "五"]


def test_a_vector_is_the_weighted_mean_of_its_windows() -> None:
    """Hand-worked: nine letters a, then three letters b: 9 : 3 at unit length. Prefixes stand before each window."""
    model = Counting()

    (vector,) = model.embed_passages(["aaaaaaaaa" + "bbb"])

    assert model.seen == ["paaaaaaaaa", "pbbb"]
    assert vector is not None and isinstance(model, Embedder)
    assert struct.unpack("<2f", vector) == pytest.approx((3 / math.sqrt(10), 1 / math.sqrt(10)))


def test_blank_texts_have_no_vector_and_order_is_kept() -> None:
    """None for them, and the model does not see them."""
    model = Counting()

    vectors = model.embed_queries(["a", " ", "b", ""])

    assert [vector and struct.unpack("<2f", vector) for vector in vectors] == [(1.0, 0.0), None, (0.0, 1.0), None]
    assert model.seen == ["qa", "qb"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1.0, 0.0, 0.0]], "gave 3 components"),
        ([[0.0, 0.0]], "zero vector"),
        ([[float("nan"), 1.0]], "NaN"),
        ([[]], "gave 0 components"),
    ],
)
def test_a_vector_that_is_none_is_refused(answer: list[list[float]], message: str) -> None:
    """By name, before it can be stored."""
    model = Counting()
    model.answer = answer

    with pytest.raises(ModelError, match=message):
        model.embed_queries(["a"])


def test_too_few_vectors_are_a_fault_of_the_model() -> None:
    """A ModelError, not an error of ours."""
    model = Counting()
    model.answer = [[1.0, 0.0]]

    with pytest.raises(ModelError, match="'counting' failed"):
        model.embed_queries(["a", "b"])
