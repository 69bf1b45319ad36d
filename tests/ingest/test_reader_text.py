"""Plain text, logs, tracebacks, and reStructuredText titles."""

from __future__ import annotations

from arr_sql.ingest.readers.text import PlainTextReader

LOG = """2024-01-01 10:00:00 start
2024-01-01 10:00:01 work
  continued
Traceback (most recent call last):
  File "a.py", line 1, in f
    g()
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 2, in h
    k()
ValueError: bad value
2024-01-01 10:00:02 next
java.lang.IllegalStateException: broken
\tat a.B.c(B.java:1)
\tat a.B.d(B.java:2)
Caused by: java.io.IOException: gone
\t... 3 more
end
"""


def spans(text: str, path: str = "a.txt") -> list[tuple[int, int, str]]:
    return [(piece.start_line, piece.end_line, piece.kind) for piece in PlainTextReader().read(text, path).pieces]


def test_paragraphs() -> None:
    """A blank line ends a paragraph."""
    assert spans("one\ntwo\n\n\nthree\n") == [(1, 4, "text"), (5, 5, "text")]


def test_tracebacks_are_whole() -> None:
    """From the first line to the error, chained ones included; log lines keep their continuations."""
    assert spans(LOG) == [(1, 3, "log"), (4, 14, "traceback"), (15, 15, "log"), (16, 20, "traceback"), (21, 21, "text")]


def test_long_logs_are_grouped() -> None:
    """Twenty lines a piece, so that a chunk border never falls into an entry."""
    text = "".join(f"2024-01-01 10:00:{second:02} message\n  detail\n" for second in range(60))
    assert [start for start, _, _ in spans(text)] == [1, 41, 81]


def test_rst_titles_give_the_path() -> None:
    """Underlines, with or without an overline, in the order of their first use."""
    text = "=====\nTitle\n=====\n\nintro\n\nPart\n----\n\nbody\n\nOther\n-----\n\nmore\n"
    result = PlainTextReader().read(text, "a.rst")
    assert result.title == "Title"
    assert [piece.heading for piece in result.pieces if piece.kind == "heading"] == [
        "Title",
        "Title > Part",
        "Title > Other",
    ]
    assert result.pieces[-1].heading == "Title > Other"
