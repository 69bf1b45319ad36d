"""Retrieval as SQL functions: ``arr_search`` and its kin on a connection of any driver (docs/sql.md).

This module knows names, arguments and what needs no store; what asks the store is handed in, so that a host with many
connections (sqlite-utils, Datasette) imports nothing heavy until a function is called. Functions marked deterministic
depend on their arguments alone. Held by tests/retrieval/test_sql_functions.py.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from arr_sql.core.function_errors import add_function
from arr_sql.errors import InputError, ScopeInvalid

if TYPE_CHECKING:
    from arr_sql.core.research_models import ScopeKey

DEFAULT_K = 10
MAX_K = 1000
SCOPE_VALUES = ("team_id", "project_id", "repository", "branch", "experiment_environment")


class Store(Protocol):
    """What the functions ask: one file. Each call gives plain values and writes nothing."""

    def search(self, query: str, scope: ScopeKey, k: int) -> dict[str, Any]:
        """A whole answer."""
        ...

    def channel(self, channel: str, query: str, scope: ScopeKey, k: int) -> dict[str, Any]:
        """One channel's own list."""
        ...

    def explain(self, retrieval_id: str, scope: ScopeKey | None) -> dict[str, Any]:
        """A past retrieval; of the one scope that has it where ``scope`` is None."""
        ...

    def verify_audit(self) -> dict[str, Any]:
        """The state of the audit log."""
        ...


class SqlFunction(NamedTuple):
    """One function: its arguments (those after ``optional_from`` may be left out) and what it gives."""

    name: str
    arguments: tuple[str, ...]
    gives: str
    optional_from: int | None = None
    is_deterministic: bool = False

    @property
    def signature(self) -> str:
        """As it is written in SQL, with what may be left out in brackets."""
        needed = self.arguments[: self.optional_from]
        return f"{self.name}({', '.join(needed)}{''.join(f'[, {name}]' for name in self.arguments[len(needed) :])})"


FUNCTIONS = (
    SqlFunction("arr_terms", ("text",), "JSON array of the terms under which the text is indexed, in order, with repeats",
                is_deterministic=True),
    SqlFunction("arr_scope", SCOPE_VALUES, "the five values, checked and trimmed, as one JSON object: the `scope` of the others",
                is_deterministic=True),
    SqlFunction("arr_search", ("query", "scope", "k"), "JSON object: a whole answer, with `evidence`, `state`, `traces`, "
                "`degradations`; never recorded", 2),
    SqlFunction("arr_bm25", ("query", "scope", "k"), "JSON object: what the bm25 channel alone finds, in `hits`", 2),
    SqlFunction("arr_vector", ("query", "scope", "k"), "JSON object: what the vector channel alone finds, in `hits`", 2),
    SqlFunction("arr_rrf", ("rank", "k"), "1 / (k + rank), k 60 when left out; NULL for a NULL rank", 1, True),
    SqlFunction("arr_snippet", ("text", "query"), "the three lines in a row that answer the query best",
                is_deterministic=True),
    SqlFunction("arr_explain", ("retrieval_id", "scope"), "JSON object: a past retrieval's record, with `sentences`", 1),
    SqlFunction("arr_verify_audit", (), "JSON object: `verified` (1 or 0), `events`, `rows`, `head`, `damages`"),
)  # fmt: skip


def register(connection: Any, store: Callable[[], Store]) -> None:
    """Make the functions callable from SQL on ``connection``; ``store`` is asked when one first needs it."""

    def search(query: Any, scope: Any, k: Any = DEFAULT_K) -> str:
        asked = _question(query, scope, k)
        return _dumped(store().search(*asked))

    def channel(name: str, query: Any, scope: Any, k: Any = DEFAULT_K) -> str:
        asked = _question(query, scope, k)
        return _dumped(store().channel(name, *asked))

    def explain(retrieval_id: Any, scope: Any = None) -> str:
        asked = (_text("retrieval_id", retrieval_id), None if scope is None else _scope_key(scope))
        return _dumped(store().explain(*asked))

    bodies: dict[str, Callable[..., Any]] = {
        "arr_terms": _terms, "arr_scope": _scope, "arr_rrf": _rrf, "arr_snippet": _snippet, "arr_search": search,
        "arr_bm25": functools.partial(channel, "bm25"), "arr_vector": functools.partial(channel, "vector"),
        "arr_explain": explain, "arr_verify_audit": lambda: _dumped(store().verify_audit()),
    }  # fmt: skip
    for function in FUNCTIONS:
        fewest = len(function.arguments) if function.optional_from is None else function.optional_from
        for count in range(fewest, len(function.arguments) + 1):
            add_function(
                connection, function.name, count, bodies[function.name], deterministic=function.is_deterministic
            )


# --- Functions of their arguments alone -------------------------------------------------------------------------------


def _terms(text: Any) -> str | None:
    if text is None:
        return None
    from arr_sql.core.analysis import analyse

    return json.dumps(analyse(_text("text", text)).terms, ensure_ascii=False)


def _scope(*values: Any) -> str:
    from arr_sql.core.research_models import ScopeKey

    named = {name: _text(name, value) for name, value in zip(SCOPE_VALUES, values, strict=True)}
    return _dumped(ScopeKey(**named).bindings())


def _rrf(rank: Any, k: Any = 60) -> float | None:
    if rank is None:
        return None
    return 1 / (_whole("k", k, 0, 1_000_000_000) + _whole("rank", rank, 1, 1_000_000_000))


def _snippet(text: Any, query: Any) -> str | None:
    if text is None:
        return None
    from arr_sql.retrieval.snippet import best_lines

    return "\n".join(best_lines(_text("text", text), _text("query", query))[1])


# --- Arguments and results --------------------------------------------------------------------------------------------


def _question(query: Any, scope: Any, k: Any) -> tuple[str, ScopeKey, int]:
    return _text("query", query), _scope_key(scope), _whole("k", k, 1, MAX_K)


def _text(argument: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"argument {argument} is {_shown(value)}; it must be text.")
    return value


def _whole(argument: str, value: Any, lowest: int, highest: int) -> int:
    if not isinstance(value, int) or not lowest <= value <= highest:
        raise InputError(
            f"argument {argument} is {_shown(value)}; it must be a whole number from {lowest:,} to {highest:,}."
        )
    return value


def _scope_key(value: Any) -> ScopeKey:
    """The scope from what ``arr_scope`` gives."""
    from arr_sql.core.research_models import ScopeKey

    how = "make it with arr_scope(team_id, project_id, repository, branch, experiment_environment)."
    if not isinstance(value, str):
        raise InputError(f"argument scope is {_shown(value)}; {how}")
    try:
        values = json.loads(value)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or set(values) != set(SCOPE_VALUES):
        raise InputError(f"argument scope is not a JSON object with the five values of a scope; {how}")
    try:
        return ScopeKey(**values)
    except ScopeInvalid as error:
        raise InputError(f"argument scope: {error}") from None


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"a BLOB of {len(value)} bytes"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]}..."


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
