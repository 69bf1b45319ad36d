"""From text to terms: the one analyser that serves indexing, queries, memories and the rule reranker (contract 9.5).

Promises: no string makes it raise; whatever ``query_terms(text)`` asks for, ``analyse(text)`` puts in the index, so a
text finds itself; a run of Chinese finds every text that contains it; canonically equivalent spellings give the same
terms; time is linear. ``tests/core/test_analysis.py`` holds them.

What a chunk of text becomes is described in ``analysis_terms``; which spellings are equal, in ``analysis_fold``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from arr_sql.core import analysis_terms as cut
from arr_sql.core.analysis_fold import UNSPACED, compiled, fold, prepare
from arr_sql.core.analysis_words import STOP_CHARACTERS, STOP_WORDS

__all__ = [
    "ANALYSER_VERSION",
    "Analysed",
    "analyse",
    "as_phrase",
    "fold",
    "holds_phrase",
    "identifiers",
    "joined_terms",
    "phrase_in",
    "query_terms",
]

ANALYSER_VERSION = "1"
"""Changes when the terms of some text change; an index made by another version is rebuilt."""


class Analysed(NamedTuple):
    """``terms`` in text order with repeats, as they are put in the index; ``length`` in words, for BM25."""

    terms: tuple[str, ...]
    length: int


# What each kind of term adds to a query's score, relative to a plain word (docs/search.md has the measurements).
_WEIGHT = {
    cut.WORD: 1.0,
    cut.SURFACE: 0.2,
    cut.WHOLE: 0.6,
    cut.PART: 0.5,
    cut.PAIR: 0.3,
    cut.MINOR: 0.1,
    cut.CHARACTER: 0.4,
    cut.BIGRAM: 1.0,
}
# The kinds that are words, not further views of a word.
_COUNTED = frozenset({cut.WORD, cut.PART, cut.MINOR, cut.CHARACTER})


def analyse(text: str) -> Analysed:
    """Return the terms of ``text`` for the index."""
    terms, length = joined_terms(text)
    return Analysed(tuple(terms.split(" ")) if terms else (), length)


def joined_terms(text: str) -> tuple[str, int]:
    """Return the same as :func:`analyse`, the terms joined by spaces: a tenth of the time where words repeat.

    No chunk crosses white space but a run of unspaced script over a line break, so texts are split at white space and
    what a token gives is kept.
    """
    prepared = prepare(text)
    if not prepared.isascii():
        prepared = _wrapped().sub("", prepared.replace("\r\n", "\n"))
    marked = "".join(map(_token_terms.__getitem__, prepared.split()))
    return marked.replace(_UNCOUNTED, _WORD)[1:], marked.count(_WORD)


# What stands before a term that is a word, and before one that is a further view of a word. No term holds either.
_WORD, _UNCOUNTED = " ", "\x1f"


@cache
def _wrapped() -> re.Pattern[str]:
    """A line break inside a run of unspaced script; the pattern starts with a literal, which makes it quick."""
    return re.compile(rf"\n(?<=[{UNSPACED}]\n)[ \t]*(?=[{UNSPACED}])")


_MAX_KEPT = 40


class _Kept(dict[str, str]):
    """The marked terms of each short text seen so far, bounded; longer ones are not kept."""

    def __init__(self, terms_of: Callable[[str], str], limit: int) -> None:
        super().__init__()
        self._terms_of, self._limit = terms_of, limit

    def __missing__(self, text: str) -> str:
        terms = self._terms_of(text)
        if len(text) <= _MAX_KEPT:
            if len(self) >= self._limit:
                self.clear()
            self[text] = terms
        return terms


def _marked(chunk: str) -> str:
    if not chunk.isascii() and cut.is_unspaced(chunk):
        return cut.unspaced_terms(chunk, _WORD, _UNCOUNTED)
    terms = "".join([(_WORD if kind in _COUNTED else _UNCOUNTED) + term for kind, term in cut.new_pieces(chunk)])
    return terms if _WORD in terms else terms.replace(_UNCOUNTED, _WORD, 1)


# About 40 MB together when full.
_chunk_terms = _Kept(_marked, 1 << 17)
_token_terms = _Kept(lambda token: "".join(map(_chunk_terms.__getitem__, cut.chunks(token))), 1 << 16)


def query_terms(text: str) -> dict[str, float]:
    """Return the terms that ``text`` asks for, each with its weight; little words only where nothing else remains.

    A word that is repeated weighs as often as it is written. A little word in capitals among small letters is meant
    (``OR gate``, ``do NOT delete``) and stays.
    """
    wanted: dict[str, float] = {}
    little: dict[str, float] = {}
    prepared = prepare(text)
    shouted = prepared == prepared.upper()
    for chunk in cut.chunks(prepared):
        if chunk.isascii() or not cut.is_unspaced(chunk):
            meant = not shouted and len(chunk) > 1 and chunk.isupper()
            is_little = not meant and fold(cut.without_endings(chunk)) in STOP_WORDS
            for kind, term in cut.word_pieces(chunk):
                if kind != cut.EXTRA:
                    into = little if is_little or (term in STOP_WORDS and not meant) else wanted
                    into[term] = into.get(term, 0.0) + _WEIGHT[kind]
        else:
            pieces = cut.unspaced_pieces(chunk)
            for kind, term in pieces:
                into = little if term in STOP_CHARACTERS else wanted
                into[term] = into.get(term, 0.0) + (1.0 if len(pieces) == 1 else _WEIGHT[kind])
    return wanted or little


def is_name_alone(text: str) -> bool:
    """Does ``text`` ask for a name (see :func:`identifiers`) and nothing else, little words aside? A path is no such name:
    where its file is asked for, its folder may not be written.
    """
    names = identifiers(text)
    return (
        bool(names)
        and not any("/" in name for name in names)
        and query_terms(text).keys() <= query_terms(" ".join(names)).keys()
    )


_SPACES = re.compile(r"[\s\x00]+")
_WORD_EDGE = rf"(?<=[^\W{UNSPACED}])(?![^\W{UNSPACED}])|(?<![^\W{UNSPACED}])(?=[^\W{UNSPACED}])"


def phrase_in(phrase: str, text: str) -> bool:
    """Tell whether ``text`` holds ``phrase``: folded, any white space for any other, no half words at its ends."""
    wanted, folded = as_phrase(phrase), fold(text)
    return all(word in folded for word in wanted.split(" ")) and holds_phrase(_SPACES.sub(" ", folded), wanted)


def as_phrase(text: str) -> str:
    """Return ``text`` folded, with single spaces: the form in which phrases are compared."""
    return _SPACES.sub(" ", fold(text)).strip()


def holds_phrase(within: str, wanted: str) -> bool:
    """Tell the same as :func:`phrase_in` of two texts in the form of :func:`as_phrase`."""
    place = within.find(wanted) if wanted else -1
    if place < 0:
        return False
    edge = compiled(r"\b" if within.isascii() else _WORD_EDGE)
    size, is_word_first, is_word_last = len(wanted), edge.match(wanted), edge.match(wanted, len(wanted))
    while place >= 0:
        if (not is_word_first or edge.match(within, place)) and (not is_word_last or edge.match(within, place + size)):
            return True
        following = edge.search(within, place + 1) if is_word_first else None
        if is_word_first and following is None:
            return False
        place = within.find(wanted, following.start() if following else place + 1)
    return False


def identifiers(text: str) -> list[str]:
    """Return the names in ``text``, each once, in order, case kept: identifiers, paths, versions, error codes, macros.

    Words that are only hyphenated, possessive or joined by a stroke between little words are not names.
    """
    found: dict[str, None] = {}
    for chunk in cut.chunks(prepare(text)):
        if (chunk.isascii() or not cut.is_unspaced(chunk)) and cut.is_name(chunk):
            found[chunk] = None
    return list(found)
