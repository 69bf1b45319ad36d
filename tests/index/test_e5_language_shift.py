"""The language shift: the share of Chinese in a text, and that translations come closer."""

# ruff: noqa: E402  (what needs NumPy is imported after the skip)
from __future__ import annotations

import hashlib
import json
import struct
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

np = pytest.importorskip("numpy", reason="the embedder needs NumPy (extra `local`)")

from arr_sql.index.embedders.language_shift import LanguageShift, han_share, unit
from tests.index.test_e5_support import real_embedder

PAIRS = [
    ("Water boils at a lower temperature on high mountains.", "高山上水的沸点较低。"),
    ("The court ruled that the contract was void.", "法院裁定该合同无效。"),
    ("Neural networks are trained with gradient descent.", "神经网络用梯度下降法训练。"),
    ("She planted tomatoes and beans in the garden.", "她在花园里种了西红柿和豆子。"),
    ("The train to Shanghai leaves at nine in the morning.", "开往上海的火车早上九点出发。"),
    ("Vaccines protect children against measles.", "疫苗保护儿童免受麻疹侵害。"),
]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 0.0),
        ("12 + 34", 0.0),
        ("two words", 0.0),
        ("学习率", 1.0),
        ("学习 rate", 2 / 3),
        ("学 Straße naïve a1", 1 / 4),
        ("カタカナ 한글", 0.0),
        ("𠀀〇々", 1.0),
    ],
)
def test_the_share_of_chinese(text: str, share: float) -> None:
    """Han characters against Latin words; digits, kana and Hangul count as neither."""
    assert han_share(text) == pytest.approx(share)


@given(st.text(max_size=50))
def test_the_share_is_a_share(text: str) -> None:
    """From 0 to 1 for any text."""
    assert 0.0 <= han_share(text) <= 1.0


def test_the_formula_on_a_hand_worked_vector() -> None:
    """unit(v + r (en - zh) - en / 2), here with r = 0, 1 and 1/2."""
    data = json.loads(files("arr_sql.index.embedders").joinpath("language_centroids.json").read_text("utf-8"))
    english, chinese = np.asarray(data["en"]), np.asarray(data["zh"])
    vector = np.zeros(384)
    vector[5] = 1.0
    texts = ["word", "字", "字 word"]

    shifted = LanguageShift(384).apply(np.stack([vector] * 3).astype(np.float32), texts)

    for row, share in zip(shifted, (0.0, 1.0, 0.5), strict=True):
        expected = vector + share * (english - chinese) - english / 2
        assert np.abs(row - expected / np.linalg.norm(expected)).max() < 1e-6


def test_the_description_carries_the_hash_of_the_constants() -> None:
    """So another set of centroids is another fingerprint."""
    data = json.loads(files("arr_sql.index.embedders").joinpath("language_centroids.json").read_text("utf-8"))
    digest = hashlib.sha256(struct.pack("<768f", *data["en"], *data["zh"])).hexdigest()

    assert digest[:16] in LanguageShift(384).description


def test_unit_makes_unit_rows() -> None:
    """Of 3 and 4 it makes 0.6 and 0.8; a zero row becomes NaN, for the check to refuse."""
    rows = unit(np.asarray([[3.0, 4.0], [0.0, 0.0]], np.float32))

    assert rows[0].tolist() == pytest.approx([0.6, 0.8])
    assert np.isnan(rows[1]).all()


@pytest.mark.model
def test_translations_come_closer() -> None:
    """A translation beats other texts of the same language by more than without the shift."""
    embedder = real_embedder()
    english, chinese = [a for a, _ in PAIRS], [b for _, b in PAIRS]
    raw_a = np.stack([embedder.raw_vector("passage: " + text) for text in english])
    raw_b = np.stack([embedder.raw_vector("passage: " + text) for text in chinese])
    shift = LanguageShift(384)

    def lead(a: object, b: object) -> float:
        """How far translations are ahead of other texts of the same language, on the mean."""
        rows, columns = np.asarray(a), np.asarray(b)
        others = (rows @ rows.T)[~np.eye(len(rows), dtype=bool)]
        return float(np.diag(rows @ columns.T).mean() - others.mean())

    before = lead(raw_a, raw_b)
    after = lead(shift.apply(raw_a, english), shift.apply(raw_b, chinese))

    assert after > before + 0.05
    assert after > 0.1
