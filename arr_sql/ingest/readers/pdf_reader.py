"""PDF with a text layer: pages with their numbers, in reading order, each piece at ``p.4``.

PDFium (through pypdfium2, the extra ``pdf``) was chosen for its permissive licences (BSD-3-Clause and Apache-2.0), its
wheels for Linux (glibc and musl), macOS and Windows without a compiler, its speed (C++, some ten milliseconds a page),
and because a browser's users have tried hostile files on it for years. pdfminer.six is slower by a factor of twenty and
has no limits; PyMuPDF is under the AGPL. It runs in a process of its own (``pdf_worker``), so that a file that crashes it,
never ends or floods memory is refused as ``too_complex`` or ``malformed`` and costs nothing else.

Limits: :data:`MAX_PAGES` pages, :data:`MAX_CHARS` characters and :data:`MAX_LINES` lines are read and the rest is named in a warning;
:data:`MAX_SECONDS` and :data:`MAX_BYTES` of memory, beyond which the file is refused.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .base import JSON, STUB_KIND, Cut, Piece, ReadResult, Unreadable, clip, cover, join_heading
from .citation import citation, find_arxiv, find_doi, find_year, split_names
from .pdf_layout import Row, Segment, clean_text, mend_hyphens, rows_of, without_repeats

MAX_PAGES = 3_000
MAX_CHARS = 10_000_000
MAX_LINES = 300_000
MAX_SECONDS = 120
MAX_BYTES = 1 << 30

_WORKER = Path(__file__).with_name("pdf_worker.py")
_PASSWORD_ERROR, _SECURITY_ERROR = 4, 5  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY
_HEADING_RATIO = 1.12
_JUNK_TITLE = re.compile(
    r"(?:microsoft word|powerpoint|untitled|unnamed|title|document\d*|slide \d|no title"
    r"|.*\.(?:dvi|docx?|pptx?|tex|pdf|indd|ps|rtf|odt)$|\W*$)",
    re.IGNORECASE,
)
_MARKUP = re.compile(rb"\s*(?:<!doctype|<html|<\?xml|<head|<body|\{)", re.IGNORECASE)
_ODD = re.compile("[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")


class PdfReader:
    """``.pdf`` files. ``passwords`` are tried in order on files that ask for one."""

    name = "pdf"
    version = "2"
    suffixes = frozenset({".pdf"})
    reads_bytes = True

    def __init__(self, passwords: Sequence[str] = ()) -> None:
        self._passwords = tuple(passwords)

    def with_passwords(self, passwords: Sequence[str]) -> PdfReader:
        """A reader that tries ``passwords`` and is otherwise this one."""
        return PdfReader(passwords)

    def read(self, text: str, path: str) -> ReadResult:
        """A PDF is never text; the result holds no piece and says so."""
        return ReadResult((), warnings=("not_a_pdf: given as text",) if text.strip() else ())

    def read_bytes(self, data: bytes, path: str) -> ReadResult | Unreadable:
        if not data:
            return Unreadable("empty")
        if b"%PDF-" not in data[:1024]:
            return Unreadable("not_a_pdf", "an HTML or XML page" if _MARKUP.match(data[:200]) else "no PDF header")
        if not has_pdfium():
            return Unreadable("needs_extra_pdf")
        answer = _extract(data, self._passwords)
        if isinstance(answer, Unreadable):
            return answer
        if "error" in answer:
            return _refused(answer, len(self._passwords))
        return _result(answer, is_whole=b"%%EOF" in data[-2048:])


def has_pdfium() -> bool:
    """Whether the extra ``pdf`` is installed."""
    return importlib.util.find_spec("pypdfium2") is not None


def _extract(data: bytes, passwords: Sequence[str]) -> dict[str, Any] | Unreadable:
    """What the worker says. A worker that dies or doesn't end is a refusal."""
    request = {
        "path": [entry or str(Path.cwd()) for entry in sys.path], "passwords": list(passwords), "max_pages": MAX_PAGES,
        "max_chars": MAX_CHARS, "max_lines": MAX_LINES, "max_seconds": MAX_SECONDS, "max_bytes": MAX_BYTES,
    }  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(_WORKER)], input=json.dumps(request).encode() + b"\n" + data,
            capture_output=True, timeout=MAX_SECONDS + 10, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Unreadable("too_complex", f"not read after {MAX_SECONDS} seconds")
    except OSError as error:
        return Unreadable("reader_failed", f"pdf: the reading process did not start: {type(error).__name__}")
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return Unreadable(
            "too_complex", f"the reading process ended with {done.returncode}, out of memory or time, or a crash"
        )
    return answer if isinstance(answer, dict) else Unreadable("malformed")


def _refused(answer: dict[str, Any], n_passwords: int) -> Unreadable:
    if answer["error"] == "import":
        return Unreadable("needs_extra_pdf", "pypdfium2 is there and can't be imported")
    if answer["error"] == "memory":
        return Unreadable("too_complex", f"more than {MAX_BYTES >> 20} MiB of memory")
    if answer.get("code") == _PASSWORD_ERROR:
        return Unreadable(
            "encrypted", f"none of {n_passwords} passwords opens it" if n_passwords else "it needs a password"
        )
    if answer.get("code") == _SECURITY_ERROR:
        return Unreadable("encrypted", "by a method that is not supported")
    return Unreadable("malformed", "PDFium can't open it")


def _result(answer: dict[str, Any], is_whole: bool) -> ReadResult | Unreadable:
    count = answer["count"]
    found = [_segments(page) for page in answer["pages"]]
    odd = {number for number, page in enumerate(found, 1) if _is_garbled(page)}
    pages = [
        [] if number in odd else rows_of(segments, page["height"])
        for number, (segments, page) in enumerate(zip(found, answer["pages"], strict=True), 1)
    ]
    empty = [number for number, rows in enumerate(pages, 1) if not rows and number not in odd]
    if not any(pages):
        if not is_whole or not count:
            return Unreadable("malformed", "no page of it can be read")
        return Unreadable(
            "no_text_layer", f"{count} page{'s' * (count != 1)}" + (", glyphs without letters" if odd else "")
        )
    pages, dropped = without_repeats(pages)
    pages, mended = mend_hyphens(pages)
    warnings: list[str] = []
    if not is_whole:
        warnings.append("pdf_damaged: no end-of-file mark; read as far as it goes")
    if answer["broken"]:
        warnings.append(f"pdf_pages_unreadable: {ranges(answer['broken'])}")
    if empty:
        warnings.append(f"pdf_pages_without_text: {ranges(empty)}")
    outside = sum(page["outside"] for page in answer["pages"])
    if outside:
        warnings.append(f"pdf_outside_page: {outside} characters outside the visible page left out")
    if odd:
        warnings.append(f"pdf_pages_garbled: {ranges(sorted(odd))}")
    cut = [number for number, page in enumerate(answer["pages"], 1) if page["is_cut"]]
    if cut:
        warnings.append(f"pdf_page_cut: {ranges(cut)} (limits: {MAX_CHARS} characters, {MAX_LINES} lines)")
    if len(answer["pages"]) < count:
        warnings.append(
            f"pdf_pages_not_read: {len(answer['pages']) + 1}-{count} (limits: {MAX_PAGES} pages, {MAX_CHARS} characters)"
        )
    if dropped:
        warnings.append(f"pdf_repeated_lines: {dropped} headers, footers and page numbers left out")
    info = {key: clean_text(value) for key, value in answer["info"].items()}
    body = _body_size(pages)
    title = _title(info.get("Title", ""), pages, body)
    metadata = _citation(info, title, pages) | {"pages": count}
    for key, number in (("repeated_lines_left_out", dropped), ("hyphens_mended", mended)):
        if number:
            metadata[key] = number
    return ReadResult(_pieces(pages, title, body), title, "pdf", metadata, tuple(warnings))


def _segments(page: dict[str, Any]) -> list[Segment]:
    found: list[Segment] = []
    for text, *box in page["lines"]:
        # The hyphen mark is kept until words are mended.
        text = clean_text(text)
        if text:
            found.append(Segment(text, *box))
    return found


def _is_garbled(page: list[Segment]) -> bool:
    """A font without a map to letters: the glyphs' numbers come out as private characters."""
    if not page:
        return False
    text = "".join(segment.text for segment in page)
    return len(_ODD.findall(text)) * 3 > len(text)


def _body_size(pages: list[list[Row]]) -> float:
    sizes: Counter[float] = Counter()
    for rows in pages:
        for row in rows:
            sizes[round(row.size * 2) / 2] += len(row.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def _is_heading(row: Row, body: float) -> bool:
    letters = sum(char.isalpha() for char in row.text)
    return row.size >= _HEADING_RATIO * body and len(row.text) <= 160 and letters >= 2 and letters * 2 >= len(row.text)


def _title(named: str, pages: list[list[Row]], body: float) -> str:
    """The title in the document information if it is one, else the largest lines in the upper part of the first page."""
    if named and not _JUNK_TITLE.match(named):
        return clip(named)
    first = next((rows for rows in pages if rows), [])[:20]
    heads = [row for row in first if _is_heading(row, body)]
    largest = max((row.size for row in heads), default=0.0)
    lines: list[str] = []
    for row in first:
        if row in heads and row.size >= 0.95 * largest:
            lines.append(row.text)
        elif lines:
            break
    return clip(" ".join(lines))


def _citation(info: dict[str, str], title: str, pages: list[list[Row]]) -> dict[str, JSON]:
    """From the document information and the first page. A creation date is the last resort for the year."""
    rows = next((rows for rows in pages if rows), [])
    first = "\n".join(row.text for row in rows)
    arxiv_id = find_arxiv(first) or find_arxiv(info.get("Subject", ""))
    edges = "\n".join(row.text for row in [*rows[:6], *rows[-4:]])
    year: int = find_year(info.get("Subject", "")) or find_year(edges)
    if not year and re.match(r"\d{4}\.", arxiv_id):
        year = 2000 + int(arxiv_id[:2])
    year = year or find_year(info.get("CreationDate", "")[:6].removeprefix("D:"))
    return citation(
        title=title, authors=split_names(info.get("Author", "")), year=year, arxiv_id=arxiv_id,
        doi=find_doi(info.get("Subject", "")) or find_doi(first), language=info.get("Lang", ""),
    )  # fmt: skip


def _pieces(pages: list[list[Row]], title: str, body: float) -> tuple[Piece, ...]:
    """Paragraphs under the last heading; their lines are numbered through the whole document."""
    pieces: list[Piece] = []
    path, line = join_heading(title), 1
    for number, rows in enumerate(pages, 1):
        cuts: list[Cut] = []
        lines = [row.text for row in rows]
        at = 0
        while at < len(rows):
            if _is_heading(rows[at], body):
                end = at + 1
                while (
                    end < len(rows)
                    and _is_heading(rows[end], body)
                    and rows[end].size == rows[at].size
                    and not rows[end].gap
                ):
                    end += 1
                if end == len(rows) or (_is_heading(rows[end], body) and rows[end].size >= rows[at].size):
                    at = end  # one of several large lines, or the last line: nothing stands below it
                    continue
                heading = clip(" ".join(lines[at:end]))
                path = join_heading(title) if _same_words(heading, title) else join_heading(title, heading)
                cuts += [Cut(at + 1, path, STUB_KIND), Cut(end + 1, path)]
                at = end
                continue
            if at == 0 or rows[at].gap:
                cuts.append(Cut(at + 1, path))
            at += 1
        for piece in cover(lines, cuts):
            span = piece.start_line + line - 1, piece.end_line + line - 1
            pieces.append(Piece(piece.text, *span, piece.heading, piece.kind, "", f"p.{number}"))
        line += len(lines)
    return tuple(pieces)


def _same_words(heading: str, title: str) -> bool:
    return re.sub(r"\W+", "", heading).lower()[:60] == re.sub(r"\W+", "", title).lower()[:60]


def ranges(numbers: list[int]) -> str:
    """``2-4, 7``: ascending numbers, shortened."""
    parts: list[str] = []
    start = previous = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == previous + 1:
            previous = number
            continue
        parts.append(str(start) if start == previous else f"{start}-{previous}")
        if number is not None:
            start = previous = number
    return ", ".join(parts[:40]) + (f" and {len(parts) - 40} more" if len(parts) > 40 else "")
