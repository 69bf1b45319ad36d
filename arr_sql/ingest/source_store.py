"""Writing sources: one function per thing that can happen to a file, and :func:`finish` before the caller commits.

Rows are never changed in place: a new version is added and the old one gets the revision that retired it, so a replay
sees the store as it was. Each call writes its audit event.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from arr_sql.core.canonical import canonical_json, sha256_text
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.row_hashes import chunks_hash, source_version_hash
from arr_sql.core.statements import load
from arr_sql.index.text_index import ChunkTerms, add_chunks, remove_terms
from arr_sql.ingest.prepare import Prepared, PreparedChunk
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.row_vouching import hashes_of_vectors


@dataclass(frozen=True)
class Writing:
    """What every write of one batch shares."""

    connection: Connection
    scope: ScopeKey
    scope_id: int
    revision: int
    now: datetime
    actor: str
    git_commit: str | None
    new_terms: list[tuple[int, ChunkTerms]] = field(default_factory=list)
    """Chunk rows whose terms wait for :func:`finish`."""


def finish(w: Writing) -> None:
    """Put the terms of all new chunks into the index; the last step of a batch.

    FTS5 gathers terms in memory, and writes them out as a small index of its own whenever a statement with a trigger
    (each audit event has one) opens a savepoint. One by one, the files' terms cost three times as much to write and merge.
    """
    add_chunks(w.connection, w.scope_id, w.new_terms)
    w.new_terms.clear()


@dataclass(frozen=True)
class ChunkCounts:
    """How many chunk rows one file's change added and retired."""

    added: int
    retired: int


def add_file(w: Writing, root_id: int, source_ref: str, prepared: Prepared, git_state: str | None) -> ChunkCounts:
    """A file that was not known before."""
    cursor = w.connection.execute(
        load("add_source"), {"scope_id": w.scope_id, "root_id": root_id, "created_at": to_text(w.now)}
    )
    source_id = cursor.lastrowid
    assert source_id is not None
    return _store(w, "source_added", source_id, source_ref, prepared, git_state, [], root_id)


def change_file(
    w: Writing, version_id: int, source_id: int, source_ref: str, prepared: Prepared, git_state: str | None
) -> ChunkCounts:
    """A known file whose bytes (or reader) changed. Chunks that are the same keep their rows, moved ones their ids."""
    old = w.connection.execute(load("read_source_chunks"), {"source_id": source_id}).fetchall()
    w.connection.execute(load("set_source_version_retired"), {"id": version_id, "revision": w.revision})
    return _store(w, "source_changed", source_id, source_ref, prepared, git_state, old)


def rename_file(w: Writing, version_id: int, source_ref: str, path_in_root: str, git_state: str | None) -> None:
    """The same bytes under another path: a new version, the same chunks with the same ids."""
    row = dict(w.connection.execute(load("read_source_version"), {"id": version_id}).fetchone())
    w.connection.execute(load("set_source_version_retired"), {"id": version_id, "revision": w.revision})
    row |= {
        "source_ref": source_ref, "path_in_root": path_in_root, "git_commit": w.git_commit, "git_state": git_state,
        "created_at": to_text(w.now), "added_revision": w.revision,
    }  # fmt: skip
    _add_version(w, "source_renamed", row, {"from_version": version_id})


def remove_file(w: Writing, version_id: int, source_id: int) -> ChunkCounts:
    """A known file that is gone, or is no longer taken in."""
    old = w.connection.execute(load("read_source_chunks"), {"source_id": source_id}).fetchall()
    for row in old:
        _retire_chunk(w, row)
        retire_embeddings(w, row["id"])
    w.connection.execute(load("set_source_version_retired"), {"id": version_id, "revision": w.revision})
    _event(w, "source_removed", version_id, "", {"source": source_id, "chunks": len(old)})
    return ChunkCounts(0, len(old))


def note_stat(connection: Connection, source_id: int, size: int, mtime_ns: int, read_at_ns: int = 0) -> None:
    """Remember what the file system said, so that the next sync can skip the file."""
    connection.execute(
        load("set_source_stat"), {"source_id": source_id, "size": size, "mtime_ns": mtime_ns, "read_at_ns": read_at_ns}
    )


def _store(
    w: Writing,
    kind: str,
    source_id: int,
    source_ref: str,
    p: Prepared,
    git_state: str | None,
    old: list[Any],
    root_id: int | None = None,
) -> ChunkCounts:
    listed, counts, moved = _replace_chunks(w, source_id, source_ref, p.chunks, old)
    _add_version(
        w, kind,
        {
            "scope_id": w.scope_id, "source_id": source_id, "source_ref": source_ref, "path_in_root": p.path,
            "content_hash": p.data_hash, "size": p.size, "reader": p.reader, "reader_version": p.reader_version,
            "encoding": p.encoding, "encoding_confidence": float(p.confidence), "title": p.title,
            "language": p.language, "metadata": canonical_json(dict(p.metadata)),
            "warnings": canonical_json(list(p.warnings)), "lines_withheld": p.lines_withheld,
            "git_commit": w.git_commit, "git_state": git_state, "n_chunks": len(listed),
            "chunks_hash": chunks_hash(listed), "created_at": to_text(w.now), "added_revision": w.revision,
        },
        {
            "chunks_added": counts.added, "chunks_retired": counts.retired,
            **({"root": root_id} if root_id is not None else {}),
            **({"vector_hashes": hashes_of_vectors(w.connection, moved, w.revision)} if moved else {}),
        },
    )  # fmt: skip
    note_stat(w.connection, source_id, p.size, p.mtime_ns, p.read_at_ns)
    return counts


def _add_version(w: Writing, kind: str, row: dict[str, Any], details: dict[str, Any]) -> None:
    version_id = w.connection.execute(load("add_source_version"), row).lastrowid
    assert version_id is not None
    _event(w, kind, version_id, source_version_hash(row), {"source": row["source_id"], **details})


def _event(w: Writing, kind: str, version_id: int, subject_hash: str, details: dict[str, Any]) -> None:
    append_event(
        w.connection, scope_id=w.scope_id, revision=w.revision, at=w.now, actor=w.actor, kind=kind,
        subject_kind="source_version", subject_id=str(version_id), subject_hash=subject_hash, details=details,
    )  # fmt: skip


def _replace_chunks(
    w: Writing, source_id: int, source_ref: str, chunks: Sequence[PreparedChunk], old: list[Any]
) -> tuple[list[list[Any]], ChunkCounts, list[int]]:
    """Keep equal rows, give moved texts their old ids, add the rest.

    The version's chunk list, what was written, and the rows of moved texts, which took their vectors along.
    """
    same = {_identity(row): row for row in old}
    rows = [same.get(_new_identity(item)) for item in chunks] if same else [None] * len(chunks)
    kept, moved = {row["id"] for row in rows if row is not None}, defaultdict(list)
    for row in old:
        if row["id"] not in kept:
            moved[row["content_hash"]].append(row)
            _retire_chunk(w, row)
    listed: list[list[Any]] = []
    new: list[tuple[str, PreparedChunk]] = []
    taken: list[tuple[int, int]] = []  # (where in new, the row whose vector goes along)
    free = _FreeChunkIds(
        w, source_ref, [item.content_hash for item, row in zip(chunks, rows, strict=True) if row is None]
    )
    for item, row in zip(chunks, rows, strict=True):
        if row is not None:
            chunk_id = row["chunk_id"]
        else:
            before = moved[item.content_hash].pop(0) if moved[item.content_hash] else None
            if before is not None:
                taken.append((len(new), before["id"]))
                chunk_id = free.keep(before["chunk_id"])
            else:
                chunk_id = free.take(item.content_hash)
            new.append((chunk_id, item))
        c = item.chunk
        # In the order of CHUNK_FIELDS: what chunk_entry() makes of the stored row.
        listed.append([chunk_id, item.content_hash, item.embed_hash, c.kind, c.locator, c.start_line, c.end_line])
    first = _add_chunks(w, source_id, new)
    for place, before_id in taken:
        w.connection.execute(
            load("add_moved_embedding"),
            {
                "new_id": first + place,
                "old_id": before_id,
                "embed_hash": new[place][1].embed_hash,
                "revision": w.revision,
            },
        )
    for row in old:
        if row["id"] not in kept:  # only now: a moved text has taken its vector along
            retire_embeddings(w, row["id"])
    return listed, ChunkCounts(len(new), len(old) - len(kept)), [first + place for place, _ in taken]


def _identity(row: Any) -> tuple[Any, ...]:
    return (row["content_hash"], row["heading"], row["locator"], row["kind"], row["ordinal"], row["start_line"],
            row["end_line"])  # fmt: skip


def _new_identity(item: PreparedChunk) -> tuple[Any, ...]:
    c = item.chunk
    return (item.content_hash, c.heading, c.locator, c.kind, c.ordinal, c.start_line, c.end_line)


class _FreeChunkIds:
    """``c`` and 20 hex digits of SHA-256 over scope, path, content and, for a repeated text, its number."""

    def __init__(self, w: Writing, source_ref: str, content_hashes: Sequence[str]) -> None:
        self._head = canonical_json([*w.scope.values(), source_ref])[:-1]
        self._w = w
        self._first = {content_hash: self._id(content_hash, 0) for content_hash in content_hashes}
        wanted = json.dumps(list(self._first.values()))
        rows = w.connection.execute(load("read_chunk_ids_taken"), {"scope_id": w.scope_id, "chunk_ids": wanted})
        self._taken = {row["chunk_id"] for row in rows} if content_hashes else set()

    def _id(self, content_hash: str, number: int) -> str:
        """As ``canonical_json([*scope, source_ref, content_hash, number])`` hashes."""
        return "c" + sha256_text(f'{self._head},"{content_hash}",{number}]')[:20]

    def take(self, content_hash: str) -> str:
        """The first id of this text that no live chunk has, nor one given out before."""
        number, chunk_id = 0, self._first[content_hash]
        while chunk_id in self._taken or (number and self._is_live(chunk_id)):
            number += 1
            chunk_id = self._id(content_hash, number)
        self._taken.add(chunk_id)
        return chunk_id

    def keep(self, chunk_id: str) -> str:
        """An id that a moved text brings along."""
        self._taken.add(chunk_id)
        return chunk_id

    def _is_live(self, chunk_id: str) -> bool:
        wanted = json.dumps([chunk_id])
        rows = self._w.connection.execute(
            load("read_chunk_ids_taken"), {"scope_id": self._w.scope_id, "chunk_ids": wanted}
        )
        return rows.fetchone() is not None


def _add_chunks(w: Writing, source_id: int, new: list[tuple[str, PreparedChunk]]) -> int:
    """Store new chunks and note their terms; the row of the first, the others follow it."""
    first = next_chunk_row(w.connection)
    created_at = to_text(w.now)
    rows = []
    for row_id, (chunk_id, item) in enumerate(new, first):
        c = item.chunk
        rows.append(
            {
                "id": row_id, "scope_id": w.scope_id, "source_id": source_id, "chunk_id": chunk_id, "ordinal": c.ordinal,
                "heading": c.heading, "content": c.text, "content_hash": item.content_hash,
                "embed_hash": item.embed_hash, "kind": c.kind, "locator": c.locator, "start_line": c.start_line,
                "end_line": c.end_line, "created_at": created_at, "added_revision": w.revision, **item.terms.bindings(),
            }
        )  # fmt: skip
    w.connection.executemany(load("add_chunk"), rows)
    w.new_terms.extend((row_id, item.terms) for row_id, (_, item) in enumerate(new, first))
    return first


def next_chunk_row(connection: Connection) -> int:
    """The row of the next chunk: one more than there ever were in the file."""
    return int(connection.execute(load("read_next_chunk_row")).fetchone()["id"])


def _retire_chunk(w: Writing, row: Any) -> None:
    remove_terms(
        w.connection, "chunk", row["id"], w.scope_id,
        heading=row["heading"], body=row["content"], terms_hash=row["terms_hash"],
    )  # fmt: skip
    w.connection.execute(load("set_chunk_retired"), {"id": row["id"], "revision": w.revision})


def retire_embeddings(w: Writing, chunk_row: int) -> None:
    """A retired chunk's vectors retire with it."""
    w.connection.execute(load("set_embeddings_retired"), {"id": chunk_row, "revision": w.revision})
