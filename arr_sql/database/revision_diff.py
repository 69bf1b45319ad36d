"""What changed between two revisions, from rows and answers that were read: pure functions and the values they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from arr_sql.database.replay_run import Rerun


@dataclass(frozen=True)
class SubjectChange:
    """A source or memory that is not the same at two revisions. ``before`` and ``after`` are None where there is none."""

    kind: Literal["source", "memory"]
    name: str
    change: Literal["added", "changed", "renamed", "removed"]
    before: str | None
    after: str | None


@dataclass(frozen=True)
class AnswerChange:
    """A past retrieval whose evidence would be another now."""

    retrieval_id: str
    at: str
    query: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    changed: tuple[str, ...]
    is_reordered: bool


@dataclass(frozen=True)
class RevisionDiff:
    """What changed between two revisions; ``answers`` is empty unless it was asked for."""

    first: int
    last: int
    subjects: tuple[SubjectChange, ...]
    answers: tuple[AnswerChange, ...] = ()
    answers_compared: int = 0
    answers_not_replayable: int = 0


def _is_visible(row: Any, revision: int) -> bool:
    return row["added_revision"] <= revision and (row["retired_revision"] is None or row["retired_revision"] > revision)


def _ends(rows: Sequence[Any], key: str, first: int, last: int) -> dict[Any, tuple[Any, Any]]:
    """For each subject its version at ``first`` and at ``last`` (None where there is none), in order of the rows."""
    found: dict[Any, tuple[Any, Any]] = {}
    for row in rows:
        before, after = found.get(row[key], (None, None))
        found[row[key]] = (row if _is_visible(row, first) else before, row if _is_visible(row, last) else after)
    return found


def source_changes(rows: Sequence[Any], first: int, last: int) -> list[SubjectChange]:
    changes = []
    for before, after in _ends(rows, "source_id", first, last).values():
        if before is None and after is None:
            continue  # came and went in between
        if before is None or after is None:
            change: Any = "added" if before is None else "removed"
        elif before["content_hash"] == after["content_hash"]:
            if before["source_ref"] == after["source_ref"]:
                continue  # there and back again, or read anew by another reader with the same bytes
            change = "renamed"
        else:
            change = "changed"
        ends = [row["source_ref"] if row is not None else None for row in (before, after)]
        changes.append(SubjectChange("source", ends[1] or ends[0] or "", change, ends[0], ends[1]))
    return sorted(changes, key=lambda item: (item.name, item.change))


def memory_changes(rows: Sequence[Any], first: int, last: int) -> list[SubjectChange]:
    changes = []
    for memory_id, (before, after) in _ends(rows, "memory_id", first, last).items():
        if before is None and after is None:
            continue
        change: Any = "added" if before is None else "removed" if after is None else "changed"
        ends = [
            f"{row['status']}, revision {row['added_revision']}" if row is not None else None for row in (before, after)
        ]
        changes.append(SubjectChange("memory", memory_id, change, ends[0], ends[1]))
    return changes


def answer_change(record: Mapping[str, Any], again: Rerun) -> AnswerChange | None:
    old = {item["chunk_id"]: item["content_hash"] for item in record["evidence"]}
    new = {item["chunk_id"]: item["content_hash"] for item in again.account["evidence"]}
    if list(old.items()) == list(new.items()):
        return None
    places = {item["chunk_id"]: item["source_ref"] for item in [*record["evidence"], *again.account["evidence"]]}
    gained, lost = [key for key in new if key not in old], [key for key in old if key not in new]
    changed = [key for key in old if key in new and old[key] != new[key]]
    reordered = [key for key in old if key in new] != [key for key in new if key in old]
    return AnswerChange(
        record["retrieval_id"], record["at"], record["query"], tuple(places[k] for k in gained), tuple(places[k] for k in lost),
        tuple(places[k] for k in changed), reordered,
    )  # fmt: skip
