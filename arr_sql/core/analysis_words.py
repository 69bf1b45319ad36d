"""English stems and the little words that a query leaves out.

The stemmer's class is loaded by its own module name, never through ``snowballstemmer.stemmer()``: that function hands
out PyStemmer when it is installed, whose algorithm may be another version, and stems must not depend on what else is
installed. Loading takes 15 ms, so it waits for the first word.
"""

from __future__ import annotations

import importlib
import threading
from functools import lru_cache
from typing import Any

# Lucene's 33 words, plus question words, pronouns and auxiliaries.
STOP_WORDS = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with""".split()
)

_lock = threading.Lock()
_stemmer: list[Any] = []


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the English stem of a folded word; words of other alphabets and very short ones come back as they are."""
    if len(word) < 3 or not word.isascii():
        return word
    with _lock:  # the stemmer keeps the word it works on in itself
        if not _stemmer:
            _stemmer.append(importlib.import_module("snowballstemmer.english_stemmer").EnglishStemmer())
        return str(_stemmer[0].stemWord(word))
