"""Names that pass from one file to another, and backups that know a file by another name: the right file goes, only it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_reader, sqlite3
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError
from tests.conftest import MakeDatabase

Write = Callable[[str, str | bytes], Path]
ZEBRA, GIRAFFE = "# One\n\nzebra moonlight in box nine.\n", "# Two\n\ngiraffe sunlight in box ten.\n"
WORDS: Any = {"tool_rounds": [["bm25", "grep"]]}


@pytest.fixture
def database(make_database: MakeDatabase, write: Write, tmp_path: Path) -> ResearchDatabase:
    write("notes/a.md", ZEBRA)
    write("notes/keep.md", "# Keep\n\nrouter budget stays.\n")
    made = make_database(folder=tmp_path)
    made.add(tmp_path / "notes")
    return made


def held(path: Path, text: str) -> int:
    reader = open_reader(path)
    try:
        return int(reader.execute("SELECT count(*) AS n FROM chunk WHERE instr(content, ?)", (text,)).fetchone()["n"])
    finally:
        reader.close()


def test_a_backup_from_before_a_rename(database: ResearchDatabase, tmp_path: Path) -> None:
    """There it is called otherwise: it goes all the same, and the proof looks for the same text."""
    database.backup(backup := tmp_path / "before.db")
    (tmp_path / "notes" / "a.md").rename(tmp_path / "notes" / "b.md")
    database.sync()
    report = database.forget(source_refs=["notes/b.md"], backups=[backup])
    (item,) = report.backups
    assert (item["result"], item["held_here"], item["counts"]["chunks"]) == ("clean", {}, 1)
    assert b"zebra moonlight" not in backup.read_bytes() and held(backup, "router budget") == 1


def test_a_backup_from_between_two_renames(database: ResearchDatabase, tmp_path: Path) -> None:
    """The name that is given is a former one in the backup: no reason to stop, and to stop half way least of all."""
    notes = tmp_path / "notes"
    (notes / "a.md").rename(notes / "b.md")
    database.sync()
    database.backup(backup := tmp_path / "between.db")
    (notes / "b.md").rename(notes / "a.md")
    database.sync()
    report = database.forget(source_refs=["notes/a.md"], backups=[backup])
    assert report.result == "clean" and report.backups[0]["result"] == "clean"
    assert b"zebra moonlight" not in backup.read_bytes() + database.path.read_bytes()


def test_another_file_of_that_name_in_a_backup_stays(database: ResearchDatabase, write: Write, tmp_path: Path) -> None:
    """In the backup the name is that of a file which the store knows under another name now."""
    database.backup(backup := tmp_path / "before.db")
    notes = tmp_path / "notes"
    (notes / "a.md").rename(notes / "old.md")
    database.sync()
    write("notes/a.md", GIRAFFE)
    database.sync()
    database.forget(source_refs=["notes/a.md"], backups=[backup])
    assert held(backup, "zebra moonlight") == 1 and held(database.path, "zebra moonlight") == 1
    assert held(database.path, "giraffe") == 0


def test_what_only_a_backup_knows_goes_by_its_name(database: ResearchDatabase, write: Write, tmp_path: Path) -> None:
    """Forgotten here, taken in again: the backup's file of that name is the one of before, known to nobody else."""
    database.backup(backup := tmp_path / "before.db")
    database.forget(source_refs=["notes/a.md"])
    write("notes/a.md", ZEBRA.replace("nine", "eleven"))
    database.sync()
    database.forget(source_refs=["notes/a.md"], backups=[backup])
    assert held(backup, "zebra") == 0 and b"box nine" not in backup.read_bytes()


def test_nothing_is_erased_where_a_backup_can_not_follow(database: ResearchDatabase, tmp_path: Path) -> None:
    """Unknown here, a former name there: said with the backup's name, before anything goes."""
    (tmp_path / "notes" / "a.md").rename(tmp_path / "notes" / "b.md")
    database.sync()
    database.backup(backup := tmp_path / "before.db")
    database.forget(source_refs=["notes/b.md"])
    database.add_memory(memory_id="m", title="T", content="a memory that has to stay", kind="knowledge")
    with pytest.raises(InputError, match=r"In the backup '.*before\.db'.*called 'notes/b.md' now.*Nothing was erased"):
        database.forget(memory_ids=["m"], source_refs=["notes/a.md"], backups=[backup])
    assert database.memory("m") and held(backup, "zebra") == 1


def test_words_that_stand_elsewhere_in_a_backup_are_counted(database: ResearchDatabase, tmp_path: Path) -> None:
    """As in the file itself: a memory that quotes it is another thing to forget."""
    database.add_memory(memory_id="q", title="Quote", content=f"it says: {ZEBRA}", kind="knowledge")
    database.backup(backup := tmp_path / "before.db")
    report = database.forget(source_refs=["notes/a.md"], backups=[backup])
    assert report.held_here == report.backups[0]["held_here"] == {"memory": 1}


def test_a_name_that_passed_on_is_not_forgotten(database: ResearchDatabase, write: Write, tmp_path: Path) -> None:
    """What was found in the file that has the name now keeps its source; what was found in the forgotten one loses it."""
    first = database.search("zebra moonlight", plan=WORDS)
    (tmp_path / "notes" / "a.md").rename(tmp_path / "notes" / "b.md")
    database.sync()
    write("notes/a.md", GIRAFFE)
    database.sync()
    second = database.search("giraffe sunlight", plan=WORDS)
    third = database.search("zebra moonlight", plan=WORDS)
    assert [item.source_ref for item in second.evidence] == ["notes/a.md"]
    plan = database.plan_forgetting(source_refs=["notes/b.md"])
    assert [item["retrieval_id"] for item in plan["retrievals"]] == [first.retrieval_id, third.retrieval_id]
    (tmp_path / "notes" / "b.md").unlink()
    report = database.forget(source_refs=["notes/b.md"])
    assert report.still_on_disk == () and report.counts["retrievals_rewritten"] == 2
    names = {
        result.retrieval_id: [item["source_ref"] for item in database.retrievals(result.retrieval_id)[0]["evidence"]]
        for result in (first, second, third)
    }
    assert names == {
        first.retrieval_id: ["(erased)"], second.retrieval_id: ["notes/a.md"], third.retrieval_id: ["(erased)"],
    }  # fmt: skip
    assert database.replay(second.retrieval_id).cause == "row_erased"  # its scores counted the words that are gone
    assert database.verify_audit().damages == () and database.check().passed


def test_a_table_of_somebody_else_is_counted(database: ResearchDatabase) -> None:
    """Whoever keeps notes of their own in the file is told that the words are there."""
    database.add_memory(memory_id="m", title="T", content="Oleander grows behind the house", kind="knowledge")
    other = sqlite3.connect(str(database.path))
    other.execute("CREATE TABLE my_notes (id INTEGER PRIMARY KEY, body TEXT)")
    other.execute("INSERT INTO my_notes (body) VALUES ('copied: Oleander grows behind the house')")
    other.commit()
    other.close()
    report = database.forget(memory_ids=["m"])
    assert report.held_here == {"my_notes": 1}
