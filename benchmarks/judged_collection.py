"""A judged collection as the benchmarks use it: documents and topics with their grades, through the product's loader."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arr_sql.evaluation.gold import load_gold


@dataclass(frozen=True)
class Topic:
    """One query with the grades of its relevant documents."""

    text: str
    grades: dict[str, int]
    id: str = ""


@dataclass(frozen=True)
class Collection:
    """Documents (id, title, text) and the judged topics."""

    name: str
    documents: list[tuple[str, str, str]]
    topics: list[Topic]


def read_collection(folder: Path) -> Collection:
    """Read a folder in the common layout. Raises GoldInvalid."""
    gold = load_gold(folder)
    return Collection(
        gold.name,
        [(document.id, document.title, document.text) for document in gold.documents],
        [
            Topic(topic.query, {j.item.text: j.grade for j in gold.judgements[topic.topic_id]}, topic.topic_id)
            for topic in gold.topics
        ],
    )
