"""Reading JSON and lines so that every complaint can name its line. Raises GoldInvalid and nothing else."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from arr_sql.core.research_models import Value
from arr_sql.errors import GoldInvalid

V = TypeVar("V", bound=Value)
_SPACE = re.compile(r"[ \t\r\n]*")


def read_text(path: Path) -> str:
    """The whole file as UTF-8, unpacked when its name ends in ``.xz``."""
    try:
        data = path.read_bytes()
        return (lzma.decompress(data) if path.suffix == ".xz" else data).decode("utf-8-sig")
    except FileNotFoundError:
        raise GoldInvalid("The file is missing.", str(path), 0) from None
    except UnicodeDecodeError as error:
        raise GoldInvalid("It is not UTF-8.", str(path), data[: error.start].count(b"\n") + 1) from None
    except (OSError, lzma.LZMAError) as error:
        raise GoldInvalid(f"It cannot be read: {error}.", str(path), 0) from None


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


def records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file, with their lines."""
    for number, line in lines_of(path):
        yield number, as_object(parse_json(line, path, number), path, number)


def parse_json(text: str, path: Path, line: int) -> Any:
    """Strict JSON: no key twice, no NaN."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        inner = error.lineno - 1 if isinstance(error, json.JSONDecodeError) else 0
        words = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise GoldInvalid(f"It is not JSON: {words}.", str(path), line + inner) from None


def as_object(value: Any, path: Path, line: int) -> dict[str, Any]:
    """``value`` if it is a JSON object."""
    if not isinstance(value, dict):
        raise GoldInvalid("An object in braces is wanted here.", str(path), line)
    return value


def as_model(model: type[V], value: dict[str, Any], path: Path, line: int) -> V:
    """``value`` as a model; the first thing wrong with it is named."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the record"
        raise GoldInvalid(f"{where}: {first['msg']}.", str(path), line) from None


def line_of(text: str, wanted: str) -> int:
    """The line of the first occurrence of ``wanted``; 1 where there is none."""
    at = text.find(wanted)
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


def parse_document(text: str, path: Path) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """A JSON object, and for each of its arrays the lines on which the elements begin."""
    value = as_object(parse_json(text, path, 1), path, 1)
    lines: dict[str, list[int]] = {}
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":  # the text is JSON, so each step finds what it looks for
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, text.index(":", at) + 1)
        if text[at] == "[":
            lines[key], at = _element_lines(text, at)
        else:
            _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return value, lines


def _element_lines(text: str, at: int) -> tuple[list[int], int]:
    """The lines of an array's elements, and where the array ends."""
    lines: list[int] = []
    line, counted = text.count("\n", 0, at) + 1, at
    at = _skip(text, at + 1)
    while text[at] != "]":
        line, counted = line + text.count("\n", counted, at), at
        lines.append(line)
        _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return lines, at + 1


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key '{next(name for name in names if names.count(name) > 1)}' stands twice")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)
