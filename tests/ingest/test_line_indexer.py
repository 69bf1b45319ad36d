"""What an indexing writes and what it leaves unwritten; how it is kept up to date, dropped and forgotten."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_writer
from arr_sql.core.line_sieve import make_sieve
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError
from arr_sql.ingest import line_indexer
from arr_sql.ingest.line_indexer import LineIndexer, LineIndexSummary
from tests.conftest import SCOPE, MakeDatabase, other_scopes

LATER = 10**11


def refresh(database: ResearchDatabase) -> LineIndexSummary:
    """Index as if all files had last changed a while ago; the clock of the file system may tick every ten milliseconds."""
    time.sleep(0.02)
    writer = database._write()
    (scope_id,) = writer.execute("SELECT id FROM scope WHERE team_id = ?", (database.scope.team_id,)).fetchone()
    indexer = LineIndexer(writer, database.path, database.scope, scope_id, now_ns=lambda: time.time_ns() + LATER)
    return indexer.refresh(database.roots())


def rows(
    database: ResearchDatabase, statement: str = "SELECT path, names, marks FROM line_index_folder ORDER BY path"
) -> Any:
    """What the file holds."""
    connection = open_writer(database.path)
    try:
        return [tuple(row) for row in connection.execute(statement)]
    finally:
        connection.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files in two folders."""
    made = tmp_path / "lab"
    (made / "b").mkdir(parents=True)
    (made / "a.md").write_text("warmup_steps are here\n", "utf-8")
    (made / "b" / "c.md").write_text("cooldown\n", "utf-8")
    (made / "b" / "keys.ini").write_text("password = hunter2-plum-77x\n", "utf-8")
    return made


@pytest.fixture
def database(make_database: MakeDatabase, folder: Path) -> ResearchDatabase:
    """The folder, added."""
    made = make_database(folder=folder)
    made.add(folder)
    return made


def test_only_what_has_changed_is_read_and_written(database: ResearchDatabase, folder: Path) -> None:
    """A second indexing writes nothing; one of an edited file writes its folder."""
    database.build_line_index()
    first = refresh(database)
    assert (first.files, first.indexed, first.read_each_time, first.folders) == (3, 2, 1, 2)
    again = refresh(database)
    assert (again.files, again.indexed, again.kept, again.folders_written, again.folders_removed) == (3, 0, 3, 0, 0)
    (folder / "b" / "c.md").write_text("cooldown and more\n", "utf-8")
    third = refresh(database)
    assert (third.indexed, third.kept, third.folders_written) == (1, 2, 1)
    (folder / "b" / "c.md").unlink()
    (folder / "b" / "keys.ini").unlink()
    (folder / "b").rmdir()
    assert refresh(database).folders_removed == 1
    assert [row[0] for row in rows(database)] == [""]


def test_a_file_with_a_credential_leaves_no_trace_but_its_name(database: ResearchDatabase, folder: Path) -> None:
    """No sieve, so not even bits that a guess could be tried against; the same for a private key."""
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\n-----END RSA " + "PRIVATE KEY-----\n"
    (folder / "b" / "key.txt").write_text(key, "utf-8")
    database.build_line_index()
    refresh(database)
    assert rows(database)[1] == ("b", "c.md/key.txt/keys.ini", "trr")
    ((sieves,),) = rows(database, "SELECT sieves FROM line_index_folder WHERE path = 'b'")
    assert sieves == make_sieve("cooldown\n")


def test_what_grep_never_opens_is_not_opened(
    database: ResearchDatabase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sensitive names are marked as left out; a file above the limit is not read."""
    (folder / ".env").write_text("x\n", "utf-8")
    (folder / "large.log").write_text("x" * 300, "utf-8")
    monkeypatch.setattr(line_indexer, "MAX_INDEXED_BYTES", 299)
    database.build_line_index()
    refresh(database)
    ((marks, listed),) = rows(database, "SELECT marks, device IS NOT NULL FROM line_index_folder WHERE path = ''")
    assert marks == ("nt/r" if listed else "tr")


def test_sync_keeps_it_up_to_date(database: ResearchDatabase, folder: Path) -> None:
    """Once it is wanted, each sync and each add bring it up to date; dropped, no sync makes it again."""
    assert (database.line_index(), rows(database)) == (None, [])
    database.build_line_index()
    (folder / "new").mkdir()
    (folder / "new" / "d.md").write_text("later\n", "utf-8")
    database.sync()
    assert [row[0] for row in rows(database)] == ["", "b", "new"]
    state = database.line_index()
    assert state is not None and state[0] == 3
    assert database.drop_line_index() == 3
    database.sync()
    assert (database.line_index(), rows(database)) == (None, [])


def test_a_root_that_is_not_there_keeps_its_rows(database: ResearchDatabase, folder: Path) -> None:
    """They speak of that tree alone: nothing is found by them while it is away, and they serve when it is back."""
    database.build_line_index()
    refresh(database)
    before = rows(database)
    folder.rename(folder.with_name("away"))
    assert refresh(database).files == 0
    folder.with_name("away").rename(folder)
    assert rows(database) == before
    assert database.grep("cooldown").search.hits


def test_nothing_added_is_an_error(make_database: MakeDatabase, tmp_path: Path) -> None:
    """With the way out."""
    with pytest.raises(InputError, match="Run `arr add FOLDER` first"):
        make_database().build_line_index()
    assert make_database().drop_line_index() == 0


def test_rows_that_other_rules_made_are_made_anew(database: ResearchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not used, and the next indexing reads all files again."""
    monkeypatch.setattr("arr_sql.index.line_rows.made_by", lambda: "0 9.0.0 1.0.0")
    database.build_line_index()
    refresh(database)
    monkeypatch.undo()
    assert database.grep("cooldown").search.indexed is False
    assert refresh(database).kept == 0
    assert database.grep("cooldown").search.ruled_out > 0


def test_forgetting_a_source_erases_it_until_the_next_sync(database: ResearchDatabase, folder: Path) -> None:
    """Names and bits of the whole scope go; a neighbour's stay. The file itself is the user's to remove."""
    neighbour = ResearchDatabase(database.path, other_scopes()[0], project_folder=folder)
    with neighbour:
        neighbour.add(folder)
        neighbour.build_line_index()
        database.build_line_index()
        (folder / "b" / "c.md").unlink()
        report = database.forget(source_refs=["b/c.md"])
        assert report is not None
        assert rows(database, "SELECT count(*) FROM line_index_folder WHERE scope_id = 1") == [(0,)]
        assert neighbour.line_index() is not None and database.line_index() == (0, 0)
        neighbour.sync()
        assert rows(database, "SELECT path FROM line_index_folder WHERE names LIKE '%c.md%'") == []
        database.sync()
        assert database.line_index() != (0, 0)


def test_forgetting_a_scope_ends_its_index(database: ResearchDatabase) -> None:
    """Its wish goes with it."""
    database.build_line_index()
    database.forget(whole_scope=True)
    assert (rows(database), rows(database, "SELECT scope_id FROM line_index")) == ([], [])


def test_forgetting_a_query_leaves_it(database: ResearchDatabase) -> None:
    """No file is named, so nothing of the index is."""
    database.build_line_index()
    database.search("what of it", plan={"tool_rounds": [["bm25"]]})
    before = rows(database)
    database.forget(queries=["what of it"])
    assert rows(database) == before != []


def test_two_writers_at_once(database: ResearchDatabase, folder: Path) -> None:
    """Each row stands for itself: whoever writes last, a search is right."""
    with ResearchDatabase(database.path, SCOPE, project_folder=folder) as other:
        database.build_line_index()
        (folder / "b" / "c.md").write_text("cooldown twice\n", "utf-8")
        refresh(other)
        (folder / "a.md").write_text("cooldown too\n", "utf-8")
        refresh(database)
        assert [hit.rel for hit in other.grep("cooldown").search.hits] == ["a.md", "b/c.md"]
