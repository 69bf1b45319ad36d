"""Contract 12.7: one count for planner and reranker; a refused call changes nothing; threads agree."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.advice import Purpose
from arr_sql.llm.budget import PER_RUN, CallBudget


def test_a_retrieval_may_ask_once_for_each_purpose() -> None:
    """1 + 1."""
    budget = CallBudget().for_retrieval()
    assert [budget.take("planner"), budget.take("planner"), budget.take("reranker"), budget.take("reranker")] == [
        True, False, True, False,
    ]  # fmt: skip


def test_a_refused_call_leaves_every_count_unchanged() -> None:
    """Neither the run's nor the retrieval's: what was refused can be granted to the other purpose."""
    run = CallBudget(1)
    first, second = run.for_retrieval(), run.for_retrieval()
    assert first.take("planner") and not first.take("planner") and not second.take("planner")
    assert run.used == 1
    wider = CallBudget(2)
    both = wider.for_retrieval()
    assert both.take("planner") and not both.take("planner") and both.take("reranker") and wider.used == 2


@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["planner", "reranker"])), max_size=60), st.integers(0, 25)
)
def test_the_shared_count_never_exceeds_the_limit(asked: list[tuple[int, Purpose]], limit: int) -> None:
    """Granted calls are distinct pairs of retrieval and purpose, and as many as the limit allows."""
    run = CallBudget(limit)
    retrievals = [run.for_retrieval() for _ in range(5)]
    granted = [(number, purpose) for number, purpose in asked if retrievals[number].take(purpose)]
    assert len(granted) == len(set(granted)) == run.used == min(limit, len(set(asked)))


def test_threads_share_it() -> None:
    """Fifty threads ask at once: exactly twenty are granted."""
    run, granted = CallBudget(PER_RUN), []
    start = threading.Barrier(50)

    def ask() -> None:
        start.wait()
        granted.append(run.for_retrieval().take("planner"))

    threads = [threading.Thread(target=ask) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted) == PER_RUN == run.used == 20
