"""Forgetting a file whose name is, or was, another file's: in the records of this file, and in its backups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_reader, open_writer
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError
from arr_sql.memory.forget_names import Known, NameSpan, is_known, names_of_others, spans_of
from arr_sql.memory.store_check import check_store
from tests.conftest import MakeDatabase, other_scopes

Write = Callable[[str, str | bytes], Path]
GREP: Any = {"tool_rounds": [["grep"]]}
SECRET = "the quagga of subject seventeen"


@pytest.fixture
def database(make_database: MakeDatabase, write: Write, tmp_path: Path) -> ResearchDatabase:
    """One note under notes/a.md, and one that stays."""
    write("notes/a.md", f"# One\n\n{SECRET}\n")
    write("notes/keep.md", "# Keep\n\nrouter budget stays\n")
    made = make_database()
    made.add(tmp_path / "notes")
    return made


def move(database: ResearchDatabase, tmp_path: Path, old: str, new: str) -> None:
    """Rename a file, and let the store know."""
    (tmp_path / old).rename(tmp_path / new)
    assert database.sync().renamed


def raw(path: Path) -> bytes:
    files = [path.with_name(path.name + end) for end in ("", "-wal", "-journal")]
    return b"\n".join(file.read_bytes() for file in files if file.exists())


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    reader = open_reader(path)
    try:
        return [tuple(row) for row in reader.execute(sql)]
    finally:
        reader.close()


def evidence(database: ResearchDatabase, retrieval_id: str | None) -> list[tuple[str, str, str]]:
    (record,) = database.retrievals(retrieval_id)
    return [(item["chunk_id"][:1], item["source_ref"], item["locator"]) for item in record["evidence"]]


# --- Backups ----------------------------------------------------------------------------------------------------------


def test_a_backup_that_knows_the_file_by_an_earlier_name_loses_it(database: ResearchDatabase, tmp_path: Path) -> None:
    """The name has changed since the backup; the file is the same, and goes from both."""
    backup = tmp_path / "before.db"
    database.backup(backup)
    move(database, tmp_path, "notes/a.md", "notes/b.md")
    report = database.forget(source_refs=["notes/b.md"], backups=[backup])
    (told,) = report.backups
    assert (told["result"], told["counts"]["chunks"], told["held_here"]) == ("clean", 1, {})
    assert (SECRET.encode() in raw(backup), b"notes/a.md" in raw(backup)) == (False, False)
    assert rows(database.path, "SELECT backups_clean FROM forget_trail") == [(1,)]
    assert check_store(backup).passed and database.verify_audit().damages == ()


def test_a_backup_in_which_the_name_was_a_former_one_loses_it(database: ResearchDatabase, tmp_path: Path) -> None:
    """Renamed, backed up, renamed back: the backup calls it otherwise, and by the name that is asked for no more."""
    move(database, tmp_path, "notes/a.md", "notes/b.md")
    backup = tmp_path / "before.db"
    database.backup(backup)
    move(database, tmp_path, "notes/b.md", "notes/a.md")
    report = database.forget(source_refs=["notes/a.md"], backups=[backup])
    assert report.backups[0]["result"] == "clean" and SECRET.encode() not in raw(backup)


def test_a_file_that_was_taken_in_anew_goes_from_the_backup_by_its_name(
    database: ResearchDatabase, tmp_path: Path
) -> None:
    """Forgotten here and synced again: another source of the same name, and the same file all the same."""
    backup = tmp_path / "before.db"
    database.backup(backup)
    database.forget(source_refs=["notes/a.md"])
    database.sync()
    report = database.forget(source_refs=["notes/a.md"], backups=[backup])
    assert report.backups[0]["result"] == "clean" and SECRET.encode() not in raw(backup)


def test_another_file_that_had_the_name_in_the_backup_stays_there(
    database: ResearchDatabase, write: Write, tmp_path: Path
) -> None:
    """The backup's notes/a.md is this file's notes/c.md, which nobody asked to forget."""
    backup = tmp_path / "before.db"
    database.backup(backup)
    move(database, tmp_path, "notes/a.md", "notes/c.md")
    write("notes/a.md", "# Two\n\nthe okapi is another matter\n")
    database.sync()
    report = database.forget(source_refs=["notes/a.md"], backups=[backup])
    assert report.backups[0]["counts"] == {} and report.backups[0]["result"] == "clean"
    assert rows(backup, "SELECT source_ref FROM source_version WHERE retired_revision IS NULL ORDER BY 1") == [
        ("notes/a.md",), ("notes/keep.md",)
    ]  # fmt: skip
    assert SECRET.encode() in raw(backup)


def test_a_backup_that_still_holds_the_text_is_not_clean(database: ResearchDatabase, tmp_path: Path) -> None:
    """In a memory that quotes the file, say: counted, told, and not counted as clean in the trail."""
    backup = tmp_path / "before.db"
    database.add_memory(memory_id="quote", title="Quote", content=f"# One\n\n{SECRET}", kind="knowledge")
    database.backup(backup)
    database.forget(memory_ids=["quote"])
    report = database.forget(source_refs=["notes/a.md"], backups=[backup])
    (told,) = report.backups
    assert (report.result, report.held_here) == ("clean", {})
    assert (told["result"], told["held_here"], told["counts"]["chunks"]) == ("residue", {"memory": 1}, 1)
    trail = "SELECT state, backups_clean FROM forget_trail ORDER BY revision"
    assert rows(database.path, trail) == [("verified", 0), ("verified", 0)]
    assert rows(backup, "SELECT state FROM forget_trail") == [("residue",)]
    assert database.verify_audit().damages == () and check_store(backup).passed


def test_nothing_is_erased_when_a_backup_refuses(database: ResearchDatabase, tmp_path: Path) -> None:
    """The refusal names the backup; the database and the backups before it are as they were."""
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    database.add_memory(memory_id="m", title="M", content="the okapi memo", kind="knowledge")
    database.backup(first)
    move(database, tmp_path, "notes/a.md", "notes/b.md")
    database.backup(second)
    database.forget(source_refs=["notes/b.md"])  # so that this file knows neither name any more
    with pytest.raises(InputError, match=r"second\.db': 'notes/a\.md' is called 'notes/b\.md' now.*Nothing was erased"):
        database.forget(memory_ids=["m"], source_refs=["notes/a.md"], backups=[first, second])
    held = "SELECT (SELECT count(*) FROM memory), (SELECT count(*) FROM forget_receipt), (SELECT count(*) FROM source)"
    assert (rows(first, held), rows(database.path, held)) == ([(1, 0, 2)], [(1, 1, 1)])
    report = database.forget(memory_ids=["m"], source_refs=["notes/b.md"], backups=[second, second])
    assert [(item["result"], SECRET.encode() in raw(second)) for item in report.backups] == [("clean", False)]


def test_a_backup_that_an_interrupted_erasure_did_not_reach_is_not_clean(
    database: ResearchDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finished by the same call, this file knows the text by hash only: a backup that has it under another name is told of."""
    from arr_sql.memory import forget_proof

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    backup = tmp_path / "before.db"
    database.backup(backup)
    move(database, tmp_path, "notes/a.md", "notes/b.md")
    with monkeypatch.context() as patch:
        patch.setattr(forget_proof, "clean_file", stop)
        with pytest.raises(KeyboardInterrupt):
            database.forget(source_refs=["notes/b.md"])
    report = database.forget(source_refs=["notes/b.md"], backups=[backup])
    (told,) = report.backups
    assert (len(report.completed), told["result"], told["held_here"]) == (1, "residue", {"chunk": 1})
    assert rows(database.path, "SELECT state, backups_clean FROM forget_trail") == [("verified", 0)]
    assert database.forget(source_refs=["notes/a.md"], backups=[backup]).backups[0]["result"] == "clean"
    assert SECRET.encode() not in raw(backup) and database.verify_audit().damages == ()


# --- Records ----------------------------------------------------------------------------------------------------------


def test_the_evidence_of_a_file_that_took_the_name_over_stays(
    database: ResearchDatabase, write: Write, tmp_path: Path
) -> None:
    """Renamed, and another file under the old name: each record loses what came from the forgotten one only."""
    old = database.search("quagga subject").retrieval_id
    move(database, tmp_path, "notes/a.md", "notes/b.md")
    write("notes/a.md", "# Two\n\nthe okapi is another matter\n")
    database.sync()
    new = database.search("okapi matter").retrieval_id
    both = database.search("quagga okapi").retrieval_id
    assert [item[1] for item in evidence(database, both)][:2] in (
        ["notes/a.md", "notes/b.md"],
        ["notes/b.md", "notes/a.md"],
    )
    before = evidence(database, new)
    assert ("notes/a.md" in {item[1] for item in before}, evidence(database, old)[0][1]) == (True, "notes/a.md")
    report = database.forget(source_refs=["notes/b.md"])
    assert evidence(database, new) == before and evidence(database, old)[0][1:] == ("(erased)", "(erased)")
    assert sorted(item[1] for item in evidence(database, both))[:2] == ["(erased)", "notes/a.md"]
    assert report.counts["retrievals_rewritten"] == 2
    assert (report.result, report.held_here, report.still_on_disk) == ("clean", {}, ("notes/b.md",))
    assert database.verify_audit().damages == ()


def test_a_line_without_a_chunk_goes_by_what_its_name_meant(
    database: ResearchDatabase, write: Write, tmp_path: Path
) -> None:
    """grep reads the disk: a line that no chunk has yet is the file's that had, or then got, the name."""
    write("notes/a.md", f"# One\n\n{SECRET}\n\nand the `thylacine_17` as well\n")
    mine = database.search("`thylacine_17`", plan=GREP).retrieval_id
    move_there = tmp_path / "notes/a.md"
    write("notes/a.md", f"# One\n\n{SECRET}\n")
    move_there.rename(tmp_path / "notes/b.md")
    assert database.sync().renamed
    write("notes/a.md", "# Two\n\nthe `thylacine_17` is another matter\n")
    theirs = database.search("`thylacine_17`", plan=GREP).retrieval_id
    assert [evidence(database, name)[0][:2] for name in (mine, theirs)] == [("g", "notes/a.md")] * 2
    write("notes/b.md", f"# One\n\n{SECRET}\n\nand the `thylacine_18` as well\n")
    late = database.search("`thylacine_18`", plan=GREP).retrieval_id
    database.sync()
    before = evidence(database, theirs)
    database.forget(source_refs=["notes/b.md"])
    assert evidence(database, theirs) == before
    assert [evidence(database, name)[0][1:] for name in (mine, late)] == [("(erased)", "(erased)")] * 2
    assert database.verify_audit().damages == ()


def test_a_former_name_that_is_left_out_now_is_another_file(
    database: ResearchDatabase, write: Write, tmp_path: Path
) -> None:
    """What the last walk left out under a former name is not the forgotten file."""
    move(database, tmp_path, "notes/a.md", "notes/b.md")
    write("notes/a.md", b"\x00\x01\x02" * 50)
    database.sync()
    report = database.forget(source_refs=["notes/b.md"])
    assert "left_out_names" not in report.counts
    assert rows(database.path, "SELECT path_in_root FROM source_left_out") == [("a.md",)]


def test_when_a_name_means_whom() -> None:
    """By hand: source 1 has the name from revision 2, source 2 from 6, source 1 again from 9; 12 forgets source 1."""
    held = [(1, 2, 5), (2, 6, 8), (1, 9, None)]
    versions = [
        {"source_ref": "a", "source_id": source, "added_revision": first, "retired_revision": last}
        for source, first, last in held
    ]
    assert spans_of(versions, {1}, ["a", "never"]) == [
        NameSpan("never", 0, None), NameSpan("a", 0, 5), NameSpan("a", 8, None)
    ]  # fmt: skip
    assert spans_of(versions, {2}, ["a"]) == [NameSpan("a", 5, 8)]
    span = NameSpan("a", 5, 8)
    assert [span.covers("a", at) for at in (4, 5, 7, 8)] == [False, True, True, False] and not span.covers("b", 6)
    assert (names_of_others(versions, {1}), names_of_others(versions, {2})) == (frozenset(), {"a"})


@pytest.mark.parametrize(
    ("row", "has_same_chunk", "goes"),
    [
        ({"id": 1, "created_at": "t1", "source_ref": "other"}, False, True),  # the same source
        ({"id": 2, "created_at": "t2", "source_ref": "asked"}, True, False),  # one that stays
        ({"id": 1, "created_at": "t9", "source_ref": "asked"}, False, True),  # unknown, of the name
        ({"id": 1, "created_at": "t9", "source_ref": "other"}, True, True),  # unknown, of the text
        ({"id": 1, "created_at": "t9", "source_ref": "other"}, False, False),
    ],
)
def test_which_source_of_a_backup_goes(row: dict[str, Any], has_same_chunk: bool, goes: bool) -> None:
    """Identity first, then name or text."""
    known = Known(frozenset({(1, "t1")}), frozenset({(2, "t2")}), frozenset({"asked"}))
    assert is_known(row, known, ["asked"], has_same_chunk) is goes


def test_no_id_of_a_retrieval_is_given_twice(
    database: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """Also after all of the scope's records went, whatever was done since; a neighbour's numbers are its own."""
    other = make_database(scope=other_scopes()[0], path=database.path)
    ids = [database.search("router budget").retrieval_id for _ in range(11)]
    other.search("router budget")
    for _ in range(2):
        database.forget(whole_scope=True)
        database.add(tmp_path / "notes")
        ids += [database.search("router budget").retrieval_id for _ in range(2)]
    numbers = [int(str(name)[1:].partition("-")[0]) for name in ids]
    assert numbers == list(range(1, 16)) and len(set(ids)) == 15
    assert str(other.search("router budget").retrieval_id).startswith("r2-")
    with pytest.raises(InputError, match="no retrieval"):
        database.replay(str(ids[0]))
    assert database.replay(str(ids[-1])).outcome == "identical" and database.verify_audit().damages == ()


# --- Tables of others -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["scope_id INTEGER, note", "note"])
def test_a_table_of_somebody_else_is_counted_by_name(database: ResearchDatabase, column: str) -> None:
    """It is not erased, and it is not passed over: the report and the trail say that the bytes are still there."""
    writer = open_writer(database.path)
    writer.execute(f"CREATE TABLE my_notes ({column})")
    values = f"1, 'see: {SECRET}'" if "," in column else f"'see: {SECRET}'"
    writer.execute(f"INSERT INTO my_notes VALUES ({values})")
    writer.execute(f"CREATE VIEW my_view AS SELECT '{SECRET}' AS note")
    writer.execute("INSERT INTO my_notes (note) VALUES ('router quagga')")
    writer.close()
    report = database.forget(source_refs=["notes/a.md"])
    assert (report.result, report.held_here) == ("clean", {})
    assert report.held_in_file == {"my_notes": 1, "my_view": 1}
    assert rows(database.path, "SELECT state, held_elsewhere FROM forget_trail") == [("verified", 1)]


def test_without_such_a_table_nothing_is_counted(database: ResearchDatabase) -> None:
    """arr_sql's own tables, those of the text index and of the migrations included, are not others'."""
    report = database.forget(source_refs=["notes/a.md"])
    assert (report.held_in_file, report.result) == ({}, "clean")
    assert rows(database.path, "SELECT held_elsewhere FROM forget_trail") == [(0,)]
