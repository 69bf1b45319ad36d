"""One table over all judged collections and the code set: reference, bm25, vector, fused, reranked.

    python -m benchmarks.retrieval_table DATA [--cache FOLDER] [--json FILE] [--only NAME,...] [--topics N]

DATA holds a folder for each collection. Vectors come out of a cache (``benchmarks.embedding_cache``) and what is missing
is computed and kept, so the command can be stopped and run again. The reference is bm25s on the same machine in the same
run (extra ``bench``). ``--json`` writes what ``arr eval compare FILE benchmarks/expected/retrieval_table.json`` reads.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.database.evaluating import channel_answers, store_documents
from arr_sql.evaluation.bootstrap import intervals
from arr_sql.evaluation.gold_models import Document
from arr_sql.evaluation.metrics import average_precision, mean, ndcg_at, recall_at, reciprocal_rank
from arr_sql.index.embedders.model_store import open_embedder
from arr_sql.policy.retrieval_router import DEPTH, _ordered, keep_order
from arr_sql.retrieval.hybrid_retriever import RankedList, fuse
from benchmarks.embedding_cache import ORDER, CachedEmbedder, cache_folder
from benchmarks.judged_collection import Collection, Topic, read_collection
from benchmarks.standard_library import standard_library

MODES = ("reference", "bm25", "vector", "fused", "reranked")
ACROSS = "xquad_zh_en"
"""The collection whose texts stand in two languages: its ids begin with ``en-`` or ``zh-``."""

Rankings = dict[str, list[list[str]]]
"""Mode, then for each topic the ids, best first."""


def product_rankings(collection: Collection, folder: Path, embedder: CachedEmbedder | None, depth: int) -> Rankings:
    """Through the product's own statements and its router's own order, on a real file with one chunk a document."""
    scope = ScopeKey(
        team_id="benchmark", project_id="benchmark", repository=collection.name, branch="main",
        experiment_environment="default",
    )  # fmt: skip
    found: Rankings = {mode: [] for mode in MODES[1:] if embedder is not None or mode != "vector"}
    with ResearchDatabase.create(
        folder / "arr.db", scope, project_folder=folder, embedder=lambda: embedder
    ) as database:
        store_documents(database, [Document(*document) for document in collection.documents], folder)
        if embedder is not None:
            database.embed(progress=_progress(collection.name))
        for topic in collection.topics:
            asked = channel_answers(database, topic.text, depth)
            lists = [
                RankedList(name, 0, asked[name].answer.hits) for name in ("bm25", "vector") if asked[name].answer.hits
            ]
            cut = [RankedList(one.channel, 0, one.hits[:DEPTH]) for one in lists]
            for name in set(found) & {"bm25", "vector"}:
                found[name].append([hit.source_ref for hit in asked[name].answer.hits])
            found["fused"].append([item.hit.source_ref for item in fuse(cut).items])
            found["reranked"].append(
                [one.item.hit.source_ref for one in _ordered(topic.text, cut, keep_order, None)[0]]
            )
    return found


def _progress(name: str) -> Any:
    started = time.monotonic()

    def update(done: int, total: int) -> None:
        if total and sys.stderr.isatty():
            print(f"\r{name}: {done} of {total} vectors, {time.monotonic() - started:.0f} s ", end="", file=sys.stderr)

    return update


def figures(rankings: Sequence[Sequence[str]], topics: Sequence[Topic]) -> dict[str, float]:
    """The means, to five digits."""
    pairs = list(zip(rankings, topics, strict=True))
    return {
        "ndcg_at_10": round(mean([ndcg_at(found, topic.grades, 10) for found, topic in pairs]), 5),
        "recall_at_10": round(mean([recall_at(found, topic.grades, 10) for found, topic in pairs]), 5),
        "mrr": round(mean([reciprocal_rank(found, topic.grades) for found, topic in pairs]), 5),
        "map": round(mean([average_precision(found, topic.grades) for found, topic in pairs]), 5),
    }


def across(rankings: Rankings, topics: Sequence[Topic]) -> tuple[Rankings, list[Topic]]:
    """The same lists and judgements restricted to the other language than the topic's."""
    other = [{"en": "zh-", "zh": "en-"}[topic.id[:2]] for topic in topics]
    kept = {
        mode: [[name for name in found if name.startswith(begin)] for found, begin in zip(lists, other, strict=True)]
        for mode, lists in rankings.items()
    }
    judged = [
        Topic(topic.text, {name: grade for name, grade in topic.grades.items() if name.startswith(begin)}, topic.id)
        for topic, begin in zip(topics, other, strict=True)
    ]
    return kept, judged


def measure(collection: Collection, embedder: CachedEmbedder | None, with_reference: bool) -> dict[str, Any]:
    """All modes on one collection: by name of the set, then by mode. The cross-language set stands beside its own."""
    depth = len(collection.documents) if collection.name == ACROSS else DEPTH
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        rankings = product_rankings(collection, Path(folder), embedder, depth)
    if with_reference:
        from benchmarks.reference_bm25 import reference_rankings

        rankings = {"reference": reference_rankings(collection, depth), **rankings}
    sets = {collection.name: (rankings, collection.topics)}
    if collection.name == ACROSS:
        sets[f"{ACROSS}:other_language"] = across(rankings, collection.topics)
    return {
        name: {mode: figures(lists, topics) for mode, lists in found.items()} for name, (found, topics) in sets.items()
    } | {f"{collection.name} intervals": _intervals(rankings, collection.topics)}


def _intervals(rankings: Rankings, topics: Sequence[Topic]) -> dict[str, Any]:
    """95 % bootstrap interval of reranked minus bm25 in nDCG@10."""
    one, other = (
        [ndcg_at(f, t.grades, 10) for f, t in zip(rankings[m], topics, strict=True)] for m in ("bm25", "reranked")
    )
    return {"reranked-bm25": intervals({"": [b - a for a, b in zip(one, other, strict=True)]})[""]}


def row(name: str, modes: Mapping[str, Mapping[str, float]]) -> str:
    """One line of the table."""
    cells = [f"{modes[mode]['ndcg_at_10']:9.4f}" if mode in modes else f"{'-':>9}" for mode in MODES]
    return f"{name:28}" + " ".join(cells)


def summary(measured: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    """The default mode beside bm25 and the best single channel, over the collections as they are."""
    whole = {name: modes for name, modes in measured.items() if ":" not in name and "vector" in modes}
    if not whole:
        return []

    def of(name: str, mode: str) -> float:
        return 100 * whole[name][mode]["ndcg_at_10"]

    gains = {name: of(name, "reranked") - of(name, "bm25") for name in whole}
    behind = {name: of(name, "reranked") - max(of(name, "bm25"), of(name, "vector")) for name in whole}
    worst, last = min(gains, key=gains.__getitem__), min(behind, key=behind.__getitem__)
    return [
        f"reranked against bm25: mean {mean(list(gains.values())):+.2f} points, lowest {gains[worst]:+.2f} ({worst})",
        f"reranked against the best single channel: lowest {behind[last]:+.2f} points ({last})",
    ]


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=cache_folder(), help="folder of the cached vectors")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--only", help="collections, with commas between")
    parser.add_argument("--topics", type=int, default=10**9, help="at most this many topics a collection")
    parser.add_argument("--no-vectors", action="store_true")
    parser.add_argument("--no-reference", action="store_true")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else [*ORDER, "standard_library"]
    embedder = None if arguments.no_vectors else CachedEmbedder(open_embedder(), arguments.cache)
    measured: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    print(f"{'nDCG@10':28}" + " ".join(f"{mode:>9}" for mode in MODES))
    for name in wanted:
        if name != "standard_library" and not (arguments.data / name).is_dir():
            continue
        collection = standard_library() if name == "standard_library" else read_collection(arguments.data / name)
        collection = Collection(collection.name, collection.documents, collection.topics[: arguments.topics])
        for key, modes in measure(collection, embedder, not arguments.no_reference).items():
            if key.endswith(" intervals"):
                notes[name] = {"documents": len(collection.documents), "topics": len(collection.topics), **modes}
            else:
                measured[key] = modes
                print(row(key, modes), flush=True)
        if arguments.json:
            text = json.dumps({"format": 1, "measured": measured, "notes": notes}, indent=1)
            arguments.json.write_text(text + "\n", encoding="utf-8")
    print("\n".join(summary(measured)))


if __name__ == "__main__":
    main()
