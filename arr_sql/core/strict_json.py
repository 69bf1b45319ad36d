"""JSON from outside, read strictly: one value, no duplicate keys, no NaN or infinity, no trailing comma, bounded depth.

Python's own reader takes duplicate keys (the last wins), ``NaN``, ``1e309`` (infinity) and nesting until the stack
ends. Each of these lets two readers see two different values in one text, so each is refused here.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Literal

from arr_sql.core.canonical import short_int

MAX_DEPTH = 32

Stripped = Literal["think", "fence"]

_MARK = re.compile(r'["\\\[\]{}]')
_THINK = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


def strict_json(text: str) -> Any:
    """The one value in ``text``. Raises ValueError with a fixed message that holds nothing of the text."""
    try:
        if _depth(text) > MAX_DEPTH:
            raise ValueError
        return json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse,
            parse_float=_finite,
            parse_int=short_int,
        )
    except (ValueError, RecursionError):
        pass
    raise ValueError("not strict JSON")  # raised here: the reader's own error would carry the text along


def reply_json(text: str) -> tuple[Any, tuple[Stripped, ...]]:
    """The value in a model's reply, and what stood around it: one leading ``<think>`` block, one code fence.

    Nothing else may stand around it. Raises ValueError as :func:`strict_json` does.
    """
    stripped: list[Stripped] = []
    if thought := _THINK.match(text):
        text = text[thought.end() :]
        stripped.append("think")
    inside = _inside_fence(text)
    if inside is not None:
        text = inside
        stripped.append("fence")
    return strict_json(text), tuple(stripped)


def _inside_fence(text: str) -> str | None:
    """What one code fence around the whole text holds; None when there is none."""
    text = text.strip()
    if len(text) < 6 or not text.startswith("```") or not text.endswith("```"):
        return None
    language, newline, inside = text[3:-3].partition("\n")
    return inside if newline and language.strip() in ("", "json", "JSON") else None


def _depth(text: str) -> int:
    """How deep brackets outside strings are nested, in one pass."""
    deepest = depth = after_escape = 0
    in_string = False
    for mark in _MARK.finditer(text):
        if mark.start() < after_escape:
            continue
        if mark[0] == "\\":
            after_escape = mark.start() + 2
        elif mark[0] == '"':
            in_string = not in_string
        elif not in_string:
            depth += 1 if mark[0] in "[{" else -1
            deepest = max(deepest, depth)
    return deepest


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError
    return made


def _refuse(constant: str) -> Any:
    raise ValueError


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError
    return value
