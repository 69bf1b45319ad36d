"""A judged collection in the common layout: ``corpus.jsonl``, ``queries.jsonl`` (both may end in ``.xz``), ``qrels.tsv``.

It becomes a gold set of one scope, one chunk a document. Queries without a judgement are left out, as everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arr_sql.core.research_models import ScopeKey
from arr_sql.errors import GoldInvalid
from arr_sql.evaluation.gold_models import Document, GoldSet, Item, Judgement, Topic
from arr_sql.evaluation.gold_text import lines_of, records

SCOPE = "all"


def is_collection(folder: Path) -> bool:
    """Does the folder hold a corpus in the common layout?"""
    return _either(folder / "corpus.jsonl").is_file()


def read_collection(folder: Path) -> GoldSet:
    """Read a folder. Raises GoldInvalid."""
    documents: dict[str, Document] = {}
    path = _either(folder / "corpus.jsonl")
    for line, row in records(path):
        name, title = _id(row, path, line), str(row.get("title") or "")
        if name in documents:
            raise GoldInvalid(f"The document '{name}' stands twice.", str(path), line)
        # A document that has a title only is found by it; one with nothing keeps its place.
        documents[name] = Document(name, title, str(row.get("text") or title or "-"))
    judgements = _judgements(folder / "qrels.tsv", documents)
    topics: dict[str, Topic] = {}
    path = _either(folder / "queries.jsonl")
    for line, row in records(path):
        name, text = _id(row, path, line), row.get("text")
        if name in topics:
            raise GoldInvalid(f"The query '{name}' stands twice.", str(path), line)
        if not isinstance(text, str) or not text.strip():
            raise GoldInvalid(f"The query '{name}' has no text.", str(path), line)
        if name in judgements:
            topics[name] = Topic(topic_id=name, scope=SCOPE, query=text)
    if not topics:
        raise GoldInvalid("No query is judged.", str(folder / "qrels.tsv"), 0)
    name = folder.resolve().name
    scope = ScopeKey(
        team_id="evaluation", project_id="evaluation", repository=name, branch="main", experiment_environment="default"
    )
    return GoldSet(
        name=name, version="", source=folder, scopes={SCOPE: scope}, topics=tuple(topics.values()),
        judgements={topic: judgements[topic] for topic in topics}, documents=tuple(documents.values()),
    )  # fmt: skip


def _judgements(path: Path, documents: dict[str, Document]) -> dict[str, tuple[Judgement, ...]]:
    """``query TAB document TAB grade``, or trec_eval's four columns; a first line without a number is a header."""
    found: dict[str, dict[str, Judgement]] = {}
    for line, row in lines_of(path):
        fields = row.split("\t") if "\t" in row else row.split()
        if len(fields) not in (3, 4) or not fields[-1].lstrip("-").isdigit():
            if line == 1:
                continue
            raise GoldInvalid("A judgement is query, document and grade, with tabs between.", str(path), line)
        topic, name, grade = fields[0], fields[-2], int(fields[-1])
        if name not in documents:
            raise GoldInvalid(f"There is no document '{name}'.", str(path), line)
        judged = found.setdefault(topic, {})
        if name in judged:
            raise GoldInvalid(f"'{name}' is judged twice for query '{topic}'.", str(path), line)
        judged[name] = Judgement(Item(name, path=name), grade)
    return {topic: tuple(judged.values()) for topic, judged in found.items()}


def _id(row: dict[str, Any], path: Path, line: int) -> str:
    value = row.get("id", row.get("_id"))
    if not isinstance(value, str | int) or isinstance(value, bool) or not str(value):
        raise GoldInvalid('"id" is missing.', str(path), line)
    return str(value)


def _either(path: Path) -> Path:
    packed = path.with_name(path.name + ".xz")
    return packed if packed.is_file() and not path.is_file() else path
