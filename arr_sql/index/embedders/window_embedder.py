"""What embedders of other packages and of servers have in common: windows, means, unit length, checks. No NumPy.

Their models cut long texts in silence, each at its own number of tokens. So a text is cut into windows here, by an estimate
that is on the safe side: a character of a script without spaces is a token, three others are one. A text's
vector is the mean over its windows, weighted by their sizes. ``tests/index/test_window_embedder.py`` holds that nothing is lost.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterator, Sequence

from arr_sql.errors import ModelError
from arr_sql.index.embedders.protocol import EmbedderSpec, check_vector, checked_texts, is_blank

#: For models that do not say how much they read: nearly all read 512 tokens.
WINDOW_TOKENS = 480

_FIRST_WIDE = "\u2e80"
_THIRDS_A_TOKEN = 3


class WindowEmbedder:
    """An ``Embedder`` over ``encode``, which a subclass gives. ``spec.window_tokens`` counts estimated tokens."""

    spec: EmbedderSpec

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector for each text, prefix included, of any length but zero. May raise anything."""
        raise NotImplementedError

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """Unit float32 vectors of ``texts`` as questions; None for blank ones. Raises ModelError."""
        return self._embed(self.spec.query_prefix, checked_texts(texts))

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        """Unit float32 vectors of ``texts`` as passages to find; None for blank ones. Raises ModelError."""
        return self._embed(self.spec.passage_prefix, checked_texts(texts))

    def _embed(self, prefix: str, texts: list[str]) -> list[bytes | None]:
        windows = [[] if is_blank(text) else list(cut(text, self.spec.window_tokens)) for text in texts]
        wanted = [prefix + window for some in windows for window in some]
        try:
            encoded = iter(self.encode(wanted) if wanted else ())
            vectors = [[next(encoded) for _ in some] for some in windows]
        except ModelError:
            raise
        except Exception as error:  # foreign code and servers may raise anything
            raise ModelError(f"Model '{self.spec.id}' failed: {type(error).__name__}.") from error
        return [self._vector(some, rows) if some else None for some, rows in zip(windows, vectors, strict=True)]

    def _vector(self, windows: Sequence[str], rows: Sequence[Sequence[float]]) -> bytes:
        means: list[float] = [0.0] * self.spec.dimension
        for window, row in zip(windows, rows, strict=True):
            if len(row) != self.spec.dimension:
                raise ModelError(
                    f"Model '{self.spec.id}' gave {len(row)} components where it gave {self.spec.dimension} before."
                )
            length = math.sqrt(math.fsum(value * value for value in row)) or 1.0
            weight = _thirds(window) / length
            means = [mean + weight * value for mean, value in zip(means, row, strict=True)]
        blob = unit_bytes(means)
        check_vector(blob, self.spec.dimension)
        return blob


def unit_bytes(values: Sequence[float]) -> bytes:
    """``values`` divided by their Euclidean length, as little-endian float32. Zeros and NaN stay what they are."""
    length = math.sqrt(math.fsum(value * value for value in values)) or 1.0
    data = array("f", (value / length for value in values))
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()


def cut(text: str, tokens: int) -> Iterator[str]:
    """Windows of at most ``tokens`` estimated tokens; together they are ``text``. Cut after white space where there is some."""
    most = tokens * _THIRDS_A_TOKEN
    start, size, after_space = 0, 0, 0
    for place, character in enumerate(text):
        weight = _weight(character)
        if size + weight > most:
            left = _thirds(text[after_space:place])
            end = after_space if after_space > start and left + weight <= most else place
            yield text[start:end]
            start, size = end, left if end == after_space else 0
        size += weight
        if character.isspace():
            after_space = place + 1
    if start < len(text):
        yield text[start:]


def _weight(character: str) -> int:
    return _THIRDS_A_TOKEN if character >= _FIRST_WIDE else 1


def _thirds(text: str) -> int:
    """Thirds of estimated tokens."""
    return sum(map(_weight, text))
