"""PDF: what a page says in reading order, what is left out and said so, and every way a file can be bad."""

from __future__ import annotations

import random
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arr_sql.ingest.chunker import chunk
from arr_sql.ingest.prepare import NotTaken, Prepared, prepare
from arr_sql.ingest.readers import UNREADABLE_CODES, ReadResult, Unreadable, is_worth_retrying, pdf_reader, reader_for
from arr_sql.ingest.readers.pdf_layout import Row, Segment, clean_text, mend_hyphens, rows_of, without_repeats
from arr_sql.ingest.readers.pdf_reader import PdfReader, ranges

from .pdf_maker import Line, make_pdf

pytest.importorskip("pypdfium2", reason="needs the extra `pdf`")


def read(data: bytes, *passwords: str) -> ReadResult:
    result = PdfReader(passwords).read_bytes(data, "a.pdf")
    assert isinstance(result, ReadResult), result
    return result


def refusal(data: bytes, *passwords: str) -> str:
    result = PdfReader(passwords).read_bytes(data, "a.pdf")
    assert isinstance(result, Unreadable)
    return result.code


def text_of(result: ReadResult) -> str:
    return "\n".join(piece.text for piece in result.pieces)


GOOD = make_pdf([[("introductory keyword1", 72, 700, 12)]])


def test_pages_without_text_are_named() -> None:
    """Field report pdf-01: words come with their page number, pages 2-4 are named, nothing empty is stored."""
    data = make_pdf([[("intro keyword1", 72, 700, 12)], [], [], [], [("outro keyword2", 72, 700, 12)]])
    result = read(data)
    assert [(item.text, item.locator) for item in chunk(result)] == [
        ("intro keyword1", "p.1"),
        ("outro keyword2", "p.5"),
    ]
    assert result.warnings == ("pdf_pages_without_text: 2-4",)
    assert result.metadata["pages"] == 5
    assert refusal(make_pdf([[], []])) == "no_text_layer"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (GOOD[:500], "malformed"),
        (b"%PDF-1.7\n", "malformed"),
        (b"%PDF-1.4" + bytes(range(256)) * 20, "malformed"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "not_a_pdf"),
        (b"PK\x03\x04rest of an archive", "not_a_pdf"),
        (make_pdf([[("secret text", 72, 700, 12)]], password="sesame"), "encrypted"),
    ],
)
def test_bad_files_are_refused_by_name(data: bytes, code: str) -> None:
    """Field report pdf-02: each kind of bad file has its own reason."""
    assert refusal(data) == code


def test_passwords_open_a_file() -> None:
    """In order, until one fits; a reader that was given none keeps none; `prepare` hands them over."""
    data = make_pdf([[("hidden treasure", 72, 700, 12)]], password="sesame", info={"Title": "Locked away"})
    assert refusal(data, "wrong", "worse") == "encrypted"
    result = read(data, "wrong", "sesame")
    assert text_of(result) == "hidden treasure" and result.title == "Locked away"
    assert prepare("a.pdf", data, 0) == NotTaken("encrypted", "it needs a password")
    prepared = prepare("a.pdf", data, 0, passwords=["sesame"])
    assert isinstance(prepared, Prepared) and prepared.chunks[0].chunk.locator == "p.1"
    assert isinstance(prepare("a.pdf", data, 0), NotTaken)


def two_columns(rows: int = 12, *, interleaved: bool = True) -> list[Line]:
    left = [(f"left line {row} tells of alpha", 60.0, 680.0 - 14 * row, 10.0) for row in range(rows)]
    right = [(f"right line {row} tells of omega", 320.0, 680.0 - 14 * row, 10.0) for row in range(rows)]
    head = [("A Title Across Both Of The Columns Of This Page", 110.0, 720.0, 18.0)]
    pairs = [line for pair in zip(left, right, strict=True) for line in pair]
    return head + (pairs if interleaved else right + left)


@pytest.mark.parametrize("interleaved", [True, False])
def test_two_columns_are_read_one_after_the_other(interleaved: bool) -> None:
    """Whatever the order in the file: the title, the left column, the right column."""
    lines = text_of(read(make_pdf([two_columns(interleaved=interleaved)]))).split("\n")
    assert lines[0].startswith("A Title")
    assert [line.split()[0] for line in lines[1:]] == ["left"] * 12 + ["right"] * 12
    assert [int(line.split()[2]) for line in lines[1:]] == [*range(12), *range(12)]


def test_three_columns_and_a_wide_line_between() -> None:
    """Columns divide again; a line across them closes what stands above it."""
    lines: list[Line] = []
    for band, top in enumerate((700, 500)):
        for row in range(8):
            lines += [
                (f"b{band} c{column} r{row} some words", 50.0 + 180 * column, top - 14.0 * row, 10.0)
                for column in range(3)
            ]
    lines.insert(
        24, ("a wide caption that reaches from the first column over the second to the third one and on", 50, 560, 12)
    )
    words = [line.split()[:3] for line in text_of(read(make_pdf([lines]))).split("\n")]
    expected = [[f"b{band}", f"c{column}", f"r{row}"] for band in (0, 1) for column in range(3) for row in range(8)]
    assert words == [*expected[:24], ["a", "wide", "caption"], *expected[24:]]


def test_table_rows_stay_rows() -> None:
    """Cells of one or two words beside each other are a table, and a row is read as a row."""
    lines = [
        (text, x, 700.0 - 15 * row, 10.0)
        for row in range(10)
        for text, x in ((f"model{row}", 72.0), (f"{row}.5", 300.0))
    ]
    assert text_of(read(make_pdf([lines]))).split("\n") == [f"model{row} {row}.5" for row in range(10)]


@pytest.mark.parametrize("height", [30, 113])
def test_headers_are_shown_once_and_page_numbers_never(height: int) -> None:
    """What repeats at the edge of pages is counted; LaTeX's `article` puts its page numbers as high as 113."""
    pages: list[list[Line]] = [
        [
            ("Journal of Testing 12", 72, 760, 9),
            (f"body of page {number} here", 72, 500, 11),
            (f"- {number} -", 300, height, 9),
        ]
        for number in range(1, 6)
    ]
    result = read(make_pdf(pages))
    assert text_of(result).split("\n") == [
        "Journal of Testing 12",
        *(f"body of page {number} here" for number in range(1, 6)),
    ]
    assert result.metadata["repeated_lines_left_out"] == 9
    assert result.warnings == ("pdf_repeated_lines: 9 headers, footers and page numbers left out",)


def test_lines_that_differ_stay() -> None:
    """A heading with a number of its own on each page is text; one that counts the pages is not."""
    pages: list[list[Line]] = [
        [
            (f"Sample {number * number + 7}", 72, 760, 9),
            (f"text of {number}", 72, 500, 11),
            (f"Vol. 3, page {number + 40}", 72, 30, 9),
        ]
        for number in range(1, 7)
    ]
    lines = text_of(read(make_pdf(pages))).split("\n")
    assert [line for line in lines if line.startswith("Sample")] == [f"Sample {n * n + 7}" for n in range(1, 7)]
    assert [line for line in lines if line.startswith("Vol")] == ["Vol. 3, page 41"]


def test_words_are_mended_across_lines() -> None:
    """A word cut at a line end is whole again; a compound that the text uses elsewhere keeps its hyphen."""
    texts = [
        "evidence retrie-",
        "val augmented and state-of-the-",
        "art systems, well-",
        "known as well-known ones. A co-",
        "Founder",
    ]
    result = read(make_pdf([[(text, 72, 700 - 14 * row, 10) for row, text in enumerate(texts)]]))
    joined = text_of(result)
    assert "retrieval\naugmented" in joined and "well-known\nas" in joined and "co-\nFounder" in joined
    assert result.metadata["hyphens_mended"] == 3


def test_headings_by_size() -> None:
    """The largest lines are the title, which goes with the first section; larger lines with text below are headings."""
    lines: list[Line] = [("Attention for Tests", 72, 740, 20)]
    for number, name in enumerate(["1 Introduction", "2 Methods"]):
        top = 700 - 200 * number
        lines.append((name, 72, top, 14))
        lines += [(f"sentence {row} under {name[2:]} goes on", 72, top - 20 - 14 * row, 10) for row in range(8)]
    result = read(make_pdf([lines]))
    assert result.title == "Attention for Tests"
    assert [item.heading for item in chunk(result)] == [
        "Attention for Tests > 1 Introduction",
        "Attention for Tests > 2 Methods",
    ]


def test_metadata_people_cite_by() -> None:
    """From the document information and the first page; a word processor's file name is no title."""
    lines: list[Line] = [
        ("Grounded Answers", 72, 740, 20),
        ("arXiv:1706.03762v5 [cs.CL] 6 Dec 2017", 72, 715, 10),
        ("https://doi.org/10.1000/XYZ.123.", 72, 700, 10),
    ]
    info = {"Title": "Microsoft Word - draft7.doc", "Author": "Ada Lovelace and 王小明", "CreationDate": "D:20180101"}
    result = read(make_pdf([lines], info=info))
    assert dict(result.metadata) == {
        "title": "Grounded Answers", "authors": ["Ada Lovelace", "王小明"], "year": 2017, "doi": "10.1000/xyz.123",
        "arxiv_id": "1706.03762", "pages": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rotate", "matrix"), [(0, "1 0 0 1 {} {}"), (90, "0 1 -1 0 {1} {0}"), (180, None), (270, None)]
)
def test_turned_pages_read_as_shown(rotate: int, matrix: str | None) -> None:
    """The rows of a turned page are those a person sees (with text drawn to match), and no text is lost otherwise."""
    if matrix is None:
        matrix = "1 0 0 1 {} {}"
    rows = [f"row {number} of the turned page" for number in range(6)]
    parts = []
    for number, text in enumerate(rows):
        place = (100, 700 - 20 * number) if rotate != 90 else (100, 100 + 20 * number)
        parts.append(f"BT /F1 10 Tf {matrix.format(*place)} Tm ({text}) Tj ET")
    found = text_of(read(make_pdf([[]], rotate=rotate, content="\n".join(parts).encode()))).split("\n")
    assert found == rows if rotate in (0, 90) else sorted(found) == rows


def test_text_outside_the_page_is_left_out_and_counted() -> None:
    """What lies outside the visible page is not evidence; the page's own corner is honoured."""
    result = read(make_pdf([[("visible words", 150, 300, 10), ("crop mark", 20, 20, 10)]], box="100 100 500 500"))
    assert text_of(result) == "visible words"
    assert result.warnings == ("pdf_outside_page: 8 characters outside the visible page left out",)


def test_letters_are_letters() -> None:
    """Ligatures, radicals that stand for Han characters, and controls."""
    assert clean_text("e\ufb03cient \ufb02ow\0 don\x19t ⼀⽉ 2024") == "efficient flow don t 一月 2024"
    assert clean_text("\uf0b7 point") == "• point"


def test_a_cut_file_says_so() -> None:
    """What can still be read is read, with a warning; PDFium finds the objects without the table at the end."""
    data = make_pdf([[(f"page {number}", 72, 700, 12)] for number in range(30)])
    result = PdfReader().read_bytes(data[: data.index(b"xref\n")], "a.pdf")
    assert isinstance(result, Unreadable) or result.warnings[0].startswith("pdf_damaged")


def test_credentials_are_withheld_from_pages() -> None:
    """They are counted, and the rest of the page stays."""
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"
    prepared = prepare(
        "a.pdf", make_pdf([[("before it", 72, 700, 12), (f"token {token}", 72, 680, 12), ("after it", 72, 660, 12)]]), 0
    )
    assert isinstance(prepared, Prepared)
    assert prepared.lines_withheld == 1
    assert [item.chunk.text for item in prepared.chunks] == ["before it\n[line withheld: credential]\nafter it"]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is named with what to install; nothing raises."""
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    monkeypatch.setattr(pdf_reader.importlib.util, "find_spec", lambda name: None)
    assert refusal(GOOD) == "needs_extra_pdf"
    assert refusal(b"") == "empty"
    assert not is_worth_retrying("needs_extra_pdf")


def test_what_is_worth_another_try() -> None:
    """A file lacked the extra, and it is here; it lacked a password, and there is one. Nothing else."""
    assert is_worth_retrying("needs_extra_pdf")
    assert is_worth_retrying("encrypted", has_passwords=True) and not is_worth_retrying("encrypted")
    assert not any(map(is_worth_retrying, set(UNREADABLE_CODES) - {"needs_extra_pdf"}))


def test_limits_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages beyond the limit are named; a reading process that ends early or never costs one file."""
    monkeypatch.setattr(pdf_reader, "MAX_PAGES", 2)
    result = read(make_pdf([[(f"page {number}", 72, 700, 12)] for number in range(5)]))
    assert [piece.locator for piece in result.pieces] == ["p.1", "p.2"]
    assert result.warnings[0].startswith("pdf_pages_not_read: 3-5")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have the deadline only")
def test_a_flood_of_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reading process may not take more than its share."""
    monkeypatch.setattr(pdf_reader, "MAX_BYTES", 250 << 20)
    content = b"BT /F1 1 Tf " + b"1 0 0 1 9 9 Tm (aaaaaaaaaaaaaaaa) Tj " * 400_000 + b"ET"
    assert refusal(make_pdf([[]], content=content)) == "too_complex"


def test_a_page_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline holds whatever the library does."""
    monkeypatch.setattr(pdf_reader, "MAX_SECONDS", -10)
    started = time.monotonic()
    assert refusal(GOOD) == "too_complex"
    assert time.monotonic() - started < 10


def test_broken_copies_never_raise() -> None:
    """Bytes changed, cut and doubled in a sound file: pieces or a reason, always."""
    dice = random.Random(7)
    base = make_pdf([two_columns(), [("second page", 72, 700, 12)]], info={"Title": "T"})
    for _ in range(25):
        data = bytearray(base)
        for _ in range(dice.randint(1, 20)):
            at = dice.randrange(9, len(data))
            what = dice.random()
            if what < 0.5:
                data[at] = dice.randrange(256)
            elif what < 0.75:
                del data[at : at + dice.randint(1, 60)]
            else:
                data[at:at] = data[at : at + dice.randint(1, 60)]
        result = PdfReader().read_bytes(bytes(data), "a.pdf")
        assert isinstance(result, (ReadResult, Unreadable))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200))
def test_any_bytes_after_the_header(data: bytes) -> None:
    """Never raises."""
    assert isinstance(PdfReader().read_bytes(b"%PDF-1.4\n" + data, "a.pdf"), (ReadResult, Unreadable))


SEGMENTS = st.lists(
    st.builds(
        lambda text, x, y, w, h, row: Segment(text, x, y, x + w, y + h, max(h, 1.0), row),
        st.sampled_from(["a b c d", "word", "中文文字内容", "x-", "Yes 1"]),
        st.floats(-50, 700), st.floats(-50, 900), st.floats(0, 600), st.floats(0, 60), st.integers(0, 40),
    ),
    max_size=60,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(SEGMENTS)
def test_any_layout_keeps_every_segment(segments: list[Segment]) -> None:
    """Reading order loses and repeats nothing."""
    rows = rows_of(segments, 800.0)
    assert sorted(" ".join(row.text for row in rows).split()) == sorted(
        " ".join(item.text for item in segments).split()
    )


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(
            st.builds(Row, st.text("ab-\u00ad 1中", min_size=1, max_size=8), st.just(10.0), st.floats(0, 1)), max_size=5
        ),
        max_size=5,
    )
)
def test_mending_keeps_every_letter(pages: list[list[Row]]) -> None:
    """Only hyphens and white space may go."""
    mended, _ = mend_hyphens(pages)

    def letters(rows: list[list[Row]]) -> str:
        return "".join(char for page in rows for row in page for char in row.text if char not in "-\u00ad ")

    assert letters(mended) == letters(pages)
    kept, dropped = without_repeats(pages)
    assert sum(map(len, kept)) + dropped == sum(map(len, pages))


def test_ranges() -> None:
    """Runs of numbers are shortened."""
    assert ranges([2, 3, 4, 7]) == "2-4, 7"
    assert ranges([5]) == "5"


def test_pdf_files_have_this_reader() -> None:
    """By suffix, without regard to case; side files of Windows have none."""
    assert isinstance(reader_for("A.PDF"), PdfReader)
    assert reader_for("good.pdf:Zone.Identifier") is None
