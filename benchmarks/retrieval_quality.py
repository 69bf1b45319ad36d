"""nDCG@10 of each channel, of fusion and of the rule reranker, on judged collections.

    python -m benchmarks.retrieval_quality FOLDER [FOLDER ...] [--topics N] [--no-vectors] [--keep FOLDER]

One row a collection, through the product's own statements on a real file. With ``--keep`` the databases stay, so that a
second run embeds nothing. ``--bm25-settings`` prints a table over k1, b and the heading weight instead.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.database.evaluating import store_documents
from arr_sql.evaluation.gold_models import Document
from arr_sql.evaluation.metrics import ndcg_at
from arr_sql.retrieval.bm25_retriever import Bm25Retriever
from arr_sql.retrieval.bm25_scoring import Bm25Parameters
from arr_sql.retrieval.hybrid_retriever import RankedList, fuse
from arr_sql.retrieval.rule_reranker import rerank
from arr_sql.retrieval.vector_retriever import VectorRetriever
from benchmarks.judged_collection import Collection, Topic, read_collection

DEPTH = 100
NO_DEADLINE = float("inf")
SETTINGS = [(k1, b, w) for k1 in (0.9, 1.2, 1.5) for b in (0.4, 0.75, 0.9) for w in (1.0, 2.0, 3.0)]


def open_collection(collection: Collection, folder: Path, embed: bool) -> ResearchDatabase:
    """A database with one chunk a document."""
    scope = ScopeKey(
        team_id="benchmark", project_id="benchmark", repository=collection.name, branch="main",
        experiment_environment="default",
    )  # fmt: skip
    path = folder / collection.name / "arr.db"
    is_new = not path.exists()
    database = ResearchDatabase.create(path, scope)
    if is_new:
        store_documents(database, [Document(*document) for document in collection.documents], path.parent)
    if embed:
        database.embed()
    return database


def lists_of(database: ResearchDatabase, topic: Topic, embed: bool) -> list[RankedList]:
    """What the ranking channels answer to a topic."""
    channels: list[tuple[str, Bm25Retriever | VectorRetriever]] = [("bm25", Bm25Retriever(database._reader("bm25")))]
    if embed:
        channels.append(("vector", VectorRetriever(database._reader("vector"), database._vectors, lambda: True)))
    return [
        RankedList(name, 0, channel.retrieve(topic.text, database.scope, DEPTH, NO_DEADLINE).hits)
        for name, channel in channels
    ]


def names(ranked: RankedList) -> list[str]:
    """Document ids in the list's order."""
    return [hit.source_ref for hit in ranked.hits]


def quality(database: ResearchDatabase, topics: Sequence[Topic], embed: bool) -> dict[str, float]:
    """Mean nDCG@10 by mode."""
    totals: dict[str, float] = {}
    for topic in topics:
        lists = lists_of(database, topic, embed)
        fused = fuse(lists).items
        modes = {ranked.channel: names(ranked) for ranked in lists}
        modes["fused"] = [item.hit.source_ref for item in fused]
        modes["reranked"] = [item.item.hit.source_ref for item in rerank(topic.text, fused, lists)]
        for mode, found in modes.items():
            totals[mode] = totals.get(mode, 0.0) + ndcg_at(found, topic.grades, 10)
    return {mode: total / len(topics) for mode, total in totals.items()}


def bm25_settings(database: ResearchDatabase, topics: Sequence[Topic]) -> dict[tuple[float, float, float], float]:
    """Mean nDCG@10 of the bm25 channel by (k1, b, heading weight)."""
    table = {}
    for k1, b, weight in SETTINGS:
        channel = Bm25Retriever(database._reader("bm25"), Bm25Parameters(k1, b, weight))
        found = [channel.retrieve(topic.text, database.scope, DEPTH, NO_DEADLINE).hits for topic in topics]
        table[(k1, b, weight)] = sum(
            ndcg_at([hit.source_ref for hit in hits], topic.grades, 10)
            for hits, topic in zip(found, topics, strict=True)
        ) / len(topics)
    return table


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--topics", type=int, default=10**9, help="at most this many topics a collection")
    parser.add_argument("--no-vectors", action="store_true")
    parser.add_argument("--bm25-settings", action="store_true")
    parser.add_argument("--keep", type=Path, help="keep the databases in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for folder in arguments.folders:
            _one(folder, arguments.keep or Path(temporary), arguments, print)


def _one(folder: Path, keep: Path, arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    started = time.monotonic()
    collection = read_collection(folder)
    topics = collection.topics[: arguments.topics]
    embed = not (arguments.no_vectors or arguments.bm25_settings)
    with open_collection(collection, keep, embed) as database:
        say(f"{collection.name}: {len(collection.documents)} documents, {len(topics)} topics")
        if arguments.bm25_settings:
            for setting, value in bm25_settings(database, topics).items():
                say("  k1 {:.1f}  b {:.2f}  heading {:.0f}".format(*setting) + f"  {value:.4f}")
        else:
            say("  " + "  ".join(f"{mode} {value:.4f}" for mode, value in quality(database, topics, embed).items()))
        say(f"  {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
