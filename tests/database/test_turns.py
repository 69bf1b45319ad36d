"""One open database in several threads, and after it was closed."""

from __future__ import annotations

import inspect
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import arr_sql
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StateError
from tests.conftest import MakeDatabase

PUBLIC = sorted(
    name
    for name in dir(ResearchDatabase)
    if not name.startswith("_")
    and inspect.isfunction(inspect.unwrap(getattr(ResearchDatabase, name)))
    and not isinstance(inspect.getattr_static(ResearchDatabase, name), classmethod)
)


@pytest.fixture
def store(make_database: MakeDatabase, tmp_path: Path) -> ResearchDatabase:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:02}.md").write_text(f"# Plane {number}\n\nrouter budget {number}\n", "utf-8")
    database = make_database(folder=folder)
    database.add(folder)
    return database


def test_threads_wait_for_their_turn(store: ResearchDatabase) -> None:
    """Six threads search, one adds memories: every call is answered as if it were alone, and every change is there."""
    alone = [item.chunk_id for item in store.search("router budget").evidence]
    found: list[Any] = []

    def ask() -> None:
        try:
            for _ in range(5):
                found.append([item.chunk_id for item in store.search("router budget").evidence])
        except Exception as error:  # noqa: BLE001  whatever it is, it is what the test is about
            found.append(error)

    def add() -> None:
        try:
            for number in range(5):
                store.add_memory(title=f"Note {number}", content="nothing of the kind", kind="knowledge")
        except Exception as error:  # noqa: BLE001
            found.append(error)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(6)] + [
        threading.Thread(target=add, daemon=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert found == [alone] * 30
    assert len(store.memories(status="candidate")) == 5


def test_closing_waits_for_a_call(store: ResearchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs is finished; what comes later is refused."""
    begun, answers = threading.Event(), []
    run = store._catalog

    def slow(*arguments: Any) -> Any:
        begun.set()
        time.sleep(0.2)
        return run(*arguments)

    monkeypatch.setattr(store, "_catalog", slow)
    thread = threading.Thread(target=lambda: answers.append(store.search("router")), daemon=True)
    thread.start()
    begun.wait(10)
    store.close()
    thread.join(10)
    assert answers[0].state == "found"
    with pytest.raises(StateError, match="closed"):
        store.search("router")


def test_nothing_is_done_with_a_closed_database(store: ResearchDatabase) -> None:
    """Whatever the method, before its arguments are looked at. No connection is opened."""
    store.close()
    assert len(PUBLIC) > 60
    for name in PUBLIC:
        if name == "close":
            continue
        method = getattr(store, name)
        needed = [
            p for p in inspect.signature(method).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]  # fmt: skip
        with pytest.raises(StateError, match="closed"):
            method(*[None for _ in needed])
    assert not store._readers and store._writer is None


def test_closed_twice_and_not_opened_by_with(store: ResearchDatabase) -> None:
    """``with`` opens nothing anew either."""
    store.close()
    store.close()
    with pytest.raises(StateError, match="closed"), store:
        pass


@pytest.mark.parametrize("query", [5, None, b"alpha", ["alpha"]])
def test_a_query_that_is_no_text(store: ResearchDatabase, query: Any) -> None:
    """Said as what it is, not as an empty query."""
    with pytest.raises(InputError, match=f"type {type(query).__name__}; it must be text"):
        store.search(query)


@pytest.mark.parametrize("k", [0, 1001, "3", 2.5, True, float("nan")])
def test_a_k_that_is_no_number_of_pieces(store: ResearchDatabase, k: Any) -> None:
    with pytest.raises(InputError, match="whole number between 1 and 1000"):
        store.search("router", k=k)


def test_the_docs_know_the_methods() -> None:
    """The signature that people see is the method's own."""
    assert "query" in inspect.signature(arr_sql.ResearchDatabase.search).parameters
    assert arr_sql.ResearchDatabase.search.__doc__
