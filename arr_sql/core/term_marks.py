"""Where in a text the terms of a query stand, and what must be made visible before people read it. Pure.

Texts are other people's: they may hold characters that turn the direction of writing, hide words or are no characters
at all. :func:`parts` gives a text back in pieces, nothing added and nothing lost, each with what it is
(tests/core/test_term_marks.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache
from typing import Literal

from arr_sql.core.analysis import analyse, fold, query_terms
from arr_sql.core.analysis_fold import UNSPACED, compiled

Kind = Literal["plain", "hit", "hidden"]

# Joiners (U+200C, U+200D) stay: Persian words and emoji are written with them. The last range are the tag characters,
# in which a text can carry a second one that nobody sees.
_HIDDEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_CORE = re.compile(r"\w.*\w|\w")
_ATOM = re.compile(r"\d+(?:\.\d+)*|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")


@cache
def _word() -> re.Pattern[str]:
    """A run of unspaced script, or what stands between spaces: broad, since the analyser decides what it holds."""
    return re.compile(rf"[{UNSPACED}]+|[^\s{UNSPACED}]+")


def wanted_terms(query: str) -> frozenset[str]:
    """The query's terms that are worth showing: single characters only where they are not part of a longer term."""
    terms = query_terms(query)
    return frozenset(
        term for term in terms if len(term) > 1 or not any(term in other for other in terms if len(other) > 1)
    )


def term_spans(text: str, wanted: Collection[str]) -> list[tuple[int, int]]:
    """First and one past last index of each place in ``text`` that holds a term of ``wanted``; in order, apart."""
    if not wanted:
        return []
    spans: list[tuple[int, int]] = []
    for found in _word().finditer(text):
        inside = _run(found.group(), wanted) if _is_unspaced(found.group()) else _chunk(found.group(), wanted)
        for start, end in inside:
            start, end = start + found.start(), end + found.start()
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
    return spans


def _is_unspaced(chunk: str) -> bool:
    return compiled(f"[{UNSPACED}]").match(chunk) is not None


def _run(run: str, wanted: Collection[str]) -> Iterator[tuple[int, int]]:
    """Places in Chinese, Japanese, Thai and the like: by pairs, and by characters where a character is wanted."""
    for start in range(len(run)):
        for size in (2, 1):
            piece = run[start : start + size]
            terms = analyse(piece).terms if len(piece) == size else ()
            if any(term in wanted for term in terms if size == 1 or len(term) > 1):
                yield start, start + size
                break


def _chunk(chunk: str, wanted: Collection[str]) -> Iterator[tuple[int, int]]:
    """All of a compound that is wanted as a whole; else the parts of it that hold a term."""
    if set(analyse(chunk).terms).isdisjoint(wanted):
        return
    core = _CORE.search(chunk)
    # A sign at the edge can belong to the term (``C++``, ``5%``); else it is left out of the mark.
    has_core = core is not None and not set(analyse(core.group()).terms).isdisjoint(wanted)
    whole = core.span() if core is not None and has_core else (0, len(chunk))
    parts = [found.span() for found in _ATOM.finditer(chunk)]
    held = [(start, end) for start, end in parts if not set(analyse(chunk[start:end]).terms).isdisjoint(wanted)]
    yield from [whole] if fold(chunk[slice(*whole)]) in wanted or not held else held


def parts(text: str, wanted: Collection[str] = ()) -> list[tuple[Kind, str]]:
    """``text`` in pieces: ``hit`` holds a wanted term, ``hidden`` is one character that can't be seen as it is."""
    pieces: list[tuple[Kind, str]] = []
    place = 0
    for start, end in [*term_spans(text, wanted), (len(text), len(text))]:
        for kind, piece in (("plain", text[place:start]), ("hit", text[start:end])):
            pieces += _with_hidden(piece, "hit" if kind == "hit" else "plain")
        place = end
    return pieces


def _with_hidden(text: str, kind: Kind) -> Iterator[tuple[Kind, str]]:
    place = 0
    for found in compiled(_HIDDEN).finditer(text):
        if found.start() > place:
            yield kind, text[place : found.start()]
        yield "hidden", found.group()
        place = found.end()
    if place < len(text):
        yield kind, text[place:]


def code_point(character: str) -> str:
    """How a hidden character is written for people: ``U+202E``."""
    return f"U+{ord(character):04X}"


# The first letters of a text decide: enough for any paragraph, bounded for any file.
_LOOKED_AT = 2000
_SCRIPTS = (("HIRAGANA", "ja"), ("KATAKANA", "ja"), ("HANGUL", "ko"), ("CJK", "zh"), ("LATIN", "en"), ("THAI", "th"))


def language_of(text: str) -> str:
    """A guess by script for the ``lang`` attribute, so that a screen reader takes the right voice; "" for unknown.

    Kana means Japanese, Hangul Korean, a tenth of Han among the letters Chinese, and mostly Latin letters English.
    """
    counts: dict[str, int] = {}
    for character in text[:_LOOKED_AT]:
        if character.isascii():
            language = "en" if character.isalpha() else ""
        else:
            name = unicodedata.name(character, "")
            language = next((code for script, code in _SCRIPTS if name.startswith(script)), "")
        if language or character.isalpha():
            counts[language] = counts.get(language, 0) + 1
    letters = sum(counts.values())
    for language, share in (("ja", 0.05), ("ko", 0.1), ("zh", 0.1), ("th", 0.2), ("en", 0.5)):
        if letters and counts.get(language, 0) >= share * letters:
            return language
    return ""
