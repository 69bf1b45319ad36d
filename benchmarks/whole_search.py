"""How long does a whole ``db.search`` take, where does the time go, and what do other hybrid searches take?

    python -m benchmarks.whole_search [--chunks 10000 100000] [--judged FOLDER --cache FOLDER] [--questions 40] [--json FILE]

``whole`` is everything a caller of a long-running process waits for: plan, one snapshot, four channels side by side, the
check of every hit, fusion, rerank, the files of the evidence read and hashed, the record written and committed. The
query's vector is at hand. Beside it in the same run, question by question in random order: each channel alone (asked for
as many hits as the search asks), one committed transaction of a single row, and the peers of ``hybrid_peers``. On a judged
collection nDCG@10 of all is compared too. Every question is new to the process but for what the others asked just before it.
The process has been asked before, so vectors, postings and lines are in memory.
The shares of the stages come from a second pass with a clock around each.
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from arr_sql.core.connection import open_writer, write_transaction
from arr_sql.database import ResearchDatabase
from arr_sql.evaluation.metrics import ndcg_at
from arr_sql.index.embedders.model_store import open_embedder
from arr_sql.index.embedders.protocol import embed_text
from arr_sql.policy.retrieval_router import DEPTH
from benchmarks.corpus import Corpus
from benchmarks.embedding_cache import CachedEmbedder, cache_folder
from benchmarks.hybrid_peers import PEERS, WHOLE, Documents, K, installed, np
from benchmarks.judged_collection import read_collection
from benchmarks.many_scopes import many_scopes
from benchmarks.random_vectors import RandomVectors
from benchmarks.retrieval_quality import open_collection
from benchmarks.stores import default_folder, scope

WITHOUT_GREP = "whole, without grep"
THREE = {"tool_rounds": [["research-memory", "bm25", "vector"]]}
"""The channels of which the peers have a counterpart: none of them reads the files as they are on disk."""
TRANSACTION = "a single row, committed"
FIRST = 10
"""Questions of a process that has just opened the file, one right after the other."""
WARM_UP = 25
"""Questions before the first that counts: each learns at most 8 MB of lines, and a common word is found early."""
STAGES = {
    "four channels side by side": "arr_sql.policy.retrieval_router._run_side_by_side",
    "hits checked": "arr_sql.policy.retrieval_router._account_for",
    "answer floor": "arr_sql.policy.retrieval_router._below",
    "fusion and rerank": "arr_sql.policy.retrieval_router._ordered",
    "evidence and its files": "arr_sql.policy.retrieval_router._evidence",
    "record": "arr_sql.database.retrieval.RetrievalMethods._recorded",
}
"""Each stage and the function that is all of it; what is left over is plan, catalogue and snapshot."""


@dataclass
class Corpora:
    """One store with its documents and questions; ``grades`` of a judged one, a question each."""

    name: str
    database: ResearchDatabase
    documents: Documents
    vectors: Any
    questions: list[str]
    embed: Callable[[str], bytes]
    grades: list[dict[str, int]]


def generated(chunks: int, folder: Path, work: Path, questions: int, line_index: bool) -> Corpora:
    """A copy of the generated store of ``chunks`` with random vectors, with an index of its files' lines if wanted."""
    path = folder / f"{chunks}.db"
    shutil.copy(many_scopes(0, work, chunks), path)
    embedder = RandomVectors()
    database = ResearchDatabase.create(
        path, scope(), project_folder=work / "project", actor="bench", embedder=lambda: embedder
    )
    if line_index:
        database.build_line_index()
    rows = database._reader("main").execute(
        "SELECT c.chunk_id, c.heading, c.content, e.vector FROM chunk AS c JOIN chunk_embedding AS e ON e.chunk = c.id"
        " ORDER BY c.id"
    )
    found = [tuple(row) for row in rows]
    vectors = np.frombuffer(b"".join(row[3] for row in found), "<f4").reshape(len(found), -1)
    asker = Corpus(17)
    asked = [asker.question() for _ in range(questions)]
    return Corpora(
        f"{chunks:,} generated chunks" + ", line index" * line_index, database, [row[:3] for row in found], vectors, asked,
        lambda text: embedder.embed_queries([text])[0] or b"", [],
    )  # fmt: skip


def judged(collection_folder: Path, folder: Path, cache: Path, questions: int) -> Corpora:
    """A judged collection, one chunk a document, with the default model's vectors."""
    collection = read_collection(collection_folder)
    embedder = CachedEmbedder(open_embedder(), cache)
    with mock.patch("arr_sql.database.base.installed_embedder", lambda: embedder):
        database = open_collection(collection, folder, embed=True)
    database._embedder_source = lambda: embedder
    texts = [embed_text(title, text) for _, title, text in collection.documents]
    rows = embedder.embed_passages(texts)
    vectors = np.frombuffer(b"".join(row or bytes(4 * 384) for row in rows), "<f4").reshape(len(rows), -1)
    topics = random.Random(3).sample(collection.topics, min(questions, len(collection.topics)))
    return Corpora(
        collection.name, database, collection.documents, vectors, [topic.text for topic in topics],
        lambda text: embedder.embed_queries([text])[0] or b"", [topic.grades for topic in topics],
    )  # fmt: skip


def committed_row(folder: Path) -> Callable[[], None]:
    """One row written and committed as the store writes: WAL, every commit on the disk."""
    path = folder / "row.db"
    connection = open_writer(path, create=True)
    connection.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT)")

    def write() -> None:
        with write_transaction(connection, path):
            connection.execute("INSERT INTO row (text) VALUES ('one')")

    return write


def measure(corpora: Corpora, folder: Path, most_peers: Sequence[str]) -> dict[str, Any]:
    """Milliseconds of the whole search, its parts and the peers; nDCG@10 where there are grades."""
    database, rng = corpora.database, random.Random(1)
    vectors = {text: corpora.embed(text) for text in corpora.questions}
    write = committed_row(folder)
    versions = {name: version for name, version in installed().items() if name in most_peers}
    peers = {
        name: PEERS[name][1](folder, corpora.documents, corpora.vectors)
        for name in versions
        if len(corpora.documents) <= PEERS[name][2]
    }
    asker = Corpus(23)
    first = []
    for _ in range(FIRST):  # what a process waits for that has just opened the file
        text = asker.question()
        began = time.perf_counter()
        database.search(text)
        first.append(1000 * (time.perf_counter() - began))
    for _ in range(WARM_UP):  # the process is warm: vectors and lines are in memory
        text = asker.question()
        database.search(text)
        database._hot.grep.wait()
        for ask in peers.values():
            ask(text, corpora.embed(text))
    database._hot.vectors.wait()
    catalog, _ = database._catalog()
    channels = {registration.name: registration.channel for registration in catalog}
    found: dict[str, list[list[str]]] = {"whole": [], **{name: [] for name in peers}}

    def whole(text: str) -> None:
        found["whole"].append([item.source_ref for item in database.search(text, k=K, floor=False).evidence])

    def peer(name: str) -> Callable[[str], None]:
        return lambda text: found[name].append(peers[name](text, vectors[text]))

    ways: dict[str, Callable[[str], object]] = {
        "whole": whole,
        WITHOUT_GREP: lambda text: database.search(text, k=K, plan=THREE, floor=False),
        TRANSACTION: lambda text: write(),
    }
    ways |= {
        f"{name} alone": lambda text, channel=channel: channel.retrieve(
            text, database.scope, DEPTH, time.monotonic() + 60
        )
        for name, channel in channels.items()
    }
    ways |= {name: peer(name) for name in peers}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for text in corpora.questions:
        for name in rng.sample(list(ways), len(ways)):
            wall, processor = time.perf_counter(), time.process_time()
            ways[name](text)
            spent[name].append((time.perf_counter() - wall, time.process_time() - processor))
    figures = {name: summary(times) for name, times in spent.items()}
    slowest = max((name for name in figures if name.endswith(" alone")), key=lambda name: figures[name]["p50_ms"])
    bound = 1.5 * figures[slowest]["p50_ms"] + figures[TRANSACTION]["p50_ms"]
    report: dict[str, Any] = {
        "name": corpora.name, "documents": len(corpora.documents), "questions": len(corpora.questions),
        "figures": figures, "slowest": slowest, "whole / bound": figures["whole"]["p50_ms"] / bound,
        "versions": versions, "first_ms": first, "shares": shares(corpora, [asker.question() for _ in range(20)]),
    }  # fmt: skip
    whole_peers = [name for name in WHOLE if name in peers]
    if whole_peers:
        quickest = min(whole_peers, key=lambda name: figures[name]["p50_ms"])
        report["quickest peer"] = quickest
        for name in ("whole", WITHOUT_GREP):
            report[f"{name} / quickest peer"] = figures[name]["p50_ms"] / figures[quickest]["p50_ms"]
    if corpora.grades:
        report["ndcg_at_10"] = {
            name: statistics.mean(ndcg_at(ids, grades, 10) for ids, grades in zip(lists, corpora.grades, strict=True))
            for name, lists in found.items()
        }
    return report


def summary(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Medians with quartiles, in milliseconds."""
    low, middle, high = statistics.quantiles([1000 * wall for wall, _ in times], n=4)
    processor = statistics.median(1000 * used for _, used in times)
    return {"p25_ms": low, "p50_ms": middle, "p75_ms": high, "processor_p50_ms": processor}


@contextmanager
def clocked(target: str, spent: dict[str, float], name: str) -> Iterator[None]:
    """Count the time inside one function."""
    owner, _, attribute = target.rpartition(".")
    module = pkgutil.resolve_name(owner)
    plain = getattr(module, attribute)

    def timed(*arguments: Any, **more: Any) -> Any:
        started = time.perf_counter()
        try:
            return plain(*arguments, **more)
        finally:
            spent[name] += time.perf_counter() - started

    with mock.patch.object(module, attribute, timed):
        yield


def shares(corpora: Corpora, questions: Sequence[str]) -> dict[str, float]:
    """The share of each stage in the time of all ``questions`` together."""
    spent = dict.fromkeys(STAGES, 0.0)
    with ExitStack() as stack:
        for name, target in STAGES.items():
            stack.enter_context(clocked(target, spent, name))
        started = time.perf_counter()
        for text in questions:
            corpora.database.search(text, k=K, floor=False)
        total = time.perf_counter() - started
    return {
        **{name: took / total for name, took in spent.items()},
        "plan and snapshot": 1 - sum(spent.values()) / total,
    }


def show(report: dict[str, Any]) -> None:
    """One corpus, for people."""
    print(f"\n{report['name']}: {report['documents']:,} documents, {report['questions']} questions, k = {K}")
    for name, value in report["figures"].items():
        quality = report.get("ndcg_at_10", {}).get(name)
        print(
            f"  {name:28} p50 {value['p50_ms']:8.1f} ms ({value['p25_ms']:.1f} to {value['p75_ms']:.1f}),"
            f" processor {value['processor_p50_ms']:7.1f} ms"
            + (f"  nDCG@10 {quality:.4f}" if quality is not None else "")
        )
    print("  first questions: " + ", ".join(f"{took:.0f}" for took in report["first_ms"]) + " ms")
    print("  share of each stage: " + ", ".join(f"{name} {share:.0%}" for name, share in report["shares"].items()))
    print(f"  whole / (1.5 x {report['slowest']} + {TRANSACTION}): {report['whole / bound']:.2f} (at most 1)", end="")
    if "quickest peer" in report:
        ratios = [report[f"{name} / quickest peer"] for name in ("whole", WITHOUT_GREP)]
        print(
            f"; whole / {report['quickest peer']}: {ratios[0]:.2f}, without grep {ratios[1]:.2f} (at most 0.5)", end=""
        )
    print()


def main() -> None:
    """Measure each corpus, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--judged", type=Path, help="a folder with a judged collection")
    parser.add_argument("--cache", type=Path, default=cache_folder(), help="its vectors: see embedding_cache")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--line-index", action="store_true", help="keep an index of lines, as `arr db line-index` does")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--work", type=Path, default=default_folder())
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    reports = []
    for chunks in [*options.chunks, *([None] if options.judged else [])]:
        with tempfile.TemporaryDirectory(dir=options.work) as name:
            folder = Path(name)
            if chunks is None:
                corpora = judged(options.judged, folder, options.cache, options.questions)
            else:
                corpora = generated(chunks, folder, options.work, options.questions, options.line_index)
            with corpora.database:
                reports.append(measure(corpora, folder, options.peers))
        show(reports[-1])
    if options.json:
        options.json.write_text(json.dumps({"cores": os.cpu_count(), "corpora": reports}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
