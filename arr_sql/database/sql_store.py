"""What the SQL functions ask: one file, over read connections of its own (the functions: retrieval/sql_functions.py).

Each call opens the file with connections that can only SELECT and closes them again: the connection that is running the
statement is never entered a second time, and nothing is written, not even the retrieval record. What a function sees is
what is committed. Held by tests/database/test_sql_store.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arr_sql.core.connection import open_reader, store_errors
from arr_sql.core.migrations import require_current
from arr_sql.core.project import find_project
from arr_sql.core.research_models import SCOPE_COLUMNS, ScopeKey
from arr_sql.core.router_models import REASON_TEXT, ReasonCode
from arr_sql.core.statements import load
from arr_sql.errors import ChannelError, InputError, ScopeInvalid, StateError, StoreMissing
from arr_sql.retrieval.sql_functions import MAX_K, register

if TYPE_CHECKING:
    from arr_sql.database import ResearchDatabase

CAN_ANSWER = frozenset({"ok", "empty", "cut", "not_indexed"})
"""States of a channel whose hits may be used; a ``not_indexed`` one only when it has any."""


def add_functions(
    connection: Any, path: str | Path | None = None, *, scopes: Collection[ScopeKey] | None = None
) -> None:
    """Make the retrieval functions callable from SQL on ``connection``, an SQLite connection of any driver.

    ``path`` is the file that they ask; left out, it is the connection's own main file. With ``scopes``, no other scope
    is answered for. Opens nothing by itself. docs/sql.md lists the functions.
    """
    store = SqlStore(Path(path) if path is not None else main_file(connection), scopes)
    register(connection, lambda: store)


def main_file(connection: Any) -> Path | None:
    """The file that a connection has open as ``main``, None when it is in memory."""
    return next(
        (Path(row[2]) for row in connection.execute("PRAGMA database_list") if row[1] == "main" and row[2]), None
    )


@dataclass(frozen=True)
class SqlStore:
    """One file, None for a connection in memory; with ``scopes``, as far as those go."""

    path: Path | None
    scopes: Collection[ScopeKey] | None = None

    def search(self, query: str, scope: ScopeKey, k: int) -> dict[str, Any]:
        """A whole answer, as ``RouterResult``; ``recorded`` says that it left no record."""
        with self._open(scope) as database, _naming("query"):
            result = database.search(query, k=k, write_record=False)
        return {**result.model_dump(mode="json"), "retrieval_id": None, "recorded": False}

    def channel(self, channel: str, query: str, scope: ScopeKey, k: int) -> dict[str, Any]:
        """One channel's own list. The router runs it, so admission, deadline and the check of each item hold here too.

        Raises ChannelError when the channel can't answer: an empty list would say that there is nothing.
        """
        plan = {"version": 1, "tool_rounds": [[channel]]}
        with self._open(scope) as database, _naming("query"):
            # All that the channel gave, since the reranker may put its last before its first.
            result = database.search(query, k=MAX_K if k > 100 else 100, plan=plan, write_record=False)
        (trace,) = result.traces
        if trace.state not in CAN_ANSWER or (trace.state == "not_indexed" and not result.evidence):
            raise ChannelError(f"the channel can't answer: {trace.state}. {REASON_TEXT[ReasonCode(trace.reason)]}")
        found = sorted(result.evidence, key=lambda item: item.channels[0].rank)[:k]
        hits = [
            {"rank": item.channels[0].rank, "score": item.channels[0].score, "chunk_id": item.chunk_id,
             "source_ref": item.source_ref, "locator": item.locator, "content": item.content}
            for item in found
        ]  # fmt: skip
        return {
            "channel": channel,
            "state": trace.state,
            "matched": trace.candidate_count,
            "detail": trace.detail,
            "hits": hits,
        }

    def explain(self, retrieval_id: str, scope: ScopeKey | None) -> dict[str, Any]:
        """A past retrieval's record with its account in sentences; of the one scope that has it where none is named."""
        with self._open(self._scope_of(retrieval_id) if scope is None else scope) as database, _naming("retrieval_id"):
            return database.explain(retrieval_id)

    def verify_audit(self) -> dict[str, Any]:
        """Does the whole file's audit log verify? ``damages`` says what does not."""
        if self.scopes is not None:
            raise StateError("it reads the whole file, and this connection is limited to some of its scopes.")
        # A scope is needed to open the file; for what concerns the whole file it decides nothing.
        with self._open(ScopeKey(**dict.fromkeys(SCOPE_COLUMNS, "any"))) as database:
            report = database.verify_audit()
        damages = [{"kind": item.kind, "seq": item.seq, "subject": item.subject} for item in report.damages]
        return {"verified": int(not damages), "events": report.events, "rows": report.rows, "head": report.head,
                "damages": damages}  # fmt: skip

    def _scope_of(self, retrieval_id: str) -> ScopeKey:
        path = self._file()
        with store_errors(path), contextlib.closing(open_reader(path)) as reader:
            require_current(reader, path)
            rows = reader.execute(load("read_retrieval_scopes"), {"retrieval_id": retrieval_id}).fetchall()
        found = [key for key in (ScopeKey(**dict(row)) for row in rows) if self.scopes is None or key in self.scopes]
        if len(found) != 1:
            how_many = "several scopes hold" if found else "no scope holds"
            raise InputError(
                f"argument retrieval_id: {how_many} a retrieval of this id.{' Name the scope.' if found else ''}"
            )
        return found[0]

    def _open(self, scope: ScopeKey) -> ResearchDatabase:
        """The file as seen from ``scope``: with its project's folder and settings where the project is found."""
        from arr_sql.database import ResearchDatabase
        from arr_sql.database.base import shared_embedder

        if self.scopes is not None and scope not in self.scopes:
            raise InputError("argument scope: this connection is limited to other scopes.")
        path = self._file()
        try:
            project = find_project(path.resolve().parent)
        except (StoreMissing, ScopeInvalid):
            project = None
        if project is None or project.database.resolve() != path.resolve():
            folder = path.parent.parent if path.parent.name == ".arr" else path.parent
            return ResearchDatabase(path, scope, project_folder=folder, embedder=shared_embedder)
        return ResearchDatabase.of_project(replace(project, scope=scope, database=path), embedder=shared_embedder)

    def _file(self) -> Path:
        if self.path is None:
            raise StoreMissing("this connection has no database file: it is in memory. Open the arr_sql file itself.")
        return self.path


@contextlib.contextmanager
def _naming(argument: str) -> Iterator[None]:
    """Errors about the value of an argument name the argument."""
    try:
        yield
    except InputError as error:
        raise InputError(f"argument {argument}: {error}") from error
