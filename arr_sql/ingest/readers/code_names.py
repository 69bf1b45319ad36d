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
    r"(?:(?:export|default|public|private|protected|internal|static|abstract|final|sealed|async|unsafe|extern(?:\s+\"[^\"]{0,20}\")?|const|inline|typedef"
    r"|virtual|override|open|data|partial|readonly|declare|local|suspend|case|constexpr|mutable"
    r"|pub(?:\([\w: ]{0,40}\))?|template\s*<[^<>]{0,200}>)\s+){0,6}"
)
_CONTAINER = re.compile(
    rf"\s*{_MODIFIERS}(?:class|struct|@?interface|classdef(?:\s*\([^()]{{0,60}}\))?|enum(?:\s+class)?|trait|impl(?:\s*<[^<>]{{0,100}}>)?|namespace|module|union"
    rf"|object|protocol|record|contract|service|extension|defmodule)\s+[\"']?(?:{_NAME}(?:<[^<>]{{0,100}}>)?\s+for\s+)?"
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
        rf"(?:function\b|(?:<[^<>]{{0,80}}>)?\(|{_NAME}\s*=>)"
    ),
    re.compile(
        rf"\s*{_MODIFIERS}(?P<name>[#]?{_QUALIFIED})\s*=\s*(?:async\s+)?(?:function\b|(?:<[^<>]{{0,80}}>)?\([^()]{{0,200}}\)\s*=>)"
    ),
    re.compile(r"\s*(?P<name>[\w.$]{1,120}|`[^`]{1,60}`)\s*(?:<-|=)\s*(?:function\b|\\\()"),  # R
    re.compile(r"set(?:Class|RefClass|Generic|Method|Validity)\(\s*[\"'](?P<name>[^\"']{1,80})"),  # R's S4
    # C++: constructors, destructors and operators outside their class
    re.compile(rf"(?P<name>{_NAME}(?:<[^<>]{{0,60}}>)?(?:::{_NAME}){{0,6}}::(?:~?{_NAME}|operator[^\s(]{{1,3}}))\s*\("),
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
    rf"\s*(?:[\w:<>,*&~\[\]$@]{{1,200}}\s+){{1,8}}[*&]*(?P<name>~?{_QUALIFIED}(?:(?<=operator)[^\s\w(]{{1,3}}|(?<=operator)\(\))?)\s*\([^;{{}}]{{0,400}}(?:\{{.*)?$"
)
_C_DATA = re.compile(rf"(?:[\w:<>,*&~$]{{1,200}}\s+){{1,8}}[*&]*(?P<name>{_QUALIFIED})(?:\[[^\]]{{0,40}}\])?\s*=\s*\{{")
_METHOD = re.compile(
    rf"\s+{_MODIFIERS}(?:get\s+|set\s+|\*)?(?P<name>[#~]?{_NAME})(?:<[^<>]{{0,100}}>)?\s*"
    r"\((?:[^;{}]|\{[^;{}]{0,100}\}){0,300}\)(?:[^;{}=()]|\{[^;{}]{0,60}\}(?=\s*[{>])){0,100}\{"
)
# Patterns that would be wrong elsewhere.
_BY_LANGUAGE = {
    "css": re.compile(r"(?P<name>[.#@:&*\[]?[\w:-][^{};]{0,120})\{"),
    "julia": re.compile(
        r"(?:@[\w.]{1,40}\s+){0,3}(?:(?:function|macro)\s+(?P<long>[\w.!]{1,120})"
        r"|(?P<name>[^\W\d][\w.!]{0,120})\((?:[^()]|\([^()]{0,80}\)){0,300}\)"
        r"(?:\s*::\s*[\w.{}, ]{1,80})?(?:\s*where\s*(?:\{[^{}]{0,80}\}|\w{1,40}))?\s*=(?!=))"
    ),
    "go": re.compile(
        r"func\s+\(\s*(?:\w{1,60}\s+)?\*?(?P<receiver>\w{1,80})(?:\[[^\]]{0,80}\])?\s*\)\s*(?P<name>\w{1,120})"
    ),
    "latex": re.compile(
        r"\s*\\(?:(?:re|provide)?newcommand|DeclareRobustCommand|(?:re)?newenvironment|[gex]?def|DeclareMathOperator|newcounter|newlength"
        r"|NewDocumentCommand|let)\*?\s?\{?(?P<name>\\?[A-Za-z@]{1,80})"
    ),
    "r": re.compile(r"\s*(?P<container>[\w.]{1,120})\s*(?:<-|=)\s*(?:R6::)?(?:R6Class|setRefClass|ggproto)\("),
}
_NO_NAMES = (
    "if else elif for foreach while switch catch return do try with when match using lock sizeof new throw await yield"
    " case not and or in"
)
_NOT_NAMES = frozenset(_NO_NAMES.split())
_KEYWORD_FIRST = _DEFINITIONS[0]
_NOT_METHODS = _NOT_NAMES | frozenset(["pub", "fn", "function", "func", "fun", "def", "static", "public", "private"])
_DEFINES = re.compile(r"\b(?:function|func|fun|fn|def)\s")  # after one of these any word is a name (Rust's fn new)


def name_in(line: str, language: str = "") -> tuple[str, bool] | None:
    """The name that ``line`` defines and whether it is a class-like container; None for an ordinary line."""
    line = line[:MAX_LINE]
    if language in _BY_LANGUAGE:
        match = _BY_LANGUAGE[language].match(line)
        if match:
            found = match.groupdict()
            if found.get("container"):
                return match["container"], True
            name = found.get("long") or match["name"]
            name = f"{match['receiver']}.{name}" if found.get("receiver") else " ".join(name.split())
            return name, False
        if language == "css":
            return None
    match = _CONTAINER.match(line)
    if match:
        return match["name"], True
    for pattern in _DEFINITIONS:
        match = pattern.match(line)
        if match is None:
            continue
        if match["name"].lower() not in _NOT_NAMES or (
            pattern is _KEYWORD_FIRST and _DEFINES.search(line, 0, match.start("name"))
        ):
            return match["name"].strip('"`[]'), False
    match = _C_FUNCTION.match(line) or _C_DATA.match(line)
    if match and match["name"] not in _NOT_NAMES and line.split(None, 1)[0] not in _NOT_NAMES:
        return match["name"], False
    return None


def member_in(line: str, language: str = "") -> str:
    """The name of the member that an indented ``line`` of a class-like block defines, or an empty string."""
    line = line[:MAX_LINE]
    match = _METHOD.match(line)
    if match and match["name"].lower() not in _NOT_METHODS:
        return match["name"]
    found = name_in(line, "" if language in {"go", "latex"} else language)
    return found[0] if found else ""
