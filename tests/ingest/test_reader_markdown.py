"""Markdown: CommonMark decides what is a heading, rows and items are never cut, front matter never loses a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.ingest.chunker import Chunk, chunk
from arr_sql.ingest.readers.base import ReadResult, clip
from arr_sql.ingest.readers.markdown import _LINK, _MARKS, MarkdownReader, _Outline, plain_heading, stretches

FENCES = (
    "# Setup\n\n```bash\n# fetch tools\nmake tools\n```\n\ntext after\n\n~~~~\n## not a heading\n~~~\n"
    "still code\n~~~~\n\n"
    "    # indented code\n\nReal Two\n========\nbody two\n"
)


def read(text: str) -> ReadResult:
    return MarkdownReader().read(text, "a.md")


def headings(result: ReadResult) -> list[str]:
    return [piece.heading for piece in result.pieces if piece.kind == "heading"]


def holding(text: str, needle: str) -> Chunk:
    (found,) = [item for item in chunk(read(text)) if needle in item.text]
    return found


def test_code_never_makes_headings() -> None:
    """Field report md-01: exactly two headings, and the code belongs to the first."""
    assert headings(read(FENCES)) == ["Setup", "Real Two"]
    for needle, line in (("fetch tools", 4), ("still code", 13)):
        found = holding(FENCES, needle)
        assert found.heading == "Setup"
        assert found.start_line <= line <= found.end_line
    assert holding(FENCES, "body two").heading == "Real Two"


def test_an_unclosed_fence_runs_to_the_end() -> None:
    """Field report md-01, second variant: CommonMark 0.31 section 4.5."""
    text = "# Setup\n\n```\n# inside\n\n# still inside\n"
    assert headings(read(text)) == ["Setup"]
    assert holding(text, "# still inside").heading == "Setup"


@pytest.mark.parametrize(
    ("front", "title", "more"),
    [
        ("title: Retrieval: a survey\ntags: [x, y]", "Retrieval: a survey", {"tags": ["x", "y"]}),
        ("title: 'open", "open", {}),
        ("title: @home", "@home", {}),
        ('title: "quoted: yes"\nauthors:\n  - A B\n  - C D', "quoted: yes", {"authors": ["A B", "C D"]}),
        ("title: >\n  two\n  lines", "two lines", {}),
    ],
)
def test_front_matter_is_read_leniently(front: str, title: str, more: dict[str, object]) -> None:
    """Field report md-02, files a to c: title and other keys are kept, and the body is found."""
    result = read(f"---\n{front}\n---\nBody alpha\n")
    assert result.title == title
    assert {key: value for key, value in result.metadata.items() if key != "title"} == more
    assert [piece.kind for piece in result.pieces] == ["front_matter", "text"]
    assert result.pieces[-1].text == "Body alpha"


def test_a_broken_value_is_reported() -> None:
    """A quote that is never closed costs a warning with its line, not the file."""
    assert read("---\ntitle: 'open\n---\nBody beta\n").warnings == (
        "front_matter: line 2: unbalanced quote or bracket",
    )


@pytest.mark.parametrize(
    "text",
    [
        "prose\n\n---\n\nmore: prose\n\n---\n",
        "---\ntitle: never closed\n\nBody\n",
        "---\nJust prose here.\n---\nBody\n",
        "---\n",
    ],
)
def test_a_thematic_break_is_no_front_matter(text: str) -> None:
    """Field report md-02, files d and e: body text."""
    result = read(text)
    assert set(result.metadata) <= {"title"}
    assert all(piece.kind != "front_matter" for piece in result.pieces)


def table() -> str:
    rows = "".join(f"| m{index:03} | 31.2 | 18 ms |\n" for index in range(200))
    return "# Results\n\n| Model | BLEU | Latency |\n|---|---|---|\n" + rows + "| a \\| b | 1 | 2 |\n"


def test_rows_are_whole_and_know_their_header() -> None:
    """Field report md-03: the row keeps its line, and the header is context, not content."""
    found = holding(table(), "m150")
    assert found.heading == "Results > Model | BLEU | Latency"
    assert found.start_line <= 155 <= found.end_line
    assert "BLEU" not in found.text
    lines = table().split("\n")
    assert found.text.split("\n") == lines[found.start_line - 1 : found.end_line]
    assert "| a \\| b | 1 | 2 |" in chunk(read(table()))[-1].text


def test_list_items_know_their_parent() -> None:
    """Field report md-03: a nested list longer than a chunk is cut between items, with the parent item as context."""
    text = "# Plan\n\n"
    for top in range(4):
        text += f"- Part {top}\n"
        for middle in range(3):
            text += f"  - Step {top}.{middle} with **some** words to make it long enough for a cut somewhere\n"
            text += "".join(
                f"    - Detail {top}.{middle}.{low} and its own words, which are quite a few\n" for low in range(9)
            )
    found = holding(text, "Detail 2.1.8")
    assert found.heading.startswith("Plan > Part 2")
    assert found.text.lstrip().startswith("- ")


def test_headings_give_the_path() -> None:
    """Levels nest; a skipped level leaves no hole; marks are dropped."""
    text = "# A\n\n### `C` **x** [link](u) {#id}\n\nt\n\n## B\n\nu\n"
    assert headings(read(text)) == ["A", "A > C x link", "A > B"]
    assert read(text).title == "A"
    assert plain_heading("snake_case *and* __bold__ <b>tag</b>") == "snake_case and bold tag"


def test_quoted_headings_do_not_divide() -> None:
    """A heading inside a quote or a list item belongs to it."""
    assert headings(read("# A\n\n> # quoted\n\n- # item\n")) == ["A"]


def test_math_footnotes_and_html_stay() -> None:
    """Nothing is rewritten."""
    text = "$$\nE = mc^2\n$$\n\nText[^1] <b>x</b>\n\n[^1]: A note.\n\n<details>\n\nhidden\n\n</details>\n"
    assert "\n".join(piece.text for piece in read(text).pieces) == text.rstrip("\n")


LINES = st.sampled_from(
    ["# A", "## B c", "####### seven", "#no", "#", "## x ##", "# a # b", "text", "more text", "===", "---", "- item", "  - in",
     "* x", "1. one", "> quote", "    code", "\tcode", "```", "~~~", "   ```", "    ```", "- ```", "> ```", "<div>", "</div>",
     "<!--", "-->", "<script>", "<b>inline", "[foo]: /url", "[foo]: /url 'title", "| a | b |", "a | b", "--- | ---", ":-|-:",
     "***", "", "  ", "\u3000", "中文", "(a)", "$$", "\\begin{x}", "   # indented", "\x0c", "# h ", "<?php", "?>", "- # in list"]
)  # fmt: skip


@given(st.lists(LINES, max_size=14))
def test_a_part_is_parsed_as_in_the_whole_file(lines: list[str]) -> None:
    """Headings and paragraphs without a parser, and stretches one by one, give the blocks that CommonMark gives."""
    reader, outline = MarkdownReader(), _Outline(lines)
    whole = outline.cuts(reader._parser.parse("\n".join(lines)))
    assert reader._cuts("\n".join(lines), lines, 0) == (whole, outline.title)


def test_text_without_marks_needs_no_parser() -> None:
    """Only the stretch with a list goes through the parser."""
    body = ["# A", "", "text", "more", "## B", "", "- item", "", "## C", "", "last"]
    assert [(part.start, part.end, part.is_plain) for part in stretches(body)] == [
        (0, 4, True),
        (4, 8, False),
        (8, 11, True),
    ]


@given(st.text(alphabet="ab_*~`<>[](){}# 缓", max_size=12))
def test_a_heading_that_holds_no_mark_is_left_as_it_is(text: str) -> None:
    """The quick look for marks misses none: taking them all out gives the same."""
    assert plain_heading(text) == clip(_MARKS.sub("", _LINK.sub(r"\1", text)))
