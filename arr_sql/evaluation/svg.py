"""Plots as SVG text that stands inside a page: bars with intervals, and curves. Pure; colours are the page's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH = 720
_LABEL, _RIGHT = 150, 70


def bars(title: str, rows: Sequence[tuple[str, float, tuple[float, float]]], strong: str = "") -> str:
    """Horizontal bars from 0 to 1, one a row (name, value, interval). The bar named ``strong`` stands out."""
    span, height = WIDTH - _LABEL - _RIGHT, 30 * len(rows) + 28
    parts = [_open(title, height)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LABEL + span * share
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="4" x2="{x:.1f}" y2="{height - 22}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{height - 6}" text-anchor="middle">{share:g}</text>')
    for row, (name, value, (low, high)) in enumerate(rows):
        y = 6 + 30 * row
        left, right = _LABEL + span * low, _LABEL + span * high
        parts += [
            f'<text x="{_LABEL - 10}" y="{y + 15}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{"bar strong" if name == strong else "bar"}" x="{_LABEL}" y="{y}" rx="2"'
            f' width="{max(1.0, span * value):.1f}" height="20"/>',
            f'<path class="whisker" d="M{left:.1f} {y + 10}H{right:.1f}M{left:.1f} {y + 6}v8M{right:.1f} {y + 6}v8"/>',
            f'<text class="value" x="{WIDTH - _RIGHT + 14}" y="{y + 15}">{value:.3f}</text>',
        ]
    return "".join([*parts, "</svg>"])


def curves(title: str, lines: Sequence[tuple[str, Sequence[tuple[int, float]]]], strong: str = "") -> str:
    """One line a name over depths from 1, on a logarithmic axis, from 0 to 1, with a legend beside it."""
    height, left, right, top, bottom = 320, 44, 170, 10, 34
    depths = sorted({depth for _, points in lines for depth, _ in points}) or [1]
    span, rise = WIDTH - left - right, height - top - bottom

    def at(depth: int, value: float) -> tuple[float, float]:
        share = math.log(depth) / math.log(depths[-1]) if depths[-1] > 1 else 0.0
        return left + span * share, top + rise * (1 - value)

    parts = [_open(title, height)]
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        _, y = at(1, value)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{left + span}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for depth in depths:
        x, _ = at(depth, 0)
        parts.append(f'<text class="tick" x="{x:.1f}" y="{height - 12}" text-anchor="middle">{depth}</text>')
    for number, (name, points) in enumerate(lines):
        kind = f"line c{number % 8}{' strong' if name == strong else ''}"
        places = [at(depth, value) for depth, value in points]
        path = "".join(f"{'L' if place else 'M'}{x:.1f} {y:.1f}" for place, (x, y) in enumerate(places))
        y = top + 8 + 22 * number
        parts += [
            f'<path class="{kind}" d="{path}"/>' if path else "",
            f'<path class="{kind}" d="M{left + span + 18} {y}h22"/>',
            f'<text x="{left + span + 48}" y="{y + 4}">{escape(name)}</text>',
        ]
    return "".join([*parts, "</svg>"])


def _open(title: str, height: int) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title>"
    )
