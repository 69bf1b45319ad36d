"""Every exception that arr_sql raises, in one tree.

::

    ArrError
    ├── InputError (ValueError)      the caller's mistake: nothing was read or written
    │   ├── ScopeInvalid             a scope value is blank, too long or has control characters
    │   ├── QueryEmpty               nothing to search for
    │   ├── PlanInvalid              a caller's plan breaks a rule of the plan format
    │   ├── PathRefused              outside the trusted roots, a special file, a sensitive name
    │   ├── PatternInvalid           not a regular expression (carries the position)
    │   ├── MemoryInvalid            a memory's field is wrong (carries the field)
    │   ├── ImportInvalid            a file of memories is broken (carries path, line and message of each problem)
    │   └── GoldInvalid              an evaluation set is broken (carries path and line)
    ├── StoreError                   the database file
    │   ├── StoreMissing             there is no project or no file yet
    │   ├── NotAnArrDatabase         not SQLite, or another application's file
    │   ├── SchemaOutOfDate          older than this program: migrate it
    │   ├── SchemaTooNew             newer than this program: upgrade the program
    │   ├── MigrationChanged         a migration that was applied has been edited since
    │   ├── StoreBusy                another process held the lock longer than the timeout
    │   ├── StoreFull                the disk is full; the last step was rolled back
    │   ├── StoreReadOnly            a write was asked of a file or medium that allows none
    │   ├── StoreDamaged             SQLite itself reports corruption
    │   └── AuditChainBroken         the audit log does not verify
    ├── StateError                   a step that is not allowed now
    │   └── MemoryChanged            somebody else changed the memory since it was read (carries the current version)
    ├── ReplicaError                 Litestream, which copies the file to other machines, is missing or failed
    ├── ModelError                   an embedding model is missing, damaged or not the one stored
    ├── ChannelError                 one channel failed; the router turns it into a trace
    └── LLMError                     a language model failed; never reaches a caller of search()

A message says what, where and the next step. Refusals are not in this tree: they are values
(see ``core/router_models.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ArrError(Exception):
    """Root of all errors raised on purpose by arr_sql. ``exit_code`` is what the command line returns."""

    exit_code = 1


class InputError(ArrError, ValueError):
    """The caller's mistake. Nothing was read or written."""


class ScopeInvalid(InputError):
    """One of the five scope values breaks the rules of a scope."""


class QueryEmpty(InputError):
    """The query holds nothing to search for."""


class PlanInvalid(InputError):
    """A plan given by the caller breaks a rule of the plan format; ``code`` is the closed reason code."""

    def __init__(self, message: str, code: str = "plan_invalid") -> None:
        super().__init__(message)
        self.code = code


class PathRefused(InputError):
    """A path is outside the trusted roots, is a special file, or has a sensitive name."""


class PatternInvalid(InputError):
    """A regular expression that the engine does not know. ``position`` counts from 0, None where it is the whole."""

    exit_code = 2

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class MemoryInvalid(InputError):
    """A memory's ``field`` breaks a rule."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class ImportInvalid(InputError):
    """A file of memories is broken; ``problems`` holds (path, line, message) of each. Nothing was imported."""

    def __init__(self, problems: tuple[tuple[str, int, str], ...]) -> None:
        shown = [f"{path}:{line}: {message}" for path, line, message in problems[:20]]
        more = [f"and {len(problems) - 20} more"] if len(problems) > 20 else []
        super().__init__("\n  ".join(["Nothing was imported. Mend these and import again:", *shown, *more]))
        self.problems = problems


class GoldInvalid(InputError):
    """An evaluation set is broken at ``path``:``line``."""

    def __init__(self, message: str, path: str, line: int) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line


class StoreError(ArrError):
    """Something about the database file."""


class StoreMissing(StoreError):
    """There is no project or no database file yet."""


class NotAnArrDatabase(StoreError):
    """The file is not SQLite, or belongs to another application."""


class SchemaOutOfDate(StoreError):
    """The file is older than this program."""


class SchemaTooNew(StoreError):
    """The file is newer than this program."""


class MigrationChanged(StoreError):
    """A migration that was applied to this file has been edited since."""


class StoreBusy(StoreError):
    """Another process held the write lock longer than the timeout."""

    exit_code = 4


class StoreFull(StoreError):
    """The disk is full; the running step was rolled back and nothing before it is lost."""


class StoreReadOnly(StoreError):
    """A write was asked of a file or medium that allows none."""


class StoreDamaged(StoreError):
    """SQLite reports that the file is corrupt."""


class AuditChainBroken(StoreError):
    """The audit log does not verify."""


class StateError(ArrError):
    """A step that is not allowed in the present state."""


class MemoryChanged(StateError):
    """The memory is not at the revision that the caller has read: a lost update was refused.

    ``revision`` is where it stands now, ``current`` the ResearchMemory as it is now.
    """

    def __init__(self, message: str, current: Any) -> None:
        super().__init__(message)
        self.current = current
        self.revision: int = current.revision


class ReplicaError(ArrError):
    """Litestream, which copies the file to other machines, is missing or failed. The file itself is untouched."""


class ModelError(ArrError):
    """An embedding model is missing, damaged or differs from the one stored with the vectors."""


class ChannelError(ArrError):
    """One channel failed. ``code`` is a reason code of ``core/router_models.py``."""

    def __init__(self, message: str, code: str = "channel_error") -> None:
        super().__init__(message)
        self.code = code


class LLMError(ArrError):
    """A language model failed. Never reaches a caller of ``search()``.

    ``code`` is a reason code of ``core/router_models.py``; ``detail`` holds numbers only. Neither it nor the message has
    anything of the request or the answer in it.
    """

    def __init__(self, message: str, code: str = "llm_unreachable", detail: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.detail: dict[str, int] = dict(detail or {})
