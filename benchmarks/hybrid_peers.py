"""What a user would take instead for hybrid search on one machine, over the same texts, vectors and questions.

Each peer is built from documents (id, heading, body) and their unit vectors, and gives a function from a question's text
and vector to the ids of the ten best. All are asked as their documentation shows it first, with their own analysers; each
fuses by reciprocal ranks. ``LanceDB`` and ``Haystack`` are whole packages; the two joined by hand in a page of code are
what their parts allow: FTS5 with sqlite-vec in one file, and tantivy with NumPy in memory, which writes and keeps nothing.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from arr_sql.core.connection import sqlite3
from arr_sql.index.embedders.numpy_threads import load_numpy

load_numpy()
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

K, DEPTH, RRF_K = 10, 100, 60
Documents = Sequence[tuple[str, str, str]]
Ask = Callable[[str, bytes], list[str]]
_WORD = re.compile(r"\w+")


def joined(lists: Sequence[Sequence[str]]) -> list[str]:
    """The ten best by the sum of 1 / (60 + rank)."""
    scores: dict[str, float] = {}
    for names in lists:
        for rank, name in enumerate(names, 1):
            scores[name] = scores.get(name, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda name: (-scores[name], name))[:K]


def lancedb_hybrid(folder: Path, documents: Documents, vectors: NDArray[np.float32]) -> Ask:
    """LanceDB: its own full-text index, its exact vector scan, its hybrid query with the default reranker (RRF)."""
    import lancedb
    import pyarrow as pa

    dimension = vectors.shape[1]
    rows = pa.table(
        {
            "id": [name for name, _, _ in documents],
            "text": [f"{heading}\n{body}" for _, heading, body in documents],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dimension),
        }
    )
    table = lancedb.connect(str(folder / "lance")).create_table("chunks", rows)
    table.create_fts_index("text")

    def ask(text: str, vector: bytes) -> list[str]:
        query = table.search(query_type="hybrid").vector(np.frombuffer(vector, "<f4")).text(text).limit(K)
        return [row["id"] for row in query.to_list()]

    return ask


def haystack_hybrid(folder: Path, documents: Documents, vectors: NDArray[np.float32]) -> Ask:
    """Haystack: the in-memory store, its BM25 and embedding retrievers, its joiner by reciprocal ranks."""
    from haystack import Document
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="dot_product")
    store.write_documents(
        [
            Document(id=name, content=f"{heading}\n{body}", embedding=vector.tolist())
            for (name, heading, body), vector in zip(documents, vectors, strict=True)
        ]
    )
    words, near = InMemoryBM25Retriever(store, top_k=DEPTH), InMemoryEmbeddingRetriever(store, top_k=DEPTH)
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=K)

    def ask(text: str, vector: bytes) -> list[str]:
        values = np.frombuffer(vector, "<f4").tolist()
        lists = [words.run(query=text)["documents"], near.run(query_embedding=values)["documents"]]
        return [document.id for document in joiner.run(lists)["documents"]]

    return ask


def sqlite_by_hand(folder: Path, documents: Documents, vectors: NDArray[np.float32]) -> Ask:
    """One SQLite file: FTS5's ``bm25()`` and sqlite-vec's own table, a hundred of each joined in Python, texts read."""
    import sqlite_vec

    connection: Any = sqlite3.connect(str(folder / "by-hand.db"), isolation_level=None)
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE document (id INTEGER PRIMARY KEY, name TEXT, heading TEXT, body TEXT)")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(heading, body)")
    connection.execute(f"CREATE VIRTUAL TABLE near USING vec0(vector float[{vectors.shape[1]}])")
    for number, ((name, heading, body), vector) in enumerate(zip(documents, vectors, strict=True)):
        connection.execute("INSERT INTO document VALUES (?, ?, ?, ?)", (number, name, heading, body))
        connection.execute("INSERT INTO words (rowid, heading, body) VALUES (?, ?, ?)", (number, heading, body))
        connection.execute("INSERT INTO near (rowid, vector) VALUES (?, ?)", (number, vector.tobytes()))
    connection.execute("COMMIT")

    def ask(text: str, vector: bytes) -> list[str]:
        wanted = " OR ".join(f'"{word}"' for word in _WORD.findall(text))
        by_words = connection.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (wanted, DEPTH)
        ).fetchall()
        by_vector = connection.execute(
            "SELECT rowid FROM near WHERE vector MATCH ? AND k = ? ORDER BY distance", (vector, DEPTH)
        ).fetchall()
        best = joined([[str(row[0]) for row in by_words], [str(row[0]) for row in by_vector]])
        return [
            connection.execute("SELECT name, heading, body FROM document WHERE id = ?", (int(number),)).fetchone()[0]
            for number in best
        ]

    return ask


def tantivy_by_hand(folder: Path, documents: Documents, vectors: NDArray[np.float32]) -> Ask:
    """tantivy with its English stemmer and a NumPy product, both in memory, a hundred of each joined in Python."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("name", stored=True, tokenizer_name="raw")
    builder.add_text_field("body", stored=False, tokenizer_name="en_stem", index_option="freq")
    index = tantivy.Index(builder.build())
    writer = index.writer(heap_size=200_000_000, num_threads=1)
    for name, heading, body in documents:
        writer.add_document(tantivy.Document(name=name, body=f"{heading}\n{body}"))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher, names = index.searcher(), [name for name, _, _ in documents]

    def ask(text: str, vector: bytes) -> list[str]:
        query = index.parse_query(" ".join(_WORD.findall(text.lower())), ["body"])
        by_words = [searcher.doc(place)["name"][0] for _, place in searcher.search(query, DEPTH).hits]
        near = vectors @ np.frombuffer(vector, "<f4")
        top = np.argpartition(near, -min(DEPTH, len(near)))[-min(DEPTH, len(near)) :]
        return joined([by_words, [names[place] for place in top[np.argsort(-near[top])]]])

    return ask


PEERS: dict[str, tuple[str, Callable[[Path, Documents, NDArray[np.float32]], Ask], int]] = {
    "LanceDB": ("lancedb", lancedb_hybrid, 10**9),
    "Haystack": ("haystack-ai", haystack_hybrid, 20_000),
    "FTS5 + sqlite-vec, by hand": ("sqlite-vec", sqlite_by_hand, 10**9),
    "tantivy + NumPy, by hand": ("tantivy", tantivy_by_hand, 10**9),
}
"""By name: the distribution it needs, how it is built, and the most documents it is asked over (pure Python takes minutes)."""
WHOLE = ("LanceDB", "Haystack")
"""The peers that are packages for hybrid search; the others are the limit."""


def installed() -> dict[str, str]:
    """The peers that can be asked, each with the version of its distribution."""
    found = {}
    for name, (distribution, _, _) in PEERS.items():
        try:
            found[name] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
