"""Chunking: nothing lost, nothing repeated, no blank chunk, spans that hold the text, sizes that fit a model."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arr_sql.ingest.chunker import _VISIBLE, MAX_CHARS, TINY_CHARS, Chunk, _is_tiny, chunk, split_line, weight
from arr_sql.ingest.readers import reader_for
from arr_sql.ingest.readers.base import Cut, Piece, ReadResult, cover, split_lines

INVISIBLE = re.compile("[\\s\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]+")


def chunks_of(text: str, path: str, **sizes: int) -> list[Chunk]:
    reader = reader_for(path)
    assert reader is not None
    return chunk(reader.read(text, path), **sizes)


def check(text: str, chunks: list[Chunk], limit: int = MAX_CHARS) -> None:
    """The promises of the module, for one file."""
    lines = split_lines(text)
    assert INVISIBLE.sub("", "".join(item.text for item in chunks)) == INVISIBLE.sub("", text)
    assert [item.ordinal for item in chunks] == list(range(len(chunks)))
    before = 1
    for item in chunks:
        assert INVISIBLE.sub("", item.text)
        assert weight(item.text) <= limit
        assert before <= item.start_line <= item.end_line <= len(lines)
        assert item.text in "\n".join(lines[item.start_line - 1 : item.end_line])
        assert f"{item.start_line}-{item.end_line}" in item.locator.split(" ")[0]
        before = item.start_line


@pytest.mark.parametrize("text", ["", "\n", "   \n\t\n", "\u200b\n\ufeff", "\r"])
def test_blank_files_have_no_chunks(text: str) -> None:
    """An empty file is valid and has nothing to index."""
    assert chunks_of(text, "a.txt") == []


def test_two_headings_in_a_row_give_no_blank_chunk() -> None:
    """Field report emb-03: stacked headings travel with the text below; long paragraphs are split, none is blank."""
    text = "# A\n\n## B\n\n\n\n" + "x " * 5000 + "\n\n" + "y " * 5000
    chunks = chunks_of(text, "a.md")
    check(text, chunks)
    assert chunks[0].text.startswith("# A\n\n## B")
    assert {item.heading for item in chunks} == {"A > B"}


@pytest.mark.parametrize("unit", ["a", "word ", "中", "e\u0301", "👩\u200d👩\u200d👧", "한국어 "])
def test_text_without_line_breaks_is_covered(unit: str) -> None:
    """Field report emb-04: 32,000 characters in one line, a unique word at the end: all of it is in some chunk."""
    text = (unit * 32_000)[:31_900] + " kumquatology"
    chunks = chunks_of(text, "a.txt")
    check(text, chunks)
    assert "kumquatology" in chunks[-1].text
    assert {item.locator for item in chunks} == {"L1-1"}


def test_han_text_fits_a_model() -> None:
    """About 500 Han characters a chunk, never above 1,000, and sentences stay whole where they can."""
    text = "检索增强生成需要可靠的证据。" * 400
    chunks = chunks_of(text, "a.txt")
    check(text, chunks)
    assert max(len(item.text) for item in chunks) <= 1000
    assert all(item.text.endswith("。") for item in chunks)
    paragraphs = "\n\n".join(["检索增强生成需要可靠的证据。" * 8] * 40)
    sizes = [len(item.text) for item in chunks_of(paragraphs, "a.txt")]
    assert all(300 <= size <= 600 for size in sizes[:-1])


def test_small_paragraphs_share_a_chunk() -> None:
    """Neighbours under one heading are merged up to the target; another heading begins a new chunk."""
    text = "# A\n\n" + "short text\n\n" * 10 + "# B\n\nother\n"
    chunks = chunks_of(text, "a.md")
    check(text, chunks)
    assert [(item.heading, item.locator) for item in chunks] == [("A", "L1-21"), ("B", "L23-25")]


def test_long_pieces_break_at_paragraphs_then_lines() -> None:
    """A part begins after a blank line where one is near, and never in the middle of a line that fits."""
    lines = [f"value_{index} = {index}" if index % 9 else "" for index in range(1, 900)]
    piece = Piece("\n".join(lines), 1, len(lines), "f", "function", "f")
    chunks = chunk(ReadResult((piece,)))
    check("\n".join(lines), chunks)
    assert all(lines[item.end_line] == "" for item in chunks[:-1])
    assert chunks[1].locator == f"{chunks[1].start_line}-{chunks[1].end_line} f"


def test_small_functions_share_a_chunk_and_are_named() -> None:
    """Accessors of one class come together with the class line; the locator names them."""
    text = "class A:\n" + "".join(f"    def m{index}(self):\n        return {index}\n\n" for index in range(3))
    (only,) = chunks_of(text, "a.py")
    assert only.locator == "1-9 A, A.m0, A.m1, A.m2"
    assert only.heading == "A, A.m0, A.m1, A.m2"


def test_pieces_with_gaps_are_not_joined() -> None:
    """A reader that leaves lines out (another package's) never gets a span that holds other text."""
    result = ReadResult((Piece("a", 1, 1), Piece("b", 5, 5)))
    assert [item.locator for item in chunk(result)] == ["L1-1", "L5-5"]


@pytest.mark.parametrize(
    ("path", "text", "locators"),
    [
        ("a.json", '{\n  "alpha": "' + "v" * 900 + '"\n}\n', ["1-3 alpha"]),
        ("a.bib", "% one comment\n@misc{k1, title={" + "long " * 400 + "}}\n", ["1-2 k1"]),
        ("a.bib", "@misc{k1, title={" + "long " * 400 + "}}\n% the end\n", ["1-2 k1"]),
        ("a.md", "# A\n\n" + "word " * 250 + "\n\nAnd so on.\n", ["L1-5"]),
        ("a.md", "# A\n\nshort\n\n# B\n\nbrief\n", ["L1-3", "L5-7"]),
    ],
    ids=["lone brace", "comment above", "comment below", "last words", "other headings"],
)
def test_tiny_pieces_go_with_a_neighbour(path: str, text: str, locators: list[str]) -> None:
    """A few characters alone are near to every text; they join what they stand beside, never another heading."""
    chunks = chunks_of(text, path)
    check(text, chunks)
    assert [item.locator for item in chunks] == locators


def test_pages_and_cells_stay_apart() -> None:
    """Pieces of two locators never share a chunk, however small, and the locator is what is shown."""
    pieces = (
        Piece("a", 1, 1, "H", "text", "", "cell 1"),
        Piece("b", 2, 2, "H", "text", "", "cell 2"),
        Piece("c", 3, 3, "H", "code", "f", "cell 2"),
    )
    assert [(item.text, item.locator) for item in chunk(ReadResult(pieces))] == [("a", "cell 1"), ("b\nc", "cell 2 f")]


def test_spans_of_extracted_text() -> None:
    """Several pieces of one source line, as in HTML without line breaks, keep a span inside the file."""
    pieces = tuple(Piece("word " * 300 + "\nmore", 1, 1) for _ in range(4))
    chunks = chunk(ReadResult(pieces))
    assert {(item.start_line, item.end_line) for item in chunks} == {(1, 1)}
    assert sum(item.text.count("word") for item in chunks) == 1200


def test_sizes_are_checked() -> None:
    """Impossible sizes are the caller's mistake."""
    with pytest.raises(ValueError):
        chunk(ReadResult(()), target_chars=10, max_chars=5)


def test_five_megabytes_in_one_line() -> None:
    """Time is linear in the text."""
    text = "lorem ipsum " * 420_000
    start = time.perf_counter()
    chunks = chunks_of(text, "a.json")
    assert time.perf_counter() - start < 20
    assert sum(len(item.text.split()) for item in chunks) == 840_000


@given(st.text(max_size=300), st.integers(1, 40), st.integers(0, 60))
def test_long_lines_lose_nothing(text: str, target: int, more: int) -> None:
    """The parts of a line are the line, each within the limit or a single character."""
    line = text.replace("\n", " ")
    parts = list(split_line(line, target, target + more))
    assert "".join(parts) == line
    assert all(weight(part) <= target + more or len(part) == 1 for part in parts)


WORDS = st.sampled_from(
    ["alpha", "beta gamma", "中文检索。", "", " ", "    x = 1", "e\u0301" * 30, "y" * 90, "\t", "a\rb", "。"]
)
HEADINGS = st.sampled_from(["", "A", "A > B", "C"])
KINDS = st.sampled_from(["text", "heading", "code", "function", "class", "entry"])


@settings(max_examples=300)
@given(
    st.lists(WORDS, max_size=60),
    st.lists(st.tuples(st.integers(1, 60), HEADINGS, KINDS, HEADINGS), max_size=12),
    st.integers(5, 120),
    st.integers(0, 200),
)
def test_any_pieces_keep_the_promises(
    words: list[str], cuts: list[tuple[int, str, str, str]], target: int, more: int
) -> None:
    """Whatever a reader cuts and whatever the sizes: all text, in order, once, with right spans."""
    text = "\n".join(words)
    pieces = cover(split_lines(text), [Cut(*cut) for cut in cuts])
    chunks = chunk(ReadResult(pieces), target_chars=target, max_chars=target + more)
    check(text, chunks, max(3, target + more))


@given(st.lists(st.text(alphabet="ab 缓\n\t\x0b\x1c\x85\u200b\xa0", max_size=200), min_size=1, max_size=3))
def test_a_group_is_tiny_when_few_characters_can_be_seen(texts: list[str]) -> None:
    """However it is looked at: by its beginning, or character by character."""
    group = [Piece(text, 1, 1) for text in texts]
    assert _is_tiny(group) == (sum(len(_VISIBLE.findall(text)) for text in texts) < TINY_CHARS)
