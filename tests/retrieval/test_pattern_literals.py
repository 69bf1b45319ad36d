"""What a pattern asks for certainly stands in every line it matches, by RE2 itself; else nothing is named."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arr_sql.errors import PatternInvalid
from arr_sql.retrieval.line_pattern import LinePattern, has_regex_engine
from arr_sql.retrieval.pattern_literals import required_literals

PATTERNS = {
    "warmup": ("warmup",),
    r"^warmup\.steps$": ("warmup.steps",),
    r"def (\w+)_step\(": ("def ", "_step("),
    r"(?i)lr.*decay": ("lr", "decay"),
    "colou?r": ("colo", "r"),
    "ab+cd*ef": ("ab", "c", "ef"),
    "x{0,2}yz{3}": ("y",),
    "a{b}c": ("a{b}c",),
    r"[abc]def[^]x]ghi": ("def", "ghi"),
    r"\bnet\d+\pL\p{Greek}end": ("net", "end"),
    "学习率.*减半": ("学习率", "减半"),
    # Nothing is certain, or not understood here.
    "a|b": (),
    "(abc|def)": (),
    r"\Qa.b\E": (),
    r"\x41bcd": (),
    "[[:alpha:]]abcd": (),
    "abc\\": (),
    "(abc": (),
    "abc)": (),
    "[abc": (),
    "": (),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_named(pattern: str) -> None:
    """The strings in order; an end of a repeat is never one of them."""
    assert required_literals(pattern) == PATTERNS[pattern]


PIECES = st.sampled_from([
    "a", "b", "K", "ſ", "ß", "é", " ", "ab", "ba", ".", "^", "$", "*", "+", "?", "{2}", "{0,1}", "{1,}", "{", "}", "|", "(", ")",
    "(?:", "(?i)", "(?i:", "(?P<n>", "[", "]", "[^", "[ab]", "[]a]", "\\", "\\.", "\\b", "\\w", "\\d", "\\pL", "\\Q", "\\E", "-",
])  # fmt: skip
LINES = st.text(alphabet="abABkKsSſßẞéÉ .(){}[]-K", max_size=12)


@pytest.mark.skipif(not has_regex_engine(), reason="needs the extra `regex`")
@given(st.lists(PIECES, min_size=1, max_size=7).map("".join), st.lists(LINES, max_size=6))
@example("[[", [])  # Python's parser warns of it
def test_every_line_that_matches_holds_them(pattern: str, lines: list[str]) -> None:
    """Random patterns on random lines, and on lines made of the pattern itself."""
    try:
        compiled = LinePattern(pattern)
    except PatternInvalid:
        return
    text = "\n".join([*lines, pattern, pattern.swapcase(), *compiled.literals, "".join(compiled.literals)])
    for found in compiled.lines(text):
        if found is not None:
            for literal in compiled.literals:
                assert literal.casefold() in found[1].casefold()
