"""Memories as text and back, without loss: JSON lines, and Markdown with front matter. Pure.

JSON lines: one object a memory with every field. Markdown: one text a memory, the fields as ``name: value`` between two
lines of ``---`` (each value is JSON, which YAML reads too; a plain word is text), then an empty line, then the content
and one line end. What is empty is left out. Reading says what is wrong at which line, and never half of it:
tests/memory/test_memory_files.py writes, reads and writes again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from arr_sql.core.canonical import short_int
from arr_sql.core.research_models import MemoryVersion, ResearchMemory

FILE_FIELDS = (
    "memory_id", "kind", "title", "content", "status", "confidence", "source_refs", "applicability", "conflict_key",
    "expires_at", "related_memory_ids", "evidence_chunk_ids", "proposed_actions", "metadata", "created_at", "updated_at",
)  # fmt: skip
"""What a memory says. Scope and revision are where it says it; they are written with the history only."""

IGNORED_FIELDS = frozenset({"scope", "revision", "history"})
"""Read and left: they belong to the scope that was exported."""

REQUIRED_FIELDS = ("title", "content")
_TEXT_FIELDS = frozenset(
    {"memory_id", "kind", "title", "status", "conflict_key", "expires_at", "created_at", "updated_at"}
)
_LIST_FIELDS = frozenset({"source_refs", "related_memory_ids", "evidence_chunk_ids", "proposed_actions"})
_DICT_FIELDS = frozenset({"applicability", "metadata"})
_NULL_FIELDS = frozenset({"conflict_key", "expires_at"})


@dataclass(frozen=True)
class FileRecord:
    """One memory as a file has it. ``lines`` says where each field stands; ``line`` where the memory begins."""

    values: Mapping[str, Any]
    path: str
    line: int
    lines: Mapping[str, int]


@dataclass(frozen=True)
class Problem:
    """What is wrong, and where."""

    path: str
    line: int
    message: str


# --- Writing ----------------------------------------------------------------------------------------------------------


def file_values(memory: ResearchMemory) -> dict[str, Any]:
    """The fields of a memory in the order of a file."""
    dumped = memory.model_dump(mode="json")
    return {name: dumped[name] for name in FILE_FIELDS}


def to_jsonl(memories: Iterable[ResearchMemory], histories: Mapping[str, list[MemoryVersion]] | None = None) -> str:
    """One line a memory, by id. With ``histories`` each also has its scope, its revision and its older versions."""
    lines = []
    for memory in sorted(memories, key=lambda memory: memory.memory_id):
        value = file_values(memory)
        if histories is not None:
            older = [version for version in histories[memory.memory_id] if version.retired_revision is not None]
            value |= {
                "scope": memory.scope.model_dump(),
                "revision": memory.revision,
                "history": [_version(v) for v in older],
            }
        lines.append(_json(value) + "\n")
    return "".join(lines)


def _version(version: MemoryVersion) -> dict[str, Any]:
    said = version.model_dump(mode="json", exclude={"memory"})
    return {**file_values(version.memory), "revision": version.memory.revision, **said}


def to_markdown(memory: ResearchMemory, leave_out: frozenset[str] = frozenset()) -> str:
    """One memory as Markdown with front matter."""
    values = file_values(memory)
    content = values.pop("content")
    kept = {name: value for name, value in values.items() if value not in (None, [], {}) and name not in leave_out}
    front = "".join(f"{name}: {_json(value)}\n" for name, value in kept.items())
    return f"---\n{front}---\n\n{content}\n"


def file_name(memory_id: str) -> str:
    """A file name for an id that is safe on every file system: the id itself where it is, else a hash of it is added."""
    plain = re.fullmatch(r"[a-z0-9](?:[a-z0-9._-]{0,78}[a-z0-9])?", memory_id)
    reserved = re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", memory_id)
    if plain and not reserved:
        return f"{memory_id}.md"
    slug = re.sub(r"[^a-z0-9]+", "-", memory_id.lower()).strip("-")[:40]
    return f"{slug or 'memory'}-{hashlib.sha256(memory_id.encode()).hexdigest()[:12]}.md"


def _json(value: Any) -> str:
    """Readable JSON on one line: letters as they are; what doesn't print (line separators, halves) is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


# --- Reading ----------------------------------------------------------------------------------------------------------


def from_jsonl(text: str, path: str) -> tuple[list[FileRecord], list[Problem]]:
    """The memories of a text of JSON lines, and what is wrong with the others. Blank lines are passed over."""
    records: list[FileRecord] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values = _strict_json(line)
        except ValueError as error:
            problems.append(Problem(path, number, f"this line is not JSON ({error})."))
            continue
        except RecursionError:
            problems.append(Problem(path, number, "this line is nested too deeply."))
            continue
        if not isinstance(values, dict):
            problems.append(Problem(path, number, "this line is not a JSON object."))
            continue
        record = FileRecord(values, path, number, {})
        found = list(_wrong_fields(record))
        problems += found
        if not found:
            records.append(record)
    return records, problems


def from_markdown(text: str, path: str) -> tuple[list[FileRecord], list[Problem]]:
    """The one memory of a Markdown text with front matter, or what is wrong with it."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return [], [Problem(path, 1, "there is no front matter: the first line must be '---'.")]
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return [], [Problem(path, 1, "the front matter does not end: a second line '---' is missing.")]
    values: dict[str, Any] = {}
    places: dict[str, int] = {}
    problems: list[Problem] = []
    for number, line in enumerate(lines[1:end], 2):
        if not line.strip():
            continue
        name, colon, written = line.partition(":")
        name = name.strip()
        if not colon:
            problems.append(Problem(path, number, f"{line.strip()[:40]!r} is not 'name: value'."))
        elif name not in FILE_FIELDS and name not in IGNORED_FIELDS:
            problems.append(_unknown(path, number, name))
        elif name in values:
            problems.append(Problem(path, number, f"{name} is there twice."))
        else:
            try:
                values[name], places[name] = _front_value(name, written.strip()), number
            except (ValueError, RecursionError) as error:
                problems.append(Problem(path, number, f"{name} is not JSON ({error})."))
    if problems:
        return [], problems
    body = lines[end + 1 :]
    if body and body[0] in ("", "\r"):
        body = body[1:]
    if len(body) > 1 and body[-1] == "":
        body = body[:-1]
    values["content"] = "\n".join(body)
    places["content"] = end + 2
    record = FileRecord(values, path, 1, places)
    found = list(_wrong_fields(record))
    return ([], found) if found else ([record], [])


def _front_value(name: str, written: str) -> Any:
    try:
        value = _strict_json(written)
    except ValueError:
        if name not in _TEXT_FIELDS:
            raise
        return written  # a person wrote `title: Warmup`
    if name in _TEXT_FIELDS and not isinstance(value, str) and not (value is None and name in _NULL_FIELDS):
        return written  # `title: 2000`
    return value


def _wrong_fields(record: FileRecord) -> Iterable[Problem]:
    for name, value in record.values.items():
        line = record.lines.get(name, record.line)
        if name in IGNORED_FIELDS:
            continue
        if name not in FILE_FIELDS:
            yield _unknown(record.path, line, name)
        elif not _has_type(name, value):
            yield Problem(record.path, line, f"{name} is of the wrong type ({type(value).__name__}).")
    for name in REQUIRED_FIELDS:
        if name not in record.values:
            yield Problem(record.path, record.line, f"{name} is missing.")


def _unknown(path: str, line: int, name: str) -> Problem:
    return Problem(path, line, f"{name[:40]!r} is not a field of a memory. There are: {', '.join(FILE_FIELDS)}.")


def _has_type(name: str, value: Any) -> bool:
    if name in _NULL_FIELDS and value is None:
        return True
    if name in _TEXT_FIELDS or name == "content":
        return isinstance(value, str)
    if name in _LIST_FIELDS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if name in _DICT_FIELDS:
        return isinstance(value, dict)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _strict_json(text: str) -> Any:
    """JSON without NaN, infinities and repeated names. Raises ValueError."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name is there twice in one object")
        return found

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse, parse_int=short_int)
