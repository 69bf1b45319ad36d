"""What the pages over the store show: memories with their history and approvals, sources, the audit log, a chunk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from arr_sql.core.research_models import AuditEvent, MemoryStatus
from arr_sql.core.term_marks import language_of, wanted_terms
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError
from arr_sql.serve.pages.retrieval_page import first_line, is_prose, text_lines

MANY_SOURCES = 300
"""Up to so many files are read and hashed unasked when the page of sources is opened."""
MOST_ROWS = 2000
"""Rows of a list that one page shows; that there are more is said."""
EVENT_STEPS = (100, 1000, 10_000)
MEMORY_STATUSES: tuple[MemoryStatus, ...] = get_args(MemoryStatus)


def home(database: ResearchDatabase) -> dict[str, Any]:
    """What the scope holds, and its last retrievals."""
    status = database.status()
    return {
        "held": {
            "sources": status.get("sources", 0), "chunks": status.get("chunks", 0), "events": status.get("events", 0),
            "published": status["memories"].get("published", 0),
        },
        "records": database.retrievals(limit=8),
    }  # fmt: skip


def memories(database: ResearchDatabase, status: str | None) -> dict[str, Any]:
    """The live memories of one status or all, and the packages that wait for a decision."""
    if status is not None and status not in MEMORY_STATUSES:
        raise InputError(f"There is no status '{status[:40]}'. There are: {', '.join(MEMORY_STATUSES)}.")
    every = database.memories()
    shown = [memory for memory in every if status in (None, memory.status)]
    return {
        "memories": shown[:MOST_ROWS], "more": max(0, len(shown) - MOST_ROWS), "status": status,
        "counts": Counter(memory.status for memory in every), "total": len(every), "statuses": MEMORY_STATUSES,
        "packages": database.approvals()[:MOST_ROWS],
    }  # fmt: skip


def memory(database: ResearchDatabase, memory_id: str) -> dict[str, Any]:
    """One memory, its versions newest first, and what was asked to be approved for it."""
    versions = database.memory_history(memory_id)
    texts = [version.memory.content for version in versions]
    history = [
        {"version": version, "lines": _lines(version.memory.content), "language": language_of(version.memory.content),
         "is_same": number > 0 and texts[number - 1] == version.memory.content}
        for number, version in enumerate(versions)
    ]  # fmt: skip
    current = versions[-1].memory
    return {
        "memory": current, "history": history[::-1], "lines": _lines(current.content),
        "language": language_of(current.content), "packages": database.approvals(case_id=memory_id),
    }  # fmt: skip


def chunk(database: ResearchDatabase, chunk_id: str, query: str) -> dict[str, Any]:
    """One live chunk whole, the terms of ``query`` marked."""
    found = database.chunk(chunk_id)
    start = found["start_line"] if first_line(found["locator"]) else None
    lines = text_lines(found["content"].split("\n"), wanted_terms(query), start)
    return {
        "chunk": found, "lines": lines, "language": language_of(found["content"]),
        "is_prose": is_prose(found["source_ref"]),
    }  # fmt: skip


def sources(database: ResearchDatabase, is_asked: bool) -> dict[str, Any]:
    """Each source with how it was read and, where they are few or ``is_asked``, whether its file is as it was."""
    status = database.status()
    is_checked = is_asked or status.get("sources", 0) <= MANY_SOURCES
    listed = database.source_list(check_files=is_checked)
    rows = listed["sources"]
    if is_checked:  # what needs a look comes first
        order = {"missing": 0, "changed": 1, "unverifiable": 2}
        rows.sort(key=lambda row: (order.get(row["freshness"], 3), row["source_ref"]))
    return {
        "sources": rows[:MOST_ROWS], "more": max(0, len(rows) - MOST_ROWS), "count": len(rows), "is_checked": is_checked,
        "summary": Counter(row["freshness"] for row in rows), "left_out": listed["left_out"][:MOST_ROWS],
        "left_out_more": max(0, len(listed["left_out"]) - MOST_ROWS), "roots": status["roots"],
    }  # fmt: skip


def audit(database: ResearchDatabase, kind: str | None, limit: int, is_asked: bool) -> dict[str, Any]:
    """The last events and, where ``is_asked``, the verdict on the whole log."""
    limit = next((step for step in EVENT_STEPS if limit <= step), EVENT_STEPS[-1])
    events = database.audit_events(kind, limit)
    kinds = Counter(event.kind for event in events) if kind is None else Counter({kind: len(events)})
    wider = next((step for step in EVENT_STEPS if step > limit), None) if len(events) == limit else None
    return {
        "events": [{"event": event, "page": subject_page(event), **_details(event)} for event in events],
        "kind": kind, "kinds": kinds, "limit": limit, "wider": wider,
        "report": database.verify_audit() if is_asked else None,
    }  # fmt: skip


def subject_page(event: AuditEvent) -> str:
    """Which page shows what an event is about; "" where there is none."""
    return (
        event.subject_kind if event.subject_kind in ("retrieval", "memory") and event.kind != "memory_refused" else ""
    )


LONG_DETAIL = 80
"""Characters of a list in an event's details that stand in the table; of a longer one the length, and all of it below."""


def _details(event: AuditEvent) -> dict[str, str]:
    """``details`` in a line, and ``whole`` as JSON where the line leaves something out."""
    said = {name.replace("_", " "): value for name, value in event.details.items() if value not in ([], "", None)}
    words = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for name, value in said.items()
    }
    long = {name for name, value in said.items() if isinstance(value, list | dict) and len(words[name]) > LONG_DETAIL}
    words |= {name: f"({len(said[name])})" for name in long}
    return {
        "details": ", ".join(f"{name} {word}" for name, word in words.items()),
        "whole": pretty(event.details) if long else "",
    }


def pretty(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON for people."""
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)


def _lines(text: str) -> list[Any]:
    return text_lines(text.split("\n"), frozenset(), None)
