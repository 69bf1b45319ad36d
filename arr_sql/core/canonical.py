"""Canonical JSON and the hashes over it: the one form that is hashed, here and by anyone who checks.

Sorted keys, no spaces, ASCII escapes, no NaN. ``{"plan":"fake","steps":["一",2]}`` hashes to
``c83d206cc7edb1296e249c602e092df96f3fe15f9f94def88b32f5c23c753184`` (tests/core/test_canonical.py).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

MAX_DIGITS = 4_300
"""A longer whole number is refused, in and out: Python's own bound since 3.10.7, where nobody has moved it. A number that
one machine writes, another can read."""


def canonical_json(value: Any) -> str:
    """``value`` as canonical JSON text. Raises ValueError for NaN and infinities."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def short_int(digits: str) -> int:
    """A whole number as JSON writes it, for ``json.loads(parse_int=...)``. Raises ValueError beyond MAX_DIGITS."""
    if len(digits) > MAX_DIGITS + digits.startswith("-"):
        raise ValueError("a number is too long")
    return int(digits)


def is_short(number: int) -> bool:
    """Has it at most MAX_DIGITS digits?"""
    return number.bit_length() <= 3 * MAX_DIGITS or abs(number) < 10**MAX_DIGITS


def sha256_text(text: str) -> str:
    """Hex SHA-256 of the UTF-8 bytes of ``text``; an unpaired surrogate keeps its own three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def sha256_json(value: Any) -> str:
    """Hex SHA-256 of the canonical JSON of ``value``."""
    return sha256_text(canonical_json(value))


def significant(score: float) -> float:
    """``score`` at 12 significant digits, the precision at which scores are compared (contract 10.8)."""
    return float(f"{score:.12g}")
