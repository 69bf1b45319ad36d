"""Texts that a reader can't tell apart come out equal."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.analysis import fold, phrase_in
from arr_sql.core.analysis_fold import _WIDE_SIGNS, UNSPACED, prepare


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("Café", "cafe"),
        ("cafe\u0301", "cafe"),
        ("Łódź", "lodz"),
        ("Ærø", "aero"),
        ("đá Þór ıstanbul İstanbul", "da thor istanbul istanbul"),
        ("Straße STRASSE ẞ", "strasse strasse ss"),
        ("Ελληνικά ΟΔΟΣ", "ελληνικα οδοσ"),
        ("ещё Ёж", "еще еж"),
        ("ＧＰＵ１２３－ｆｏｏ", "gpu123-foo"),
        ("ﾃｽﾄ ﾊﾟｽ", "テスト パス"),
        ("ハ\u309a", "パ"),
        ("eﬃcient ﬁlter ﬂows", "efficient filter flows"),
        ("soft\u00adhyphen zero\u200bwidth \ufeffbom", "softhyphen zerowidth bom"),
        ("Navier–Stokes ‐ − it’s “so”", 'navier-stokes - - it\'s "so"'),
        ("شَدَّة", "شدة"),
    ],
)
def test_spellings_that_are_the_same(typed: str, same: str) -> None:
    """Case, accents, width, ligatures, invisible characters and typographic marks make no difference."""
    assert fold(typed) == same


@pytest.mark.parametrize(("one", "other"), [("は", "ば"), ("й", "и"), ("कि", "क"), ("กา", "กี"), ("한", "하")])
def test_marks_that_make_another_letter_stay(one: str, other: str) -> None:
    """A voiced kana, a Cyrillic short i and a vowel sign are letters, not accents."""
    assert fold(one) != fold(other)


def test_prepare_keeps_case() -> None:
    """camelCase is still there to be cut."""
    assert prepare("getÜserŁink") == "getUserLink"


@given(st.text())
def test_fold_is_idempotent(text: str) -> None:
    """Folding twice changes nothing more."""
    assert fold(fold(text)) == fold(text)
    assert prepare(prepare(text)) == prepare(text)


def test_every_character_of_the_first_plane() -> None:
    """Alone or after a letter, a character folds once and for all, and its compositions fold alike."""
    for text in (prefix + chr(point) for point in range(0x10000) for prefix in ("", "e", "ば")):
        folded = fold(text)
        assert fold(folded) == folded
        assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text)) == folded


@given(st.text())
def test_composition_makes_no_difference(text: str) -> None:
    """NFC and NFD of one text fold to the same."""
    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text))


@pytest.mark.parametrize(
    ("phrase", "text", "expected"),
    [
        ("write buffer", "we flush the Write\n  Buffer daily", True),
        ("cat", "concatenate", False),
        ("cat", "concatenate the cat", True),
        ("C", "C++", True),
        ("缓存", "昨晚评审了缓存策略", True),
        ("GPU加速", "第3章GPU加速约2.5倍", True),
        ("PU加速", "第3章GPU加速约2.5倍", False),
        ("GPU", "第3章GPU加速", True),
        ("\\alpha", "the \\alpha-divergence", True),
        ("efficient", "an eﬃcient filter", True),
        ("a\x00b", "a b", True),
        ("", "anything", False),
        ("  ", "any thing", False),
    ],
)
def test_phrase_in(phrase: str, text: str, expected: bool) -> None:
    """A phrase is found whatever its spaces and spelling, but never as half a word."""
    assert phrase_in(phrase, text) is expected


def test_phrase_in_reads_a_repetitive_text_once() -> None:
    """A text made to fail at every place ends at once (a search that restarts needed minutes)."""
    assert not phrase_in("a" * 5_000, "a" * 500_000)


LETTERS = 'aAb_1-. \n#"\u4e2d\u6587\u304b\u00e9\u0301\u00df\uff0b'


@given(st.text(LETTERS, max_size=14), st.text(LETTERS, max_size=4), st.integers(0, 13), st.integers(1, 5))
def test_a_phrase_begins_and_ends_where_the_texts_words_do(text: str, phrase: str, start: int, size: int) -> None:
    """As the definition says: with a mark at each edge of a word, the marked phrase is a part of the marked text."""
    for wanted in (phrase, text[start : start + size]):
        folded, within = (" ".join(re.split(r"\s+", fold(one))) for one in (wanted, text))
        word = r"[^\W]" if within.isascii() else rf"[^\W{UNSPACED}]"
        edge = re.compile(rf"(?<={word})(?!{word})|(?<!{word})(?={word})")
        marked = edge.sub("\0", folded.strip())
        assert phrase_in(wanted, text) == bool(marked and marked in edge.sub("\0", within))


@given(st.text(min_size=1), st.text(), st.text())
def test_a_phrase_between_spaces_is_in_the_text(phrase: str, before: str, after: str) -> None:
    """What stands between spaces is found."""
    if fold(phrase).replace("\0", " ").strip():
        assert phrase_in(phrase, f"{before} \n {phrase} \t {after}")


@given(st.text(alphabet="，：；！？（） ,=a缓か\u0338\u3099\u309a\u0301"))
def test_wide_signs_taken_first_change_nothing(text: str) -> None:
    """What is replaced before the rest is normalised comes out as it would have been, whatever mark follows it."""
    replaced = text
    for wide, narrow in _WIDE_SIGNS:
        assert unicodedata.normalize("NFKC", wide) == narrow
        replaced = replaced.replace(wide, narrow)
    assert unicodedata.normalize("NFKC", replaced) == unicodedata.normalize("NFKC", text)
