"""JSON from a caller, looked at piece by piece: is it plain JSON, and does it hold a credential anywhere?

``core/redaction.py`` looks at lines of text and leaves doubtful ones alone, because what it withholds can't be found.
Here the question is whether a text goes on record for good, so doubt refuses: a name that says secret with any text as
its value, ``name=value`` with any value, every PEM header. Held by ``tests/core/test_secret_walk.py``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from arr_sql.core.canonical import canonical_json, is_short, short_int
from arr_sql.core.credential_shapes import is_code, name_strength
from arr_sql.core.redaction import has_secret, redact
from arr_sql.errors import InputError

MAX_DEPTH = 64
MAX_CHARACTERS = 1_000_000

_MORE_NAMES = re.compile(
    r"(?i)(?:^|[^a-z])(?:set-?)?(?:cookies?|jwt|bearer|otp|ssh[_.-]?key|session[_.-]?key|pin[_.-]?code)$"
)
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{1,64}-----")
_PAIRS = (
    re.compile(r"(?<![\w.$-])([\w.$-]{1,200})[\"']?\s{0,4}(?:=|:=|=>)\s{0,4}[\"'`]?([^\s\"'`,;&)}\]]{1,400})"),
    re.compile(r"(?<![\w.$-])([\w.$-]{1,200})\\?[\"']\s{0,4}:\s{0,4}\\?[\"']([^\"'\\]{1,400})"),  # JSON inside a text
)
_NO_VALUE = re.compile(
    r"(?i)none|null|nil|true|false|yes|no|on|off|unset|empty|\[?redacted\]?|\[withheld.*|\*+|\$.*|<.*"
)
_COUNT = re.compile(r"[0-9._]+[kmb]?", re.IGNORECASE)


def require_plain_json(value: Any, what: str) -> str:
    """``value`` as canonical JSON text.

    Raises InputError, naming the place, for what JSON can't hold or would change (NaN, keys that are no text, half
    characters, NUL), for more than 64 levels and for more than 1,000,000 characters.
    """
    for place, item in _walk(value, what):
        if isinstance(item, Mapping):
            for key in item:
                if not isinstance(key, str):
                    raise InputError(f"{_shown(place)} has a key that is no text. Write keys as strings.")
                _require_text(key, f"a key of {place}")
        elif isinstance(item, str):
            _require_text(item, place)
        elif isinstance(item, float) and not math.isfinite(item):
            raise InputError(
                f"{_shown(place)} is NaN or infinite, which JSON can't hold. Leave it out or write a number."
            )
        elif isinstance(item, int) and not is_short(item):
            raise InputError(f"{what} holds a number that is too long. Write it as text.")
        elif not (item is None or isinstance(item, (bool, int, float, list, tuple))):
            raise InputError(
                f"{_shown(place)} is a {type(item).__name__}, which JSON can't hold. Write text, a number, a list or an object."
            )
    text = canonical_json(value)
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"{what} has {len(text):,} characters as JSON; at most {MAX_CHARACTERS:,} are allowed. Refer to files instead."
        )
    return text


def parse_json(text: str, what: str) -> Any:
    """The value of a JSON text. Raises InputError for what is no JSON, for a key that comes twice, and for NaN."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) != len(found):
            raise InputError(f"{what} has a key twice in one object. Keep one of them.")
        return made

    def constant(name: str) -> Any:
        raise InputError(f"{what} holds {name}, which is no JSON. Leave it out or write a number.")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_int=short_int)
    except json.JSONDecodeError as error:
        raise InputError(f"{what} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise InputError(f"{what} is nested too deep; at most {MAX_DEPTH} levels are allowed.") from None
    except InputError:
        raise
    except ValueError:  # an integer of thousands of digits
        raise InputError(f"{what} holds a number that is too long. Write it as text.") from None


def find_secret(value: Any, what: str) -> str | None:
    """The place (``payload.steps[2].api_key``) of the first credential in a plain JSON value; None when there is none.

    The place never shows a credential: a key that is one itself is left out.
    """
    for place, item in _walk(value, what):
        if isinstance(item, str) and _is_secret_text(item):
            return _shown(place)
        if isinstance(item, Mapping):
            for key, held in item.items():
                if _is_secret_text(key):
                    return f"a key of {_shown(place)}"
                if _is_secret_name(key) and _says_something(held, key):
                    return _shown(f"{place}.{key}")
        if isinstance(item, (list, tuple)) and _is_secret_list(item):
            return _shown(place)
    return None


def _walk(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Every value inside ``value`` with its place, outermost first; a stack, so that depth can't overflow."""
    pending: list[tuple[str, Any, int]] = [(place, value, 1)]
    while pending:
        place, item, depth = pending.pop()
        yield place, item
        if depth > MAX_DEPTH:
            raise InputError(f"It is nested too deep at {_shown(place)}; at most {MAX_DEPTH} levels are allowed.")
        inside: Sequence[tuple[str, Any]] = ()
        if isinstance(item, Mapping):
            inside = [(f"{place}.{key}", held) for key, held in item.items()]
        elif isinstance(item, (list, tuple)):
            inside = [(f"{place}[{number}]", held) for number, held in enumerate(item)]
        pending.extend((name, held, depth + 1) for name, held in reversed(inside))


def _shown(place: str) -> str:
    """A place as a message may show it: short, and no key that is a credential itself."""
    place = redact(place).encode("utf-8", "replace").decode()
    return place if len(place) <= 120 else f"{place[:80]}...{place[-30:]}"


def _require_text(text: str, place: str) -> None:
    if "\0" in text:
        raise InputError(f"{_shown(place)} holds a NUL character. Remove it.")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{_shown(place)} holds half a character (an unpaired surrogate). Remove it.")


def _is_secret_name(name: str) -> bool:
    return name_strength(name) is not None or _MORE_NAMES.search(name) is not None


def _is_secret_text(text: str) -> bool:
    if has_secret(text) or _PEM.search(text):
        return True
    return any(_is_secret_pair(match[1], match[2]) for pattern in _PAIRS for match in pattern.finditer(text))


def _is_secret_pair(name: str, value: str) -> bool:
    if not _is_secret_name(name) or _NO_VALUE.fullmatch(value) or is_code(value):
        return False
    return not (_counts(name) and _COUNT.fullmatch(value))


def _counts(name: str) -> bool:
    """``max_tokens`` is about a number of tokens, not about a token."""
    return name.lower().endswith("tokens")


def _says_something(value: Any, name: str) -> bool:
    """Whether there is a text (or, unless the name counts something, a number) inside ``value``."""
    for _, item in _walk(value, ""):
        if isinstance(item, str) and item.strip() and not _NO_VALUE.fullmatch(item.strip()):
            return True
        if isinstance(item, (int, float)) and not isinstance(item, bool) and not _counts(name):
            return True
    return False


def _is_secret_list(items: Sequence[Any]) -> bool:
    """Arguments in a row: ``["--password", "..."]``, or a name and its value as two items."""
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < 2:
        return False
    if len(texts) == 2 == len(items) and _is_secret_name(texts[0]) and not _counts(texts[0]):
        return _says_something(texts[1], texts[0])
    return any(
        name.startswith("-") and "=" not in name and _is_secret_name(name.lstrip("-")) and not value.startswith("-")
        and _is_secret_pair(name.lstrip("-"), value)
        for name, value in pairwise(texts)
    )  # fmt: skip
