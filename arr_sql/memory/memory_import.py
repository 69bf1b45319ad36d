"""Taking memories from files into a scope: all of them or none, as candidates unless a person says otherwise.

An imported memory is a new memory of this scope: its id, words and ``created_at`` are the file's; revision, actor and
history are this scope's own, because only events of this file vouch for them. With ``keep_status`` it also keeps status
and ``updated_at``, and the reason of its first version says so; but no ``research_case`` is published so, since an approval
is not in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from arr_sql.core.approval_models import RISK_CARRIED
from arr_sql.core.clock import from_text, to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import MemoryStatus, ResearchMemory, ScopeKey
from arr_sql.errors import ArrError, ImportInvalid, InputError, MemoryInvalid
from arr_sql.memory.approvals import unapproved
from arr_sql.memory.lifecycle import PublishFacts, publish_requirements
from arr_sql.memory.memory_files import IGNORED_FIELDS, FileRecord, Problem, file_values
from arr_sql.memory.research_store import add_memory, checked_memory, columns_of, memory_of, read_row, require_no_secret

_SAME = frozenset({"status", "created_at", "updated_at"})
"""Fields that don't tell whether a memory that is here already says the same."""


@dataclass(frozen=True)
class ImportResult:
    """Ids of what was taken in, of what was here already and says the same, and of what was passed over."""

    imported: tuple[str, ...]
    unchanged: tuple[str, ...]
    skipped: tuple[str, ...]


def check_records(
    scope: ScopeKey, records: Sequence[FileRecord], *, keep_status: bool, reason: str, now: datetime
) -> tuple[list[tuple[FileRecord, ResearchMemory]], list[Problem]]:
    """The memories that the records would make, and what is wrong with the others. Reads no store."""
    made: list[tuple[FileRecord, ResearchMemory]] = []
    problems: list[Problem] = []
    first_lines: dict[str, FileRecord] = {}
    for record in records:
        try:
            memory = _memory(scope, record, keep_status, now)
            require_no_secret(memory)
        except ArrError as error:
            line = record.lines.get(error.field, record.line) if isinstance(error, MemoryInvalid) else record.line
            problems.append(Problem(record.path, line, str(error)))
            continue
        if memory.status == "published":
            missing = publish_requirements(_facts(memory, reason, now))
            problems += [Problem(record.path, record.lines.get("status", record.line), text) for text in missing]
        if memory.memory_id in first_lines:
            first = first_lines[memory.memory_id]
            where = record.lines.get("memory_id", record.line)
            problems.append(
                Problem(record.path, where, f"memory_id '{memory.memory_id}' is in {first.path}:{first.line} already.")
            )
            continue
        first_lines[memory.memory_id] = record
        made.append((record, memory))
    return made, problems


def import_memories(
    connection: Connection, scope: ScopeKey, records: Sequence[FileRecord], problems: Sequence[Problem], *, origin: str,
    keep_status: bool, skip_existing: bool, actor: str, reason: str, now: datetime,
) -> ImportResult:  # fmt: skip
    """Add every memory, or none. Call inside a write transaction. ``problems`` are those found while reading.

    A memory that is here already with the same words is left as it is. Raises ImportInvalid with the place of each
    problem, InputError when ``keep_status`` names no person or gives no reason.
    """
    if keep_status and not (actor.strip() and reason.strip()):
        raise InputError("Keeping the status is a person's decision. Give --reason, and set ARR_ACTOR to your name.")
    made, wrong = check_records(scope, records, keep_status=keep_status, reason=reason, now=now)
    found = [*problems, *wrong]
    new: list[ResearchMemory] = []
    unchanged: list[str] = []
    skipped: list[str] = []
    for record, memory in made:
        row = read_row(connection, scope, memory.memory_id)
        if row is None:
            new.append(memory)
            if memory.status == "published" and (
                text := unapproved(connection, scope, memory.memory_id, columns_of(memory))
            ):
                found.append(Problem(record.path, record.lines.get("status", record.line), text))
        elif _says_the_same(memory_of(row, scope), memory):
            unchanged.append(memory.memory_id)
        elif skip_existing:
            skipped.append(memory.memory_id)
        else:
            message = f"memory '{memory.memory_id}' is in this scope already with other words. Change the id, or --skip-existing."
            found.append(Problem(record.path, record.lines.get("memory_id", record.line), message))
    ids = frozenset(memory.memory_id for memory in new)
    for record, memory in made:
        for related in memory.related_memory_ids:
            line = record.lines.get("related_memory_ids", record.line)
            if related == memory.memory_id:
                found.append(Problem(record.path, line, f"memory '{related}' is related to itself."))
            elif memory.memory_id in ids and related not in ids and read_row(connection, scope, related) is None:
                found.append(
                    Problem(record.path, line, f"related memory '{related}' is neither in this scope nor in the files.")
                )
    if found:
        found.sort(key=lambda problem: (problem.path, problem.line))
        raise ImportInvalid(tuple((problem.path, problem.line, problem.message) for problem in found))
    for memory in new:
        said = f"imported from {origin}"
        if memory.status != "candidate":
            said += f", kept as {memory.status}: {reason.strip()}"
        add_memory(connection, memory, actor=actor, now=now, kind="memory_imported", reason=said, known_ids=ids)
    return ImportResult(tuple(memory.memory_id for memory in new), tuple(unchanged), tuple(skipped))


def _memory(scope: ScopeKey, record: FileRecord, keep_status: bool, now: datetime) -> ResearchMemory:
    values: dict[str, Any] = {name: record.values[name] for name in record.values if name not in IGNORED_FIELDS}
    status: MemoryStatus = values.pop("status", "candidate")
    if status not in get_args(MemoryStatus):
        raise MemoryInvalid(f"The memory's status is wrong: there are {', '.join(get_args(MemoryStatus))}.", "status")
    moment = to_text(now)
    created = _time(values.pop("created_at", moment), "created_at")
    updated = _time(values.pop("updated_at", moment), "updated_at")
    if not keep_status:
        status, updated = "candidate", moment
    return checked_memory(scope, status=status, created_at=created, updated_at=updated, **values)


def _time(text: str, field: str) -> str:
    try:
        return to_text(from_text(text))
    except InputError as error:
        raise MemoryInvalid(f"The memory's {field} is wrong: {error}", field) from None


def _facts(memory: ResearchMemory, reason: str, now: datetime) -> PublishFacts:
    """One that is kept as published may have run out since: it is not found then, and that is no reason to refuse it."""
    return PublishFacts(
        memory_id=memory.memory_id, kind=memory.kind, old_status="candidate", has_source=bool(memory.source_refs),
        reason=reason, expires_at=None, is_new_expiry=False, now=to_text(now),
    )  # fmt: skip


def _says_the_same(one: ResearchMemory, other: ResearchMemory) -> bool:
    left, right = (_without_risk_carried(file_values(memory)) for memory in (one, other))
    return all(left[name] == right[name] for name in left if name not in _SAME)


def _without_risk_carried(values: dict[str, Any]) -> dict[str, Any]:
    """An export adds the risk that a case bears to what the case says."""
    return {**values, "metadata": {key: value for key, value in values["metadata"].items() if key != RISK_CARRIED}}
