"""Moves multilingual-e5-small vectors so that Chinese and English texts about one thing lie close together.

Raw vectors cluster by language. With mu_en and mu_zh the mean vectors of English and of Chinese passages and r the
share of Chinese in a text (``han_share``)::

    v' = unit(v + r (mu_en - mu_zh) - 1/2 mu_en)

moves Chinese texts onto English ones and takes half of the common mean away. Measured on a bilingual collection with
one relevant passage in each language: nDCG@10 .625 raw, .786 shifted, and between -.002 and +.012 elsewhere.
The two means are constants in ``language_centroids.json``; their hash is part of the embedder's spec.
``tests/index/test_e5_language_shift.py`` holds that translations come closer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from arr_sql.errors import ModelError

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import Floats

_HAN = re.compile("[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LATIN_WORD = re.compile("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]+")
_HALF = np.float32(0.5)


def han_share(text: str) -> float:
    """r, from 0 (no Chinese) to 1: Han characters / (Han characters + Latin words); 0 when there are neither.

    ``text`` is the raw text, without a prefix. Kana and Hangul count as neither.
    """
    han = len(_HAN.findall(text))
    return han / (han + len(_LATIN_WORD.findall(text))) if han else 0.0


class LanguageShift:
    """The shift with the constants of the package. Raises ModelError when their file is damaged."""

    def __init__(self, dimension: int) -> None:
        data = json.loads(files(__package__).joinpath("language_centroids.json").read_text("utf-8"))
        english = np.asarray(data["en"], dtype=np.float32)
        chinese = np.asarray(data["zh"], dtype=np.float32)
        if english.shape != (dimension,) or chinese.shape != (dimension,):
            raise ModelError(f"language_centroids.json has no vectors of {dimension} components; reinstall arr_sql.")
        digest = hashlib.sha256(english.astype("<f4").tobytes() + chinese.astype("<f4").tobytes()).hexdigest()
        self.description = f"language-shift {data['revision']}, centroids {digest[:16]}, half mean removed"
        """For the spec: the kind of shift, its revision and the hash of the constants."""
        self._towards_english = english - chinese
        self._half_mean = _HALF * english

    def apply(self, vectors: Floats, texts: Sequence[str]) -> Floats:
        """Shifted unit vectors, (n, dimension), from raw unit vectors and the n texts they came from."""
        shares = np.asarray([han_share(text) for text in texts], dtype=np.float32)
        shifted = vectors + shares[:, np.newaxis] * self._towards_english - self._half_mean
        return unit(shifted)


def unit(vectors: Floats) -> Floats:
    """Each row of (n, dimension) divided by its Euclidean length. A zero row gives NaN, which is refused later.

    Row by row, so that a row's bytes do not depend on how many others there are.
    """
    with np.errstate(all="ignore"):
        wide = vectors.astype(np.float64)
        lengths = np.sqrt(np.asarray([np.dot(row, row) for row in wide]).reshape(-1))
        result: Floats = (vectors / lengths[:, np.newaxis]).astype(np.float32)
    return result
