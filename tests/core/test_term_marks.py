"""Marking the terms of a query in a text, and making hidden characters visible."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arr_sql.core.analysis import analyse
from arr_sql.core.term_marks import code_point, language_of, parts, term_spans, wanted_terms

TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab 数据缓存é\u202e\u200b\n._-/C+#x19ﬁＡ"), st.characters(exclude_categories=[])
    ),
    max_size=60,
)  # fmt: skip


def marked(text: str, query: str) -> list[str]:
    """The marked places."""
    return [text[start:end] for start, end in term_spans(text, wanted_terms(query))]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("The warmup run diverged.", "why did the warmup diverge", ["warmup", "diverged"]),
        ("migrations and migrate", "migration", ["migrations", "migrate"]),
        ("def warmup_schedule(step):", "warmup", ["warmup"]),
        ("call io.readAll() now", "io.readall", ["io.readAll"]),
        ("in notes/warm-up.md", "warm", ["warm"]),
        ("NCCL_ERR_4012 in r19", "NCCL_ERR_4012", ["NCCL_ERR_4012"]),
        ("C++ and C", "C++", ["C++"]),
        ("大模型用 2000 步预热，小模型", "预热步数", ["预热"]),
        ("供电跳闸后的功耗限额是550W", "功耗限额", ["功耗限额"]),
        ("猫和狗", "猫", ["猫"]),
        ("Ｗarmup and ﬁle", "warmup file", ["Ｗarmup", "ﬁle"]),
        ("the and of", "the warmup", []),
        ("nothing here", "", []),
    ],
)
def test_marked_places(text: str, query: str, expected: list[str]) -> None:
    """What a reader would underline."""
    assert expected == marked(text, query)


@given(TEXTS, TEXTS)
def test_nothing_is_added_or_lost(text: str, query: str) -> None:
    """The pieces of any text, put together, are the text."""
    assert "".join(piece for _, piece in parts(text, wanted_terms(query))) == text


@given(TEXTS, TEXTS)
@example("0%", "0%")
@example("about 5% less", "5%")
@example("C++ and C#", "C++")
def test_each_mark_holds_a_term(text: str, query: str) -> None:
    """Marks are in order, apart, and each holds a term of the query."""
    wanted, last = wanted_terms(query), -1
    for start, end in term_spans(text, wanted):
        assert last < start < end <= len(text)
        assert set(analyse(text[start:end]).terms) & wanted
        last = end


@given(TEXTS)
def test_hidden_characters_stand_alone(text: str) -> None:
    """No piece that is shown as it is can turn the line, hide or break it."""
    for kind, piece in parts(text):
        if kind == "hidden":
            assert len(piece) == 1
        else:
            assert not set(piece) & set("\x00\x1b\u200b\u202e\u2066\u2028\ufeff\U000e0041")


def test_hidden_characters_have_a_name() -> None:
    """As people look them up."""
    pieces = parts("pay\u202etxt.exe\U000e0041")
    assert [code_point(piece) for kind, piece in pieces if kind == "hidden"] == ["U+202E", "U+E0041"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("A plain line of English", "en"), ("大模型用 2000 步预热 with warmup steps", "zh"), ("データを読む", "ja"),
     ("데이터를 읽다", "ko"), ("Данные обучения", ""), ("12 + 3", ""), ("", ""), ("ข้อมูลการฝึก", "th")],
)  # fmt: skip
def test_language_by_script(text: str, expected: str) -> None:
    """A guess that says nothing where it does not know."""
    assert language_of(text) == expected
