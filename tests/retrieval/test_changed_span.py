"""The smallest span by which a chunk and its file differ: worked cases, and what must hold for any edit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.retrieval.changed_span import Span, changed_span

FILE = [f"line {n}" for n in range(1, 11)]  # the chunk is lines 4 to 7


def edited(*lines: str) -> str:
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ([*FILE[:4], "line five", *FILE[5:]], Span(None, (5, 5), (5, 5))),
        ([*FILE[:4], "x", "y", "z", *FILE[6:]], Span(None, (5, 7), (5, 6))),
        (["new", *FILE[:4], "line five", *FILE[5:]], Span(None, (6, 6), (5, 5))),
        (FILE[:4] + FILE[5:], Span(None, None, (5, 5))),
        ([*FILE[:5], "new", "newer", *FILE[5:]], Span(None, (6, 7), None)),
        ([*FILE[:3], "line four", *FILE[4:]], Span(None, (4, 4), (4, 4))),
        ([*FILE[:6], "line seven", *FILE[7:]], Span(None, (7, 7), (7, 7))),
        (FILE[:6], Span(None, None, (7, 7))),
        (FILE[:3], Span(None, None, (4, 7))),
        ([], Span(None, None, (4, 7))),
        (["quite", "another", "text"], Span(None, None, (4, 7))),
        (["a"] * 10, Span(None, (4, 7), (4, 7))),
        ([*FILE[:9], "other"], Span((4, 7))),
        (["new", "new", *FILE], Span((6, 9))),
        (FILE + FILE, Span((4, 7))),
        (FILE[7:] + FILE[:7], Span((7, 10))),
    ],
)
def test_worked_cases(now: list[str], expected: Span) -> None:
    """One edit of each kind in, above and below the chunk; nothing left; the text moved; the text there twice."""
    assert changed_span("\n".join(FILE[3:7]), 4, "\n".join(now) + "\n" if now else "") == expected


def test_a_longer_line_is_another_line() -> None:
    """That the text goes on in the same line is a change, not the same text."""
    assert changed_span("x = 1", 1, "x = 10\n") == Span(None, (1, 1), (1, 1))
    assert changed_span("alpha", 1, "an alpha\n") == Span(None, (1, 1), (1, 1))
    assert changed_span("alpha", 1, "alpha  \n") == Span((1, 1)), "a chunk's end is trimmed"


def test_a_part_of_a_long_line_still_stands() -> None:
    """Prose of one line a paragraph is cut into several chunks; an edit in one leaves the others standing."""
    first, second = "word " * 300, "other " * 300
    assert changed_span(second.strip(), 7, "\n" * 6 + first + "NEW " + second + "\n") == Span((7, 7))


LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "d e"]), min_size=1, max_size=8)


@given(LINES, LINES, LINES, st.data())
def test_what_is_kept_is_kept(before: list[str], chunk: list[str], after: list[str], data: st.DataObject) -> None:
    """For any chunk and any file: text that stands is found, and else both sides agree outside the span."""
    if not chunk[-1].strip() or not chunk[0].strip():
        return  # a chunk has no blank edge
    first, last = sorted(data.draw(st.tuples(st.integers(0, len(chunk)), st.integers(0, len(chunk)))))
    now = before + chunk[:first] + data.draw(st.one_of(LINES, st.just([]))) + chunk[last:] + after
    start = data.draw(st.integers(1, 20))
    span = changed_span("\n".join(chunk), start, "\n".join(now) + "\n")
    places = [n for n in range(len(now)) if now[n : n + len(chunk)] == chunk]
    if places:
        nearest = min(places, key=lambda n: (abs(n + 1 - start), n))
        assert span == Span((nearest + 1, nearest + len(chunk)))
        return
    assert span.stands_at is None
    n_before = span.indexed_lines[0] - start if span.indexed_lines else None
    n_after = start + len(chunk) - 1 - span.indexed_lines[1] if span.indexed_lines else None
    if span.changed_lines is not None and n_before is not None and n_after is not None:
        low, high = span.changed_lines
        assert 1 <= low <= high <= len(now)
        assert now[low - 1 - n_before : low - 1] == chunk[:n_before]
        assert now[high : high + n_after] == chunk[len(chunk) - n_after :]
        assert now[low - 1] != chunk[n_before] or low == high or n_before + n_after == len(chunk) - 1
    kept = len(chunk) - (span.indexed_lines[1] - span.indexed_lines[0] + 1 if span.indexed_lines else 0)
    assert kept >= first + len(chunk) - last or first == len(chunk) or last == 0 or first == 0 or last == len(chunk)


@given(st.integers(1, 30), st.integers(1, 10), st.data())
def test_an_edit_of_one_line_is_that_line(height: int, above: int, data: st.DataObject) -> None:
    """With lines that all differ, exactly the edited line is named, wherever the chunk has moved to."""
    chunk = [f"line {n}" for n in range(height)]
    place = data.draw(st.integers(0, height - 1))
    moved = data.draw(st.integers(0, 20))
    now = [f"new {n}" for n in range(moved)] + [f"above {n}" for n in range(above)] + chunk
    now[moved + above + place] = "edited"
    span = changed_span("\n".join(chunk), above + 1, "\n".join(now) + "\n")
    if height > 1:
        assert span == Span(None, (moved + above + place + 1,) * 2, (above + 1 + place,) * 2)


def test_it_is_quick_on_a_large_file() -> None:
    """Two hundred thousand lines that all look like the chunk's edges: not minutes of the processor, as quadratic time takes."""
    import time

    text = "}\n" * 200_000
    started = time.process_time()
    assert changed_span("}\nx\n}\ny\n}", 100_000, text).stands_at is None
    assert changed_span("}\n}", 100_000, text).stands_at == (100_000, 100_001)
    assert time.process_time() - started < 20
