"""What docs/house.md says of deleting from FTS5, shown on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from arr_sql.core.connection import SQLITE_VERSION, sqlite3


def word_remains(path: Path, *, contentless_delete: bool) -> bool:
    """Is a deleted row's rare word still in the bytes of the file, with everything set to erase it?"""
    options = "content='', contentless_delete=1" if contentless_delete else "content=''"
    connection = sqlite3.connect(str(path), isolation_level=None)
    connection.execute("PRAGMA secure_delete=ON")
    connection.execute(f"CREATE VIRTUAL TABLE t USING fts5(body, {options})")
    connection.execute("INSERT INTO t(t, rank) VALUES ('secure-delete', 1)")
    texts = [f"common word{number} {'quartzmule' if number == 7 else 'x'}" for number in range(200)]
    connection.executemany("INSERT INTO t(rowid, body) VALUES (?, ?)", list(enumerate(texts)))
    if contentless_delete:
        connection.execute("DELETE FROM t WHERE rowid = 7")
    else:
        connection.execute("INSERT INTO t(t, rowid, body) VALUES ('delete', 7, ?)", (texts[7],))
    connection.close()
    return b"quartzmule" in path.read_bytes()


@pytest.mark.skipif(SQLITE_VERSION < (3, 42, 0), reason="secure-delete came with SQLite 3.42")
def test_the_delete_command_leaves_no_trace(tmp_path: Path) -> None:
    """With 'secure-delete' the terms of a row are taken off the pages."""
    assert not word_remains(tmp_path / "delete.db", contentless_delete=False)


@pytest.mark.skipif(SQLITE_VERSION < (3, 43, 0), reason="contentless_delete came with SQLite 3.43")
def test_contentless_delete_leaves_the_terms(tmp_path: Path) -> None:
    """The row is only marked as gone: the reason why the option is not used."""
    assert word_remains(tmp_path / "marked.db", contentless_delete=True)
