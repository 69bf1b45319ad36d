"""The vector channel beside what it must keep up with: NumPy over vectors in memory, and sqlite-vec's scans.

    python -m benchmarks.vector_search [--vectors N] [--questions N] [--k N] [--from FILE.npy] [--json]

One scope of N vectors (100,000) and one of a hundredth of that in the same file. Measured is the channel's whole call
with a query vector at hand: reading the scope's state, finding the nearest, scoring them in 64 bits, reading the texts
of the hits. ``cold`` scans the file (each question over a connection that was just opened), ``hot`` is the same channel
in a process that asks again and again. Beside them: a float32 matrix-vector product and top-k over vectors in memory;
sqlite-vec's scan by ``vec_distance_L2`` over an ordinary table of vectors; and the search of its own table, ``vec0``. All
take turns, question by question, on one thread; CPU time is counted, not wall time. ``--from`` names an array of real
vectors that the others are made from (``vector_store``); without it clusters of random ones take their place.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arr_sql.index.embedders.numpy_threads import load_numpy

load_numpy()
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from arr_sql.core.connection import Connection, open_reader, sqlite3  # noqa: E402
from arr_sql.retrieval.hot_vectors import COLD_QUESTIONS, HotVectors  # noqa: E402
from arr_sql.retrieval.vector_retriever import VectorRetriever, from_embedder  # noqa: E402
from benchmarks.vector_store import GivenVectors, build, moved, scope  # noqa: E402

LARGE, SMALL = scope("large"), scope("small")


class Channels:
    """The channel over one file, hot and cold, for one query vector at a time."""

    def __init__(self, path: Path, embedder: GivenVectors) -> None:
        self.path = path
        self.vectors = from_embedder(embedder)
        self.reader = open_reader(path)
        self.hot = HotVectors(lambda: open_reader(path))

    def ask(self, reader: Connection, number: int, where: Any, k: int, hot: HotVectors | None) -> list[int]:
        """Row numbers of the hits."""
        channel = VectorRetriever(reader, lambda: self.vectors, lambda: True, hot)
        answer = channel.retrieve(str(number), where, k, 0.0)
        assert answer.state == "ok", answer
        return [int(hit.chunk_id.rpartition("-")[2]) for hit in answer.hits]

    def warm_up(self, k: int) -> None:
        """Ask until the vectors are in memory."""
        for number in range(COLD_QUESTIONS + 1):
            self.ask(self.reader, number, LARGE, k, self.hot)
        assert self.hot.wait(), "nothing was kept in memory: is ONNX Runtime installed?"


def sqlite_vec_tables(path: Path, vectors: NDArray[np.float32]) -> Connection:
    """A file with the same vectors in an ordinary table and in sqlite-vec's own."""
    import sqlite_vec

    connection: Connection = sqlite3.connect(str(path), isolation_level=None)
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY, vector BLOB NOT NULL)")
    connection.execute(f"CREATE VIRTUAL TABLE own USING vec0(vector float[{vectors.shape[1]}])")
    for number, vector in enumerate(vectors):
        connection.execute("INSERT INTO plain VALUES (?, ?)", (number, vector.tobytes()))
        connection.execute("INSERT INTO own (rowid, vector) VALUES (?, ?)", (number, vector.tobytes()))
    connection.execute("COMMIT")
    return connection


PLAIN = "SELECT id FROM (SELECT id, vec_distance_L2(vector, ?) AS d FROM plain) ORDER BY d LIMIT ?"
OWN = "SELECT rowid FROM own WHERE vector MATCH ? AND k = ? ORDER BY distance"


def measure(folder: Path, real: NDArray[np.float32], count: int, questions: int, k: int) -> dict[str, Any]:
    """Milliseconds of each way, their ratios question by question, and recall against the exact order."""
    large, small = moved(real, count, 1), moved(real, count // 100, 2)
    queries = moved(real, questions, 3)
    embedder = GivenVectors(queries)
    path = build(folder, {"large": large, "small": small}, embedder)
    other = sqlite_vec_tables(folder / "sqlite-vec.db", large)
    channels = Channels(path, embedder)
    channels.warm_up(k)

    def numpy_scan(number: int) -> list[int]:
        near = large @ queries[number]
        top = np.argpartition(near, -k)[-k:]
        return [int(place) for place in top[np.argsort(-near[top])]]

    def cold(where: Any) -> Callable[[int], list[int]]:
        def ask(number: int) -> list[int]:
            reader = open_reader(path)
            try:
                return channels.ask(reader, number, where, k, None)
            finally:
                reader.close()

        return ask

    ways: dict[str, Callable[[int], list[int]]] = {
        "numpy": numpy_scan,
        "hot": lambda number: channels.ask(channels.reader, number, LARGE, k, channels.hot),
        "sqlite_vec_scan": lambda number: [row[0] for row in other.execute(PLAIN, (queries[number].tobytes(), k))],
        "sqlite_vec_own_table": lambda number: [row[0] for row in other.execute(OWN, (queries[number].tobytes(), k))],
        "cold": cold(LARGE),
        "cold_small_scope": cold(SMALL),
    }
    spent: dict[str, list[float]] = {name: [] for name in ways}
    recalls: dict[str, list[float]] = {name: [] for name in ways if name != "cold_small_scope"}
    for number in range(questions):
        exact = set(np.argsort(-(large.astype(np.float64) @ queries[number].astype(np.float64)))[:k].tolist())
        for name, way in ways.items():
            started = time.process_time()
            found = way(number)
            spent[name].append(1000 * (time.process_time() - started))
            if name in recalls:
                recalls[name].append(len(exact.intersection(found)) / k)
    channels.hot.close()
    channels.reader.close()
    other.close()
    return report(spent, recalls, count, questions, k)


def report(spent: dict[str, list[float]], recalls: dict[str, list[float]], count: int, questions: int, k: int) -> Any:
    """Medians, ratios with quartiles, recall."""

    def ratio(one: str, other: str) -> dict[str, float]:
        values = [a / b for a, b in zip(spent[one], spent[other], strict=True)]
        low, _, high = statistics.quantiles(values, n=4)
        medians = statistics.median(spent[one]) / statistics.median(spent[other])
        return {"of_medians": round(medians, 3), "lower_quartile": round(low, 3), "upper_quartile": round(high, 3)}

    return {
        "vectors": count, "questions": questions, "k": k,
        "median_ms": {name: round(statistics.median(values), 2) for name, values in spent.items()},
        "recall": {name: round(statistics.mean(values), 5) for name, values in recalls.items()},
        "hot / numpy": ratio("hot", "numpy"),
        "cold / sqlite_vec_scan": ratio("cold", "sqlite_vec_scan"),
        "cold / sqlite_vec_own_table": ratio("cold", "sqlite_vec_own_table"),
        "cold_small_scope / cold": ratio("cold_small_scope", "cold"),
    }  # fmt: skip


def random_clusters() -> NDArray[np.float32]:
    """400 unit vectors about 20 centres."""
    chance = np.random.default_rng(0)
    rows = np.repeat(chance.standard_normal((20, 384)), 20, axis=0) + 0.8 * chance.standard_normal((400, 384))
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--from", dest="source", type=Path, help="an array of unit vectors, (n, 384) float32")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    real = np.load(arguments.source) if arguments.source else random_clusters()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), real, arguments.vectors, arguments.questions, arguments.k)
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        for name, value in found.items():
            print(name.ljust(30), value)


if __name__ == "__main__":
    main()
