"""Memory that outlives an open database: kept while the file goes on, dropped when it is another one, let go when idle."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_reader
from arr_sql.core.router_models import RouterResult
from arr_sql.database import ResearchDatabase
from arr_sql.database.hot_store import SharedHotStore
from tests.conftest import SCOPE, FakeEmbedder

QUERIES = ("router budget", "learning rate 3", "学习率", "common", "plane 7")
STORED = {"tool_rounds": [["research-memory", "bm25", "vector"]]}
"""The channels that answer from the snapshot alone."""

WORDS = {"tool_rounds": [["bm25"]]}


class Server:
    """Opens the file for each question, as ``arr mcp`` and ``arr ui`` do."""

    def __init__(self, path: Path, folder: Path, **options: Any) -> None:
        self.path, self.folder, self.hot = path, folder, SharedHotStore(path, **options)

    def open(self, *, shared: bool = True) -> ResearchDatabase:
        return ResearchDatabase(
            self.path, SCOPE, project_folder=self.folder, actor="server", embedder=FakeEmbedder,
            shared_hot=self.hot if shared else None,
        )  # fmt: skip

    def ask(self, query: str, *, shared: bool = True, plan: Any = None) -> RouterResult:
        with self.open(shared=shared) as database:
            return database.search(query, plan=plan, floor=False, write_record=False)

    def sync(self, text: str) -> None:
        (self.folder / "new.md").write_text(text, "utf-8")
        with self.open(shared=False) as database:
            database.add(self.folder)
            database.embed()

    def is_as_without_memory(self) -> None:
        """Every question, several times over, so that each way of being in memory has its turn."""
        for query in (*QUERIES, "heliotrope", "vermilion") * 3:
            for plan in (WORDS, None):
                assert bytes_of(self.ask(query, plan=plan)) == bytes_of(self.ask(query, plan=plan, shared=False))

    def put_back(self, backup: Path) -> None:
        """Into the same file, its log gone."""
        shutil.copy(backup, self.path)
        for ending in ("-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)


def bytes_of(result: RouterResult) -> Any:
    value = result.model_dump(mode="json")
    for trace in value["traces"]:
        trace.pop("duration_ms")
    return value


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Twenty files that lie still."""
    folder = tmp_path / "project" / "docs"
    folder.mkdir(parents=True)
    for number in range(20):
        (folder / f"{number:02}.md").write_text(
            f"# Plane {number}\n\nrouter budget common {number}\n\n学习率 learning rate {number % 5}\n", "utf-8"
        )
    path = tmp_path / "arr.db"
    with ResearchDatabase.create(path, SCOPE, project_folder=folder, actor="tester", embedder=FakeEmbedder) as database:
        database.add(folder)
        database.embed()
    made = Server(path, folder)
    yield made
    made.hot.close()


def test_one_call_after_the_other_is_answered_from_memory(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second open database has the chunks that the first one read, and the answers have the same bytes."""
    first = [bytes_of(server.ask(query, shared=False)) for query in QUERIES]
    for _ in range(3):
        assert [bytes_of(server.ask(query)) for query in QUERIES] == first
    monkeypatch.setattr("arr_sql.retrieval.hot_chunks.hits_by_row", lambda *_: pytest.fail("read again"))
    assert [bytes_of(server.ask(query)) for query in QUERIES] == first


def test_a_change_is_seen_at_once(server: Server) -> None:
    """By another process between two calls, and in the middle of one."""
    for _ in range(3):
        server.ask("router budget")
    server.sync("# New\n\nrouter budget zyzzyva")
    assert "zyzzyva" in str(bytes_of(server.ask("zyzzyva")))
    for query in QUERIES:
        assert bytes_of(server.ask(query)) == bytes_of(server.ask(query, shared=False))


def test_a_restored_file_that_went_another_way_has_none_of_it(server: Server, tmp_path: Path) -> None:
    """The same revision with other content: a backup was put back and written to. Only the audit chain can tell."""
    shutil.copy(server.path, tmp_path / "backup.db")
    server.sync("# New\n\nthe first way says heliotrope")
    for _ in range(3):
        assert "first way" in str(bytes_of(server.ask("heliotrope", plan=WORDS)))
    server.put_back(tmp_path / "backup.db")
    server.sync("# New\n\nthe other way says vermilion")
    server.is_as_without_memory()


def test_what_was_seen_in_the_middle_of_a_call_counts(server: Server, tmp_path: Path) -> None:
    """A call that began before a change and asked after it: the file it leaves behind is the one after the change."""
    with server.open() as database:
        shutil.copy(server.path, tmp_path / "backup.db")
        server.sync("# New\n\nthe first way says heliotrope")
        for query in (*QUERIES, "heliotrope") * 2:
            database.search(query, write_record=False)
    server.put_back(tmp_path / "backup.db")
    server.sync("# New\n\nthe other way says vermilion")
    server.is_as_without_memory()


def test_a_call_on_the_old_file_does_not_teach_the_new_one(server: Server, tmp_path: Path) -> None:
    """It ends after the file was replaced: its memory ends with it."""
    shutil.copy(server.path, tmp_path / "backup.db")
    server.sync("# New\n\nthe first way says heliotrope")
    old = server.open()
    old.search("heliotrope", write_record=False)
    (tmp_path / "backup.db").rename(tmp_path / "other.db")
    (tmp_path / "other.db").replace(server.path)
    server.path.with_name(server.path.name + "-wal").unlink(missing_ok=True)
    server.path.with_name(server.path.name + "-shm").unlink(missing_ok=True)
    server.sync("# New\n\nthe other way says vermilion")
    server.ask("vermilion")
    old.search("heliotrope", write_record=False)
    old.close()
    server.is_as_without_memory()


def test_calls_side_by_side_on_two_revisions(server: Server) -> None:
    """Each sees its own snapshot, whoever fills the memory; eight threads, a writer between them."""
    faults: list[str] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            result = server.ask("common counter", plan=STORED)
            texts = [item.content for item in result.evidence if "counter" in item.content]
            whole = server.ask("common counter")  # grep has the file as it is now beside the chunk of the snapshot
            states = [trace.state for trace in (*result.traces, *whole.traces)]
            if len(texts) != 1 or "error" in states:
                faults.append(f"{texts} {states}")

    server.sync("# Counter\n\ncommon counter 0")
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for number in range(1, 8):
        server.sync(f"# Counter\n\ncommon counter {number}")
    stop.set()
    for thread in threads:
        thread.join()
    assert faults == []
    (found,) = [item for item in server.ask("common counter").evidence if "counter" in item.content]
    assert found.content.endswith("counter 7")


def test_it_is_let_go_when_nobody_asks(server: Server) -> None:
    """After a while, and by ``close``; what comes then begins anew."""
    idle = Server(server.path, server.folder, idle_seconds=0.05)
    idle.ask("router budget")
    for _ in range(200):
        if idle.hot._current is None:
            break
        time.sleep(0.05)
    assert idle.hot._current is None and not idle.hot._lent
    assert idle.ask("router budget").evidence
    idle.hot.close()
    assert idle.hot._current is None and not idle.hot._lent
    for _ in range(2):  # a call that comes too late is answered all the same
        assert idle.ask("router budget").evidence
        assert idle.hot._current is None and not idle.hot._lent


def test_a_reader_that_is_lost_vouches_for_nothing(server: Server) -> None:
    """Without the end of the chain as the call saw it, what the call left is dropped."""
    server.ask("router budget")
    reader = open_reader(server.path)
    store = server.hot.borrow(reader)
    reader.close()
    server.hot.give_back(store, None)
    assert server.hot._current is None and not server.hot._lent


def test_a_file_that_is_refused_borrows_nothing(server: Server, tmp_path: Path) -> None:
    """Opening fails before anything is lent."""
    other = tmp_path / "other.db"
    other.write_bytes(b"not a database, though long enough to be looked at" * 100)
    refused = Server(other, server.folder)
    with pytest.raises(Exception, match=r"other\.db"):
        refused.open()
    assert not refused.hot._lent
