"""Needles: quoted strings and names first, else the rarest words, as typed, never an exception."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arr_sql.core.analysis import fold
from arr_sql.retrieval.needles import MAX_NEEDLES, needles


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('why does "connection reset" happen in `flush_buffer`?', ["connection reset", "flush_buffer"]),
        ("it's the 'single quoted' one, isn't it", ["single quoted"]),
        ("“缓存策略” and 「评审」 and 『结果』", ["缓存策略", "评审", "结果"]),
        ("what is $O(n \\log n)$ good for", ["$O(n \\log n)$"]),
        ("see (foo_bar), getUserId and f(x); not e.g. others", ["foo_bar", "getUserId", "f(x)"]),
        (
            "ENOENT or NCCL_ERR_4012 in lib/io.py, v2.5.1 or 20.04?",
            ["ENOENT", "NCCL_ERR_4012", "lib/io.py", "v2.5.1", "20.04"],
        ),
        ("is \\alpha the C++ or the .NET one", ["\\alpha", "C++", ".NET"]),
        ("write to amy@lab.example about QX-774120", ["amy@lab.example", "QX-774120"]),
        ("why did E4013 happen on the A100, and what is E-4012?", ["E4013", "A100", "E-4012"]),
        ("run it with --dry-run and k=v2", ["--dry-run", "k=v2"]),
    ],
)
def test_quoted_strings_and_names(query: str, expected: list[str]) -> None:
    """What a person marks or what can only be a name is looked for literally, in the order of the query."""
    assert needles(query) == expected


TYPED_ALONE = r"""
QX-774120 -774120 o'clock lib/io.py amy@lab.example [wip] #42 k=v2 75% m,n x|y p&q ~tmp $HOME {k} state-of-the-art
back`tick 20.04 NEAR(miss C++ C# F# .NET \alpha \mathcal{H}_n flush_write __init__ InvoiceLedger ResNet50 GPU加速 缓存
研究所 ｆｏｏ－ｂａｒ ﾃｽﾄ 42 efficient 2.5倍
"""


@pytest.mark.parametrize("query", TYPED_ALONE.split())
def test_one_string_is_looked_for_as_typed(query: str) -> None:
    """Punctuation that is typed alone is meant."""
    assert needles(query)[0] == query


@pytest.mark.parametrize(("query", "word"), [("ready?", "ready"), ("done;", "done"), ("什么是缓存？", "缓存")])
def test_the_end_of_a_sentence_is_not_looked_for(query: str, word: str) -> None:
    """The mark after the last word belongs to the sentence."""
    assert needles(query) == [word]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How does the router handle budget exhaustion?", ["exhaustion", "router", "handle", "budget"]),
        ("GPU memory fragmentation in the allocator", ["GPU", "fragmentation", "allocator", "memory"]),
        ("the user's guide, e.g. for beginners", ["beginners", "guide", "user"]),
        ("NOT drill", ["drill"]),
        ("to be or not to be", ["to be or not to be"]),
        ("下午用PyTorch复现ResNet50结果，第3章GPU加速约2.5倍", ["PyTorch", "ResNet50", "2.5"]),
        ("怎么用GPU训练", ["GPU", "训练"]),
        ("谁可以成为个体工商户？", ["可以成为个体工商户"]),
        ("倍", ["倍"]),
    ],
)
def test_words(query: str, expected: list[str]) -> None:
    """Without names: acronyms, then the longest words; little words and particles only where nothing else is."""
    assert needles(query) == expected


def test_rarity_decides() -> None:
    """With document frequencies (asked for by index term) the rarest words lead; of long Chinese also the rarest pairs."""
    frequency = {"router": 3.0, "handl": 9.0, "budget": 10.0, "exhaust": 1.0, "个体": 2.0, "工商": 1.0, "商户": 5.0}

    def rarity(term: str) -> float:
        return frequency.get(term, 0.0)

    assert needles("How does the router handle budget exhaustion?", rarity) == [
        "exhaustion",
        "router",
        "handle",
        "budget",
    ]
    assert needles("谁可以成为个体工商户？", rarity) == ["可以成为个体工商户", "工商", "个体", "商户"]


@pytest.mark.parametrize("query", ["", "  \n", "C", "?", "\x00", "\ud800", "a"])
def test_nothing_to_look_for(query: str) -> None:
    """A single letter is on every line, so it is no needle."""
    assert needles(query) == []


def test_names_that_fold_alike_are_one() -> None:
    """The searcher folds, so one spelling is enough; the first stays."""
    assert needles("foo_bar FOO_BAR ｆｏｏ_bar") == ["foo_bar"]


@given(st.one_of(st.text(), st.text(alphabet="aAB1 _.-\"'`“”「」$\\()[]缓存的谁，。\n\x00\ud800")))
@example('"' * 10_000)
@example("“" * 10_000)
@example("(" * 10_000)
@example("'a" * 5_000)
@example("缓存" * 5_000)
@example("a_b " * 2_500)
def test_needles_of_any_text(query: str) -> None:
    """At most eight, each once, each in the query as typed, none blank and none with a line break."""
    found = needles(query)
    assert len(found) <= MAX_NEEDLES
    assert len({fold(needle) for needle in found}) == len(found)
    for needle in found:
        assert needle in query
        assert needle.strip() == needle != ""
        assert not set(needle) & set("\r\n\x00\ud800")
    assert needles(query, lambda term: float(len(term))) == needles(query, lambda term: float(len(term)))
