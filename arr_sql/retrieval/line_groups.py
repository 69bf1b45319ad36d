"""What the grep channel makes of hit lines: answers, and their order.

A line inside an ingested, unchanged chunk answers with that chunk; the other lines of a file answer for themselves, those
close together as one. Thousands of lines may be hits where a hundred answers are wanted, so the answers are told apart and
ordered by spans and numbers, and only those that are returned are read whole.

Held by ``tests/retrieval/test_line_groups.py``, against a plain way of saying the same.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from arr_sql.core.canonical import canonical_json, sha256_bytes, sha256_text, significant
from arr_sql.core.connection import Connection, read_transaction
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import FileRead, Root
from arr_sql.core.statements import load
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.line_search import LineHit
from arr_sql.retrieval.rows import chunk_hit, chunks_by_row

WINDOW_LINES = 20
"""Lines of a file that is not ingested, or has changed since, are answered together when they are this close."""
NO_INDEX_TIME = "1970-01-01T00:00:00.000000Z"
MAX_MATCHED_LINES = 20
_BEGUN_BEFORE = 8
"""How many of the spans that begin before a line are looked at: spans overlap little."""

Place = tuple[str, str]
"""A file: the name of its root, and its path there."""


@dataclass(slots=True)
class _Spans:
    """Where the chunks of one file stood when it was read, and what the file system said of it then."""

    size: int
    mtime_ns: int
    starts: list[int]
    ends: list[int]
    chunks: list[int]

    def holder(self, line_no: int) -> int | None:
        """The chunk that held a line: the last that begins at or before it and reaches it."""
        end = bisect_right(self.starts, line_no)
        for number in range(end - 1, max(0, end - _BEGUN_BEFORE) - 1, -1):
            if self.ends[number] >= line_no:
                return self.chunks[number]
        return None


@dataclass(slots=True)
class _Group:
    """The hit lines that one answer stands for, and the row of the chunk that holds them."""

    source_ref: str
    lines: list[LineHit]
    chunk: int | None = None

    def needles(self) -> tuple[str, ...]:
        first = self.lines[0].needles
        if all(line.needles == first for line in self.lines):
            return first
        return tuple({needle: None for line in self.lines for needle in line.needles})


@dataclass(frozen=True, slots=True)
class SeenFile:
    """The root that a file with hits was read through, what its source_refs begin with, and its size and time then."""

    root: Root
    prefix: str
    size: int
    mtime_ns: int


def best_hits(
    reader: Connection, scope: ScopeKey, lines: Sequence[LineHit], files: Mapping[Place, SeenFile], k: int
) -> tuple[tuple[Hit, ...], int]:
    """The best ``k`` answers that ``lines`` make, and how many they make in all.

    Best first: by the rarity of the needles that an answer holds, then by how many of its lines hold one, then by place.
    """
    with nullcontext() if reader.in_transaction else read_transaction(reader):
        groups = _groups(reader, scope, lines, files)
        scores = _scores(groups)
        order = sorted(
            (-score, group.source_ref, group.lines[0].line_no, number)
            for number, (group, score) in enumerate(zip(groups, scores, strict=True))
        )
        # Answers that share the place of the last one are told apart by their ids, which only whole hits have.
        chosen = [item for item in order if item[:3] <= order[k - 1][:3]] if len(order) > k > 0 else order[:k]
        rows = chunks_by_row(
            reader, scope, (chunk for *_, number in chosen if (chunk := groups[number].chunk) is not None)
        )
    hits = []
    for score, _, line_no, number in chosen:
        group = groups[number]
        hit = (
            _loose_hit(group, scope, -score) if group.chunk is None else chunk_hit(rows[group.chunk], scope, 1, -score)
        )
        hits.append((score, hit.source_ref, line_no, hit.chunk_id, group, hit))
    hits.sort(key=lambda item: item[:4])
    return tuple(
        replace(hit, rank=rank, metadata={**hit.metadata, "matched_lines": _numbers(group)})
        for rank, (*_, group, hit) in enumerate(hits[:k], 1)
    ), len(groups)


def _numbers(group: _Group) -> list[int]:
    return [line.line_no for line in group.lines[:MAX_MATCHED_LINES]]


def _groups(
    reader: Connection, scope: ScopeKey, lines: Sequence[LineHit], files: Mapping[Place, SeenFile]
) -> list[_Group]:
    """Lines by the chunk that holds them; the rest by nearness in their file."""
    by_file: dict[Place, list[LineHit]] = defaultdict(list)
    for hit in lines:
        by_file[hit.root_name, hit.rel].append(hit)
    refs = {place: _shown(files[place].prefix + place[1]) for place in by_file}
    held: dict[int, _Group] = {}
    loose: dict[Place, list[LineHit]] = {}
    for place, spans in _spans(reader, scope, by_file).items():
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
    contents = _contents(reader, scope, held)
    for chunk, group in held.items():
        kept = [hit for hit in group.lines if chunk in contents and _holds(contents[chunk], hit)]
        if len(kept) < len(group.lines):
            place, whole = (group.lines[0].root_name, group.lines[0].rel), {id(hit) for hit in kept}
            loose[place].extend(hit for hit in group.lines if id(hit) not in whole)
            group.lines = kept
    groups = [group for group in held.values() if group.lines]
    for place, found in by_file.items():
        rest = loose.get(place, found)
        groups.extend(_Group(refs[place], window) for window in _windows(sorted(rest, key=lambda hit: hit.line_no)))
    return groups


def _spans(reader: Connection, scope: ScopeKey, places: Iterable[Place]) -> dict[Place, _Spans]:
    """The spans of those files that were ingested."""
    wanted = [(int(root_name), rel) for root_name, rel in places]
    found: dict[int, _Spans] = {}
    values = {**scope.bindings(), "files": json.dumps(wanted)}
    for file, chunk, start, end, size, mtime_ns in reader.execute(load("search_chunk_spans"), values):
        spans = found.get(file)
        if spans is None:
            spans = found[file] = _Spans(size, mtime_ns, [], [], [])
        spans.starts.append(start)
        spans.ends.append(end)
        spans.chunks.append(chunk)
    return {(str(wanted[file][0]), wanted[file][1]): spans for file, spans in found.items()}


def _is_unchanged(reader: Connection, scope: ScopeKey, seen: SeenFile, rel: str, spans: _Spans) -> bool:
    """Is the file what was taken in? By size and time, else by its bytes: a file that was only touched is."""
    if seen.size != spans.size or seen.mtime_ns == spans.mtime_ns:
        return seen.size == spans.size
    read = seen.root.read_file(rel, seen.size)
    rows = chunks_by_row(reader, scope, spans.chunks[:1]).values()
    return isinstance(read, FileRead) and sha256_bytes(read.data) in [row["file_hash"] for row in rows]


def _contents(reader: Connection, scope: ScopeKey, chunks: Iterable[int]) -> dict[int, str]:
    values = {**scope.bindings(), "chunks": json.dumps(sorted(chunks))}
    return {row["chunk"]: row["content"] for row in reader.execute(load("search_chunk_texts"), values)}


def _holds(content: str, hit: LineHit) -> bool:
    """Is the line as it is now part of the chunk as it was ingested?

    Not where the reader wrote it otherwise (a notebook, a table), or the chunk ends within the line.
    """
    return hit.clipped or hit.text.strip() in content


def _windows(lines: Iterable[LineHit]) -> list[list[LineHit]]:
    windows: list[list[LineHit]] = []
    for hit in lines:
        if windows and hit.line_no - windows[-1][0].line_no < WINDOW_LINES:
            windows[-1].append(hit)
        else:
            windows.append([hit])
    return windows


def _scores(groups: Sequence[_Group]) -> list[float]:
    """Of each group. Most share their needles and their number of lines with others."""
    kinds = [(frozenset(group.needles()), len(group.lines)) for group in groups]
    holding: Counter[str] = Counter()
    for (needles, _), times in Counter(kinds).items():
        for needle in needles:
            holding[needle] += times
    score = {kind: _score(*kind, holding, len(groups)) for kind in set(kinds)}
    return [score[kind] for kind in kinds]


def _score(needles: Iterable[str], n_lines: int, holding: Mapping[str, int], n_groups: int) -> float:
    rarity = math.fsum(math.log(1 + n_groups / holding[needle]) for needle in sorted(needles))
    return significant(rarity + 0.1 * n_lines / (1 + n_lines))


def _loose_hit(group: _Group, scope: ScopeKey, score: float) -> Hit:
    first, last, source_ref = group.lines[0], group.lines[-1], group.source_ref
    content = "\n".join(line.text for line in group.lines)
    digest = sha256_text(canonical_json([*scope.values(), source_ref, first.line_no, content]))
    return Hit(
        chunk_id=f"g{digest[:20]}", scope=scope, rank=1, score=score, source_ref=source_ref,
        locator=f"L{first.line_no}" if first.line_no == last.line_no else f"L{first.line_no}-{last.line_no}",
        content=content, content_hash=sha256_text(content), heading="", created_at=NO_INDEX_TIME,
        metadata={"kind": "lines", "as_on_disk": True, "start_line": first.line_no, "end_line": last.line_no},
    )  # fmt: skip


def _shown(path: str) -> str:
    """A name that is not UTF-8 can be opened and not be written down: its odd bytes are shown by number."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()
