"""The bm25 channel: the contract's worked example to six digits, and the SQL statement against a plain Python one."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arr_sql.core.analysis import analyse, query_terms
from arr_sql.core.canonical import significant
from arr_sql.core.connection import Connection, open_reader, open_writer, write_transaction
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode
from arr_sql.core.statements import load
from arr_sql.database import ResearchDatabase
from arr_sql.retrieval.bm25_retriever import Bm25Retriever
from arr_sql.retrieval.bm25_scoring import Bm25Parameters, essential_terms, first_terms, scoring
from arr_sql.retrieval.catalog import ChannelAnswer
from arr_sql.retrieval.hot_postings import HotPostings
from tests.conftest import SCOPE, MakeDatabase, StepClock, other_scopes

CLASSIC = Bm25Parameters(k1=1.5, b=0.75)
EXAMPLE = {"a.txt": "router budget budget", "b.txt": "router design", "c.txt": "budget control plane"}


def fill(database: ResearchDatabase, folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files and take them in."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    database.add(folder)


@contextmanager
def reading(path: Path) -> Iterator[Connection]:
    """A read connection."""
    reader = open_reader(path)
    try:
        yield reader
    finally:
        reader.close()


def asked(
    path: Path, query: str, scope: ScopeKey = SCOPE, k: int = 100, parameters: Bm25Parameters = CLASSIC, **how: Any
) -> ChannelAnswer:
    """The channel's answer."""
    with reading(path) as reader:
        return Bm25Retriever(reader, parameters, **how).retrieve(query, scope, k, 0.0)


def scores(answer: ChannelAnswer) -> list[tuple[str, float]]:
    """Source and score to six digits."""
    return [(hit.source_ref, round(hit.score, 6)) for hit in answer.hits]


# --- The worked example -------------------------------------------------------------------------------------------------


def test_the_contracts_worked_example(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Contract 9.2, k1 = 1.5, b = 0.75: a 1.090472, b 0.529582, c 0.444974."""
    database = make_database(folder=tmp_path / "docs")
    fill(database, tmp_path / "docs", EXAMPLE)
    answer = asked(database.path, "router budget")
    assert scores(answer) == [("a.txt", 1.090472), ("b.txt", 0.529582), ("c.txt", 0.444974)]
    assert [hit.rank for hit in answer.hits] == [1, 2, 3]
    assert (answer.state, answer.candidate_count) == ("ok", 3)


@pytest.mark.parametrize("scope", other_scopes(), ids=lambda scope: str(scope))
def test_fifty_chunks_of_a_neighbour_change_nothing(
    make_database: MakeDatabase, tmp_path: Path, scope: ScopeKey
) -> None:
    """Counts, lengths and document frequencies are the scope's own: not one digit moves, and rows can't be reached."""
    database = make_database(folder=tmp_path / "docs")
    fill(database, tmp_path / "docs", EXAMPLE)
    before = asked(database.path, "router budget")
    neighbour = make_database(scope=scope, folder=tmp_path / "theirs")
    fill(neighbour, tmp_path / "theirs", {f"n{n}.txt": "router " * (n % 7) + f"budget plane {n}" for n in range(50)})
    assert asked(database.path, "router budget") == before
    theirs = asked(neighbour.path, "router budget", scope)
    assert (theirs.candidate_count, {hit.scope for hit in theirs.hits}) == (50, {scope})


def test_a_heading_word_counts_more_and_lengthens_the_chunk(make_database: MakeDatabase, tmp_path: Path) -> None:
    """tf and length count a heading word ``heading_weight`` times; 0 leaves headings out."""
    database = make_database(folder=tmp_path / "docs")
    fill(database, tmp_path / "docs", {"a.md": "# Router\n\nplane", "b.md": "# Plane\n\nrouter"})
    with reading(database.path) as reader:
        rows = {row["source_ref"]: row for row in reader.execute(
            "SELECT v.source_ref, c.heading, c.content, c.n_terms, c.n_heading_terms FROM chunk c"
            " JOIN source_version v ON v.source_id = c.source_id")}  # fmt: skip
    weight = 3.0
    corpus = {name: (row["heading"], row["content"]) for name, row in rows.items()}
    expected = brute_force(corpus, "router", Bm25Parameters(1.5, 0.75, weight))
    assert [hit.source_ref for hit in asked(database.path, "router", parameters=Bm25Parameters(1.5, 0.75, weight)).hits] == [
        "a.md", "b.md",
    ]  # fmt: skip
    answer = asked(database.path, "router", parameters=Bm25Parameters(1.5, 0.75, weight))
    assert {hit.source_ref: hit.score for hit in answer.hits} == pytest.approx(expected, abs=2e-9)


# --- States -------------------------------------------------------------------------------------------------------------


def test_no_match_and_no_words_are_empty(make_database: MakeDatabase, tmp_path: Path) -> None:
    """An unknown word, a query without words, and a scope that was never opened."""
    database = make_database(folder=tmp_path / "docs")
    fill(database, tmp_path / "docs", EXAMPLE)
    assert asked(database.path, "zyzzyva") == ChannelAnswer("empty")
    assert asked(database.path, "...") == ChannelAnswer("empty")
    assert asked(database.path, "router", other_scopes()[0]) == ChannelAnswer("empty")


def test_a_missing_index_is_not_an_empty_answer(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Unavailable with ``index_missing``; a rebuild brings the very same answer back."""
    database = make_database(folder=tmp_path / "docs")
    fill(database, tmp_path / "docs", EXAMPLE)
    before = asked(database.path, "router budget")
    writer = open_writer(database.path)
    with write_transaction(writer, database.path):
        writer.execute("DROP TABLE chunk_term")
        writer.execute("DROP TABLE chunk_fts")
    writer.close()
    assert asked(database.path, "router budget") == ChannelAnswer("unavailable", code=ReasonCode.INDEX_MISSING)
    database.rebuild()
    assert asked(database.path, "router budget") == before


def test_k_cuts_after_counting(make_database: MakeDatabase, tmp_path: Path) -> None:
    """The best two of three, of which three matched."""
    database = make_database(folder=tmp_path / "docs")
    fill(database, tmp_path / "docs", EXAMPLE)
    answer = asked(database.path, "router budget", k=2)
    assert ([hit.source_ref for hit in answer.hits], answer.candidate_count) == (["a.txt", "b.txt"], 3)


def test_equal_texts_are_in_the_order_of_their_ids(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Twelve identical files have one score, and any k gives a prefix of the same order."""
    database = make_database(folder=tmp_path / "docs")
    fill(database, tmp_path / "docs", {f"{n}.txt": "路由器 router" for n in range(12)})
    found = [hit.chunk_id for hit in asked(database.path, "router").hits]
    assert found == sorted(found) and len(found) == 12
    assert [[hit.chunk_id for hit in asked(database.path, "router", k=k).hits] for k in (1, 5)] == [
        found[:1],
        found[:5],
    ]


# --- Against a plain implementation ---------------------------------------------------------------------------------------


def brute_force(corpus: Mapping[str, tuple[str, str]], query: str, p: Bm25Parameters) -> dict[str, float]:
    """Okapi BM25 as in Robertson and Zaragoza (2009), over (heading, body) texts, the way one writes it down."""
    analysed = {name: (analyse(heading), analyse(body)) for name, (heading, body) in corpus.items()}
    length = {name: body.length + p.heading_weight * head.length for name, (head, body) in analysed.items()}
    mean = sum(length.values()) / len(length)
    tf = {
        name: {t: body.terms.count(t) + p.heading_weight * head.terms.count(t) for t in {*head.terms, *body.terms}}
        for name, (head, body) in analysed.items()
    }
    found: dict[str, float] = {}
    for name in corpus:
        parts = []
        for term, weight in query_terms(query).items():
            df = sum(term in counts for counts in tf.values())
            if term in tf[name]:
                idf = math.log(1 + (len(corpus) - df + 0.5) / (df + 0.5))
                frequency = tf[name][term]
                norm = frequency + p.k1 * (1 - p.b + p.b * length[name] / mean)
                parts.append(weight * idf * frequency * (p.k1 + 1) / norm)
        if parts:
            found[name] = significant(math.fsum(parts))
    return found


WORDS = (
    "router",
    "routers",
    "budget",
    "plane",
    "lr_decay",
    "getUserName",
    "ERR-42",
    "the",
    "学习率",
    "减半",
    "学习",
    "café",
    "42",
)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
corpora = st.lists(texts, min_size=1, max_size=8)
parameters = st.builds(
    Bm25Parameters, st.sampled_from((0.0, 0.9, 1.2, 1.5, 2.0)), st.sampled_from((0.0, 0.4, 0.75, 1.0)), st.just(2.0)
)


@settings(max_examples=max(40, settings().max_examples // 2))
@given(corpora, texts, parameters)
def test_the_statement_is_bm25(corpus: list[str], query: str, p: Bm25Parameters) -> None:
    """On any small corpus the SQL statement finds exactly the matching chunks, with the formula's scores, in order."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {f"d{number}.txt": text for number, text in enumerate(corpus)}
        with ResearchDatabase.create(
            folder / "arr.db",
            SCOPE,
            project_folder=folder / "docs",
            actor="tester",
            clock=StepClock(),
            embedder=lambda: None,
        ) as database:
            fill(database, folder / "docs", files)
        answer = asked(folder / "arr.db", query, parameters=p)
    expected = brute_force({name: ("", text) for name, text in files.items()}, query, p)
    assert {hit.source_ref for hit in answer.hits} == set(expected)
    for hit in answer.hits:
        assert math.isclose(hit.score, expected[hit.source_ref], abs_tol=1e-9 * (1 + len(query_terms(query))))
    keys = [(-hit.score, hit.chunk_id) for hit in answer.hits]
    assert keys == sorted(keys)
    assert answer.candidate_count == len(expected)


@settings(max_examples=max(40, settings().max_examples // 2))
@given(corpora, texts, parameters, st.integers(1, 9))
def test_three_ways_give_the_same_bytes(corpus: list[str], query: str, p: Bm25Parameters, k: int) -> None:
    """All words read for all chunks, common words read last for those that can still win, and arrays in memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with ResearchDatabase.create(
            folder / "arr.db", SCOPE, project_folder=folder / "docs", actor="tester", clock=StepClock(),
            embedder=lambda: None,
        ) as database:  # fmt: skip
            fill(database, folder / "docs", {f"d{number}.txt": text for number, text in enumerate(corpus)})
        whole = asked(folder / "arr.db", query, k=k, parameters=p)
        pruned = asked(folder / "arr.db", query, k=k, parameters=p, prune_above=0)
        from_memory = asked(folder / "arr.db", query, k=k, parameters=p, hot=HotPostings(from_question=1))
    assert pruned.hits == whole.hits
    assert from_memory == whole


def test_common_words_are_left_for_last_and_change_nothing(make_database: MakeDatabase, tmp_path: Path) -> None:
    """400 chunks, one word in nearly all of them: it is not needed to find the best three, and its part still counts."""
    database = make_database(folder=tmp_path / "docs")
    files = {
        f"{n:03}.txt": f"common {'common ' * (n % 5)} filler{n % 7} {'needle' if n % 97 == 3 else ''} tail {n}"
        for n in range(400)
    }
    fill(database, tmp_path / "docs", files)
    with reading(database.path) as reader:
        terms = query_terms("common needle")
        rows = reader.execute(
            load("search_bm25_words"), {**SCOPE.bindings(), "terms": json.dumps(list(terms))}
        ).fetchall()
        wanted = scoring(rows, terms, CLASSIC)
        first = first_terms(wanted.terms, 0)
        assert [term.text for term in wanted.terms[:first]] == ["needl", "needle"]
        assert essential_terms(wanted.terms, wanted.terms[0].bound, first) == first < len(wanted.terms)
    for k in (1, 3, 5, 50):
        whole = asked(database.path, "common needle", k=k)
        assert asked(database.path, "common needle", k=k, prune_above=0).hits == whole.hits
        assert asked(database.path, "common needle", k=k, hot=HotPostings(from_question=1)) == whole


def test_a_large_count_is_said_to_be_a_lower_bound(
    make_database: MakeDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting every match would cost more than finding the best: the trace says ``at_least``, in all three ways."""
    database = make_database(folder=tmp_path / "docs")
    fill(database, tmp_path / "docs", {f"{n}.txt": f"router {'budget' if n % 2 else 'plane'}" for n in range(12)})
    assert (asked(database.path, "router plane").candidate_count, asked(database.path, "router plane").detail) == (
        12,
        {},
    )
    monkeypatch.setattr("arr_sql.retrieval.bm25_retriever.PRUNE_ABOVE", 10)
    answers = [
        asked(database.path, "router plane", k=3, prune_above=above, hot=hot)
        for above, hot in ((10**6, None), (0, None), (0, HotPostings(from_question=1)))
    ]
    assert answers[0] == answers[1] == answers[2]
    assert (answers[0].candidate_count, answers[0].detail) == (12, {"count": "at_least"})
