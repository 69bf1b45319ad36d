"""Errors of SQL functions written in Python reach the person who wrote the SQL.

A function that SQLite calls and that raises ends its statement; the message is lost: pysqlite3, sqlean and the standard
library alike say "user-defined function raised exception" and nothing else. None of them has a way to hand the message
on. So the driver's ``OperationalError`` gets an ``__init__`` that puts the message of the function of ours that has just
failed in this thread in the place of that one sentence. Every other message, and every other package's function, stays
as it is (tests/core/test_function_errors.py).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from arr_sql.errors import ArrError

LOST = "user-defined function raised exception"
_failed = threading.local()


def add_function(
    connection: Any, name: str, parameters: int, function: Callable[..., Any], *, deterministic: bool = False
) -> None:
    """Make ``function`` callable from SQL on ``connection`` (of any driver). What it raises names it."""
    _keep_messages(connection.OperationalError)

    def called(*arguments: Any) -> Any:
        _failed.message = None
        try:
            return function(*arguments)
        except ArrError as error:
            _failed.message = f"{name}(): {error}"
            # Hosts that print the traceback of a failed function need not print the store's insides for a wrong argument.
            raise error.with_traceback(None) from None
        except Exception as error:
            _failed.message = f"{name}(): internal fault ({type(error).__name__}: {error})."
            raise

    connection.create_function(name, parameters, called, deterministic=deterministic)


def _keep_messages(error_class: Any) -> None:
    """Give a driver's error class the ``__init__`` described above, once."""
    if getattr(error_class.__init__, "keeps_messages", False):
        return
    original = error_class.__init__

    @functools.wraps(original)
    def init(self: Any, *arguments: Any) -> None:
        message = getattr(_failed, "message", None)
        if arguments == (LOST,) and message is not None:
            _failed.message, arguments = None, (message,)
        original(self, *arguments)

    init.keeps_messages = True  # type: ignore[attr-defined]
    error_class.__init__ = init
