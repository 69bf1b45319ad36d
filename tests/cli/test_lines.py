"""Lines of an answer break where rich breaks them, and nothing of a text is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from arr_sql.cli._lines import broken, cells, print_pieces, print_text

TEXTS = st.text("ab-. \u4e2d\u6587\u304b\uff0c\u00e9\n", max_size=60)


def lines_of(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end in broken(text, width)]


@given(TEXTS, st.integers(2, 30))
def test_lines_are_those_of_rich(text: str, width: int) -> None:
    """Where every word has room in a line, spaces at line ends aside. (What is wider, rich cuts with the spaces behind it.)"""
    text = "\n".join(line.strip() for line in text.split("\n"))
    assume(all(cells(word) <= width for word in text.split()))
    expected = Text(text).wrap(Console(width=width), width)
    assert [line.rstrip() for line in lines_of(text, width)] == [line.plain.rstrip() for line in expected]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("    a long word", 8, ["    a", "long", "word"]),
        ("    \u4e2d\u6587\u4e2d\u6587\u4e2d", 8, ["    \u4e2d\u6587", "\u4e2d\u6587\u4e2d"]),
        ("one aaaaaaaaaa b", 4, ["one", "aaaa", "aaaa", "aa b"]),
        ("aaaa   ", 4, ["aaaa   "]),
        ("", 4, [""]),
    ],
)
def test_where_lines_break(text: str, width: int, lines: list[str]) -> None:
    """An indented line, one of a script without spaces, a word that is cut, spaces at the end, nothing."""
    assert lines_of(text, width) == lines


@given(TEXTS, st.integers(2, 30))
def test_nothing_is_lost_but_spaces_at_breaks(text: str, width: int) -> None:
    """All that can be seen is there in its order, and no line is wider than the terminal, spaces at its end aside."""
    lines = lines_of(text, width)
    assert "".join(re.sub(r"\s", "", line) for line in lines) == re.sub(r"\s", "", text)
    assert all(cells(line.rstrip()) <= width for line in lines)


def test_a_style_goes_on_in_the_next_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line begins and ends its styles itself, so that a pager shows any of them right."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("arr_sql.cli._lines.columns", lambda: 120)
    print_pieces(("1. ", {}), ("x" * 120, {"fg": "cyan"}), (" end", {"dim": True}))

    first, second, third = capsys.readouterr().out.splitlines()
    assert (first, second) == ("1.", f"\x1b[36m{'x' * 120}\x1b[0m")
    assert third == "\x1b[2mend\x1b[0m"


def test_a_pipe_gets_no_colours(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless they are asked for with FORCE_COLOR."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    print_text("plain\ttext", fg="yellow")
    assert capsys.readouterr().out == "plain   text\n"


def test_nothing_is_broken_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever reads it looks for lines as they are in the file."""
    print_text("word " * 100 + "x" * 500 + "\nnext")
    assert capsys.readouterr().out.splitlines() == ["word " * 100 + "x" * 500, "next"]
