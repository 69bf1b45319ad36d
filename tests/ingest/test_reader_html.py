"""HTML: what a reader sees, with the lines of the source."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arr_sql.ingest.chunker import chunk
from arr_sql.ingest.prepare import Prepared, prepare
from arr_sql.ingest.readers import ReadResult
from arr_sql.ingest.readers.html import HtmlReader

PAGE = """<!DOCTYPE html>
<html lang="zh-CN"><head><meta charset="utf-8"><title>Page &amp; Title</title>
<meta name="citation_author" content="Lee, A."><meta name="citation_author" content="Bo Wu">
<meta name=citation_doi content='https://doi.org/10.1234/ABC'>
<meta name="citation_publication_date" content="2021/05/01"><meta name="citation_journal_title" content="J. Tests">
<script>var x = "<p>no script</p>";</script><style>p { color: red }</style></head>
<body><nav><ul><li><a href="/">Home</a></li></ul></nav>
<h1>Main
 Heading</h1><p>First para with &eacute; and <b
 class="a > b">bold</b> text<br>second line.
<p>1 < 2 and a<3 <!-- no comment --> &copy; &#x4e2d;
<h2>Table</h2>
<table><tr><th>A</th><th>B</th></tr>
<tr><td>1</td><td>2 &lt; 3</td></tr></table>
<pre>
def f():
    return 1
</pre>
<ul><li>one</li><li hidden>secret</li><li>two <img src=x alt="a plot"></ul>
<footer>Imprint</footer></body></html>
"""


def read(text: str) -> ReadResult:
    return HtmlReader().read(text, "a.html")


def test_text_by_headings_with_source_lines() -> None:
    """Each piece says where it stands; scripts, styles, navigation, hidden parts and comments are left out."""
    found = [(piece.text, piece.start_line, piece.end_line, piece.heading) for piece in read(PAGE).pieces]
    main, table = "Main Heading", "Main Heading > Table"
    assert found == [
        ("Page & Title", 2, 2, ""),
        ("Main\nHeading", 8, 9, main),
        ("First para with é and\nbold text second line.", 9, 10, main),
        ("1 < 2 and a<3 © 中", 11, 11, main),
        ("Table", 12, 12, table),
        ("A | B", 13, 13, table),
        ("1 | 2 < 3", 14, 14, table),
        ("def f():\n    return 1", 16, 17, table),
        ("one", 19, 19, table),
        ("two a plot", 19, 19, table),
    ]
    assert read(PAGE).metadata["elements_left_out"] == {"footer": 1, "hidden": 1, "nav": 1, "script": 1, "style": 1}


def test_metadata_people_cite_by() -> None:
    """The tags that publishers write."""
    metadata = dict(read(PAGE).metadata)
    metadata.pop("elements_left_out")
    assert metadata == {
        "title": "Page & Title", "authors": ["Lee, A.", "Bo Wu"], "year": 2021, "doi": "10.1234/abc", "language": "zh-CN",
        "venue": "J. Tests",
    }  # fmt: skip


def test_a_page_in_one_line() -> None:
    """Minified: headings still divide it, and every chunk points at the line."""
    text = (
        "<html><body>" + "".join(f"<h2>Part {n}</h2><p>{'words ' * 150}end{n}</p>" for n in range(5)) + "</body></html>"
    )
    chunks = chunk(read(text))
    assert [item.heading for item in chunks] == [f"Part {n}" for n in range(5)]
    assert {item.locator for item in chunks} == {"L1-1"}


def test_encoding_from_meta() -> None:
    """Bytes that could be anything are what the page says they are."""
    text = '<html><head><meta charset="gb2312"><title>检索</title></head><body><p>证据检索与记忆</p></body></html>'
    prepared = prepare("a.htm", text.encode("gb2312"), 0)
    assert isinstance(prepared, Prepared) and prepared.title == "检索"
    assert "证据检索与记忆" in prepared.chunks[-1].chunk.text


@pytest.mark.parametrize(
    ("text", "seen", "warning"),
    [
        ("<p>a</p><nav><p>kept after all", "kept after all", "html_unclosed: navigation"),
        ("<p>before</p>\n<script>var lost", "before", "html_unclosed: line 2: script"),
        ("<p>before</p><!-- lost", "before", "html_unclosed: line 1: comment"),
        ("<p title='>broken\"> words", "words", ""),
        ("text <p", "text <p", ""),
        ("no markup at all", "no markup at all", ""),
        ("<![CDATA[raw & <b>]]>", "raw & <b>", ""),
        ("<svg:p>x</svg:p>", "x", ""),
        ("<h1>a</h2>b</h1>c", "c", ""),
    ],
)
def test_broken_pages_keep_their_text(text: str, seen: str, warning: str) -> None:
    """What never ends is named; nothing is lost without a word."""
    result = read(text)
    assert seen in "\n".join(piece.text for piece in result.pieces)
    assert (result.warnings[0].startswith(warning) if result.warnings else "") == (warning != "") or not warning


@settings(max_examples=300, deadline=None)
@given(st.text("abc é中", min_size=1, max_size=30).filter(str.strip), st.integers(0, 5), st.integers(0, 5))
def test_words_survive_any_nesting(words: str, depth: int, breaks: int) -> None:
    """Text inside ordinary elements is found whole, on its line."""
    opened = "".join(f"<{tag}>" for tag in ["div", "p", "b", "ul", "li"][:depth])
    (piece,) = read("\n" * breaks + opened + words).pieces
    assert piece.text == " ".join(words.split()) and piece.start_line == breaks + 1


@pytest.mark.parametrize(
    "text",
    ["<" * 200_000, "<a " * 100_000, "<a " * 100_000 + '">"', "<!--" * 100_000, '<a ">' * 50_001, "<br>\n" * 50_000, "&" * 300_000,
     "<h1>" * 50_000 + "</tr>" * 50_000, "<nav>" * 50_000 + "x", "<script>" * 50_000, "<p " + "a " * 200_000 + ">", "<tr><td>x" * 30_000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_made_to_hang(text: str) -> None:
    """Linear, whatever is left open."""
    start = time.perf_counter()
    read(text)
    assert time.perf_counter() - start < 8
