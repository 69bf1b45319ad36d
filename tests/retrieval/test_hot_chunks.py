"""Chunks in memory: what the file says, gone with the next change of the scope, bounded."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arr_sql.core.connection import Connection, open_reader
from arr_sql.database import ResearchDatabase
from arr_sql.retrieval.hot_chunks import HotChunks, _size
from arr_sql.retrieval.hot_grep import HotGrep
from arr_sql.retrieval.rows import hits_by_row
from tests.conftest import SCOPE, MakeDatabase, other_scopes

ROWS = range(1, 41)


@pytest.fixture
def store(make_database: MakeDatabase, tmp_path: Path) -> ResearchDatabase:
    """Thirty chunks, a file each."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number:02}.md").write_text(f"# Heading {number}\n\nrouter 学习率 {number}", "utf-8")
    database = make_database(folder=folder)
    database.add(folder)
    return database


@pytest.fixture
def reader(store: ResearchDatabase) -> Iterator[Connection]:
    connection = open_reader(store.path)
    yield connection
    connection.close()


def test_the_same_hits_as_from_the_file(reader: Connection) -> None:
    """Asked in portions that overlap, rows that are not there among them."""
    hot = HotChunks()
    for rows in (range(5), [3, 4, 5, 6], ROWS, ROWS, [], [99]):
        assert hot.hits(reader, SCOPE, rows) == hits_by_row(reader, SCOPE, rows)


def test_the_second_time_nothing_is_read(reader: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has been read once is not read again while the scope stays as it is."""
    hot = HotChunks()
    first = hot.hits(reader, SCOPE, ROWS)
    monkeypatch.setattr("arr_sql.retrieval.hot_chunks.hits_by_row", lambda *_: pytest.fail("read again"))
    assert hot.hits(reader, SCOPE, first) == first


def test_another_scope_gets_nothing_of_it(reader: Connection) -> None:
    """Row ids are of the file, hits of the scope."""
    hot = HotChunks()
    assert len(hot.hits(reader, SCOPE, ROWS)) == 30
    for scope in other_scopes():
        assert hot.hits(reader, scope, ROWS) == {}


def test_a_change_lets_them_go(reader: Connection, store: ResearchDatabase, tmp_path: Path) -> None:
    """Edited, removed, renamed and forgotten: a rename keeps the chunk and gives its hit another name."""
    hot, docs = HotChunks(), tmp_path / "docs"
    hot.hits(reader, SCOPE, ROWS)
    (docs / "03.md").write_text("# Another\n\ntext", "utf-8")
    (docs / "04.md").unlink()
    (docs / "05.md").rename(docs / "renamed.md")
    store.sync()
    assert hot.hits(reader, SCOPE, ROWS) == hits_by_row(reader, SCOPE, ROWS)
    assert "renamed.md" in {hit.source_ref for hit in hot.hits(reader, SCOPE, ROWS).values()}

    store.forget(source_refs=["06.md"])
    assert hot.hits(reader, SCOPE, ROWS) == hits_by_row(reader, SCOPE, ROWS)
    assert "06.md" not in {hit.source_ref for hit in hot.hits(reader, SCOPE, ROWS).values()}


@pytest.mark.parametrize("most", [0, 5_000, 20_000])
def test_no_more_is_kept_than_the_bound(reader: Connection, most: int) -> None:
    """And nothing is left out of an answer for it."""
    hot = HotChunks(most)
    for rows in (range(1, 20), ROWS, range(10, 30)):
        assert hot.hits(reader, SCOPE, rows) == hits_by_row(reader, SCOPE, rows)
        assert hot._bytes <= most
    assert len(hot._kept) <= most // 1_500


def test_a_question_asked_again_gets_the_same_answer(store: ResearchDatabase) -> None:
    """Whatever the channels keep from the one time to the next, inside the snapshot of a search."""
    # What was just written is not kept.
    store._hot.grep = HotGrep(lambda: open_reader(store.path), now_ns=lambda: time.time_ns() + 10**11)
    asked = []
    for _ in range(6):
        asked.append(store.search("router Heading 7", write_record=False))
        store._hot.grep.wait()
    for result in asked:
        assert [trace.state for trace in result.traces if trace.tool_name != "vector"] == ["empty", "ok", "ok"]
        assert result.evidence == asked[0].evidence and result.degradations == asked[0].degradations


def test_threads_may_share_it(store: ResearchDatabase) -> None:
    """Each with a connection of its own, as the channels of a search."""
    hot, found = HotChunks(10_000), []

    def ask(first: int) -> None:
        connection = open_reader(store.path)
        for turn in range(20):
            rows = range(first + turn % 7, 31)
            found.append(hot.hits(connection, SCOPE, rows) == hits_by_row(connection, SCOPE, rows))
        connection.close()

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80
    assert hot._bytes == sum(map(_size, hot._kept.values())) <= 10_000
