"""Patterns: the lines that ``grep -E`` would give, on an engine that always comes to an end, and errors with a place."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.rooted import Root
from arr_sql.errors import InputError, PatternInvalid
from arr_sql.retrieval import line_pattern
from arr_sql.retrieval.line_pattern import MAX_PATTERN, LinePattern
from arr_sql.retrieval.line_search import search_targets
from arr_sql.retrieval.line_values import LineSearch, SearchLimits, Target

pytest.importorskip("re2", reason="needs the extra `regex`")


def lines(pattern: str, text: str) -> list[tuple[int, str, int]]:
    """What the pattern finds in a text: number, line, index of the match."""
    return [found for found in LinePattern(pattern).lines(text) if found is not None]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b$", "a\nb\nc", [(2, "b", 0)]),
        ("^$", "a\n\nb\n", [(2, "", 0)]),
        ("x*", "a\nb\n", [(1, "a", 0), (2, "b", 0)]),
        ("^", "", []),
        ("^", "\n\n", [(1, "", 0), (2, "", 0)]),
        ("a[^b]c", "a\nc\na-c", [(3, "a-c", 0)]),
        (r"d\sg", "red\ngreen\nd g", [(3, "d g", 0)]),
        ("库$", "数据库\n库x\n", [(1, "数据库", 2)]),
        ("(?i)ERROR", "no\nan error\n", [(2, "an error", 3)]),
        ("o", "foo\nboo", [(1, "foo", 1), (2, "boo", 1)]),
    ],
)
def test_a_pattern_matches_within_one_line(pattern: str, text: str, expected: list[tuple[int, str, int]]) -> None:
    """``^`` and ``$`` are a line's ends, nothing matches a newline, each line comes once with its first match."""
    assert lines(pattern, text) == expected


@given(
    st.text(alphabet="ab\n\r 数😀", max_size=60),
    st.sampled_from(["a", "b$", "^a", "^ *$", "a.b", "[^a]", "数+", "(ab)+", "x*"]),
)
def test_it_agrees_with_python_line_by_line(text: str, pattern: str) -> None:
    """For patterns that both engines know, the lines and places are those of ``re`` on each line."""
    body = text.removesuffix("\n")
    wanted = [
        (number, line, match.start())
        for number, line in enumerate(body.split("\n"), 1)
        if (match := re.search(pattern.replace("$", r"\Z"), line, re.DOTALL))
    ]
    assert lines(pattern, text) == (wanted if text else [])


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is searched in many blocks gives what one block gives, lines longer than a block among them."""
    text = "".join(f"line {n} {'x' * (n % 90)} end\n" for n in range(400))
    whole = lines("[37] x* ?end$", text)
    monkeypatch.setattr(line_pattern, "BLOCK_BYTES", 50)
    assert lines("[37] x* ?end$", text) == whole and len(whole) > 50


@pytest.mark.parametrize(
    ("pattern", "position"),
    [("(", 0), ("[z-a]", 1), ("*x", 0), ("(?P<n>a)(?P<n>b)", 8), (r"(a)\1", 3), ("x(?=a)", 1), ("a{2000}", 1), ("ab\\", 2),
     ("a)", 1), ("a\ud800", 1), ("a" * (MAX_PATTERN + 1), None), ("[[:word:]]{1000}" * 20, None)],
)  # fmt: skip
def test_an_invalid_pattern_is_named_with_its_position(pattern: str, position: int | None) -> None:
    """Field report grepr-01: what is wrong and where, at once, and never a crash."""
    with pytest.raises(PatternInvalid) as caught:
        LinePattern(pattern)
    assert (caught.value.position, caught.value.exit_code) == (position, 2)
    assert len(str(caught.value)) < 300


def test_without_the_extra_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine, no other dialect in its place."""
    monkeypatch.setattr(line_pattern, "has_regex_engine", lambda: False)
    with pytest.raises(InputError, match=r"pip install 'arr-sql\[regex\]'"):
        LinePattern("a")


def search(folder: Path, pattern: str, seconds: float) -> LineSearch:
    with Root(folder) as root:
        return search_targets(
            [Target("r", root)], LinePattern(pattern), deadline=time.monotonic() + seconds, limits=SearchLimits()
        )


def test_nested_quantifiers_take_no_time(tmp_path: Path) -> None:
    """``(a+)+$`` on forty letters and on a hundred thousand ends long before its deadline, with the right lines."""
    (tmp_path / "l.txt").write_text("a" * 40 + "!\n" + "a" * 100_000 + "!\n" + "a\n", "utf-8")
    started = time.monotonic()
    assert [hit.line_no for hit in search(tmp_path, "(a+)+$", 10).hits] == [3]
    assert time.monotonic() - started < 5


def test_the_deadline_holds_inside_one_line(tmp_path: Path) -> None:
    """The dearest pattern that is allowed, on one line of 4 MB: what was found before is given, and it ends in time."""
    (tmp_path / "a.md").write_text("abcx\n", "utf-8")
    (tmp_path / "b.md").write_text("".join(random.Random(1).choices("abcdefghijklmnopqrstuvw", k=4_000_000)), "utf-8")
    started = time.monotonic()
    found = search(tmp_path, "^abcx|(x?){900}[a-q][^u-z]{500}x", 1)
    assert time.monotonic() - started < 5
    assert (found.cut, [hit.rel for hit in found.hits][:1]) == ("deadline", ["a.md"])
