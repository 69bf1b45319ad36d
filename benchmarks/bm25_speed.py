"""How fast is the bm25 channel beside what a user would take instead, over the same text and questions?

    python -m benchmarks.bm25_speed [--chunks 100000] [--questions 60] [--work FOLDER] [--json FILE]

Peers in the same run: FTS5's own ``bm25()`` in a table of its own (heading and body, the default tokenizer), bm25s on
our analyser's tokens in memory, and tantivy as the limit. ``cold`` is a fresh connection for each question (a command),
``hot`` a long-running process that has answered the questions' scope before. Also checked: the ten best are those of the
exhaustive statement, byte for byte. Needs the extra ``bench``.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arr_sql.core.analysis import analyse, query_terms
from arr_sql.core.connection import Connection, open_reader, sqlite3
from arr_sql.retrieval.bm25_retriever import Bm25Retriever
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.hot_postings import HotPostings
from benchmarks.corpus import Corpus
from benchmarks.stores import default_folder, scope, store_of

K = 10


def peer_fts5(store: Path, path: Path) -> None:
    """The same headings and bodies in a table of its own."""
    connection = sqlite3.connect(str(path), isolation_level=None)
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(heading, body)")
    connection.execute("ATTACH DATABASE ? AS s", (str(store),))
    connection.execute("BEGIN")
    connection.execute(
        "INSERT INTO t (rowid, heading, body) SELECT id, heading, content FROM s.chunk WHERE retired_revision IS NULL"
    )
    connection.execute("COMMIT")
    connection.close()


def analysed(store: Path) -> tuple[list[int], list[list[str]]]:
    """The row ids and our analyser's terms of each chunk."""
    connection = open_reader(store)
    try:
        rows = connection.execute(
            "SELECT id, heading, content FROM chunk WHERE retired_revision IS NULL ORDER BY id"
        ).fetchall()
    finally:
        connection.close()
    return [row[0] for row in rows], [list(analyse(f"{row[1]}\n{row[2]}").terms) for row in rows]


def bm25s_of(texts: list[list[str]]) -> Callable[[str], object]:
    """bm25s over the same terms, in memory, one thread."""
    import bm25s

    retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    retriever.index(texts, show_progress=False)
    return lambda question: retriever.retrieve([list(query_terms(question))], k=K, show_progress=False)


def tantivy_of(texts: list[list[str]]) -> Callable[[str], object]:
    """tantivy over the same terms, in memory."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", stored=False, tokenizer_name="whitespace", index_option="freq")
    schema = builder.build()
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=200_000_000, num_threads=1)
    for terms in texts:
        writer.add_document(tantivy.Document(body=" ".join(terms)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(question: str) -> object:
        parts = [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", term, index_option="freq"))
            for term in query_terms(question)
        ]
        return searcher.search(tantivy.Query.boolean_query(parts), K)

    return ask


@dataclass
class Times:
    """Wall and processor seconds of each question."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, float]:
        """Medians and spread in milliseconds."""
        wall = sorted(1000 * t for t in self.wall)
        return {
            "p50_ms": statistics.median(wall), "p10_ms": wall[len(wall) // 10], "p90_ms": wall[9 * len(wall) // 10],
            "processor_p50_ms": 1000 * statistics.median(self.processor),
        }  # fmt: skip


def timed(asks: dict[str, Callable[[str], object]], questions: list[str], seed: int) -> dict[str, Times]:
    """Each question to each of them, in random order, so that a busy moment hits all alike."""
    rng = random.Random(seed)
    times = {name: Times() for name in asks}
    for question in questions:
        for name in rng.sample(list(asks), len(asks)):
            processor, wall = time.process_time(), time.perf_counter()
            asks[name](question)
            times[name].wall.append(time.perf_counter() - wall)
            times[name].processor.append(time.process_time() - processor)
    return times


def main() -> int:
    """Build or reuse the store, ask, print. Exit code 1 when an answer differs from the exhaustive one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--words", type=int, default=8)
    parser.add_argument("--content-words", action="store_true", help="no stop words in the questions")
    parser.add_argument("--work", type=Path, default=default_folder())
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    store = store_of(options.chunks, options.work)
    fts5 = store.with_suffix(".fts5")
    if not fts5.exists():
        peer_fts5(store, fts5)
    asker = Corpus(7)
    questions = []
    while len(questions) < options.questions:
        question = asker.question(options.words)
        if not options.content_words or len(query_terms(question)) >= len(question.split()):
            questions.append(question)

    def ours(reader: Connection, question: str, **how: Any) -> ChannelAnswer:
        return Bm25Retriever(reader, **how).retrieve(question, scope(), K, time.monotonic() + 60)

    def ours_cold(question: str) -> object:
        connection = open_reader(store)
        try:
            return ours(connection, question)
        finally:
            connection.close()

    def fts5_cold(question: str) -> object:
        connection = sqlite3.connect(f"file:{fts5}?mode=ro", uri=True)
        try:
            wanted = " OR ".join(f'"{word}"' for word in question.split())
            return connection.execute(
                "SELECT rowid, heading, body, bm25(t) FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (wanted, K)
            ).fetchall()
        finally:
            connection.close()

    warm, hot = open_reader(store), HotPostings(from_question=1)
    _, texts = analysed(store)
    asks: dict[str, Callable[[str], object]] = {
        "ours cold": ours_cold, "FTS5 cold": fts5_cold, "ours hot": lambda question: ours(warm, question, hot=hot),
        "bm25s": bm25s_of(texts), "tantivy": tantivy_of(texts),
    }  # fmt: skip
    wrong = 0
    for question in questions:
        whole = ours(warm, question, prune_above=10**12)
        wrong += not (whole == ours(warm, question) == asks["ours hot"](question))
    figures = {name: values.summary() for name, values in timed(asks, questions, 1).items()}
    print(f"{options.chunks} chunks, {len(questions)} questions of {options.words} words, k = {K}")
    for name, value in figures.items():
        print(
            f"{name:10} p50 {value['p50_ms']:8.2f} ms  (p10 {value['p10_ms']:.2f}, p90 {value['p90_ms']:.2f})"
            f"  processor {value['processor_p50_ms']:8.2f} ms"
        )
    ratios = {
        f"{ours_name} / {peer}": {
            key: figures[ours_name][key] / figures[peer][key] for key in ("p50_ms", "processor_p50_ms")
        }
        for ours_name, peer in (("ours cold", "FTS5 cold"), ("ours hot", "bm25s"), ("ours hot", "tantivy"))
    }
    for name, ratio in ratios.items():
        print(f"{name:22} {ratio['p50_ms']:.2f} (wall)  {ratio['processor_p50_ms']:.2f} (processor)")
    print(f"answers that differ from the exhaustive statement: {wrong} of {len(questions)}")
    if options.json:
        options.json.write_text(json.dumps({"figures": figures, "ratios": ratios, "wrong": wrong}, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
