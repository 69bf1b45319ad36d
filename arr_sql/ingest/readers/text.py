"""Plain text and logs: paragraphs, with tracebacks kept in one piece.

A blank line ends a paragraph. A traceback (Python's, or the ``at ...`` lines of Java and JavaScript) is one piece from
its first line to the line that names the error, so that a search for the error shows where it came from. Log lines
are grouped by twenty, with their continuation lines.
"""

from __future__ import annotations

import re

from .base import STUB_KIND, Cut, ReadResult, TextReader, cover, join_heading, split_lines

_SUFFIXES = ".txt .text .log .out .err .rst .org .adoc .asciidoc .srt .vtt"
_FILE_NAMES = (
    "authors changelog changes citation contributing contributors copying copyright credits history install licence"
    " license maintainers news notice readme thanks todo version"
)
_PYTHON_START = re.compile(r"(?P<lead>\s*).{0,200}?Traceback \(most recent call last\):")
_AT_FRAME = re.compile(r"\s+at \S|\s+\.\.\. \d+ (?:more|common)|Caused by: ")
_LINKS = ("During handling of the above exception", "The above exception was the direct cause")
_LOG = re.compile(r"\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d)")
_RST_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_LOG_GROUP = 20


class PlainTextReader(TextReader):
    """Paragraphs, log groups and tracebacks; in ``.rst`` files underlined titles give the headings."""

    name = "text"
    version = "2"
    suffixes = frozenset(_SUFFIXES.split())
    file_names = frozenset(_FILE_NAMES.split())

    def read(self, text: str, path: str) -> ReadResult:
        lines = split_lines(text)
        if path.lower().endswith(".rst"):
            cuts, title = _rst_cuts(lines)
            return ReadResult(cover(lines, cuts), title=title, language="rst")
        return ReadResult(cover(lines, paragraph_cuts(lines)), language="text")


def paragraph_cuts(lines: list[str], heading: str = "") -> list[Cut]:
    """Where paragraphs, groups of log lines and tracebacks begin. Linear in the number of lines."""
    cuts: list[Cut] = []
    index, run, fresh = 0, 0, True
    while index < len(lines):
        line = lines[index]
        end = traceback_end(lines, index)
        if end > index:
            cuts.append(Cut(index + 1, heading, "traceback"))
            index, run, fresh = end, 0, True
            continue
        if not line.strip():
            fresh = True
        elif _LOG.match(line):
            if fresh or run == 0 or run >= _LOG_GROUP:
                cuts.append(Cut(index + 1, heading, "log"))
                run = 0
            run, fresh = run + 1, False
        elif fresh:
            cuts.append(Cut(index + 1, heading))
            run, fresh = 0, False
        index += 1
    return cuts


def traceback_end(lines: list[str], start: int) -> int:
    """The index after the traceback that begins at ``start``, or ``start`` itself when none does."""
    match = _PYTHON_START.match(lines[start])
    return _python_end(lines, start, match["lead"]) if match else _at_end(lines, start)


def _python_end(lines: list[str], start: int, lead: str) -> int:
    end = start
    while True:
        end += 1
        while end < len(lines) and lines[end].strip() and lines[end].startswith((lead + " ", lead + "\t")):
            end += 1
        if end < len(lines) and lines[end].strip():
            end += 1  # the line that names the error
        link = _next_text(lines, end)
        if link is None or not lines[link].strip().startswith(_LINKS):
            return end
        again = _next_text(lines, link + 1)
        if again is None or not _PYTHON_START.match(lines[again]):
            return end
        end = again


def _at_end(lines: list[str], start: int) -> int:
    first = lines[start]
    if not first.strip() or start + 1 >= len(lines) or not _AT_FRAME.match(lines[start + 1]):
        return start
    end = start + 1
    while end < len(lines) and _AT_FRAME.match(lines[end]):
        end += 1
    return end


def _next_text(lines: list[str], start: int) -> int | None:
    """The first non-blank line of the three from ``start`` on."""
    for index in range(start, min(start + 3, len(lines))):
        if lines[index].strip():
            return index
    return None


def _rst_cuts(lines: list[str]) -> tuple[list[Cut], str]:
    """Sections of reStructuredText by underlined titles; the order in which underlines appear gives their level."""
    heads: dict[int, tuple[int, str]] = {}  # index of the first line of a title -> level, text
    styles: list[str] = []
    for index in range(1, len(lines)):
        match = _RST_UNDERLINE.match(lines[index])
        title = lines[index - 1]
        if match is None or not title.strip() or title[0].isspace() or len(lines[index].rstrip()) < len(title.rstrip()):
            continue
        above = lines[index - 2] if index >= 2 else ""
        over = above == lines[index]
        if _RST_UNDERLINE.match(title) or (above.strip() and not over):
            continue
        style = match[1] * (2 if over else 1)
        if style not in styles:
            styles.append(style)
        heads[index - 2 if over else index - 1] = (styles.index(style), title.strip())
    cuts = {cut.line: cut for cut in paragraph_cuts(lines)}
    path: list[str] = []
    heading, title = "", ""
    for line in sorted({*cuts, *(index + 1 for index in heads)}):
        if line - 1 in heads:
            level, name = heads[line - 1]
            title = title or name
            path = [*path[:level], *[""] * (level - len(path)), name]
            heading = join_heading(*path)
            cuts[line] = Cut(line, heading, STUB_KIND)
        else:
            cuts[line] = Cut(line, heading, cuts[line].kind)
    return list(cuts.values()), title
