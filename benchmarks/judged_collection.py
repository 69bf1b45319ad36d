"""A judged collection in the common layout: ``corpus.jsonl[.xz]``, ``queries.jsonl[.xz]``, ``qrels.tsv``; and nDCG@10."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
    """Read a folder. Raises FileNotFoundError when it is none."""
    documents = [
        (str(row["id"]), row.get("title") or "", row.get("text") or row.get("title") or "-")
        for row in _rows(folder / "corpus.jsonl")
    ]
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) >= 3 and fields[-1].lstrip("-").isdigit():
            grades.setdefault(fields[0], {})[fields[-2]] = int(fields[-1])
    topics = [
        Topic(row["text"], grades[str(row["id"])], str(row["id"]))
        for row in _rows(folder / "queries.jsonl")
        if str(row["id"]) in grades
    ]
    return Collection(folder.name, documents, topics)


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.exists():
        text = path.read_text("utf-8")
    else:
        text = lzma.decompress(path.with_suffix(".jsonl.xz").read_bytes()).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def ndcg(ranked: Sequence[str], grades: dict[str, int], k: int = 10) -> float:
    """Normalised discounted cumulative gain at ``k`` as trec_eval defines it: gain is the grade, discount log2(rank + 1)."""
    gained = sum(max(0, grades.get(name, 0)) / math.log2(rank + 1) for rank, name in enumerate(ranked[:k], 1))
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k]
    best = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))
    return gained / best if best else 0.0
