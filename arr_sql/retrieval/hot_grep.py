"""The lines that a process which asks again keeps in memory for the grep channel: when they are asked, learned and left.

The first question of a scope is answered without: a command asks once. From then on at most ``LEARN_BYTES`` of what a question
has read are learned after it, in a thread of its own: the answer does not wait for that. A file is learned when the store
holds it as it is and its chunks hold all of its lines, so that every answer from memory is a chunk. A sync forgets the files
whose chunks it changed, and all of them when one is gone. Without NumPy nothing is kept.

Held by ``tests/retrieval/test_hot_lines.py``: the answers are those of a search without.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from arr_sql.core.connection import Connection, read_transaction, sqlite3
from arr_sql.core.filesystem import RACY_NS
from arr_sql.core.line_fold import fold
from arr_sql.core.redaction import withhold_lines
from arr_sql.core.research_models import ScopeKey
from arr_sql.errors import ArrError, ModelError
from arr_sql.index.embedders.numpy_threads import load_numpy
from arr_sql.index.text_index import text_index_state
from arr_sql.retrieval.hot_line_search import HotScope, HotSearch, Note
from arr_sql.retrieval.hot_lines import HotLines, LearnedFile
from arr_sql.retrieval.line_spans import Spans, holds, read_spans, read_texts
from arr_sql.retrieval.line_values import CLIP_WIDTH, MAX_WHOLE_LINE
from arr_sql.retrieval.rows import chunks_by_row

MAX_BYTES = 128 << 20
"""For all scopes of one open database: about 120 MB of text."""
LEARN_BYTES = 8 << 20
"""So much text is learned after one question: about a second's work, in which other questions are slower."""
FROM_QUESTION = 2


class HotGrep:
    """One for an open database. Safe to use from several threads: a search keeps what it began with.

    ``close`` stops the thread and lets the memory go.
    """

    def __init__(
        self, open_connection: Callable[[], Connection], max_bytes: int = MAX_BYTES, *, learn_bytes: int = LEARN_BYTES,
        from_question: int = FROM_QUESTION, now_ns: Callable[[], int] = time.time_ns,
    ) -> None:  # fmt: skip
        """``open_connection`` gives a reader that the thread may use and close.

        ``from_question`` says which question of a scope is the first to be answered with memory.
        """
        self._open, self._max_bytes, self._learn_bytes = open_connection, max_bytes, learn_bytes
        self._from_question, self._now_ns = from_question, now_ns
        self._scopes: dict[tuple[str, ...], HotScope] = {}
        self._asked = Counter[tuple[str, ...]]()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def search(self, reader: Connection, scope: ScopeKey, wanted: Mapping[str, str]) -> HotSearch | None:
        """For one search for ``wanted`` (see ``wanted_forms``); None when it has to go without."""
        key, state = scope.values(), text_index_state(reader, scope)
        if state is None:
            return None
        with self._lock:
            self._asked[key] += 1
            if self._asked[key] < self._from_question or self._stopped.is_set():
                return None
            if key not in self._scopes:
                try:
                    load_numpy()
                except ModelError:
                    return None
                self._scopes[key] = HotScope(state, HotLines.empty())
            kept = self._scopes[key]
            if kept.state != state and not _follow(kept, reader, scope):
                return None
            is_full = sum(one.lines.n_bytes for one in self._scopes.values()) > self._max_bytes
            kept = replace(kept)  # as it is now: others may go on changing it
        return HotSearch(kept, wanted, 0 if is_full else self._learn_bytes, self._now_ns() - RACY_NS)

    def learn(self, scope: ScopeKey, search: HotSearch) -> None:
        """Keep what a search has read, after its answer, unless what another one has read is being learned."""
        if not search.notes or self._stopped.is_set():
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._learn, args=(scope, search), name="arr-lines", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait for what is being learned, if anything is."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop learning and let go of what is held."""
        self._stopped.set()
        self.wait()
        self._scopes.clear()

    def _learn(self, scope: ScopeKey, search: HotSearch) -> None:
        """In the thread. Whatever hinders it, files go on being read."""
        with self._lock:
            kept = self._scopes.get(scope.values())
        if kept is None or kept.lines is not search.lines or kept.state != search.state:
            return
        learned, new, lines = None, None, search.lines
        try:
            reader = self._open()
            try:
                with read_transaction(reader):
                    if text_index_state(reader, scope) == search.state:
                        learned = list(self._until_stopped(_learned(reader, scope, search.notes)))
            finally:
                reader.close()
            # Files that change again and again leave their old lines behind.
            if lines.n_dead() > 100 + len(lines.number):
                lines = HotLines.empty()
            new = lines.learn(learned) if learned else lines
        except (ArrError, sqlite3.Error, _Stopped):
            new = None
        finally:  # also after a fault of ours: a vocabulary that knows more words than there are lines of would lose lines
            self._put(kept, search, learned, new)

    def _put(
        self, kept: HotScope, search: HotSearch, learned: Sequence[LearnedFile] | None, new: HotLines | None
    ) -> None:
        with self._lock:
            if new is None or kept.lines is not search.lines or kept.state != search.state:
                # A sync came between. The vocabulary may have grown by words of which no line is known: begin anew.
                if learned:
                    kept.lines = HotLines.empty()
            elif learned is not None:
                kept.lines = new
                places = {file.place for file in learned}
                kept.refused |= {note.place: note.file[1:] for note in search.notes if note.place not in places}

    def _until_stopped(self, learned: Iterable[LearnedFile]) -> Iterator[LearnedFile]:
        for file in learned:
            if self._stopped.is_set():
                raise _Stopped
            yield file


class _Stopped(Exception):
    """The database is being closed."""


def _follow(kept: HotScope, reader: Connection, scope: ScopeKey) -> bool:
    """The scope has changed: keep the files whose chunks are the same; none of them once a file is gone."""
    with read_transaction(reader):
        state = text_index_state(reader, scope)
        spans = read_spans(reader, scope, kept.lines.number)
    if state is None:
        return False
    files = [kept.lines.files[number] for number in kept.lines.number.values()]
    if all(file.place in spans for file in files):
        kept.lines = kept.lines.without(file.place for file in files if tuple(spans[file.place].chunks) != file.chunks)
    else:  # a text that left the store, perhaps to be forgotten, leaves the memory too
        kept.lines = HotLines.empty()
    kept.state = state
    kept.refused.clear()
    return True


def _learned(reader: Connection, scope: ScopeKey, notes: Iterable[Note]) -> Iterable[LearnedFile]:
    """The files whose lines are all held by chunks of what is stored. Call inside a read transaction."""
    by_place = {note.place: note for note in notes}
    spans = read_spans(reader, scope, by_place)
    rows = chunks_by_row(reader, scope, (one.chunks[0] for one in spans.values()))
    for place, one in spans.items():
        note, row = by_place[place], rows.get(one.chunks[0])
        if row is None or row["file_hash"] != note.hash or one.size != note.file.size:
            continue
        lines, folded = note.text.split("\n"), fold(note.text).split("\n")
        secret = withhold_lines(note.text).lines
        held_by = _held_by(lines, folded, frozenset(secret), one, read_texts(reader, scope, one.chunks))
        if held_by is not None:
            yield LearnedFile(place, row["source_ref"], note.file[1:], folded, secret, held_by, tuple(one.chunks))


def _held_by(
    lines: Sequence[str], folded: Sequence[str], secret: frozenset[int], spans: Spans, texts: Mapping[int, str]
) -> list[int] | None:
    """The chunk of each line, 0 for one that no needle can be on; None when one would answer for itself."""
    longest = max(map(len, lines))
    if len(lines) != len(folded) or longest > MAX_WHOLE_LINE or any("\r" in line for line in lines):
        return None
    held = []
    for number, (line, form) in enumerate(zip(lines, folded, strict=True), 1):
        if not form or form.isspace() or number in secret:
            held.append(0)
            continue
        chunk = spans.holder(number)
        # What is shown of a long line depends on the needle where a letter can have marks.
        is_clipped = len(line) > CLIP_WIDTH
        if chunk is None or chunk not in texts or (is_clipped and not line.isascii()):
            return None
        if not holds(texts[chunk], line, is_clipped):
            return None
        held.append(chunk)
    return held
