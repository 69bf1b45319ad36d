"""Regular expressions for the line search, on an engine that cannot backtrack: RE2 (the extra ``regex``).

Promise: time grows with pattern times text and never with a power of them, whoever wrote the pattern; memory has a
bound. RE2 has no back references and no look-around, and says so. Python's own ``re`` is no fallback: it speaks another
dialect, so the same command would answer otherwise on another machine, and ``(a+)+$`` on forty letters ends it.

A pattern matches within one line, as in ``grep``: ``^`` and ``$`` are a line's ends, and no part of it matches a newline.

Held by ``tests/retrieval/test_line_pattern.py``.
"""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Iterator
from typing import Any

from arr_sql.errors import InputError, PatternInvalid
from arr_sql.retrieval.pattern_literals import required_literals

MAX_PATTERN = 10_000  # characters
MAX_PROGRAM = 20_000  # instructions; `[\w]{1000}` has some 4,000
BLOCK_BYTES = 64 << 10  # the deadline can be looked at between two of these; a longer line is one block
_LINE_MODE = "(?m)"
_NAMED_GROUP = re.compile(r"(?<!\\)\(\?P?<(\w+)>")


def has_regex_engine() -> bool:
    """Whether the extra ``regex`` is installed."""
    return importlib.util.find_spec("re2") is not None


class LinePattern:
    """A compiled pattern. Raises PatternInvalid for one that is not valid, InputError when the extra is missing."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MAX_PATTERN:
            raise PatternInvalid(
                f"The pattern has {len(pattern):,} characters; at most {MAX_PATTERN:,} are allowed. Shorten it."
            )
        if not has_regex_engine():
            raise InputError(
                "Regular expressions need the extra `regex`: pip install 'arr-sql[regex]'. Without --regex the text is "
                "searched as it is written, which needs nothing."
            )
        import re2

        self.pattern = pattern
        self.literals = required_literals(pattern)
        """What every line holds that matches, upper and lower case not counting."""
        options = re2.Options()
        options.log_errors = False
        options.never_nl = True
        options.never_capture = True
        try:
            encoded = (_LINE_MODE + pattern).encode("utf-8")
        except UnicodeEncodeError as error:
            raise PatternInvalid(
                "The pattern holds half a character. Type it again in a UTF-8 terminal.", error.start - len(_LINE_MODE)
            ) from None
        try:
            self._compiled: Any = re2.compile(encoded, options)
        except re2.error as error:
            raise _invalid(pattern, error) from None
        seen: set[str] = set()
        for group in _NAMED_GROUP.finditer(pattern):
            if group[1] in seen:
                raise PatternInvalid(
                    f"The pattern names two groups '{group[1]}' (at position {group.start()}).", group.start()
                )
            seen.add(group[1])
        size = max(self._compiled.programsize, self._compiled.reverseprogramsize)
        if size > MAX_PROGRAM:
            raise PatternInvalid(
                f"The pattern is too large: it becomes {size:,} steps, and at most {MAX_PROGRAM:,} are allowed. "
                "Use smaller numbers of repetition."
            )

    def lines(self, text: str) -> Iterator[tuple[int, str, int] | None]:
        """Each line that matches: its number from 1, its text, and the index of the first match in it.

        None comes after each block that holds no further match, so that a caller can look at the clock.
        """
        data = text.encode("utf-8", "surrogatepass")
        line_no, start = 1, 0
        while start < len(data):
            end = data.rfind(b"\n", start, start + BLOCK_BYTES) + 1
            if end <= start:
                end = data.find(b"\n", start + BLOCK_BYTES) + 1 or len(data)
            block = data[start:end]
            yield from self._in_block(block, line_no)
            line_no += block.count(b"\n")
            start = end
            yield None

    def _in_block(self, block: bytes, line_no: int) -> Iterator[tuple[int, str, int]]:
        place = 0
        limit = len(block) - block.endswith(b"\n")  # the end of the last line; nothing after it is a line
        while place <= limit:
            found = self._compiled.search(block, place, limit)
            if found is None:
                return
            start = block.rfind(b"\n", 0, found.start()) + 1
            end = block.find(b"\n", found.start())
            end = len(block) if end < 0 else end
            line_no += block.count(b"\n", place, start)
            before = block[start : found.start()].decode("utf-8", "ignore")
            yield line_no, block[start:end].decode("utf-8", "surrogatepass"), len(before)
            line_no += 1
            place = end + 1


def _invalid(pattern: str, error: Exception) -> PatternInvalid:
    """RE2 names the faulty part, not its place; Python's parser, which runs nothing, often knows that better."""
    said = error.args[0] if error.args else b""
    words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    kind, _, part = words.partition(": ")
    part = part.removeprefix(_LINE_MODE)
    position: int | None = None
    if part and part != pattern:
        position = pattern.find(part)
    elif kind.startswith("trailing"):
        position = len(pattern) - 1
    if position is None or position < 0:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "possible nested set": of no use to who typed it
                re.compile(pattern)
            position = None
        except (re.error, RecursionError, OverflowError) as other:
            position = getattr(other, "pos", None)
    where = "" if position is None else f" at position {position}"
    shown = f": {part}" if part and part != pattern and len(part) <= 40 else ""
    advice = ""
    if kind.startswith(("invalid perl operator", "invalid escape sequence")):
        advice = " The engine has no back references and no look-around."
    return PatternInvalid(
        f"The pattern is not a regular expression: {kind or 'it can not be read'}{shown}{where}.{advice} "
        "Without --regex it is searched as it is written.",
        position,
    )
