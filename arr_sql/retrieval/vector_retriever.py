"""The vector channel: exact nearest neighbours among one scope's vectors, of chunks and of usable memories.

Memories are found by meaning here and by their words in ``research-memory``; usable is the same in both
(arr_sql/sql/search_memory_vectors.sql, search_vector.sql). A memory without a vector is never a fault: its words are
found, and the trace counts it.

The scan runs on sqlite-vec or on its Python stand-in, or, in a process that asks again and again, on 8-bit copies in memory
(``hot_vectors``). What it hands on is scored again here in 64 bits and ordered by (cosine, chunk id), so all three give the
same answer. Vectors of two fingerprints are never compared.
"""

from __future__ import annotations

import json
import math
import operator
from array import array
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from arr_sql.core.canonical import significant
from arr_sql.core.clock import to_text, utc_now
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey, memory_name
from arr_sql.core.router_models import ReasonCode
from arr_sql.core.statements import load
from arr_sql.errors import ModelError
from arr_sql.index.embedders.protocol import Embedder, check_vector
from arr_sql.index.vector_state import vector_chunks, vector_state
from arr_sql.retrieval.catalog import ChannelAnswer, Hit
from arr_sql.retrieval.hot_vectors import HotVectors
from arr_sql.retrieval.language_axis import LanguageAxis, read_language_axis
from arr_sql.retrieval.rows import HitsByRow, hits_by_row, memory_hit, ranked

DISTANCE_ERROR = 0.00001
"""How far a distance of 32-bit sums may be from the true one."""


class QueryVectors(NamedTuple):
    """How the channel gets a query's vector: from a model, or (in a replay) from what was kept of the first run."""

    fingerprint: str
    model_id: str
    dimension: int
    embed: Callable[[str], bytes | None]
    is_final: bool = False
    """Is the vector to be used as it is, because a run has used it so? Else the scope's language axis is taken out."""


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
        clock: Callable[[], datetime] = utc_now, by_row: HitsByRow = hits_by_row,
    ) -> None:  # fmt: skip
        """``query_vectors`` may load a model, so it is asked only when there is something to compare with.

        ``older`` opens another model by its id: it answers while the chosen one's vectors are fewer than its own.
        ``clock`` decides which memories have expired. ``by_row`` reads chunks, or has them in memory (``hot_chunks``).
        """
        self._hits_by_row = by_row
        self._hot, self._older, self._clock = hot, older, clock
        self._reader, self._query_vectors, self._has_model = reader, query_vectors, has_model
        self.used: dict[str, bytes] = {}
        self.fingerprint: str | None = None

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """State ``ok``, ``empty``, ``not_indexed`` (with hits, when some vectors are there) or ``unavailable``."""
        models = self._hot.state(self._reader, scope) if self._hot else vector_state(self._reader, scope)
        chunks = models[0]["chunks"] if models else 0
        memories = models[0]["memories"] if models else 0
        # Without chunks it is the memories that say which model answers; without any vector there is nothing to say.
        counted, whole = ("embedded", chunks) if chunks else ("memories_embedded", memories)
        if not chunks and not any(row["memories_embedded"] for row in models):
            return ChannelAnswer("empty", detail=_without_vector(memories, 0))
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
        chosen, indexed = vectors, mine[counted] if mine is not None else 0
        if indexed < whole and (better := self._better(models, counted, vectors.fingerprint, indexed)) is not None:
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
        axis = None if vectors.is_final else self._axis(scope, mine)
        if axis is not None:
            vector = axis.taken_from(vector)
        self.used[query], self.fingerprint = vector, vectors.fingerprint
        hits, compared = self._nearest(vector, scope, mine, k)
        if chunks and indexed < chunks:
            missing = {"indexed": indexed, "chunks": chunks}
            if vectors is not chosen:
                missing |= {"chosen": chosen.model_id, "answered": vectors.model_id}
            return ChannelAnswer("not_indexed", hits, compared, ReasonCode.NOT_INDEXED, missing)
        detail = _without_vector(memories, mine["memories_embedded"])
        if compared > mine["embedded"]:
            detail["memories"] = compared - mine["embedded"]
        if axis is not None:
            detail["language_axis_texts"] = axis.texts
        return ChannelAnswer("ok" if hits else "empty", hits, compared, detail=detail)

    def _axis(self, scope: ScopeKey, model: Any) -> LanguageAxis | None:
        if self._hot is not None:
            return self._hot.axis(self._reader, scope, model)
        return read_language_axis(self._reader, scope, model["model"])

    def _better(
        self, models: list[Any], counted: str, fingerprint: str, indexed: int
    ) -> tuple[Any, QueryVectors] | None:
        """Of the other models that can be opened, the one with most vectors, if it has more than ``indexed``."""
        for row in sorted(models, key=lambda row: (-row[counted], row["fingerprint"])):
            if row["fingerprint"] != fingerprint and row[counted] > indexed:
                vectors = self._older(row["model_id"])
                if vectors is not None and vectors.fingerprint == row["fingerprint"]:
                    return row, vectors
        return None

    def _nearest(self, vector: bytes, scope: ScopeKey, model: Any, k: int) -> tuple[tuple[Hit, ...], int]:
        """The ``k`` nearest chunks and memories by (cosine in 64 bits, id), and how many vectors were compared."""
        memories, usable = self._memories(vector, scope, model, k)
        near = cosines_of(vector, [row["vector"] for row in memories])
        found: list[tuple[float, str, Any]] = [
            (cosine, memory_name(row["memory_id"]), row) for cosine, row in zip(near, memories, strict=True)
        ]
        found += self._chunks(vector, scope, model, k)
        best = ranked(found)[:k]
        shown = self._hits_by_row(self._reader, scope, [item for _, _, item in best if isinstance(item, int)])
        there = [(score, item) for score, _, item in best if not isinstance(item, int) or item in shown]
        hits = (
            shown[item].at(rank, score) if isinstance(item, int) else memory_hit(item, scope, rank, score)
            for rank, (score, item) in enumerate(there, 1)
        )
        return tuple(hits), model["embedded"] + usable

    def _chunks(self, vector: bytes, scope: ScopeKey, model: Any, k: int) -> list[tuple[float, str, int]]:
        """Cosine, chunk id and row of the ``k`` nearest chunks, found in memory or by a scan: the same either way."""
        if not model["embedded"]:
            return []
        near = self._hot.nearest(scope, model, vector, k) if self._hot else None
        if near is not None:
            return ranked(near)[:k]
        ids = self._hot.candidates(scope, model, vector, k) if self._hot else None
        wanted = self._scanned(vector, scope, model["model"], k) if ids is None else ids
        rows = self._rows(load("read_candidate_vectors"), scope, wanted)
        if ids is None:
            cosines = cosines_of(vector, [row["vector"] for row in rows])
        else:  # in memory, so NumPy is there
            from arr_sql.index import vector_codes

            if len(rows) > k:
                kept = vector_codes.best_of(vector, [(row["id"], row["vector"]) for row in rows], k)
                rows = [row for row in rows if row["id"] in kept]
            cosines = vector_codes.cosines_of(vector, [row["vector"] for row in rows])
        cosine = {row["id"]: value for row, value in zip(rows, cosines, strict=True)}
        chunks = vector_chunks(self._reader, scope, list(cosine))
        return ranked([(cosine[row["id"]], row["chunk_id"], row["chunk"]) for row in chunks])[:k]

    def _memories(self, vector: bytes, scope: ScopeKey, model: Any, k: int) -> tuple[list[Any], int]:
        """All usable memories as near as the k-th, and how many have a vector."""
        if not model["memories_embedded"]:
            return [], 0
        values = {**scope.bindings(), "vector": vector, "model": model["model"], "now": to_text(self._clock())}
        rows = self._as_near(load("search_memory_vectors"), values, k)
        return rows, rows[0]["compared"] if rows else 0

    def _scanned(self, vector: bytes, scope: ScopeKey, model: int, k: int) -> list[int]:
        """Ids of all chunks' vectors as near as the k-th."""
        values = {**scope.bindings(), "vector": vector, "model": model}
        return [row["id"] for row in self._as_near(load("search_vector"), values, k)]

    def _as_near(self, statement: str, values: dict[str, Any], k: int) -> list[Any]:
        """The rows of all vectors as near as the k-th, within the error of 32-bit sums."""
        most = 2 * k + 16
        while True:
            rows = self._reader.execute(statement, {**values, "most": most}).fetchall()
            furthest = rows[min(k, len(rows)) - 1]["distance"] + DISTANCE_ERROR if rows else 0.0
            if len(rows) < most or rows[-1]["distance"] > furthest:
                return [row for row in rows if row["distance"] <= furthest]
            most *= 8  # many equal vectors: all of them count

    def _rows(self, statement: str, scope: ScopeKey, ids: list[int]) -> list[Any]:
        return self._reader.execute(statement, {**scope.bindings(), "ids": json.dumps(ids)}).fetchall()


def cosines_of(query: bytes, vectors: Sequence[bytes]) -> list[float]:
    """Cosines of unit vectors at 12 significant digits, in 64 bits: the sum of products (each is exact), exactly rounded."""
    wanted = array("f", query)
    products = (map(operator.mul, wanted, array("f", vector)) for vector in vectors)
    return [significant(math.fsum(terms)) for terms in products]


def _without_vector(memories: int, embedded: int) -> dict[str, int]:
    """How many published memories only their words can find; said in the trace."""
    return {"memories_without_vector": memories - embedded} if embedded < memories else {}
