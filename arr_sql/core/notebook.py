"""Results as tables: HTML for notebooks, rich tables for terminals. Pure; every text is escaped.

A notebook shows what ``_repr_html_`` gives, so evidence could bring mark-up or a script into it. Nothing passes but
escaped text, and characters that hide or turn it are named (tests/core/test_notebook.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from arr_sql.core.term_marks import code_point, language_of, parts

if TYPE_CHECKING:
    from rich.table import Table

    from arr_sql.core.research_models import EvidenceChunk, ResearchMemory
    from arr_sql.core.router_models import RouterResult

SHOWN_CHARACTERS = 300
"""Of a text in a table; how many more there are is said."""
EVIDENCE_COLUMNS = ("", "source", "where", "freshness", "found by", "score", "text")
MEMORY_FIELDS = ("memory_id", "status", "kind", "confidence", "source_refs", "revision", "updated_at")


def html_of_result(result: RouterResult) -> str:
    """The evidence as a table, what ran and what was weaker as its caption."""
    rows = [
        [_cell(text, column) for column, text in zip(EVIDENCE_COLUMNS, row, strict=True)]
        for row in _evidence_rows(result.evidence)
    ]
    return _table(_caption(result), EVIDENCE_COLUMNS, rows)


def html_of_memory(memory: ResearchMemory) -> str:
    """One memory: its fields, then what it says."""
    rows = [[f"<th scope='row'>{escape(name)}</th>", _cell(text, name)] for name, text in _memory_rows(memory)]
    return _table(memory.title, (), rows)


def rich_of_result(result: RouterResult) -> Table:
    """The same for a terminal."""
    return _rich(_caption(result), EVIDENCE_COLUMNS, _evidence_rows(result.evidence))


def rich_of_memory(memory: ResearchMemory) -> Table:
    """The same for a terminal."""
    return _rich(memory.title, ("", ""), _memory_rows(memory))


def visible(text: str) -> str:
    """``text`` with hidden characters by name."""
    return "".join(code_point(piece) if kind == "hidden" else piece for kind, piece in parts(text))


def _evidence_rows(evidence: Iterable[EvidenceChunk]) -> list[list[str]]:
    return [
        [str(number), item.source_ref, item.locator, item.freshness,
         " ".join(dict.fromkeys(f"{rank.channel}#{rank.rank}" for rank in item.channels)),
         "" if item.rerank_score is None else f"{item.rerank_score:.3f}", _short(item.content)]
        for number, item in enumerate(evidence, 1)
    ]  # fmt: skip


def _memory_rows(memory: ResearchMemory) -> list[tuple[str, str]]:
    values = {name: getattr(memory, name) for name in MEMORY_FIELDS}
    shown = {name: ", ".join(value) if isinstance(value, tuple) else str(value) for name, value in values.items()}
    return [*shown.items(), ("content", _short(memory.content))]


def _caption(result: RouterResult) -> str:
    ran = ", ".join(f"{trace.tool_name} {trace.state}" for trace in result.traces)
    said = [(item.tool_name, item.code) for item in result.degradations]
    said += [(item.tool_name, item.code) for item in result.rejections]
    weaker = ", ".join(f"{name} {code}".strip() for name, code in said)
    words = "partial" if result.partial else "complete"
    return f"{result.retrieval_id}: {result.state}, {words}. {ran}." + (
        f" Weaker or refused: {weaker}." if weaker else ""
    )


def _short(text: str) -> str:
    rest = len(text) - SHOWN_CHARACTERS
    return text if rest <= 0 else f"{text[:SHOWN_CHARACTERS]}… ({rest:,} more characters)"


def _cell(text: str, column: str) -> str:
    language = f" lang='{language_of(text)}'" if column in ("text", "content") else ""
    style = "text-align:left;vertical-align:top;white-space:pre-wrap;unicode-bidi:isolate"
    return f"<td{language} dir='auto' style='{style}'>{escape(visible(text))}</td>"


def _table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    names = "".join(f"<th scope='col' style='text-align:left'>{escape(name)}</th>" for name in columns)
    head = f"<thead><tr>{names}</tr></thead>" if columns else ""
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><caption style='text-align:left'>{escape(visible(caption))}</caption>{head}<tbody>{body}</tbody></table>"


def _rich(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(visible(title)), title_justify="left", header_style="bold", show_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(text)) for text in row))
    return table
