"""Which strings does every line hold that a pattern matches? For the line index; pure.

Promise: nothing is named that a matching line may lack, upper and lower case not counting. What is not understood for
certain gives no string, and then every file is read. Only what stands at the top of the pattern counts: groups and classes
are passed over, and with an alternative (``a|b``) at the top nothing is certain.

``tests/retrieval/test_pattern_literals.py`` holds it against RE2 itself.
"""

from __future__ import annotations

import re
import string

_REPEAT = re.compile(r"\{\d+(?:,\d*)?\}")
_UNICODE_CLASS = re.compile(r"[pP](?:[A-Za-z]|\{\^?\w+\})")


class _Unclear(Exception):
    """The pattern holds something that is not understood here."""


def required_literals(pattern: str) -> tuple[str, ...]:
    """The strings, in the pattern's order; none where nothing is certain."""
    try:
        return tuple(run for run in _runs(pattern) if run)
    except (_Unclear, IndexError):
        return ()


def _runs(pattern: str) -> list[str]:
    runs, run, place = [], "", 0
    while place < len(pattern):
        letter = pattern[place]
        if letter in "*?" or (letter == "{" and _REPEAT.match(pattern, place)):
            runs.append(run[:-1])  # the last letter may be missing
            run = ""
            found = _REPEAT.match(pattern, place)
            place = found.end() if found else place + 1
        elif letter in "+.^$":
            runs.append(run)
            run, place = "", place + 1
        elif letter == "\\" and pattern[place + 1] in string.punctuation:
            run, place = run + pattern[place + 1], place + 2
        elif letter in "\\[(":
            runs.append(run)
            run, place = "", _after(pattern, place)
        elif letter in "|)\n":
            raise _Unclear
        else:
            run, place = run + letter, place + 1
    return [*runs, run]


def _after(pattern: str, place: int) -> int:
    """Where the escape, class or group ends that begins at ``place``."""
    if pattern[place] == "\\":
        following = pattern[place + 1]
        if found := _UNICODE_CLASS.match(pattern, place + 1):
            return found.end()
        if following in "dDsSwWbBAz" or following in string.punctuation:
            return place + 2
        raise _Unclear
    if pattern[place] == "[":
        place += 2 if pattern[place + 1] == "^" else 1
        first = place
        while pattern[place] != "]" or place == first:
            if pattern[place] == "[":
                raise _Unclear
            place += 2 if pattern[place] == "\\" else 1
        return place + 1
    place += 1
    while pattern[place] != ")":
        place = _after(pattern, place) if pattern[place] in "\\[(" else place + 1
    return place + 1
