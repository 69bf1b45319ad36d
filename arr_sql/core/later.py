"""Regular expressions that are compiled when they are first used: most commands need few of them.

Compiling all of them took a tenth of a search's start. ``tests/core/test_later.py``
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Later:
    """Stands for a compiled pattern; each of its attributes is looked up once and kept."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._source, self._flags), name)
        self.__dict__[name] = value
        return value


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """As ``re.compile`` gives it, but compiled on first use: a fault in ``source`` shows only then."""
    return cast("re.Pattern[str]", _Later(source, flags))
