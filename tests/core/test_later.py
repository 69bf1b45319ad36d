"""Patterns that are compiled later are what ``re.compile`` gives, and are not compiled before."""

from __future__ import annotations

import re

import pytest

from arr_sql.core.later import pattern


def test_it_answers_as_a_compiled_pattern() -> None:
    """Every use gives what the compiled pattern gives, again and again."""
    later, now = pattern("a(b)?", re.IGNORECASE), re.compile("a(b)?", re.IGNORECASE)
    for text in ("xAb", "", "aab"):
        for _ in range(2):
            assert [m.span() for m in later.finditer(text)] == [m.span() for m in now.finditer(text)]
            assert later.sub("-", text) == now.sub("-", text)
            assert later.findall(text) == now.findall(text)
    assert (later.pattern, later.flags, later.groups) == (now.pattern, now.flags, now.groups)


def test_it_is_compiled_on_first_use() -> None:
    """A source that can't be compiled is no fault until the pattern is used."""
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.search("")
