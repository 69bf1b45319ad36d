"""Canonical JSON and the hashes over it: anyone can compute them again."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.canonical import (
    MAX_DIGITS,
    canonical_json,
    is_short,
    sha256_bytes,
    sha256_json,
    sha256_text,
    short_int,
    significant,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_the_worked_hash_of_the_contract() -> None:
    """Contract 6.1: the payload of the example hashes to the printed value, whatever the order of its keys."""
    expected = "c83d206cc7edb1296e249c602e092df96f3fe15f9f94def88b32f5c23c753184"
    assert canonical_json({"steps": ["一", 2], "plan": "fake"}) == '{"plan":"fake","steps":["\\u4e00",2]}'
    assert sha256_json({"steps": ["一", 2], "plan": "fake"}) == expected
    assert sha256_json(json.loads('{"plan":"fake","steps":["一",2]}')) == expected


def test_the_worked_event_key_of_the_contract() -> None:
    """Contract 6.4: the key of a receipt is the hash of the compact array of its three ids."""
    key = sha256_json(["pkg-1", "a" * 64, "step-1"])
    assert key == "a98a9f89a0f5a1d38ba32610f590be2eaa4eae3368fb8cb59ece468d40992fcb"
    assert key == hashlib.sha256(f'["pkg-1","{"a" * 64}","step-1"]'.encode()).hexdigest()


@given(VALUES)
def test_canonical_json_is_ascii_compact_and_reads_back(value: object) -> None:
    """The text is ASCII without control characters or loose spaces, means the same value, and is a fixed point."""
    text = canonical_json(value)
    assert text.isascii() and text.isprintable()
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@given(st.dictionaries(st.text(), st.integers(), max_size=6))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    """Two dictionaries that are equal have one canonical text."""
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [-float("inf")], {"a": {"b": float("nan")}}])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    """NaN and infinities raise at any depth instead of becoming text that no other program reads."""
    with pytest.raises(ValueError):
        canonical_json(value)


def test_hashes_of_text_and_bytes() -> None:
    """Text is hashed as UTF-8, and half a character has a hash of its own instead of an error."""
    assert sha256_text("一") == sha256_bytes("一".encode()) == hashlib.sha256("一".encode()).hexdigest()
    assert len({sha256_text("\ud800"), sha256_text("\udfff"), sha256_text("?")}) == 3


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.1 + 0.2, 0.3),
        (1.0905 + 1e-15, 1.0905),
        (123456789012.34, 123456789012.0),
        (1e-20, 1e-20),
        (0.0, 0.0),
        (-2.5, -2.5),
    ],
)
def test_scores_are_compared_at_twelve_digits(score: float, expected: float) -> None:
    """What differs only behind the twelfth significant digit is equal (contract 10.8)."""
    assert significant(score) == expected


@pytest.mark.parametrize("sign", ["", "-"])
def test_the_length_of_numbers_does_not_depend_on_the_interpreter(sign: str) -> None:
    """Python 3.10.4 reads numbers of any length, later ones as far as PYTHONINTMAXSTRDIGITS lets them."""
    longest = sign + "9" * MAX_DIGITS
    assert short_int(longest) == int(longest) and is_short(int(longest))
    with pytest.raises(ValueError, match="too long"):
        short_int(longest + "0")
    assert not is_short(int(longest) * 10)
    code = (
        "import sys; sys.set_int_max_str_digits(0)\n"
        "from arr_sql.core.strict_json import strict_json\n"
        "from arr_sql.core.secret_walk import parse_json, require_plain_json\n"
        "for ask in (strict_json, lambda t: parse_json(t, 'it'), lambda t: require_plain_json(int(t), 'it')):\n"
        f"    ask({longest!r})\n"
        "    try: ask({longest!r} + '0')\n"
        "    except Exception as error: print(type(error).__name__)\n"
    ).replace("{longest!r}", repr(longest))
    if hasattr(sys, "set_int_max_str_digits"):
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert ran.stdout.split() == ["ValueError", "InputError", "InputError"], ran.stderr
