"""The bm25 channel: Okapi BM25 over one scope's chunks, in one SQL statement (arr_sql/sql/search_bm25.sql)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from arr_sql.core.analysis import query_terms
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode
from arr_sql.core.statements import load
from arr_sql.index.text_index import has_text_index
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.rows import chunk_hit, ranked


@dataclass(frozen=True)
class Bm25Parameters:
    """k1 (saturation), b (length normalisation) and how much a heading word counts; docs/search.md has the figures."""

    k1: float = 1.2
    b: float = 0.75
    heading_weight: float = 2.0

    def bindings(self) -> dict[str, float]:
        """The three named parameters of the statement."""
        return {"k1": self.k1, "b": self.b, "heading_weight": self.heading_weight}


class Bm25Retriever:
    """Holds a reader; see :class:`arr_sql.retrieval.catalog.Channel`."""

    name = "bm25"
    provider = "local"
    read_only = True

    def __init__(self, reader: Connection, parameters: Bm25Parameters = Bm25Parameters()) -> None:
        self._reader, self._parameters = reader, parameters

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """State ``ok``, ``empty`` or ``unavailable`` (``index_missing``)."""
        if not has_text_index(self._reader):
            return ChannelAnswer("unavailable", code=ReasonCode.INDEX_MISSING)
        terms = query_terms(query)
        if not terms:
            return ChannelAnswer("empty")
        rows = self._reader.execute(
            load("search_bm25"),
            {**scope.bindings(), **self._parameters.bindings(), "terms": json.dumps(terms), "k": k},
        ).fetchall()
        if not rows:
            return ChannelAnswer("empty")
        best = ranked([(row["score"], row["chunk_id"], row) for row in rows])
        hits = tuple(chunk_hit(row, scope, rank, score) for rank, (score, _, row) in enumerate(best, 1))
        return ChannelAnswer("ok", hits, rows[0]["matches"])
