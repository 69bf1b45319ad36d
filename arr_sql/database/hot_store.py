"""What a process keeps in memory of one file that it asks again and again, and how databases opened on it share that.

One open :class:`ResearchDatabase` has a :class:`HotStore` of its own. A server opens the file for each call and closes it
again, so that a file can be moved, restored or erased between two calls; a :class:`SharedHotStore` keeps the memory
meanwhile. All of it is derived and bounded and answers with the same bytes as the file (``retrieval/hot_*.py``), as long as
the file goes on from where it was. That is asked each time it is opened: the last event of the audit chain that was seen must
still stand in it with its hash, for a chain that was ever continued differently, by a restored backup for one, has another
event there or none. Then everything is dropped. After ten minutes without a question the memory is let go.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

from arr_sql.core.connection import Connection, open_reader, sqlite3
from arr_sql.errors import ArrError
from arr_sql.memory.audit_log import hash_at, last_event
from arr_sql.retrieval.hot_chunks import HotChunks
from arr_sql.retrieval.hot_grep import HotGrep
from arr_sql.retrieval.hot_postings import HotPostings
from arr_sql.retrieval.hot_vectors import HotVectors
from arr_sql.retrieval.line_index import LineIndexes

IDLE_SECONDS = 600.0


class ChainPlace(NamedTuple):
    """An event of the audit chain: everything before it is known by its hash."""

    seq: int
    hash: str


class HotStore:
    """The parts, each safe to use from several threads. ``close`` stops their threads and lets the memory go."""

    def __init__(self, path: Path) -> None:
        self.postings = HotPostings()
        self.chunks = HotChunks()
        self.grep = HotGrep(lambda: open_reader(path))
        self.line_indexes = LineIndexes()
        self.vectors = HotVectors(lambda: open_reader(path))

    def close(self) -> None:
        """Nothing is kept afterwards, and nothing more is learned."""
        self.vectors.close()
        self.grep.close()


class _Shared:
    """One memory with those who use it and the last event that any of them saw."""

    def __init__(self, path: Path) -> None:
        self.store = HotStore(path)
        self.users = 0
        self.seen: ChainPlace | None = None
        self.is_over = False


class SharedHotStore:
    """The memory of one file for all databases that this process opens on it, one after the other or side by side."""

    def __init__(self, path: Path, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._path, self._idle_seconds = path, idle_seconds
        self._lock = threading.Lock()
        self._current: _Shared | None = None
        self._lent: dict[HotStore, _Shared] = {}
        self._timer: threading.Timer | None = None
        self._is_closed = False

    def borrow(self, reader: Connection) -> HotStore:
        """The memory of the file that ``reader`` has open; a new one unless that file goes on from what was seen."""
        with self._lock:
            self._stop_timer()
            current = self._current
            if current is None or not _goes_on(reader, current.seen):
                self._retire(current)
                current = self._current = _Shared(self._path)
                self._lent[current.store] = current
            current.users += 1
            current.seen = _last_event(reader) or current.seen
            return current.store

    def give_back(self, store: HotStore, reader: Connection | None) -> None:
        """``reader`` is one of the connections that were used; without one, what was learned can't be vouched for."""
        with self._lock:
            shared = self._lent[store]
            shared.users -= 1
            try:
                seen = _last_event(reader) if reader is not None else None
            except (ArrError, sqlite3.Error):
                seen = None
            # Calls end in any order: what the latest of them saw is what the file has to hold.
            if seen is None:
                self._retire(shared)
            elif shared.seen is None or seen.seq > shared.seen.seq:
                shared.seen = seen
            if shared.is_over or self._is_closed:
                self._retire(shared)
            elif not shared.users:
                self._timer = threading.Timer(self._idle_seconds, self._let_go, (shared,))
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Let go of everything that nobody uses, and of the rest when it is given back."""
        with self._lock:
            self._is_closed = True
            self._stop_timer()
            self._retire(self._current)

    def wait(self) -> None:
        """Wait for what is being learned, if anything is."""
        with self._lock:
            current = self._current
        if current is not None:
            current.store.grep.wait()
            current.store.vectors.wait()

    def _let_go(self, shared: _Shared) -> None:
        with self._lock:
            if shared is self._current and not shared.users:
                self._retire(shared)

    def _retire(self, shared: _Shared | None) -> None:
        if shared is None:
            return
        shared.is_over = True
        if self._current is shared:
            self._current = None
        self._end(shared)

    def _end(self, shared: _Shared) -> None:
        if not shared.users and self._lent.pop(shared.store, None) is not None:
            shared.store.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _last_event(reader: Connection) -> ChainPlace | None:
    row = last_event(reader)
    return None if row is None else ChainPlace(row["seq"], row["hash"])


def _goes_on(reader: Connection, seen: ChainPlace | None) -> bool:
    """Does the file hold the event that was seen? Where none was, there was nothing to keep."""
    return seen is None or hash_at(reader, seen.seq) == seen.hash
