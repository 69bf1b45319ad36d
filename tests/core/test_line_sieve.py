"""A sieve never says no of a text that holds what is looked for, and says no of most others."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.line_fold import fold
from arr_sql.core.line_sieve import MAX_GRAMS, make_sieve, may_hold, needle_hashes, which_may_hold

LETTERS = st.one_of(
    st.sampled_from("abcdeAB_-.( \t\u3000\u0301\u0308ßſKİﬁΣςσ数据库学习，！ガｶﾞ가각한글ไทยé\U0001f600\U0001f3fd"),
    st.characters(),
)
TEXTS = st.text(alphabet=LETTERS, max_size=60)


def passes(text: str, needle: str, *, exact: bool) -> bool:
    """Would the file be read?"""
    sieve, hashes = make_sieve(text), needle_hashes(needle, exact=exact)
    return sieve is None or not hashes or may_hold(sieve, 0, len(sieve), [hashes])


@given(TEXTS, st.data())
def test_a_part_of_the_text_as_it_is_written_passes(text: str, data: st.DataObject) -> None:
    """Cut anywhere, also between a letter and its combining marks, which folding would join."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert passes(text, text[start:end], exact=True)


@given(TEXTS, st.data())
def test_a_part_of_the_folded_text_passes(text: str, data: st.DataObject) -> None:
    """The search compares folded forms: whatever needle folds to a part of the folded text is found in it."""
    folded = fold(text)
    start = data.draw(st.integers(0, len(folded)))
    end = data.draw(st.integers(start, len(folded)))
    for needle in {folded[start:end], folded[start:end].upper(), folded[start:end].swapcase()}:
        if fold(needle) in folded:
            assert passes(text, needle, exact=False)


@given(st.lists(TEXTS, max_size=6), st.lists(st.text(LETTERS, min_size=4, max_size=9), max_size=3))
def test_many_sieves_are_asked_as_one_is(texts: list[str], needles: list[str]) -> None:
    """Sieves that follow one another, some of them empty, for no needle, one, or several."""
    wanted = [hashes for needle in needles if (hashes := needle_hashes(needle, exact=False))]
    sieves, places = b"", []
    for number, text in enumerate(texts):
        sieve = make_sieve(text) or b""
        places.append((number, len(sieves), len(sieves) + len(sieve)))
        sieves += sieve
    expected = [number for number, start, end in places if may_hold(sieves, start, end, wanted)]
    assert which_may_hold(sieves, places, wanted) == expected


@pytest.mark.parametrize(
    ("needle", "passed"),
    [
        ("warmup_steps", True), ("WARMUP", True), ("warm", True), ("coolup_steps", False), ("warmup_stops", False),
        ("学习率", True), ("学习", True), ("减半", False), ("率学", False), ("lr_衰减", True), ("lr_衰老", False),
        # No gram, so nothing can be told: three letters, one Chinese character, signs apart.
        ("zzz", True), ("龙", True), ("a b c", True),
    ],
)  # fmt: skip
def test_what_passes(needle: str, passed: bool) -> None:
    """A short text has a sieve of its own size: what is not in it fails, but for a rare chance."""
    assert passes("the Warmup_Steps of 学习率 and lr_衰减 lie\n", needle, exact=False) is passed


def test_white_space_parts_a_needle() -> None:
    """Only what stands between white space is asked for; line ends and tabs never are."""
    assert needle_hashes("alpha beta", exact=True) == tuple(
        sorted({*needle_hashes("alpha", exact=True), *needle_hashes("beta", exact=True)})
    )
    assert needle_hashes("a bc def\tg", exact=True) == ()


def test_an_empty_text_holds_nothing() -> None:
    """Its sieve has no bits."""
    assert make_sieve(" \n ab \n") == b""
    assert not passes("", "warmup", exact=True)


def test_few_texts_pass_by_chance() -> None:
    """Of a thousand identifiers that do not occur in a text of 600, fewer than ten pass; and its sieve is small."""
    rng = random.Random(3)
    words = ["".join(rng.choices(string.ascii_lowercase, k=10)) for _ in range(1600)]
    text, absent = " ".join(words[:600]), words[600:]
    assert sum(passes(text, word, exact=True) for word in absent) < 10
    sieve = make_sieve(text)
    assert sieve is not None and len(sieve) < len(text) / 3


def test_a_text_of_too_many_grams_has_no_sieve() -> None:
    """One line of random letters, or many: memory is bounded, and the file is read each time."""
    rng = random.Random(5)
    letters = "".join(rng.choices(string.ascii_lowercase + string.digits, k=3 * MAX_GRAMS))
    assert make_sieve(letters) is None
    assert make_sieve("\n".join(letters[place : place + 80] for place in range(0, len(letters), 80))) is None
