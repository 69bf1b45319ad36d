"""The library for programs with an event loop: each call runs in a thread, on connections that it alone uses.

>>> import arr_sql.aio
>>> async def main():  # doctest: +SKIP
...     db = await arr_sql.aio.connect("my-project")
...     first, second = await asyncio.gather(db.search("warmup"), db.search("power cap"))

A call opens the file and closes it again (some milliseconds); the embedding model is loaded once a process, and what was
read of the file stays in memory for the next call. A call whose
task is cancelled ends by itself in its thread: what it was writing is then written whole, or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from arr_sql.core.project import Project, find_project
from arr_sql.core.research_models import ResearchMemory, ScopeKey
from arr_sql.core.router_models import RouterResult
from arr_sql.database import ResearchDatabase
from arr_sql.database.base import shared_embedder
from arr_sql.database.hot_store import SharedHotStore
from arr_sql.memory.audit_verify import VerifyReport

T = TypeVar("T")


async def connect(
    folder: str | Path = ".", *, environment: str | None = None, branch: str | None = None, **options: Any
) -> AsyncResearchDatabase:
    """The project that ``folder`` belongs to, as :func:`arr_sql.connect` finds it. Raises what that raises."""

    def find() -> Project:
        project = find_project(Path(folder), environment=environment, branch=branch)
        ResearchDatabase.of_project(project, **{"embedder": shared_embedder, **options}).close()
        return project

    return AsyncResearchDatabase(await asyncio.to_thread(find), **options)


class AsyncResearchDatabase:
    """One project's file seen from one scope. Holds nothing open between calls, so there is nothing to close.

    What is not a method here goes through :meth:`run`. Errors are those of :class:`arr_sql.ResearchDatabase`.
    """

    def __init__(self, project: Project, *, most_at_once: int = 4, **options: Any) -> None:
        """``options`` go to every ResearchDatabase that a call opens; more calls than ``most_at_once`` wait their turn."""
        self.project = project
        self._options = {"embedder": shared_embedder, "shared_hot": SharedHotStore(project.database), **options}
        self._turns = asyncio.Semaphore(most_at_once)

    @property
    def scope(self) -> ScopeKey:
        """The scope that every call acts in."""
        return self.project.scope

    def in_scope(self, scope: ScopeKey) -> AsyncResearchDatabase:
        """The same file seen from another scope."""
        return AsyncResearchDatabase(replace(self.project, scope=scope), **self._options)

    async def run(self, use: Callable[[ResearchDatabase], T]) -> T:
        """What ``use`` gives, run in a thread with a database of its own."""

        def work() -> T:
            with ResearchDatabase.of_project(self.project, **self._options) as database:
                return use(database)

        async with self._turns:
            return await asyncio.to_thread(work)

    async def search(self, query: str, **options: Any) -> RouterResult:
        """As :meth:`ResearchDatabase.search`."""
        return await self.run(lambda database: database.search(query, **options))

    async def explain(self, retrieval_id: str) -> dict[str, Any]:
        """As :meth:`ResearchDatabase.explain`."""
        return await self.run(lambda database: database.explain(retrieval_id))

    async def memories(self, **which: Any) -> list[ResearchMemory]:
        """As :meth:`ResearchDatabase.memories`."""
        return await self.run(lambda database: database.memories(**which))

    async def add_memory(self, **values: Any) -> ResearchMemory:
        """As :meth:`ResearchDatabase.add_memory`: a candidate."""
        return await self.run(lambda database: database.add_memory(**values))

    async def sync(self) -> Any:
        """As :meth:`ResearchDatabase.sync`."""
        return await self.run(lambda database: database.sync())

    async def verify_audit(self) -> VerifyReport:
        """As :meth:`ResearchDatabase.verify_audit`."""
        return await self.run(lambda database: database.verify_audit())
