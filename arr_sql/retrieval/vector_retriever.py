"""The vector channel: exact nearest neighbours among one scope's vectors (arr_sql/sql/search_vector.sql).

The scan runs on sqlite-vec or on its Python stand-in; what it hands on is scored again here in 64 bits and ordered by
(cosine, chunk id), so both give the same answer. Vectors of two fingerprints are never compared.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass

from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode
from arr_sql.core.statements import load
from arr_sql.errors import ModelError
from arr_sql.index.embedders.protocol import Embedder, check_vector
from arr_sql.index.vector_state import vector_state
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.rows import chunk_hit, ranked


@dataclass(frozen=True)
class QueryVectors:
    """How the channel gets a query's vector: from a model, or (in a replay) from what was kept of the first run."""

    fingerprint: str
    model_id: str
    dimension: int
    embed: Callable[[str], bytes | None]


def from_embedder(embedder: Embedder) -> QueryVectors:
    """Query vectors from a model. Each is checked before it is used."""

    def embed(query: str) -> bytes | None:
        vector = embedder.embed_queries([query])[0]
        if vector is not None:
            check_vector(vector, embedder.spec.dimension)
        return vector

    return QueryVectors(embedder.spec.fingerprint(), embedder.spec.id, embedder.spec.dimension, embed)


class VectorRetriever:
    """Holds a reader and a way to a query's vector. ``used`` keeps the vectors of this run for the retrieval record."""

    name = "vector"
    provider = "local"
    read_only = True

    def __init__(
        self, reader: Connection, query_vectors: Callable[[], QueryVectors | None], has_model: Callable[[], bool]
    ) -> None:
        """``query_vectors`` may load a model, so it is asked only when there is something to compare with."""
        self._reader, self._query_vectors, self._has_model = reader, query_vectors, has_model
        self.used: dict[str, bytes] = {}
        self.fingerprint: str | None = None

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """State ``ok``, ``empty``, ``not_indexed`` (with hits, when some vectors are there) or ``unavailable``."""
        models = vector_state(self._reader, scope)
        chunks = models[0]["chunks"] if models else 0
        if not chunks:
            return ChannelAnswer("empty")
        if not self._has_model():
            return ChannelAnswer("unavailable", code=ReasonCode.MODEL_MISSING)
        if models[0]["model"] is None:
            return ChannelAnswer("not_indexed", code=ReasonCode.NOT_INDEXED, detail={"indexed": 0, "chunks": chunks})
        try:
            vectors = self._query_vectors()
        except ModelError:
            return ChannelAnswer("unavailable", code=ReasonCode.MODEL_FAILED)
        if vectors is None:
            return ChannelAnswer("unavailable", code=ReasonCode.MODEL_MISSING)
        mine = next((row for row in models if row["fingerprint"] == vectors.fingerprint), None)
        if mine is None:
            models_named = {
                "stored": models[0]["model_id"], "stored_dimension": models[0]["dimension"],
                "installed": vectors.model_id, "installed_dimension": vectors.dimension,
            }  # fmt: skip
            return ChannelAnswer("unavailable", code=ReasonCode.MODEL_CHANGED, detail=models_named)
        try:
            vector = vectors.embed(query)
        except ModelError:
            return ChannelAnswer("unavailable", code=ReasonCode.MODEL_FAILED)
        if vector is None:
            return ChannelAnswer("empty")
        self.used[query], self.fingerprint = vector, vectors.fingerprint
        rows = self._reader.execute(
            load("search_vector"), {**scope.bindings(), "vector": vector, "model": mine["model"], "k": k}
        ).fetchall()
        best = ranked([(_cosine(vector, row["vector"]), row["chunk_id"], row) for row in rows])[:k]
        hits = tuple(chunk_hit(row, scope, rank, score) for rank, (score, _, row) in enumerate(best, 1))
        if mine["embedded"] < chunks:
            missing = {"indexed": mine["embedded"], "chunks": chunks}
            return ChannelAnswer("not_indexed", hits, mine["embedded"], ReasonCode.NOT_INDEXED, missing)
        return ChannelAnswer("ok" if hits else "empty", hits, mine["embedded"])


def _cosine(left: bytes, right: bytes) -> float:
    """Cosine of two unit vectors in 64 bits: the sum of products, exactly rounded."""
    return math.fsum(x * y for x, y in zip(array("f", left), array("f", right), strict=True))
