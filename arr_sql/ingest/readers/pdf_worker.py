"""The other side of the PDF reader: PDFium, alone in a process of its own. Not imported by the package; run as a file.

Standard input is one line of JSON (import path, passwords, limits) and then the PDF; standard output is one JSON value
that ``pdf_reader`` reads. PDFium is C++ and its input comes from anywhere, so a crash, a hang or a flood of memory here
must cost one file and not the program: the parent sets a deadline, and this process limits its own memory and CPU time
where the system can (Linux; elsewhere only the deadline).

A line of text is ``[text, x0, top, x1, bottom, size, row]`` in points from the top left corner of the page as shown.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

# A gap of so many font sizes between two characters of a line may be a column gutter or the space between table cells.
_GAP = 1.0
_HYPHENS = {0x02, 0xAD, 0xFFFE}
# Quarters that the page is turned by, its width and height as shown, and its lower left corner in the file's own units.
Place = tuple[int, float, float, float, float]


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    _limit_self(request["max_bytes"], request["max_seconds"])
    sys.path[:0] = [entry for entry in request["path"] if entry not in sys.path]
    try:
        answer = extract(data, request["passwords"], request["max_pages"], request["max_chars"], request["max_lines"])
    except ImportError:
        answer = {"error": "import"}
    except MemoryError:
        answer = {"error": "memory"}
    sys.stdout.buffer.write(json.dumps(answer).encode("ascii"))


def _limit_self(max_bytes: int, max_seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    if sys.platform == "linux":
        for kind, limit in ((resource.RLIMIT_AS, max_bytes), (resource.RLIMIT_CPU, max_seconds)):
            hard = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    if hasattr(resource, "RLIMIT_CORE"):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def extract(data: bytes, passwords: list[str], max_pages: int, max_chars: int, max_lines: int) -> dict[str, Any]:
    """Pages and document information, or ``error``: a name and PDFium's error number."""
    import pypdfium2.raw as pdfium

    pdfium.FPDF_InitLibrary()
    document, code = None, 0
    for password in [None, *passwords]:
        given = None if password is None else ctypes.c_char_p(password.encode("utf-8", "replace"))
        document = pdfium.FPDF_LoadMemDocument64(data, len(data), given)
        if document:
            break
        code = pdfium.FPDF_GetLastError()
    if not document:
        return {"error": "open", "code": code}
    count = pdfium.FPDF_GetPageCount(document)
    pages: list[dict[str, Any]] = []
    broken: list[int] = []
    left, left_lines = max_chars, max_lines
    for index in range(min(count, max_pages)):
        if left <= 0 or left_lines <= 0:
            break
        page = _page(pdfium, document, index, left, left_lines)
        if page is None:
            broken.append(index + 1)
            page = {"width": 0.0, "height": 0.0, "lines": [], "outside": 0, "is_cut": False}
        left -= sum(len(line[0]) for line in page["lines"])
        left_lines -= len(page["lines"])
        pages.append(page)
    return {"count": count, "pages": pages, "broken": broken, "info": _information(pdfium, document)}


def _information(pdfium: Any, document: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in ("Title", "Author", "Subject", "Keywords", "CreationDate"):
        size = pdfium.FPDF_GetMetaText(document, key.encode(), None, 0)
        if 2 < size <= 20_000:
            buffer = ctypes.create_string_buffer(size)
            pdfium.FPDF_GetMetaText(document, key.encode(), buffer, size)
            found[key] = buffer.raw[: size - 2].decode("utf-16-le", "replace")
    if hasattr(pdfium, "FPDFCatalog_GetLanguage"):
        size = pdfium.FPDFCatalog_GetLanguage(document, None, 0)
        if 2 < size <= 200:
            wide = (ctypes.c_ushort * (size // 2))()
            pdfium.FPDFCatalog_GetLanguage(document, wide, size)
            found["Lang"] = bytes(wide)[: size - 2].decode("utf-16-le", "replace")
    return found


def _page(pdfium: Any, document: Any, index: int, max_chars: int, max_lines: int) -> dict[str, Any] | None:
    page = pdfium.FPDF_LoadPage(document, index)
    if not page:
        return None
    try:
        text = pdfium.FPDFText_LoadPage(page)
        if not text:
            return None
        try:
            turn = pdfium.FPDFPage_GetRotation(page)
            width, height = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
            outside = [0]
            box = pdfium.FS_RECTF()
            origin = (box.left, box.bottom) if pdfium.FPDF_GetPageBoundingBox(page, box) else (0.0, 0.0)
            lines = _lines(pdfium, text, (turn, width, height, *origin), max_chars, max_lines, outside)
            is_cut = len(lines) >= max_lines or pdfium.FPDFText_CountChars(text) > max_chars
            return {"width": width, "height": height, "lines": lines, "outside": outside[0], "is_cut": is_cut}
        finally:
            pdfium.FPDFText_ClosePage(text)
    finally:
        pdfium.FPDF_ClosePage(page)


def _lines(pdfium: Any, text: Any, place: Place, max_chars: int, max_lines: int, outside: list[int]) -> list[list[Any]]:
    """Runs of characters without a wide gap, in the order of the page's content. What lies outside the page, where no
    reader sees it, is counted in ``outside``."""
    lines: list[list[Any]] = []
    _, width, height, *_ = place
    left, right, bottom, top = ctypes.c_double(), ctypes.c_double(), ctypes.c_double(), ctypes.c_double()
    refs = ctypes.byref(left), ctypes.byref(right), ctypes.byref(bottom), ctypes.byref(top)
    loose = pdfium.FS_RECTF()
    row = 0
    run: list[Any] | None = None
    last = (0.0, 0.0, 0.0, 0.0)
    size = 10.0
    for at in range(min(pdfium.FPDFText_CountChars(text), max_chars)):
        code = pdfium.FPDFText_GetUnicode(text, at)
        if code in (10, 13):
            row, run = row + 1, None
            continue
        if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
            continue
        char = "\xad" if code in _HYPHENS else chr(code)
        if char.isspace():
            if run is not None:
                run[0] += " "
            continue
        if not pdfium.FPDFText_GetCharBox(text, at, *refs):
            continue
        x0, y0, x1, y1 = _shown(left.value, bottom.value, right.value, top.value, place)
        if x1 < 0 or y1 < 0 or x0 > width or y0 > height:
            outside[0] += 1
            continue
        if run is not None:
            is_apart = (y0 >= last[3] or y1 <= last[1]) and abs(x0 - last[2]) > size
            if is_apart:  # after a hyphen PDFium goes on without a line break
                row += 1
            if is_apart or x0 - run[3] > _GAP * size or x1 < run[1] - size:
                run = None
        last = x0, y0, x1, y1
        if run is None:
            if len(lines) >= max_lines:
                break
            if pdfium.FPDFText_GetLooseCharBox(text, at, loose):
                size = max(abs(loose.top - loose.bottom), abs(loose.right - loose.left))  # text may be turned
            size = min(max(size, 1.0), 500.0)
            run = [char, x0, y0, x1, y1, round(size, 1), row]
            lines.append(run)
            continue
        run[0] += char
        run[1], run[2], run[3], run[4] = min(run[1], x0), min(run[2], y0), max(run[3], x1), max(run[4], y1)
    for line in lines:
        line[1:5] = [round(value, 1) for value in line[1:5]]
    return lines


def _shown(left: float, bottom: float, right: float, top: float, place: Place) -> tuple[float, float, float, float]:
    """A box as it appears on the page turned clockwise by quarters: x0, top, x1, bottom."""
    turn, width, height, x, y = place
    left, right, bottom, top = left - x, right - x, bottom - y, top - y
    if turn == 1:
        return bottom, left, top, right
    if turn == 2:
        return width - right, bottom, width - left, top
    if turn == 3:
        return width - top, height - right, width - bottom, height - left
    return left, height - top, right, height - bottom


if __name__ == "__main__":
    main()
