"""English stems and the little words that a query leaves out.

The stemmer is Porter's of 1980, which its author has frozen: terms are stored in files that outlive an upgrade of the
stemmer's package. The later ``english`` algorithm changed between releases 2 and 3; it gains at most 0.003 nDCG@10 on our
collections (``docs/search.md``) and takes half as much time again.

Its class is loaded by its own module name, never through ``snowballstemmer.stemmer()``, which hands out PyStemmer where
that is installed. Loading takes 15 ms, so it waits for the first word.
"""

from __future__ import annotations

import importlib
import threading
from functools import lru_cache
from typing import Any

# Lucene's 33 words, and those that turn a wish into a sentence: question words, pronouns, auxiliaries.
_LITTLE_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
will with

what which who whom whose when where why how do does did i me my we our us you your he she him his her its them am were
been being has have had having can could should would may might must shall from about

dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt cant couldnt shouldnt wouldnt wont
"""
STOP_WORDS = frozenset(_LITTLE_WORDS.split())
# Particles and pronouns of Chinese: as single characters they stand in every text. In pairs they count.
STOP_CHARACTERS = frozenset("的了是在和与及或而之其于以为对把被也都就这那有我你他她它们个吗呢吧啊么怎什哪")

_lock = threading.Lock()
_stemmer: list[Any] = []


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of a folded word; numbers, short words and words of other alphabets come back as they are."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    with _lock:  # the stemmer keeps the word it works on in itself
        if not _stemmer:
            _stemmer.append(importlib.import_module("snowballstemmer.porter_stemmer").PorterStemmer())
        return str(_stemmer[0].stemWord(word))
