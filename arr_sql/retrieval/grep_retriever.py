"""The grep channel: exact lines in the trusted roots, on the files as they are on disk now (contract 9.4).

Needles come from the query: quoted strings, identifiers, error codes, paths, else its rarest words. A line inside an
ingested, unchanged chunk answers with that chunk, so that channels can agree on it; any other line answers for itself.
It answers only where the tree on disk is the scope's, else it says ``other_branch``.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arr_sql.core.analysis import query_terms
from arr_sql.core.canonical import canonical_json, sha256_bytes, sha256_text, significant
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import FileInfo, FileRead, Root
from arr_sql.core.router_models import ReasonCode
from arr_sql.core.statements import load
from arr_sql.errors import PathRefused
from arr_sql.retrieval.catalog import ChannelAnswer, Hit
from arr_sql.retrieval.line_index import read_line_index
from arr_sql.retrieval.line_search import LineHit, search_lines
from arr_sql.retrieval.needles import needles
from arr_sql.retrieval.rows import chunk_hit, chunks_by_row

WINDOW_LINES = 20
"""Lines of a file that is not ingested, or has changed since, are answered together when they are this close."""
MAX_LINES = 20_000
"""More matching lines than this end the scan (``cut``)."""
NO_INDEX_TIME = "1970-01-01T00:00:00.000000Z"


@dataclass(frozen=True)
class GrepRoot:
    """A trusted folder as the channel sees it."""

    id: int
    prefix: str
    path: str
    only_file: str | None
    is_other_branch: bool


@dataclass
class _Group:
    """The hit lines that one answer stands for."""

    lines: list[LineHit]
    row: Any = None

    def needles(self) -> set[str]:
        return {needle for line in self.lines for needle in line.needles}


class GrepRetriever:
    """Holds a reader (for chunk ids and document frequencies) and the list of trusted folders."""

    name = "grep"
    provider = "local"
    read_only = True

    def __init__(self, reader: Connection, roots: Callable[[], Sequence[GrepRoot]]) -> None:
        self._reader, self._roots = reader, roots

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
                if root.only_file is None and (index := read_line_index(self._reader, scope, key)) is not None
            }  # fmt: skip
            found = search_lines(
                [(str(key), root) for key, (_, root) in opened.items()], wanted, deadline=deadline, max_results=MAX_LINES,
                only={str(root.id): root.only_file for root in here if root.only_file is not None}, indexes=indexes,
            )  # fmt: skip
            inner = {str(root.id): _inner(root, roots) for root in here}
            lines = [hit for hit in found.hits if not f"{hit.rel}/".startswith(inner[hit.root_name])]
            groups = self._groups(lines, opened, scope)
        hits = tuple(_rank(groups, {key: root for key, (root, _) in opened.items()}, scope, k))
        detail = {"files": found.scanned_files, "lines": len(lines), "withheld": found.withheld}
        if found.indexed:
            detail |= {"ruled_out": found.ruled_out, "changed": found.changed}
            if found.damaged:
                detail["damaged"] = found.damaged
        if found.cut is not None:
            return ChannelAnswer("cut", hits, len(groups), ReasonCode.CUT, {**detail, "limit": found.cut})
        if len(opened) < len(roots):
            code = ReasonCode.ROOT_MISSING if len(here) == len(roots) else ReasonCode.OTHER_BRANCH
            return ChannelAnswer("cut", hits, len(groups), code, {**detail, "roots": len(opened), "of": len(roots)})
        return ChannelAnswer("ok" if hits else "empty", hits, len(groups), detail=detail)

    def _rarity(self, query: str, scope: ScopeKey) -> Callable[[str], float]:
        """Document frequency of one of the query's terms in this scope; a term that occurs nowhere is rarest."""
        terms = list(query_terms(query))
        rows = self._reader.execute(load("read_document_frequency"), {**scope.bindings(), "terms": json.dumps(terms)})
        frequency = {row["term"]: float(row["df"]) for row in rows}
        return lambda term: frequency.get(term, 0.0)

    def _groups(
        self, lines: Sequence[LineHit], opened: dict[int, tuple[GrepRoot, Root]], scope: ScopeKey
    ) -> list[_Group]:
        """Lines by the chunk that holds them; the rest by nearness in their file."""
        holders = self._holders(lines, scope)
        unchanged: dict[tuple[str, str], bool] = {}
        groups: dict[Any, _Group] = {}
        loose: dict[tuple[str, str], list[LineHit]] = defaultdict(list)
        for place, hit in enumerate(lines):
            row, key = holders.get(place), (hit.root_name, hit.rel)
            if row is not None and key not in unchanged:
                unchanged[key] = _is_unchanged(opened[int(hit.root_name)][1], hit.rel, row)
            if row is not None and unchanged[key] and _holds(row["content"], hit):
                groups.setdefault(row["chunk_id"], _Group([], row)).lines.append(hit)
            else:
                loose[key].append(hit)
        return [*groups.values(), *(_Group(window) for found in loose.values() for window in _windows(found))]

    def _holders(self, lines: Sequence[LineHit], scope: ScopeKey) -> dict[int, Any]:
        """For each hit line (by its place in ``lines``) the row of the chunk that held it when it was ingested."""
        files = list(dict.fromkeys((int(hit.root_name), hit.rel) for hit in lines))
        values = {**scope.bindings(), "files": json.dumps(files)}
        spans: dict[tuple[int, str], list[Any]] = defaultdict(list)
        for row in self._reader.execute(load("search_chunk_spans"), values):
            spans[files[row["file"]]].append(row)
        held: dict[int, Any] = {}
        for place, hit in enumerate(lines):
            # The last span that begins at or before the line; several may begin there, the first that reaches it holds it.
            candidates = spans.get((int(hit.root_name), hit.rel), [])
            end = bisect_right(candidates, hit.line_no, key=lambda row: row["start_line"])
            for row in reversed(candidates[max(0, end - 8) : end]):
                if row["end_line"] >= hit.line_no:
                    held[place] = row
                    break
        chunks = chunks_by_row(self._reader, scope, (row["chunk"] for row in held.values()))
        return {
            place: {**dict(row), **dict(chunks[row["chunk"]])} for place, row in held.items() if row["chunk"] in chunks
        }


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


def _is_unchanged(root: Root, rel: str, row: Any) -> bool:
    """Is the file what was taken in? By size and time, else by its bytes: a file that was only touched is."""
    info = root.look(rel)
    if not isinstance(info, FileInfo) or info.size != row["size"]:
        return False
    if info.mtime_ns == row["mtime_ns"]:
        return True
    read = root.read_file(rel, info.size)
    return isinstance(read, FileRead) and sha256_bytes(read.data) == row["file_hash"]


def _holds(content: str, hit: LineHit) -> bool:
    """Is the line as it is now part of the chunk as it was ingested?"""
    return hit.clipped or hit.text.strip() in content


def _windows(lines: Iterable[LineHit]) -> list[list[LineHit]]:
    windows: list[list[LineHit]] = []
    for hit in lines:
        if windows and hit.line_no - windows[-1][0].line_no < WINDOW_LINES:
            windows[-1].append(hit)
        else:
            windows.append([hit])
    return windows


def _rank(groups: list[_Group], roots: dict[int, GrepRoot], scope: ScopeKey, k: int) -> list[Hit]:
    """Best first: by the rarity of the needles a group holds, then by how many of its lines hold one."""
    holding: dict[str, int] = defaultdict(int)
    for group in groups:
        for needle in group.needles():
            holding[needle] += 1
    scored = []
    for group in groups:
        rarity = math.fsum(math.log(1 + len(groups) / holding[needle]) for needle in sorted(group.needles()))
        score = significant(rarity + 0.1 * len(group.lines) / (1 + len(group.lines)))
        hit = chunk_hit(group.row, scope, 1, score) if group.row is not None else _line_hit(group, roots, scope, score)
        scored.append((-score, hit.source_ref, group.lines[0].line_no, hit.chunk_id, group, hit))
    scored.sort(key=lambda item: item[:4])
    return [
        Hit(
            **{
                **vars(hit),
                "rank": rank,
                "metadata": {**hit.metadata, "matched_lines": [x.line_no for x in group.lines][:20]},
            }
        )
        for rank, (*_, group, hit) in enumerate(scored[:k], 1)
    ]


def _line_hit(group: _Group, roots: dict[int, GrepRoot], scope: ScopeKey, score: float) -> Hit:
    first, last = group.lines[0], group.lines[-1]
    # A name that is not UTF-8 can be opened and not be written down: its odd bytes are shown by number.
    source_ref = (roots[int(first.root_name)].prefix + first.rel).encode("utf-8", "backslashreplace").decode()
    content = "\n".join(line.text for line in group.lines)
    digest = sha256_text(canonical_json([*scope.values(), source_ref, first.line_no, content]))
    return Hit(
        chunk_id=f"g{digest[:20]}", scope=scope, rank=1, score=score, source_ref=source_ref,
        locator=f"L{first.line_no}" if first.line_no == last.line_no else f"L{first.line_no}-{last.line_no}",
        content=content, content_hash=sha256_text(content), heading="", created_at=NO_INDEX_TIME,
        metadata={"kind": "lines", "as_on_disk": True, "start_line": first.line_no, "end_line": last.line_no},
    )  # fmt: skip
