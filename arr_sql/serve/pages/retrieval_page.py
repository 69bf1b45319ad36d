"""A retrieval as a page shows it, the same for an answer just made and for a record read from the store.

Pure: values in, values out. A bar is a share of 1; a timeline follows from rounds and durations, because the calls of a
round run side by side and two calls of one channel one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arr_sql.core.router_models import RouterResult
from arr_sql.core.term_marks import Kind, language_of, parts, wanted_terms
from arr_sql.retrieval.missing_words import EvidenceText, missing_words, words_missing
from arr_sql.retrieval.snippet import best_lines

EXCERPT_LINES = 5
EXCERPT_LINE = 400
"""Characters of one line in an excerpt; how many more there are is said. The whole text is one step away."""
WHOLE_TEXT = 100_000
"""Characters of one text on a page of many; how many more there are is said."""
PROSE = (".md", ".markdown", ".txt", ".rst", ".tex", ".pdf", ".html", ".htm", ".ipynb", ".org")
CHANNELS = ("bm25", "vector", "research-memory", "grep")


@dataclass(frozen=True)
class Line:
    """One line of a text in pieces; ``more`` characters of it are not shown."""

    number: int | None
    pieces: list[tuple[Kind, str]]
    more: int = 0


@dataclass(frozen=True)
class Part:
    """One part of a score: ``start`` and ``share`` place its bar, 1 being the best item's whole score."""

    name: str
    value: float
    start: float
    share: float
    color: str


@dataclass(frozen=True)
class Item:
    """One piece of evidence."""

    rank: int
    chunk_id: str
    source_ref: str
    locator: str
    content_hash: str
    freshness: str
    certificate: Mapping[str, Any]
    channels: list[dict[str, Any]]
    parts: list[Part]
    rrf_score: float | None
    rerank_score: float | None
    heading: str
    losers: list[str]
    excerpt: list[Line]
    whole: list[Line]
    whole_more: int
    is_gone: bool
    is_prose: bool
    language: str
    link: str


@dataclass(frozen=True)
class Bar:
    """One call of the plan on the timeline; ``start`` and ``width`` are shares of the whole run."""

    round: int
    channel: str
    state: str
    code: str
    matched: int
    returned: int
    ms: float
    start: float
    width: float
    color: str
    query: str | None


@dataclass(frozen=True)
class RetrievalView:
    """Everything that a page or a report says of one retrieval."""

    retrieval_id: str
    query: str | None
    query_hash: str
    state: str
    is_partial: bool
    ms: float
    items: list[Item]
    bars: list[Bar]
    degradations: list[dict[str, Any]]
    rejections: list[dict[str, Any]]
    plan_reason: str
    plan_origin: str
    missing: tuple[str, ...] = ()
    at: str = ""
    actor: str = ""
    is_record: bool = False
    facts: dict[str, str] = field(default_factory=dict)


def view_of_result(result: RouterResult, query: str, ms: float) -> RetrievalView:
    """The view of an answer that was just made, in ``ms`` milliseconds."""
    value = result.model_dump(mode="json")
    return RetrievalView(
        retrieval_id=result.retrieval_id, query=query, query_hash="", state=result.state, is_partial=result.partial, ms=ms,
        items=_items(value["evidence"], query), bars=_bars(value["traces"], value["plan"]),
        degradations=value["degradations"], rejections=value["rejections"], plan_reason=result.plan.reason, plan_origin="",
        missing=missing_words(query, result.evidence),
    )  # fmt: skip


def view_of_record(record: Mapping[str, Any]) -> RetrievalView:
    """The view of a record, as ``ResearchDatabase.retrievals`` gives it."""
    kept = ("scope_revision", "analyser_version", "index_version", "model_fingerprint", "policy_hash", "record_hash")
    return RetrievalView(
        retrieval_id=record["retrieval_id"], query=record["query"], query_hash=record["query_hash"], state=record["state"],
        is_partial=record["partial"], ms=record["duration_ms"], items=_items(record["evidence"], record["query"] or ""),
        bars=_bars(record["traces"], record["plan"]), degradations=record["degradations"], rejections=record["rejections"],
        plan_reason=record["plan"]["reason"], plan_origin=record["plan_origin"], at=record["at"], actor=record["actor"],
        missing=_missing_in_record(record), is_record=True, facts={name: str(record[name]) for name in kept if record[name] is not None},
    )  # fmt: skip


def _missing_in_record(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Nothing where the query or a text is gone."""
    texts = [
        EvidenceText((item.get("metadata") or {}).get("heading") or "", item["content"], item["source_ref"])
        for item in record["evidence"]
        if item["content"] is not None
    ]
    return words_missing(record["query"] or "", texts) if len(texts) == len(record["evidence"]) else ()


# --- evidence -----------------------------------------------------------------------------------------------------------


def _items(evidence: Sequence[Mapping[str, Any]], query: str) -> list[Item]:
    best = max((item["rerank_score"] or 0.0 for item in evidence), default=0.0)
    return [_item(rank, item, query, best) for rank, item in enumerate(evidence, 1)]


def _item(rank: int, item: Mapping[str, Any], query: str, best: float) -> Item:
    content: str | None = item["content"]
    metadata = item.get("metadata") or {}
    text = content or ""
    start = first_line(item["locator"])
    first, lines = best_lines(text, query, EXCERPT_LINES)
    wanted = wanted_terms(query)
    return Item(
        rank=rank, chunk_id=item["chunk_id"], source_ref=item["source_ref"], locator=item["locator"],
        content_hash=item["content_hash"], freshness=item["freshness"], certificate=metadata.get("certificate", {}),
        channels=[{**channel, "color": color(channel["channel"])} for channel in item["channels"]],
        parts=score_parts(item["rerank_reason"], best), rrf_score=item["rrf_score"], rerank_score=item["rerank_score"],
        heading=metadata.get("heading") or "", losers=list(metadata.get("conflict_losers") or ()),
        excerpt=text_lines(lines, wanted, start + first if start else None, limit=EXCERPT_LINE),
        whole=text_lines(text[:WHOLE_TEXT].split("\n"), wanted, start), whole_more=max(0, len(text) - WHOLE_TEXT),
        is_gone=content is None, is_prose=is_prose(item["source_ref"]), language=language_of(text),
        link=_link(item["chunk_id"]),
    )  # fmt: skip


def text_lines(
    lines: Sequence[str], wanted: frozenset[str], start: int | None, *, limit: int | None = None
) -> list[Line]:
    """Lines with their numbers from ``start``, terms of ``wanted`` marked, hidden characters apart."""
    made: list[Line] = []
    for place, line in enumerate(lines):
        shown = line if limit is None else line[:limit]
        made.append(Line(start + place if start else None, parts(shown, wanted), len(line) - len(shown)))
    return made


def first_line(locator: str) -> int | None:
    """The first line that a locator like ``L16-21`` or ``16-22 Schedule.lr`` names; None for one of a page or cell."""
    found = re.match(r"L(\d+)(?:-\d+)?$|(\d+)-\d+ ", locator)
    return int(found.group(1) or found.group(2)) if found else None


def is_prose(source_ref: str) -> bool:
    """Is it read as sentences, or as columns of characters (code, logs, tables)?"""
    return source_ref.startswith("memory:") or source_ref.lower().endswith(PROSE)


def _link(chunk_id: str) -> str:
    """Which page shows the whole: ``memory`` or ``chunk``; "" for a line that is in no chunk of the store."""
    if chunk_id.startswith("memory:"):
        return "memory"
    return "chunk" if re.fullmatch(r"c[0-9a-f]{20}", chunk_id) else ""


def score_parts(reason: str, best: float) -> list[Part]:
    """The parts of a score, as the reranker wrote them ("bm25=0.500 fused=0.010"), laid end to end."""
    made: list[Part] = []
    place = 0.0
    for name, value in re.findall(r"([\w-]+)=(\d+(?:\.\d+)?)", reason):
        share = float(value) / best if best > 0 else 0.0
        made.append(Part(name, float(value), min(place, 1.0), min(share, 1.0 - min(place, 1.0)), color(name)))
        place += share
    return made


def color(name: str) -> str:
    """The class that colours a channel: its own for the built-in ones."""
    return f"c-{name}" if name in CHANNELS else "c-other"


# --- timeline -----------------------------------------------------------------------------------------------------------


def _bars(traces: Sequence[Mapping[str, Any]], plan: Mapping[str, Any]) -> list[Bar]:
    """Each call where it lay in time. Rounds follow each other; so do two calls of one channel in a round."""
    spans: list[tuple[float, float]] = []
    begin, busy, current = 0.0, dict[str, float](), 0
    for trace in traces:
        if trace["round_index"] != current:
            begin, busy, current = max([begin, *busy.values()]), {}, trace["round_index"]
        start = busy.get(trace["tool_name"], begin)
        busy[trace["tool_name"]] = start + trace["duration_ms"]
        spans.append((start, trace["duration_ms"]))
    total = max((start + length for start, length in spans), default=0.0) or 1.0
    queries = [call["query"] for calls in plan["tool_rounds"] for call in calls]
    queries += [None] * (len(traces) - len(queries))
    return [
        Bar(trace["round_index"] + 1, trace["tool_name"], trace["state"], trace["reason"], trace["candidate_count"],
            trace["eligible_count"], trace["duration_ms"], start / total, length / total, color(trace["tool_name"]), query)
        for trace, (start, length), query in zip(traces, spans, queries, strict=False)
    ]  # fmt: skip
