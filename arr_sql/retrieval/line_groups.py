"""What the grep channel makes of hit lines: answers, and their order.

A line inside an ingested, unchanged chunk answers with that chunk; the other lines of a file answer for themselves, those
close together as one. Thousands of lines may be hits where a hundred answers are wanted, so the answers are told apart and
ordered by spans and numbers, and only those that are returned are read whole.

Held by ``tests/retrieval/test_line_groups.py``, against a plain way of saying the same.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType

from arr_sql.core.canonical import canonical_json, sha256_bytes, sha256_text, significant
from arr_sql.core.connection import Connection, read_transaction
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import FileRead, Root
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.hot_line_search import HotAnswer, HotSearch, Kind
from arr_sql.retrieval.line_spans import Place, Spans, holds, read_spans, read_texts
from arr_sql.retrieval.line_values import LineHit
from arr_sql.retrieval.rows import HitsByRow, chunks_by_row, hits_by_row

WINDOW_LINES = 20
"""Lines of a file that is not ingested, or has changed since, are answered together when they are this close."""
NO_INDEX_TIME = "1970-01-01T00:00:00.000000Z"
MAX_MATCHED_LINES = 20


@dataclass(slots=True)
class _Group:
    """The hit lines that one answer stands for, and the row of the chunk that holds them."""

    source_ref: str
    lines: list[LineHit]
    chunk: int | None = None

    @property
    def matched_lines(self) -> list[int]:
        return [line.line_no for line in self.lines]

    def needles(self) -> tuple[str, ...]:
        first = self.lines[0].needles
        if all(line.needles == first for line in self.lines):
            return first
        return tuple({needle: None for line in self.lines for needle in line.needles})


@dataclass(frozen=True, slots=True)
class BestHits:
    """The best answers, how many there are in all, and how many lines they stand for."""

    hits: tuple[Hit, ...]
    count: int
    n_lines: int


@dataclass(frozen=True, slots=True)
class SeenFile:
    """The root that a file with hits was read through, what its source_refs begin with, and its size and time then."""

    root: Root
    prefix: str
    size: int
    mtime_ns: int


def best_hits(
    reader: Connection, scope: ScopeKey, lines: Sequence[LineHit], files: Mapping[Place, SeenFile], k: int,
    hot: HotSearch | None = None, inner: Mapping[str, tuple[str, ...]] = MappingProxyType({}), by_row: HitsByRow = hits_by_row,
) -> BestHits | None:  # fmt: skip
    """The best ``k`` answers that ``lines`` make, together with those that ``hot`` took from memory.

    Best first: by the rarity of the needles that an answer holds, then by how many of its lines hold one, then by place.
    ``by_row`` reads chunks, or has them in memory. None when the store has changed since ``hot`` looked at it.
    """
    with nullcontext() if reader.in_transaction else read_transaction(reader):
        if hot is not None and not hot.is_current(reader, scope):
            return None
        groups = _groups(reader, scope, lines, files)
        taken = None if hot is None else hot.answers(inner)
        kinds = Counter((frozenset(group.needles()), len(group.lines)) for group in groups)
        score = _scores(kinds if taken is None else kinds + taken.kinds)
        order: list[tuple[float, str, int, _Group | HotAnswer]] = [
            (-score[frozenset(group.needles()), len(group.lines)], group.source_ref, group.lines[0].line_no, group)
            for group in groups
        ]
        order.extend(() if taken is None else taken.best(score, k))
        order.sort(key=lambda item: item[:3])
        # Answers that share the place of the last one are told apart by their ids, which only whole hits have.
        chosen = [item for item in order if item[:3] <= order[k - 1][:3]] if len(order) > k > 0 else order[:k]
        held = (group.chunk for *_, group in chosen)
        whole = by_row(reader, scope, (chunk for chunk in held if chunk is not None))
    hits = []
    for least, _, line_no, group in chosen:
        hit = _loose_hit(group, scope) if group.chunk is None else whole[group.chunk]
        hits.append((least, hit.source_ref, line_no, hit.chunk_id, group, hit))
    hits.sort(key=lambda item: item[:4])
    best = tuple(
        hit.at(rank, -least, matched_lines=_shown(group)) for rank, (least, *_, group, hit) in enumerate(hits[:k], 1)
    )
    if taken is None:
        return BestHits(best, len(groups), len(lines))
    return BestHits(best, len(groups) + len(taken), len(lines) + taken.n_lines)


def _shown(group: _Group | HotAnswer) -> list[int]:
    return [*group.matched_lines[:MAX_MATCHED_LINES]]


def _groups(
    reader: Connection, scope: ScopeKey, lines: Sequence[LineHit], files: Mapping[Place, SeenFile]
) -> list[_Group]:
    """Lines by the chunk that holds them; the rest by nearness in their file."""
    by_file: dict[Place, list[LineHit]] = defaultdict(list)
    for hit in lines:
        by_file[hit.root_name, hit.rel].append(hit)
    refs = {place: _written(files[place].prefix + place[1]) for place in by_file}
    held: dict[int, _Group] = {}
    loose: dict[Place, list[LineHit]] = {}
    for place, spans in read_spans(reader, scope, by_file).items():
        if not _is_unchanged(reader, scope, files[place], place[1], spans):
            continue
        rest = loose[place] = []
        for hit in by_file[place]:
            chunk = spans.holder(hit.line_no)
            if chunk is None:
                rest.append(hit)
            elif chunk in held:
                held[chunk].lines.append(hit)
            else:
                held[chunk] = _Group(refs[place], [hit], chunk)
    contents = read_texts(reader, scope, held)
    for chunk, group in held.items():
        kept = [hit for hit in group.lines if chunk in contents and holds(contents[chunk], hit.text, hit.clipped)]
        if len(kept) < len(group.lines):
            place, whole = (group.lines[0].root_name, group.lines[0].rel), {id(hit) for hit in kept}
            loose[place].extend(hit for hit in group.lines if id(hit) not in whole)
            group.lines = kept
    groups = [group for group in held.values() if group.lines]
    for place, found in by_file.items():
        rest = loose.get(place, found)
        groups.extend(_Group(refs[place], window) for window in _windows(sorted(rest, key=lambda hit: hit.line_no)))
    return groups


def _is_unchanged(reader: Connection, scope: ScopeKey, seen: SeenFile, rel: str, spans: Spans) -> bool:
    """Is the file what was taken in? By size and time, else by its bytes: a file that was only touched is."""
    if seen.size != spans.size or seen.mtime_ns == spans.mtime_ns:
        return seen.size == spans.size
    read = seen.root.read_file(rel, seen.size)
    rows = chunks_by_row(reader, scope, spans.chunks[:1]).values()
    return isinstance(read, FileRead) and sha256_bytes(read.data) in [row["file_hash"] for row in rows]


def _windows(lines: Iterable[LineHit]) -> list[list[LineHit]]:
    windows: list[list[LineHit]] = []
    for hit in lines:
        if windows and hit.line_no - windows[-1][0].line_no < WINDOW_LINES:
            windows[-1].append(hit)
        else:
            windows.append([hit])
    return windows


def _scores(kinds: Mapping[Kind, int]) -> dict[Kind, float]:
    """The score of each kind of answer, of which there are so many."""
    holding: Counter[str] = Counter()
    for (needles, _), times in kinds.items():
        for needle in needles:
            holding[needle] += times
    total = sum(kinds.values())
    return {(needles, n_lines): _score(needles, n_lines, holding, total) for needles, n_lines in kinds}


def _score(needles: Iterable[str], n_lines: int, holding: Mapping[str, int], n_groups: int) -> float:
    rarity = math.fsum(math.log(1 + n_groups / holding[needle]) for needle in sorted(needles))
    return significant(rarity + 0.1 * n_lines / (1 + n_lines))


def _loose_hit(group: _Group, scope: ScopeKey) -> Hit:
    first, last, source_ref = group.lines[0], group.lines[-1], group.source_ref
    content = "\n".join(line.text for line in group.lines)
    digest = sha256_text(canonical_json([*scope.values(), source_ref, first.line_no, content]))
    return Hit(
        chunk_id=f"g{digest[:20]}", scope=scope, rank=0, score=0.0, source_ref=source_ref,
        locator=f"L{first.line_no}" if first.line_no == last.line_no else f"L{first.line_no}-{last.line_no}",
        content=content, content_hash=sha256_text(content), heading="", created_at=NO_INDEX_TIME,
        metadata={"kind": "lines", "as_on_disk": True, "start_line": first.line_no, "end_line": last.line_no},
    )  # fmt: skip


def _written(path: str) -> str:
    """A name that is not UTF-8 can be opened and not be written down: its odd bytes are shown by number."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()
