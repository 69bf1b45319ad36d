"""``arr grep``: exact lines of the trusted folders as they are on disk now, for people. Nothing is recorded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from arr_sql.core.connection import store_errors
from arr_sql.core.rooted import FileInfo, Root
from arr_sql.database.sources import SourceMethods
from arr_sql.errors import InputError, PathRefused, StateError
from arr_sql.ingest.roots import RootRow, is_other_branch
from arr_sql.retrieval.line_index import LineIndex
from arr_sql.retrieval.line_pattern import LinePattern
from arr_sql.retrieval.line_search import search_targets
from arr_sql.retrieval.line_values import LineHit, LineSearch, SearchLimits, Target

GREP_SECONDS = 30.0


@dataclass(frozen=True)
class LineAnswer:
    """What a line search found. ``refs`` gives for each root's name what a source_ref of it begins with."""

    search: LineSearch
    limits: SearchLimits
    refs: dict[str, str]
    roots_missing: tuple[str, ...] = ()
    roots_other_branch: tuple[str, ...] = ()

    def source_ref(self, root_name: str, rel: str) -> str:
        """How evidence names the file."""
        return self.refs[root_name] + rel

    @property
    def is_complete(self) -> bool:
        """Was everything looked at that is not left out by rule?"""
        return self.search.cut is None and not self.roots_missing and not self.roots_other_branch


@dataclass
class _Opened:
    """The scope's roots, held open for one search."""

    roots: list[tuple[RootRow, Root]] = field(default_factory=list)
    indexes: dict[int, LineIndex] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    other_branch: list[str] = field(default_factory=list)


class LineMethods(SourceMethods):
    """Looking for lines without a plan, a ranking or a record."""

    def grep(
        self, pattern: str, paths: Sequence[str | Path] = (), *, regex: bool = False, exact: bool = False,
        first_only: bool = False, limits: SearchLimits = SearchLimits(), deadline_seconds: float = GREP_SECONDS,
    ) -> LineAnswer:  # fmt: skip
        """Every line of the scope's folders, or of ``paths`` inside them, that holds ``pattern``.

        A line index (:meth:`build_line_index`), where there is one, spares the reading of files that can't hold it.

        Literal text, compared without regard to case and width; ``exact`` compares as it is written; ``regex`` takes an
        RE2 pattern. Raises InputError for a pattern that can't match a line, PatternInvalid (with a position) for one
        that is no regular expression, PathRefused for a path outside the folders, StateError when none can be searched.
        """
        needle: str | LinePattern = LinePattern(pattern) if regex else pattern
        if not regex and (not pattern or "\n" in pattern):
            raise InputError(
                "The text to look for is empty or holds a line break, and a line holds neither. Give a part of one line."
            )
        deadline = time.monotonic() + deadline_seconds
        rows = self.roots()
        if not rows:
            raise InputError("Nothing has been added to this scope yet. Run `arr add FOLDER` first.")
        with ExitStack() as stack:
            opened = self._opened(rows, stack)
            targets = _targets(opened, paths)
            if not targets:
                raise StateError(
                    "No folder of this scope can be searched: they are not there, or have another branch checked out. "
                    "`arr status` names them."
                )
            found = search_targets(
                targets, needle, deadline=deadline, limits=limits, exact=exact, first_only=first_only
            )
        return LineAnswer(
            _without_inner(found, rows) if len(targets) > 1 else found, limits, {str(row.id): row.prefix for row in rows},
            () if paths else tuple(opened.missing), () if paths else tuple(opened.other_branch),
        )  # fmt: skip

    def _opened(self, rows: Sequence[RootRow], stack: ExitStack) -> _Opened:
        opened = _Opened()
        for row in rows:
            if is_other_branch(row, self.scope):
                opened.other_branch.append(str(row.path))
                continue
            try:
                opened.roots.append((row, stack.enter_context(Root(row.path))))
            except PathRefused:
                opened.missing.append(str(row.path))
                continue
            if row.only_file is None:
                with store_errors(self.path):
                    index = self._hot.line_indexes.of(self._reader("main"), self.scope, row.id)
                if index is not None:
                    opened.indexes[row.id] = index
        return opened


def _targets(opened: _Opened, paths: Sequence[str | Path]) -> list[Target]:
    if not paths:
        return [
            Target(str(row.id), root, file=row.only_file, index=opened.indexes.get(row.id))
            for row, root in opened.roots
        ]
    return [_target(opened, path) for path in paths]


def _target(opened: _Opened, path: str | Path) -> Target:
    """The place below the deepest root that holds ``path``. Raises PathRefused when there is none or it can't be opened."""
    for row, root in sorted(opened.roots, key=lambda item: -len(Path(item[1].path).parts)):
        rel = root.locate(path)
        if not isinstance(rel, str) or (row.only_file is not None and rel != row.only_file):
            continue
        info = root.look(rel) if rel else None
        if isinstance(info, FileInfo):
            return Target(str(row.id), root, file=rel)
        if info is None or info.code == "not_a_file":
            return Target(str(row.id), root, folder=rel, index=opened.indexes.get(row.id))
        raise PathRefused(f"'{path}': {info.detail}. Name a file or folder that can be read.")
    raise PathRefused(
        f"'{path}' is outside the trusted folders. `arr status` lists them, `arr add FOLDER` trusts another."
    )


def _without_inner(found: LineSearch, rows: Sequence[RootRow]) -> LineSearch:
    """Each line once: one that two roots hold, one inside the other, belongs to the inner root, as in a sync."""
    folders = {str(row.id): row.path.resolve().as_posix() for row in rows}
    owner: dict[tuple[str, int], LineHit] = {}
    for hit in found.hits:
        place = (f"{folders[hit.root_name]}/{hit.rel}", hit.line_no)
        if place not in owner or len(owner[place].rel) > len(hit.rel):
            owner[place] = hit
    kept = {id(hit) for hit in owner.values()}
    found.hits = [hit for hit in found.hits if id(hit) in kept]
    return found
