"""The stems are those of Snowball's ``porter``, word for word."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer.porter_stemmer import PorterStemmer

from arr_sql.core.porter import porter_stem

SUFFIXES = re.findall(
    "[a-z]+",
    "sses ies ss s eed ed ing y ational tional enci anci abli entli eli izer ization ation ator alli alism aliti fulness "
    "ousli ousness iveness iviti biliti alize icate iciti ical ative ful ness al ance ence er ic able ible ant ement "
    "ment ent ion ou ism ate iti ous ive ize e l ll",
)
_snowball = PorterStemmer()


def test_words_of_the_paper() -> None:
    """Examples out of Porter's article, one a step."""
    words = {
        "caresses": "caress", "ponies": "poni", "plastered": "plaster", "hopping": "hop", "filing": "file", "happy": "happi",
        "sky": "sky", "vietnamization": "vietnam", "triplicate": "triplic", "adoption": "adopt", "cease": "ceas", "roll": "roll",
        "controll": "control", "generalizations": "gener", "oscillators": "oscil",
    }  # fmt: skip
    assert {word: porter_stem(word) for word in words} == words


def test_every_word_of_the_standard_library() -> None:
    """Some twenty thousand words, English and not."""
    words: set[str] = set()
    for path in Path(sysconfig.get_paths()["stdlib"]).glob("*.py"):
        words.update(re.findall("[a-z]{3,}", path.read_text("utf-8", "replace").lower()))
    assert len(words) > 5_000
    assert [word for word in words if porter_stem(word) != _snowball.stemWord(word)] == []


@given(st.text("aeiouybcdwxlst", max_size=7), st.lists(st.sampled_from(SUFFIXES), max_size=3))
def test_any_word(start: str, suffixes: list[str]) -> None:
    """Made-up words, with the suffixes that the rules speak of in any order."""
    word = start + "".join(suffixes)
    if len(word) >= 3:
        assert porter_stem(word) == _snowball.stemWord(word)
