"""The vector channel: exact nearest neighbours among one scope's vectors (arr_sql/sql/search_vector.sql).

The scan runs on sqlite-vec or on its Python stand-in, or, in a process that asks again and again, on 8-bit copies in memory
(``hot_vectors``). What it hands on is scored again here in 64 bits and ordered by (cosine, chunk id), so all three give the
same answer. Vectors of two fingerprints are never compared.
"""

from __future__ import annotations

import json
import math
import operator
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode
from arr_sql.core.statements import load
from arr_sql.errors import ModelError
from arr_sql.index.embedders.protocol import Embedder, check_vector
from arr_sql.index.vector_state import vector_state
from arr_sql.retrieval.catalog import ChannelAnswer, Hit
from arr_sql.retrieval.hot_vectors import HotVectors
from arr_sql.retrieval.rows import chunk_hit, ranked

DISTANCE_ERROR = 0.00001
"""How far a distance of 32-bit sums may be from the true one."""


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
        self, reader: Connection, query_vectors: Callable[[], QueryVectors | None], has_model: Callable[[], bool],
        hot: HotVectors | None = None, older: Callable[[str], QueryVectors | None] = lambda model_id: None,
    ) -> None:  # fmt: skip
        """``query_vectors`` may load a model, so it is asked only when there is something to compare with.

        ``older`` opens another model by its id: it answers while the chosen one's vectors are fewer than its own.
        """
        self._hot, self._older = hot, older
        self._reader, self._query_vectors, self._has_model = reader, query_vectors, has_model
        self.used: dict[str, bytes] = {}
        self.fingerprint: str | None = None

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """State ``ok``, ``empty``, ``not_indexed`` (with hits, when some vectors are there) or ``unavailable``."""
        models = self._hot.state(self._reader, scope) if self._hot else vector_state(self._reader, scope)
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
        chosen, indexed = vectors, mine["embedded"] if mine is not None else 0
        if indexed < chunks and (better := self._better(models, vectors.fingerprint, indexed)) is not None:
            mine, vectors = better
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
        hits = self._nearest(vector, scope, mine, k)
        if indexed < chunks:
            missing = {"indexed": indexed, "chunks": chunks}
            if vectors is not chosen:
                missing |= {"chosen": chosen.model_id, "answered": vectors.model_id}
            return ChannelAnswer("not_indexed", hits, mine["embedded"], ReasonCode.NOT_INDEXED, missing)
        return ChannelAnswer("ok" if hits else "empty", hits, mine["embedded"])

    def _better(self, models: list[Any], fingerprint: str, indexed: int) -> tuple[Any, QueryVectors] | None:
        """Of the other models that can be opened, the one with most vectors, if it has more than ``indexed``."""
        for row in sorted(models, key=lambda row: (-row["embedded"], row["fingerprint"])):
            if row["fingerprint"] != fingerprint and row["embedded"] > indexed:
                vectors = self._older(row["model_id"])
                if vectors is not None and vectors.fingerprint == row["fingerprint"]:
                    return row, vectors
        return None

    def _nearest(self, vector: bytes, scope: ScopeKey, model: Any, k: int) -> tuple[Hit, ...]:
        """The ``k`` nearest by (cosine in 64 bits, chunk id), found in memory or by a scan: the same either way."""
        ids = self._hot.candidates(scope, model, vector, k) if self._hot else None
        rows = self._candidates(scope, self._scanned(vector, scope, model["model"], k) if ids is None else ids)
        if ids is not None and len(rows) > k:
            from arr_sql.index.vector_codes import best_of

            kept = best_of(vector, [(row["id"], row["vector"]) for row in rows], k)
            rows = [row for row in rows if row["id"] in kept]
        best = ranked([(_cosine(vector, row["vector"]), row["chunk_id"], row["id"]) for row in rows])[:k]
        wanted = {**scope.bindings(), "ids": json.dumps([number for _, _, number in best])}
        shown = {row["embedding"]: row for row in self._reader.execute(load("read_vector_hits"), wanted)}
        return tuple(
            chunk_hit(shown[number], scope, rank, score)
            for rank, (score, _, number) in enumerate((item for item in best if item[2] in shown), 1)
        )

    def _scanned(self, vector: bytes, scope: ScopeKey, model: int, k: int) -> list[int]:
        """Ids of all vectors as near as the k-th, within the error of 32-bit sums."""
        most = 2 * k + 16
        while True:
            values = {**scope.bindings(), "vector": vector, "model": model, "most": most}
            rows = self._reader.execute(load("search_vector"), values).fetchall()
            furthest = rows[min(k, len(rows)) - 1]["distance"] + DISTANCE_ERROR if rows else 0.0
            if len(rows) < most or rows[-1]["distance"] > furthest:
                return [row["id"] for row in rows if row["distance"] <= furthest]
            most *= 8  # many equal vectors: all of them count

    def _candidates(self, scope: ScopeKey, ids: list[int]) -> list[Any]:
        return self._reader.execute(
            load("read_candidate_vectors"), {**scope.bindings(), "ids": json.dumps(ids)}
        ).fetchall()


def _cosine(left: bytes, right: bytes) -> float:
    """Cosine of two unit vectors in 64 bits: the sum of products, exactly rounded."""
    return math.fsum(map(operator.mul, array("f", left), array("f", right)))
