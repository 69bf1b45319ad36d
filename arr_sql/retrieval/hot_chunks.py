"""Chunks in memory for a scope that one process asks again and again. Derived, bounded, gone with the next change.

A question finds two hundred chunks, and the next one finds many of them again: what a hit shows of a chunk is read from
the file once a revision of the scope. The answer has the same bytes with and without (tests/retrieval/test_hot_chunks.py).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable

from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.index.vector_state import scope_revision
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.rows import hits_by_row

MAX_BYTES = 64 << 20
"""For one open database: about 20,000 chunks."""
_BESIDE_TEXT = 1_500
"""What a chunk takes beside its text: its names, hashes and numbers."""


class HotChunks:
    """One for an open database. Safe to use from several threads; the chunks read first leave first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._state: tuple[ScopeKey, int] | None = None
        self._kept: dict[int, Hit] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def hits(self, reader: Connection, scope: ScopeKey, chunks: Iterable[int]) -> dict[int, Hit]:
        """As :func:`arr_sql.retrieval.rows.hits_by_row`."""
        wanted, state = set(chunks), (scope, scope_revision(reader, scope))
        with self._lock:
            if self._state != state:
                self._state, self._kept, self._bytes = state, {}, 0
            kept = self._kept
            found = {chunk: kept[chunk] for chunk in wanted if chunk in kept}
        read = hits_by_row(reader, scope, wanted - found.keys()) if len(found) < len(wanted) else {}
        with self._lock:
            if self._kept is kept:
                for chunk, hit in read.items():
                    if kept.setdefault(chunk, hit) is hit:
                        self._bytes += _size(hit)
                while self._bytes > self._max_bytes:
                    self._bytes -= _size(kept.pop(next(iter(kept))))
        return found | read


def _size(hit: Hit) -> int:
    return sys.getsizeof(hit.content) + _BESIDE_TEXT
