"""Porter's stemmer of 1980, in the form of Snowball's ``porter``, which his successors keep frozen.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980; https://snowballstem.org/algorithms/porter/stemmer.html.
The terms of every index depend on it, so it is a part of this program and not of a package that may be upgraded; it is
also five times as fast as Snowball's generated Python. ``tests/core/test_porter.py`` holds that both give the same stems.
"""

from __future__ import annotations

import re

_REGION = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]")
_VOWEL = re.compile(r"[aeiouy]")
_SHORT = re.compile(r"[^aeiouy][aeiouy][^aeiouywxY]\Z")
_DOUBLE = frozenset(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"))
_Rules = dict[str, tuple[tuple[str, str], ...]]


def _by_ending(rules: str) -> _Rules:
    """``ational:ate`` and so on by the two last letters, the longest suffix first."""
    pairs = sorted((rule.split(":") for rule in rules.split()), key=lambda pair: -len(pair[0]))
    endings = {suffix[-2:] for suffix, _ in pairs}
    return {end: tuple((suffix, new) for suffix, new in pairs if suffix.endswith(end)) for end in endings}


_STEP_2 = _by_ending(
    "tional:tion enci:ence anci:ance abli:able entli:ent eli:e izer:ize ization:ize ational:ate ation:ate ator:ate"
    " alli:al alism:al aliti:al fulness:ful ousli:ous ousness:ous iveness:ive iviti:ive biliti:ble"
)
_STEP_3 = _by_ending("alize:al icate:ic iciti:ic ical:ic ative: ful: ness:")
_STEP_4 = _by_ending(
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:"
)


def porter_stem(word: str) -> str:
    """Return the stem of a word of small ASCII letters, three or more."""
    marked = "y" in word
    if marked:
        word = _mark(word)
    # Suffixes are only taken off behind these: region 1 is where Porter's m > 0, region 2 where m > 1.
    found = _REGION.match(word)
    first = found.end() if found else len(word)
    found = _REGION.match(word, first) if found else None
    second = found.end() if found else len(word)

    if word[-1] == "s":
        word = _without_plural(word)
    if word[-1:] in ("d", "g"):
        word = _without_past(word, first)
    if word[-1:] in ("y", "Y") and _VOWEL.search(word, 0, len(word) - 1):
        word = word[:-1] + "i"
    for rules in (_STEP_2, _STEP_3):
        for suffix, new in rules.get(word[-2:], ()):
            if word.endswith(suffix):
                if len(word) - len(suffix) >= first:
                    word = word[: -len(suffix)] + new
                break
    for suffix, _ in _STEP_4.get(word[-2:], ()):
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            if len(rest) >= second and (suffix != "ion" or rest[-1:] in ("s", "t")):
                word = rest
            break
    if word[-1:] == "e":
        rest = word[:-1]
        if len(rest) >= second or (len(rest) >= first and not _SHORT.search(rest)):
            word = rest
    if word[-2:] == "ll" and len(word) - 1 >= second:
        word = word[:-1]
    return word.replace("Y", "y") if marked else word


def _mark(word: str) -> str:
    """``Y`` for each y that is a consonant: the first letter, or behind a vowel."""
    letters = list(word)
    for place, letter in enumerate(letters):
        if letter == "y" and (place == 0 or letters[place - 1] in "aeiouy"):
            letters[place] = "Y"
    return "".join(letters)


def _without_plural(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    return word if word.endswith("ss") else word[:-1]


def _without_past(word: str, first: int) -> str:
    """Without ``ed`` and ``ing``, and with what English takes off or adds before them put right."""
    if word.endswith("eed"):
        return word[:-1] if len(word) - 3 >= first else word
    rest = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if not _VOWEL.search(rest):
        return word
    end = rest[-2:]
    if end in ("at", "bl", "iz"):
        return rest + "e"
    if end in _DOUBLE:
        return rest[:-1]
    return rest + "e" if len(rest) == first and _SHORT.search(rest) else rest
