"""What an embedder is: two methods and a spec. Vectors travel as bytes, so nothing here needs NumPy.

A vector is ``dimension`` little-endian IEEE 754 float32 values of unit Euclidean length. A blank text
has no vector: its place in the result is None. Queries and passages have a method each, because many
models were trained with a different prefix for each; the prefixes belong to the model.

The fingerprint says whether two specs would give comparable vectors. It is stored with the vectors,
as are the vectors of three canary texts: they also notice a model that changed behind the same spec.
``tests/index/test_embedder_protocol.py`` holds these promises.
"""

from __future__ import annotations

import math
import sys
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

from arr_sql.core.canonical import canonical_json, sha256_json
from arr_sql.errors import ModelError

#: English, Chinese, code. Changing one invalidates every stored index.
CANARY_TEXTS: tuple[str, str, str] = (
    "The learning rate was halved when the validation loss stopped falling.",
    "当验证集损失不再下降时，学习率减半。",
    "def halve(rate: float) -> float:\n    return rate * 0.5  # called when val_loss stalls",
)

#: Below this cosine between a stored and a fresh canary vector the model is not the one stored.
CANARY_COSINE = 0.999

#: How far from 1 the squared length of a unit vector may be: float32 rounding, with room.
_UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True)
class EmbedderSpec:
    """Everything that decides an embedder's vectors, and how much to trust them. All of it is in the fingerprint."""

    id: str
    """Name of the model in the store, as in ``multilingual-e5-small-q4``."""
    revision: str
    """Exact weights: a hash or the publisher's version."""
    dimension: int
    """Components of a vector."""
    window_tokens: int
    """Tokens of text in one window, special tokens not counted."""
    long_text: str = "windows-mean"
    """What happens beyond one window: ``windows-mean`` (token-weighted mean) or ``truncate``."""
    query_prefix: str = ""
    passage_prefix: str = ""
    metric: str = "cosine"
    batch_invariant: bool = True
    """True when a text's vector does not depend on its batch, up to 1e-6 a component."""
    network: bool = False
    """True when texts leave this machine."""
    fusion_weight: float = 0.3
    """Weight of this embedder's scores in a convex fusion with BM25, from 0 to 1; measured for each model."""
    postprocess: str = "none"
    """What is done to a vector after the model, with the revision of its constants."""
    normaliser: str = "none"
    """What is done to a text before the model's vocabulary sees it, with its version."""

    def to_json(self) -> str:
        """This spec as canonical JSON: sorted keys, no spaces, ASCII."""
        return canonical_json(asdict(self))

    def fingerprint(self) -> str:
        """Hex SHA-256 of ``to_json()``."""
        return sha256_json(asdict(self))


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. One may be shared between threads, and used after a fork."""

    @property
    def spec(self) -> EmbedderSpec:
        """What decides the vectors."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """One vector of ``spec.dimension * 4`` bytes for each text, in order; None exactly for blank texts.

        Raises ModelError when the model fails or gives a vector that ``check_vector`` refuses.
        """
        ...

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        """As ``embed_queries``, for texts that are to be found."""
        ...


def embed_text(heading: str, content: str) -> str:
    """What is embedded for a chunk: its heading, then its content."""
    return f"{heading}\n{content}" if heading else content


def is_blank(text: str) -> bool:
    """True when ``text`` has nothing to embed: only white space, control and format characters."""
    return all(unicodedata.category(character) in _BLANK_CATEGORIES for character in text)


_BLANK_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def check_vector(blob: bytes, dimension: int) -> None:
    """Refuse a vector that must not be stored or compared.

    Raises ModelError that names what is wrong: the length, a NaN, an infinity, all zeros, not of unit length.
    """
    if len(blob) != dimension * 4:
        raise ModelError(
            f"Embedding vector refused: wrong length, {len(blob)} bytes where {dimension} float32 values"
            f" take {dimension * 4}. The model's dimension does not match; run `arr embed --rebuild`."
        )
    squares = 0.0
    for position, value in enumerate(_floats(blob)):
        if math.isnan(value):
            raise ModelError(f"Embedding vector refused: component {position} is NaN (not a number).")
        if math.isinf(value):
            raise ModelError(f"Embedding vector refused: component {position} is an infinity.")
        squares += value * value
    if squares == 0.0:
        raise ModelError("Embedding vector refused: zero vector, it has no direction to compare.")
    if abs(squares - 1.0) > _UNIT_TOLERANCE:
        raise ModelError(f"Embedding vector refused: not of unit length, it is {math.sqrt(squares):.6g} long.")


def cosine(a: bytes, b: bytes) -> float:
    """Cosine similarity of two little-endian float32 vectors, from -1 to 1. They need not be of unit length.

    Raises ModelError when the lengths differ, or a vector is empty, zero or not finite.
    """
    if len(a) != len(b) or not a or len(a) % 4:
        raise ModelError(f"Vectors of {len(a)} and {len(b)} bytes cannot be compared: wrong length.")
    dot = length_a = length_b = 0.0
    for x, y in zip(_floats(a), _floats(b), strict=True):
        dot += x * y
        length_a += x * x
        length_b += y * y
    if not math.isfinite(length_a * length_b):
        raise ModelError("Vectors cannot be compared: a component is NaN or an infinity.")
    if length_a == 0.0 or length_b == 0.0:
        raise ModelError("Vectors cannot be compared: zero vector.")
    return max(-1.0, min(1.0, dot / math.sqrt(length_a * length_b)))


def canary_vectors(embedder: Embedder) -> list[bytes]:
    """The passage vectors of ``CANARY_TEXTS``, checked. Raises ModelError when one is missing or refused."""
    vectors = []
    for vector in embedder.embed_passages(CANARY_TEXTS):
        if vector is None:
            raise ModelError(f"Model '{embedder.spec.id}' gives no vector for a text that is not blank.")
        check_vector(vector, embedder.spec.dimension)
        vectors.append(vector)
    return vectors


def checked_texts(texts: Sequence[str]) -> list[str]:
    """``texts`` as a list. Raises TypeError for a lone string, which would be taken apart into letters."""
    if isinstance(texts, str):
        raise TypeError("texts must be a sequence of strings, not one string: pass [text].")
    return list(texts)


def _floats(blob: bytes) -> Iterator[float]:
    values = array("f")
    values.frombytes(blob)
    if sys.byteorder == "big":
        values.byteswap()
    return iter(values)
