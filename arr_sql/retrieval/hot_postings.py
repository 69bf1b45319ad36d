"""Postings in memory for scopes that one process asks again and again. Derived, bounded, gone with the next change.

What is kept is what the statements read: for a scope's present state the length of each chunk, and for each term that
was asked for the words of the index, the chunks that have them, and what they add to a chunk's score. Scores are the
same whole numbers as in search_bm25.sql, worked out with NumPy in the same order of operations, so the answer has the
same bytes with and without (tests/retrieval/test_hot_postings.py). Without NumPy nothing is kept. The first question of
a state is answered from the file: a command asks only once.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load
from arr_sql.errors import ModelError
from arr_sql.index.embedders.numpy_threads import load_numpy
from arr_sql.index.text_index import text_index_state
from arr_sql.retrieval.bm25_scoring import PRUNE_ABOVE, Bm25Parameters, Scoring, Term, highest_first, scoring

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_BYTES = 256 << 20
"""For all scopes of one open database: a million chunks take about 24 MB, a term that all of them have 12 MB."""
MAX_TERMS = 50_000
"""So many different terms of questions are remembered of a scope."""
SAMPLE = 2_000
"""So many chunks of the rarest terms give a first bound for the k-th best score."""


class Best(NamedTuple):
    """Row ids with their whole-number scores: the best k, and those equal to the last of them. How many matched."""

    wanted: Scoring
    chunks: tuple[tuple[int, int], ...]
    matches: int


@dataclass
class _Scope:
    """One scope in one state. Places are positions in ``chunks``, which is in the order of row ids."""

    state: tuple[Any, ...]
    chunks: NDArray[np.int64]
    n_terms: NDArray[np.int64]
    n_heading: NDArray[np.float64]
    terms: dict[tuple[Bm25Parameters, str, float], Scoring] = field(default_factory=dict)
    parts: OrderedDict[tuple[Any, ...], tuple[NDArray[np.int32], NDArray[np.int64]]] = field(
        default_factory=OrderedDict
    )
    n_bytes: int = 0

    def totals(self) -> dict[str, int]:
        """What search_bm25_words.sql says of the scope in each row."""
        return {
            "chunks": len(self.chunks), "terms": int(self.n_terms.sum()), "heading_terms": int(self.n_heading.sum()),
            "shortest": int(self.n_terms.min()) if len(self.n_terms) else 0,
        }  # fmt: skip


class HotPostings:
    """One for an open database. Safe to use from several threads; scopes least lately asked leave first."""

    def __init__(self, max_bytes: int = MAX_BYTES, *, from_question: int = 2) -> None:
        """``from_question`` says which question of one state is the first to be answered from memory."""
        self._max_bytes, self._from_question = max_bytes, from_question
        self._scopes: OrderedDict[tuple[str, ...], _Scope] = OrderedDict()
        self._asked: dict[tuple[str, ...], tuple[tuple[Any, ...], int]] = {}
        self._lock = threading.Lock()

    def best(
        self, reader: Connection, scope: ScopeKey, weights: Mapping[str, float], parameters: Bm25Parameters, k: int
    ) -> Best | None:
        """The best ``k`` chunks of ``scope`` as ``reader`` sees it; None when the file has to be asked."""
        state = text_index_state(reader, scope)
        if state is None:
            return None
        with self._lock:
            held = self._held(reader, scope, state)
            if held is None:
                return None
            wanted = _wanted(held, reader, scope, weights, parameters)
            keys = [(parameters, term.text, weights[term.text]) for term in wanted.terms]
            new = [term for term, key in zip(wanted.terms, keys, strict=True) if key not in held.parts]
            postings = _postings(reader, scope, [word.text for term in new for word in term.words])
            parts = [_part(held, postings, wanted, term, key) for term, key in zip(wanted.terms, keys, strict=True)]
            chunks, matches = _score(held, wanted, parts, k)
            self._shrink(scope.values())
            return Best(wanted, chunks, matches)

    def frequencies(self, reader: Connection, scope: ScopeKey, weights: Mapping[str, float]) -> dict[str, float] | None:
        """In how many chunks of ``scope`` each term of a query is, without those that are in none; None where the file has
        to be asked. What it learns, :meth:`best` needs too."""
        state = text_index_state(reader, scope)
        with self._lock:
            held = self._scopes.get(scope.values())
            if state is None or held is None or held.state != state:
                return None
            wanted = _wanted(held, reader, scope, weights, Bm25Parameters())
            return {term.text: float(term.df) for term in wanted.terms}

    def _held(self, reader: Connection, scope: ScopeKey, state: tuple[Any, ...]) -> _Scope | None:
        key = scope.values()
        known, times = self._asked.get(key, (state, 0))
        times = times + 1 if known == state else 1
        self._asked[key] = (state, times)
        if times < self._from_question:
            return None
        held = self._scopes.get(key)
        if held is None or held.state != state:
            self._scopes.pop(key, None)
            try:
                load_numpy()
            except ModelError:
                return None
            held = _read_lengths(reader, scope, state)
            if held.n_bytes > self._max_bytes:
                self._asked[key] = (state, -(1 << 62))  # not again for this state
                return None
            self._scopes[key] = held
        self._scopes.move_to_end(key)
        return held

    def _shrink(self, last: tuple[str, ...]) -> None:
        """Let go of what was asked for longest ago, until the bound holds."""
        while sum(held.n_bytes for held in self._scopes.values()) > self._max_bytes:
            key, oldest = next(iter(self._scopes.items()))
            if key != last:
                del self._scopes[key]
                continue
            if not oldest.parts:
                return
            _, (places, added) = oldest.parts.popitem(last=False)
            oldest.n_bytes -= places.nbytes + added.nbytes


def _read_lengths(reader: Connection, scope: ScopeKey, state: tuple[Any, ...]) -> _Scope:
    import numpy as np

    rows = reader.execute(load("read_chunk_lengths"), scope.bindings()).fetchall()
    table = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 3)
    held = _Scope(
        state, np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1]), table[:, 2].astype(np.float64)
    )
    held.n_bytes = held.chunks.nbytes + held.n_terms.nbytes + held.n_heading.nbytes
    return held


def _wanted(
    held: _Scope, reader: Connection, scope: ScopeKey, weights: Mapping[str, float], parameters: Bm25Parameters
) -> Scoring:
    """What :func:`scoring` makes of all terms, put together from what is kept of each."""
    missing = {text: weight for text, weight in weights.items() if (parameters, text, weight) not in held.terms}
    if missing:
        if len(held.terms) > MAX_TERMS:
            held.terms.clear()
        rows: dict[str, list[Any]] = {text: [] for text in missing}
        totals, asked = held.totals(), {**scope.bindings(), "terms": json.dumps(list(missing))}
        for row in reader.execute(load("read_index_words"), asked):
            rows[row["term"]].append({**totals, **dict(row)})
        for text, weight in missing.items():
            held.terms[(parameters, text, weight)] = scoring(rows[text], {text: weight}, parameters)
    found = [held.terms[(parameters, text, weight)] for text, weight in weights.items()]
    found = [one for one in found if one.terms]
    if not found:
        return scoring((), weights, parameters)
    return found[0]._replace(terms=tuple(sorted((one.terms[0] for one in found), key=highest_first)))


def _postings(reader: Connection, scope: ScopeKey, words: Sequence[str]) -> dict[str, str]:
    """The chunks that have each word, as row ids with commas between."""
    if not words:
        return {}
    wanted = {**scope.bindings(), "words": json.dumps(words)}
    return {row["word"]: row["chunks"] or "" for row in reader.execute(load("read_word_postings"), wanted)}


def _part(
    held: _Scope, postings: Mapping[str, str], wanted: Scoring, term: Term, key: tuple[Any, ...]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """What a term adds, chunk by chunk: the arithmetic of search_bm25.sql, operation by operation."""
    import numpy as np

    part = held.parts.get(key)
    if part is None:
        places, added = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for word in term.words:
            if not postings[word.text]:
                continue
            rows = np.fromstring(postings[word.text], dtype=np.int64, sep=",")
            at = np.searchsorted(held.chunks, rows).astype(np.int32)
            norm = wanted.k1_long * (held.n_terms[at] + wanted.heading_weight * held.n_heading[at])
            tf = word.body + wanted.heading_weight * word.heading
            places.append(at)
            added.append((word.gain / ((tf + wanted.k1_short) + norm) + 0.5).astype(np.int64))
        part = held.parts[key] = np.concatenate(places), np.concatenate(added)
        held.n_bytes += part[0].nbytes + part[1].nbytes
    held.parts.move_to_end(key)
    return part


def _score(
    held: _Scope, wanted: Scoring, parts: Sequence[tuple[NDArray[np.int32], NDArray[np.int64]]], k: int
) -> tuple[tuple[tuple[int, int], ...], int]:
    import numpy as np

    total = np.zeros(len(held.chunks), dtype=np.int64)
    for places, added in parts:
        total[places] += added  # a chunk has one word of a term
    if wanted.postings <= SAMPLE:
        chosen = np.unique(np.concatenate([places for places, _ in parts])) if parts else np.empty(0, np.int32)
        matches = len(chosen)
    else:
        # The k-th best among the chunks of the rarest terms is at most the k-th best of all.
        rarest = sorted((places for places, _ in parts), key=len)
        sample, count = [rarest[0][:SAMPLE]], len(rarest[0])
        for places in rarest[1:]:
            if count < max(k, SAMPLE // 4):
                sample.append(places[:SAMPLE])
                count += len(places)
        drawn = total[np.unique(np.concatenate(sample))]
        bound = max(1, int(np.partition(drawn, len(drawn) - k)[len(drawn) - k])) if len(drawn) > k else 1
        chosen, matches = np.flatnonzero(total >= bound), 0
        if wanted.postings <= PRUNE_ABOVE:  # else the channel says at least how many
            matches = int(np.count_nonzero(total))
    scores = total[chosen]
    if len(scores) > k:
        keep = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        chosen, scores = chosen[keep], scores[keep]
    return tuple(zip(held.chunks[chosen].tolist(), scores.tolist(), strict=True)), matches
