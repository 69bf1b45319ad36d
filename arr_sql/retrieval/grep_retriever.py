"""The grep channel: exact lines in the trusted roots, on the files as they are on disk now (contract 9.4).

Needles come from the query: quoted strings, identifiers, error codes, paths, else its rarest words. A line inside an
ingested, unchanged chunk answers with that chunk, so that channels can agree on it; any other line answers for itself.
It answers only where the tree on disk is the scope's, else it says ``other_branch``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from arr_sql.core.analysis import query_terms
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import Root
from arr_sql.core.router_models import ReasonCode
from arr_sql.core.statements import load
from arr_sql.errors import PathRefused
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.hot_grep import HotGrep
from arr_sql.retrieval.hot_line_search import HotSearch
from arr_sql.retrieval.hot_postings import HotPostings
from arr_sql.retrieval.line_groups import BestHits, SeenFile, best_hits
from arr_sql.retrieval.line_index import LineIndexes
from arr_sql.retrieval.line_search import search_lines, wanted_forms
from arr_sql.retrieval.line_values import LineSearch
from arr_sql.retrieval.needles import needles
from arr_sql.retrieval.rows import HitsByRow, hits_by_row

MAX_LINES = 20_000
"""More matching lines than this end the scan (``cut``)."""


@dataclass(frozen=True)
class GrepRoot:
    """A trusted folder as the channel sees it."""

    id: int
    prefix: str
    path: str
    only_file: str | None
    is_other_branch: bool


class GrepRetriever:
    """Holds a reader (for chunk ids and document frequencies) and the list of trusted folders.

    A process that asks again keeps the words of the lines in memory (:mod:`arr_sql.retrieval.hot_grep`).
    """

    name = "grep"
    provider = "local"
    read_only = True

    def __init__(
        self, reader: Connection, roots: Callable[[], Sequence[GrepRoot]], *, hot: HotGrep | None = None,
        by_row: HitsByRow = hits_by_row, indexes: LineIndexes | None = None, postings: HotPostings | None = None,
    ) -> None:  # fmt: skip
        """``by_row`` reads chunks, or has them in memory (:mod:`arr_sql.retrieval.hot_chunks`), as ``postings`` has the
        frequencies of words."""
        self._reader, self._roots, self._hot, self._hits_by_row = reader, roots, hot, by_row
        self._indexes, self._postings = indexes or LineIndexes(), postings

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """State ``ok``, ``empty``, ``cut``, or ``unavailable`` (``no_roots``, ``other_branch``, ``root_missing``)."""
        roots = self._roots()
        if not roots and self._reader.execute(load("read_any_memory"), scope.bindings()).fetchone():
            return ChannelAnswer("empty")  # a scope that is kept for its memories has no lines to search
        if not roots:
            return ChannelAnswer("unavailable", code=ReasonCode.NO_ROOTS)
        here = [root for root in roots if not root.is_other_branch]
        if not here:
            return ChannelAnswer("unavailable", code=ReasonCode.OTHER_BRANCH)
        wanted = needles(query, self._rarity(query, scope))
        if not wanted:
            return ChannelAnswer("empty")
        with ExitStack() as stack:
            opened: dict[int, tuple[GrepRoot, Root]] = {}
            for root in here:
                try:
                    opened[root.id] = (root, stack.enter_context(Root(root.path)))
                except PathRefused:
                    continue
            if not opened:
                return ChannelAnswer("unavailable", code=ReasonCode.ROOT_MISSING)
            indexes = {
                str(key): index for key, (root, _) in opened.items()
                if root.only_file is None and (index := self._indexes.of(self._reader, scope, key)) is not None
            }  # fmt: skip
            inner = {str(root.id): below for root in here if (below := _inner(root, roots))}

            def answer(hot: HotSearch | None) -> tuple[LineSearch, BestHits | None]:
                found = search_lines(
                    [(str(key), root) for key, (_, root) in opened.items()], wanted, deadline=deadline,
                    max_results=MAX_LINES, indexes=indexes, memory=hot,
                    only={str(root.id): root.only_file for root in here if root.only_file is not None},
                )  # fmt: skip
                lines = found.hits
                if inner:
                    lines = [hit for hit in lines if not f"{hit.rel}/".startswith(inner.get(hit.root_name, ()))]
                files = {
                    (name, rel): SeenFile(opened[int(name)][1], opened[int(name)][0].prefix, *stat)
                    for (name, rel), stat in found.files.items()
                }
                return found, best_hits(self._reader, scope, lines, files, k, hot, inner, self._hits_by_row)

            hot = None if self._hot is None else self._hot.search(self._reader, scope, wanted_forms(wanted))
            found, best = answer(hot)
            if best is None:  # the store has changed since the memory was asked
                hot = None
                found, best = answer(None)
            assert best is not None
            hits, count = best.hits, best.count
            if hot is not None and self._hot is not None:
                self._hot.learn(scope, hot)
        detail = {"files": found.scanned_files, "lines": best.n_lines, "withheld": found.withheld}
        if found.indexed:
            detail |= {"ruled_out": found.ruled_out, "changed": found.changed}
            if found.damaged:
                detail["damaged"] = found.damaged
        if found.cut is not None:
            return ChannelAnswer("cut", hits, count, ReasonCode.CUT, {**detail, "limit": found.cut})
        if len(opened) < len(roots):
            code = ReasonCode.ROOT_MISSING if len(here) == len(roots) else ReasonCode.OTHER_BRANCH
            return ChannelAnswer("cut", hits, count, code, {**detail, "roots": len(opened), "of": len(roots)})
        return ChannelAnswer("ok" if hits else "empty", hits, count, detail=detail)

    def _rarity(self, query: str, scope: ScopeKey) -> Callable[[str], float]:
        """Document frequency of one of the query's terms in this scope; a term that occurs nowhere is rarest.

        Asked for only where words have to be chosen: a query with a name or a quoted string has no need of it.
        """

        @cache
        def frequencies() -> Mapping[str, float]:
            weights = query_terms(query)
            known = None if self._postings is None else self._postings.frequencies(self._reader, scope, weights)
            if known is not None:
                return known
            asked = {**scope.bindings(), "terms": json.dumps(list(weights))}
            return {
                row["term"]: float(row["df"]) for row in self._reader.execute(load("read_document_frequency"), asked)
            }

        return lambda term: frequencies().get(term, 0.0)


def _inner(root: GrepRoot, roots: Sequence[GrepRoot]) -> tuple[str, ...]:
    """How the paths of this root begin (with a / at their end) that another root inside it answers for itself."""
    if root.only_file is not None or len(roots) == 1:
        return ()
    mine, inner = Path(root.path).resolve(), []
    for other in roots:
        path = Path(other.path).resolve()
        if other.only_file is None and mine in path.parents:
            inner.append(path.relative_to(mine).as_posix() + "/")
        elif other.only_file is not None and (path == mine or mine in path.parents):
            inner.append((path / other.only_file).relative_to(mine).as_posix() + "/")
    return tuple(inner)
