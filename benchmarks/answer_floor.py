"""How often does the floor under an answer err, on collections that its weights were not fitted on? And the fit itself.

    python -m benchmarks.answer_floor DATA [--cache FOLDER] [--json FILE]

Every judged collection in DATA and the code set is asked, whole and in samples of 20, 60 and 200 documents: its own
questions; those of other collections; everyday questions; nonsense; and its own questions again with their relevant
documents taken out (near misses). ``benchmarks/floor_questions.py`` says which pairs count as off-topic. All through the
product's own channels, on real files; recall is that of the reranked first ten. Nothing of a gold set is used.

The first table is leave-one-out: each collection is judged with numbers fitted on the others. Texts in another script than
the question have answers in one collection only; the number for them is fitted on one half of its questions and judges the
other. ``lost_recall`` is the share of recall that the floor costs, the other columns are shares of questions that get an
answer. The second table is of the numbers that stand in the code; the last line gives those fitted on everything, to be put
there. ``--json`` writes what ``arr eval compare FILE benchmarks/expected/answer_floor.json`` reads.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.database.evaluating import store_documents
from arr_sql.evaluation.compare import FLOOR_ERRORS
from arr_sql.evaluation.gold_models import Document
from arr_sql.evaluation.metrics import mean, recall_at
from arr_sql.index.embedders.model_store import open_embedder
from arr_sql.policy.retrieval_router import DEPTH
from arr_sql.retrieval.answer_floor import AnswerFloor, answer_evidence
from arr_sql.retrieval.catalog import Channel
from arr_sql.retrieval.hybrid_retriever import RankedList, fuse
from arr_sql.retrieval.rule_reranker import rerank
from benchmarks.embedding_cache import ORDER, CachedEmbedder, cache_folder
from benchmarks.floor_fit import Seen, fit, is_answered, is_foreign
from benchmarks.floor_questions import Corpus, Question, corpora, questions
from benchmarks.judged_collection import Collection, read_collection
from benchmarks.standard_library import standard_library

CHANNELS = ("bm25", "vector")
NO_DEADLINE = float("inf")
COLUMNS = FLOOR_ERRORS
KINDS = COLUMNS[1:]
FOREIGN = "another script"
Table = dict[str, dict[str, float]]
"""Group, column, value."""
Judged = list[tuple[Seen, AnswerFloor]]


def ask(corpus: Corpus, collections: Sequence[Collection], embedder: CachedEmbedder) -> Iterator[Seen]:
    """Store the corpus and ask it everything."""
    scope = ScopeKey(
        team_id="benchmark", project_id="benchmark", repository=corpus.collection, branch="main",
        experiment_environment="default",
    )  # fmt: skip
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        ResearchDatabase.create(
            Path(folder) / "arr.db", scope, project_folder=Path(folder), embedder=lambda: embedder
        ) as database,
    ):
        store_documents(database, [Document(*document) for document in corpus.documents], Path(folder))
        database.embed()
        catalog, _ = database._catalog()
        channels = {name: registration.channel for name in CHANNELS if (registration := catalog.get(name))}
        for number, question in enumerate(questions(corpus, collections)):
            yield _seen(corpus, question, number % 2, channels, scope)


def _seen(corpus: Corpus, question: Question, half: int, channels: Mapping[str, Channel], scope: ScopeKey) -> Seen:
    removed = question.removed
    said = {
        name: channel.retrieve(question.text, scope, DEPTH + len(removed), NO_DEADLINE)
        for name, channel in channels.items()
    }
    lists = [
        RankedList(name, 0, tuple(hit for hit in answer.hits if hit.source_ref not in removed)[:DEPTH])
        for name, answer in said.items()
    ]
    lists = [ranked for ranked in lists if ranked.hits]
    compared = {name: answer.candidate_count for name, answer in said.items()}
    compared["vector"] -= len(removed)
    first = rerank(question.text, fuse(lists).items, lists)[:10] if question.grades else []
    recall = recall_at([item.item.hit.source_ref for item in first], question.grades, 10) if first else 0.0
    evidence = answer_evidence(question.text, lists, compared)
    return Seen(corpus.collection, corpus.name, corpus.is_whole, question.kind, half, evidence, recall)


def leave_one_out(seen: Sequence[Seen], model_id: str) -> Judged:
    """Each question with the floor that was fitted without its collection (or, in another script, without its half)."""
    judged: Judged = []
    for name in sorted({item.collection for item in seen}):
        others = [item for item in seen if item.collection != name]
        for half in (0, 1):
            rest = [item for item in seen if item.collection != name or item.half != half]
            floor = fit(others, rest, model_id)
            judged += [(item, floor) for item in seen if item.collection == name and item.half == half]
    return judged


def rates(judged: Judged) -> Table:
    """Errors by group: each collection whole, its samples together, all texts in another script; then mean and worst of
    those in the question's script.
    """
    groups: dict[str, Judged] = {}
    for item, floor in judged:
        name = FOREIGN if is_foreign(item) else item.collection
        groups.setdefault(name if item.is_whole else f"{name}, samples", []).append((item, floor))
    names = sorted(groups, key=lambda name: (FOREIGN in name, name))
    measured = {name: _rates(groups[name]) for name in names}
    plain = [values for name, values in measured.items() if FOREIGN not in name]
    for name, choose in (("mean", mean), ("worst", max)):
        values = {c: [v[c] for v in plain if c in v] for c in COLUMNS}
        measured[name] = {c: round(choose(found), 4) for c, found in values.items() if found}
    return measured


def _rates(judged: Judged) -> dict[str, float]:
    """Lost recall, and for each kind without an answer the share that gets one; what no question tells is left out."""
    found = {}
    for kind in ("own", *KINDS):
        mine = [(item, item.recall if kind == "own" else 1.0, floor) for item, floor in judged if item.kind == kind]
        total = sum(weight for _, weight, _ in mine)
        if total:
            share = sum(weight for item, weight, floor in mine if is_answered(item, floor)) / total
            found["lost_recall" if kind == "own" else kind] = round(1 - share if kind == "own" else share, 4)
    return found


def lines(measured: Table) -> list[str]:
    """One line a group."""
    head = [f"{'':31}" + " ".join(f"{column:>11}" for column in COLUMNS)]
    return head + [
        f"{name:31}" + " ".join(f"{values[c]:11.3f}" if c in values else f"{'-':>11}" for c in COLUMNS)
        for name, values in measured.items()
    ]


def main() -> None:
    """Ask, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=cache_folder(), help="folder of the cached vectors")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    embedder = CachedEmbedder(open_embedder(), arguments.cache)
    collections = [read_collection(arguments.data / name) for name in ORDER if (arguments.data / name).is_dir()]
    collections.append(standard_library())
    seen: list[Seen] = []
    started = time.monotonic()
    for collection in collections:
        for corpus in corpora(collection):
            seen += ask(corpus, collections, embedder)
            print(f"{corpus.name}: {len(seen)} asked, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    stored, model_id = AnswerFloor(), embedder.spec.id
    held_out, as_it_is = rates(leave_one_out(seen, model_id)), rates([(item, stored) for item in seen])
    fitted = fit(seen, seen, model_id)
    print("Fitted on the other collections", *lines(held_out), sep="\n")
    print("With the numbers in the code", *lines(as_it_is), sep="\n")
    print("Fitted on all:", fitted, "as in the code" if fitted == stored else "NOT as in the code")
    if arguments.json:
        measured = {"answer_floor": held_out, "answer_floor:in_the_code": as_it_is}
        report = {"format": 1, "measured": measured, "fitted": asdict(fitted), "questions": len(seen)}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
