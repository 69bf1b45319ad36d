"""One run: every mode on the same topics of a gold set, with intervals, latency, leaks, and where items were lost.

The store is handed in (``store_protocol``). What comes out is plain data that ``arr eval compare`` and the reports read;
docs/evaluation.md lists its keys. Topics without a relevant item have no recall: they count in ``false_answer_rate`` and
in nothing else but leaks and latency.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from arr_sql.core.decode import Decoded, decode
from arr_sql.core.router_models import ReasonCode, RouterResult
from arr_sql.evaluation.bootstrap import intervals
from arr_sql.evaluation.gold_models import MEMORY_PREFIX, GoldSet, Topic
from arr_sql.evaluation.lost import path_of
from arr_sql.evaluation.metrics import (
    average_precision,
    false_answer_rate,
    mean,
    ndcg_at,
    percentile,
    recall_at,
    reciprocal_rank,
    scope_leak_count,
)
from arr_sql.evaluation.modes import CHANNELS, FUSIONS, MODES, RERANKED, SEARCH, mode_hits, mode_ms
from arr_sql.evaluation.store_protocol import GoldStore, Progress
from arr_sql.evaluation.units import Units

FORMAT = 1
DEPTH = 100
"""How far each list is looked at, as in a search."""
CURVE = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Found:
    """What one mode gave for one topic."""

    ids: tuple[str, ...]
    sources: tuple[tuple[str, str, str], ...]
    """(id, source_ref, content), for the leak count."""
    ms: float
    state: str


@dataclass
class Run:
    """The plain data of a run, and the whole lists for TREC files (mode, topic, items)."""

    data: dict[str, Any]
    rankings: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    grades: dict[str, dict[str, int]] = field(default_factory=dict)


def metric_names(k: int) -> tuple[str, ...]:
    """The four metrics of a ranked list, in the order in which they are shown."""
    return (f"recall_at_{k}", "mrr", f"ndcg_at_{k}", "map")


def evaluate(
    gold: GoldSet, store: GoldStore, *, modes: Sequence[str] = MODES, k: int = 10,
    progress: Progress = lambda phase, done, total: None,
) -> Run:  # fmt: skip
    """Ask every topic in every mode."""
    run = Run({}, {mode: {} for mode in modes})
    chunks = {alias: store.chunks(alias) for alias in gold.scopes}
    own = {alias: {chunk.chunk_id for chunk in found} for alias, found in chunks.items()}
    errors: dict[str, Counter[str]] = {mode: Counter() for mode in (*CHANNELS, RERANKED)}
    topics: list[dict[str, Any]] = []
    store.ask(gold.topics[0].scope, gold.topics[0].query, DEPTH)  # unmeasured: the first question loads the model
    for number, topic in enumerate(gold.topics):
        progress("Asking", number, len(gold.topics))
        units = Units(gold.judgements.get(topic.topic_id, ()), chunks[topic.scope])
        run.grades[topic.topic_id] = units.grades
        found, states = _ask(gold, store, topic, modes, errors)
        row = _topic_row(gold, topic, units, found, own[topic.scope], k)
        row["states"] = states
        for mode in modes:
            run.rankings[mode][topic.topic_id] = units.ranking(found[mode].ids)
        topics.append(row)
    progress("Asking", len(gold.topics), len(gold.topics))
    run.data = {
        "format": FORMAT, "k": k, "depth": DEPTH, "n_topics": len(topics), "modes": _summaries(topics, modes, k),
        "errors": {mode: dict(sorted(counts.items())) for mode, counts in errors.items() if counts},
        "lost": dict(Counter(path["stage"] for topic in topics for path in topic["relevant"])),
        "build": store.facts(), "topics": topics,
        "gold": {"name": gold.name, "version": gold.version, "fingerprint": gold.fingerprint()},
    }  # fmt: skip
    return run


def _ask(
    gold: GoldSet, store: GoldStore, topic: Topic, modes: Sequence[str], errors: Mapping[str, Counter[str]]
) -> tuple[dict[str, Found], dict[str, str]]:
    """What each mode gives, also those that are not shown but say where an item was lost."""
    asked = store.ask(topic.scope, topic.query, DEPTH)
    found: dict[str, Found] = {}
    for mode in dict.fromkeys((*CHANNELS, *FUSIONS, *modes)):
        if mode in (RERANKED, SEARCH):
            continue
        hits = mode_hits(mode, asked)
        found[mode] = Found(
            tuple(hit.chunk_id for hit in hits), tuple((hit.chunk_id, hit.source_ref, hit.content) for hit in hits),
            mode_ms(mode, asked), "found" if hits else "nothing_found",
        )  # fmt: skip
    for name, one in asked.items():
        if one.answer.state not in ("ok", "empty"):
            errors[name][str(one.answer.code or one.answer.state)] += 1
    result, ms = store.search(topic.scope, topic.query, DEPTH)
    found[SEARCH] = _found(result, ms)
    if any(item.code == ReasonCode.BELOW_FLOOR for item in result.rejections):
        result, ms = store.search(topic.scope, topic.query, DEPTH, floor=False)
    found[RERANKED] = _found(result, ms)
    for name, code in (
        *((item.tool_name, item.code) for item in result.degradations),
        *((item.tool_name, item.code) for item in result.rejections),
    ):
        errors[RERANKED][f"{name}:{code}" if name else str(code)] += 1
    return found, {name: one.answer.state for name, one in asked.items()}


def _found(result: RouterResult, ms: float) -> Found:
    return Found(
        tuple(item.chunk_id for item in result.evidence),
        tuple((item.chunk_id, item.source_ref, item.content) for item in result.evidence), ms, result.state,
    )  # fmt: skip


def _topic_row(
    gold: GoldSet, topic: Topic, units: Units, found: Mapping[str, Found], own: set[str], k: int
) -> dict[str, Any]:
    rankings = {mode: units.ranking(one.ids) for mode, one in found.items()}
    is_below = bool(rankings[RERANKED]) and not rankings[SEARCH]
    paths = [
        path_of(unit, {name: rankings[name] for name in CHANNELS}, rankings["rrf-4"], rankings[RERANKED], k, is_below)
        for unit in units.units
        if unit.grade > 0
    ]
    recall, mrr, ndcg, ap = metric_names(k)
    return {
        "topic_id": topic.topic_id, "scope": topic.scope, "class": topic.topic_class, "language": topic.language,
        "has_answer": bool(paths), "relevant": [asdict(path) for path in paths],
        "modes": {
            mode: {
                recall: recall_at(rankings[mode], units.grades, k), mrr: reciprocal_rank(rankings[mode], units.grades),
                ndcg: ndcg_at(rankings[mode], units.grades, k), ap: average_precision(rankings[mode], units.grades),
                "scope_leak_count": scope_leak_count(
                    [f"{number} {name}" for number, name in enumerate(one.ids)],  # one id may stand for two items
                    _own_ids(gold, topic.scope, one, own),
                ),
                "answered": bool(one.ids), "ms": round(one.ms, 3), "state": one.state, "first": rankings[mode][:k],
                "digest": hashlib.sha256("\n".join(one.ids).encode("utf-8")).hexdigest()[:16],
                "curve": [recall_at(rankings[mode], units.grades, depth) for depth in CURVE],
            }
            for mode, one in found.items()
        },
    }  # fmt: skip


def _own_ids(gold: GoldSet, alias: str, found: Found, chunks: set[str]) -> set[str]:
    """Which of the found ids belong to the scope: its chunks; its memories, told from another's of the same id by their
    text; and lines that grep read from a file of this very scope that is in no chunk.
    """
    memories = {f"{MEMORY_PREFIX}{m.memory_id}": m.content for m in gold.memories if m.scope == alias}
    own = set()
    for number, (name, source_ref, content) in enumerate(found.sources):
        file = gold.files.get(alias, {}).get(source_ref)
        if name in chunks or memories.get(name) == content:
            own.add(f"{number} {name}")
        elif file is not None:
            text = decode(file.read_bytes())
            if isinstance(text, Decoded) and set(content.split("\n")) <= set(text.text.split("\n")):
                own.add(f"{number} {name}")
    return own


def _summaries(topics: Sequence[Mapping[str, Any]], modes: Sequence[str], k: int) -> dict[str, Any]:
    names = metric_names(k)
    answerable = [topic for topic in topics if topic["has_answer"]]
    series = {
        f"{mode}\0{name}": [topic["modes"][mode][name] for topic in answerable] for mode in modes for name in names
    }
    found = intervals(series)
    classes = sorted({topic["class"] for topic in topics})
    languages = sorted({topic["language"] for topic in topics if topic["language"]})
    return {
        mode: {
            **_means(topics, mode, names),
            "intervals": {name: list(found[f"{mode}\0{name}"]) for name in names},
            "recall_curve": [
                [depth, mean([topic["modes"][mode]["curve"][place] for topic in answerable])]
                for place, depth in enumerate(CURVE)
            ],
            "latency_ms": _latency(topics, mode),
            "by_class": {name: _means(_of(topics, "class", name), mode, names) for name in classes},
            "by_language": {name: _means(_of(topics, "language", name), mode, names) for name in languages},
        }
        for mode in modes
    }


def _means(topics: Iterable[Mapping[str, Any]], mode: str, names: Sequence[str]) -> dict[str, Any]:
    rows = list(topics)
    answerable = [topic["modes"][mode] for topic in rows if topic["has_answer"]]
    others = [topic["modes"][mode]["answered"] for topic in rows if not topic["has_answer"]]
    return {
        **{name: mean([row[name] for row in answerable]) for name in names},
        "scope_leak_count": sum(topic["modes"][mode]["scope_leak_count"] for topic in rows),
        "false_answer_rate": false_answer_rate(others), "topics": len(answerable), "topics_without_answer": len(others),
    }  # fmt: skip


def _of(topics: Iterable[Mapping[str, Any]], key: str, value: str) -> list[Mapping[str, Any]]:
    return [topic for topic in topics if topic[key] == value]


def _latency(topics: Iterable[Mapping[str, Any]], mode: str) -> dict[str, float]:
    times = [topic["modes"][mode]["ms"] for topic in topics]
    return {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)}
