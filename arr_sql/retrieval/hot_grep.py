"""The lines that a process which asks again keeps in memory for the grep channel: when they are asked, learned and left.

The first question of a scope is answered without: a command asks once. From then on each question learns at most
``LEARN_BYTES`` of what it has read. A file is learned when the store holds it as it is and its chunks hold all of its lines, so
that every answer from memory is a chunk. A sync forgets the files whose chunks it changed, and all of them when one is gone.
Without NumPy nothing is kept.

Held by ``tests/retrieval/test_hot_lines.py``: the answers are those of a search without.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from arr_sql.core.connection import Connection, read_transaction
from arr_sql.core.filesystem import RACY_NS
from arr_sql.core.line_fold import fold
from arr_sql.core.redaction import withhold_lines
from arr_sql.core.research_models import ScopeKey
from arr_sql.errors import ModelError
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
"""So much text is learned after one question, in about a second."""
FROM_QUESTION = 2
ENOUGH_SECONDS = 3.0
"""With less time left a search learns nothing: its answer must not come too late for that."""


class HotGrep:
    """One for an open database. Safe to use from several threads: a search keeps what it began with."""

    def __init__(
        self, max_bytes: int = MAX_BYTES, *, learn_bytes: int = LEARN_BYTES, from_question: int = FROM_QUESTION,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:  # fmt: skip
        """``from_question`` says which question of a scope is the first to be answered with memory."""
        self._max_bytes, self._learn_bytes, self._from_question = max_bytes, learn_bytes, from_question
        self._now_ns = now_ns
        self._scopes: dict[tuple[str, ...], HotScope] = {}
        self._asked = Counter[tuple[str, ...]]()
        self._lock = threading.Lock()

    def search(self, reader: Connection, scope: ScopeKey, wanted: Mapping[str, str]) -> HotSearch | None:
        """For one search for ``wanted`` (see ``wanted_forms``); None when it has to go without."""
        key, state = scope.values(), text_index_state(reader, scope)
        if state is None or not self._lock.acquire(blocking=False):
            return None
        try:
            self._asked[key] += 1
            if self._asked[key] < self._from_question:
                return None
            if key not in self._scopes:
                load_numpy()
                self._scopes[key] = HotScope(state, HotLines.empty())
            kept = self._scopes[key]
            if kept.state != state and not _follow(kept, reader, scope):
                return None
            is_full = sum(one.lines.n_bytes for one in self._scopes.values()) > self._max_bytes
            kept = replace(kept)  # as it is now: others may go on changing it
        except ModelError:  # no NumPy
            return None
        finally:
            self._lock.release()
        return HotSearch(kept, wanted, 0 if is_full else self._learn_bytes, self._now_ns() - RACY_NS)

    def learn(self, reader: Connection, scope: ScopeKey, search: HotSearch, deadline: float) -> None:
        """Keep what a search has read, if nothing was written, no other thread is learning, and there is time."""
        if not search.notes or time.monotonic() > deadline - ENOUGH_SECONDS or not self._lock.acquire(blocking=False):
            return
        try:
            kept = self._scopes[scope.values()]
            with read_transaction(reader):
                if kept.lines is not search.lines or text_index_state(reader, scope) != kept.state:
                    return
                learned = list(_learned(reader, scope, search.notes))
            for note in search.notes:
                kept.refused[note.place] = note.file[1:]
            for file in learned:
                del kept.refused[file.place]
            # Files that change again and again leave their old lines behind.
            if kept.lines.n_dead() > 100 + len(kept.lines.number):
                kept.lines = HotLines.empty()
            if learned:
                kept.lines = kept.lines.learn(learned)
        finally:
            self._lock.release()


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
