"""May this text be given to Python's parser, or could it overflow the C stack and end the process?

``ast.parse`` turns a long chain (``a.b.b.b``, ``1+1+1``, ``not not not``, ``elif`` after ``elif``) into a tree as deep
as the chain. Python 3.10 ends with a segmentation fault on such a tree somewhere between 20,000 and 200,000 links, and
later versions do in threads with a small stack, so a hostile file must be recognised before it is parsed. Brackets and
indentation need no check of their own: the tokenizer limits both to about a hundred levels.
"""

from __future__ import annotations

import re

MAX_LINKS = 2000

_SIGNS = "+-*/%@&|^~.([<>="
_WORDS = ("not", "lambda", "else", "await", "and", "or", "in", "is", "yield")
_TOKEN = re.compile(
    r"(?P<string>[A-Za-z]{0,2}(?:"
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'))"
    r"|(?P<skip>#[^\n]*|\\\n|\d[\w.]*)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)|(?P<end>\n|;)"
    r"|(?P<link>[-+*/%@&|^~<>=]+|\.|\b(?:" + "|".join(_WORDS) + r")\b)",
    re.DOTALL,
)


def too_deep(text: str) -> bool:
    """Whether some statement of ``text`` may have more than ``MAX_LINKS`` links. Errs to the safe side."""
    if text.count("elif") > MAX_LINKS:
        return True
    if _links(text) <= MAX_LINKS:
        return False
    total = 0
    runs = [0]  # links since the last comma, for each open bracket; ``total`` is their sum
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "link":
            # A run of signs may be as many unary operators.
            length = len(token.group()) if token.group()[0] in _SIGNS else 1
            runs[-1] += length
            total += length
            if total > MAX_LINKS:
                return True
        elif kind == "open":
            runs[-1] += 1
            total += 1
            runs.append(0)
        elif kind == "close" and len(runs) > 1:
            total -= runs.pop()
        elif kind == "comma" or (kind == "end" and len(runs) == 1):
            total -= runs[-1]
            runs[-1] = 0
        elif kind == "string" and "f" in token.group()[:2].lower():
            inside = _links(token.group())
            runs[-1] += inside
            total += inside
    return total > MAX_LINKS


def _links(text: str) -> int:
    """At least as many as there are links in ``text``; cheap."""
    return sum(map(text.count, _SIGNS)) + sum(map(text.count, _WORDS))
