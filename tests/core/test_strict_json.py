"""JSON from outside is one value that every reader would see alike, or it is refused without a word of it."""

from __future__ import annotations

import json
import time
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.strict_json import MAX_DEPTH, reply_json, strict_json

REFUSED = [
    "", " ", "{", "{}{}", "{} x", "x {}", "{'a': 1}", '{"a": 1,}', "[1,]", '{"a": 1, "a": 1}', '{"a": {"b": 1, "b": 2}}',
    '{"a": 1, "\\u0061": 2}', "NaN", "[Infinity]", "[-Infinity]", "[1e309]", "[-1e309]", "[01]", "[.5]", "[+1]", "[0x1]",
    "// c\n{}", "{} // c", "{/**/}", "\ufeff{}", '["\t"]', '["a\nb"]', "[1]\x00", "True", "None", '"a', "[" * 40 + "]" * 40,
    "[" * 1_000_000, '{"a":' * 50 + "1" + "}" * 50, "]" * 50 + "[" * 50, "9" * 5000 + "e", '["\\x41"]', '["\\ud8"]',
    "{\u00a0}", "[1]\u2028",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_anything_looser_is_refused(text: str) -> None:
    """And the error holds nothing of the text, neither itself nor as its cause."""
    with pytest.raises(ValueError) as caught:
        strict_json(text)
    assert str(caught.value) == "not strict JSON" and caught.value.__context__ is None
    assert "JSONDecodeError" not in "".join(traceback.format_exception(caught.value))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_what_json_writes_is_read(value: object, ascii_only: bool) -> None:
    """Any value, in ASCII or not, comes back."""
    assert strict_json(json.dumps(value, ensure_ascii=ascii_only)) == value


@given(st.integers(1, 60), st.sampled_from(["[]", "{}"]))
def test_depth_counts_brackets_outside_strings(depth: int, kind: str) -> None:
    """Up to the limit and no further; brackets in strings, escaped quotes or not, do not count."""
    text = "[" * depth + "]" * depth if kind == "[]" else '{"a":' * depth + "1" + "}" * depth
    if depth <= MAX_DEPTH:
        assert strict_json(text)[:0] == [] if kind == "[]" else "a" in strict_json(text)
    else:
        with pytest.raises(ValueError):
            strict_json(text)
    assert strict_json(json.dumps(['"' + "[" * 100, '\\"{{' * 50]))


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ('{"a": 1}', ()), ('\n {"a": 1} \n', ()), ('```json\n{"a": 1}\n```', ("fence",)), ('```\n{"a": 1}\n```\n', ("fence",)),
        ('<think>\nhm ``` {} \n</think>\n{"a": 1}', ("think",)), ('  <think></think>{"a": 1}', ("think",)),
        ('<think>x</think>\n```json\n{"a": 1}\n```', ("think", "fence")), ('```JSON\r\n{"a": 1}\r\n```', ("fence",)),
    ],
)  # fmt: skip
def test_one_fence_and_one_leading_thought_are_taken_off_and_told(text: str, stripped: tuple[str, ...]) -> None:
    """Nothing else is."""
    assert reply_json(text) == ({"a": 1}, stripped)


@pytest.mark.parametrize(
    "text",
    [
        'Sure! {"a": 1}', '{"a": 1}\nDone.', '```json\n{"a": 1}\n```\nDone.', 'Here:\n```json\n{"a": 1}\n```',
        '```python\n{"a": 1}\n```', '```json {"a": 1}```', '```\n```\n{"a": 1}\n```\n```', '<think>{"a": 1}',
        '{"a": 1}<think>x</think>', '<think>a</think><think>b</think>{"a": 1}', '<Think>a</Think>{"a": 1}',
        '<think>a</think>{"a": 1}</think>', '~~~\n{"a": 1}\n~~~', '`{"a": 1}`', '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```',
        '"{\\"a\\": 1}" x', "``````", "```\n", "```json\n```",
    ],
)  # fmt: skip
def test_other_wrappings_are_refused(text: str) -> None:
    """Prose, another language, an open thought, a second block."""
    with pytest.raises(ValueError):
        reply_json(text)


@pytest.mark.parametrize(
    "piece", ['\\"', '"', "[", "{", "`", "```\n", "<think>", " ", "\n", '"a', "\\", "\\u0041", "1", "-"]
)
def test_no_text_is_slow_to_refuse(piece: str) -> None:
    """64 KB of the same few characters, in a string or not: each is one pass. A pass per character would take minutes."""
    started = time.process_time()
    for prefix in ("", '"', "```json\n", "<think>"):
        with pytest.raises(ValueError):
            reply_json(prefix + piece * (65_536 // len(piece)))
    assert time.process_time() - started < 20
