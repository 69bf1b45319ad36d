"""Which spellings count as the same text.

Promise: two texts that a reader can't tell apart, or that differ only in case, accents, width, ligatures,
composition (NFC, NFD) or invisible characters, come out equal. ``tests/core/test_analysis_fold.py`` holds it.

``prepare`` keeps the case (camelCase is still needed when words are cut); ``fold`` is ``prepare`` plus case folding.
Both are idempotent, never raise and take linear time.

Accents are removed from Latin, Greek and Cyrillic letters and points from Hebrew and Arabic, because people leave
them out when they type. Marks that make another letter stay: the voicing of kana (``は`` is not ``ば``), the vowels of
Thai and of the scripts of India, and the breve of Cyrillic ``й`` and ``ў``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Kana, Han, Hangul, Thai, Lao, Khmer, Myanmar, Tibetan and kin: written without spaces between words (or, for Hangul,
# with endings glued on), so they are indexed by single characters and by pairs. Whole blocks, because ``\w`` leaves
# out the vowel marks; the punctuation inside them is left out by name.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59"  # Thai
    "\u0e81-\u0ecf\u0ed0-\u0edf"  # Lao
    "\u0f00\u0f20-\u0f33\u0f40-\u0f84\u0f88-\u0fbc"  # Tibetan
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f"  # Myanmar
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"  # Hangul
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9"  # Khmer
    "\u1950-\u19df\u1a20-\u1aad\uaa80-\uaadf"  # Tai scripts
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U0001b000-\U0001b16f\U00020000-\U000323af"  # rare kana and Han
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u3105-\u312f\u31a0-\u31bf"  # bopomofo
)
# Zero-width characters, soft hyphen, direction marks, variation selectors: removed wherever they stand.
_INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U000e0000-\U000e0fff]+"
)
# Accents, once letters are decomposed.
_ACCENT = (
    "(?<![\u0418\u0438\u0423\u0443])\u0306|[\u0300-\u0305\u0307-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
    "\ufe20-\ufe2f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]+"
)
# Where an accent can come from at all; a text without these (most code, most Chinese) skips the decomposition.
_MAY_HAVE_ACCENT = "[\u00c0-\u06ff\u1ab0-\u1fff\u20d0-\u20ff\ufe20-\ufe2f]"
# Letters that no Unicode decomposition takes apart, and the marks people type differently.
_SPECIAL = str.maketrans(
    {
        "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
        "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "TH", "ħ": "h", "Ħ": "H", "ı": "i", "ŧ": "t", "Ŧ": "T",
        "ŋ": "n", "Ŋ": "N", "ĸ": "q", "ƀ": "b", "ɓ": "b", "Ɓ": "B", "ƈ": "c", "Ƈ": "C", "ɖ": "d", "Ɖ": "D", "ɗ": "d",
        "Ɗ": "D", "ƒ": "f", "Ƒ": "F", "ɠ": "g", "Ɠ": "G", "ǥ": "g", "Ǥ": "G", "ɨ": "i", "Ɨ": "I", "ƙ": "k", "Ƙ": "K",
        "ƚ": "l", "ɲ": "n", "Ɲ": "N", "ƞ": "n", "ɵ": "o", "Ɵ": "O", "ƥ": "p", "Ƥ": "P", "ʈ": "t", "Ʈ": "T", "ƭ": "t",
        "Ƭ": "T", "ʉ": "u", "Ʉ": "U", "ʋ": "v", "Ʋ": "V", "ƴ": "y", "Ƴ": "Y", "ƶ": "z", "Ƶ": "Z", "ȥ": "z", "Ȥ": "Z",
        "ℏ": "h",
        "‘": "'", "’": "'", "‛": "'", "ʼ": "'", "ʹ": "'", "′": "'", "´": "'",
        "“": '"', "”": '"', "„": '"', "‟": '"', "″": '"',
        "‐": "-", "‑": "-", "‒": "-", "–": "-", "−": "-", "⁃": "-", "⁄": "/", "∕": "/", "∖": "\\",
    }
)  # fmt: skip
_HAS_SPECIAL = "[" + "".join(map(chr, _SPECIAL)) + "]"


# What Chinese and Japanese texts are full of and NFKC turns into ASCII. Replaced first, a text without anything else to
# normalise is seen to be so at a glance, in a tenth of the time; the result is the same, for these are equivalent.
_WIDE_SIGNS = tuple(zip("\uff0c\uff1a\uff1b\uff01\uff1f\uff08\uff09\u3000", ",:;!?() ", strict=True))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile at first use: a class of many wide ranges takes 3 ms, and most command lines are ASCII."""
    return re.compile(pattern)


def prepare(text: str) -> str:
    """Return ``text`` with one spelling per character and its case kept: NFKC, no accents, nothing invisible."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", compiled(_INVISIBLE).sub("", text))
    # Before NFKC, which would turn a free-standing acute accent into a space.
    if compiled(_HAS_SPECIAL).search(text):
        text = text.translate(_SPECIAL)
    for wide, narrow in _WIDE_SIGNS:
        text = text.replace(wide, narrow)
    text = unicodedata.normalize("NFKC", text)
    if compiled(_MAY_HAVE_ACCENT).search(text):
        text = unicodedata.normalize("NFC", compiled(_ACCENT).sub("", unicodedata.normalize("NFD", text)))
    if compiled(_HAS_SPECIAL).search(text):
        text = text.translate(_SPECIAL)
    return text


def fold(text: str) -> str:
    """Return ``text`` as it is compared: ``prepare``, then full case folding. ``fold("Łódź ﬁle") == "lodz file"``."""
    if text.isascii():
        return text.lower()
    return prepare(prepare(text).casefold())
