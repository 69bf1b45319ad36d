"""Temporary: replaced by the full version."""
from __future__ import annotations
import re
from collections.abc import Callable


def needles(query: str, rarity: Callable[[str], float] | None = None) -> list[str]:
    words = re.findall(r"[\w./-]{2,}", query)
    words.sort(key=lambda w: (rarity(w) if rarity else 0, -len(w)))
    return words[:3]
