"""Which national encoding are these bytes in? Judged by the language that comes out, not by what merely decodes.

Nearly any bytes decode as GB18030 or as a Windows code page, so decoding proves nothing. For each candidate the
characters outside ASCII are scored: frequent characters of the language count for it; rare ones, symbols inside words
and capitals inside words count against it. Trust grows with the score, with the distance to the best *different* text,
and with the number of characters seen. Candidates that give the same text are no rivals.

Where two Latin code pages are as likely, only what they agree on is given (U+FFFD elsewhere). On message catalogues in
31 languages this gave a wrong text far less often than charset-normalizer, which never says that it doesn't know.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from arr_sql.core.legacy_letters import ACCENTS, COMMON_HAN, HANGUL, LETTERS, PUNCTUATION, WORDS

_SAMPLE_BYTES = 32_768
_BROKEN_SHARE = 0.01
MIN_CONFIDENCE = 0.55
_LATIN = frozenset({"cp1250", "cp1252", "cp1254", "cp1257", "iso8859_2"})
# Handicaps of encodings that are seldom met.
_RARE = {"cp866": 0.02, "iso8859_2": 0.1, "iso8859_5": 0.02, "iso8859_7": 0.02, "mac_cyrillic": 0.02}
# What a file says about itself: a Python or Emacs cookie, an XML or HTML declaration, LaTeX's inputenc.
_DECLARED = re.compile(
    rb"coding[:=][ \t]*([A-Za-z0-9._-]{2,30})|encoding=[\"']([A-Za-z0-9._-]{2,30})|charset=[\"']?([A-Za-z0-9._-]{2,30})"
    rb"|\\usepackage\[([a-z0-9]{2,30})\]\{inputenc\}"
)
_BYTE_CODECS = re.compile(r"(?:iso8859|cp|koi8|gb|big5|shift_jis|euc|mac|johab|tis|iso2022|ptcp|kz)[\w-]*")


@dataclass(frozen=True)
class Guess:
    """The most likely text; ``confidence`` is 0..1 and ``broken`` the number of places that did not decode."""

    text: str
    encoding: str
    confidence: float
    broken: int = 0


Scorer = Callable[[str, "Counter[str]", int], float]


def guess_legacy(data: bytes) -> Guess | None:
    """The best candidate for bytes that are not UTF-8, or None if none decodes."""
    sample = _sample(data)
    ranked: list[tuple[float, int, str, str, int]] = []
    for order, (encoding, scorer) in enumerate(_CANDIDATES):
        text = _decode_sample(sample, encoding)
        if text is None:
            continue
        counts = Counter(ch for ch in text if ch > "\x7f")
        total = sum(counts.values())
        broken = counts["\ufffd"]
        if not total or broken > max(0, total * _BROKEN_SHARE) or any("\x80" <= ch <= "\x9f" for ch in counts):
            continue
        score = scorer(text, counts, total) - broken * 10 / total - _RARE.get(encoding, 0.0)
        ranked.append((score, -order, encoding, text, total))
    if not ranked:
        return None
    ranked.sort(reverse=True)
    score, _, encoding, text, total = ranked[0]
    rivals = [item for item in ranked[1:] if item[3] != text]
    rival = rivals[0] if rivals else (-1.0, 0, "", "", 0)
    share = 1.0 if encoding in _LATIN else _difference(text, rival[3], total)
    confidence = _confidence(score, (score - rival[0]) / share, total)
    full = data.decode(encoding, "replace")
    other = [item for item in rivals if item[2] not in _LATIN]
    latin = encoding in _LATIN and score > 0.5 and not (other and score - other[0][0] < 0.2)
    if confidence < MIN_CONFIDENCE and score > 0.5 and (latin or share < 0.3):
        # Two readings are as likely and differ little: keep what they agree on instead of losing the file or
        # inventing letters.
        if share < 0.3 or (rival[2] in _LATIN and score - rival[0] < 0.35):
            full = _agreed(full, data.decode(rival[2], "replace"))
        return Guess(full, encoding, MIN_CONFIDENCE, full.count("\ufffd"))
    broken = full.count("\ufffd")
    if broken > max(1, len(full) * _BROKEN_SHARE):
        confidence = 0.0
    return Guess(full, encoding, confidence, broken)


def declared_encoding(data: bytes) -> Guess | None:
    """The text in the encoding that the file's first kilobyte names, if it decodes without a fault."""
    match = _DECLARED.search(data[:1024])
    if match is None:
        return None
    name = next(part for part in match.groups() if part).decode("ascii")
    try:
        encoding = codecs.lookup(_TEX_NAMES.get(name, name)).name.replace("-", "_")
        encoding = _SUPERSETS.get(encoding, encoding)
        text = data.decode(encoding) if _BYTE_CODECS.fullmatch(encoding) else ""
    except (LookupError, UnicodeDecodeError, ValueError):
        return None
    if not text or any("\x80" <= ch <= "\x9f" for ch in text):
        return None
    return Guess(text, encoding, 0.9)


_TEX_NAMES = {"latin1": "cp1252", "latin2": "iso8859-2", "ansinew": "cp1252", "applemac": "mac-roman"}
# Windows writes these under the name of the smaller standard.
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859_1": "cp1252", "shift_jis": "cp932", "euc_kr": "cp949"}


def _sample(data: bytes) -> bytes:
    """Lines with bytes above 127, up to 32 KB of them. No candidate uses a line feed inside a character."""
    lines: list[bytes] = []
    size = 0
    for line in data.split(b"\n"):
        high = _HIGH.search(line)
        if high is None:
            continue
        # What stands before the first high byte is ASCII, so no character is cut in two here.
        lines.append(line[max(0, high.start() - 200) : high.start() + _SAMPLE_BYTES])
        size += len(lines[-1])
        if size >= _SAMPLE_BYTES:
            break
    return b"\n".join(lines)


_HIGH = re.compile(rb"[\x80-\xff]")


def _decode_sample(sample: bytes, encoding: str) -> str | None:
    """None if bytes at the start are wrong already; a character cut off at the end of the sample is no fault."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    return decoder.decode(sample, final=False)


def _confidence(score: float, margin: float, total: int) -> float:
    """Half of it is the distance to the best rival, and one character alone is worth half of many."""
    fit = max(0.0, min(1.0, score / 0.7))
    distance = min(1.0, max(0.0, margin) / 0.35)
    return min(0.99, fit * (0.5 + 0.5 * distance) * total / (total + 1))


def _difference(text: str, rival: str, total: int) -> float:
    """Share of the characters outside ASCII that two readings give differently; 1 if they don't run side by side."""
    if len(text) != len(rival):
        return 1.0
    return min(1.0, sum(ch != other for ch, other in zip(text, rival, strict=True)) / total)


def _agreed(text: str, rival: str) -> str:
    """What two readings, byte for byte, have in common; U+FFFD where they differ."""
    return "".join(ch if ch == other else "\ufffd" for ch, other in zip(text, rival, strict=True))


@lru_cache(maxsize=4096)
def _plane(ch: str, encoding: str, first: int, last: int) -> bool:
    """Is ``ch`` among the characters the standard puts first because they are common?"""
    try:
        code = ch.encode(encoding)
    except UnicodeEncodeError:
        return False
    return len(code) == 2 and first <= code[0] <= last


def _cjk(language: str, encoding: str, first: int, last: int) -> Scorer:
    common = frozenset(COMMON_HAN[language])

    def value(ch: str) -> float:
        if ch in common:
            return 1.0
        if ch in PUNCTUATION:
            return 0.6
        if "\u4e00" <= ch <= "\u9fff":
            if language == "ko":
                return -0.3
            return 0.3 if _plane(ch, encoding, first, last) else -0.6
        if "\u3041" <= ch <= "\u30ff":
            return (1.0 if ch < "\u30a0" else 0.7) if language == "ja" else -0.4
        if "\uac00" <= ch <= "\ud7a3":
            if language != "ko":
                return -1.0
            return 1.0 if ch in HANGUL else 0.3 if _plane(ch, "euc_kr", 0xB0, 0xC8) else -0.7
        if "\uff01" <= ch <= "\uff5e":
            return 0.4
        if "\uff61" <= ch <= "\uff9f":
            return -0.5
        return -1.0 if "\ue000" <= ch <= "\uf8ff" or ch > "\uffff" or ch < "\u2000" else -0.2

    def score(text: str, counts: Counter[str], total: int) -> float:
        return sum(value(ch) * number for ch, number in counts.items()) / total

    return score


def _alphabet(language: str) -> Scorer:
    """A script of its own (Cyrillic, Greek, Thai, ...) in a one-byte encoding. A letter's worth falls with its rank."""
    ranked, rest = LETTERS[language]
    worth = dict.fromkeys(rest, 0.3)
    worth.update({ch: 1.1 - 1.2 * rank / len(ranked) for rank, ch in enumerate(ranked)})
    capitals = {ch.upper() for ch in worth if len(ch.upper()) == 1} - worth.keys()
    own = "".join(sorted(worth.keys() | capitals))
    inner_capital = re.compile(f"(?<=[{ranked}{rest}])[{''.join(sorted(capitals))}]") if capitals else None
    glued = re.compile(f"[{own}](?=[A-Za-z])|[A-Za-z](?=[{own}])")
    alone = re.compile(f"(?<![{own}])[{own}](?![{own}])")

    def value(ch: str) -> float:
        if ch in worth:
            return worth[ch]
        if ch in capitals:
            return 0.15
        return 0.3 if ch in PUNCTUATION else -1.0

    def score(text: str, counts: Counter[str], total: int) -> float:
        points = sum(value(ch) * number for ch, number in counts.items())
        points -= len(glued.findall(text)) + 0.8 * len(alone.findall(text))
        if inner_capital is not None:
            points -= 2 * len(inner_capital.findall(text))
        if language == "thai":
            points -= 2 * len(_THAI_MARK_ALONE.findall(text))
        return points / total

    return score


_THAI_MARK_ALONE = re.compile("(?<![\u0e01-\u0e2e\u0e31-\u0e3a\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]")


_ASCII_WORD = re.compile(r"\b[A-Za-z]+\b")


def _latin(words: str, *languages: str) -> Scorer:
    """Accented letters among ASCII ones. One language that has them all is worth more than several together, and the
    common unaccented words around them break the tie between code pages whose letters are as likely."""
    usual = WORDS[words]
    alphabets = [frozenset(ACCENTS[language]) for language in languages]
    together = frozenset().union(*alphabets)
    inside = re.compile(r"(?<=[^\W\d_])[^\w\s\x00-\x7f’‘·\xad](?=[^\W\d_])")
    between = re.compile(r"(?<=[a-z])[^\x00-\x7f](?=[a-z])")
    runs = re.compile(r"[^\W\d_\x00-\x7f]{3,}")

    def value(ch: str, letters: frozenset[str]) -> float:
        if ch in letters:
            return 0.9
        if ch in PUNCTUATION:
            return 0.5
        if ch.lower() in letters:
            return 0.7
        return -0.6 if ch.isalpha() else -0.3

    def score(text: str, counts: Counter[str], total: int) -> float:
        points = max(sum(value(ch, letters) * n for ch, n in counts.items()) for letters in alphabets)
        mixed = sum(value(ch, together) * n for ch, n in counts.items()) - 0.15 * total
        faults = 1.5 * len(inside.findall(text))
        faults += 1.5 * sum(match.isupper() for match in between.findall(text))
        faults += 1.5 * sum(map(len, runs.findall(text)))
        around: list[str] = _ASCII_WORD.findall(text)
        known = sum(word.lower() in usual for word in around) / max(10, len(around))
        return float((max(points, mixed) - faults) / total + min(0.3, known))

    return score


# On equal scores the earlier candidate wins.
_CANDIDATES: tuple[tuple[str, Scorer], ...] = (
    ("gb18030", _cjk("zh", "gb2312", 0xB0, 0xD7)),
    ("cp1252", _latin("west", "fr", "de", "es", "pt", "it", "sv", "da", "nl", "ca", "ga", "is")),
    ("cp932", _cjk("ja", "cp932", 0x88, 0x97)),
    ("big5hkscs", _cjk("zh_hant", "big5", 0xA4, 0xC6)),
    ("cp949", _cjk("ko", "cp949", 0xB0, 0xC8)),
    ("euc_jp", _cjk("ja", "cp932", 0x88, 0x97)),
    ("cp1251", _alphabet("cyrillic")),
    ("koi8_r", _alphabet("cyrillic")),
    ("cp866", _alphabet("cyrillic")),
    ("iso8859_5", _alphabet("cyrillic")),
    ("mac_cyrillic", _alphabet("cyrillic")),
    ("cp1250", _latin("central", "pl", "cs", "sk", "hu", "ro", "hr")),
    ("iso8859_2", _latin("central", "pl", "cs", "sk", "hu", "ro", "hr")),
    ("cp1254", _latin("turkish", "tr")),
    ("cp1257", _latin("baltic", "lt", "lv", "et")),
    ("cp1253", _alphabet("greek")),
    ("iso8859_7", _alphabet("greek")),
    ("cp874", _alphabet("thai")),
    ("cp1255", _alphabet("hebrew")),
    ("cp1256", _alphabet("arabic")),
)
