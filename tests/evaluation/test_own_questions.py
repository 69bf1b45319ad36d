"""Questions from a store's own chunks: what is asked, what is held out, and when nothing can be told."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from arr_sql.core.analysis import fold
from arr_sql.database import ResearchDatabase
from arr_sql.database.benching import PLAIN_GREP, BenchStore
from arr_sql.errors import InputError
from arr_sql.evaluation.modes import MODES
from arr_sql.evaluation.own_questions import own_set, plain_grep
from arr_sql.evaluation.research_eval import evaluate
from arr_sql.evaluation.store_protocol import StoredChunk
from tests.conftest import SCOPE, MakeDatabase

WORDS = [
    "amber", "basin", "cedar", "delta", "ember", "fjord", "glade", "heath", "inlet", "jetty", "knoll", "lagoon", "marsh",
    "north", "oasis", "plain", "quarry", "ridge",
]  # fmt: skip


def make_chunks(count: int = 120, seed: int = 3) -> list[StoredChunk]:
    """Notes of a heading, two sentences and a name that no other note has."""
    rng = random.Random(seed)
    return [
        StoredChunk(
            f"c{number:03d}", f"notes/{number:03d}.md", f"Survey > The {WORDS[number % 18]} crossing {number}",
            f"The {WORDS[number % 18]} crossing {number}\n"
            f"{' '.join(rng.choice(WORDS) for _ in range(11)).capitalize()} at depth 0.{number}. And more. "
            f"Measured by read_{WORDS[rng.randrange(18)]}_{'abcdefghij'[number // 12]}{'klmnopqrstuv'[number % 12]}() once.",
        )
        for number in range(count)
    ]  # fmt: skip


def test_each_kind_asks_for_one_chunk_and_titles_are_held_out() -> None:
    """The answer to a title holds it nowhere; a sentence stands in its chunk; a renamed name stands in none."""
    chunks = make_chunks()
    gold = own_set(chunks, SCOPE, each=30)
    texts = {document.id: f"{document.title}\n{document.text}" for document in gold.documents}
    kinds: dict[str, int] = {}
    for topic in gold.topics:
        (judgement,) = gold.judgements[topic.topic_id]
        answer = texts[judgement.item.path]
        kinds[topic.topic_class] = kinds.get(topic.topic_class, 0) + 1
        if topic.topic_class == "title":
            assert fold(topic.query) not in fold(answer)
        if topic.topic_class == "sentence":
            assert topic.query.strip('"') in answer
            assert "depth 0." in topic.query  # a point inside a number ends no sentence
        if topic.topic_class == "identifier":
            assert all(topic.query not in text for text in texts.values())
    assert kinds == {"title": 30, "sentence": 30, "identifier": 30}
    assert sum(chunk.heading != document.title for chunk, document in zip(chunks, gold.documents, strict=True)) == 30


def test_the_seed_decides_the_questions() -> None:
    """And nothing else."""
    chunks = make_chunks()
    assert own_set(chunks, SCOPE, each=19, seed=5) == own_set(chunks, SCOPE, each=19, seed=5)
    assert own_set(chunks, SCOPE, seed=5).topics != own_set(chunks, SCOPE, seed=6, each=59).topics


@pytest.mark.parametrize(
    ("chunks", "each", "words"),
    [
        ([], 60, "holds 0 chunks"),
        (make_chunks(99), 60, "holds 99 chunks"),
        ([StoredChunk(f"c{n}", "a.md", "", "x") for n in range(100)], 60, "Only 0 questions"),
    ],
)
def test_what_is_too_small_to_tell_is_refused(chunks: list[StoredChunk], each: int, words: str) -> None:
    """With the next step."""
    with pytest.raises(InputError, match=f"{words}.*arr add"):
        own_set(chunks, SCOPE, each=each)


def test_too_few_are_asked_for() -> None:
    """However much text there is: said before anything is drawn, with the number to give."""
    with pytest.raises(InputError, match=r"13 questions of each kind are 39.*--each 14 or more"):
        own_set(make_chunks(), SCOPE, each=13)


def test_plain_grep_finds_the_whole_query_else_most_words() -> None:
    """In the order of the store."""
    chunks = [
        StoredChunk("c1", "a", "", "one two"), StoredChunk("c2", "b", "", "two"), StoredChunk("c3", "c", "One", "two three"),
    ]  # fmt: skip
    assert plain_grep('"ONE TWO"', chunks) == ["c1"]
    assert plain_grep("three two one", chunks) == ["c3", "c1", "c2"]
    assert plain_grep("nothing", chunks) == []


def test_a_bench_leaves_the_file_alone_and_embeds_only_what_changed(
    make_database: MakeDatabase, tmp_path: Path
) -> None:
    """Real files through a real store; every channel answers; plain grep stands beside them."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for chunk in make_chunks():
        heading, _, text = chunk.content.partition("\n")
        (notes / f"{chunk.chunk_id}.md").write_text(f"# {heading}\n\n{text}\n", encoding="utf-8", newline="\n")
    database: ResearchDatabase = make_database()
    database.add(notes)
    database.embed()
    before = database.status()["revision"], len(database.audit_events(limit=1000))
    from arr_sql.database.evaluating import scope_chunks

    gold = own_set(scope_chunks(database), database.scope, each=20)
    with BenchStore(tmp_path / "bench", gold, database) as store:
        store.build()
        run = evaluate(gold, store, modes=(PLAIN_GREP, *MODES)).data
        embedder = database._embedder_source()
        assert store.facts()["vectors"] == store.facts()["chunks"] == len(gold.documents)
    assert embedder is not None
    assert (database.status()["revision"], len(database.audit_events(limit=1000))) == before
    modes = run["modes"]
    assert modes["grep"]["by_class"]["sentence"]["mrr"] == modes[PLAIN_GREP]["by_class"]["sentence"]["mrr"] == 1.0
    assert modes["bm25"]["by_class"]["identifier"]["mrr"] > 0.9 > modes[PLAIN_GREP]["by_class"]["identifier"]["mrr"]
    assert modes["reranked"]["scope_leak_count"] == modes["bm25"]["scope_leak_count"] == 0
    assert {topic["modes"]["vector"]["answered"] for topic in run["topics"]} == {True}
