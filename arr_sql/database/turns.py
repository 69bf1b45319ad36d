"""One call at a time: an open database serves one thread, and a second one waits for its turn.

Its connections hold one transaction and one snapshot each, so two calls at once would see each other's. Programs that want
calls side by side open the file once for each thread, as :mod:`arr_sql.aio` does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from arr_sql.errors import StateError

T = TypeVar("T")
CLOSED = "This database is closed. Open it anew, for example with `arr_sql.connect(FOLDER)`."
ENDING = frozenset({"close"})
"""Methods that may be called of a closed database."""


def one_at_a_time(kind: type[T]) -> type[T]:
    """Let each public method of ``kind`` wait for its turn (``_turn``, a lock) and refuse once ``_is_closed``."""
    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(kind, name, _in_turn(method, may_be_closed=name in ENDING))
    return kind


def _in_turn(method: Callable[..., Any], *, may_be_closed: bool) -> Callable[..., Any]:
    @functools.wraps(method)
    def waiting(self: Any, *arguments: Any, **more: Any) -> Any:
        with self._turn:
            if self._is_closed and not may_be_closed:
                raise StateError(CLOSED)
            return method(self, *arguments, **more)

    return waiting
