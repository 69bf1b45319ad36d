"""The generated parts of docs/performance.md: a table for each kept benchmark, and the chart of all promises.

The page calls them through cog; ``python docs/_performance.py`` writes the chart. Held by tests/docs/test_performance.py.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.performance import Kept, Row, kept

CHART = Path(__file__).with_name("images") / "performance.svg"
_WIDTH, _LABEL, _RIGHT, _STEP, _MOST = 860, 430, 70, 24, 2.0


def sections() -> str:
    """Every kept benchmark: its command, where it ran, its table."""
    return "\n".join(_section(item) for item in kept())


def _section(item: Kept) -> str:
    lines = [
        f"### {item.title}", "", f"`{item.command}`, {item.on}, {item.machine}:", "",
        "| what | median | ratio | beside | promised |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for row in item.rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        promised = (
            "" if row.bound is None else f"at {row.bound_is} {row.bound:g}" + ("" if _is_met(row) else ": **missed**")
        )
        lines.append(f"| {row.what} | {row.figure} | {ratio} | {row.of} | {promised} |")
    return "\n".join([*lines, ""])


def _is_met(row: Row) -> bool:
    return row.share is not None and row.share <= 1


def promises() -> list[tuple[str, Row]]:
    """Every row that has a bound, with its benchmark's title."""
    return [(item.title, row) for item in kept() for row in item.rows if row.share is not None]


def missed() -> str:
    """A sentence that counts what is met and names what is missed."""
    rows = promises()
    short = [f"{title.lower()}: {row.what} ({row.ratio:.2f}, at {row.bound_is} {row.bound:g})" for title, row in rows
             if not _is_met(row)]  # fmt: skip
    met = f"{len(rows) - len(short)} of {len(rows)} promised ratios are met."
    return met if not short else f"{met} Missed: {'; '.join(short)}."


def chart() -> str:
    """One bar a promise: how much of its bound is used. What passes the line is missed."""
    rows = promises()
    height, span = _STEP * len(rows) + 44, _WIDTH - _LABEL - _RIGHT
    limit = _LABEL + span / _MOST
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" font-family="sans-serif"'
        ' font-size="12">',
        "<title>How much of each promised ratio is used; left of the line it is kept</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<line x1="{limit:.1f}" y1="4" x2="{limit:.1f}" y2="{height - 30}" stroke="#444444"/>',
        f'<text x="{limit:.1f}" y="{height - 14}" text-anchor="middle" fill="#444444">the promise</text>',
    ]
    for number, (title, row) in enumerate(rows):
        assert row.share is not None
        y, label = 8 + _STEP * number, f"{title}: {row.what}"
        label = label if len(label) <= 66 else label[:65] + "…"
        colour = "#3b7a57" if _is_met(row) else "#b5462f"
        parts += [
            f'<text x="{_LABEL - 10}" y="{y + 13}" text-anchor="end" fill="#222222">{escape(label)}</text>',
            f'<rect x="{_LABEL}" y="{y}" width="{span * min(row.share, _MOST) / _MOST:.1f}" height="17" rx="2" fill="{colour}"/>',
            f'<text x="{_WIDTH - _RIGHT + 10}" y="{y + 13}" fill="#222222">{row.share:.2f}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Write the chart."""
    CHART.write_text(chart(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
