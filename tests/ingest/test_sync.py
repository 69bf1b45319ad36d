"""Sync: exactly what happened on disk is reported and stored, nothing else, and nothing of what is gone remains."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arr_sql.core.connection import open_reader
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, PathRefused
from arr_sql.ingest.sync import BATCH_FILES, SyncSummary
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, MakeDatabase, other_scopes
from tests.core.test_git_identity import git

ROOT = Path(__file__).resolve().parents[2]
PLAN = {"version": 1, "tool_rounds": [[{"tool": "bm25"}, {"tool": "vector"}]], "reason": "test"}
Write = Callable[[str, "str | bytes"], Path]

pytestmark = pytest.mark.usefixtures("_whole_at_the_end")


@pytest.fixture
def database(make_database: MakeDatabase, tmp_path: Path) -> ResearchDatabase:
    """A database of the project folder, nothing added yet."""
    return make_database(folder=tmp_path)


@pytest.fixture
def _whole_at_the_end(tmp_path: Path) -> Iterator[None]:
    """After each test here the file passes `arr db check`."""
    yield
    path = tmp_path / ".arr" / "arr.db"
    if path.exists():
        assert [finding for finding in check_store(path).findings if not finding.passed] == []


def did(summary: SyncSummary) -> dict[str, object]:
    """What a sync reports, without what is empty."""
    whole = {
        "added": summary.added, "changed": summary.changed, "renamed": summary.renamed, "removed": summary.removed,
        "touched": summary.touched, "unchanged": summary.unchanged, "left_out": dict(summary.left_out),
    }  # fmt: skip
    return {name: value for name, value in whole.items() if value}


def ask(database: ResearchDatabase, statement: str) -> list[tuple[object, ...]]:
    reader = open_reader(database.path)
    try:
        return [tuple(row) for row in reader.execute(statement)]
    finally:
        reader.close()


def sources(database: ResearchDatabase) -> list[object]:
    return [
        row[0]
        for row in ask(
            database, "SELECT source_ref FROM source_version WHERE retired_revision IS NULL ORDER BY source_ref"
        )
    ]


def chunks(database: ResearchDatabase) -> dict[object, object]:
    """The live chunks: id -> text."""
    return dict(ask(database, "SELECT chunk_id, content FROM chunk WHERE retired_revision IS NULL"))  # type: ignore[arg-type]


def found(database: ResearchDatabase, query: str) -> list[str]:
    return [item.source_ref for item in database.search(query, plan=PLAN).evidence if query in item.content]


def touch(path: Path) -> None:
    """Another modification time, the same bytes."""
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000_000))


def age(folder: Path) -> None:
    """Files written just now get the time of an hour ago: a file that has just changed is read again to be sure."""
    now = time.time_ns()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_mtime_ns > now - 60_000_000_000:
            os.utime(path, ns=(now, now - 3_600_000_000_000))


# --- What happened is what is reported --------------------------------------------------------------------------------


def test_each_change_is_reported_as_what_it_is(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """Touched, edited, renamed, deleted, added and untouched files are each in exactly the list of that name."""
    for name in ("touched", "edited", "renamed", "deleted", "same"):
        write(f"notes/{name}.md", f"# {name}\n\ntext of {name}\n")
    age(tmp_path)
    assert did(database.add(tmp_path / "notes")) == {
        "added": [f"notes/{name}.md" for name in ("deleted", "edited", "renamed", "same", "touched")]
    }
    touch(tmp_path / "notes/touched.md")
    write("notes/edited.md", "# edited\n\nother text\n")
    (tmp_path / "notes/renamed.md").rename(tmp_path / "notes/moved.md")
    (tmp_path / "notes/deleted.md").unlink()
    write("notes/new.md", "# new\n\ntext of new\n")
    age(tmp_path)
    assert did(database.sync()) == {
        "added": ["notes/new.md"], "changed": ["notes/edited.md"], "renamed": [("notes/renamed.md", "notes/moved.md")],
        "removed": ["notes/deleted.md"], "touched": ["notes/touched.md"], "unchanged": 1,
    }  # fmt: skip
    again = database.sync()
    assert (did(again), again.bytes_read) == ({"unchanged": 5}, 0)


def test_the_log_tells_the_same(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """Each change has one event of its kind; an untouched file has none."""
    for name in ("a", "b", "c"):
        write(f"notes/{name}.md", f"text {name}\n")
    database.add(tmp_path / "notes")
    write("notes/a.md", "other\n")
    (tmp_path / "notes/b.md").rename(tmp_path / "notes/d.md")
    (tmp_path / "notes/c.md").unlink()
    database.sync()
    kinds = [event.kind for event in database.audit_events()]
    assert sorted(kinds) == sorted(
        ["scope_opened", "root_added", *["source_added"] * 3, "source_changed", "source_renamed", "source_removed"]
    )
    database.sync()
    assert len(database.audit_events()) == len(kinds)


def test_deleted_and_renamed_files_leave_nothing(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """stale-01: no orphan chunk, posting or live vector remains; the renamed file keeps its chunk ids and vectors."""
    write("notes/a.md", "alphaunique here\n")
    write("notes/b.md", "betaunique here\n")
    database.add(tmp_path / "notes")
    assert database.embed().embedded == 2
    kept = {key for key, text in chunks(database).items() if "betaunique" in str(text)}
    (tmp_path / "notes/a.md").unlink()
    (tmp_path / "notes/b.md").rename(tmp_path / "notes/c.md")
    database.sync()
    assert (found(database, "alphaunique"), found(database, "betaunique")) == ([], ["notes/c.md"])
    assert (set(chunks(database)), sources(database)) == (kept, ["notes/c.md"])
    assert ask(database, "SELECT count(*) FROM chunk_embedding WHERE retired_revision IS NULL") == [(1,)]
    assert ask(database, "SELECT count(DISTINCT doc) FROM chunk_term") == [(1,)]
    assert ask(database, "SELECT count(*) FROM chunk_term WHERE term LIKE '%alphauniqu%'") == [(0,)]
    assert [event.kind for event in database.audit_events() if event.kind == "source_removed"] == ["source_removed"]


def test_a_shrunk_file_leaves_no_tail(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """stale-02: of a long note cut to one paragraph exactly the new chunks and their vectors exist."""
    long = "\n\n".join(f"## Part {n}\n\n{f'filler{n} ' * 150}" for n in range(5)) + "\n\ntailword\n"
    write("notes/long.md", long)
    database.add(tmp_path / "notes")
    database.embed()
    assert len(chunks(database)) >= 5 and found(database, "tailword")
    write("notes/long.md", "One paragraph.\n")
    database.sync()
    database.embed()
    assert found(database, "tailword") == []
    assert list(chunks(database).values()) == ["One paragraph."]
    assert ask(database, "SELECT count(*) FROM chunk_embedding WHERE retired_revision IS NULL") == [(1,)]
    assert ask(database, "SELECT count(DISTINCT doc) FROM chunk_term") == [(1,)]


def parts(*names: str) -> str:
    return "\n\n".join(f"# {name}\n\n{f'{name} ' * 200}" for name in names)


def test_unchanged_chunks_keep_their_rows_and_moved_ones_their_ids(
    database: ResearchDatabase, tmp_path: Path, write: Write
) -> None:
    """Appending keeps the rows before it; inserting above moves texts, which keep their ids and take their vectors along."""
    write("notes/a.md", parts("one", "two", "three"))
    database.add(tmp_path / "notes")
    first = dict(ask(database, "SELECT id, chunk_id FROM chunk WHERE retired_revision IS NULL"))
    embedded = database.embed().embedded
    assert embedded == len(first) >= 3
    write("notes/a.md", parts("one", "two", "three") + "\n\n# four\n\nfour\n")
    summary = database.sync()
    after = dict(ask(database, "SELECT id, chunk_id FROM chunk WHERE retired_revision IS NULL"))
    assert (first.items() <= after.items(), summary.chunks_added, summary.chunks_retired) == (True, 1, 0)
    write("notes/a.md", "# zero\n\nzero\n\n" + parts("one", "two", "three") + "\n\n# four\n\nfour\n")
    database.sync()
    moved = dict(ask(database, "SELECT id, chunk_id FROM chunk WHERE retired_revision IS NULL"))
    assert set(first.values()) <= set(moved.values()) and not set(first) & set(moved)
    vectors = ask(database, "SELECT chunk FROM chunk_embedding WHERE retired_revision IS NULL")
    assert {row[0] for row in vectors} <= set(moved) and len(vectors) == embedded
    assert database.embed().embedded == 2


def test_equal_texts_in_one_file_and_in_two(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """The same text twice has two ids, in one file and across files, whichever goes first."""
    write("notes/a.md", parts("same", "same"))
    write("notes/b.md", parts("same"))
    database.add(tmp_path / "notes")
    total = len(chunks(database))
    assert total == len(ask(database, "SELECT id FROM chunk WHERE retired_revision IS NULL"))
    (tmp_path / "notes/a.md").unlink()
    database.sync()
    (tmp_path / "notes/b.md").rename(tmp_path / "notes/a.md")
    write("notes/b.md", parts("same", "same"))
    assert did(database.sync()) == {"added": ["notes/a.md"], "changed": ["notes/b.md"]}
    assert len(chunks(database)) == total


def test_files_that_swap_their_names(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """Two files that changed places are two changed files, and each path has its new text."""
    write("notes/a.md", "apple text\n")
    write("notes/b.md", "banana text, longer\n")
    database.add(tmp_path / "notes")
    (tmp_path / "notes/a.md").rename(tmp_path / "t")
    (tmp_path / "notes/b.md").rename(tmp_path / "notes/a.md")
    (tmp_path / "t").rename(tmp_path / "notes/b.md")
    assert did(database.sync()) == {"changed": ["notes/a.md", "notes/b.md"]}
    assert (found(database, "apple"), found(database, "banana")) == (["notes/b.md"], ["notes/a.md"])


def test_a_renamed_folder(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """A whole folder under another name is so many renames, each to the file of the same name."""
    for name in ("x", "y", "z"):
        write(f"notes/old/{name}.md", "the same text everywhere\n")
    database.add(tmp_path / "notes")
    ids = chunks(database)
    (tmp_path / "notes/old").rename(tmp_path / "notes/new")
    assert did(database.sync()) == {
        "renamed": [(f"notes/old/{name}.md", f"notes/new/{name}.md") for name in ("x", "y", "z")]
    }
    assert chunks(database) == ids


def test_a_new_ending_is_not_only_a_new_name(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """The same bytes under an ending that another reader takes are cut as that reader cuts them, in the same run."""
    text = "# Heading\n\nbody one\n\n# Second\n\nbody two\n"
    write("notes/a.txt", text)
    database.add(tmp_path / "notes")
    (tmp_path / "notes/a.txt").rename(tmp_path / "notes/a.md")
    assert did(database.sync()) == {"added": ["notes/a.md"], "removed": ["notes/a.txt"]}
    assert ask(database, "SELECT DISTINCT reader FROM source_version WHERE retired_revision IS NULL") == [("markdown",)]
    assert did(database.sync()) == {"unchanged": 1}


def test_a_file_rewritten_within_one_clock_tick_is_noticed(
    database: ResearchDatabase, tmp_path: Path, write: Write
) -> None:
    """Same size, same time, other bytes, right after it was read: size and time prove nothing about so young a file."""
    path = write("notes/a.md", "first text\n")
    database.add(tmp_path / "notes")
    before = path.stat()
    path.write_text("other text\n", "utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert did(database.sync()) == {"changed": ["notes/a.md"]}


# --- What is left out -------------------------------------------------------------------------------------------------


def test_every_file_left_out_is_counted_once_and_not_read_again(
    make_database: MakeDatabase, tmp_path: Path, write: Write
) -> None:
    """Unknown, binary, too large, sensitive, ignored and linked files each count once, and the next run reads nothing."""
    database = make_database(folder=tmp_path, max_file_bytes=2000)
    write("notes/a.md", "text\n")
    write("notes/x.unknown", "what is this\n")
    write("notes/binary.md", bytes(range(256)) * 4)
    write("notes/large.md", "x " * 2000)
    write("notes/.env", "PASSWORD=hunter2hunter2\n")
    write("notes/.gitignore", "ignored.md\nout/\n")
    write("notes/ignored.md", "x\n")
    write("notes/out/a.md", "x\n")
    write("notes/node_modules/m.js", "x\n")
    (tmp_path / "notes/link.md").symlink_to("a.md")
    os.mkfifo(tmp_path / "notes/pipe.md")
    expected = {"unknown_format": 1, "binary": 1, "too_large": 1, "sensitive_name": 1, "ignored": 2, "vendored_or_tool_folder": 1,
                "symlink": 1, "special_file": 1}  # fmt: skip
    age(tmp_path)
    first = database.add(tmp_path / "notes")
    assert (did(first), first.bytes_read) == (
        {"added": ["notes/.gitignore", "notes/a.md"], "left_out": expected},
        16 + 5 + 1024,
    )
    second = database.sync()
    assert (did(second), second.bytes_read) == ({"unchanged": 2, "left_out": expected}, 0)
    assert database.status()["left_out"] == expected


def test_a_file_that_becomes_unfit_is_taken_out(make_database: MakeDatabase, tmp_path: Path, write: Write) -> None:
    """A known file that turns binary, too large, ignored or into a link is removed and counted; back in order it returns."""
    database = make_database(folder=tmp_path, max_file_bytes=2000)
    names = ("binary", "large", "ignored", "link")
    for name in names:
        write(f"notes/{name}.md", f"good {name}\n")
    database.add(tmp_path / "notes")
    write("notes/binary.md", bytes(range(256)))
    write("notes/large.md", "x " * 2000)
    write("notes/.arrignore", "ignored.md\n")
    (tmp_path / "notes/link.md").unlink()
    (tmp_path / "notes/link.md").symlink_to("binary.md")
    summary = database.sync()
    assert sorted(summary.removed) == sorted(f"notes/{name}.md" for name in names)
    assert (sources(database), found(database, "good")) == ([], [])
    for name in names:
        (tmp_path / f"notes/{name}.md").unlink()
        write(f"notes/{name}.md", f"good {name} again\n")
    (tmp_path / "notes/.arrignore").unlink()
    database.sync()
    assert len(sources(database)) == 4


@contextmanager
def permissions_hold() -> Iterator[None]:
    """Inside, permission bits bind even root: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH are put down for this thread."""
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("root on this system can't give up its right to read everything")
    libc = ctypes.CDLL(None, use_errno=True)
    header, before = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, before) == 0
    without = (ctypes.c_uint32 * 6)(*before)
    without[0] &= ~0b110
    assert libc.capset(header, without) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits are a POSIX thing")
def test_what_cannot_be_read_just_now_keeps_its_last_version(
    database: ResearchDatabase, tmp_path: Path, write: Write
) -> None:
    """An edited file and a folder without permission keep what they had and are counted; readable again they are synced."""
    write("notes/a.md", "alpha one\n")
    write("notes/deep/b.md", "beta one\n")
    database.add(tmp_path / "notes")
    write("notes/a.md", "alpha two, edited\n")
    (tmp_path / "notes/a.md").chmod(0)
    (tmp_path / "notes/deep").chmod(0)
    with permissions_hold():
        summary = database.sync()
    assert did(summary) == {"left_out": {"permission_denied": 2}}
    assert (sources(database), found(database, "one")) == (
        ["notes/a.md", "notes/deep/b.md"],
        ["notes/a.md", "notes/deep/b.md"],
    )
    (tmp_path / "notes/a.md").chmod(0o644)
    (tmp_path / "notes/deep").chmod(0o755)
    assert did(database.sync()) == {"changed": ["notes/a.md"], "unchanged": 1}


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits are a POSIX thing")
def test_a_root_without_permission_keeps_everything(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """A root that may not be opened counts as not there, and nothing of it is removed."""
    write("notes/a.md", "alpha\n")
    database.add(tmp_path / "notes")
    for mode in (0, 0o100, 0o400):
        (tmp_path / "notes").chmod(mode)
        with permissions_hold():
            summary = database.sync()
        (tmp_path / "notes").chmod(0o755)
        assert (summary.removed, sources(database)) == ([], ["notes/a.md"])


def test_a_missing_root_keeps_everything(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """A root that is away (an unplugged disk) is named, its sources stay searchable, and it goes on when it is back."""
    write("notes/a.md", "alpha\n")
    database.add(tmp_path / "notes")
    (tmp_path / "notes").rename(tmp_path / "away")
    summary = database.sync()
    assert (did(summary), summary.roots_missing) == ({}, [str(tmp_path / "notes")])
    assert found(database, "alpha") == ["notes/a.md"]
    (tmp_path / "away").rename(tmp_path / "notes")
    assert did(database.sync()) == {"unchanged": 1}


def test_a_file_that_changes_while_it_is_read(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """A file written to without a pause is never stored torn: it is left out or whole, and a later sync takes it in."""
    path = write("notes/a.md", "0" * 50)
    write("notes/b.md", "steady\n")
    code = """
import sys
path, stop = sys.argv[1:]
import os
size = 200_000
number = 0
print("ready", flush=True)
while not os.path.exists(stop):
    number = (number + 1) % 10
    with open(path, "r+b") as handle:
        handle.write((f"{number} " * (size // 2)).encode())
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path), str(tmp_path / "stop")], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        first = database.add(tmp_path / "notes")
        for _ in range(5):
            database.sync()
        (tmp_path / "stop").touch()
        writer.wait()
    touch(path)  # its last write may lie in the same tick of the clock as the last read
    assert set(first.left_out) <= {"changed_while_reading"} and "notes/b.md" in first.added
    database.sync()
    assert sources(database) == ["notes/a.md", "notes/b.md"]
    text = path.read_text("ascii")
    stored = "".join(str(content) for content in chunks(database).values())
    assert set(stored) - set("steady\n 0123456789") == set()
    assert {character for character in stored if character.isdigit()} == {
        character for character in text if character.isdigit()
    }


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names on this system are Unicode")
def test_a_name_that_is_not_utf8(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """A file whose name is no UTF-8 is left out, counted, and shown with its bytes escaped; its neighbours are taken in."""
    write("notes/a.md", "alpha\n")
    (tmp_path / "notes" / os.fsdecode(b"caf\xe9.md")).write_text("beta\n", "utf-8")
    (tmp_path / "notes" / os.fsdecode(b"d\xe9")).mkdir()
    (tmp_path / "notes" / os.fsdecode(b"d\xe9") / "c.md").write_text("gamma\n", "utf-8")
    for _ in range(2):
        assert dict(database.add(tmp_path / "notes").left_out) == {"name_not_utf8": 2}
    assert ask(database, "SELECT path_in_root FROM source_left_out ORDER BY 1") == [
        ("caf\\udce9.md",),
        ("d\\udce9/c.md",),
    ]


@pytest.mark.parametrize(
    "name",
    ["a b.md", "研究/笔记.md", "a%20b.md", "-rf.md", "e\u0301.md", "new\nline.md", "'quote\".md", "x" * 200 + ".md"],
)
def test_odd_names(database: ResearchDatabase, tmp_path: Path, write: Write, name: str) -> None:
    """Any name that is UTF-8 is a source reference as it stands."""
    write(f"notes/{name}", "alpha\n")
    assert database.add(tmp_path / "notes").added == [f"notes/{name}"]
    assert found(database, "alpha") == [f"notes/{name}"]
    assert did(database.sync()) == {"unchanged": 1}


# --- Roots ------------------------------------------------------------------------------------------------------------


def test_a_root_inside_another(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """Each file belongs to one root: the inner one when it was added first, the outer one otherwise."""
    write("notes/a.md", "alpha\n")
    write("notes/inner/b.md", "beta\n")
    write("notes/inner.md", "gamma\n")
    assert database.add(tmp_path / "notes/inner").added == ["notes/inner/b.md"]
    assert database.add(tmp_path / "notes").added == ["notes/a.md", "notes/inner.md"]
    assert did(database.add(tmp_path / "notes/inner")) == {"unchanged": 1}
    assert len(database.roots()) == 2
    assert did(database.sync()) == {"unchanged": 3}
    assert did(database.add(tmp_path)) == {"left_out": {"vendored_or_tool_folder": 1}}
    assert did(database.add(tmp_path / "notes/a.md")) == {"unchanged": 2}
    assert len(database.roots()) == 3


def test_a_single_file(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """Adding a file takes in that file alone; edits, removal and return are noticed; a longer name is not its own."""
    write("notes/a.md", "alpha\n")
    write("notes/a.md.txt", "beta\n")
    assert did(database.add(tmp_path / "notes/a.md")) == {"added": ["notes/a.md"]}
    write("notes/a.md", "alpha two\n")
    assert did(database.sync()) == {"changed": ["notes/a.md"]}
    (tmp_path / "notes/a.md").unlink()
    assert did(database.sync()) == {"removed": ["notes/a.md"]}
    write("notes/a.md", "alpha three\n")
    assert did(database.sync()) == {"added": ["notes/a.md"]}
    assert did(database.add(tmp_path / "notes")) == {"added": ["notes/a.md.txt"]}


def test_outside_folders_of_the_same_name(make_database: MakeDatabase, tmp_path: Path, write: Write) -> None:
    """Two folders outside the project that are called alike, and one of the project, keep their files apart."""
    database = make_database(folder=tmp_path / "project", path=tmp_path / ".arr" / "arr.db")
    for place in ("one/papers", "two/papers", "project/papers"):
        write(f"{place}/a.md", f"text of {place.replace('/', ' ')}\n")
    assert database.add(tmp_path / "one/papers").added == ["papers-2/a.md"]
    assert database.add(tmp_path / "two/papers").added == ["papers-3/a.md"]
    assert database.add(tmp_path / "project").added == ["papers/a.md"]
    answers = [found(database, f"text of {place}") for place in ("one", "two", "project")]
    assert answers == [["papers-2/a.md"], ["papers-3/a.md"], ["papers/a.md"]]
    assert did(database.sync()) == {"unchanged": 3}


def test_files_of_one_outside_folder(make_database: MakeDatabase, tmp_path: Path, write: Write) -> None:
    """Single files of one folder outside share its name, and so does the folder when it is added afterwards."""
    database = make_database(folder=tmp_path / "project", path=tmp_path / ".arr" / "arr.db")
    for name in ("a", "b", "c"):
        write(f"papers/{name}.md", f"text {name}\n")
    assert database.add(tmp_path / "papers/a.md").added == ["papers/a.md"]
    assert database.add(tmp_path / "papers/b.md").added == ["papers/b.md"]
    assert database.add(tmp_path / "papers").added == ["papers/c.md"]


def test_an_inside_folder_called_like_an_outside_one(make_database: MakeDatabase, tmp_path: Path, write: Write) -> None:
    """A project folder that is added after an outside folder of its name does not hide that one's files."""
    database = make_database(folder=tmp_path / "project", path=tmp_path / ".arr" / "arr.db")
    write("elsewhere/papers/a.md", "outside text\n")
    assert database.add(tmp_path / "elsewhere/papers").added == ["papers/a.md"]
    write("project/papers/a.md", "inside text\n")
    database.add(tmp_path / "project/papers")
    assert (len(found(database, "outside")), len(found(database, "inside")), len(sources(database))) == (1, 1, 2)


def test_what_is_not_there_is_refused(database: ResearchDatabase, tmp_path: Path) -> None:
    """A path that does not exist, and a sync of nothing, are the caller's mistakes."""
    with pytest.raises(PathRefused, match="does not exist"):
        database.add(tmp_path / "nowhere")
    with pytest.raises(InputError, match="Nothing has been added to this scope yet"):
        database.sync()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_root_with_another_branch_checked_out_is_not_synced(
    make_database: MakeDatabase, tmp_path: Path, write: Write
) -> None:
    """When the tree is on another branch than the scope, its files are not taken for the scope's."""
    write("work/a.md", "alpha main\n")
    work = tmp_path / "work"
    git(work, "init", "-q")
    git(work, "remote", "add", "origin", f"https://{SCOPE.repository}.git")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    database = make_database(folder=work, path=tmp_path / ".arr" / "arr.db")
    assert database.add(work).added == ["a.md"]
    assert ask(database, "SELECT git_commit, git_state FROM source_version") == [
        (git(work, "rev-parse", "HEAD"), "clean")
    ]
    git(work, "checkout", "-q", "-b", "side")
    write("work/a.md", "alpha side\n")
    summary = database.sync()
    assert (did(summary), summary.roots_other_branch) == ({}, [str(work)])
    assert (found(database, "main"), found(database, "side")) == (["a.md"], [])
    git(work, "checkout", "-q", "-f", "main")
    assert did(database.sync()) == {"touched": ["a.md"], "left_out": {"vendored_or_tool_folder": 1}}


# --- Several at once --------------------------------------------------------------------------------------------------

READER = """
import json, select, sys
from pathlib import Path
from arr_sql.core.connection import open_reader
reader = open_reader(Path(sys.argv[1]))
print("ready", flush=True)
states = set()
while not select.select([sys.stdin], [], [], 0)[0]:
    rows = reader.execute("SELECT content FROM chunk WHERE retired_revision IS NULL ORDER BY ordinal").fetchall()
    states.add("|".join(row[0].split()[-1] for row in rows))
print(json.dumps(sorted(states)))
"""


def test_a_reader_sees_the_old_or_the_new_version(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """While a file is rewritten 30 times, another process never sees chunks of two versions together."""

    def text(turn: int) -> str:
        return "\n\n".join(f"# Part {n}\n\n{'word ' * 150}turn{turn}" for n in range(4))

    write("notes/a.md", text(0))
    database.add(tmp_path / "notes")
    count = len(chunks(database))
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(database.path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdout is not None and reader.stdout.readline() == "ready\n"
        for turn in range(1, 31):
            write("notes/a.md", text(turn))
            assert database.sync().changed == ["notes/a.md"]
        out, _ = reader.communicate("stop\n", timeout=120)
    states = json.loads(out)
    assert len(states) > 1
    assert [state for state in states if len(set(state.split("|"))) != 1 or len(state.split("|")) != count] == []


SYNC = """
import json, sys
from pathlib import Path
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
scope = ScopeKey(**json.loads(sys.argv[2]))
with ResearchDatabase(Path(sys.argv[1]), scope, project_folder=Path(sys.argv[3]), embedder=lambda: None) as database:
    print("ready", flush=True)
    sys.stdin.readline()
    summary = database.add(Path(sys.argv[3]) / "notes")
print(len(summary.added), summary.unchanged)
"""


def test_four_syncs_of_one_scope_at_once(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """Processes that sync the same folder at the same instant all succeed, and each file is taken in once."""
    for number in range(60):
        write(f"notes/n{number}.md", f"# Note {number}\n\n{'text ' * 50}{number}\n")
    arguments = [sys.executable, "-c", SYNC, str(database.path), json.dumps(SCOPE.model_dump()), str(tmp_path)]
    processes = [
        subprocess.Popen(
            arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=120) for process in processes]
    assert [err for _, err in ended] == [""] * 4
    assert sorted(out.strip() for out, _ in ended) == ["0 60"] * 3 + ["60 0"]
    assert len(sources(database)) == 60 and len(database.roots()) == 1


def test_scopes_do_not_share_sources(make_database: MakeDatabase, tmp_path: Path, write: Write) -> None:
    """The same folder in two scopes is two sets of sources; removing a file in one leaves the other's until its own sync."""
    write("notes/a.md", "alpha\n")
    one, two = make_database(folder=tmp_path), make_database(other_scopes()[0], folder=tmp_path)
    one.add(tmp_path / "notes")
    two.add(tmp_path / "notes")
    (tmp_path / "notes/a.md").unlink()
    assert did(one.sync()) == {"removed": ["notes/a.md"]}
    assert (found(one, "alpha"), found(two, "alpha")) == ([], ["notes/a.md"])


# --- Secrets ----------------------------------------------------------------------------------------------------------


def test_withheld_lines_are_nowhere_in_the_file(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """sec-01: a line with a credential is withheld and counted; no byte of it is in the database, its WAL or its index."""
    secret = "ghp_" + "Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4J3i2"
    write("notes/a.md", f"# Setup\n\nalpha before\n\ntoken = {secret}\n\nomega after\n")
    write("notes/.env", f"TOKEN={secret}\n")
    summary = database.add(tmp_path / "notes")
    database.embed()
    assert (summary.lines_withheld, dict(summary.left_out)) == (1, {"sensitive_name": 1})
    assert found(database, "alpha") and found(database, "omega")
    database.search(f"alpha {secret}")
    held = b"".join(path.read_bytes() for path in sorted(database.path.parent.iterdir()))
    for piece in (secret, secret[4:], secret.lower()[4:], secret[4:20].lower()):
        assert piece.encode() not in held
    assert b"alpha before" in held


def test_batches_are_whole_files(database: ResearchDatabase, tmp_path: Path, write: Write) -> None:
    """Each batch is one revision and holds whole files; what was committed before a failure stays, and sync goes on."""
    last = 2 * BATCH_FILES
    for number in range(last + 1):
        write(f"notes/n{number:04}.md", f"text {number}\n")

    def stop_before_the_last_batch(phase: str, done: int, total: int) -> None:
        if phase == "read" and done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        database.add(tmp_path / "notes", stop_before_the_last_batch)
    kept = len(sources(database))
    assert kept == last
    assert ask(database, "SELECT count(*) FROM source_version GROUP BY added_revision") == [
        (BATCH_FILES,),
        (BATCH_FILES,),
    ]
    assert did(database.sync()) == {"added": [f"notes/n{last:04}.md"], "unchanged": last}
