"""JSON that goes on record: what is plain JSON, and where a credential hides. Every credential here is invented."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.canonical import canonical_json
from arr_sql.core.secret_walk import MAX_DEPTH, find_secret, parse_json, require_plain_json
from arr_sql.errors import InputError

MIXED = "aB3" * 12
GITHUB = "gh" + "p_" + MIXED
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.abcdefghij_k"
PEM = "-----BEGIN RSA " + "PRIVATE KEY-----"

SECRETS: list[tuple[Any, str]] = [
    ({"api_key": "x"}, "payload.api_key"),
    ({"a": [{"b": {"Client-Secret": "quiet"}}]}, "payload.a[0].b.Client-Secret"),
    ({"password": 123456}, "payload.password"),
    ({"env": {"HF_TOKEN": ["abc"]}}, "payload.env.HF_TOKEN"),
    ({"Cookie": "sid=1"}, "payload.Cookie"),
    ({"headers": {"Authorization": "Basic eA=="}}, "payload.headers.Authorization"),
    ({"口令": "开门"}, "payload.口令"),
    ({"a": "password=swordfish"}, "payload.a"),
    ({"a": "run --seed 1 token=abc"}, "payload.a"),
    ({"a": "https://x.org/?access_token=abc"}, "payload.a"),
    ({"a": '{"api_key": "abc"}'}, "payload.a"),
    ({"a": '{\\"api_key\\": \\"abc\\"}'}, "payload.a"),
    ({"a": ["step 1", f"use {GITHUB}"]}, "payload.a[1]"),
    ({"a": f"line one\nline two {JWT}"}, "payload.a"),
    ({"a": PEM}, "payload.a"),
    ({"a": "-----BEGIN CERTIFICATE-----"}, "payload.a"),
    ({"argv": ["train", "--password", "x1"]}, "payload.argv"),
    ({"pair": ["api_key", "x"]}, "payload.pair"),
    ({"a": {GITHUB: 1}}, "a key of payload.a"),
    ({"a": "postgres://lab:hunter2-plum@db/lab"}, "payload.a"),
]  # fmt: skip
HARMLESS: list[Any] = [
    {"plan": "fake", "steps": ["一", 2]}, {"max_tokens": 512, "tokens": 12_000, "eos_token": "</s>"},
    {"tokenizer": "bert", "author": "ana"}, {"token_count": 5, "password_policy": "long"}, {"api_key": None, "token": ""},
    {"password": "[redacted]"}, {"use_auth_token": False}, {"a": "max_tokens=512 use_auth_token=False"},
    {"a": "The secret: warm up longer."}, {"commit": "4b6b0d1f" * 5}, {"a": "password=getpass.getpass()"},
    {"a": "api_key=${KEY}"}, {"units": ["tokens", "per second"]}, {}, {"a": ["batch", "token budget"]},
]  # fmt: skip


@pytest.mark.parametrize(("value", "place"), SECRETS, ids=[place for _, place in SECRETS])
def test_a_credential_is_found_wherever_it_stands(value: Any, place: str) -> None:
    """Sensitive keys at any depth, ``key=value`` forms, token shapes, JWTs, PEM headers, arguments in a row."""
    assert find_secret(value, "payload") == place


@pytest.mark.parametrize("value", HARMLESS, ids=[json.dumps(value)[:40] for value in HARMLESS])
def test_what_research_says_is_no_credential(value: Any) -> None:
    """Counts of tokens, placeholders, empty values, code and prose are let through."""
    assert find_secret(value, "payload") is None


@given(
    st.recursive(
        st.just({"api_key": "x1"}),
        lambda inner: st.lists(inner, min_size=1, max_size=1) | st.fixed_dictionaries({"a": inner}),
        max_leaves=30,
    )
)
def test_depth_hides_nothing(value: Any) -> None:
    """However deep the key, it is found."""
    assert find_secret(value, "payload") is not None


def test_the_place_never_shows_the_credential() -> None:
    """A key that is a credential itself is not repeated, not even on the way to another place."""
    for value in ({GITHUB: {"password": "x"}}, {"a": {GITHUB: float("nan")}}, {"a": {GITHUB: "\0"}}):
        try:
            require_plain_json(value, "payload")
        except InputError as error:
            assert GITHUB not in str(error)
        assert GITHUB not in str(find_secret(value, "payload"))


def test_a_long_text_takes_little_time() -> None:
    """Time grows with the length alone."""
    started = time.process_time()
    for text in ("a" * 900_000, "a=" * 200_000, "token " * 100_000, '"a":"' * 100_000, "-" * 500_000):
        find_secret({"a": text}, "payload")
    assert time.process_time() - started < 5


# --- Plain JSON -------------------------------------------------------------------------------------------------------

NOT_JSON: list[tuple[Any, str]] = [
    ({"a": float("nan")}, "payload.a is NaN or infinite"), ({"a": [1, float("inf")]}, r"payload.a\[1\] is NaN or infinite"),
    ({1: "a"}, "payload has a key that is no text"), ({"a": {None: 1}}, "payload.a has a key that is no text"),
    ({"a": b"x"}, "payload.a is a bytes"), ({"a": {1, 2}}, "payload.a is a set"), ({"a": "x\0"}, "payload.a holds a NUL"),
    ({"a": "\ud800"}, "payload.a holds half a character"), ({"\ud800": 1}, "a key of payload holds half a character"),
    ({"a": 10**5000}, "payload holds a number that is too long"), ({"a": "x" * 1_000_001}, "at most 1,000,000 are allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message"), NOT_JSON, ids=[message for _, message in NOT_JSON])
def test_what_json_would_change_is_refused(value: Any, message: str) -> None:
    """NaN, other keys than text, other types, half characters and endless numbers are named with their place."""
    with pytest.raises(InputError, match=message):
        require_plain_json(value, "payload")


def test_depth_has_a_limit_that_is_said() -> None:
    """64 levels pass, 65 don't, and 100,000 are no recursion error."""
    value: Any = 1
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    require_plain_json(value, "payload")
    for depth in (1, 100_000):
        for _ in range(depth):
            value = [value]
        with pytest.raises(InputError, match="at most 64 levels"):
            require_plain_json(value, "payload")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_plain_json_comes_back_as_it_was(value: Any) -> None:
    """What is let through is canonical JSON of the very value, parses back to it, and the walk raises nothing."""
    text = require_plain_json(value, "payload")
    assert text == canonical_json(value)
    assert parse_json(text, "payload") == value
    find_secret(value, "payload")


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"a":1,"a":2}', "a key twice"), ('{"a":NaN}', "NaN, which is no JSON"), ("[-Infinity]", "-Infinity"),
     ("{", "not JSON: .* line 1, column 2"), ("[" * 100_000, "nested too deep"), ("1" * 5000, "too long"), ("", "not JSON")],
)  # fmt: skip
def test_parsing_is_strict(text: str, message: str) -> None:
    """Two equal keys, NaN, broken and bottomless texts are refused by name."""
    with pytest.raises(InputError, match=message):
        parse_json(text, "payload")
