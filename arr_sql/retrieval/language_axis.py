"""The direction in which a scope's Chinese vectors differ from its English ones, and a question's vector without it.

Vectors of a multilingual model cluster by language, more or less so in each scope: what is left of that after the model's
own shift puts texts of the question's language before texts that say more, and the other language last. So the question
loses its component along the axis u, the unit vector from the mean of the texts in letters to the mean of those in scripts
without spaces (an old way to take a known direction out of embeddings: Bolukbasi et al., NeurIPS 2016)::

    q' = unit(q - n / (n + 20) * (q . u) * u)

q' . v = q . v - (q . u)(v . u) for the whole weight: no stored vector need be touched. n is how many texts of the rarer
kind the sample holds, so few texts move it little, and a scope in one language, or with fewer than five texts of the other,
has no axis at all. What a retrieval record keeps is q', so a replay needs no axis. docs/search.md has the measurements.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.scripts import unspaced_share
from arr_sql.core.statements import load
from arr_sql.index.embedders.protocol import embed_text

SAMPLE = 512
"""Chunks that are looked at, whatever the size of the scope."""
UNSPACED, SPACED = 0.5, 0.1
"""A text from this share of a script without spaces on is of one kind, below that share of the other."""
FEWEST = 5
"""With fewer texts of a kind their mean says what they are about, not which language they are in: no axis then."""
SHRINK = 20
"""This many texts of the rarer kind take out half of the component."""


class LanguageAxis(NamedTuple):
    """``direction`` is of unit length; ``weight``, from 0 to 1, is how much of a vector's component along it goes."""

    direction: tuple[float, ...]
    weight: float
    texts: int
    """How many texts of the rarer kind it rests on."""

    def taken_from(self, vector: bytes) -> bytes:
        """A unit vector (little-endian float32) without its component; as it is, where nothing else would remain."""
        values = array("f", vector)
        component = self.weight * math.fsum(map(operator.mul, values, self.direction))
        left = [value - component * axis for value, axis in zip(values, self.direction, strict=True)]
        length = math.sqrt(math.fsum(value * value for value in left))
        return array("f", (value / length for value in left)).tobytes() if length > 1e-3 else vector


def language_axis(texts: Iterable[tuple[str, bytes]]) -> LanguageAxis | None:
    """The axis of texts with their unit vectors; None without ``FEWEST`` of each kind, or where their means are the same."""
    kinds: tuple[list[array[float]], list[array[float]]] = ([], [])
    for text, vector in texts:
        share = unspaced_share(text)
        if share is not None and (share >= UNSPACED or share < SPACED):
            kinds[share >= UNSPACED].append(array("f", vector))
    rarer = min(map(len, kinds))
    if rarer < FEWEST:
        return None
    spaced, unspaced = map(_mean, kinds)
    difference = list(map(operator.sub, unspaced, spaced))
    length = math.sqrt(math.fsum(value * value for value in difference))
    if length < 1e-6:
        return None
    return LanguageAxis(tuple(value / length for value in difference), rarer / (rarer + SHRINK), rarer)


def read_language_axis(reader: Connection, scope: ScopeKey, model: int) -> LanguageAxis | None:
    """The axis of one model's vectors of the chunks in ``scope``."""
    rows = reader.execute(load("read_language_sample"), {**scope.bindings(), "model": model, "most": SAMPLE})
    return language_axis((embed_text(row["heading"], row["content"]), row["vector"]) for row in rows)


def _mean(vectors: Sequence[array[float]]) -> list[float]:
    return [math.fsum(column) / len(vectors) for column in zip(*vectors, strict=True)]
