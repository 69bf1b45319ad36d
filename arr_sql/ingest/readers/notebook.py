"""Jupyter notebooks: the sources of all cells and what their outputs say in text, each part at ``cell 7``.

Cells are counted from 1, Markdown cells too. Markdown cells are cut as Markdown, and their headings lead to the code
below them. Of an output the text is kept, without terminal colours and up to :data:`OUTPUT_CHARS` characters (its head
and its tail; for a traceback the end matters); images, HTML beside a plain text, widget state and other data are left
out and counted. What was left out or cut is in ``warnings``, never silent. Line numbers count the extracted text, which
is the cells in order.

By the standard library's ``json``: nbformat would add a schema validator that refuses the notebooks people have.
Formats 3 and 4 are read; what a cell lacks is taken as empty.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from arr_sql.core.decode import Undecodable, decode

from .base import JSON, STUB_KIND, Cut, Piece, ReadResult, Unreadable, clip, cover, join_heading, split_lines
from .citation import citation, find_arxiv, find_doi, split_names
from .code import code_cuts
from .front_matter import read_front_matter
from .markdown import MarkdownReader
from .python_code import PythonReader

OUTPUT_CHARS = 8_000
_CELL_OUTPUT_CHARS = 20_000
_FORMATS = (3, 4)
# ESC sequences (CSI, OSC, two characters) and the eight-bit CSI.
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]|\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|\x1b[ -/]?[0-~]|\x1b"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# One line without a space, longer than any word: base64 and its like inside a text output or a source.
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{2000,}")
_EMBEDDED = re.compile(r"data:[\w/+.-]{1,60};base64,[A-Za-z0-9+/=\s]{200,}")
_TEXT_TYPES = ("text/plain", "text/markdown", "text/latex", "text/html")
_TAG = re.compile(r"<[^<>]{0,500}>")


class NotebookReader:
    """``.ipynb`` files."""

    name = "notebook"
    version = "1"
    suffixes = frozenset({".ipynb"})
    reads_bytes = True

    def read(self, text: str, path: str) -> ReadResult:
        """For text in memory; a refusal becomes a result without pieces and a warning."""
        result = self.read_bytes(text.encode("utf-8", "replace"), path)
        return (
            ReadResult((), warnings=(f"{result.code}: {result.detail}",)) if isinstance(result, Unreadable) else result
        )

    def read_bytes(self, data: bytes, path: str) -> ReadResult | Unreadable:
        if not data.strip():
            return Unreadable("empty")
        decoded = decode(data)
        if isinstance(decoded, Undecodable):
            return Unreadable("malformed", decoded.detail)
        try:
            tree = json.loads(decoded.text.removeprefix("\ufeff"))
        except json.JSONDecodeError as error:
            return Unreadable("malformed", f"not JSON from line {error.lineno} on")
        except (RecursionError, ValueError):  # ValueError: a number of thousands of digits
            return Unreadable("malformed", "JSON nested too deeply or with an impossible number")
        cells = _cells(tree)
        if cells is None:
            return Unreadable("malformed", "JSON, but no notebook of format 3 or 4")
        return _Notebook(tree, decoded.warnings).read(cells, path)


def _cells(tree: Any) -> list[Any] | None:
    """The cells of formats 4 (``cells``) and 3 (``worksheets``), or None if this is no notebook."""
    if not isinstance(tree, dict):
        return None
    cells = tree.get("cells")
    if isinstance(cells, list):
        return cells
    sheets = tree.get("worksheets")
    if isinstance(sheets, list):
        found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for part in found if isinstance(part, list) for cell in part]
    return None


class _Notebook:
    """One notebook being read."""

    def __init__(self, tree: dict[str, Any], warnings: Iterable[str]) -> None:
        self._tree = tree
        self._warnings = list(warnings)
        self._omitted: Counter[str] = Counter()
        self._cut: dict[int, int] = {}  # cell number -> characters left out
        self._odd: list[int] = []
        self._path = ""
        self._title = ""
        self._front: dict[str, JSON] = {}
        self._markdown, self._python = MarkdownReader(), PythonReader()
        self._prose: list[str] = []

    def read(self, cells: list[Any], path: str) -> ReadResult:
        language = self._language()
        pieces: list[Piece] = []
        line = 1
        n_code = 0
        for number, cell in enumerate(cells, 1):
            if not isinstance(cell, dict):
                self._odd.append(number)
                continue
            n_code += cell.get("cell_type") == "code"
            for piece in self._cell(number, cell, language):
                shifted = piece.start_line + line - 1, piece.end_line + line - 1
                pieces.append(Piece(piece.text, *shifted, piece.heading, piece.kind, piece.name, f"cell {number}"))
            line = pieces[-1].end_line + 1 if pieces else 1
        widgets = _metadata(self._tree).get("widgets")
        if widgets:
            self._omitted["widget_state"] += 1
        self._note()
        metadata = self._citation() | {"cells": len(cells), "code_cells": n_code}
        if self._omitted:
            metadata["outputs_omitted"] = dict(sorted(self._omitted.items()))
        kernel = _metadata(self._tree).get("kernelspec")
        if isinstance(kernel, dict) and isinstance(kernel.get("name"), str):
            metadata["kernel"] = clip(kernel["name"], 80)
        return ReadResult(tuple(pieces), self._title, language, metadata, tuple(self._warnings))

    # --- cells ----------------------------------------------------------------------------------------------------

    def _cell(self, number: int, cell: dict[str, Any], language: str) -> Iterator[Piece]:
        """The pieces of one cell, lines counted from 1 within the cell."""
        kind = _joined(cell.get("cell_type"))
        source = self._clean(_joined(cell.get("source", cell.get("input"))))
        lines = split_lines(source)
        attachments = cell.get("attachments")
        if isinstance(attachments, dict):
            self._omitted.update(
                clip(part, 60) for bundle in attachments.values() if isinstance(bundle, dict) for part in bundle
            )
        if kind == "heading":  # format 3
            level = cell.get("level")
            source = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1) + " " + " ".join(source.split())
            lines, kind = [source], "markdown"
        if kind in {"markdown", "raw"}:
            if number == 1 and lines and not self._front:
                self._front = read_front_matter(lines).values
            if kind == "markdown":
                self._prose.append(source[:5000])
                yield from self._markdown_cell(source)
            else:
                yield from cover(lines, (), Cut(1, self._path))
            return
        cuts = _code_cuts(source, lines, language, self._python)
        pieces = [_under(self._path, piece) for piece in cover(lines, cuts, Cut(1, kind="code"))]
        yield from pieces
        line = len(lines) + 1
        for output in self._outputs(number, cell):
            rows = split_lines(output)
            yield Piece(output.rstrip("\n"), line, line + len(rows) - 1, self._path, "output")
            line += len(rows)

    def _markdown_cell(self, source: str) -> Iterator[Piece]:
        """Headings of this cell replace those of their level that came before."""
        result = self._markdown.read(source, "cell.md")
        self._warnings += result.warnings
        base = self._path
        for piece in result.pieces:
            if piece.kind == STUB_KIND:
                level = len(piece.text) - len(piece.text.lstrip("#")) or (1 if "\n=" in piece.text else 2)
                kept = base.split(" > ")[: level - 1] if base else []
                name = piece.heading.rpartition(" > ")[2]
                self._path = base = join_heading(*kept, name)
                self._title = self._title or name
            yield Piece(piece.text, piece.start_line, piece.end_line, self._path, piece.kind)

    # --- outputs --------------------------------------------------------------------------------------------------

    def _outputs(self, number: int, cell: dict[str, Any]) -> Iterator[str]:
        outputs = cell.get("outputs")
        left = _CELL_OUTPUT_CHARS
        for text in self._merged(outputs if isinstance(outputs, list) else []):
            text = self._clean(text)
            limit = min(OUTPUT_CHARS, left)
            if len(text) > limit:
                self._cut[number] = self._cut.get(number, 0) + len(text) - limit
                text = _head_and_tail(text, limit)
            left -= min(len(text), left)
            if text.strip():
                yield text.strip("\n")

    def _merged(self, outputs: list[Any]) -> Iterator[str]:
        """Texts of outputs; what a stream wrote in several parts is one text."""
        stream: list[str] = []
        for output in outputs:
            if not isinstance(output, dict):
                continue
            kind = _joined(output.get("output_type"))
            if kind == "stream":
                stream.append(_joined(output.get("text")))
                continue
            if stream:
                yield "".join(stream)
                stream = []
            if kind in {"error", "pyerr"}:
                trace = (
                    "\n".join(map(_joined, output["traceback"])) if isinstance(output.get("traceback"), list) else ""
                )
                last = f"{_joined(output.get('ename'))}: {_joined(output.get('evalue'))}"
                yield trace if last.strip(": ") in _ANSI.sub("", trace) else f"{trace}\n{last}"
            else:
                yield self._shown(output)
        if stream:
            yield "".join(stream)

    def _shown(self, output: dict[str, Any]) -> str:
        """The best text of one display; everything else in it is counted by its type."""
        data = output.get("data")
        if not isinstance(data, dict):  # format 3: the types are keys of the output
            short = {"text": "text/plain", "html": "text/html", "latex": "text/latex", "png": "image/png", "svg": "image/svg+xml",
                     "jpeg": "image/jpeg", "javascript": "application/javascript", "json": "application/json"}  # fmt: skip
            data = {short[key]: value for key, value in output.items() if key in short}
        chosen = next((kind for kind in _TEXT_TYPES if _joined(data.get(kind)).strip()), "")
        for kind in data:
            if kind != chosen and not (kind == "text/html" and chosen):
                self._omitted[clip(str(kind), 60)] += 1
        text = _joined(data.get(chosen)) if chosen else ""
        return _TAG.sub(" ", text) if chosen == "text/html" else text

    def _clean(self, text: str) -> str:
        """Text as a terminal would leave it: no colours, a progress bar's last state, no embedded data."""
        text = _ANSI.sub("", text) if "\x1b" in text or "\x9b" in text else text
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
        text = _CONTROL.sub(" ", text)
        if len(text) > 200:
            text, embedded = _EMBEDDED.subn("[embedded data left out]", text)
            text, blobs = _BLOB.subn("[data left out]", text)
            self._omitted.update({"embedded_data": embedded + blobs} if embedded + blobs else {})
        return text

    # --- the whole ------------------------------------------------------------------------------------------------

    def _language(self) -> str:
        metadata = _metadata(self._tree)
        for key, field in (("language_info", "name"), ("kernelspec", "language")):
            part = metadata.get(key)
            if isinstance(part, dict) and isinstance(part.get(field), str):
                return clip(part[field].lower(), 40)
        return "python"

    def _citation(self) -> dict[str, JSON]:
        metadata = _metadata(self._tree)
        named = metadata.get("title")
        front = self._front.get("title")
        self._title = clip(
            named if isinstance(named, str) and named else front if isinstance(front, str) and front else self._title
        )
        authors = metadata.get("authors")
        names = (
            [_joined(item.get("name") if isinstance(item, dict) else item) for item in authors]
            if isinstance(authors, list)
            else []
        )
        if not names and isinstance(self._front.get("author"), str):
            names = split_names(str(self._front["author"]))
        prose = self._prose[0] if self._prose else ""
        return citation(
            title=self._title,
            authors=names,
            year=str(self._front.get("date", "")),
            doi=find_doi(prose),
            arxiv_id=find_arxiv(prose),
        )

    def _note(self) -> None:
        if not any(self._tree.get("nbformat") == number for number in _FORMATS):
            self._warnings.append("notebook_format: not format 3 or 4, read as far as it goes")
        if self._odd:
            self._warnings.append(f"notebook_cells: cells that are no cells: {_numbers(self._odd)}")
        if self._omitted:
            listed = ", ".join(f"{count} {kind}" for kind, count in sorted(self._omitted.items()))
            self._warnings.append(f"outputs_omitted: {clip(listed, 400)}")
        if self._cut:
            self._warnings.append(
                f"output_cut: {sum(self._cut.values())} characters of cells {_numbers(list(self._cut))}"
            )


def _code_cuts(source: str, lines: list[str], language: str, python: PythonReader) -> list[Cut]:
    if len(source) < 1200:
        return []
    if language == "python" or language == "ipython":
        plain = "\n".join("pass  # " + line if line.startswith(("%", "!")) else line for line in lines)
        return [
            Cut(piece.start_line, piece.heading, piece.kind, piece.name)
            for piece in python.read(plain, "cell.py").pieces
        ]
    return code_cuts(lines, language)


def _under(path: str, piece: Piece) -> Piece:
    return Piece(
        piece.text, piece.start_line, piece.end_line, join_heading(path, piece.heading), piece.kind, piece.name
    )


def _head_and_tail(text: str, limit: int) -> str:
    """A third from the beginning, two thirds from the end, whole lines where lines are short."""
    if limit < 200:
        return ""
    head, tail = text[: limit // 3], text[-(limit - limit // 3) :]
    return f"{head}\n[{len(text) - limit} characters left out]\n{tail}"


def _joined(value: Any) -> str:
    """Text that may be given as a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _metadata(tree: dict[str, Any]) -> dict[str, Any]:
    value = tree.get("metadata")
    return value if isinstance(value, dict) else {}


def _numbers(values: list[int]) -> str:
    shown = ", ".join(map(str, values[:20]))
    return shown if len(values) <= 20 else f"{shown} and {len(values) - 20} more"
