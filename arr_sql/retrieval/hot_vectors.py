"""Vectors in memory for a scope that one process asks again and again. Derived, bounded, gone with the next change.

What is kept is what the file says at one revision of the scope: how many chunks have vectors of which model, and
the vectors as 8-bit numbers (``index.vector_codes``). They only narrow down which vectors are compared; the comparison
takes the float32 values, from the file or, of scopes with few vectors, from memory, so the answer has the same bytes with
and without (tests/retrieval/test_hot_vectors.py). The first two questions of a revision are answered from the file alone: a
command asks once. Then a thread of its own reads the vectors over a connection of its own, so no question waits for it.
Without NumPy or ONNX Runtime nothing is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arr_sql.core.connection import Connection, sqlite3
from arr_sql.core.research_models import ScopeKey
from arr_sql.errors import ArrError, ModelError
from arr_sql.index.embedders.numpy_threads import load_numpy
from arr_sql.index.vector_state import scope_revision, scope_vectors, vector_chunks, vector_state
from arr_sql.retrieval.language_axis import LanguageAxis, read_language_axis

if TYPE_CHECKING:
    from arr_sql.index.vector_codes import VectorCodes

FEWEST = 4_000
"""Below so many vectors the scan of the file takes a few milliseconds."""
COLD_QUESTIONS = 2
"""So many questions of one revision are answered from the file before its vectors are read into memory."""
MOST_BYTES = 256 << 20
"""For all open databases of this process: about 650,000 vectors of 384 components."""

MOST_WHOLE_BYTES = 48 << 20
"""For one scope: up to about 23,000 vectors of 384 components are held whole beside their codes."""
CHUNK_BYTES = 200
"""The id and row of a chunk in memory."""


class _Budget:
    """Memory that all databases of this process share."""

    def __init__(self, most: int) -> None:
        self._left, self._lock = most, threading.Lock()

    def take(self, count: int) -> bool:
        with self._lock:
            if count > self._left:
                return False
            self._left -= count
            return True

    def give(self, count: int) -> None:
        with self._lock:
            self._left += count


BUDGET = _Budget(MOST_BYTES)


@dataclass
class _Held:
    """What is known of one scope at one revision."""

    revision: int
    models: list[Any]
    axes: dict[int, LanguageAxis | None] = field(default_factory=dict)
    questions: int = 0
    model: int = -1
    codes: VectorCodes | None = None
    chunks: dict[int, tuple[str, int]] | None = None
    """Of each vector the id and row of its chunk, where there are so few that the vectors are held whole."""
    taken: int = 0


class HotVectors:
    """For one file. Safe to use from several threads, on one revision or two. ``close`` stops the thread and lets the memory go."""

    def __init__(
        self, open_connection: Callable[[], Connection], budget: _Budget = BUDGET, fewest: int = FEWEST
    ) -> None:
        """``open_connection`` gives a reader that the thread may use and close."""
        self._open, self._budget, self._fewest = open_connection, budget, fewest
        self._lock = threading.Lock()
        self._scope: ScopeKey | None = None
        self._held: _Held | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def state(self, reader: Connection, scope: ScopeKey) -> list[Any]:
        """As ``vector_state``, read once a revision."""
        revision = scope_revision(reader, scope)
        with self._lock:
            held = self._held
        if held is None or self._scope != scope or held.revision != revision:
            held = _Held(revision, vector_state(reader, scope))
            self._replace(scope, held)
        return held.models

    def axis(self, reader: Connection, scope: ScopeKey, row: Any) -> LanguageAxis | None:
        """As ``read_language_axis``, read once a revision, for the model of ``row``, one of ``state`` on the same snapshot."""
        model = row["model"]
        with self._lock:
            held = self._held_of(scope, row)
        if held is None:
            return read_language_axis(reader, scope, model)
        if model not in held.axes:
            held.axes[model] = read_language_axis(reader, scope, model)
        return held.axes[model]

    def _held_of(self, scope: ScopeKey, row: Any) -> _Held | None:
        """What is held, where ``row`` is of it: another question may have seen another revision in between."""
        held = self._held
        same = held is not None and self._scope == scope and any(one is row for one in held.models)
        return held if same else None

    def candidates(self, scope: ScopeKey, row: Any, vector: bytes, k: int) -> list[int] | None:
        """Ids of the vectors that may be among the ``k`` nearest, or None: then the file is to be scanned.

        ``row`` is the row of ``state`` for the model of ``vector``, on the same snapshot.
        """
        codes = self._codes(scope, row)[0]
        return None if codes is None else codes.candidates(vector, k)

    def nearest(self, scope: ScopeKey, row: Any, vector: bytes, k: int) -> list[tuple[float, str, int]] | None:
        """As ``candidates``, compared already: cosine, chunk id and chunk row; at least the ``k`` nearest. None: ask that."""
        codes, chunks = self._codes(scope, row, is_counted=False)
        if codes is None or chunks is None:
            return None
        return [(cosine, *chunks[number]) for number, cosine in codes.nearest(vector, k)]

    def _codes(
        self, scope: ScopeKey, row: Any, *, is_counted: bool = True
    ) -> tuple[VectorCodes | None, dict[int, tuple[str, int]] | None]:
        """What is held for this model. A question for which nothing is held counts, and the third starts the reading."""
        with self._lock:
            held = self._held_of(scope, row)
            if held is None:
                return None, None
            if held.codes is not None:
                return (held.codes, held.chunks) if held.model == row["model"] else (None, None)
            if not is_counted:
                return None, None
            held.questions += 1
            busy = self._thread is not None and self._thread.is_alive()
            if held.questions > COLD_QUESTIONS and row["embedded"] >= self._fewest and not busy:
                held.questions = 0  # should it fail, a few more questions pass before it is tried again
                self._thread = threading.Thread(
                    target=self._read, args=(scope, held, row["model"], row["dimension"], row["embedded"]),
                    name="arr-vectors", daemon=True,
                )  # fmt: skip
                self._thread.start()
        return None, None

    def wait(self) -> bool:
        """Wait for the thread that reads, if there is one. True when vectors are held then."""
        thread = self._thread
        if thread is not None:
            thread.join()
        with self._lock:
            return self._held is not None and self._held.codes is not None

    def close(self) -> None:
        """Stop reading and let go of what is held."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        self._replace(None, None)

    def _replace(self, scope: ScopeKey | None, held: _Held | None) -> None:
        with self._lock:
            old, self._held, self._scope = self._held, held, scope
            if old is not None and old.taken:
                self._budget.give(old.taken)
                old.taken, old.codes, old.chunks = 0, None, None

    def _read(self, scope: ScopeKey, held: _Held, model: int, dimension: int, count: int) -> None:
        """In the thread: read one revision's vectors. Whatever hinders it, questions go on being answered from the file."""
        try:
            load_numpy()
            from arr_sql.index.vector_codes import VectorCodes
        except (ModelError, ImportError):
            return
        whole = VectorCodes.bytes_for(count, dimension, is_whole=True) + count * CHUNK_BYTES
        taken = next(
            (size for size in (whole, VectorCodes.bytes_for(count, dimension)) if self._may_take(size, whole)), 0
        )
        if not taken:
            return
        chunks = None
        try:
            reader = self._open()
            try:
                reader.execute("BEGIN")
                codes = None
                if scope_revision(reader, scope) == held.revision:
                    rows = self._until_stopped(scope_vectors(reader, scope, model))
                    codes = VectorCodes(rows, dimension, is_whole=taken == whole)
                    if codes.is_whole:
                        found = vector_chunks(reader, scope, codes.ids.tolist())
                        chunks = {row["id"]: (row["chunk_id"], row["chunk"]) for row in found}
                        chunks = chunks if len(chunks) == codes.ids.size else None
            finally:
                reader.close()
        except (ArrError, sqlite3.Error, _Stopped):
            codes = None
        with self._lock:
            if codes is not None and self._held is held:
                held.model, held.codes, held.chunks, held.taken = model, codes, chunks, taken
                return
        self._budget.give(taken)

    def _may_take(self, size: int, whole: int) -> bool:
        return (size < whole or whole <= MOST_WHOLE_BYTES) and self._budget.take(size)

    def _until_stopped(self, rows: Iterator[Any]) -> Iterator[tuple[int, bytes]]:
        for row in rows:
            if self._stopped.is_set():
                raise _Stopped
            yield row["id"], row["vector"]


class _Stopped(Exception):
    """The database is being closed."""
