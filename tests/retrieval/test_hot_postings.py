"""Postings in memory: the same answers, never an old one, bounded, and nothing without NumPy."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from arr_sql.core.analysis import query_terms
from arr_sql.core.connection import open_reader
from arr_sql.core.statements import load
from arr_sql.retrieval.bm25_retriever import Bm25Retriever
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.hot_postings import HotPostings
from tests.conftest import SCOPE, MakeDatabase, other_scopes

pytest.importorskip("numpy")


def ask(path: Path, hot: HotPostings | None, query: str, scope: object = SCOPE, k: int = 10) -> ChannelAnswer:
    """One question on a connection of its own."""
    reader = open_reader(path)
    try:
        return Bm25Retriever(reader, hot=hot).retrieve(query, scope, k, 0.0)  # type: ignore[arg-type]
    finally:
        reader.close()


def write(folder: Path, count: int, word: str) -> None:
    """``count`` files, each with the word so often and a number of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{word}{number}.md").write_text(
            f"# {word} {number}\n\n{'router ' * (number % 4)}plane {word}", "utf-8"
        )


def test_the_second_question_is_answered_from_memory(make_database: MakeDatabase, tmp_path: Path) -> None:
    """With the same bytes; the first one of a state reads the file, for a command asks only once."""
    database = make_database(folder=tmp_path / "docs")
    write(tmp_path / "docs", 30, "alpha")
    database.add(tmp_path / "docs")
    hot = HotPostings()
    first = ask(database.path, hot, "router alpha")
    assert not hot._scopes
    second = ask(database.path, hot, "router alpha")
    assert len(hot._scopes) == 1 and second == first == ask(database.path, None, "router alpha")


def test_a_change_of_the_scope_is_seen_at_once(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Edited, deleted and new chunks: what is kept belongs to one state of the scope."""
    database = make_database(folder=tmp_path / "docs")
    write(tmp_path / "docs", 12, "alpha")
    database.add(tmp_path / "docs")
    hot = HotPostings(from_question=1)
    ask(database.path, hot, "router alpha")
    write(tmp_path / "docs", 5, "beta")
    (tmp_path / "docs" / "alpha3.md").unlink()
    (tmp_path / "docs" / "alpha4.md").write_text("router router alpha", "utf-8")
    database.sync()
    assert ask(database.path, hot, "router alpha") == ask(database.path, None, "router alpha")
    assert ask(database.path, hot, "beta") == ask(database.path, None, "beta")


def test_frequencies_are_those_of_the_file(make_database: MakeDatabase, tmp_path: Path) -> None:
    """The line search asks for them: words in the heading and in the body, one that nobody has, before and after a change."""
    database = make_database(folder=tmp_path / "docs")
    write(tmp_path / "docs", 12, "alpha")
    database.add(tmp_path / "docs")
    hot, weights = HotPostings(from_question=1), query_terms("router alpha plane 3 zyzzyva")
    reader = open_reader(database.path)
    assert hot.frequencies(reader, SCOPE, weights) is None  # nothing is held yet
    for count in (12, 3):
        ask(database.path, hot, "router alpha")
        asked = {**SCOPE.bindings(), "terms": json.dumps(list(weights))}
        rows = reader.execute(load("read_document_frequency"), asked).fetchall()
        found = hot.frequencies(reader, SCOPE, weights)
        assert found == {row["term"]: row["df"] for row in rows}
        assert found is not None and found["alpha"] == count and "zyzzyva" not in found
        for number in range(3, 12):
            (tmp_path / "docs" / f"alpha{number}.md").unlink(missing_ok=True)
        database.sync()
        assert hot.frequencies(reader, SCOPE, weights) is None or count == 3
    reader.close()


def test_scopes_are_kept_apart(make_database: MakeDatabase, tmp_path: Path) -> None:
    """One cache serves scopes that differ in one value, and none sees the other's chunks."""
    hot = HotPostings(from_question=1)
    for number, scope in enumerate([SCOPE, *other_scopes()]):
        database = make_database(scope=scope, folder=tmp_path / f"d{number}")
        write(tmp_path / f"d{number}", 3 + number, "alpha")
        database.add(tmp_path / f"d{number}")
    for scope in (SCOPE, *other_scopes(), SCOPE):
        assert ask(database.path, hot, "alpha plane", scope) == ask(database.path, None, "alpha plane", scope)


def test_memory_is_bounded(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Beyond the bound the words asked longest ago go; a scope that does not fit is answered from the file."""
    database = make_database(folder=tmp_path / "docs")
    write(tmp_path / "docs", 40, "alpha")
    database.add(tmp_path / "docs")
    small = HotPostings(max_bytes=1_600, from_question=1)
    for word in ("alpha", "router", "plane", "1", "2", "3", "alpha"):
        assert ask(database.path, small, word) == ask(database.path, None, word)
        assert sum(held.n_bytes for held in small._scopes.values()) <= 1_600
    tiny = HotPostings(max_bytes=100, from_question=1)
    assert ask(database.path, tiny, "alpha") == ask(database.path, None, "alpha") and not tiny._scopes


def test_without_numpy_the_file_answers(
    make_database: MakeDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy is an extra."""
    database = make_database(folder=tmp_path / "docs")
    write(tmp_path / "docs", 4, "alpha")
    database.add(tmp_path / "docs")
    monkeypatch.setitem(sys.modules, "numpy", None)
    hot = HotPostings(from_question=1)
    assert ask(database.path, hot, "alpha") == ask(database.path, None, "alpha") and not hot._scopes


def test_several_threads_share_one(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Eight threads with connections of their own get what one gets."""
    database = make_database(folder=tmp_path / "docs")
    write(tmp_path / "docs", 25, "alpha")
    database.add(tmp_path / "docs")
    hot, words = HotPostings(from_question=1), ["alpha router", "plane", "router 3", "alpha 7"]
    expected = {word: ask(database.path, None, word) for word in words}
    wrong: list[str] = []

    def work() -> None:
        for word in words * 5:
            if ask(database.path, hot, word) != expected[word]:
                wrong.append(word)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
