"""Whose was a name, and which source of a backup is the same? A name passes from file to file; what it meant depends on when.

Pure. Held by tests/memory/test_forgetting_names.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class NameSpan(NamedTuple):
    """From one revision until before another (None: without end) a name meant a source that is forgotten."""

    name: str
    first: int
    end: int | None

    def covers(self, name: str, revision: int) -> bool:
        """Did ``name`` mean it at ``revision``?"""
        return name == self.name and self.first <= revision and (self.end is None or revision < self.end)


@dataclass(frozen=True)
class Known:
    """What the database knows of sources that are to go from its backup too. A source is known by its row and the time at
    which it was made: both are the same in a backup, whatever became of its name since."""

    sources: frozenset[tuple[int, str]] = frozenset()
    others: frozenset[tuple[int, str]] = frozenset()
    """Those that stay: a backup may know one of them by the very name that is asked for."""
    names: frozenset[str] = frozenset()
    """What the database calls those that go."""
    chunks: frozenset[tuple[str, str]] = frozenset()
    """Id and content hash of every chunk that goes."""


def is_known(row: Any, known: Known, refs: Collection[str], has_same_chunk: bool) -> bool:
    """Does a source of a backup go? As the same source; else, unless it is one that stays, by its name or by its text: the
    database may have forgotten it before and taken the file in again."""
    identity = (row["id"], row["created_at"])
    if identity in known.sources or identity in known.others:
        return identity in known.sources
    return row["source_ref"] in refs or has_same_chunk


def spans_of(versions: Iterable[Any], forgotten: Collection[int], refs: Sequence[str]) -> list[NameSpan]:
    """When which name meant one of the ``forgotten`` sources. ``versions`` are all that have one of the names.

    Between two versions a name is already the later one's: grep reads a file before the next sync takes it in. A name of
    ``refs`` that no version has is a file that was never taken in: it always meant that.
    """
    by_name: dict[str, list[Any]] = defaultdict(list)
    for row in versions:
        by_name[row["source_ref"]].append(row)
    spans = [NameSpan(name, 0, None) for name in sorted(set(refs) - set(by_name))]
    for name, rows in sorted(by_name.items()):
        first = 0
        ordered = sorted(rows, key=lambda row: int(row["added_revision"]))
        for number, row in enumerate(ordered, 1):
            end = None if number == len(ordered) else row["retired_revision"]
            if row["source_id"] in forgotten:
                spans.append(NameSpan(name, first, end))
            first = first if end is None else end
    return spans


def names_of_others(versions: Iterable[Any], forgotten: Collection[int]) -> frozenset[str]:
    """The names that a live file has which is not one of the ``forgotten``."""
    return frozenset(
        row["source_ref"] for row in versions if row["retired_revision"] is None and row["source_id"] not in forgotten
    )
