"""What BM25 needs to know before it reads postings: gains, bounds, and which words can be left for last. Pure.

Scores are whole numbers of 1e-9, a part a term, so that a sum is the same in any order: the statement, the arrays in
memory and every SQLite give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from arr_sql.index.text_index import frequencies

UNIT = 1e9
"""A score of 1 in the whole numbers that are added up."""
PRUNE_ABOVE = 5_000
"""With more postings than this the common words are read last, and only for chunks that can still win."""


class Bm25Parameters(NamedTuple):
    """k1 (saturation), b (length normalisation) and how much a heading word counts; docs/search.md has the figures."""

    k1: float = 1.2
    b: float = 0.75
    heading_weight: float = 2.0

    def bindings(self) -> dict[str, float]:
        """The three named parameters of search_memory.sql."""
        return {"k1": self.k1, "b": self.b, "heading_weight": self.heading_weight}


class Word(NamedTuple):
    """A word of the index, in ``df`` chunks, ``body`` and ``heading`` times in each.

    ``gain`` = query weight x idf x tf x (k1 + 1) x 1e9, rounded: whole numbers pass through JSON unchanged everywhere.
    """

    text: str
    gain: int
    body: int
    heading: int
    df: int


class Term(NamedTuple):
    """One term of the query: its words, its postings in all, and the most that it can add to a score."""

    text: str
    words: tuple[Word, ...]
    df: int
    bound: int


class Scoring(NamedTuple):
    """The terms that this scope holds, highest bound first, and the length normalisation of the scope."""

    terms: tuple[Term, ...]
    k1_short: float
    k1_long: float
    heading_weight: float
    chunks: int

    @property
    def postings(self) -> int:
        """How many postings the query has."""
        return sum(term.df for term in self.terms)

    def bindings(self) -> dict[str, float]:
        """The parameters that the statements share."""
        return {"k1_short": self.k1_short, "k1_long": self.k1_long, "heading_weight": self.heading_weight}


def scoring(rows: Iterable[Any], weights: Mapping[str, float], parameters: Bm25Parameters) -> Scoring:
    """From the rows of search_bm25_words and the query's weights. idf = ln(1 + (N - df + 0.5) / (df + 0.5))."""
    found: dict[str, list[Any]] = {}
    totals: Any = None
    for totals in rows:
        found.setdefault(totals["term"], []).append(totals)
    if totals is None:
        return Scoring((), 0.0, 0.0, parameters.heading_weight, 0)
    k1, b, n = parameters.k1, parameters.b, totals["chunks"]
    mean = (totals["terms"] + parameters.heading_weight * totals["heading_terms"]) / n
    k1_short, k1_long = k1 * (1 - b), (k1 * b / mean if mean else 0.0)
    terms = []
    for text, held in found.items():
        df = sum(row["df"] for row in held)
        idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
        words, bound = [], 0
        for row in held:
            _, body, heading = frequencies(row["word"])
            tf = body + parameters.heading_weight * heading
            if tf > 0:
                gain = round(weights[text] * idf * tf * (k1 + 1) * UNIT)
                words.append(Word(row["word"], gain, body, heading, row["df"]))
                bound = max(bound, int(gain / (tf + k1_short + k1_long * totals["shortest"]) + 0.5))
        terms.append(Term(text, tuple(words), df, bound))
    terms.sort(key=highest_first)
    return Scoring(tuple(terms), k1_short, k1_long, parameters.heading_weight, n)


def highest_first(term: Term) -> tuple[int, str]:
    """The order of terms: highest bound first."""
    return -term.bound, term.text


def first_terms(terms: Sequence[Term], least_postings: int) -> int:
    """How many of the terms with the highest bounds to read for a first threshold: about a twentieth of all postings."""
    most = max(least_postings, sum(term.df for term in terms) // 20)
    read = count = 0
    for term in terms:
        if count and read + term.df > most:
            break
        read += term.df
        count += 1
    return count


def essential_terms(terms: Sequence[Term], threshold: int, least: int) -> int:
    """How many terms must be read in full: those after them add less than ``threshold`` even together (MaxScore)."""
    left = sum(term.bound for term in terms[least:])
    count = least
    while count < len(terms) and left >= threshold:
        left -= terms[count].bound
        count += 1
    return count
