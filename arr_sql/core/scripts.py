"""Which script is a text in? Enough to tell whether two texts can share words at all. Pure."""

from __future__ import annotations

from arr_sql.core.later import pattern

_UNSPACED = pattern("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_WORD = pattern("[A-Za-z\u00c0-\u024f\u0370-\u052f]+")
LOOKED_AT = 400
"""Characters of a text that are looked at."""
FAR = 0.6
"""Two shares that differ by more than this are of texts in different scripts."""


def unspaced_share(text: str) -> float | None:
    """Characters of Chinese, Japanese or Korean as a share of these and words of letters; None for a text of neither."""
    head = text[:LOOKED_AT]
    if head.isascii():
        return 0.0 if _WORD.search(head) else None
    characters, words = len(_UNSPACED.findall(head)), len(_WORD.findall(head))
    return characters / (characters + words) if characters + words else None


def are_foreign(one: float | None, other: float | None) -> bool:
    """Are texts with these shares in different scripts, so that one can hold hardly a word of the other?"""
    return one is not None and other is not None and abs(one - other) > FAR
