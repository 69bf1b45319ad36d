"""What a page shows of a retrieval, as values: parts that add up, bars where the calls lay, texts cut only with a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.serve.pages.retrieval_page import _bars, first_line, is_prose, score_parts, text_lines

TRACE = {"state": "ok", "reason": "", "candidate_count": 3, "eligible_count": 2}


def bars(*calls: tuple[int, str, float]) -> list[tuple[str, float, float]]:
    """Channel, start and width of each call, in the run's milliseconds."""
    traces = [{**TRACE, "round_index": turn, "tool_name": name, "duration_ms": ms} for turn, name, ms in calls]
    rounds: dict[int, list[dict[str, str | None]]] = {}
    for turn, name, _ in calls:
        rounds.setdefault(turn, []).append({"tool": name, "query": None})
    total = max((bar.start + bar.width for bar in _bars(traces, {"tool_rounds": list(rounds.values())})), default=0)
    assert total == pytest.approx(1 if calls else 0)
    return [
        (bar.channel, round(bar.start, 6), round(bar.width, 6))
        for bar in _bars(traces, {"tool_rounds": list(rounds.values())})
    ]


def test_calls_of_a_round_begin_together() -> None:
    """The longest ends the round; the next round begins there; two calls of one channel follow each other."""
    assert bars((0, "bm25", 10), (0, "vector", 40), (0, "bm25", 20)) == [
        ("bm25", 0, 0.25),
        ("vector", 0, 1),
        ("bm25", 0.25, 0.5),
    ]
    assert bars((0, "bm25", 30), (0, "grep", 10), (1, "vector", 70)) == [
        ("bm25", 0, 0.3),
        ("grep", 0, 0.1),
        ("vector", 0.3, 0.7),
    ]
    assert bars() == []


@given(st.lists(st.tuples(st.sampled_from(["bm25", "vector", "coverage"]), st.floats(0.001, 2)), max_size=8))
def test_parts_lie_end_to_end(parts: list[tuple[str, float]]) -> None:
    """Their shares begin where the last one ended and never leave the bar."""
    reason = " ".join(f"{name}={value:.3f}" for name, value in parts)
    made = score_parts(reason, sum(value for _, value in parts) or 1.0)
    assert [part.name for part in made] == [name for name, _ in parts]
    place = 0.0
    for part in made:
        assert part.start == pytest.approx(place, abs=0.02) and 0 <= part.start + part.share <= 1 + 1e-9
        place += part.share


def test_the_best_item_fills_the_bar() -> None:
    """Bars of several items can be compared."""
    assert [round(part.share, 3) for part in score_parts("bm25=0.500 fused=0.010", 1.02)] == [0.49, 0.01]
    assert score_parts("", 1.0) == [] and score_parts("bm25=0.500", 0.0)[0].share == 0


def test_a_cut_line_says_how_much_is_missing() -> None:
    """An excerpt is short, the whole is whole."""
    (short,) = text_lines(["warmup " + "x" * 100], frozenset({"warmup"}), 7, limit=20)
    assert (short.number, short.more) == (7, 87) and sum(len(piece) for _, piece in short.pieces) == 20
    (whole,) = text_lines(["x" * 5000], frozenset(), None)
    assert (whole.number, whole.more) == (None, 0) and sum(len(piece) for _, piece in whole.pieces) == 5000


@pytest.mark.parametrize(
    ("locator", "expected"), [("L16-21", 16), ("L7", 7), ("16-22 Schedule.lr", 16), ("cell 2", None), ("p. 3", None), ("", None)]
)  # fmt: skip
def test_line_numbers_come_from_the_locator(locator: str, expected: int | None) -> None:
    """Pages and cells have none."""
    assert first_line(locator) == expected


def test_prose_and_columns() -> None:
    """Code keeps its columns."""
    assert [is_prose(ref) for ref in ("a.MD", "memory:m1", "src/a.py", "r.log")] == [True, True, False, False]
