"""After a large first sync the index is one segment and the file holds no empty pages; small syncs are left alone."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import Connection, open_reader, open_writer, sqlite3, write_transaction
from arr_sql.database import ResearchDatabase
from arr_sql.index.text_segments import set_merged_later
from arr_sql.ingest.tidying import LEAST_CHUNKS, MUCH_BYTES, merging_later, tidy
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, MakeDatabase

Write = Callable[[str, "str | bytes"], Path]
TIDY = """
import sys
from pathlib import Path
from arr_sql.core.connection import open_writer
from arr_sql.ingest.tidying import tidy
writer = open_writer(Path(sys.argv[1]))
print("ready", flush=True)
tidy(writer, Path(sys.argv[1]), int(sys.argv[2]))
"""


def notes(write: Write, files: int, sections: int = 10, folder: str = "notes") -> None:
    chance = random.Random(folder)
    for number in range(files):
        body = "\n".join(
            f"## Part {part}\n\n{' '.join(f'w{chance.randrange(9000)}x' for _ in range(8))} 学习率\n"
            for part in range(sections)
        )
        write(f"{folder}/n{number}.md", body)


def segments(connection: Connection) -> int:
    return int(connection.execute("SELECT count(DISTINCT segid) FROM chunk_fts_idx").fetchone()[0])


def pragma(connection: Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def postings(connection: Connection) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute("SELECT * FROM chunk_term ORDER BY term, doc")]


@pytest.fixture(scope="module")
def untidy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of fewer chunks than are tidied, taken in by three syncs: an index of three segments or more."""
    folder = tmp_path_factory.mktemp("untidy")

    def write(name: str, text: str | bytes) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(text), "utf-8")
        return path

    path = folder / "arr.db"
    with ResearchDatabase.create(path, SCOPE, project_folder=folder, embedder=lambda: None) as database:
        for batch in range(3):
            notes(write, 40, folder=f"b{batch}")
            database.add(folder / f"b{batch}")
    return path


def test_a_large_first_sync_leaves_one_segment_and_no_empty_page(
    make_database: MakeDatabase, write: Write, tmp_path: Path
) -> None:
    """Several batches become one segment, the file is as long as its pages need; a small sync after it merges nothing."""
    notes(write, 520)
    database = make_database()
    assert database.add(tmp_path / "notes").chunks_added >= LEAST_CHUNKS
    path = database.path
    reader = open_reader(path)
    assert (segments(reader), pragma(reader, "freelist_count")) == (1, 0)
    reader.close()
    notes(write, 3, folder="more")
    database.add(tmp_path / "more")
    reader = open_reader(path)
    assert segments(reader) == 2
    reader.close()
    database.close()
    assert check_store(path).passed


def test_only_a_sync_that_took_in_most_of_the_file_tidies(untidy: Path, tmp_path: Path) -> None:
    """A few chunks, or many beside many more that were there before, are not worth writing the index anew for."""
    path = Path(shutil.copy(untidy, tmp_path))
    writer = open_writer(path)
    was = segments(writer)
    assert not tidy(writer, path, LEAST_CHUNKS - 1)
    writer.execute("UPDATE chunk SET id = 3 * :least WHERE id = (SELECT max(id) FROM chunk)", {"least": LEAST_CHUNKS})
    assert not tidy(writer, path, LEAST_CHUNKS)
    assert segments(writer) == was >= 3
    writer.close()


def test_it_changes_no_posting_and_a_reader_goes_on(untidy: Path, tmp_path: Path) -> None:
    """Beside a reader that holds an older state, the same postings become one segment; the reader sees what it saw."""
    path = Path(shutil.copy(untidy, tmp_path))
    reader, writer = open_reader(path), open_writer(path)
    reader.execute("BEGIN")
    before = postings(reader)
    assert tidy(writer, path, LEAST_CHUNKS)
    assert postings(reader) == before
    reader.execute("ROLLBACK")
    assert postings(reader) == before and segments(reader) == 1
    reader.close()
    writer.close()
    assert check_store(path).passed


def test_a_file_of_before_keeps_its_empty_pages(tmp_path: Path, untidy: Path) -> None:
    """A file that was made without the setting is merged all the same; its empty pages wait for later writes."""
    path = tmp_path / "before.db"
    source = sqlite3.connect(untidy)
    source.execute("PRAGMA auto_vacuum=NONE")
    source.execute(f"VACUUM INTO '{path}'")
    source.close()
    writer = open_writer(path)
    assert pragma(writer, "auto_vacuum") == 0
    assert tidy(writer, path, LEAST_CHUNKS)
    assert segments(writer) == 1 and pragma(writer, "freelist_count") > 0
    writer.close()
    assert check_store(path).passed


def test_while_another_writes_it_gives_up(untidy: Path, tmp_path: Path) -> None:
    """A file that stays locked past the timeout stays as it is, and the sync before it has not failed."""
    path = Path(shutil.copy(untidy, tmp_path))
    other, writer = open_writer(path), open_writer(path, timeout=0.1)
    other.execute("BEGIN IMMEDIATE")
    assert not tidy(writer, path, LEAST_CHUNKS)
    other.execute("ROLLBACK")
    assert tidy(writer, path, LEAST_CHUNKS)
    other.close()
    writer.close()


def test_killed_at_any_instant_the_file_holds_the_same(untidy: Path, tmp_path: Path) -> None:
    """After each kill the check passes and no posting is missing."""
    reader = open_reader(untidy)
    expected = postings(reader)
    reader.close()
    for attempt in range(3):
        path = Path(shutil.copy(untidy, tmp_path / f"{attempt}.db"))
        command = [sys.executable, "-c", TIDY, str(path), str(LEAST_CHUNKS)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline().strip() == b"ready"
            time.sleep(attempt * 0.006)
            process.kill()
        reader = open_reader(path)
        assert postings(reader) == expected
        reader.close()
        assert check_store(path).passed


def automerge(connection: Connection) -> int:
    row = connection.execute("SELECT v FROM chunk_fts_config WHERE k = 'automerge'").fetchone()
    return 4 if row is None else int(row[0])


def test_while_much_is_taken_in_segments_are_left_for_the_end(untidy: Path, tmp_path: Path) -> None:
    """Only inside, only for much beside what is there, and whatever happens there the setting is the old one afterwards."""
    path = Path(shutil.copy(untidy, tmp_path))
    writer = open_writer(path)
    with merging_later(writer, path, MUCH_BYTES - 1):
        assert automerge(writer) == 4
    with pytest.raises(KeyboardInterrupt), merging_later(writer, path, MUCH_BYTES):
        assert automerge(writer) == 0
        raise KeyboardInterrupt
    assert automerge(writer) == 4
    writer.execute("UPDATE chunk SET id = :id WHERE id = (SELECT max(id) FROM chunk)", {"id": MUCH_BYTES})
    with merging_later(writer, path, MUCH_BYTES):
        assert automerge(writer) == 4
    writer.close()


def test_a_setting_that_a_kill_left_is_taken_back_by_the_next_sync(untidy: Path, tmp_path: Path) -> None:
    """A process that dies inside leaves the setting; it goes with the next sync, however small."""
    path = Path(shutil.copy(untidy, tmp_path))
    writer = open_writer(path)
    with write_transaction(writer, path):
        set_merged_later(writer, True)
    assert automerge(writer) == 0
    writer.close()
    (tmp_path / "note.md").write_text("# One\n\nmore\n", "utf-8")
    with ResearchDatabase(path, SCOPE, project_folder=tmp_path, embedder=lambda: None) as database:
        database.add(tmp_path / "note.md")
    reader = open_reader(path)
    assert automerge(reader) == 4
    reader.close()
    assert [finding for finding in check_store(path).findings if not finding.passed] == []
