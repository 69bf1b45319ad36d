"""What a sync counts and what it knows of one root while it runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from arr_sql.core.git_identity import GitIdentity
from arr_sql.core.git_index import GitIndex
from arr_sql.ingest.roots import RootRow


@dataclass
class SyncSummary:
    """What a sync did. ``left_out`` counts files and folders by reason; a folder counts once."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    unchanged: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    warnings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lines_withheld: int = 0
    chunks_added: int = 0
    chunks_retired: int = 0
    bytes_read: int = 0
    roots_missing: list[str] = field(default_factory=list)
    roots_other_branch: list[str] = field(default_factory=list)
    index_rebuilt: bool = False

    @property
    def has_changes(self) -> bool:
        """Was any file added, changed, renamed or removed?"""
        return bool(self.added or self.changed or self.renamed or self.removed)


@dataclass
class SyncJob:
    """One root being synced."""

    root: RootRow
    git: GitIdentity | None
    index: GitIndex | None
    known: dict[str, Any]
    left_before: dict[str, tuple[str, int | None, int | None]]
    left: dict[str, tuple[str, int | None, int | None]] = field(default_factory=dict)
    gone: dict[str, Any] = field(default_factory=dict)
    stats: list[tuple[int, int, int, int]] = field(default_factory=list)
    is_complete: bool = True

    @cached_property
    def known_hashes(self) -> frozenset[str]:
        """Content hashes of what was known: a new file with one of them may be a file under another name."""
        return frozenset(row["content_hash"] for row in self.known.values())
