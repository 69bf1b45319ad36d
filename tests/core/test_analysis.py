"""The analyser's promises: no string breaks it, a text finds itself, terms fit the index, worked examples."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arr_sql.core import analysis_terms as cut
from arr_sql.core.analysis import ANALYSER_VERSION, Analysed, analyse, identifiers, is_name_alone, query_terms
from arr_sql.core.analysis_fold import prepare
from arr_sql.core.analysis_terms import MAX_TERM
from arr_sql.core.analysis_words import STOP_WORDS, stem

HOSTILE = [
    "",
    " \t\r\n",
    "\x00",
    "a\x00b",
    "\ud800",
    "x\udfffy",
    "AND",
    "NEAR(",
    '"',
    "'",
    "`",
    "*",
    "''''",
    "a'",
    "_",
    "__ ___",
    ".",
    "...",
    "#",
    "%",
    "x%",
    "\\",
    "\\\\n",
    "a" * 10_000,
    "aA" * 5_000,
    "a_" * 5_000,
    "a.b-" * 2_500,
    "缓" * 10_000,
    "हि" * 5_000,
    "e\u0301" * 5_000,
    "\u0301" * 10_000,
    "++++##%%",
    "C" * 300 + "++",
    "\ufdfa" * 500,
    "\u115f\u3164",
]
texts = st.one_of(
    st.text(),
    st.text(alphabet="aAbB zZ09_.-/@'&:#+%\\\n\x00缓存かガ한글กา\u0301\u200b\ud800éßİ’ﬁ½αहि"),
    st.lists(st.sampled_from(["the", "flush_write", "C++", "缓存策略", "2.5.1", "don't", "x.y", "α", " ", "-"])).map(
        "".join
    ),
)


def on_hostile(test: object) -> object:
    for text in HOSTILE:
        test = example(text)(test)  # type: ignore[arg-type]
    return test


@on_hostile
@example("缓\n 存\r\n\t策略abc\nか")
@given(texts)
def test_cutting_at_white_space_first_changes_no_term(text: str) -> None:
    """What is kept of each token, joined, is what the chunks of the whole text give one by one."""
    pieces = []
    length = 0
    for chunk in cut.chunks(prepare(text)):
        is_run = not chunk.isascii() and cut.is_unspaced(chunk)
        found = cut.unspaced_pieces(chunk) if is_run else cut.word_pieces(chunk)
        words = sum(kind in (cut.WORD, cut.PART, cut.MINOR, cut.CHARACTER) for kind, _ in found)
        length += words or min(1, len(found))
        pieces += [term for _, term in found]
    assert analyse(text) == Analysed(tuple(pieces), length)


@on_hostile
@given(texts)
def test_terms_fit_the_index(text: str) -> None:
    """No term holds what would split it or end it: white space, control characters, quotes, surrogates; none is long."""
    analysed = analyse(text)
    for term in {*analysed.terms, *query_terms(text)}:
        assert 0 < len(term) <= MAX_TERM
        assert not re.search(r"""[\s"'`]""", term)
        assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in term)
        assert term == term.lower()
    assert 0 <= analysed.length <= len(analysed.terms)
    assert (analysed.length == 0) == (not analysed.terms)


@on_hostile
@given(texts)
def test_a_text_finds_itself(text: str) -> None:
    """Whatever a query asks for, its own text has; and a text with terms asks for some, each with a positive weight."""
    asked = query_terms(text)
    assert set(asked) <= set(analyse(text).terms)
    assert all(weight > 0 for weight in asked.values())
    assert bool(asked) == bool(analyse(text).terms)


@given(texts)
def test_composition_makes_no_difference(text: str) -> None:
    """NFC and NFD of one text give the same terms."""
    nfc, nfd = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert analyse(nfc) == analyse(nfd)
    assert query_terms(nfc) == query_terms(nfd)


@given(st.lists(st.text(alphabet="abcsABCs1é", max_size=4) | st.just("x" * 60), min_size=2, max_size=5).map("_".join))
@example("MAX_Value_of_x")
@example("ROWs_a")
def test_snake_case_is_cut_as_any_other_name(chunk: str) -> None:
    """The short way for the commonest of names gives, in order, what the long way gives."""
    words = cut._snake_words(chunk)
    assert not words or cut._snake(words) == cut._compound(chunk)
    assert bool(words) == (
        re.fullmatch(r"([A-Z]?[a-z]+|[A-Z]+)(_([A-Z]?[a-z]+|[A-Z]+))+", chunk) is not None and len(chunk) <= MAX_TERM
    )


cjk = st.text(alphabet="缓存策略评审的我テストかな한국어정보", min_size=1)


@given(cjk, cjk, cjk)
def test_a_part_of_a_chinese_text_finds_it(before: str, part: str, after: str) -> None:
    """Everything that a substring asks for, the text has, whatever stands around it."""
    assert set(query_terms(part)) <= set(analyse(before + part + after).terms)
    assert set(query_terms(part)) <= set(analyse(f"see{part}X2 {after}").terms)


@given(st.text(alphabet="ab_C9", min_size=101, max_size=400))
def test_a_long_run_is_split_not_cut(run: str) -> None:
    """The last characters of a run that is longer than a term still count."""
    assert analyse(run + "zq").terms != analyse(run + "zr").terms


def test_terms_do_not_depend_on_the_process() -> None:
    """Order and weights are the same under every hash seed."""
    code = "from arr_sql.core.analysis import *; t='getUser_x a.b C++ 缓存 the'; print(analyse(t), query_terms(t))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1


def test_the_stems_are_those_of_this_version() -> None:
    """Stored terms outlive an upgrade of the stemmer: if a stem changes, ``ANALYSER_VERSION`` must too."""
    words = "caresses ponies migrating migration university universe relational hopping generalizations news skies"
    assert ANALYSER_VERSION == "1"
    assert [stem(word) for word in words.split()] == [
        "caress", "poni", "migrat", "migrat", "univers", "univers", "relat", "hop", "gener", "new", "ski",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("router budget budget", "router budget budget"),
        ("Migrating rows", "migrat migrating row rows"),
        ("flush_write_buffer", "flush write buffer flush_write_buffer flush_write write_buffer"),
        ("getUserId2", "get user id 2 getuserid getuserid2 get_user user_id id_2"),
        ("__init__", "init __init__"),
        ("lib/io.py", "lib io py lib/io.py lib_io io_py"),
        ("foo-bar", "foo bar foo-bar foo_bar"),
        ("amy@lab.org", "ami amy lab org amy@lab.org amy_lab lab_org"),
        ("std::sort", "std sort std::sort std_sort"),
        ("2.5", "2.5"),
        ("v2.5.1", "v 2.5.1 v2.5.1 v_2.5.1 2.5"),
        ("#42 75% x%y", "42 #42 75 75% x y"),
        ("C++ C# F# .NET", "c++ c# f# .net"),
        ("C/C++ C++17 ASP.NET", "c c++ c/c++ 17 c++ c++17 asp .net asp.net"),
        ("GPUs", "gpu gpus"),
        ("user's don't O'Neil", "user dont o neil oneil"),
        (r"\alpha", r"\alpha alpha"),
        (r"\next", r"\next next ext ext"),
        ("TNF-α", "tnf α alpha tnf-α tnf_α"),
        ("缓存GPU", "缓 缓存 存 gpu"),
        ("缓\n存", "缓 缓存 存"),
        ("हिन्दी भाषा", "हिन्दी भाषा"),
        ("0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", None),
    ],
)
def test_what_a_text_becomes(text: str, terms: str | None) -> None:
    """Worked examples, one for each kind of chunk."""
    found = analyse(text).terms
    if terms is None:  # a commit hash: whole, and as people abbreviate it
        assert found == (text, text[:7], text[:8], text[:10], text[:12])
    else:
        assert " ".join(found) == terms


def test_length_counts_words() -> None:
    """A word counts once, whatever views of it are indexed; a character of Chinese counts as a word."""
    assert analyse("migrating the flush_buffer").length == 4
    assert analyse("缓存策略").length == 4
    assert analyse("") == Analysed((), 0)


def test_little_words_are_left_out_unless_nothing_remains() -> None:
    """``the`` weighs nothing beside a word, and everything alone."""
    assert set(query_terms("What is the router?")) == {"router"}
    assert set(query_terms("to be or not to be")) == {"to", "be", "or", "not"}
    assert set(query_terms("state-of-the-art")) >= {"state", "art", "state-of-the-art"}
    assert not set(query_terms("state-of-the-art")) & STOP_WORDS
    assert set(query_terms("don't panic")) == {"panic"}


def test_a_little_word_in_capitals_is_meant() -> None:
    """``OR gate`` asks for ``or``; a query all in capitals, or one that starts with ``A``, doesn't."""
    assert set(query_terms("OR gate")) == {"or", "gate"}
    assert set(query_terms("THE GATE")) == {"gate"}
    assert set(query_terms("A gate")) == {"gate"}


def test_repeated_words_add_up_and_views_weigh_less() -> None:
    """Plain words weigh one each time; the form beside the stem, pairs and single characters weigh less."""
    assert query_terms("router budget router") == {"router": 2.0, "budget": 1.0}
    weights = query_terms("migrating 缓存")
    assert weights["migrat"] == weights["缓存"] == 1.0
    assert 0 < weights["migrating"] < 0.5
    assert 0 < weights["缓"] < 0.5
    assert query_terms("缓") == {"缓": 1.0}


@pytest.mark.parametrize("name", ["E501", "E0308", "E-4013", "A100", "I-95", "a_1"])
def test_letters_that_are_little_words_are_names_beside_digits(name: str) -> None:
    """``a``, ``e`` and ``I`` are little words, ``e.g.`` and ``and/or`` hold nothing else; a code that begins so is a name."""
    assert identifiers(f"why did {name} happen on it") == [name]
    assert identifiers("e.g. this and/or that, i.e. a") == []


def test_identifiers() -> None:
    """Names are told from words, once each, in order, with their case."""
    text = (
        "The state-of-the-art, e.g. user's and/or well-known `flush_write` in lib/io.py: getUser, getUser, NCCL_ERR_4012,"
        " v2.5, 20.04, C++, .NET, \\alpha, QX-774120; 用PyTorch复现, 1990, GPU"
    )
    assert identifiers(text) == [
        "flush_write", "lib/io.py", "getUser", "NCCL_ERR_4012", "v2.5", "20.04", "C++", ".NET", "\\alpha", "QX-774120",
        "PyTorch",
    ]  # fmt: skip


@given(st.text(alphabet=st.sampled_from("ab1^_.-/:#+^ 数é"), max_size=30) | st.text(max_size=60))
def test_no_term_holds_the_sign_before_frequencies(text: str) -> None:
    """The chunk index writes ``term^body,heading``: a term with that sign would be taken for another one."""
    assert not any("^" in term for term in (*analyse(text).terms, *query_terms(text)))


@pytest.mark.parametrize("text", ["HRN-E999", "what is HRN-E999", "read_rows get_user_name", "batchSize?", "v2.4.1"])
def test_a_name_alone(text: str) -> None:
    """Little words aside."""
    assert is_name_alone(text)


@pytest.mark.parametrize(
    "text", ["", "the", "budget", "how to repair HRN-E999", "HRN-E999 是什么意思", "src/data/load.py"]
)
def test_more_than_a_name(text: str) -> None:
    """Other words, in any script; a path; nothing."""
    assert not is_name_alone(text)
