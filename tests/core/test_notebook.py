"""Results in notebooks and terminals: complete, escaped, and short where the text is long."""

from __future__ import annotations

import html.parser
import io
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from arr_sql.core.notebook import html_of_memory
from arr_sql.core.research_models import ResearchMemory
from arr_sql.core.router_models import RouterResult
from tests.conftest import SCOPE, MakeDatabase

ALLOWED = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


class Reader(html.parser.HTMLParser):
    """Which elements there are, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names, self.text = set[str](), ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.names.add(tag)
        assert {name for name, _ in attrs} <= {"style", "scope", "dir", "lang"}

    def handle_data(self, data: str) -> None:
        """Keep it."""
        self.text += data


def answer(make_database: MakeDatabase, write: Callable[[str, str], Path], text: str) -> RouterResult:
    """A real answer over one file."""
    database = make_database()
    database.add(write("notes/a.md", text))
    return database.search("warmup")


def test_a_result_is_a_table(make_database: MakeDatabase, write: Callable[[str, str], Path]) -> None:
    """With where it is from, what found it, its score and text; the account of the run is the caption."""
    result = answer(make_database, write, "The warmup run <script>alert(1)</script> \u202eturned\n")
    read = Reader(result._repr_html_())
    assert read.names == ALLOWED
    item = result.evidence[0]
    for text in (
        "notes/a.md",
        item.locator,
        f"bm25#{item.channels[0].rank}",
        f"{item.rerank_score:.3f}",
        "<script>alert(1)</script> U+202Eturned",
        result.retrieval_id,
        "vector not_indexed",
    ):
        assert text in read.text
    assert "\u202e" not in read.text


def test_the_same_in_a_terminal(make_database: MakeDatabase, write: Callable[[str, str], Path]) -> None:
    """`rich.print(result)` shows the table; mark-up of rich in a text stays text."""
    result = answer(make_database, write, "The warmup [bold red]run[/] diverged\n")
    out = io.StringIO()
    Console(file=out, width=200).print(result)
    assert "[bold red]run[/]" in out.getvalue() and "a.md" in out.getvalue() and result.retrieval_id in out.getvalue()


def test_a_long_text_says_how_much_is_missing(make_database: MakeDatabase, write: Callable[[str, str], Path]) -> None:
    """Nothing is cut in silence."""
    result = answer(make_database, write, "warmup " + "word " * 300)
    rest = len(result.evidence[0].content) - 300
    assert f"({rest:,} more characters)" in result._repr_html_()


def memory(text: str) -> ResearchMemory:
    return ResearchMemory(
        memory_id="m1", scope=SCOPE, kind="knowledge", title=text, content=text, source_refs=(text,),
        created_at="2026-01-02T03:04:05.000000Z", updated_at="2026-01-02T03:04:05.000000Z", revision=1,
    )  # fmt: skip


@given(st.text(min_size=1, max_size=80).filter(lambda text: bool(text.strip())))
def test_no_text_becomes_mark_up(text: str) -> None:
    """Whatever a memory says, only the table's own elements are there."""
    read = Reader(html_of_memory(memory(text)))
    assert read.names == ALLOWED - {"thead"}


def test_a_memory_in_a_terminal() -> None:
    """Its fields and what it says."""
    out = io.StringIO()
    Console(file=out, width=100).print(memory("Use 2,000 steps"))
    assert "Use 2,000 steps" in out.getvalue() and "candidate" in out.getvalue()
