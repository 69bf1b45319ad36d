"""Lines in memory: the channel answers with them as it does without, on whatever the files are at that moment."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arr_sql.core.connection import open_reader
from arr_sql.core.filesystem import keeps_folder_times
from arr_sql.core.line_fold import fold
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import FileRead, Refused, Root
from arr_sql.core.walk import Found
from arr_sql.database import ResearchDatabase
from arr_sql.errors import ModelError
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.grep_retriever import GrepRetriever
from arr_sql.retrieval.hot_grep import HotGrep
from arr_sql.retrieval.hot_line_search import HotSearch
from arr_sql.retrieval.hot_lines import HotLines, LearnedFile
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase
from tests.retrieval.test_line_groups import TEXTS, happen

LATER = 10**11
PEM = "-----BEGIN RSA " + "PRIVATE KEY-----\nalpha\nMIIEowIBAAKCAQEA\n-----END RSA " + "PRIVATE KEY-----\nbeta\n"
TOKEN = "token = ghp_" + "a1B2" * 9
MORE = {
    "key.md": f"# Key\n\nalpha before\n\n{PEM}\nalpha after\n",
    "cr.txt": "alpha\rbeta\nalpha\r\n",
    "long.txt": "x" * 400 + " alpha\n" + "é" * 320 + " beta\nalpha\n",
    "huge.txt": "alpha " * 4_000 + "\nbeta\n",
    "blank.txt": "\n \n\u200b\nalpha\u00a0beta\n\u3000\n",
    "far.txt": "alpha " + "far " * 6_000 + TOKEN + "\n",
    "mixed.md": f"alpha 1\nalpha {TOKEN}\nalpha 2\n\nalpha {TOKEN}\nbeta\nalpha 3\nalpha {TOKEN}\n",
    "ligature.md": "# ﬁnd\n\nconﬁg alpha\n",
}
QUERIES = (
    "alpha",
    "alpha beta",
    '"beta and"',
    '"alpha beta"',
    "gamma",
    "阿尔法",
    "find",
    '"lph"',
    "config",
    '"  "',
    "MIIE",
)
WHAT = ("touch", "append", "swap letters", "swap letters later", "delete", "new", "sync", "rename", "ignore", "fresh")
happenings = st.lists(st.tuples(st.sampled_from(WHAT), st.sampled_from(sorted({**TEXTS, **MORE}))), max_size=3)


def at_rest(database: ResearchDatabase, **options: Any) -> HotGrep:
    """A memory to which all files have long been at rest, that learns from the first question on."""
    given = {"from_question": 1, "now_ns": lambda: time.time_ns() + LATER, **options}
    return HotGrep(lambda: open_reader(database.path), **given)


def ask(database: ResearchDatabase, hot: HotGrep | None, query: str, k: int = 100) -> ChannelAnswer:
    """What the channel answers; what it read is learned when this returns."""
    channel = GrepRetriever(database._reader("grep"), database._grep_roots, hot=hot)
    answer = channel.retrieve(query, database.scope, k, time.monotonic() + 60)
    if hot is not None:
        hot.wait()
    return answer


def known(hot: HotGrep, scope: ScopeKey = SCOPE) -> set[str]:
    """The files that are kept."""
    return {rel for _, rel in hot._scopes[scope.values()].lines.number} if hot._scopes else set()


@pytest.fixture
def read() -> Iterator[list[str]]:
    """The files that are read from here on."""
    names: list[str] = []
    plain = Root.read_file

    def noted(root: Root, rel: str, limit: int) -> FileRead | Refused:
        names.append(rel)
        return plain(root, rel, limit)

    with mock.patch.object(Root, "read_file", noted):
        yield names


@pytest.fixture
def lab(make_database: MakeDatabase, tmp_path: Path) -> tuple[ResearchDatabase, Path]:
    """A scope that trusts one folder of two files."""
    folder = tmp_path / "lab"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("# One\n\nalpha here\n", "utf-8")
    (folder / "sub" / "b.txt").write_text("beta\nalpha and beta\n", "utf-8")
    database = make_database(folder=folder)
    database.add(folder)
    return database, folder


# --- The same answers ---------------------------------------------------------------------------------------------------

words = st.text(st.sampled_from("abéß学ﬁ.ＡI"), min_size=1, max_size=5)
texts = st.lists(st.lists(words, max_size=5).map(" ".join), min_size=1, max_size=6).map("\n".join)


@settings(max_examples=60)
@given(
    st.lists(st.lists(texts, max_size=3), min_size=1, max_size=5),
    st.text(st.sampled_from("abésß学fi.a"), min_size=1, max_size=3),
)
def test_a_text_is_on_the_lines_that_hold_it(batches: list[list[str]], part: str) -> None:
    """Learned in several portions, which are put together; each line once, in order."""
    lines, every = HotLines.empty(), list[str]()
    for number, batch in enumerate(batches):
        files = []
        for place, text in enumerate(batch):
            folded = fold(text).split("\n")
            every += folded
            name = f"{number}-{place}"
            files.append(LearnedFile(("1", name), name, (1, 2, 3, 4), folded, (), [7] * len(folded), (7,)))
        lines = lines.learn(files)
    assert lines.with_text(part).tolist() == [at for at, line in enumerate(every) if part in line]
    assert len(lines.postings) <= len(batches).bit_length() + 1


@given(happenings, st.sampled_from(QUERIES), st.sampled_from((1, 3, 100)), st.sampled_from((20_000, 20_000, 1, 4, 9)))
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_answers_are_those_of_a_search_without(
    history: list[tuple[str, str]], query: str, k: int, max_lines: int
) -> None:
    """Whatever happened to the files since they were learned, with credentials in them, and where a limit cuts the search."""
    shm = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=shm if os.access(shm, os.W_OK) else None))
    try:
        folder = base / "lab"
        for name, text in {**TEXTS, **MORE}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.encode())
        with (
            ResearchDatabase.create(base / "arr.db", SCOPE, project_folder=base, embedder=lambda: None) as database,
            mock.patch("arr_sql.retrieval.grep_retriever.MAX_LINES", max_lines),
        ):
            database.add(folder)
            hot = at_rest(database)
            time.sleep(0.02)  # the clock of the file system may tick only every ten milliseconds
            for other in ("alpha", "beta"):
                ask(database, hot, other)
            for what, name in history:
                if what == "fresh":
                    hot = at_rest(database)
                elif what == "rename" and (folder / name).exists():
                    (folder / name).rename(folder / f"renamed-{Path(name).name}")
                elif what == "ignore":
                    (folder / ".gitignore").write_text(Path(name).name + "\n", "utf-8")
                else:
                    happen(folder, what, name, database)
                time.sleep(0.02)
                assert ask(database, hot, query, k) == ask(database, None, query, k)
            for _ in range(2):
                assert ask(database, hot, query, k) == ask(database, None, query, k)
    finally:
        shutil.rmtree(base)


def test_a_limit_cuts_at_the_same_line(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Wherever it falls: what was withheld until there counts, and the files that were looked at until there."""
    folder = tmp_path / "lab"
    for name, text in {**TEXTS, **MORE}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    database = make_database(folder=folder)
    database.add(folder)
    hot = at_rest(database)
    ask(database, hot, "nothing")
    assert {"mixed.md", "key.md", "a.md"} <= known(hot)
    assert known(hot).isdisjoint({"far.txt", "huge.txt", "n.ipynb", "odd.zzz"})
    for query in QUERIES:
        for max_lines in range(1, 30, 1 if query == "alpha" else 3):
            with mock.patch("arr_sql.retrieval.grep_retriever.MAX_LINES", max_lines):
                assert ask(database, hot, query) == ask(database, None, query)


def test_roots_inside_roots(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Each line is found once, under the inner root, also from memory."""
    folder = tmp_path / "lab"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.txt", "one.txt", "sub/b.txt"):
        (folder / name).write_text("zyzzyva\n", "utf-8")
    database = make_database(folder=tmp_path / "project")
    for target in (folder / "sub", folder / "one.txt", folder):
        database.add(target)
    hot = at_rest(database)
    for _ in range(3):
        assert ask(database, hot, "zyzzyva") == ask(database, None, "zyzzyva")
    assert {"a.txt", "b.txt"} <= known(hot)


# --- What is kept, and when it is asked ---------------------------------------------------------------------------------


def test_what_is_known_is_not_read(lab: tuple[ResearchDatabase, Path], read: list[str]) -> None:
    """Only the file that changed is, and one that may hold a text with white space in it."""
    database, folder = lab
    hot = at_rest(database)
    for _ in range(2):
        ask(database, hot, "gamma")
    assert (known(hot), sorted(read)) == ({"a.md", "sub/b.txt"}, ["a.md", "sub/b.txt"])
    read.clear()
    assert (ask(database, hot, "alpha").candidate_count, read) == (2, [])
    assert (ask(database, hot, '"alpha and"').candidate_count, read) == (1, ["sub/b.txt"])
    (folder / "a.md").write_text("alpha again\n", "utf-8")
    read.clear()
    assert (ask(database, hot, "again").candidate_count, read) == (1, ["a.md"])


def test_the_first_question_is_answered_without(lab: tuple[ResearchDatabase, Path]) -> None:
    """A command asks once, and learns nothing."""
    database, _ = lab
    hot = at_rest(database, from_question=2)
    ask(database, hot, "alpha")
    assert known(hot) == set()
    ask(database, hot, "alpha")
    assert known(hot) == {"a.md", "sub/b.txt"}


def test_a_file_that_has_just_changed_is_not_learned(lab: tuple[ResearchDatabase, Path]) -> None:
    """It may change again within the same tick of the clock. The folder of the test was written a moment ago."""
    database, folder = lab
    hot = at_rest(database, now_ns=time.time_ns)
    os.utime(folder / "a.md")
    ask(database, hot, "alpha")
    assert "a.md" not in known(hot)


def test_a_sync_leaves_what_it_did_not_change(lab: tuple[ResearchDatabase, Path], read: list[str]) -> None:
    """The other file is still known, and the changed one is learned as it is now."""
    database, folder = lab
    hot = at_rest(database)
    ask(database, hot, "alpha")
    (folder / "a.md").write_text("# One\n\nalpha gone\n", "utf-8")
    database.sync()
    read.clear()
    assert ask(database, hot, "gone").candidate_count == 1
    assert (read, known(hot)) == (["a.md"], {"a.md", "sub/b.txt"})


def test_a_text_that_was_forgotten_leaves_the_memory(lab: tuple[ResearchDatabase, Path]) -> None:
    """Its words are not kept either; the other file is learned anew."""
    database, folder = lab
    (folder / "sub" / "b.txt").write_text("zyzzyva alone\n", "utf-8")
    database.sync()
    hot = at_rest(database)
    ask(database, hot, "alpha")
    assert "zyzzyva" in hot._scopes[SCOPE.values()].lines.vocabulary
    database.forget(source_refs=["sub/b.txt"])
    (folder / "sub" / "b.txt").unlink()
    assert ask(database, hot, "alpha") == ask(database, None, "alpha")
    assert known(hot) == {"a.md"}
    assert "zyzzyva" not in hot._scopes[SCOPE.values()].lines.vocabulary


def test_a_file_that_is_not_as_it_was_stored_is_not_learned(lab: tuple[ResearchDatabase, Path]) -> None:
    """Two lines have changed places since the sync: its chunk still holds both, and is no answer for where they are."""
    database, folder = lab
    (folder / "sub" / "b.txt").write_text("alpha and beta\nbeta\n", "utf-8")
    hot = at_rest(database)
    plain = ask(database, None, "beta")
    assert [hit.metadata["kind"] for hit in plain.hits if hit.source_ref == "sub/b.txt"] == ["lines"]
    assert [ask(database, hot, "beta") for _ in range(3)] == [plain] * 3
    assert "sub/b.txt" not in known(hot)


def test_a_file_that_was_touched_is_learned_again(lab: tuple[ResearchDatabase, Path], read: list[str]) -> None:
    """Its text is what the store holds."""
    database, folder = lab
    hot = at_rest(database)
    ask(database, hot, "alpha")
    os.utime(folder / "a.md", (1, 1))
    ask(database, hot, "alpha")
    read.clear()
    answer = ask(database, hot, "alpha")
    assert read == []
    assert answer == ask(database, None, "alpha")


def test_a_store_that_changes_under_a_search_is_asked_again(lab: tuple[ResearchDatabase, Path]) -> None:
    """Between the look into the memory and the reading of the rows another process syncs."""
    database, folder = lab
    hot = at_rest(database)
    ask(database, hot, "alpha")
    plain = HotGrep.search

    def search(self: HotGrep, *given: object) -> object:
        found = plain(self, *given)  # type: ignore[arg-type]
        (folder / "sub" / "b.txt").write_text("alpha and more\n", "utf-8")
        database.sync()
        return found

    with mock.patch.object(HotGrep, "search", search):
        answer = ask(database, hot, "alpha")
    assert answer == ask(database, None, "alpha")


def test_memory_is_bounded(lab: tuple[ResearchDatabase, Path]) -> None:
    """Nothing more is learned once there is more than the bound, nor more than a question's share."""
    database, _ = lab
    full = at_rest(database, max_bytes=-1)
    share = at_rest(database, learn_bytes=20)
    for hot in (full, share):
        ask(database, hot, "alpha")
    assert (known(full), known(share)) == (set(), {"a.md"})
    ask(database, share, "alpha")
    assert known(share) == {"a.md", "sub/b.txt"}


def test_lines_of_files_that_change_often_are_let_go(lab: tuple[ResearchDatabase, Path]) -> None:
    """Where there are more old states than files, all is learned anew."""
    database, folder = lab
    hot = at_rest(database)
    for number in range(220):
        os.utime(folder / "a.md", (number, number))
        ask(database, hot, "alpha")
    assert len(hot._scopes[SCOPE.values()].lines.files) < 120
    assert ask(database, hot, "alpha") == ask(database, None, "alpha")


def test_without_numpy_nothing_is_kept(lab: tuple[ResearchDatabase, Path]) -> None:
    """The answer is the same."""
    database, _ = lab
    hot = at_rest(database)
    with mock.patch("arr_sql.retrieval.hot_grep.load_numpy", side_effect=ModelError("NumPy is not installed.")):
        assert ask(database, hot, "alpha") == ask(database, None, "alpha")
    assert hot._scopes == {}


def test_a_search_stays_whole_however_often_it_is_asked(make_database: MakeDatabase, tmp_path: Path) -> None:
    """The memory learns and follows inside the search's own snapshot, with and without vectors; no channel fails."""
    for name, text in TEXTS.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    database = make_database(folder=tmp_path / "docs", embedder=FakeEmbedder)
    database.add(tmp_path / "docs")
    database._hot.grep = at_rest(database)
    for with_vectors in (False, True):
        if with_vectors:
            database.embed()
        for number in range(3):
            (tmp_path / "docs" / "more.txt").write_text(f"alpha {number}\n", encoding="utf-8")
            database.sync()
            found = []
            for _ in range(3):
                found.append(database.search("alpha", write_record=False))
                database._hot.grep.wait()
            assert known(database._hot.grep)
            assert len({repr(result.evidence) for result in found}) == 1
            for result in found:
                assert [trace.state for trace in result.traces if trace.tool_name == "grep"] == ["ok"]
                assert "channel_error" not in {str(one.code) for one in result.degradations}


def test_searches_side_by_side(lab: tuple[ResearchDatabase, Path]) -> None:
    """Several threads ask and learn; each gets the answer of a search without."""
    database, folder = lab
    for number in range(40):
        (folder / f"{number}.txt").write_text(f"alpha number {number}\nbeta{number}\n", "utf-8")
    database.sync()
    roots, queries = list(database._grep_roots()), ("alpha", "number", "beta7", "beta")
    expected = {query: ask(database, None, query) for query in queries}
    hot, wrong = at_rest(database, learn_bytes=60), list[str]()

    def work() -> None:
        reader = open_reader(database.path)
        try:
            for query in queries * 8:
                channel = GrepRetriever(reader, lambda: roots, hot=hot)
                if channel.retrieve(query, SCOPE, 100, time.monotonic() + 60) != expected[query]:
                    wrong.append(query)
        finally:
            reader.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hot.wait()
    assert (wrong, len(known(hot)) > 2) == ([], True)


# --- Learning goes on after the answer ----------------------------------------------------------------------------------


def test_an_answer_does_not_wait_for_what_is_learned(lab: tuple[ResearchDatabase, Path]) -> None:
    """Questions asked in the meantime are answered without, and learn nothing twice."""
    database, _ = lab
    hot, go_on = at_rest(database), threading.Event()
    plain = HotLines.learn

    def learn(self: HotLines, learned: Sequence[LearnedFile]) -> HotLines:
        assert go_on.wait(60)
        return plain(self, learned)

    channel = GrepRetriever(database._reader("grep"), database._grep_roots, hot=hot)
    with mock.patch.object(HotLines, "learn", learn):
        answers = [channel.retrieve("alpha", SCOPE, 100, time.monotonic() + 60) for _ in range(3)]
        assert known(hot) == set()
        go_on.set()
        hot.wait()
    assert known(hot) == {"a.md", "sub/b.txt"}
    assert answers == [ask(database, None, "alpha")] * 3


def test_what_changes_while_it_is_learned_is_learned_anew(lab: tuple[ResearchDatabase, Path]) -> None:
    """A sync comes between, and a search follows it: what was being learned is of another state."""
    database, folder = lab
    hot, plain = at_rest(database), HotLines.learn
    (folder / "c.txt").write_text("gamma\n", "utf-8")
    database.sync()
    ask(database, hot, "alpha")
    (folder / "c.txt").write_text("delta delta\n", "utf-8")

    def learn(self: HotLines, learned: Sequence[LearnedFile]) -> HotLines:
        found = plain(self, learned)
        (folder / "a.md").write_text("# One\n\nalpha there\n", "utf-8")
        with ResearchDatabase(database.path, SCOPE, project_folder=folder) as other:
            other.sync()
        with closing(open_reader(database.path)) as reader:  # not the test's: this is another thread
            assert hot.search(reader, SCOPE, {"alpha": "alpha"}) is not None
        return found

    database.sync()
    with mock.patch.object(HotLines, "learn", learn):
        ask(database, hot, "alpha")
    for query in ("alpha", "delta", "gamma", "there"):
        for _ in range(2):
            assert ask(database, hot, query) == ask(database, None, query)
    assert known(hot) == {"a.md", "c.txt", "sub/b.txt"}


def test_a_fault_while_learning_loses_no_line(lab: tuple[ResearchDatabase, Path]) -> None:
    """The vocabulary has grown by then: what is learned next must not take its words for known."""
    database, _ = lab
    hot, plain = at_rest(database), HotLines.learn

    def learn(self: HotLines, learned: Sequence[LearnedFile]) -> HotLines:
        plain(self, learned)
        raise MemoryError

    with mock.patch.object(HotGrep, "learn", lambda self, scope, search: searches.append(search)):
        searches: list[HotSearch] = []
        ask(database, hot, "alpha")
    with mock.patch.object(HotLines, "learn", learn), pytest.raises(MemoryError):
        hot._learn(SCOPE, searches[0])
    for query in ("alpha", "beta", "alpha"):
        assert ask(database, hot, query) == ask(database, None, query)
    assert known(hot) == {"a.md", "sub/b.txt"}


def test_closing_stops_what_is_being_learned(lab: tuple[ResearchDatabase, Path]) -> None:
    """And nothing is learned after it."""
    database, _ = lab
    hot = at_rest(database)
    ask(database, hot, "alpha")
    hot.close()
    assert hot._scopes == {}
    assert ask(database, hot, "alpha") == ask(database, None, "alpha")
    assert hot._scopes == {}


def test_files_that_are_known_are_counted_together(lab: tuple[ResearchDatabase, Path]) -> None:
    """Where a folder's files are what they were, none of them is named; one that has changed is."""
    database, folder = lab
    if not keeps_folder_times(folder):
        pytest.skip("this file system's folder times are not relied on")
    hot = at_rest(database)
    for _ in range(2):
        ask(database, hot, "alpha")
    with mock.patch.object(HotSearch, "take", side_effect=AssertionError("named")):
        assert ask(database, hot, "alpha") == ask(database, None, "alpha")
    (folder / "a.md").write_text("alpha again\n", "utf-8")
    named: list[str] = []
    plain = HotSearch.take

    def take(self: HotSearch, root_name: str, file: Found, room: int) -> object:
        named.append(file.rel)
        return plain(self, root_name, file, room)

    with mock.patch.object(HotSearch, "take", take):
        answer = ask(database, hot, "alpha")
    assert named == ["a.md"]
    assert answer == ask(database, None, "alpha")
