"""What no piece of evidence holds: the words that tell a near miss from an answer, in two scripts, without noise."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arr_sql.core.analysis_fold import prepare
from arr_sql.core.scripts import unspaced_share
from arr_sql.retrieval.missing_words import EvidenceText, words_missing

ENGLISH = EvidenceText(
    "Quantile loss", "The batch_size of run r7 was 32; it ended with E-4012 on the A100.", "notes/loss.md"
)
CHINESE = EvidenceText("", "储能只提到一次。缓存的优化策略见第三章。", "notes/储能.md")


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("How was the network quantised to int8?", ("network", "quantised", "int8")),
        ("quantiles of the losses in notes", ()),  # other forms of a word, the heading, the file's name
        ("batchSize of r7", ()),  # most of a name is held
        ("r8 and E-4013 on A100", ("r8", "E-4013")),  # a part of a name is not
        ("Runs, runs and DOGS dogs", ("DOGS",)),  # once each, as first written
        ("what is r7 not, and how long", ()),  # little words, and those that ask
        ("what is it not", ("what", "is", "not")),  # but where nothing else is asked, they are what is looked for
    ],
)
def test_words_of_letters(query: str, missing: tuple[str, ...]) -> None:
    """Whole words as they are written, in the order of the question."""
    assert words_missing(query, [ENGLISH]) == missing


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("储能电站的充放电策略", ("电站", "充放电")),
        ("缓存策略怎么优化", ()),  # 存策 is no word: both of its characters are in words that are held
        ("请问缓存如何清空，有多少", ("清空",)),  # ways to ask
        ("猫", ("猫",)),
        ("储", ()),
        ("的了吗", ()),
    ],
)
def test_runs_of_chinese(query: str, missing: tuple[str, ...]) -> None:
    """What no held pair covers, cut at particles."""
    assert words_missing(query, [CHINESE]) == missing


def test_a_text_in_another_script_is_not_asked() -> None:
    """A Chinese note can't hold an English word, nor the other way round; where both are there, the own script is asked."""
    assert words_missing("edge devices", [CHINESE]) == ()
    assert words_missing("边缘设备", [ENGLISH]) == ()
    assert words_missing("edge devices", [CHINESE, ENGLISH]) == ("edge", "devices")


def test_nothing_is_missing_from_nothing() -> None:
    """Without evidence there is nothing to say it of."""
    assert words_missing("edge devices", []) == ()


TEXTS = st.text(alphabet=st.sampled_from("abE1 _.-/:#+ \n数据策略的é"), max_size=40) | st.text(max_size=60)


@given(TEXTS)
@example("a^b")
@example("ΑΣ ας")
@example("ﬁ ﬁne x" + "y" * 200)
def test_a_text_misses_nothing_of_itself(text: str) -> None:
    """Whatever is asked for: the index finds a text by itself, and so does this."""
    assert words_missing(text, [EvidenceText("", text, "")]) == ()


@given(TEXTS, st.lists(st.builds(EvidenceText, TEXTS, TEXTS, TEXTS), max_size=3))
def test_any_question_and_any_texts(query: str, texts: list[EvidenceText]) -> None:
    """Each word is in the question, once; one more text never makes more words missing in the same script."""
    missing = words_missing(query, texts)
    joined = "".join(prepare(query).split())
    assert all(word and "".join(word.split()) in joined for word in missing)
    assert len({word.casefold() for word in missing}) == len(missing)
    if texts and unspaced_share(query) is None:
        assert set(words_missing(query, [*texts, texts[0]])) == set(missing)
