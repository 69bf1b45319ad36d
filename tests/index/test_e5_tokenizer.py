"""The tokenizer: the best segmentation, odd characters, long text; and the ids of an independent implementation."""

from __future__ import annotations

import itertools
import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="the embedder needs NumPy (extra `local`)")

from arr_sql.index.embedders.e5_tokenizer import E5Tokenizer
from tests.index.test_e5_support import PIECES, SCORES, Miniature, real_embedder

REFERENCE = json.loads(Path(__file__).with_name("e5_reference.json").read_text("utf-8"))["texts"]
TOKENIZER = E5Tokenizer(Miniature().parse())


def pieces(text: str) -> list[str]:
    return [PIECES[token] for token in TOKENIZER.encode(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["▁"]),
        ("a", ["▁a"]),
        ("abc", ["▁", "abc"]),  # -2 - 6 beats "▁ab" + "c" (-5 - 8) and "▁a" + "b" + "c"
        ("ab abc", ["▁ab", "▁", "abc"]),
        ("中国", ["▁", "中国"]),
        ("a  \t a", ["▁a", "▁a"]),
        (" a ", ["▁a", "▁"]),
        ("z", ["▁", "<unk>"]),
        ("zz", ["▁", "<unk>", "<unk>"]),
        ("<unk>", ["▁", *["<unk>"] * 5]),
        ("</s>", ["▁", "</s>"]),  # as the reference does
        ("e\u0301", ["▁", "é"]),  # NFKC composes
        ("\uff76\uff9e", ["▁", "ガ"]),  # also halfwidth kana
        ("\ufdfa", ["▁", *"???", "▁", *"????", "▁", *"????", "▁", *"????"]),  # one character becomes 18
        ("a\0\x01b", ["▁ab"]),  # NUL goes like other control characters
        ("a\ud800a", ["▁a", "▁a"]),  # a lone surrogate becomes U+FFFD, which the map makes a space
        ("\uff5e", ["▁", "<unk>"]),  # the fullwidth tilde stays itself
    ],
)
def test_hand_worked_segmentations(text: str, expected: list[str]) -> None:
    """In the miniature vocabulary."""
    assert pieces(text) == ["<unk>" if piece == "?" else piece for piece in expected]


@given(st.text("abcdz ", max_size=7))
def test_the_segmentation_is_the_best_of_all(text: str) -> None:
    """Its sum of scores is that of the best of all ways to cut the normalised text."""
    normal = TOKENIZER.normalise(text)
    known = {piece: score for piece, score in zip(PIECES, SCORES, strict=True) if piece != "<unk>"}
    unknown = min(SCORES) - 10

    def score(parts: list[str]) -> float:
        return sum(known.get(part, unknown if len(part) == 1 else float("-inf")) for part in parts)

    def cuts() -> list[list[str]]:
        found = []
        for marks in itertools.product([False, True], repeat=len(normal) - 1):
            edges = [0, *(index + 1 for index, mark in enumerate(marks) if mark), len(normal)]
            found.append([normal[a:b] for a, b in itertools.pairwise(edges)])
        return found

    got = sum(unknown if token == 3 else SCORES[token] for token in TOKENIZER.encode(text))
    assert got == pytest.approx(max(map(score, cuts())))


@given(st.text(st.characters(), max_size=40))
def test_no_text_fails(text: str) -> None:
    """Any code points, surrogates too; ids are those of the vocabulary."""
    assert all(0 <= token < len(PIECES) for token in TOKENIZER.encode(text))


def test_corrected_ideographs_are_kept_from_the_old_table() -> None:
    """Unicode 3.2 maps five ideographs wrongly; they reach the model's map as they are."""
    assert TOKENIZER.normalise("\U0002f868") == "▁\U0002f868"


def test_time_is_linear_in_a_text_without_spaces() -> None:
    """Ten times the text takes about ten times as long; a search of the square would take a hundred times."""
    chance = random.Random(3)
    text = "".join(chance.choice("abc中国") for _ in range(100_000))

    def seconds(part: str) -> float:
        start = time.process_time()
        TOKENIZER.encode(part)
        return time.process_time() - start

    assert seconds(text) < 40 * (min(seconds(text[:10_000]) for _ in range(3)) + 0.001)


def test_remembered_words_are_bounded() -> None:
    """A collection with endless new words does not fill the memory, and words give the same ids either way."""
    tokenizer = E5Tokenizer(Miniature().parse())
    for number in range(25_000):
        tokenizer.encode(f"a{number}")

    assert len(tokenizer._remembered) == 20_000
    assert tokenizer.encode("a24999 abc") == TOKENIZER.encode("a24999 abc")


@pytest.mark.model
@pytest.mark.parametrize("reference", REFERENCE, ids=[entry["name"] for entry in REFERENCE])
def test_ids_are_those_of_the_reference(reference: dict[str, object]) -> None:
    """English, Chinese, code, emoji, mixed, and beyond one window."""
    ids = real_embedder().tokenizer.encode(f"{reference['kind']}: {reference['text']}")

    assert len(ids) == reference["tokens"]
    assert ids[:64] == reference["ids"]
