"""A memory is found by its vector exactly when it is found by its words: the same gates, whatever became of it before."""

from __future__ import annotations

import re
import tempfile
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from arr_sql.core.connection import open_reader
from arr_sql.core.statements import load
from arr_sql.database import ResearchDatabase
from arr_sql.errors import ArrError
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.memory_retriever import MemoryRetriever
from arr_sql.retrieval.vector_retriever import VectorRetriever, from_embedder
from tests.conftest import SCOPE, FakeEmbedder, StepClock

IDS = ("m1", "m2", "m3")
EXPIRES = "2026-06-01T00:00:00Z"
Step = tuple[str, str, Any]

names = st.sampled_from((*IDS, "m4", "m5"))
steps = st.one_of(
    st.tuples(
        st.just("add"), names,
        st.fixed_dictionaries({
            "conflict_key": st.sampled_from((None, "key")), "confidence": st.sampled_from((0.2, 0.8)),
            "expires_at": st.sampled_from((None, EXPIRES)),
            "applicability": st.sampled_from(({}, {"experiment_environments": ["h800"]})),
        }),
    ),
    st.tuples(
        st.just("status"), names,
        st.sampled_from(
            ("published", "published", "published", "verified", "deprecated", "conflict", "expired", "revoked", "candidate")
        ),
    ),
    st.tuples(st.just("edit"), names, st.sampled_from(("router plane", "router budget"))),
    st.tuples(st.just("forget"), names, st.none()),
    st.tuples(st.just("renew"), names, st.sampled_from(("2026-03-01T00:00:00Z", "2027-01-01T00:00:00Z"))),
    st.tuples(st.just("embed"), st.just(""), st.none()),
)  # fmt: skip
PUBLISHED: list[Step] = []
for _name in IDS:
    PUBLISHED += [("add", _name, {}), ("status", _name, "published"), ("embed", "", None)]


def do(database: ResearchDatabase, step: Step) -> None:
    """Take one step; a step that is not allowed is none."""
    what, name, value = step
    try:
        if what == "add":
            database.add_memory(memory_id=name, title="note", content=f"router {name}", kind="knowledge", **value)
        elif what == "status":
            database.set_memory_status(name, value, "because")
        elif what == "edit":
            database.edit_memory(name, content=value)
        elif what == "forget":
            database.forget(memory_ids=[name])
        elif what == "renew":
            database.renew_memory(name, value, "still true")
        else:
            database.embed()
    except ArrError:
        pass


def both(path: Path, now: datetime) -> tuple[list[Any], list[Any]]:
    """What the two channels find of the memories, all of which hold the word; by id, without rank and score."""
    reader, model = open_reader(path), from_embedder(FakeEmbedder())
    try:
        by_words = MemoryRetriever(reader, lambda: now).retrieve("router", SCOPE, 100, 0.0)
        channel = VectorRetriever(reader, lambda: model, lambda: True, clock=lambda: now)
        return described(by_words.hits), described(channel.retrieve("router", SCOPE, 100, 0.0).hits)
    finally:
        reader.close()


def described(hits: tuple[Hit, ...]) -> list[Any]:
    return sorted(repr({**asdict(hit), "rank": 0, "score": 0}) for hit in hits)


@settings(max_examples=max(25, settings().max_examples // 10))
@given(st.lists(steps, max_size=14))
@example([("status", "m1", "deprecated"), ("status", "m2", "revoked"), ("forget", "m3", None)])
@example([(what, name, value) for name, sure in (("m4", 0.2), ("m5", 0.8))
          for what, value in (("add", {"conflict_key": "key", "confidence": sure}), ("status", "published"))])  # fmt: skip
@example([("status", "m1", "expired"), ("renew", "m1", "2027-01-01T00:00:00Z"), ("edit", "m2", "router plane")])
def test_words_and_vectors_find_the_same_memories(history: list[Step]) -> None:
    """Three published memories with vectors, then anything: none comes back by its vector, none is kept from it once embedded."""
    with tempfile.TemporaryDirectory() as folder:
        path, clock = Path(folder) / "arr.db", StepClock()
        with ResearchDatabase.create(
            path, SCOPE, project_folder=Path(folder), clock=clock, embedder=FakeEmbedder
        ) as database:
            for step in (*PUBLISHED, *history):
                do(database, step)
            for later in (0, 90, 400):
                by_words, by_meaning = both(path, clock.now + timedelta(days=later))
                assert set(by_meaning) <= set(by_words)
            database.embed()
            for later in (0, 90, 400):
                by_words, by_meaning = both(path, clock.now + timedelta(days=later))
                assert by_meaning == by_words


def test_both_statements_ask_for_the_same_memories() -> None:
    """Which memories may be used is written twice, since a statement is one file; the words are the same."""
    usable = [part("search_memory", "usable"), part("search_memory_vectors", "usable")]
    lengths = " m.n_terms + :heading_weight * m.n_heading_terms AS n_terms,"
    assert usable[0].count(lengths) == 1 and usable[0].replace(lengths, "") == usable[1]
    assert part("search_memory", "scope_of") == part("search_memory_vectors", "scope_of")
    shown = [text(name).rpartition("m.memory_id AS memory_id")[2].partition("FROM best AS b")[0].partition("FROM near AS n")[0]
             for name in ("search_memory", "search_memory_vectors")]  # fmt: skip
    assert shown[0].replace("b.conflict_key", "n.conflict_key") == shown[1] and "conflict_losers" in shown[0]


def text(name: str) -> str:
    """A statement on one line without its comments."""
    return re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", load(name)))


def part(name: str, table: str) -> str:
    """What stands between the brackets of one common table expression."""
    found = re.search(rf"{table} AS (?:MATERIALIZED )?\((.*?)\)(?:, [a-z_]+ AS )", text(name))
    assert found is not None
    return found[1]
