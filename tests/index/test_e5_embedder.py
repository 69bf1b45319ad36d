"""The default embedder as a whole, with the real weights: vectors of an independent engine, odd texts, sharing."""

# ruff: noqa: E402  (what needs NumPy is imported after the skip)
from __future__ import annotations

import functools
import json
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the embedder needs NumPy (extra `local`)")

from arr_sql.index.embedders.e5_embedder import MAX_WINDOWS, E5Embedder
from arr_sql.index.embedders.e5_file import E5_SHA256
from arr_sql.index.embedders.protocol import Embedder, canary_vectors, check_vector, cosine
from tests.index.test_e5_support import real_embedder, real_model_path

pytestmark = pytest.mark.model

REFERENCE = json.loads(Path(__file__).with_name("e5_reference.json").read_text("utf-8"))["texts"]
TEXTS = [
    "Gradient clipping keeps the loss finite.",
    "梯度裁剪使损失保持有限。",
    "for x in range(10): print(x)",
    "ok",
    "混合 mixed text 🎉",
]


@functools.cache
def plain_embedder() -> E5Embedder:
    """The embedder with its NumPy engine."""
    return E5Embedder.open(real_model_path(), engine="numpy")


def same(a: list[bytes | None], b: list[bytes | None]) -> bool:
    """Equal bytes, and no vector missing."""
    return None not in a and a == b


@pytest.mark.parametrize("reference", REFERENCE, ids=[entry["name"] for entry in REFERENCE])
def test_vectors_are_those_of_another_engine(reference: dict[str, object]) -> None:
    """NumPy: 0.99999 with float activations, 0.9998 with that engine as distributed, which rounds them to 8 bits."""
    vector = plain_embedder().raw_vector(f"{reference['kind']}: {reference['text']}")

    blob = vector.astype("<f4").tobytes()
    assert cosine(blob, struct.pack("<384f", *reference["float"])) > 0.99999  # type: ignore[misc]
    assert cosine(blob, struct.pack("<384f", *reference["shipped"])) > 0.9998  # type: ignore[misc]


def test_a_text_has_the_same_vector_alone_and_in_a_batch() -> None:
    """The same bytes."""
    embedder = real_embedder()
    together = embedder.embed_passages(TEXTS * 3)

    assert same(together, [embedder.embed_passages([text])[0] for text in TEXTS * 3])


def test_blank_texts_and_only_they_get_none() -> None:
    """Order is kept around them."""
    embedder = real_embedder()

    vectors = embedder.embed_queries(["", "a", " \n\u3000", "\0", "。", "b"])

    assert [vector is None for vector in vectors] == [True, False, True, True, False, False]
    assert same(vectors[1:2], embedder.embed_queries(["a"]))
    assert embedder.embed_passages([]) == []


@pytest.mark.parametrize(
    "text",
    [
        "a\0b",
        "\ufdfa" * 40,
        "\ud800",
        "x\udfffy",
        "\U0010ffff",
        "\u0301" * 500,
        "▁▁",
        "</s>",
        "🧑‍🧑‍🧒‍🧒" * 40,
        "a" * 2000,
    ],
)
def test_odd_texts_get_good_vectors(text: str) -> None:
    """NUL, one character that becomes eighteen, lone surrogates, combining marks, special tokens, no spaces."""
    for vector in (*real_embedder().embed_queries([text]), *real_embedder().embed_passages([text])):
        assert vector is not None
        check_vector(vector, 384)


def test_nothing_after_nul_is_lost() -> None:
    """Text behind a NUL counts."""
    embedder = real_embedder()
    (cut,), (whole,) = embedder.embed_passages(["heat"]), embedder.embed_passages(["heat\0 pumps in winter"])
    (clean,) = embedder.embed_passages(["heat pumps in winter"])

    assert cut and whole and clean
    assert cosine(whole, clean) > 0.999 > cosine(whole, cut)


def test_a_long_text_is_the_weighted_mean_of_its_windows() -> None:
    """Windows of 510 tokens, prefix included, weighted by their tokens."""
    embedder = real_embedder()
    text = " ".join(f"item {number}" for number in range(400))
    ids = embedder.tokenizer.encode("passage: " + text)
    windows = [ids[start : start + 510] for start in range(0, len(ids), 510)]
    means = embedder.engine.window_means([[0, *window, 2] for window in windows])
    expected = sum(len(window) * mean for window, mean in zip(windows, means, strict=True))

    vector = embedder.raw_vector("passage: " + text)

    assert len(windows) == 2
    assert np.abs(vector - expected / np.linalg.norm(expected)).max() < 1e-6


def test_an_endless_text_is_cut() -> None:
    """Only so many windows are read."""
    windows = real_embedder().windows("字" * 2_000_000)

    assert len(windows) == MAX_WINDOWS
    assert {len(window) for window in windows} == {512}


def test_threads_and_forked_children_share_an_embedder() -> None:
    """All get the same vectors."""
    embedder = real_embedder()
    expected = embedder.embed_passages(TEXTS)
    with ThreadPoolExecutor(3) as pool:
        assert all(same(result, expected) for result in pool.map(lambda _: embedder.embed_passages(TEXTS), range(6)))
    if hasattr(os, "fork"):
        assert same(_in_a_child(TEXTS), expected)


def _in_a_child(texts: list[str]) -> list[bytes | None]:
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_embed, (texts,))


def _embed(texts: list[str]) -> list[bytes | None]:
    return real_embedder().embed_passages(texts)


def test_the_spec_names_weights_shift_and_normaliser() -> None:
    """All that decides a vector is in the fingerprint."""
    embedder = real_embedder()
    spec = embedder.spec

    assert isinstance(embedder, Embedder)
    assert (spec.id, spec.revision, spec.dimension) == ("multilingual-e5-small-q4", E5_SHA256, 384)
    assert (spec.query_prefix, spec.passage_prefix, spec.window_tokens) == ("query: ", "passage: ", 510)
    assert spec.batch_invariant and not spec.network and spec.fusion_weight == 0.5
    assert "language-shift 1" in spec.postprocess and "NFKC" in spec.normaliser
    assert spec.fingerprint() == "63a440d0a3fa39b3bf6875506ee776b4687b7d93b1dee8712bd885708520cbf8"


def test_canaries_are_three_different_directions() -> None:
    """They would notice a model that answers the same to everything."""
    english, chinese, code = canary_vectors(real_embedder())

    assert cosine(english, chinese) > cosine(english, code)
    assert max(cosine(english, chinese), cosine(english, code), cosine(chinese, code)) < 0.9


def test_a_question_finds_its_passage() -> None:
    """Across languages: the right passage of three is first."""
    embedder = real_embedder()
    passages = ["猫在沙发上睡觉。", "水在一百摄氏度沸腾。", "The stock market fell sharply on Monday."]
    (question,) = embedder.embed_queries(["At what temperature does water boil?"])
    assert question is not None

    scores = [cosine(question, vector) for vector in embedder.embed_passages(passages) if vector is not None]

    assert scores.index(max(scores)) == 1
