"""A search with the line index gives what a search without it gives, whatever has happened to the files since."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arr_sql.core.connection import open_reader, sqlite3
from arr_sql.core.filesystem import keeps_folder_times
from arr_sql.core.line_sieve import which_may_hold
from arr_sql.core.rooted import FolderStamp, Root
from arr_sql.database import ResearchDatabase
from arr_sql.index.line_rows import pack, set_folders
from arr_sql.ingest.line_indexer import LineIndexer, LineIndexSummary
from arr_sql.retrieval.all_sieves import AllSieves
from arr_sql.retrieval.line_index import LineIndex, LineIndexes, LineIndexSearch, read_line_index
from arr_sql.retrieval.line_pattern import LinePattern, has_regex_engine
from arr_sql.retrieval.line_search import search_targets
from arr_sql.retrieval.line_values import NEIGHBOURHOOD, LineSearch, SearchLimits, Target
from tests.conftest import SCOPE, MakeDatabase, other_scopes

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
LIMITS = SearchLimits(max_results=10_000)
LATER = 10**11


def index_lines(database: ResearchDatabase, *, at_rest: bool = True) -> LineIndexSummary:
    """Index the scope's lines; ``at_rest``: as if all files had last changed a while ago.

    The pause is for the clock of the file system, which may tick only every ten milliseconds.
    """
    if at_rest:
        time.sleep(0.02)
    database.build_line_index() if database.line_index() is None else None
    writer = database._write()
    (scope_id,) = writer.execute("SELECT id FROM scope WHERE team_id = ? AND branch = ?", SCOPE_AT(database)).fetchone()
    now = (lambda: time.time_ns() + LATER) if at_rest else time.time_ns
    return LineIndexer(writer, database.path, database.scope, scope_id, now_ns=now).refresh(database.roots())


def SCOPE_AT(database: ResearchDatabase) -> tuple[str, str]:
    return database.scope.team_id, database.scope.branch


def index_of(database: ResearchDatabase) -> LineIndex | None:
    (root,) = database.roots()
    return read_line_index(database._reader("main"), database.scope, root.id)


def search(
    folder: Path, needle: str, index: LineIndex | None, *, exact: bool = False, regex: bool = False, under: str = ""
) -> LineSearch:
    """The lines of a folder."""
    with Root(folder) as root:
        return search_targets(
            [Target("r", root, folder=under, index=index)], LinePattern(needle) if regex else needle,
            deadline=time.monotonic() + 60, limits=LIMITS, exact=exact,
        )  # fmt: skip


def told(found: LineSearch) -> Any:
    """All that a search says but what it cost."""
    return found.hits, found.skipped, found.left_out, found.withheld, found.cut, found.scanned_files


@pytest.fixture
def lab(make_database: MakeDatabase, tmp_path: Path) -> tuple[ResearchDatabase, Path]:
    """A database that trusts a folder with some files, indexed and at rest."""
    folder = tmp_path / "lab"
    for name, text in {
        "a.md": "warmup_steps are here\n", "b/c.py": "def cooldown(): pass\n", "b/d.txt": "学习率减半，见下文\n",
        "b/e/f.log": "nothing\n", "keys.ini": "password = hunter2-plum-77x\nwarmup_steps = 3\n",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "g.bin").write_bytes(b"\x89PNG\r\n warmup_steps")
    database = make_database(folder=folder)
    database.add(folder)
    index_lines(database)
    return database, folder


# --- What it spares -----------------------------------------------------------------------------------------------------


def test_files_that_cannot_match_are_not_opened(
    lab: tuple[ResearchDatabase, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file may hold the needle, one holds a credential and is read each time; the binary file is known as such."""
    database, folder = lab
    read: list[str] = []
    read_file = Root.read_file

    def noted(self: Root, rel: str, limit: int) -> Any:
        read.append(rel)
        return read_file(self, rel, limit)

    monkeypatch.setattr(Root, "read_file", noted)
    found = search(folder, "Warmup_Steps", index_of(database))
    assert read == ["a.md", "keys.ini"]
    assert [(hit.rel, hit.line_no) for hit in found.hits] == [("a.md", 1), ("keys.ini", 2)]
    assert (found.scanned_files, found.ruled_out, found.changed, found.damaged, found.indexed) == (6, 4, 0, 0, True)
    assert found.skipped == {"binary": 1}
    read.clear()
    assert [hit.rel for hit in search(folder, "学习率", index_of(database)).hits] == ["b/d.txt"]
    assert read == ["b/d.txt", "keys.ini"]
    if has_regex_engine():
        read.clear()
        assert [hit.rel for hit in search(folder, r"cooldown\W+:", index_of(database), regex=True).hits] == ["b/c.py"]
        assert read == ["b/c.py", "keys.ini"]


def test_a_needle_without_grams_reads_every_text(lab: tuple[ResearchDatabase, Path]) -> None:
    """Three letters are too few to tell; what is known of binary files still counts."""
    database, folder = lab
    found = search(folder, "are", index_of(database))
    assert ([hit.rel for hit in found.hits], found.ruled_out) == (["a.md"], 1)


@pytest.mark.parametrize("listed", [0, 1, 2, 3, 200])
def test_more_binary_files_than_are_listed_are_counted(
    lab: tuple[ResearchDatabase, Path], monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    """The walk need not name them any more: the count and the names are those of a search without the index."""
    database, folder = lab
    for name in ("a.bin", "b/b.bin", "b/x.bin", "z.bin"):
        (folder / name).write_bytes(b"\x89PNG\r\n")
    index_lines(database)
    monkeypatch.setattr("arr_sql.retrieval.line_search.MAX_LISTED", listed)
    found, plain = search(folder, "warmup_steps", index_of(database)), search(folder, "warmup_steps", None)
    assert (found.skipped["binary"], told(found)) == (5, told(plain))
    assert len(found.left_out) == min(listed, 5)


def test_a_process_that_asks_again_reads_files_with_credentials_once(
    lab: tuple[ResearchDatabase, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memory says which of them can't match; nothing of that is written, and what is said of a search stays the same."""
    database, folder = lab
    if not keeps_folder_times(folder):
        pytest.skip("this file system's folder times are not relied on, so each file is named and read")
    index, read, read_file = index_of(database), list[str](), Root.read_file

    def noted(self: Root, rel: str, limit: int) -> Any:
        read.append(rel)
        return read_file(self, rel, limit)

    monkeypatch.setattr(Root, "read_file", noted)
    seen = []
    for _ in range(4):
        read.clear()
        found = search(folder, "cooldown", index)
        seen.append((told(found), found.ruled_out, found.changed))
        assert read == ["b/c.py", *(["keys.ini"] if len(seen) < 3 else [])]
    assert seen == [seen[0]] * 4 and index is not None and set(index.learned) == {"keys.ini"}
    assert "keys.ini" in [hit.rel for hit in search(folder, "warmup_steps", index).hits]
    read.clear()
    assert told(search(folder, "are", index)) == told(search(folder, "are", None))
    with monkeypatch.context() as patch:
        patch.setattr("arr_sql.retrieval.line_index.MOST_LEARNED", 0)
        none = index_of(database)
        for _ in range(3):
            assert told(search(folder, "warmup_steps", none)) == told(search(folder, "warmup_steps", None))
        assert none is not None and none.learned == {"keys.ini": None}
    (folder / "keys.ini").write_text("cooldown = 3\npassword = hunter2-plum-77x\n", "utf-8")
    for _ in range(2):
        assert [hit.rel for hit in search(folder, "cooldown", index).hits] == ["b/c.py", "keys.ini"]


def test_folders_in_which_nothing_matches_are_passed_over(
    make_database: MakeDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk does not enter them, and looks at each folder once; a change far below is found, and what is left out is told."""
    folder = tmp_path / "lab"
    names = ["a/b/c/one.txt", "a/b/two.txt", "a/d/three.txt", "e/four.txt", "e/f/five.txt", "g/h/six.txt"]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("cooldown\n", "utf-8")
    (folder / "g/h/x.bin").write_bytes(b"\x89PNG\r\n")
    database = make_database(folder=folder)
    database.add(folder)
    index_lines(database)
    index, looked, recalled = index_of(database), Counter[str](), list[str]()
    if index is None or index.folders[""].row.stamp is None:
        pytest.skip("this file system's folder times are not relied on")
    look, recall = Root.look_again, LineIndexSearch.recall

    def look_again(self: Root, rel: str, *given: Any) -> Any:
        looked[rel] += 1
        return look(self, rel, *given)

    def noted(self: LineIndexSearch, root: Root, rel: str, rules: str) -> Any:
        recalled.append(rel)
        return recall(self, root, rel, rules)

    monkeypatch.setattr(Root, "look_again", look_again)
    monkeypatch.setattr(LineIndexSearch, "recall", noted)
    for _ in range(2):
        looked.clear()
        recalled.clear()
        assert told(search(folder, "warmup_steps", index)) == told(search(folder, "warmup_steps", None))
        assert recalled == ["", "g", "g/h"]
        assert looked == dict.fromkeys(["", "a", "a/b", "a/b/c", "a/d", "e", "e/f", "g", "g/h"], 1)
    (folder / "a/b/c/one.txt").write_text("warmup_steps\n", "utf-8")
    for _ in range(2):
        looked.clear()
        recalled.clear()
        found = search(folder, "warmup_steps", index)
        assert told(found) == told(search(folder, "warmup_steps", None))
        assert [hit.rel for hit in found.hits] == ["a/b/c/one.txt"]
        assert recalled == ["", "a", "a/b", "a/b/c", "g", "g/h"]
        assert set(looked.values()) == {1}


def test_a_part_of_a_long_line_that_looks_like_a_credential_is_withheld(lab: tuple[ResearchDatabase, Path]) -> None:
    """The whole line does not bear one, so the file has a sieve; a search without the index looks at the part alone."""
    database, folder = lab
    token = "ghp_" + "a1B2" * 9
    line = "a" * 9_000 + token + " "
    line += "b" * (9_000 + NEIGHBOURHOOD - len(line)) + " warmup_steps"
    (folder / "long.txt").write_text(line + "\nwarmup_steps again\n", "utf-8")
    index_lines(database)
    index = index_of(database)
    assert index is not None and "t" in index.folders[""].row.marks
    for needle in ("warmup_steps", " warmup"):
        plain = search(folder, needle, None)
        for _ in range(2):
            assert told(search(folder, needle, index)) == told(plain)
    assert (plain.hits, plain.withheld) == ([], 1)


def test_credentials_are_withheld_whatever_the_index_says(lab: tuple[ResearchDatabase, Path]) -> None:
    """In a file that held one when it was indexed, and in one that has got one since."""
    database, folder = lab
    (folder / "b" / "c.py").write_text("password = 'hunter2-plum-78y'\n", "utf-8")
    index = index_of(database)
    for _ in range(2):
        found = search(folder, "hunter2", index)
        assert (found.hits, found.withheld, found.indexed) == ([], 2, True)


def test_a_folder_of_other_rules_is_not_passed_over(lab: tuple[ResearchDatabase, Path]) -> None:
    """Ignore rules were edited, and the indexing that followed ended before it came to the folder below."""
    database, folder = lab
    if not keeps_folder_times(folder):
        pytest.skip("this file system's folder times are not relied on")
    (folder / ".gitignore").write_text("# nothing yet\n", "utf-8")
    index_lines(database)
    before = index_of(database)
    (folder / ".gitignore").write_text("*.log\n#####\n", "utf-8")
    index_lines(database)
    index = index_of(database)
    assert before is not None and index is not None and index.folders["b"].is_plain
    assert before.folders["b/e"].row.rules != index.folders["b/e"].row.rules
    index.folders["b/e"] = before.folders["b/e"]
    for _ in range(2):
        found = search(folder, "absent_one", index)
        assert found.skipped["ignored"] == 1
        assert told(found) == told(search(folder, "absent_one", None))


grams = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4)


@given(
    st.lists(st.lists(st.binary(max_size=4), max_size=5), max_size=4),
    st.lists(grams, min_size=1, max_size=3),
)
def test_all_sieves_at_once_say_what_each_says(folders: list[list[bytes]], wanted: list[list[int]]) -> None:
    """Sieves of any length, also of none; folders without files; several needles."""
    given_ = []
    for at, sieves in enumerate(folders):
        ends = list(accumulate(map(len, sieves)))
        places = [(2 * n + 1, end - len(sieve), end) for n, (sieve, end) in enumerate(zip(sieves, ends, strict=True))]
        given_.append((f"f{at}", b"".join(sieves), places))
    each = {path: which_may_hold(bits, places, wanted) for path, bits, places in given_}
    assert AllSieves(given_).holding(wanted) == {path: found for path, found in each.items() if found}


@posix
def test_an_unchanged_folder_is_not_listed_again(
    lab: tuple[ResearchDatabase, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its stamp vouches for its names; one that has a new name is listed."""
    database, folder = lab
    index = index_of(database)
    if index is None or index.folders[""].row.stamp is None:
        pytest.skip("this file system's folder times are not relied on")
    listed: list[str] = []
    list_folder = Root.list_folder

    def noted(self: Root, rel: str = "") -> Any:
        listed.append(rel)
        return list_folder(self, rel)

    monkeypatch.setattr(Root, "list_folder", noted)
    search(folder, "warmup_steps", index_of(database))
    assert listed == []
    (folder / "b" / "new.md").write_text("warmup_steps\n", "utf-8")
    assert [hit.rel for hit in search(folder, "warmup_steps", index_of(database)).hits] == [
        "a.md",
        "b/new.md",
        "keys.ini",
    ]
    assert listed == ["b"]


def test_grep_and_the_channel_use_it_and_say_so(lab: tuple[ResearchDatabase, Path]) -> None:
    """`database.grep` counts; the trace of a search has the numbers; the record of it replays as identical."""
    database, folder = lab
    found = database.grep("cooldown").search
    assert ([hit.rel for hit in found.hits], found.ruled_out) == (["b/c.py"], 4)
    result = database.search("cooldown", plan={"tool_rounds": [["grep"]]})
    assert [item.source_ref for item in result.evidence] == ["b/c.py"]
    detail = result.traces[0].detail
    assert {name: detail[name] for name in ("files", "ruled_out", "changed")} == {
        "files": 6,
        "ruled_out": 4,
        "changed": 0,
    }
    (folder / "b" / "c.py").write_text("def cooldown(): return 1\n", "utf-8")
    again = database.search("cooldown", plan={"tool_rounds": [["grep"]]})
    assert (again.traces[0].detail["changed"], again.evidence[0].content) == (1, "def cooldown(): return 1")
    database.sync()
    database.drop_line_index()
    without = database.search("cooldown", plan={"tool_rounds": [["grep"]]})
    assert "ruled_out" not in without.traces[0].detail


# --- Always the same lines ----------------------------------------------------------------------------------------------

NAMES = ("a.md", "b.txt", "sub/c.md", "sub/deep/d.py", "sub/.gitignore", ".gitignore", "other/e.log", "keys.env.md")
TEXTS: tuple[bytes, ...] = (
    b"warmup_steps\n", b"WARMUP_stepz\n", b"cooldown(x)\n", "学习率减半\nwarmup_steps".encode(), "学习率\n".encode("gb18030"),
    "warmup_steps straße\n".encode("utf-16"), b"\0\1\2\3warmup_steps\0\0", b"", "cafe\u0301teria".encode(), "ﬁle_size".encode(),
    b"password = hunter2-plum-77x\nwarmup_steps\n", b"*.md\n", b"sub/\n!d.py\n", b"deep\n",
)  # fmt: skip
SAME_SIZE = {text: bytes([text[0] ^ 1]) + text[1:] for text in TEXTS if text}
NEEDLES = (
    "warmup_steps",
    "Warmup",
    "学习率",
    "straße",
    "STRASSE",
    "cafe",
    "file_size",
    "cooldown(x",
    "hunter2",
    "ar",
    "absent_one",
)

names, texts = st.sampled_from(NAMES), st.sampled_from(TEXTS)
steps = st.one_of(
    st.tuples(st.just("write"), names, texts),
    st.tuples(st.just("same size, same time"), names, st.just(b"")),
    st.tuples(st.just("delete"), names, st.just(b"")),
    st.tuples(st.just("rename"), names, names),
    st.tuples(st.just("rename folder"), st.sampled_from(("sub", "other")), st.sampled_from(("moved", "sub", "other"))),
    st.tuples(st.just("swap"), names, names),
    st.tuples(st.just("link"), names, names),
    st.tuples(st.just("folder"), names, st.just(b"")),
    st.tuples(st.just("index"), st.sampled_from(("at rest", "just now")), st.just(b"")),
)


def take(folder: Path, step: tuple[Any, ...], database: ResearchDatabase) -> None:
    """One thing that may happen to a tree."""
    what, first, second = step
    if what == "index":
        index_lines(database, at_rest=first == "at rest")
        return
    path = folder / first
    with_parent = lambda name: (folder / name).parent.mkdir(parents=True, exist_ok=True)  # noqa: E731
    try:
        if what == "write":
            with_parent(first)
            path.write_bytes(second)
        elif what == "same size, same time" and path.is_file() and not path.is_symlink() and sys.platform != "win32":
            said, data = path.stat(), path.read_bytes()
            path.write_bytes(SAME_SIZE.get(data, data))
            os.utime(path, ns=(said.st_atime_ns, said.st_mtime_ns))
        elif what == "delete":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        elif what in ("rename", "rename folder"):
            with_parent(second)
            path.rename(folder / second)
        elif what == "swap":
            path.rename(folder / "tmp")
            (folder / second).rename(path)
            (folder / "tmp").rename(folder / second)
        elif what == "link" and sys.platform != "win32":
            with_parent(first)
            path.symlink_to(folder / second)
        elif what == "folder":
            path.mkdir(parents=True)
    except OSError:
        pass  # what is not there can't be moved


@given(st.lists(steps, min_size=1, max_size=9), st.sampled_from(NEEDLES), st.booleans())
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_random_histories(history: list[tuple[Any, ...]], needle: str, exact: bool) -> None:
    """Edits, also those that keep size and time; renames of files and folders, ignore files, links; indexed in between."""
    shm = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=shm if os.access(shm, os.W_OK) else None))
    try:
        folder = base / "lab"
        folder.mkdir()
        with ResearchDatabase.create(base / "arr.db", SCOPE, project_folder=folder, embedder=lambda: None) as database:
            database.add(folder)
            for number, name in enumerate(NAMES[:5]):
                take(folder, ("write", name, TEXTS[number]), database)
            index_lines(database)
            for step in history:
                take(folder, step, database)
            index = index_of(database)
            for under in ("", "sub"):
                plain = search(folder, needle, None, exact=exact, under=under)
                for _ in range(2):  # each folder's sieves, then all at once
                    assert told(search(folder, needle, index, exact=exact, under=under)) == told(plain)
            if has_regex_engine():
                pattern = ("(?i)" if not exact else "") + "".join(f"[{c}]" if c in "()" else c for c in needle)
                assert told(search(folder, pattern, index, regex=True)) == told(
                    search(folder, pattern, None, regex=True)
                )
    finally:
        shutil.rmtree(base)


def changes_in_place(path: Path) -> None:
    """Other bytes of the same length under the old times."""
    said = path.stat()
    path.write_bytes(b"warmup_steps in the new text\n"[: said.st_size].ljust(said.st_size))
    os.utime(path, ns=(said.st_atime_ns, said.st_mtime_ns))


def replaced_by_another(path: Path) -> None:
    """Another file with the same length and times takes the name."""
    said, other = path.stat(), path.with_name("zzz")
    other.write_bytes(b"warmup_steps in the new text\n"[: said.st_size].ljust(said.st_size))
    os.utime(other, ns=(said.st_atime_ns, said.st_mtime_ns))
    other.replace(path)


@posix
@pytest.mark.parametrize("change", [changes_in_place, replaced_by_another])
def test_a_change_that_keeps_size_and_time_is_read(
    lab: tuple[ResearchDatabase, Path], change: Callable[[Path], None]
) -> None:
    """The time of the last change and the inode tell; no program sets those."""
    database, folder = lab
    change(folder / "b" / "c.py")
    found = search(folder, "warmup_steps", index_of(database))
    assert ([hit.rel for hit in found.hits], found.changed > 0) == (["a.md", "b/c.py", "keys.ini"], True)


def test_a_file_that_had_just_changed_is_read(lab: tuple[ResearchDatabase, Path]) -> None:
    """Within two seconds it may change again and keep its time, so the index knows nothing of it until the next one."""
    database, folder = lab
    (folder / "b" / "c.py").write_text("def nothing(): pass\n", "utf-8")
    assert index_lines(database, at_rest=False).read_each_time == 2
    found = search(folder, "warmup_steps", index_of(database))
    assert (found.changed, found.ruled_out) == (1, 3)
    index_lines(database)
    assert search(folder, "warmup_steps", index_of(database)).changed == 0


@pytest.mark.parametrize("where", [".gitignore", "b/.arrignore", "b/e/.gitignore"])
def test_edited_ignore_rules_count_below(lab: tuple[ResearchDatabase, Path], where: str) -> None:
    """The file is edited in place, so that no folder's time changes; the rules hold in its folder and in those below."""
    database, folder = lab
    (folder / "b" / "e" / "f.log").write_text("warmup_steps\n", "utf-8")
    (folder / where).write_text("# nothing yet\n", "utf-8")
    index_lines(database)
    assert "b/e/f.log" in [hit.rel for hit in search(folder, "warmup_steps", index_of(database)).hits]
    (folder / where).write_text("*.log\n#####\n", "utf-8")
    found = search(folder, "warmup_steps", index_of(database))
    assert "b/e/f.log" not in [hit.rel for hit in found.hits]
    assert told(found) == told(search(folder, "warmup_steps", None))


# --- Rows that are not what was written ---------------------------------------------------------------------------------

HOSTILE = {
    "a sieve of zeros": "UPDATE line_index_folder SET sieves = zeroblob(length(sieves))",
    "a sieve cut short": "UPDATE line_index_folder SET sieves = substr(sieves, 1, length(sieves) - 1)",
    "no sieves": "UPDATE line_index_folder SET sieves = x'', lengths = zeroblob(length(lengths))",
    "another file's stats": "UPDATE line_index_folder SET stats = zeroblob(length(stats))",
    "a name less": "UPDATE line_index_folder SET names = '', marks = '', stats = x'', lengths = x'', sieves = x''",
    "other marks": "UPDATE line_index_folder SET marks = replace(marks, 't', 'b')",
    "a folder that is left out": "UPDATE line_index_folder SET marks = replace(marks, '/', 'V')",
    "a name outside": "UPDATE line_index_folder SET names = replace(names, 'a.md', '..')",
    "another path": "UPDATE line_index_folder SET path = 'x' || path",
    "no check sum": "UPDATE line_index_folder SET check_sum = 0",
    "no rows": "DELETE FROM line_index_folder",
}


@pytest.mark.parametrize("damage", HOSTILE)
def test_a_damaged_row_hides_no_line(lab: tuple[ResearchDatabase, Path], damage: str) -> None:
    """The row is left aside and counted, the files are read, `arr db check` names it and the next indexing repairs it."""
    from arr_sql.memory.store_check import check_store

    database, folder = lab
    connection = sqlite3.connect(str(database.path), isolation_level=None)
    changed = connection.execute(HOSTILE[damage]).rowcount
    connection.close()
    plain = search(folder, "warmup_steps", None)
    index = index_of(database)
    if damage == "a folder that is left out" and not keeps_folder_times(folder):
        pytest.skip("this file system's folder times are not relied on, so rows name no folders")
    found = search(folder, "warmup_steps", index)
    assert told(found) == told(plain) and changed == 3
    assert (0 < found.damaged <= changed) or damage == "no rows"
    report = {finding.check: finding.passed for finding in check_store(database.path).findings}
    assert report["line index"] is False
    index_lines(database)
    repaired = search(folder, "warmup_steps", index_of(database))
    assert (repaired.damaged, repaired.ruled_out > 0) == (0, True)
    assert all(finding.passed for finding in check_store(database.path).findings if finding.check == "line index")


@posix
def test_a_forged_row_opens_nothing_outside(lab: tuple[ResearchDatabase, Path], tmp_path: Path) -> None:
    """A row with a right check sum that names a way out of the root: it is not gone."""
    database, folder = lab
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("warmup_steps outside\n", "utf-8")
    (folder / "link").symlink_to(outside)
    said = outside.stat()
    writer = database._write()
    (root,) = database.roots()
    top, none = folder.stat(), ((0, 0, 0, 0), b"")
    here = FolderStamp(top.st_dev, top.st_ino, top.st_mtime_ns, top.st_ctime_ns)
    there = FolderStamp(said.st_dev, said.st_ino, said.st_mtime_ns, said.st_ctime_ns)
    forged = [pack(1, root.id, "", here, "", [("a.md", "r"), ("link", "/"), ("b", "/")], [none])]
    for path in ("link", "../outside", "b/../../outside"):
        forged.append(pack(1, root.id, path, there, "", [("secret.md", "r")], [none]))
    set_folders(writer, 1, forged)
    hits = search(folder, "warmup_steps", index_of(database)).hits
    assert hits and not [hit for hit in hits if "outside" in hit.text]


# --- Who sees it --------------------------------------------------------------------------------------------------------


def test_no_scope_sees_anothers(lab: tuple[ResearchDatabase, Path], make_database: MakeDatabase) -> None:
    """A neighbour over the same folder searches without; its own index and its end change nothing here."""
    database, folder = lab
    before = told(database.grep("cooldown").search), database.grep("cooldown").search.ruled_out
    for scope in other_scopes():
        other = make_database(scope=scope, path=database.path, folder=folder)
        other.add(folder)
        found = other.grep("cooldown").search
        assert (found.indexed, other.line_index(), [hit.rel for hit in found.hits]) == (False, None, ["b/c.py"])
        other.build_line_index()
        other.drop_line_index()
    assert (told(database.grep("cooldown").search), database.grep("cooldown").search.ruled_out) == before


def test_what_is_kept_in_memory_follows_the_file(lab: tuple[ResearchDatabase, Path]) -> None:
    """A process that asks again reads the rows once, and again when they were written; a recorded search does not count."""
    database, folder = lab
    indexes, reader = LineIndexes(), open_reader(database.path)

    def of(root_id: int) -> LineIndex | None:
        return indexes.of(reader, SCOPE, root_id)

    try:
        first = of(1)
        assert first is not None and of(1) is first
        database.search("warmup_steps")
        assert of(1) is first
        (folder / "b" / "c.py").write_text("def warmup_steps(): pass\n", "utf-8")
        assert [hit.rel for hit in search(folder, "warmup_steps", of(1)).hits] == ["a.md", "b/c.py", "keys.ini"]
        index_lines(database)
        second = of(1)
        assert second is not first and search(folder, "warmup_steps", second).changed == 0
        assert indexes.of(reader, other_scopes()[0], 1) is None
        database.drop_line_index()
        assert of(1) is None
        index_lines(database)
        indexes.MAX_SIZE = 0  # type: ignore[misc]
        large = of(1)
        assert large is not None and of(1) is not large
    finally:
        reader.close()


def test_a_reader_writes_nothing(lab: tuple[ResearchDatabase, Path]) -> None:
    """The search takes a connection that can only read, and finds changed files with it."""
    database, folder = lab
    database.close()
    (folder / "b" / "c.py").write_text("def warmup_steps(): pass\n", "utf-8")
    before = database.path.read_bytes()
    reader = open_reader(database.path)
    try:
        index = read_line_index(reader, SCOPE, 1)
        assert [hit.rel for hit in search(folder, "warmup_steps", index).hits] == ["a.md", "b/c.py", "keys.ini"]
    finally:
        reader.close()
    assert database.path.read_bytes() == before
