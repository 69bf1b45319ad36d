"""Field reports about searching, end to end: real files and memories, the real database, vectors off.

Each report is told in our own words. rank-01 to rank-03 are held by test_determinism.py, test_hybrid_retriever.py and
test_k_fill.py.
"""

from __future__ import annotations

import json
import random
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from arr_sql.core.rooted import Root
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError
from arr_sql.memory.store_check import check_store
from arr_sql.retrieval.line_search import search_lines
from arr_sql.retrieval.needles import needles
from tests.cli.support import arr, process
from tests.conftest import MakeDatabase, StepClock

PLAN = {"tool_rounds": [["research-memory", "bm25", "grep"]]}
GREP = {"tool_rounds": [["grep"]]}
Search = Callable[..., list[int]]
both_stores = pytest.mark.parametrize("store", ["files", "memories"])


class Documents:
    """Numbered documents in one scope, as files or as published memories, and searching them without vectors."""

    def __init__(self, database: ResearchDatabase, folder: Path, texts: Sequence[str | bytes], store: str) -> None:
        self.database, self.folder, self.store = database, folder, store
        for number, text in enumerate(texts, 1):
            if store == "memories":
                assert isinstance(text, str)
                memory = database.add_memory(memory_id=f"m{number}", title="note", content=text, kind="knowledge")
                database.set_memory_status(memory.memory_id, "published", "test")
            else:
                path = folder / "docs" / f"{number}.txt"
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        if store == "files":
            self.summary = database.add(folder / "docs")

    def search(self, query: str, plan: object = PLAN) -> list[int]:
        """The numbers of the documents found, best first. The answer is complete and of healthy channels."""
        result = self.database.search(query, plan=plan, k=50, write_record=False)
        wanted = "nothing_found" if not result.evidence else "found"
        if self.store == "files":
            assert (result.state, result.partial, result.degradations) == (wanted, False, ()), query
        else:  # no folder was added, so grep has nothing to look at
            assert {t.tool_name: t.state for t in result.traces}["research-memory"] in ("ok", "empty")
        numbers = [int(Path(item.source_ref.removeprefix("memory:m")).stem) for item in result.evidence]
        return list(dict.fromkeys(numbers))


@pytest.fixture
def documents(make_database: MakeDatabase, tmp_path: Path) -> Callable[..., Documents]:
    """``documents(texts, store="files")`` in a new database without a model."""

    def make(texts: Sequence[str | bytes], store: str = "files") -> Documents:
        return Documents(make_database(embedder=lambda: None), tmp_path, texts, store)

    return make


# --- fts-query ----------------------------------------------------------------------------------------------------------

PUNCTUATED = (
    "Order QX-774120: eight o'clock in lib/io.py, owner amy@lab.example, tag [wip] #42, k=v2, 75% done; ready? "
    "m,n x|y p&q ~tmp $HOME {k} state-of-the-art\n"
)


@both_stores
@pytest.mark.parametrize(
    "query",
    ["QX-774120", "-774120", "o'clock", "lib/io.py", "amy@lab.example", "[wip]", "#42", "k=v2", "75%", "ready?", "m,n", "x|y", "p&q",
     "~tmp", "$HOME", "{k}", "state-of-the-art", "done;"],
)  # fmt: skip
def test_fts_01_ordinary_punctuation_is_found(query: str, store: str, documents: Callable[..., Documents]) -> None:
    """Every string of the document, however punctuated, returns it at rank 1."""
    assert documents([PUNCTUATED], store).search(query) == [1]


@both_stores
@pytest.mark.parametrize("query", ["back`tick", "20.04"])
def test_fts_01_a_string_that_does_not_occur(query: str, store: str, documents: Callable[..., Documents]) -> None:
    """A string that the document does not hold gives an empty, successful answer."""
    assert documents([PUNCTUATED], store).search(query) == []


LOGIC = ["the OR gate truth table", "this is NOT a drill", "salt AND pepper", "NEAR miss report", "drill bits"]


@both_stores
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("OR gate", 1),
        ("NOT drill", 2),
        ("NOT a drill", 2),
        ("salt AND", 3),
        ("NEAR miss", 4),
        ("NEAR(miss", 4),
        ("drill NOT", 2),
    ],
)
def test_fts_02_operators_are_words(query: str, first: int, store: str, documents: Callable[..., Documents]) -> None:
    """AND, OR, NOT and NEAR typed in capitals are words: the document that holds them leads and is not excluded."""
    assert documents(LOGIC, store).search(query)[0] == first


@both_stores
@pytest.mark.parametrize(("query", "holders"), [("AND", {3}), ("OR", {1}), ("NOT", {2})])
def test_fts_02_a_lone_operator(query: str, holders: set[int], store: str, documents: Callable[..., Documents]) -> None:
    """One operator word returns only documents that hold it, or nothing: never an error, never the whole store."""
    made = documents(LOGIC, store)
    assert set(made.search(query, {"tool_rounds": [["research-memory", "bm25"]]})) <= holders
    letters = {number for number, text in enumerate(LOGIC, 1) if query.lower() in text.lower()}
    assert set(made.search(query)) <= letters != {1, 2, 3, 4, 5}  # grep looks for the letters: "report" holds "or"


LANGUAGES = ["C compiler notes", "C++ templates", "C# delegates", "F# pipes", ".NET runtime", "net income"]


@both_stores
@pytest.mark.parametrize(("query", "first"), [("C++", 2), ("C#", 3), ("F#", 4), (".NET", 5)])
def test_fts_03_language_names_stay_themselves(
    query: str, first: int, store: str, documents: Callable[..., Documents]
) -> None:
    """`C++`, `C#`, `F#` and `.NET` lead with their own documents."""
    assert documents(LANGUAGES, store).search(query)[0] == first


@both_stores
def test_fts_03_the_bare_letter(store: str, documents: Callable[..., Documents]) -> None:
    """`C` alone returns the C document, at most with the other languages of that letter."""
    found = documents(LANGUAGES, store).search("C")
    assert 1 in found and set(found) <= {1, 2, 3}


def test_fts_03_a_literal_line_search(documents: Callable[..., Documents]) -> None:
    """The grep channel asked for `C++` returns that document only."""
    assert documents(LANGUAGES).search("C++", GREP) == [2]


# --- cjk ----------------------------------------------------------------------------------------------------------------


@both_stores
@pytest.mark.parametrize("query", ["缓存", "策略", "缓存策略"])
def test_cjk_01_two_characters_inside_a_sentence(query: str, store: str, documents: Callable[..., Documents]) -> None:
    """A word of two characters is found with and without spaces around it, and nothing unrelated is."""
    assert set(documents(["昨晚评审了缓存策略", "缓存 策略", "与本题无关"], store).search(query)) == {1, 2}


@both_stores
def test_cjk_01_parts_that_are_not_neighbours(store: str, documents: Callable[..., Documents]) -> None:
    """`评审缓存` is nowhere in a row, and still returns the document that has both parts."""
    found = documents(["昨晚评审了缓存策略", "缓存 策略", "与本题无关"], store).search("评审缓存")
    assert found[0] == 1 and 3 not in found


MIXED = ["rapid check go", "rapid fix only", "更新索引失败 go", "更新索引失败 np"]


@both_stores
@pytest.mark.parametrize(
    ("query", "better", "worse"), [("rapid go", 1, 2), ("更新索引 go", 3, 4), ("更新索引 np", 4, 3)]
)
def test_cjk_02_a_short_word_next_to_a_long_one(
    query: str, better: int, worse: int, store: str, documents: Callable[..., Documents]
) -> None:
    """The document that also holds the short word leads, and the other is not its equal."""
    found = documents(MIXED, store)
    assert found.search(query)[0] == better
    evidence = found.database.search(query, plan=PLAN, write_record=False).evidence
    scores = {int(Path(e.source_ref.removeprefix("memory:m")).stem): e.rerank_score or 0.0 for e in evidence}
    assert scores[better] > scores.get(worse, -1.0)


@both_stores
@pytest.mark.parametrize("query", ["PyTorch", "pytorch", "ResNet50", "复现", "GPU", "GPU加速", "2.5倍"])
def test_cjk_03_latin_glued_to_chinese(query: str, store: str, documents: Callable[..., Documents]) -> None:
    """Names, digits and words are found where nothing separates them."""
    assert documents(["下午用PyTorch复现ResNet50结果，第3章GPU加速约2.5倍"], store).search(query) == [1]


@both_stores
@pytest.mark.parametrize("query", ["计算", "研究所", "科学院", "技术研究", "中国科学院计算技术研究所"])
def test_cjk_04_part_of_a_long_word(query: str, store: str, documents: Callable[..., Documents]) -> None:
    """Every part of an organisation's name returns the text that holds it."""
    assert documents(["中国科学院计算技术研究所发布报告"], store).search(query) == [1]


# --- unicode ------------------------------------------------------------------------------------------------------------

NAMES = ["연구자료", "\u30d1\u30b9", "caf\u00e9"]


@pytest.mark.skipif(sys.platform == "darwin", reason="the file system itself makes one name of the two spellings")
@pytest.mark.parametrize("composed", NAMES)
def test_uni_01_composed_and_decomposed(composed: str, make_database: MakeDatabase, tmp_path: Path) -> None:
    """Both spellings of a name find both files by search and by grep, and what is shown opens the real file."""
    decomposed = unicodedata.normalize("NFD", composed)
    assert composed != decomposed
    (tmp_path / "docs").mkdir()
    names = {f"docs/{composed}_1.md": composed, f"docs/{decomposed}_2.md": decomposed}
    for name, text in names.items():
        (tmp_path / name).write_text(f"body {text}", "utf-8")
    database = make_database(embedder=lambda: None)
    database.add(tmp_path / "docs")
    for query in (composed, decomposed):
        for plan in (PLAN, GREP, {"tool_rounds": [["bm25"]]}):
            evidence = database.search(query, plan=plan, write_record=False).evidence
            assert {item.source_ref for item in evidence} == set(names), (query, plan)
            for item in evidence:
                assert (tmp_path / item.source_ref).read_text("utf-8") == f"body {names[item.source_ref]}"
                assert item.freshness == "fresh" and names[item.source_ref] in item.content


WIDE = ["ＧＰＵ１２３ の設定", "GPU123 config", "ﾃｽﾄ結果", "テスト計画", "foo-bar"]


@both_stores
@pytest.mark.parametrize(
    ("query", "expected"),
    [("gpu123", {1, 2}), ("ＧＰＵ１２３", {1, 2}), ("テスト", {3, 4}), ("ﾃｽﾄ", {3, 4}), ("ｆｏｏ－ｂａｒ", {5})],
)
def test_uni_02_full_and_half_width(
    query: str, expected: set[int], store: str, documents: Callable[..., Documents]
) -> None:
    """Wide letters and digits and narrow katakana are the same as the ordinary ones; what is shown is the original."""
    found = documents(WIDE, store)
    assert set(found.search(query)) == expected
    for item in found.database.search(query, plan=PLAN, write_record=False).evidence:
        assert item.content.rstrip() in WIDE


LIGATURES = "e\ufb03cient \ufb01lter for di\ufb00erent \ufb02ows"


@both_stores
@pytest.mark.parametrize("query", ["efficient", "filter", "different flows"])
def test_uni_03_ligatures(query: str, store: str, documents: Callable[..., Documents]) -> None:
    """Words that a typeset paper writes with ligatures are found as they are typed."""
    assert documents([LIGATURES, "nothing of the kind"], store).search(query) == [1]


def test_uni_03_the_line_search_points_at_the_ligature(documents: Callable[..., Documents], tmp_path: Path) -> None:
    """grep for `filter` reports the line and the column where the ligature stands."""
    made = documents([f"first line\n{LIGATURES}\n"])
    assert made.search("filter", GREP) == [1]
    with Root(tmp_path / "docs") as root:
        (hit,) = search_lines([("0", root)], needles("filter"), deadline=time.monotonic() + 60).hits
    assert (hit.line_no, hit.column) == (2, LIGATURES.index("\ufb01") + 1)


def test_uni_03_a_nul_for_a_ligature_does_no_harm(documents: Callable[..., Documents]) -> None:
    """A document in which an extractor wrote NUL is taken in with a warning, or left out by name; the rest is found."""
    made = documents([LIGATURES, b"suf\x00cient evidence for\n", "flows of another kind"])
    assert made.summary.warnings or made.summary.left_out
    assert set(made.search("flows")) == {1, 3}
    assert check_store(made.database.path).passed


LATEX = ["bound $O(n \\log n)$ over $\\mathcal{H}_n$", "the \\alpha-divergence D_\\alpha", "alpha particles"]


@both_stores
def test_uni_04_latex(store: str, documents: Callable[..., Documents]) -> None:
    """Macros and formulas are queries like any other: the document that holds them leads."""
    made = documents(LATEX, store)
    assert made.search("\\mathcal{H}_n")[0] == 1
    assert made.search("$O(n \\log n)$")[0] == 1
    found = made.search("\\alpha")
    assert found[0] == 2 and found.index(2) < (found.index(3) if 3 in found else 9)


@pytest.mark.parametrize(("query", "expected"), [("\\alpha", {2}), ("\\mathcal{H}_n", {1}), ("$O(n \\log n)$", {1})])
def test_uni_04_a_literal_line_search(query: str, expected: set[int], documents: Callable[..., Documents]) -> None:
    """grep returns exactly the lines that hold those characters."""
    assert set(documents(LATEX).search(query, GREP)) == expected


NULS = ["first\x00second", "heads " + "\x00" * 9000 + " tails"]


@pytest.mark.parametrize("text", NULS, ids=["one", "many"])
def test_uni_05_nul_in_a_memory_is_refused(text: str, documents: Callable[..., Documents]) -> None:
    """A memory with NUL is refused with a message; nothing is written but the events of the two refusals."""
    made = documents(["other text"], "memories")
    before = made.database.status()
    with pytest.raises(InputError, match=r"holds a NUL character. Remove it"):
        made.database.add_memory(title="t", content=text, kind="knowledge")
    with pytest.raises(InputError, match=r"holds a NUL character. Remove it"):
        made.database.add_memory(title=text[:400], content="c", kind="knowledge")
    after = made.database.status()
    assert (after["revision"], after["events"], after["memories"]) == (
        before["revision"],
        before["events"] + 2,
        before["memories"],
    )


def test_uni_05_nul_in_files(documents: Callable[..., Documents]) -> None:
    """A file with NUL is found by all its words, or left out by name; the store is whole and the others are found."""
    made = documents([*(text.encode() for text in NULS), "other words"])
    assert made.search("other") == [3]
    assert check_store(made.database.path).passed
    left_out = made.summary.left_out
    for number, words in ((1, ("first", "second")), (2, ("heads", "tails"))):
        found = [number in made.search(word, {"tool_rounds": [["bm25"]]}) for word in words]
        assert all(found) or (not any(found) and sum(left_out.values()) > 0), (number, found, left_out)
    assert len(made.summary.added) + sum(left_out.values()) == 3


# --- identifiers --------------------------------------------------------------------------------------------------------

SNAKES = [
    "def flush_write_buffer(fd): ...",
    "we flush the write buffer daily",
    "buffer overflow",
    "call __init__ first",
]


@both_stores
def test_idn_01_snake_case(store: str, documents: Callable[..., Documents]) -> None:
    """A function's name finds its definition first and its words after; parts and capitals find it too."""
    made = documents(SNAKES, store)
    found = made.search("flush_write_buffer")
    assert found[0] == 1 and 2 in found[1:]
    assert made.search("flush_write")[0] == 1
    assert {1, 2} <= set(made.search("write buffer"))
    assert made.search("__init__")[0] == 4
    assert made.search("FLUSH_WRITE_BUFFER")[0] == 1


@both_stores
@pytest.mark.parametrize(
    "query",
    [
        "invoice ledger",
        "InvoiceLedger",
        "user profile cache",
        "getUserProfileCache2",
        "http response",
        "getuserprofilecache2",
    ],
)
def test_idn_02_camel_case(query: str, store: str, documents: Callable[..., Documents]) -> None:
    """A class is found by the words inside its name, and by the whole in any case."""
    text = "class CustInvoiceLedgerEntity: def getUserProfileCache2(self): parseHTTPResponse()"
    assert documents([text, "unrelated text"], store).search(query) == [1]


@both_stores
def test_idn_03_stemming(store: str, documents: Callable[..., Documents]) -> None:
    """Another inflection finds the text; of words with one stem the exact form wins."""
    made = documents(["migrate_legacy moves rows", "university ranking", "the universe expands"], store)
    assert 1 in made.search("migrating") and 1 in made.search("migration")
    for query, better, worse in (("university", 2, 3), ("universe", 3, 2)):
        found = made.search(query)
        assert found[0] == better and found.index(better) < (found.index(worse) if worse in found else 9)


# --- ranking ------------------------------------------------------------------------------------------------------------


def test_rank_01_equal_texts_in_fresh_processes(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Twelve equal texts: the same bytes in processes with different hash seeds, and k = N is the first N of k = 12."""
    names = [f"docs/{number:02d}.txt" for number in range(12)]
    random.Random(7).shuffle(names)
    (tmp_path / "docs").mkdir()
    assert arr("init", cwd=tmp_path).code == 0
    for name in names:
        (tmp_path / name).write_text("one and the same needle", "utf-8")
        assert arr("add", name, "--no-embed", cwd=tmp_path).code == 0
    outputs = set()
    for seed in ("0", "3", "9"):
        ran = process("search", "needle", "-k", "12", "--json", cwd=tmp_path, env={"PYTHONHASHSEED": seed})
        outputs.add(json.dumps(json.loads(ran.stdout)["evidence"]))
    (output,) = outputs
    twelve = json.loads(output)
    assert len({item["chunk_id"] for item in twelve}) == 12
    for k in (1, 5):
        fewer = arr("search", "needle", "-k", str(k), "--json", cwd=tmp_path).json["evidence"]
        assert [item["chunk_id"] for item in fewer] == [item["chunk_id"] for item in twelve[:k]]


# --- time ---------------------------------------------------------------------------------------------------------------

MOMENTS = {
    "2025-03-10T20:15:00-03:00": "2025-03-10T23:15:00.000000Z",
    "2025-03-10T22:40:00Z": "2025-03-10T22:40:00.000000Z",
    "2025-03-10T22:00:00.500+00:00": "2025-03-10T22:00:00.500000Z",
    "2025-03-10T22:00:00Z": "2025-03-10T22:00:00.000000Z",
}


def test_time_01_moments_of_many_zones_are_compared_as_moments(make_database: MakeDatabase) -> None:
    """Stored in one canonical form whose order is the order of time; at 23:00Z only the memory of 23:15Z is left."""
    clock = StepClock(datetime(2025, 3, 10, 12, tzinfo=timezone.utc))
    database = make_database(embedder=lambda: None, clock=clock)
    for number, moment in enumerate(MOMENTS):
        memory = database.add_memory(
            memory_id=f"m{number}", title=f"needle {number}", content="needle", kind="knowledge", expires_at=moment
        )
        assert memory.expires_at == MOMENTS[moment]
        database.set_memory_status(memory.memory_id, "published", "test")

    def left(at: datetime) -> set[str]:
        clock.now = at
        return {item.source_ref for item in database.search("needle", plan=PLAN, write_record=False).evidence}

    assert sorted(MOMENTS.values(), reverse=True) == list(MOMENTS.values())
    assert len(left(datetime(2025, 3, 10, 21, tzinfo=timezone.utc))) == 4
    assert left(datetime(2025, 3, 10, 22, 20, tzinfo=timezone.utc)) == {"memory:m0", "memory:m1"}
    assert left(datetime(2025, 3, 10, 20, 0, tzinfo=timezone(timedelta(hours=-3)))) == {"memory:m0"}
    assert left(datetime(2025, 3, 11, tzinfo=timezone.utc)) == set()


@pytest.mark.parametrize(
    "moment", ["2025-03-10", "2026-03-29T02:30:00", "2026-10-25T02:30:00", "2025-03-10T22:00", "yesterday", "now"]
)
def test_time_01_a_time_without_a_zone_is_refused(moment: str, make_database: MakeDatabase) -> None:
    """A date alone, wall time in a daylight-saving gap or overlap, and words are refused, not guessed."""
    database = make_database(embedder=lambda: None)
    with pytest.raises(InputError, match=r"has no time zone|is not an ISO 8601 time"):
        database.add_memory(title="t", content="c", kind="knowledge", expires_at=moment)
    assert database.memories() == []


IN_A_ZONE = """
import json, sys
from pathlib import Path
from arr_sql.database import connect
from arr_sql.errors import InputError, StateError
said = []
with connect(Path(".")) as database:
    for name, moment in (("past", "2025-03-10T20:15:00-03:00"), ("later", "2125-03-10T22:00:00.500+00:00")):
        memory = database.add_memory(memory_id=name, title="needle", content="c", kind="knowledge", expires_at=moment)
        said.append(memory.expires_at)
        try:
            database.set_memory_status(name, "published", "test")
        except StateError as error:
            said.append(str(error))
    try:
        database.add_memory(title="t", content="c", kind="knowledge", expires_at="2026-03-29T02:30:00")
    except InputError as error:
        said.append(str(error))
    found = database.search("needle", plan={"tool_rounds": [["research-memory"]]}).evidence
    said.append([item.source_ref for item in found])
    said.append(database.memory("later").created_at.endswith("Z"))
print(json.dumps(said))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows takes its zone from the registry, not from TZ")
def test_time_01_the_machines_zone_does_not_matter(tmp_path: Path) -> None:
    """The same stored times, the same memory found and the same refusal with TZ set to three zones."""
    answers = []
    for zone in ("UTC", "America/Los_Angeles", "Asia/Kathmandu"):
        folder = tmp_path / zone
        folder.mkdir(parents=True)
        assert arr("init", "--team", "t", cwd=folder).code == 0
        ran = process("-c", IN_A_ZONE, cwd=folder, env={"TZ": zone}, command=(sys.executable,))
        assert ran.returncode == 0, ran.stderr
        answers.append(json.loads(ran.stdout))
    assert answers[0] == answers[1] == answers[2]
    past, expired, later, refusal, found, is_utc = answers[0]
    assert (past, later) == ("2025-03-10T23:15:00.000000Z", "2125-03-10T22:00:00.500000Z")
    assert "expired at 2025-03-10T23:15:00" in expired and "has no time zone" in refusal
    assert (found, is_utc) == (["memory:later"], True)
