"""The ``---`` block at the top of a Markdown file, read leniently: a slip in it never loses the file.

``key: value`` lines, ``[a, b]`` lists and ``- item`` lines are understood; everything after the first colon of a line
is the value, so ``title: Retrieval: a survey`` is a title. What isn't understood is left out and named in a warning.
A block that is never closed, or that doesn't begin with a key, is body text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .base import JSON

_KEY = re.compile(r"(?P<key>[A-Za-z_][\w. -]{0,60}?)\s*(?P<sign>[:=])(?:\s+|$)(?P<value>.*)$")
_MAX_LINES = 400


@dataclass(frozen=True)
class FrontMatter:
    """``end`` is the number of lines the block takes, 0 for none."""

    end: int = 0
    values: dict[str, JSON] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_front_matter(lines: list[str]) -> FrontMatter:
    """The block at the top of ``lines``, if there is one."""
    fence = lines[0].rstrip() if lines else ""
    if fence not in {"---", "+++"}:
        return FrontMatter()
    closers = {"---", "..."} if fence == "---" else {"+++"}
    end = next((i for i in range(1, min(len(lines), _MAX_LINES)) if lines[i].rstrip() in closers), 0)
    body = lines[1:end]
    first = next((line for line in body if line.strip() and not line.startswith("#")), "")
    if not end or not _KEY.match(first):
        return FrontMatter()
    values: dict[str, JSON] = {}
    warnings: list[str] = []
    key = ""
    for number, line in enumerate(body, 2):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _KEY.match(line)
        if match:
            key = match["key"].strip()
            value, sound = _value(match["value"].strip())
            values.setdefault(key, value)
            if not sound:
                warnings.append(f"front_matter: line {number}: unbalanced quote or bracket")
        elif key and line[0] in " \t-":
            _add(values, key, text)
        else:
            warnings.append(f"front_matter: line {number}: not understood")
    return FrontMatter(end + 1, values, tuple(warnings))


def _value(text: str) -> tuple[JSON, bool]:
    if text[:1] in {"'", '"'}:
        closed = len(text) > 1 and text[-1] == text[0]
        return (text[1:-1] if closed else text[1:]), closed
    if text.startswith("["):
        closed = text.endswith("]")
        inner = text[1:-1] if closed else text[1:]
        return [item.strip().strip("'\"") for item in inner.split(",") if item.strip()], closed
    return ("" if text in {"|", ">", "|-", ">-"} else text), True


def _add(values: dict[str, JSON], key: str, text: str) -> None:
    """A line that continues the value of ``key``: a list item, or one more line of text."""
    present = values[key]
    if text.startswith("- ") and (present == "" or isinstance(present, list)):
        item = text[2:].strip().strip("'\"")
        values[key] = [*present, item] if isinstance(present, list) else [item]
    elif isinstance(present, str):
        values[key] = f"{present} {text}".strip()
