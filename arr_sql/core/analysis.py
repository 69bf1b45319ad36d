"""From text to terms: the one analyser that serves indexing, queries, memories and the rule reranker (contract 9.5).

Promises: no string makes it raise; whatever ``query_terms(text)`` asks for, ``analyse(text)`` puts in the index, so a
text finds itself; a run of Chinese finds every text that contains it; canonically equivalent spellings give the same
terms; time is linear. ``tests/core/test_analysis.py`` holds them.

What a chunk of text becomes is described in ``analysis_terms``; which spellings are equal, in ``analysis_fold``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from arr_sql.core import analysis_terms as cut
from arr_sql.core.analysis_fold import UNSPACED, fold, prepare
from arr_sql.core.analysis_words import STOP_WORDS

__all__ = ["ANALYSER_VERSION", "Analysed", "analyse", "fold", "identifiers", "phrase_in", "query_terms"]

ANALYSER_VERSION = "1"
"""Changes when the terms of some text change; an index made by another version is rebuilt."""


@dataclass(frozen=True)
class Analysed:
    """``terms`` in text order with repeats, as they are put in the index; ``length`` in words, for BM25."""

    terms: tuple[str, ...]
    length: int


# What each kind of term adds to a query's score, relative to a plain word.
_WEIGHT = {
    cut.WORD: 1.0,
    cut.SURFACE: 0.3,
    cut.WHOLE: 1.0,
    cut.PART: 0.5,
    cut.PART_FORM: 0.15,
    cut.PAIR: 0.3,
    cut.MINOR: 0.1,
    cut.CHARACTER: 0.2,
    cut.BIGRAM: 1.0,
}
_LENGTH_KINDS = frozenset({cut.WORD, cut.PART, cut.MINOR, cut.CHARACTER})


@lru_cache(maxsize=32768)
def _cached_index_terms(chunk: str) -> tuple[tuple[str, ...], int]:
    pieces = cut.word_pieces(chunk)
    return tuple(term for _, term in pieces), max(1, sum(kind in _LENGTH_KINDS for kind, _ in pieces))


def analyse(text: str) -> Analysed:
    """Return the terms of ``text`` for the index."""
    terms: list[str] = []
    length = 0
    for chunk in cut.chunks(prepare(text)):
        if not chunk.isascii() and cut.is_unspaced(chunk):
            pieces = cut.unspaced_pieces(chunk)
            terms += [term for _, term in pieces]
            length += (len(pieces) + 1) // 2
        else:
            more, words = _cached_index_terms(chunk) if len(chunk) <= cut.MAX_TERM else _index_terms(chunk)
            terms += more
            length += words
    return Analysed(tuple(terms), length)


def _index_terms(chunk: str) -> tuple[tuple[str, ...], int]:
    return _cached_index_terms.__wrapped__(chunk)


def query_terms(text: str) -> dict[str, float]:
    """Return the terms that ``text`` asks for, each with its weight; little words only where nothing else remains."""
    kept: dict[str, float] = {}
    little: dict[str, float] = {}
    prepared = prepare(text)
    shouted = prepared.upper() == prepared
    for chunk in cut.chunks(prepared):
        if not chunk.isascii() and cut.is_unspaced(chunk):
            pieces = cut.unspaced_pieces(chunk)
            lone = len(pieces) == 1
            for kind, term in pieces:
                weight = 1.0 if lone else _WEIGHT[kind]
                kept[term] = max(kept.get(term, 0.0), weight)
            continue
        into = kept
        if fold(chunk) in STOP_WORDS and (shouted or len(chunk) < 2 or not chunk.isupper()):
            into = little
        for kind, term in cut.word_pieces(chunk):
            if kind != cut.EXTRA:
                into[term] = max(into.get(term, 0.0), _WEIGHT[kind])
    return kept or little


_SPACES = re.compile(r"\s+")
_GLUED = re.compile(rf"[^\W{UNSPACED}]")


def phrase_in(phrase: str, text: str) -> bool:
    """Tell whether ``text`` holds ``phrase`` word for word: folded, any white space, no half words at the ends."""
    wanted = _SPACES.sub(" ", fold(phrase)).strip()
    if not wanted:
        return False
    within = _SPACES.sub(" ", fold(text))
    start = within.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        before = start > 0 and _GLUED.match(wanted[0]) and _GLUED.match(within[start - 1])
        after = end < len(within) and _GLUED.match(wanted[-1]) and _GLUED.match(within[end])
        if not before and not after:
            return True
        start = within.find(wanted, start + 1)
    return False


def identifiers(text: str) -> list[str]:
    """Return the identifiers, paths, versions, error codes and macros in ``text`` as typed, each once, in order."""
    found: dict[str, None] = {}
    for chunk in cut.chunks(prepare(text)):
        if not (not chunk.isascii() and cut.is_unspaced(chunk)) and any(
            kind == cut.WHOLE for kind, _ in cut.word_pieces(chunk)
        ):
            found[chunk] = None
    return list(found)
