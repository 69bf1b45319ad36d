"""The research-memory channel: BM25 over published, applicable, unexpired memories (arr_sql/sql/search_memory.sql)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

from arr_sql.core.analysis import query_terms
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode
from arr_sql.core.statements import load
from arr_sql.index.text_index import has_text_index
from arr_sql.retrieval.bm25_scoring import Bm25Parameters
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.rows import memory_hit, ranked


class MemoryRetriever:
    """Holds a reader and the clock that decides what has expired."""

    name = "research-memory"
    provider = "local"
    read_only = True

    def __init__(
        self, reader: Connection, clock: Callable[[], datetime], parameters: Bm25Parameters = Bm25Parameters()
    ) -> None:
        self._reader, self._clock, self._parameters = reader, clock, parameters

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """State ``ok``, ``empty`` or ``unavailable`` (``index_missing``)."""
        if not has_text_index(self._reader):
            return ChannelAnswer("unavailable", code=ReasonCode.INDEX_MISSING)
        terms = query_terms(query)
        # The search takes half a millisecond where there is nothing to find.
        if not terms or self._reader.execute(load("read_any_published"), scope.bindings()).fetchone() is None:
            return ChannelAnswer("empty")
        rows = self._reader.execute(
            load("search_memory"),
            {
                **scope.bindings(), **self._parameters.bindings(), "terms": json.dumps(terms), "k": k,
                "now": to_text(self._clock()),
            },
        ).fetchall()  # fmt: skip
        if not rows:
            return ChannelAnswer("empty")
        best = ranked([(row["score"], row["memory_id"], row) for row in rows])
        hits = tuple(memory_hit(row, scope, rank, score) for rank, (score, _, row) in enumerate(best, 1))
        return ChannelAnswer("ok", hits, rows[0]["matches"])
