"""Backups while others write, restoring, and the tree of text that makes the same file again."""

from __future__ import annotations

import hashlib
import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_reader, open_writer, sqlite3
from arr_sql.database import ResearchDatabase
from arr_sql.errors import ArrError, InputError, NotAnArrDatabase, StoreDamaged, StoreFull, StoreMissing
from arr_sql.memory import store_copy, store_export
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, MakeDatabase, StepClock, other_scopes
from tests.promises.test_concurrency import SAVE, Started

Write = Callable[[str, str | bytes], Path]
QUERIES = ("router budget", "学习率减半", "plane", "ERR-42", "nothing of the kind")


@pytest.fixture
def database(make_database: MakeDatabase, write: Write, tmp_path: Path) -> ResearchDatabase:
    """Two scopes with sources in versions, vectors, memories with every kind of field, approvals, an erasure, records."""
    write("notes/a.md", "# Router\n\nThe router keeps a budget.\n\n## Plane\n\nERR-42 \u2028 in the plane.\n")
    write("notes/b.md", "# 学习率\n\n当验证集损失不再下降时，学习率减半。\n")
    write("notes/c.md", "# Gone\n\nwill be forgotten\n")
    for scope in (other_scopes()[0], SCOPE):
        made = make_database(scope=scope)
        made.add(tmp_path / "notes")
        made.embed()
        made.add_memory(memory_id="m1", title="budget", content="the router budget is 2", kind="knowledge", confidence=0.3,
                        metadata={"n": 1.5, "路": [None, True]}, conflict_key="k", source_refs=["notes/a.md"])  # fmt: skip
        made.set_memory_status("m1", "published", "measured")
        made.add_memory(memory_id="case", title="Case", content="try it", kind="research_case")
        made.request_approval("case", {"plan": "一"}, risk_level="low")
        made.set_memory_status("case", "revoked", "not now")
        made.search("router budget")
    write("notes/a.md", "# Router\n\nThe router keeps a larger budget.\n\n## Plane\n\nERR-42 in the plane.\n")
    made.sync()
    made.embed()
    made.forget(source_refs=["notes/c.md"])
    return made


def answers(database: ResearchDatabase) -> list[Any]:
    """Everything that can be asked of a file, durations and the place of the file aside."""
    found: list[Any] = []
    for query in QUERIES:
        value = database.search(query, write_record=False).model_dump(mode="json")
        value["traces"] = [{**trace, "duration_ms": 0} for trace in value["traces"]]
        found.append(value)
    found += [memory.model_dump(mode="json") for memory in database.memories()]
    found += [event.model_dump(mode="json") for event in database.audit_events(limit=1000)]
    found += [*database.retrievals(limit=1000), vars(database.verify_audit()), database.scopes()]
    status = database.status()
    return [*found, {name: value for name, value in status.items() if name not in ("database", "file_bytes")}]


def again(database: ResearchDatabase, path: Path, make_database: MakeDatabase) -> ResearchDatabase:
    return make_database(path=path, folder=database.project_folder)


def test_a_backup_gives_the_same_answers(
    database: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """One file, checked, with everything in it; the restored database too."""
    size = database.backup(tmp_path / "copies" / "lab.db")
    assert [item.name for item in (tmp_path / "copies").iterdir()] == ["lab.db"]
    assert size == (tmp_path / "copies" / "lab.db").stat().st_size
    before = (tmp_path / "copies" / "lab.db").read_bytes()
    assert check_store(tmp_path / "copies" / "lab.db").passed
    assert (tmp_path / "copies" / "lab.db").read_bytes() == before  # checking changes no byte and leaves no file
    assert [item.name for item in (tmp_path / "copies").iterdir()] == ["lab.db"]
    store_copy.copy_store(tmp_path / "copies" / "lab.db", tmp_path / "restored.db")
    expected = answers(database)
    assert answers(again(database, tmp_path / "restored.db", make_database)) == expected


def test_a_full_disk_is_the_copy_s(database: ResearchDatabase, tmp_path: Path) -> None:
    """The file that is copied is only read: the error names where there was no room, and nothing is left there."""

    def full(done: int, total: int) -> None:
        raise StoreFull(f"The disk that holds '{database.path}' is full.")

    with pytest.raises(StoreFull, match=r"copy\.db' was to be made is full. Nothing was kept"):
        store_copy.copy_store(database.path, tmp_path / "copies" / "copy.db", full)
    assert list((tmp_path / "copies").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="a file has no such permissions there")
def test_no_copy_is_more_readable_than_the_file(database: ResearchDatabase, tmp_path: Path) -> None:
    """What the owner alone may read, the owner alone may read in a backup (while it is made too), a tree, and what is made of it."""
    database.path.chmod(0o600)
    modes = []

    def look(done: int, total: int) -> None:
        modes.extend(item.stat().st_mode & 0o777 for item in (tmp_path / "copies").iterdir())

    store_copy.copy_store(database.path, tmp_path / "copies" / "copy.db", look)
    database.export(tmp_path / "tree")
    store_export.import_store(tmp_path / "tree", tmp_path / "copies" / "imported.db")
    made = [*(tmp_path / "copies").iterdir(), *(tmp_path / "tree").rglob("*.json*")]
    modes += [item.stat().st_mode & 0o777 for item in made]
    assert len(modes) > 20 and set(modes) == {0o600}


def test_a_backup_while_two_processes_write(database: ResearchDatabase, tmp_path: Path) -> None:
    """Backups taken one after another beside two writers: each is a whole state, no writer fails, and later ones hold more."""
    writers = [Started(SAVE, database.path, name, 60) for name in ("a", "b")]
    for writer in writers:
        writer.say()
    counts = []
    for turn in range(4):
        target = tmp_path / f"copy{turn}.db"
        database.backup(target)
        reader = open_reader(target)
        counts.append(reader.execute("SELECT count(*) FROM memory").fetchone()[0])
        reader.close()
        assert check_store(target).passed
    assert [writer.end() for writer in writers] == [["done"], ["done"]]
    assert counts == sorted(counts)
    assert len(database.memories()) == 122 and check_store(database.path).passed


def test_nothing_is_overwritten(database: ResearchDatabase, tmp_path: Path) -> None:
    """Neither by a backup nor by a restore or import, nor where SQLite's own files of another database lie."""
    target = tmp_path / "x.db"
    target.write_bytes(b"precious")
    for step in (
        lambda: database.backup(target),
        lambda: store_copy.copy_store(database.path, target),
        lambda: store_export.import_store(tmp_path / "tree", target),
    ):
        if not (tmp_path / "tree").exists():
            database.export(tmp_path / "tree")
        with pytest.raises(InputError, match=r"exists already\. Nothing is overwritten"):
            step()
    assert target.read_bytes() == b"precious"
    (tmp_path / "y.db-wal").write_bytes(b"of another")
    with pytest.raises(InputError, match="exists already"):
        database.backup(tmp_path / "y.db")
    with pytest.raises(InputError, match="not an empty folder"):
        database.export(tmp_path / "tree")


def test_a_file_made_meanwhile_is_not_overwritten(
    database: ResearchDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two backups to one name at once: the first that is done has it."""
    target = tmp_path / "x.db"
    real = store_copy.require_whole

    def slow(path: Path, origin: Path) -> None:
        real(path, origin)
        target.write_bytes(b"quicker")

    monkeypatch.setattr(store_copy, "require_whole", slow)
    with pytest.raises(InputError, match="made by somebody else meanwhile"):
        database.backup(target)
    assert target.read_bytes() == b"quicker"
    assert not list(tmp_path.glob(".x.db*"))


def test_a_damaged_file_makes_no_copy(database: ResearchDatabase, tmp_path: Path) -> None:
    """What does not pass the checks gets no name; foreign and missing files say what they are."""
    bad = tmp_path / "bad.db"
    database.backup(bad)
    connection = sqlite3.connect(bad)
    connection.execute("UPDATE memory SET content = 'other words' WHERE memory_id = 'm1'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreDamaged, match=r"does not pass the checks \(.*text_changed at event"):
        store_copy.copy_store(bad, tmp_path / "new.db")
    (tmp_path / "text.db").write_text("no database at all, but long enough to be read as a header" * 9)
    with pytest.raises(NotAnArrDatabase):
        store_copy.copy_store(tmp_path / "text.db", tmp_path / "new.db")
    with pytest.raises(StoreMissing):
        store_copy.copy_store(tmp_path / "none.db", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists() and not list(tmp_path.glob(".new.db*"))


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_copy_is_no_more_open_than_the_original(database: ResearchDatabase, tmp_path: Path) -> None:
    """A file that only its owner may read makes a copy that only its owner may read."""
    database.path.chmod(0o600)
    database.backup(tmp_path / "x.db")
    assert stat.S_IMODE((tmp_path / "x.db").stat().st_mode) == 0o600


def test_an_export_makes_the_same_file_again(
    database: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """Same answers, same log, same ids; and its own export is the same tree to the byte."""
    expected = answers(database)
    rows = database.export(tmp_path / "tree")
    assert store_export.import_store(tmp_path / "tree", tmp_path / "copy.db") == rows
    assert rows["approval_package"] == 2 and rows["forget_receipt"] == 1 and rows["chunk"] > 5
    copy = again(database, tmp_path / "copy.db", make_database)
    assert answers(copy) == expected
    assert check_store(copy.path).passed
    copy.export(tmp_path / "tree2")
    files = sorted(item.relative_to(tmp_path / "tree") for item in (tmp_path / "tree").rglob("*") if item.is_file())
    assert len(files) > 15
    for name in files:
        assert (tmp_path / "tree" / name).read_bytes() == (tmp_path / "tree2" / name).read_bytes()
    writer = open_writer(copy.path)  # the triggers are back
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        writer.execute("DELETE FROM audit_event")
    writer.close()
    again(database, tmp_path / "copy.db", make_database).add_memory(
        title="goes on", content="in the copy", kind="knowledge"
    )
    assert copy.verify_audit().damages == ()


def test_the_tree_is_lines_of_json(database: ResearchDatabase, tmp_path: Path) -> None:
    """One row a line in the order of the key, letters as they are, BLOBs in base64; a change is a change of few lines."""
    database.export(tmp_path / "one")
    database.add_memory(memory_id="m9", title="new", content="words", kind="knowledge")
    database.export(tmp_path / "two")
    changed = {}
    for file in sorted((tmp_path / "one" / "tables").iterdir()):
        old, new = (set((tmp_path / side / "tables" / file.name).read_bytes().split(b"\n")) for side in ("one", "two"))
        if old != new:
            changed[file.stem] = (len(old - new), len(new - old))
    assert changed == {"audit_event": (0, 1), "memory": (0, 1), "scope": (1, 1), "scope_index": (2, 2)}
    chunks = [
        json.loads(line) for line in (tmp_path / "one/tables/chunk.jsonl").read_text("utf-8").splitlines() if line
    ]
    assert [row["id"] for row in chunks] == sorted(row["id"] for row in chunks)
    text = (tmp_path / "one/tables/chunk.jsonl").read_bytes()
    assert (
        "学习率减半".encode() in text and b'"base64":' in (tmp_path / "one/tables/chunk_embedding.jsonl").read_bytes()
    )


def mended(tree: Path, change: Callable[[bytes], bytes], *, count: bool = True, name: str = "memory") -> None:
    """A changed table under a manifest that fits it: what the manifest can't tell, the rows must."""
    file, manifest = tree / f"tables/{name}.jsonl", tree / "manifest.json"
    file.write_bytes(data := change(file.read_bytes()))
    value = json.loads(manifest.read_text("utf-8"))
    value["tables"][name]["sha256"] = hashlib.sha256(data).hexdigest()
    if count:
        value["tables"][name]["rows"] = data.count(b"\n")
    manifest.write_text(json.dumps(value), "utf-8")


def first_row(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[bytes], bytes]:
    """The table with another first row, written as an export writes it."""

    def changed(data: bytes) -> bytes:
        line, _, rest = data.partition(b"\n")
        value = json.dumps(change(json.loads(line)), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return value.encode() + b"\n" + rest

    return changed


DEEP = b"[" * 100_000 + b"]" * 100_000
NO_ROW, NO_FIT = r"memory\.jsonl:1 is not a row of an export", r"memory\.jsonl' has a row that does not fit"
SPOILT: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no manifest": (lambda tree: (tree / "manifest.json").unlink(), "has no manifest.json"),
    "a manifest of another": (lambda tree: (tree / "manifest.json").write_text("[]"), "not the manifest of an export"),
    "a deep manifest": (lambda tree: (tree / "manifest.json").write_bytes(DEEP), "not the manifest of an export"),
    "a name twice in the manifest": (
        lambda tree: (tree / "manifest.json").write_text((tree / "manifest.json").read_text().replace("{", '{"version":1,', 1)),
        "not the manifest of an export"),
    "a table elsewhere": (
        lambda tree: (tree / "manifest.json").write_text((tree / "manifest.json").read_text().replace('"memory"', '"../memory"')),
        "not the manifest of an export"),
    "a missing table": (lambda tree: (tree / "tables/memory.jsonl").unlink(), "is missing"),
    "a changed line": (
        lambda tree: (tree / "tables/memory.jsonl").write_bytes((tree / "tables/memory.jsonl").read_bytes().replace(b"budget", b"bodget")),
        "is not what the manifest says"),
    "a line that is no row": (lambda tree: mended(tree, lambda data: b"{nonsense\n" + data), NO_ROW),
    "a deep line": (lambda tree: mended(tree, lambda data: b'{"id":' + DEEP + b"}\n" + data), NO_ROW),
    "a deep line, not mended": (lambda tree: (tree / "tables/memory.jsonl").write_bytes(DEEP), "is not what the manifest says"),
    "a number that is too large": (lambda tree: mended(tree, first_row(lambda row: {**row, "id": 2**63})), NO_ROW),
    "a truth as a number": (lambda tree: mended(tree, first_row(lambda row: {**row, "id": True})), NO_ROW),
    "half a character": (lambda tree: mended(tree, first_row(lambda row: {**row, "title": "\ud800"})), NO_ROW),
    "other ends of lines": (lambda tree: mended(tree, lambda data: data.replace(b"\n", b"\r\n")), NO_ROW),
    "a name twice in a row": (lambda tree: mended(tree, lambda data: b'{"id":1,' + data[1:]), NO_ROW),
    "no end of the last line": (lambda tree: mended(tree, lambda data: data[:-1]), r"memory\.jsonl:\d+ is not a row"),
    "another count": (lambda tree: mended(tree, lambda data: data.partition(b"\n")[2], count=False), "and the manifest says"),
    "a missing column": (
        lambda tree: mended(tree, first_row(lambda row: {k: v for k, v in row.items() if k != "title"})), NO_FIT),
    "an unknown column": (lambda tree: mended(tree, first_row(lambda row: {**row, "zzz": 1})), NO_FIT),
    "a wrong type": (lambda tree: mended(tree, first_row(lambda row: {**row, "confidence": "much"})), NO_FIT),
    "a row twice": (lambda tree: mended(tree, lambda data: data.partition(b"\n")[0] + b"\n" + data), NO_FIT),
    "another schema": (
        lambda tree: (tree / "manifest.json").write_text((tree / "manifest.json").read_text().replace("0001_", "0000_")),
        "exported at another schema"),
}  # fmt: skip


@pytest.mark.parametrize("what", SPOILT)
def test_a_spoilt_tree_makes_no_file(database: ResearchDatabase, tmp_path: Path, what: str) -> None:
    """Each fault is named with its file, and nothing is left."""
    database.export(tmp_path / "tree")
    spoil, message = SPOILT[what]
    spoil(tmp_path / "tree")
    with pytest.raises(InputError, match=message):
        store_export.import_store(tmp_path / "tree", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists() and not list(tmp_path.glob(".new.db*"))


def test_an_edited_tree_with_a_fitting_manifest_is_damage(database: ResearchDatabase, tmp_path: Path) -> None:
    """Whoever changes a row and mends the manifest is found by the audit chain."""
    database.export(tmp_path / "tree")
    file = tmp_path / "tree/tables/memory.jsonl"
    old = file.read_bytes()
    new = old.replace(b"the router budget is 2", b"the router budget is 3")
    file.write_bytes(new)
    manifest = tmp_path / "tree/manifest.json"
    manifest.write_text(manifest.read_text().replace(hashlib.sha256(old).hexdigest(), hashlib.sha256(new).hexdigest()))
    with pytest.raises(ArrError, match="does not pass the checks"):
        store_export.import_store(tmp_path / "tree", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_progress_is_told(database: ResearchDatabase, tmp_path: Path) -> None:
    """Pages of a backup and tables of an export: from the start to the whole."""
    seen: list[tuple[int, int]] = []
    database.backup(tmp_path / "x.db", lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1] > 10
    seen.clear()
    database.export(tmp_path / "tree", lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 0 and seen[-1][0] == seen[-1][1] > 10
    assert StepClock is not None
