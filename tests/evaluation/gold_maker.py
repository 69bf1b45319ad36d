"""A small gold set on disk, in both of our forms, and what a test may change in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCOPE = {"team_id": "vision", "project_id": "lumen", "repository": "example.org/lumen", "branch": "main",
         "experiment_environment": "a100"}  # fmt: skip
FILES = {
    "main": {
        "notes/nan.md": "# Loss became NaN\n\nThe loss became NaN at step 4100 after the warmup.\n\n# Cure\n\nClip at 1.0.\n",
        "src/train.py": 'def clip_gradients(model, limit):\n    """Bound the norm."""\n    return limit\n',
        "notes/学习率.md": "# 学习率\n\n预热阶段学习率线性上升，峰值为 3e-4。\n",
    },
    "rival": {
        "notes/nan.md": "# Loss became NaN\n\nThe loss became NaN at step 9900 in the rival run.\n",
        "notes/peak.md": "# Peak\n\nThe peak learning rate of the rival is 1e-3.\n",
    },
}
MEMORIES = [
    {"memory_id": "m1", "scope": "main", "kind": "experiment", "title": "Warmup", "source_refs": ["notes/nan.md"],
     "content": "Runs with a warmup below 500 steps diverged.", "status": "published", "confidence": 0.9},
    {"memory_id": "m1", "scope": "rival", "title": "Warmup", "content": "The rival needs no warmup."},
    {"memory_id": "m2", "scope": "main", "title": "Old", "content": "An old rumour about warmup.", "status": "revoked"},
]  # fmt: skip
TOPICS = [
    {"topic_id": "t1", "scope": "main", "class": "exact_term", "language": "en", "query": "step 4100 NaN loss"},
    {"topic_id": "t2", "scope": "main", "class": "memory", "language": "en", "query": "which warmup lengths diverged"},
    {"topic_id": "t3", "scope": "main", "class": "no_answer", "language": "en", "query": "xylophone sourdough kvetch"},
    {"topic_id": "t4", "scope": "main", "class": "lure", "language": "en", "query": "peak learning rate",
     "lures": [{"scope": "rival", "item": "notes/peak.md#1e-3"}], "note": "the rival's is 1e-3"},
    {"topic_id": "t5", "scope": "main", "class": "code_error", "language": "en", "query": "clip_gradients"},
]  # fmt: skip
QRELS = [
    ("t1", "notes/nan.md#step 4100", 3, "names the step"),
    ("t1", "src/train.py", 0, "no step here"),
    ("t2", "memory:m1", 3, ""),
    ("t2", "notes/nan.md#step 4100", 1, "mentions the warmup"),
    ("t4", "notes/学习率.md", 2, "the peak of this scope"),
    ("t5", "src/train.py", 3, ""),
]


def head(**changes: Any) -> dict[str, Any]:
    """The contents of set.json."""
    return {
        "name": "small", "version": "1", "description": "For tests.", "licence": "Apache-2.0",
        "scopes": {"main": SCOPE, "rival": {**SCOPE, "branch": "rival"}}, **changes,
    }  # fmt: skip


def write_folder(folder: Path) -> Path:
    """Our folder form."""
    for alias, files in FILES.items():
        for name, text in files.items():
            path = folder / "files" / alias / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    put(folder / "set.json", json.dumps(head(), indent=1))
    put(folder / "memories.jsonl", "".join(json.dumps(row) + "\n" for row in MEMORIES))
    put(folder / "topics.jsonl", "".join(json.dumps(row) + "\n" for row in TOPICS))
    put(folder / "qrels.tsv", "topic_id\titem\tgrade\tnote\n" + "".join("\t".join(map(str, q)) + "\n" for q in QRELS))
    return folder


def single_file() -> dict[str, Any]:
    """Our single-file form of the same set."""
    return {
        **head(),
        "corpus": [
            {"id": f"{alias}:{name}", "scope": alias, "path": name, "text": text}
            for alias, files in FILES.items()
            for name, text in files.items()
        ],
        "memories": MEMORIES,
        "topics": TOPICS,
        "qrels": [{"topic_id": topic, "item": item, "grade": grade} for topic, item, grade, _ in QRELS],
    }


def write_collection(folder: Path) -> Path:
    """The common benchmark layout."""
    rows = [
        {"id": "d1", "title": "Router", "text": "A router has a budget."},
        {"id": "d2", "title": "", "text": "Plans."},
    ]
    put(folder / "corpus.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    queries = [{"id": "q1", "text": "router budget"}, {"id": "q2", "text": "not judged"}]
    put(folder / "queries.jsonl", "".join(json.dumps(row) + "\n" for row in queries))
    put(folder / "qrels.tsv", "q1\td1\t1\n")
    return folder


def put(path: Path, text: str) -> Path:
    """Write a file, folders too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path
