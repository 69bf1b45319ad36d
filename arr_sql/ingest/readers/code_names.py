"""Names of definitions in a line of code, by pattern, for about fifty languages at once.

A wrong or missing name costs a little ranking, never text. Every pattern is anchored, its parts don't overlap and its
repetitions are bounded, so matching is linear in the line (which callers cut to two thousand characters).
"""

from __future__ import annotations

import re

MAX_LINE = 2000

_NAME = r"[^\W\d][\w$]{0,120}"
_QUALIFIED = rf"{_NAME}(?:(?:<[^<>]{{0,60}}>)?(?:\.|::|:){_NAME}){{0,8}}"
_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|abstract|final|sealed|async|unsafe|extern|const|inline"
    r"|virtual|override|open|data|partial|readonly|declare|local|suspend|case|constexpr|mutable"
    r"|pub(?:\([\w: ]{0,40}\))?|template\s*<[^<>]{0,200}>)\s+){0,6}"
)
_CONTAINER = re.compile(
    rf"\s*{_MODIFIERS}(?:class|struct|interface|enum(?:\s+class)?|trait|impl(?:\s*<[^<>]{{0,100}}>)?|namespace|module|union"
    rf"|object|protocol|record|contract|service|extension|defmodule)\s+(?:{_NAME}(?:<[^<>]{{0,100}}>)?\s+for\s+)?"
    rf"(?P<name>{_QUALIFIED})"
)
_KEYWORDS = (
    "function|func|fn|fun|def|defp|sub|proc|macro|cpdef|cdef|subroutine|type|typealias|newtype|data|message|mod|macro_rules!"
    r"|#\s*define"
)
_DEFINITIONS = (
    # function name(...), func (r *T) name(...), function [a, b] = name(...), function y = name(...)
    re.compile(
        rf"\s*\(?{_MODIFIERS}(?:{_KEYWORDS})\*?\s+(?:\([^()]{{0,80}}\)\s*)?(?:\[[^\]]{{0,80}}\]\s*=\s*|{_NAME}\s*=\s*(?={_NAME}\())?"
        rf"(?P<name>{_QUALIFIED})"
    ),
    # const name = (...) => , let name = function
    re.compile(
        rf"\s*{_MODIFIERS}(?:let|var|val|const\s)\s*(?P<name>{_NAME})\s*(?::[^=]{{0,120}})?=\s*(?:async\s+)?"
        rf"(?:function\b|\(|{_NAME}\s*=>)"
    ),
    re.compile(rf"\s*{_MODIFIERS}(?P<name>{_NAME})\s*=\s*(?:async\s+)?(?:function\b|\([^()]{{0,200}}\)\s*=>)"),
    re.compile(r"(?P<name>[\w.$]{1,120})\s*(?:<-|=)\s*function\b"),  # R
    re.compile(r"(?P<name>[\w.:-]{1,120})\s*\(\)\s*\{?\s*$"),  # shell
    re.compile(r"\((?:defn-?|defun|defmacro|define|def|deftype|defrecord)\s+\(?(?P<name>[^\s()]{1,120})"),  # Lisps
    re.compile(r"(?P<name>[a-z][\w']{0,120})\s+::\s"),  # Haskell
    re.compile(
        r"\s*create\s+(?:or\s+replace\s+)?(?:(?:temp|temporary|unique|virtual|materialized)\s+){0,2}"
        r"(?:table|view|index|trigger|function|procedure|type|schema)\s+(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]]{1,160})",
        re.IGNORECASE,
    ),
)
# Tokens are separated by white space and hold none, so there is one way to read a line.
_C_FUNCTION = re.compile(
    rf"\s*(?:[\w:<>,*&~\[\]$@]{{1,200}}\s+){{1,8}}[*&]*(?P<name>~?{_QUALIFIED})\s*\([^;{{}}]{{0,400}}(?:\{{.*)?$"
)
_C_DATA = re.compile(rf"(?:[\w:<>,*&~$]{{1,200}}\s+){{1,8}}[*&]*(?P<name>{_QUALIFIED})(?:\[[^\]]{{0,40}}\])?\s*=\s*\{{")
_METHOD = re.compile(
    rf"\s+{_MODIFIERS}(?:get\s+|set\s+|\*)?(?P<name>[#~]?{_NAME})\s*\([^;{{}}]{{0,300}}\)[^;{{}}=()]{{0,100}}\{{"
)
# Patterns that would be wrong elsewhere.
_BY_LANGUAGE = {
    "css": re.compile(r"(?P<name>[.#@:&*\[]?[\w:-][^{};]{0,120})\{"),
    "julia": re.compile(rf"(?P<name>{_QUALIFIED})\([^()]{{0,200}}\)\s*=[^=]"),
}
_NO_NAMES = (
    "if else elif for foreach while switch catch return do try with when match using lock sizeof new throw await yield"
    " case not and or in"
)
_NOT_NAMES = frozenset(_NO_NAMES.split())


def name_in(line: str, language: str = "") -> tuple[str, bool] | None:
    """The name that ``line`` defines and whether it is a class-like container; None for an ordinary line."""
    line = line[:MAX_LINE]
    if language in _BY_LANGUAGE:
        match = _BY_LANGUAGE[language].match(line)
        if match:
            return " ".join(match["name"].split()), False
        if language == "css":
            return None
    match = _CONTAINER.match(line)
    if match:
        return match["name"], True
    for pattern in _DEFINITIONS:
        match = pattern.match(line)
        if match and match["name"].lower() not in _NOT_NAMES:
            return match["name"].strip('"`[]'), False
    match = _C_FUNCTION.match(line) or _C_DATA.match(line)
    if match and match["name"] not in _NOT_NAMES and line.split(None, 1)[0] not in _NOT_NAMES:
        return match["name"], False
    return None


def member_in(line: str) -> str:
    """The name of the member that an indented ``line`` of a class-like block defines, or an empty string."""
    line = line[:MAX_LINE]
    match = _METHOD.match(line)
    if match:
        name = match["name"]
    else:
        found = name_in(line)
        name = found[0] if found else ""
    return "" if name.lower() in _NOT_NAMES else name
