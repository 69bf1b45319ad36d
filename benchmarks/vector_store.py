"""A store with many vectors for benchmarks: several scopes of given sizes in one file.

The vectors are made from real ones, each moved by a random step of fixed length, so that they have the clusters and the
spread of real vectors. Each scope gets one chunk by the ordinary way (a file that is added and embedded); its rows are then
copied under other chunk ids, each with a vector of its own. The text index is not filled: it plays no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arr_sql.core.connection import Connection, open_writer, write_transaction
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.index.embedders.protocol import EmbedderSpec

#: Length of the random step beside a unit vector: cosines with the origin lie about 0.8.
STEP = 0.75

TEXT = "A passage of ordinary length, which says what was tried and what came of it. " * 14


class GivenVectors:
    """An embedder whose vectors were made beforehand: texts are row numbers of ``queries``; passages get row 0."""

    def __init__(self, queries: NDArray[np.float32]) -> None:
        self.spec = EmbedderSpec(id="given-vectors", revision="1", dimension=queries.shape[1], window_tokens=512)
        self._queries = queries

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """The rows whose numbers the texts are."""
        return [self._queries[int(text)].astype("<f4").tobytes() for text in texts]

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        """Row 0 for each."""
        return self.embed_queries(["0"] * len(texts))


def scope(branch: str) -> ScopeKey:
    """A scope that differs from the others in its branch."""
    return ScopeKey(team_id="bench", project_id="p", repository="r", branch=branch, experiment_environment="cpu")


def moved(real: NDArray[np.float32], count: int, seed: int) -> NDArray[np.float32]:
    """``count`` unit vectors, each a random one of ``real`` moved by ``STEP`` in a random direction."""
    chance = np.random.default_rng(seed)
    result = real[chance.integers(len(real), size=count)]
    steps = chance.standard_normal((count, real.shape[1]), dtype=np.float32)
    result = result + steps * (STEP / np.linalg.norm(steps, axis=1, keepdims=True))
    unit: NDArray[np.float32] = (result / np.linalg.norm(result, axis=1, keepdims=True)).astype(np.float32)
    return unit


def build(folder: Path, vectors: dict[str, NDArray[np.float32]], embedder: GivenVectors) -> Path:
    """Write a store in ``folder`` with a scope for each branch of ``vectors``; chunk ids end in the vector's row number."""
    path = folder / "vectors.db"
    (folder / "passage.txt").write_text(TEXT, "utf-8")
    for branch, rows in vectors.items():
        with ResearchDatabase.create(path, scope(branch), project_folder=folder, embedder=lambda: embedder) as database:
            database.add(folder / "passage.txt")
            database.embed()
        connection = open_writer(path)
        with write_transaction(connection, path):
            _copy_rows(connection, rows)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    return path


def _copy_rows(connection: Connection, vectors: NDArray[np.float32]) -> None:
    """Copy the newest chunk and its vector once for each row but the first, which the newest chunk itself gets."""
    chunk = dict(connection.execute("SELECT * FROM chunk ORDER BY id DESC LIMIT 1").fetchone())
    held = dict(connection.execute("SELECT * FROM chunk_embedding ORDER BY id DESC LIMIT 1").fetchone())
    name, number, held_number = chunk["chunk_id"], chunk.pop("id"), held.pop("id")
    add_chunk, add_held = _insert("chunk", list(chunk)), _insert("chunk_embedding", list(held))
    for row, vector in enumerate(vectors):
        if row == 0:
            connection.execute("UPDATE chunk SET chunk_id = ? WHERE id = ?", (f"{name}-0", number))
            values = (vector.tobytes(), held_number)
            connection.execute("UPDATE chunk_embedding SET vector = ? WHERE id = ?", values)
            continue
        copied = {**chunk, "chunk_id": f"{name}-{row}"}
        added = connection.execute(add_chunk, copied).lastrowid
        connection.execute(add_held, {**held, "chunk": added, "vector": vector.tobytes()})


def _insert(table: str, columns: list[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(':' + column for column in columns)})"
