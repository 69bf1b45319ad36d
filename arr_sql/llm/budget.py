"""How often a language model may be asked: one count that planner and reranker share.

A retrieval may ask once for a plan and once for an order; an evaluation run at most 20 times in all. A refused call
leaves every count unchanged. Safe to share between threads (tests/llm/test_budget.py).
"""

from __future__ import annotations

import threading

from arr_sql.core.advice import Purpose

PER_RUN = 20
PER_RETRIEVAL = 1


class CallBudget:
    """Calls left of a run. ``None`` as the limit means that only each retrieval's own limits hold."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit, self._used = limit, 0
        self._lock = threading.Lock()

    @property
    def used(self) -> int:
        """Calls granted so far."""
        return self._used

    def for_retrieval(self) -> RetrievalBudget:
        """The budget of one retrieval: one call a purpose, each also taken from this budget."""
        return RetrievalBudget(self)

    def take(self) -> bool:
        """Grant one call, or refuse and count nothing."""
        with self._lock:
            if self._limit is not None and self._used >= self._limit:
                return False
            self._used += 1
            return True


class RetrievalBudget:
    """One call for a plan and one for an order."""

    def __init__(self, run: CallBudget) -> None:
        self._run = run
        self._used: dict[str, int] = {}
        self._lock = threading.Lock()

    def take(self, purpose: Purpose) -> bool:
        """Grant one call, or refuse and count nothing, here or in the run's budget."""
        with self._lock:
            if self._used.get(purpose, 0) >= PER_RETRIEVAL or not self._run.take():
                return False
            self._used[purpose] = self._used.get(purpose, 0) + 1
            return True
