"""The library for event loops: the loop stays free, calls run side by side, errors and cancellation are the callers'."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from arr_sql import aio
from arr_sql.database import ResearchDatabase
from arr_sql.errors import QueryEmpty, StoreMissing
from tests.serve.conftest import prepared, project

__all__ = ["prepared", "project"]
QUIET: dict[str, Any] = {"embedder": lambda: None}


def test_it_answers_as_the_library_does(project: Path) -> None:
    """Evidence and scores are those of ResearchDatabase; memories, explanations and the audit too."""

    async def use() -> None:
        db = await aio.connect(project, **QUIET)
        result = await db.search("warmup run", k=3)
        with ResearchDatabase.of_project(db.project, **QUIET) as plain:
            assert result.evidence == plain.search("warmup run", k=3).evidence != ()
            assert await db.memories(status="published") == plain.memories("published")
        assert (await db.explain(result.retrieval_id))["retrieval_id"] == result.retrieval_id
        made = await db.add_memory(kind="knowledge", title="T", content="C", source_refs=("a",))
        assert made.status == "candidate" and (await db.run(lambda d: d.memory(made.memory_id))) == made
        assert (await db.verify_audit()).damages == ()
        await db.sync()

    asyncio.run(use())


def test_the_loop_is_free_while_a_call_runs(project: Path) -> None:
    """A call waits for what another coroutine does: on the loop's own thread that would never end."""
    go = threading.Event()

    async def use() -> int:
        db = await aio.connect(project, **QUIET)
        call = asyncio.create_task(db.run(lambda database: go.wait(30)))
        await asyncio.sleep(0)
        go.set()
        assert await call
        results = await asyncio.gather(*(db.search(f"warmup {number}") for number in range(8)))
        return len({result.retrieval_id for result in results})

    assert asyncio.run(use()) == 8


def test_no_more_than_asked_run_at_once(project: Path) -> None:
    """The others wait their turn."""
    running, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(2)

    def work(database: ResearchDatabase) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(30)
        with lock:
            running -= 1

    async def use() -> None:
        db = aio.AsyncResearchDatabase((await aio.connect(project, **QUIET)).project, most_at_once=2, **QUIET)
        await asyncio.gather(*(db.run(work) for _ in range(6)))

    asyncio.run(use())
    assert most == 2


def test_errors_come_to_who_awaits(project: Path, tmp_path: Path) -> None:
    """The library's own, and at once for a folder without a project."""

    async def use() -> None:
        db = await aio.connect(project, **QUIET)
        with pytest.raises(QueryEmpty):
            await db.search(" ")
        with pytest.raises(StoreMissing):
            await aio.connect(tmp_path / "nowhere")

    asyncio.run(use())


def test_a_cancelled_write_is_whole_or_absent(project: Path) -> None:
    """The task ends at once; the thread ends its transaction; the file is whole."""
    begun, ended = threading.Event(), threading.Event()

    def work(database: ResearchDatabase) -> None:
        begun.set()
        database.add_memory(memory_id="late", kind="knowledge", title="Late", content="C", source_refs=("a",))
        ended.set()

    async def use() -> None:
        db = await aio.connect(project, **QUIET)
        task = asyncio.create_task(db.run(work))
        assert await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, 30)
        assert (await db.run(lambda database: database.memory("late"))).title == "Late"
        assert (await db.verify_audit()).damages == ()

    asyncio.run(use())


def test_another_scope_of_the_same_file(project: Path) -> None:
    """Nothing of this one is found there."""

    async def use() -> None:
        db = await aio.connect(project, **QUIET)
        other = db.in_scope(db.scope.model_copy(update={"branch": "dev"}))
        assert other.scope.branch == "dev" and (await other.search("warmup")).evidence == ()

    asyncio.run(use())
