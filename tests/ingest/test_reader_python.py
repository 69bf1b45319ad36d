"""Python: one piece per function and class header, by name, with what stands above them."""

from __future__ import annotations

import pytest

from arr_sql.ingest.readers.base import ReadResult
from arr_sql.ingest.readers.python_code import PythonReader
from arr_sql.ingest.readers.python_depth import too_deep

MODULE = '''"""Training of models.

More."""
import os

# Learning rate.
RATE = 0.1


# A comment that explains.
@decorated(
    with_arguments=True,
)
def train(x):
    def inner():
        return x
    return inner


class Trainer(Base):
    """Trains."""

    size = 3

    # Above step.
    async def step(self):
        return 1

    class Inner:
        def deep(self): ...

    after = 4


if os.name == "nt":
    def windows(): pass
else:
    try:
        def other(): pass
    except Exception:
        def fallback(): pass
print("end")
'''


def read(text: str) -> ReadResult:
    return PythonReader().read(text, "a.py")


def test_pieces_follow_the_definitions() -> None:
    """Qualified names, decorators and comments included; what follows a member belongs to the class again."""
    pieces = [(piece.start_line, piece.end_line, piece.kind, piece.name) for piece in read(MODULE).pieces]
    assert pieces == [
        (1, 3, "docstring", ""),
        (4, 9, "code", ""),
        (10, 19, "function", "train"),
        (20, 24, "class", "Trainer"),
        (25, 28, "function", "Trainer.step"),
        (29, 29, "class", "Trainer.Inner"),
        (30, 30, "function", "Trainer.Inner.deep"),
        (31, 32, "class", "Trainer"),
        (33, 35, "code", ""),
        (36, 36, "function", "windows"),
        (37, 38, "code", ""),
        (39, 39, "function", "other"),
        (40, 40, "code", ""),
        (41, 41, "function", "fallback"),
        (42, 42, "code", ""),
    ]
    assert read(MODULE).title == "Training of models."


@pytest.mark.parametrize(
    "text",
    [
        "print 'python 2'\n\ndef old(x):\n    exec x\n",
        "def broken(:\n    pass\n\n\ndef good():\n    return 1\n",
        "x = '\0'\n\ndef f(): pass\n",
    ],
)
def test_a_file_that_cannot_be_parsed_is_read_by_layout(text: str) -> None:
    """Python 2, an error or a NUL: a warning with the reason, names still found, nothing lost."""
    result = read(text)
    assert len(result.warnings) == 1 and result.warnings[0].startswith("python_syntax: ")
    assert any(piece.kind == "function" for piece in result.pieces)


def test_warnings_about_the_file_are_silent() -> None:
    """An invalid escape in somebody's file is not a warning of this program (warnings are errors in these tests)."""
    assert read("x = '\\d'\nassert (x, 'always')\nif x is 1: pass\n").warnings == ()


def test_a_lone_carriage_return_is_no_line() -> None:
    """Line numbers stay those of grep where Python would count one more."""
    (first, second) = read("x = 1 \r# note\n\n\ndef f():\n    pass\n").pieces
    assert (first.end_line, second.start_line, second.name) == (3, 4, "f")


def test_a_byte_order_mark_inside_is_tolerated() -> None:
    """A mark that survived a concatenation is not a syntax error."""
    assert read("\ufeffdef f():\n    pass\n").warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        "1" + "+1" * 100_000,
        "a" + ".b" * 100_000,
        "a" + "()" * 100_000,
        "(a" + "\n.b" * 100_000 + ")",
        "f(\n" + ")(\n" * 100_000,
        "(1 +\n" + "\n\n# note\n1 +\n" * 100_000,
        "not " * 100_000 + "1",
        "-" * 100_000 + "1",
        "if a:\n 1\n" + "elif a:\n 1\n" * 100_000,
        "lambda:\\\n" * 100_000 + "1",
        "(1 + f(x # ,\n, 2)" + " + f(x # )\n, 2)" * 100_000 + ")",
        '(1 + """,\n"""' + ' + """,\n"""' * 100_000 + ")",
        "f'''{" + "1+" * 100_000 + "1}'''",
    ],
    ids=range(13),
)
def test_a_hostile_file_does_not_end_the_process(text: str) -> None:
    """Chains that overflow the C stack of Python's parser are never given to it."""
    assert too_deep(text)
    assert read(text).warnings == ("python_syntax: nested too deeply",)


def test_ordinary_tables_are_parsed() -> None:
    """Many lines of numbers, attributes and calls are not deep."""
    text = "x = [\n" + "    (-1.5, a.b, f(-2), not c),\n" * 20_000 + "]\n" + "y.z(1) + 2\n" * 20_000
    assert not too_deep(text)
