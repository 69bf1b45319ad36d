"""Field reports about finding and ranking, held at the level of terms by a BM25 of twelve lines."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter

import pytest

from arr_sql.core.analysis import analyse, query_terms

K1, B = 1.2, 0.75


def scores(docs: list[str], query: str, k1: float = K1, b: float = B) -> dict[int, float]:
    """Return document number (from 1) -> score, best first, for those that match."""
    analysed = [analyse(doc) for doc in docs]
    mean = sum(doc.length for doc in analysed) / len(docs)
    found: Counter[int] = Counter()
    for term, weight in query_terms(query).items():
        tf = {number: doc.terms.count(term) for number, doc in enumerate(analysed, 1) if term in doc.terms}
        idf = math.log(1 + (len(docs) - len(tf) + 0.5) / (len(tf) + 0.5))
        for number, count in tf.items():
            norm = k1 * (1 - b + b * analysed[number - 1].length / mean)
            found[number] += weight * idf * count * (k1 + 1) / (count + norm)  # type: ignore[assignment]
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def ranked(docs: list[str], query: str) -> list[int]:
    return list(scores(docs, query))


def test_the_worked_example_of_the_contract() -> None:
    """Plain words weigh one: k1 = 1.5, b = 0.75 gives the contract's numbers (9.2)."""
    found = scores(["router budget budget", "router design", "budget control plane"], "router budget", 1.5, 0.75)
    assert {number: round(score, 6) for number, score in found.items()} == {1: 1.090472, 2: 0.529582, 3: 0.444974}


ORDER = [
    "Order QX-774120: eight o'clock in lib/io.py, owner amy@lab.example, tag [wip] #42, k=v2, 75% done; ready?"
    " m,n x|y p&q ~tmp $HOME {k} state-of-the-art\n"
]


EVERYDAY = """
QX-774120 -774120 o'clock lib/io.py amy@lab.example [wip] #42 k=v2 75% ready? m,n x|y p&q ~tmp $HOME {k} done;
state-of-the-art
"""


@pytest.mark.parametrize("query", EVERYDAY.split())
def test_fts_01_everyday_strings_are_found(query: str) -> None:
    """Punctuation in a query is no syntax and hides nothing."""
    assert ranked(ORDER, query) == [1]


@pytest.mark.parametrize("query", ["back`tick", "20.04"])
def test_fts_01_strings_that_do_not_occur_are_not_found(query: str) -> None:
    """A version is one number, not two."""
    assert ranked(ORDER, query) == []


GATES = ["the OR gate truth table", "this is NOT a drill", "salt AND pepper", "NEAR miss report", "drill bits"]


@pytest.mark.parametrize(
    ("query", "first", "others"),
    [
        ("OR gate", 1, []), ("NOT drill", 2, [5]), ("NOT a drill", 2, [5]), ("salt AND", 3, []), ("AND", 3, []),
        ("OR", 1, []), ("NOT", 2, []), ("NEAR(miss", 4, []), ("NEAR miss", 4, []), ("drill NOT", 2, [5]),
    ],
)  # fmt: skip
def test_fts_02_operators_are_words(query: str, first: int, others: list[int]) -> None:
    """``NOT drill`` looks for ``not``."""
    assert ranked(GATES, query) == [first, *others]


@pytest.mark.parametrize(
    ("query", "first"), [("C++", 2), ("C#", 3), ("F#", 4), (".NET", 5), ("C", 1), ("net income", 6)]
)
def test_fts_03_language_names_stay_themselves(query: str, first: int) -> None:
    """``C++`` is not ``C``."""
    docs = ["C compiler notes", "C++ templates", "C# delegates", "F# pipes", ".NET runtime", "net income"]
    assert ranked(docs, query)[0] == first


@pytest.mark.parametrize("query", ["缓存", "策略", "缓存策略"])
def test_cjk_01_words_inside_sentences(query: str) -> None:
    """A two-character word is found with and without spaces around it."""
    docs = ["昨晚评审了缓存策略", "缓存 策略", "与本题无关"]
    assert set(ranked(docs, query)) == {1, 2}
    assert 1 in ranked(docs, "评审缓存")


@pytest.mark.parametrize(
    ("query", "better", "worse"), [("rapid go", 1, 2), ("更新索引 go", 3, 4), ("更新索引 np", 4, 3)]
)
def test_cjk_02_short_words_count(query: str, better: int, worse: int) -> None:
    """A word of two letters beside a long one still decides."""
    found = scores(["rapid check go", "rapid fix only", "更新索引失败 go", "更新索引失败 np"], query)
    assert found[better] > found.get(worse, 0.0)


@pytest.mark.parametrize(
    "query", ["PyTorch", "pytorch", "ResNet50", "resnet", "复现", "GPU", "GPU加速", "2.5倍", "2.5", "倍"]
)
def test_cjk_03_latin_glued_to_chinese(query: str) -> None:
    """A change of script is a gap between words."""
    docs = ["下午用PyTorch复现ResNet50结果，第3章GPU加速约2.5倍", "与本题无关"]
    assert ranked(docs, query)[0] == 1


@pytest.mark.parametrize("query", ["计算", "研究所", "科学院", "技术研究", "中国科学院计算技术研究所"])
def test_cjk_04_parts_of_long_words(query: str) -> None:
    """Every substring is found."""
    assert ranked(["与本题无关", "中国科学院计算技术研究所发布报告"], query) == [2]


@pytest.mark.parametrize("text", ["연구자료", "パス", "café"])
def test_uni_01_composition(text: str) -> None:
    """Either spelling finds both."""
    docs = [unicodedata.normalize(form, f"body {text} 1") for form in ("NFC", "NFD")] + ["body other"]
    for form in ("NFC", "NFD"):
        assert set(ranked(docs, unicodedata.normalize(form, text))) == {1, 2}


@pytest.mark.parametrize(
    ("query", "expected"),
    [("gpu123", {1, 2}), ("ＧＰＵ１２３", {1, 2}), ("テスト", {3, 4}), ("ﾃｽﾄ", {3, 4}), ("ｆｏｏ－ｂａｒ", {5})],
)
def test_uni_02_width(query: str, expected: set[int]) -> None:
    """Full-width Latin and half-width katakana are the letters they show."""
    docs = ["ＧＰＵ１２３ の設定", "GPU123 config", "ﾃｽﾄ結果", "テスト計画", "foo-bar"]
    assert set(ranked(docs, query)) == expected


@pytest.mark.parametrize(("query", "expected"), [("efficient", 1), ("filter", 1), ("different flows", 1), ("suf", 2)])
def test_uni_03_ligatures(query: str, expected: int) -> None:
    """A ligature is its letters; a NUL is a gap."""
    assert ranked(["eﬃcient ﬁlter for diﬀerent ﬂows", "suf\x00cient"], query) == [expected]


@pytest.mark.parametrize(("query", "first"), [(r"\alpha", 2), (r"\mathcal{H}_n", 1), (r"$O(n \log n)$", 1)])
def test_uni_04_latex(query: str, first: int) -> None:
    """A macro ranks before the word of the same letters."""
    docs = [r"bound $O(n \log n)$ over $\mathcal{H}_n$", r"the \alpha-divergence D_\alpha", "alpha particles"]
    assert ranked(docs, query)[0] == first


def test_uni_05_nul() -> None:
    """Words on both sides of a NUL are found."""
    docs = ["first\x00second", "heads " + "\x00" * 9000 + " tails"]
    assert [ranked(docs, word) for word in ("first", "second", "heads", "tails")] == [[1], [1], [2], [2]]


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("flush_write_buffer", [1, 2]), ("FLUSH_WRITE_BUFFER", [1, 2]), ("flush_write", [1]), ("flushWriteBuffer", [1, 2]),
        ("__init__", [4]),
    ],
)  # fmt: skip
def test_idn_01_snake_case(query: str, start: list[int]) -> None:
    """The whole name leads, its words follow."""
    docs = [
        "def flush_write_buffer(fd): ...",
        "we flush the write buffer daily",
        "buffer overflow",
        "call __init__ first",
    ]
    assert ranked(docs, query)[: len(start)] == start
    assert set(ranked(docs, "write buffer")[:2]) == {1, 2}


@pytest.mark.parametrize(
    "query",
    [
        "invoice ledger",
        "InvoiceLedger",
        "user profile cache",
        "getUserProfileCache2",
        "http response",
        "getuserprofilecache2",
    ],
)
def test_idn_02_camel_case(query: str) -> None:
    """The words inside a camelCase name are found."""
    doc = "class CustInvoiceLedgerEntity: def getUserProfileCache2(self): parseHTTPResponse()"
    assert ranked(["nothing here", doc], query) == [2]


def test_idn_03_stems() -> None:
    """Inflections are found, and of two words with one stem the exact one leads."""
    docs = ["migrate_legacy moves rows", "university ranking", "the universe expands"]
    assert ranked(docs, "migrating") == ranked(docs, "migration") == [1]
    assert ranked(docs, "university")[0] == 2
    assert ranked(docs, "universe")[0] == 3


def test_rank_01_equal_texts_are_equal() -> None:
    """Equal texts get the very same score, so that the tie-break alone decides."""
    assert len(set(scores(["same 文本 here"] * 12, "text 文本 here").values())) == 1


def test_rank_bigrams_outweigh_characters() -> None:
    """The word itself leads a text that only has its characters, more often and in fewer words."""
    assert ranked(["关于缓存的若干说明文字", "存款缓缓", "存存缓缓缓"], "缓存")[0] == 1


def test_secrets_02_every_word_of_a_lock_file_line_is_found() -> None:
    """Long base64, hashes, UUIDs, DOIs and compounds stay searchable."""
    docs = [
        "sha512-" + "aB3dE5gH" * 11 + "==",
        "550e8400-e29b-41d4-a716-446655440000",
        "doi 10.1000/xyz123 arXiv:2101.00001",
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamter",
        "数据令牌",
        "commit 7fc56270e7a70fa81a5935b72eacbe2901234567",
    ]
    queries = {
        "sha512": 1, "aB3dE5gH" * 11: 1, "550e8400": 2, "10.1000/xyz123": 3, "2101.00001": 3, docs[3].upper(): 4, "令牌": 5,
        "7fc5627": 6,
    }  # fmt: skip
    assert {query: ranked(docs, query)[0] for query in queries} == queries
