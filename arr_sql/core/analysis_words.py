"""English stems and the little words that a query leaves out.

The stemmer is Porter's of 1980 (:mod:`arr_sql.core.porter`), which is frozen: terms are stored in files that outlive an
upgrade of a stemmer's package. Snowball's later ``english`` algorithm changed between its releases 2 and 3; it gains at
most 0.003 nDCG@10 on our collections (``docs/search.md``).
"""

from __future__ import annotations

from functools import lru_cache

from arr_sql.core.porter import porter_stem

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


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of a folded word; numbers, short words and words of other alphabets come back as they are."""
    return porter_stem(word) if len(word) >= 3 and word.isascii() and word.isalpha() else word
