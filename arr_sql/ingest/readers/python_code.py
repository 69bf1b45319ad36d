"""Python: one piece per function and per class header, named ``Trainer.step``, by the interpreter's own parser.

Decorators and the comments directly above belong to what they decorate. Definitions inside ``if`` and ``try`` at module
or class level are found too; functions inside functions stay with their parent. A file this interpreter can't parse
(Python 2, a template, a syntax error, nesting that is too deep) is read by layout instead and says so.
"""

from __future__ import annotations

import ast
import warnings

from .base import Cut, Piece, ReadResult, TextReader, clip, cover, split_lines
from .code import code_cuts
from .python_depth import too_deep

# The parser's memory is some fifty times the text; a module this long is generated data.
_MAX_CHARS = 4_000_000
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class PythonReader(TextReader):
    """Python source by its syntax tree."""

    name = "python"
    version = "2"
    suffixes = frozenset({".py", ".pyi", ".pyw"})

    def read(self, text: str, path: str) -> ReadResult:
        return self.read_withheld(text, text, path)

    def read_withheld(self, text: str, original: str, path: str) -> ReadResult:
        lines = split_lines(text)
        tree, problem = _parse(original)
        if tree is None:
            pieces = cover(lines, code_cuts(lines), Cut(1, kind="code"))
            return ReadResult(pieces, language="python", warnings=(f"python_syntax: {problem}",))
        docstring = (ast.get_docstring(tree, clean=True) or "").partition("\n")[0]
        # Title and names are taken from the original, so they must stand in what may be shown.
        title = clip(docstring) if text is original or docstring in text else ""
        return ReadResult(_pieces(tree, lines, "" if text is original else text), title=title, language="python")


def _parse(text: str) -> tuple[ast.Module | None, str]:
    """The tree, or None and the reason. Warnings about the file's code are not warnings about this program."""
    if len(text) > _MAX_CHARS:
        return None, "longer than 4,000,000 characters"
    if too_deep(text):
        return None, "nested too deeply"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # A lone carriage return would count as a line here but not in grep; a byte-order mark is no code.
            return ast.parse(text.removeprefix("\ufeff").replace("\r", " ")), ""
    except SyntaxError as error:
        return None, f"line {error.lineno}: {error.msg}"
    except (RecursionError, MemoryError):
        return None, "nested too deeply"
    except (ValueError, OverflowError) as error:
        return None, str(error)


def _pieces(tree: ast.Module, lines: list[str], shown: str) -> tuple[Piece, ...]:
    """``shown`` is the text in which a name must stand to be used; empty for any."""
    cuts: list[Cut] = []
    body = tree.body
    if ast.get_docstring(tree, clean=False) is not None:
        cuts += [Cut(1, kind="docstring"), Cut((body[0].end_lineno or 1) + 1, kind="code")]
    # Work list instead of recursion: (statements, name of the class around them, cut to return to).
    work: list[tuple[list[ast.stmt], str]] = [(body, "")]
    found: list[tuple[int, int, str, str]] = []  # first line, last line, name, kind
    while work:
        statements, inside = work.pop()
        for node in statements:
            if isinstance(node, _Definition):
                own = node.name if not shown or node.name in shown else "withheld"
                name = f"{inside}.{own}" if inside else own
                first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
                is_class = isinstance(node, ast.ClassDef)
                found.append((first, node.end_lineno or first, name, "class" if is_class else "function"))
                if is_class:
                    work.append((node.body, name))
            else:
                work.extend((block, inside) for block in _blocks(node))
    found.sort(key=lambda item: (item[0], -item[1]))
    cuts.extend(_nested_cuts(found, lines))
    return cover(lines, cuts, Cut(1, kind="code"))


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The statement lists of a compound statement that is no definition."""
    blocks: list[list[ast.stmt]] = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
    blocks += [part.body for field in ("handlers", "cases") for part in getattr(node, field, [])]
    return blocks


def _nested_cuts(found: list[tuple[int, int, str, str]], lines: list[str]) -> list[Cut]:
    """A cut where each definition begins, and one after its end that returns to the class around it."""
    cuts: list[Cut] = []
    around: list[tuple[int, Cut]] = []  # (last line, cut to return to after it)
    current = Cut(1, kind="code")
    for first, last, name, kind in found:
        while around and around[-1][0] < first:
            end, current = around.pop()
            cuts.append(Cut(end + 1, current.heading, current.kind, current.name))
        lower = max((cut.line for cut in cuts[-1:]), default=1)
        cuts.append(Cut(_with_comments(lines, first, lower), name, kind, name))
        around.append((last, current))
        current = cuts[-1]
    while around:
        end, current = around.pop()
        cuts.append(Cut(end + 1, current.heading, current.kind, current.name))
    return cuts


def _with_comments(lines: list[str], first: int, lower: int) -> int:
    """The first of the comment lines directly above line ``first``, not above ``lower``."""
    while first - 1 >= lower and first >= 2 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return first
