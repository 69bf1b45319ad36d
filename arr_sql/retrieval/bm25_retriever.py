"""The bm25 channel: Okapi BM25 over one scope's chunks, computed in SQL over the FTS5 index.

Three statements: which words does the index hold (search_bm25_words.sql), how good must a chunk be by the rare ones
(search_bm25_threshold.sql), and the best chunks (search_bm25.sql). A question with few postings needs only the first and
the last. In a process that asks the same scope again, postings stay in memory (:mod:`arr_sql.retrieval.hot_postings`);
all ways give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from arr_sql.core.analysis import query_terms
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode
from arr_sql.core.statements import load
from arr_sql.index.text_index import has_text_index
from arr_sql.retrieval.bm25_scoring import (
    PRUNE_ABOVE,
    UNIT,
    Bm25Parameters,
    Scoring,
    Term,
    essential_terms,
    first_terms,
    scoring,
)
from arr_sql.retrieval.catalog import ChannelAnswer, Hit
from arr_sql.retrieval.hot_postings import HotPostings
from arr_sql.retrieval.rows import HitsByRow, chunk_hit, hits_by_row, ranked

__all__ = ["Bm25Parameters", "Bm25Retriever"]


class Bm25Retriever:
    """Holds a reader; see :class:`arr_sql.retrieval.catalog.Channel`."""

    name = "bm25"
    provider = "local"
    read_only = True

    def __init__(
        self, reader: Connection, parameters: Bm25Parameters = Bm25Parameters(), hot: HotPostings | None = None,
        prune_above: int = PRUNE_ABOVE, by_row: HitsByRow = hits_by_row,
    ) -> None:  # fmt: skip
        """``hot`` keeps postings between questions; ``prune_above`` decides how questions are answered, not what is.

        ``by_row`` reads chunks, or has them in memory (:mod:`arr_sql.retrieval.hot_chunks`).
        """
        self._reader, self._parameters, self._hot, self._prune_above = reader, parameters, hot, prune_above
        self._hits_by_row = by_row

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """State ``ok``, ``empty`` or ``unavailable`` (``index_missing``).

        ``candidate_count`` is the number of chunks with a word of the query; with more than PRUNE_ABOVE postings it is
        what the most frequent word alone brings, and ``detail`` says ``at_least``.
        """
        if not has_text_index(self._reader):
            return ChannelAnswer("unavailable", code=ReasonCode.INDEX_MISSING)
        weights = query_terms(query)
        if not weights:
            return ChannelAnswer("empty")
        found = self._from_memory(weights, scope, k) or self._from_file(weights, scope, k)
        wanted = found.wanted
        best = ranked([(score / UNIT, hit.chunk_id, hit) for score, hit in found.hits])[:k]
        hits = tuple(hit.at(rank, score) for rank, (score, _, hit) in enumerate(best, 1))
        if not hits:
            return ChannelAnswer("empty")
        if wanted.postings > PRUNE_ABOVE:
            return ChannelAnswer("ok", hits, max(term.df for term in wanted.terms), detail={"count": "at_least"})
        return ChannelAnswer("ok", hits, found.matches)

    def _words(self, scope: ScopeKey, terms: Sequence[str]) -> Sequence[Any]:
        return self._reader.execute(
            load("search_bm25_words"), {**scope.bindings(), "terms": json.dumps(terms)}
        ).fetchall()

    def _from_memory(self, weights: dict[str, float], scope: ScopeKey, k: int) -> _Found | None:
        if self._hot is None:
            return None
        best = self._hot.best(self._reader, scope, weights, self._parameters, k)
        if best is None:
            return None
        hits = self._hits_by_row(self._reader, scope, [chunk for chunk, _ in best.chunks])
        return _Found(best.wanted, [(score, hits[chunk]) for chunk, score in best.chunks], best.matches)

    def _from_file(self, weights: dict[str, float], scope: ScopeKey, k: int) -> _Found:
        wanted = scoring(self._words(scope, list(weights)), weights, self._parameters)
        terms, bindings = wanted.terms, {**scope.bindings(), **wanted.bindings(), "k": k}
        if not terms:
            return _Found(wanted, (), 0)
        essential = len(terms)
        if wanted.postings > self._prune_above:
            first = first_terms(terms, self._prune_above // 2)
            row = self._reader.execute(
                load("search_bm25_threshold"), {**bindings, "words": _as_json(terms[:first])}
            ).fetchone()
            essential = essential_terms(terms, row["score"] if row else 0, first)
        rest = terms[essential:]
        rows = self._reader.execute(
            load("search_bm25"),
            {
                **bindings, "words": _as_json(terms[:essential]), "rest": _as_json(rest),
                "rest_bound": sum(term.bound for term in rest),
            },
        ).fetchall()  # fmt: skip
        hits = [(row["score"], chunk_hit(row, scope, 0, 0.0)) for row in rows]
        return _Found(wanted, hits, rows[0]["matches"] if rows else 0)


class _Found:
    """Hits with their whole-number scores, the best k and those equal to the last of them; and how many matched."""

    def __init__(self, wanted: Scoring, hits: Sequence[tuple[int, Hit]], matches: int) -> None:
        self.wanted, self.hits, self.matches = wanted, hits, matches


def _as_json(terms: Sequence[Term]) -> str:
    return json.dumps([(word.text, word.gain, word.body, word.heading) for term in terms for word in term.words])
