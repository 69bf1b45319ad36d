"""Contract 7.4: what was answered once is answered again on the store as it was, or the difference is named with its cause.

The store goes on changing after every retrieval: edits, renames, deletions, memories, vectors, neighbours. The scope's
channels over the store must not notice. grep reads the disk as it is now, so its differences are told as what they are.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arr_sql.core.connection import Connection, sqlite3
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.database import retrieval as retrieval_module
from arr_sql.errors import InputError, StateError
from arr_sql.policy.replay_compare import Facts, cause_of, comparable, first_difference
from arr_sql.retrieval.bm25_retriever import Bm25Retriever
from arr_sql.retrieval.bm25_scoring import Bm25Parameters
from arr_sql.retrieval.catalog import ChannelAnswer
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, StepClock, other_scopes

WORDS = [
    "router", "budget", "warmup", "decay", "plane", "zinc", "copper", "loss", "schedule", "nan", "queue", "shard", "epoch",
    "学习率", "数据", "lr_decay", "NAN_LOSS_17", "gradient",
]  # fmt: skip
STORE = {"tool_rounds": [["research-memory", "bm25", "vector"]]}
PLANS: tuple[Any, ...] = (
    STORE, STORE, STORE, {"tool_rounds": [["bm25"]]}, {"tool_rounds": [["research-memory", "vector"]]},
    {"tool_rounds": [["bm25"], ["vector", {"tool": "bm25", "query": "plane budget"}]]}, {"tool_rounds": [["nobody", "bm25"]]},
)  # fmt: skip


def text(rng: random.Random) -> str:
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(3, 9))) for _ in range(rng.randint(2, 6))]
    return f"# {rng.choice(WORDS)} {rng.choice(WORDS)}\n\n" + "\n\n".join(lines) + "\n"


def change(database: ResearchDatabase, notes: Path, rng: random.Random) -> None:
    """One thing that happens to a store."""
    files = sorted(notes.glob("*.md"))
    kind = rng.randrange(7)
    if kind == 0:
        (notes / f"{rng.randrange(9)}.md").write_text(text(rng), "utf-8")
        database.sync()
    elif kind == 1 and len(files) > 2:
        rng.choice(files).unlink()
        database.sync()
    elif kind == 2 and files:
        rng.choice(files).rename(notes / f"renamed-{rng.randrange(9)}.md")
        database.sync()
    elif kind == 3:
        database.embed()
    elif kind == 4:
        memory = database.add_memory(
            title=rng.choice(WORDS), content=text(rng), kind="knowledge", conflict_key=rng.choice("ab")
        )
        database.set_memory_status(memory.memory_id, "published", "measured")
    elif kind == 5:
        published = database.memories("published")
        if published:
            database.set_memory_status(rng.choice(published).memory_id, "revoked", "wrong")
    elif files:
        path = rng.choice(files)
        path.write_text("A new first line.\n\n" + path.read_text("utf-8"), "utf-8")  # every chunk moves
        database.sync()


def verdicts(database: ResearchDatabase) -> list[tuple[str, Any, Any]]:
    return [(item.outcome, item.difference, item.cause) for item in database.replay_all()]


# --- Identical --------------------------------------------------------------------------------------------------------


def test_two_hundred_retrievals_of_a_changing_store(make_database: MakeDatabase, tmp_path: Path) -> None:
    """200 random retrievals between edits, memories, vectors and neighbours' activity all replay as identical."""
    rng = random.Random(7)
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(6):
        (notes / f"{number}.md").write_text(text(rng), "utf-8")
    database = make_database(folder=tmp_path)
    neighbour = make_database(scope=other_scopes()[0], folder=tmp_path)
    database.add(notes)
    for number in range(200):
        plan = rng.choice(PLANS)
        database.search(" ".join(rng.choices(WORDS, k=rng.randint(1, 4))), plan=plan, k=rng.choice([None, 1, 3, 20]))
        if number % 3 == 0:
            change(database, notes, rng)
        if number % 20 == 0:
            neighbour.add(notes)
            neighbour.embed()
    assert verdicts(database) == [("identical", None, None)] * 200


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(["change", "ask", "ask"]), min_size=4, max_size=14))
def test_any_history_replays(seed: int, steps: list[str]) -> None:
    """Whatever happens between retrievals, each is identical at its revision, also when it is replayed alone."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        notes = folder / "notes"
        notes.mkdir()
        (notes / "0.md").write_text(text(rng), "utf-8")
        with ResearchDatabase.create(
            folder / "lab.db", SCOPE, project_folder=folder, actor="tester", clock=StepClock(), embedder=FakeEmbedder
        ) as database:
            database.add(notes)
            ids = []
            for step in steps:
                if step == "change":
                    change(database, notes, rng)
                else:
                    ids.append(database.search(" ".join(rng.choices(WORDS, k=3)), plan=rng.choice(PLANS)).retrieval_id)
            assert {item[0] for item in verdicts(database)} <= {"identical"}
            assert all(database.replay(one).outcome == "identical" for one in ids)
            assert database.verify_audit().damages == ()


def test_grep_and_the_default_plan_replay_while_the_files_stand(make_database: MakeDatabase, tmp_path: Path) -> None:
    """All four channels over files that did not change, also when they were touched, or edited and put back."""
    (tmp_path / "a.md").write_text("# Decay\n\nlr_decay is 0.5 here\n", "utf-8")
    database = make_database(folder=tmp_path)
    database.add(tmp_path / "a.md")
    database.embed()
    found = database.search("lr_decay")
    assert [trace.state for trace in found.traces] == ["empty", "ok", "ok", "ok"]
    (tmp_path / "a.md").touch()
    database.sync()
    database.search("lr_decay")
    before = (tmp_path / "a.md").read_bytes()
    (tmp_path / "a.md").write_text("# Decay\n\nlr_decay is 0.9 here\n", "utf-8")
    database.sync()
    (tmp_path / "a.md").write_bytes(before)
    assert verdicts(database) == [("identical", None, None)] * 2


def test_what_the_machine_did_is_repeated(make_database: MakeDatabase, tmp_path: Path) -> None:
    """No model, a channel that failed, an index that was behind: the replay says what the record says of them."""

    class Broken:
        name, provider, read_only = "broken", "local", True

        def __init__(self, reader: Connection) -> None:
            pass

        def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
            raise OSError("the disk is gone")

    (tmp_path / "a.md").write_text("# Router\n\nbudget\n", "utf-8")
    database = make_database(folder=tmp_path, embedder=lambda: None)
    database.add(tmp_path / "a.md")
    database.register_channel(Broken)
    first = database.search("router budget", plan={"tool_rounds": [["bm25", "vector", "broken"]]})
    assert [str(item.code) for item in first.degradations] == ["model_missing", "channel_error"]
    writer = sqlite3.connect(database.path, isolation_level=None)
    writer.execute("UPDATE scope_index SET analyser_version = 'older'")
    second = database.search("router budget", plan=STORE)
    assert [str(item.code) for item in second.rejections] == ["stale_index", "stale_index"]
    writer.execute("DROP TABLE chunk_term")
    writer.close()
    database.rebuild()
    assert verdicts(database) == [("identical", None, None)] * 2


def test_a_memory_that_expired_since(make_database: MakeDatabase) -> None:
    """The clock of a replay is the moment of the record."""
    database = make_database()
    database.add_memory(
        memory_id="m", title="Zinc", content="zinc", kind="knowledge", expires_at="2026-01-02T03:05:00Z"
    )
    database.set_memory_status("m", "published", "measured")
    assert len(database.search("zinc", plan=STORE).evidence) == 1
    later = make_database(clock=StepClock(StepClock().now.replace(year=2027)))
    assert len(later.search("zinc", plan=STORE).evidence) == 0
    assert verdicts(later) == [("identical", None, None)] * 2


def test_other_scopes_do_not_matter(make_database: MakeDatabase, tmp_path: Path) -> None:
    """A neighbour whose rows are damaged changes neither a verdict nor a cause."""
    (tmp_path / "a.md").write_text("# Router\n\nbudget\n", "utf-8")
    database = make_database(folder=tmp_path)
    for scope in (SCOPE, *other_scopes()[:2]):
        make_database(scope=scope, folder=tmp_path).add(tmp_path / "a.md")
    database.search("router", plan=STORE)
    writer = sqlite3.connect(database.path, isolation_level=None)
    writer.execute("UPDATE chunk SET content = 'router router router' WHERE scope_id <> 1")
    writer.close()
    assert verdicts(database) == [("identical", None, None)]


# --- Different --------------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(make_database: MakeDatabase, tmp_path: Path) -> ResearchDatabase:
    """A store with two files, vectors and a memory, asked once through every channel but grep."""
    (tmp_path / "a.md").write_text("# Router\n\nThe router keeps a budget.\n", "utf-8")
    (tmp_path / "b.md").write_text("# Plane\n\nThe control plane has a router.\n", "utf-8")
    database = make_database(folder=tmp_path)
    database.add(tmp_path / "a.md")
    database.add(tmp_path / "b.md")
    database.embed()
    database.add_memory(memory_id="m", title="Router", content="router budget", kind="knowledge")
    database.set_memory_status("m", "published", "measured")
    found = database.search("router budget", plan=STORE)
    assert len(found.evidence) == 3
    return database


def behind_its_back(database: ResearchDatabase, *statements: str) -> None:
    connection = sqlite3.connect(database.path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys=OFF")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def cause(database: ResearchDatabase) -> str | None:
    (found,) = database.replay_all()
    assert (found.outcome, found.difference is not None) == ("different", True)
    return found.cause


def test_row_erased(asked: ResearchDatabase) -> None:
    """A forgotten memory, and a forgotten source that was evidence."""
    asked.forget(memory_ids=["m"])
    assert cause(asked) == "row_erased"
    asked.forget(source_refs=["b.md"])
    assert cause(asked) == "row_erased"
    assert asked.verify_audit().damages == ()


def test_what_came_back_under_its_id_was_erased_all_the_same(
    make_database: MakeDatabase, tmp_path: Path, asked: ResearchDatabase
) -> None:
    """The file is synced again, or a memory of the same id is added, with the same words or others: another row."""
    asked.forget(source_refs=["a.md", "b.md"])
    asked.add(tmp_path / "a.md")
    asked.add(tmp_path / "b.md")
    asked.embed()
    assert cause(asked) == "row_erased"
    for content in ("router budget", "something else"):
        database = make_database(path=tmp_path / f"{content[:6]}.db", folder=tmp_path)
        database.add_memory(memory_id="m", title="Router", content="router budget", kind="knowledge")
        database.set_memory_status("m", "published", "measured")
        assert database.search("router budget", plan=STORE).evidence
        database.forget(memory_ids=["m"])
        database.add_memory(memory_id="m", title="Router", content=content, kind="knowledge")
        assert cause(database) == "row_erased"


def test_a_text_that_was_erased_before_explains_nothing(asked: ResearchDatabase) -> None:
    """A receipt from before the retrieval is about an earlier row of the same id and words."""
    asked.forget(memory_ids=["m"])
    asked.add_memory(memory_id="m", title="Router", content="router budget", kind="knowledge")
    asked.set_memory_status("m", "published", "measured")
    later = asked.search("router budget", plan=STORE).retrieval_id
    behind_its_back(asked, "UPDATE memory SET added_revision = 900 WHERE status = 'published'")
    assert asked.replay(str(later)).cause == "row_revised"


def test_a_model_that_was_missing_then_explains_nothing_now(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Searched without a model, and a note that was no evidence is forgotten: counts are others, since rows were erased."""
    for name, words in (
        ("a", "The router keeps a budget."),
        ("b", "A router."),
        ("c", "Whales and a plane."),
        ("d", "Zinc."),
    ):
        (tmp_path / f"{name}.md").write_text(f"# Note {name}\n\n{words}\n", "utf-8")
    database = make_database(folder=tmp_path, embedder=lambda: None)
    for name in "abcd":
        database.add(tmp_path / f"{name}.md")
    found = database.search("router budget", plan=STORE)
    assert "model_missing" in [trace.reason for trace in found.traces]
    assert {item.source_ref for item in found.evidence} == {"a.md", "b.md"}
    database.forget(source_refs=["c.md"])
    assert cause(database) == "row_erased"


def test_a_forgotten_query_is_row_erased(make_database: MakeDatabase, tmp_path: Path) -> None:
    """A record whose query, or whose plan's rewritten query, was forgotten says so; its neighbour is asked again as ever."""
    (tmp_path / "a.md").write_text("# Router\n\nThe router keeps a budget.\n", "utf-8")
    database = make_database(folder=tmp_path)
    database.add(tmp_path / "a.md")
    asked = database.search("router of mine", plan=STORE).retrieval_id
    rewritten: Any = {"tool_rounds": [["bm25", {"tool": "bm25", "query": "router of mine"}]]}
    by_plan = database.search("budget", plan=rewritten).retrieval_id
    kept = database.search(
        "router", plan={"tool_rounds": [["bm25", {"tool": "bm25", "query": "(erased)"}]]}
    ).retrieval_id
    assert verdicts(database) == [("identical", None, None)] * 3
    database.forget(queries=["router of mine"])
    found = {item.retrieval_id: item for item in database.replay_all()}
    assert {name: (item.outcome, item.cause) for name, item in found.items()} == {
        asked: ("different", "row_erased"), by_plan: ("different", "row_erased"), kept: ("identical", None),
    }  # fmt: skip
    assert [found[name].difference and found[name].difference.where for name in (asked, by_plan)] == ["query", "plan"]
    assert database.replay(asked) == database.replay(asked, query="router of mine") == found[asked]
    assert database.replay(by_plan) == found[by_plan]
    assert [event.details["cause"] for event in database.audit_events("replayed", limit=1)] == ["row_erased"]
    answers = database.diff(0, retrievals=True)
    assert (answers.answers_compared, answers.answers_not_replayable) == (1, 2)
    assert database.verify_audit().damages == ()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memory SET added_revision = 900 WHERE status = 'published'",
        "UPDATE memory SET title = 'Router router router' WHERE status = 'published'",
        "UPDATE chunk SET content = 'The router is gone.', content_hash = printf('%064d', 1) WHERE id = 1",
        "UPDATE chunk SET heading = 'Router budget' WHERE id = 2",
    ],
)
def test_row_revised(asked: ResearchDatabase, statement: str) -> None:
    """A row that was changed in place, which no command does."""
    behind_its_back(asked, statement)
    assert cause(asked) == "row_revised"


def test_model_missing(asked: ResearchDatabase) -> None:
    """The vectors of the model that answered are gone."""
    behind_its_back(asked, "DELETE FROM chunk_embedding", "DELETE FROM embedding_model")
    assert cause(asked) == "model_missing"


def test_the_query_vector_is_gone(asked: ResearchDatabase) -> None:
    """Without the vector that was used nothing stands in for it, not even the installed model."""
    behind_its_back(asked, "UPDATE retrieval SET query_vectors = '{}'")
    assert cause(asked) == "model_missing"


def other_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search as another version of this program would."""
    monkeypatch.setattr(
        retrieval_module, "Bm25Retriever", lambda reader, **_: Bm25Retriever(reader, Bm25Parameters(0.1, 0.1, 9.0))
    )


def test_index_version(asked: ResearchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of a program that ranked otherwise."""
    behind_its_back(
        asked, "DELETE FROM retrieval_evidence", "DELETE FROM retrieval", "DELETE FROM audit_event WHERE kind = 'x'"
    )
    with monkeypatch.context() as patch:
        other_ranking(patch)
        patch.setattr(retrieval_module, "INDEX_VERSION", "text 0")
        found = asked.search("router budget", plan={"tool_rounds": [["bm25"]]})
    again = asked.replay(found.retrieval_id)
    assert (
        again.outcome == "different"
        and again.difference is not None
        and again.difference.where.startswith("evidence 1")
    )


@pytest.mark.parametrize(
    ("name", "expected"), [("INDEX_VERSION", "index_version"), ("ANALYSER_VERSION", "analyser_version")]
)
def test_a_version_is_the_cause(
    make_database: MakeDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: str
) -> None:
    """Nothing happened to the rows: the recorded version of index or analyser explains other scores."""
    (tmp_path / "a.md").write_text("# Router\n\nThe router keeps a budget.\n", "utf-8")
    database = make_database(folder=tmp_path)
    database.add(tmp_path / "a.md")
    with monkeypatch.context() as patch:
        other_ranking(patch)
        patch.setattr(retrieval_module, name, "older")
        database.search("router budget", plan={"tool_rounds": [["bm25"]]})
    assert cause(database) == expected


def test_policy_changed(make_database: MakeDatabase, tmp_path: Path) -> None:
    """A channel of one's own that is not registered where the replay runs."""

    class Mine:
        name, provider, read_only = "mine", "local", True

        def __init__(self, reader: Connection) -> None:
            pass

        def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
            return ChannelAnswer("empty")

    database = make_database(folder=tmp_path)
    database.add_memory(memory_id="m", title="Zinc", content="zinc", kind="knowledge")
    database.register_channel(Mine)
    database.search("zinc", plan={"tool_rounds": [["mine"]]})
    assert verdicts(database) == [("identical", None, None)]
    assert cause(make_database(folder=tmp_path)) == "policy_changed"


@pytest.mark.parametrize("what", ["edited", "deleted", "new", "branch"])
def test_file_changed(make_database: MakeDatabase, tmp_path: Path, what: str) -> None:
    """grep reads the disk as it is now: other files are the cause, when every other channel agrees."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Decay\n\nlr_decay is 0.5 here\n", "utf-8")
    database = make_database(folder=docs)
    database.add(docs)
    database.search("lr_decay", plan={"tool_rounds": [["bm25", "grep"]]})
    if what == "edited":
        (docs / "a.md").write_text("# Decay\n\nlr_decay is 0.9 here\n", "utf-8")
    elif what == "deleted":
        (docs / "a.md").unlink()
    elif what == "new":
        (docs / "b.txt").write_text("lr_decay\n", "utf-8")
    else:
        (docs / ".git").mkdir()
        (docs / ".git" / "HEAD").write_text("ref: refs/heads/other\n", "utf-8")
    database.sync()
    assert cause(database) == "file_changed"


def test_files_explain_no_other_channel(make_database: MakeDatabase, tmp_path: Path) -> None:
    """A changed file is not blamed for what a row did: then the row is named."""
    (tmp_path / "a.md").write_text("# Decay\n\nlr_decay is 0.5 here\n", "utf-8")
    database = make_database(folder=tmp_path)
    database.add(tmp_path / "a.md")
    database.search("lr_decay", plan={"tool_rounds": [["bm25", "grep"]]})
    (tmp_path / "a.md").write_text("# Decay\n\nlr_decay is 0.9 here\n", "utf-8")
    behind_its_back(database, "UPDATE chunk SET heading = 'lr_decay lr_decay' WHERE id = 1")
    assert cause(database) == "row_revised"


def test_what_nothing_explains_has_no_cause() -> None:
    """The list of causes is closed: without a fact there is none, and the command asks for `arr db check`."""
    assert cause_of(Facts()) is None
    assert cause_of(Facts(files_changed=True)) is None
    assert cause_of(Facts(evidence_erased=True, rows_revised=True, only_grep=True, files_changed=True)) == "row_erased"
    assert cause_of(Facts(rows_revised=True, only_grep=True, files_changed=True)) == "file_changed"


def account(**changes: Any) -> dict[str, Any]:
    item = {"chunk_id": "c1", "content_hash": "h", "source_ref": "a", "locator": "L1", "channels": [], "rrf_score": 0.1,
            "rerank_score": 0.2, "rerank_reason": "", "freshness": "fresh"}  # fmt: skip
    trace = {"round_index": 0, "tool_name": "bm25", "state": "ok", "accepted": True, "candidate_count": 1, "eligible_count": 1,
             "reason": "", "duration_ms": 1.0, "detail": {}}  # fmt: skip
    return {
        "evidence": [item],
        "rejections": [],
        "degradations": [],
        "partial": 0,
        "state": "found",
        "traces": [trace],
        **changes,
    }


def test_the_first_difference_is_named() -> None:
    """Evidence comes first, rank by rank; freshness and durations are not compared."""
    base = account()
    other = account(
        evidence=[{**base["evidence"][0], "freshness": "changed"}], traces=[{**base["traces"][0], "duration_ms": 9.0}]
    )
    assert first_difference(comparable(base), comparable(other)) is None
    for name, value in (("chunk_id", "c2"), ("rrf_score", 0.3), ("channels", [{"channel": "bm25", "rank": 2}])):
        changed = account(evidence=[{**base["evidence"][0], name: value}], state="incomplete")
        found = first_difference(comparable(base), comparable(changed))
        assert found is not None and found.where == f"evidence 1: {name}"
    for name, value, where in (
        ("evidence", [], "number of evidence"), ("partial", 1, "partial"), ("state", "incomplete", "state"),
        ("rejections", [{"code": "x"}], "number of rejections"), ("traces", [], "number of calls"),
    ):  # fmt: skip
        found = first_difference(comparable(base), comparable(account(**{name: value})))
        assert found is not None and found.where == where


# --- What can't be run again ------------------------------------------------------------------------------------------


def test_a_query_that_was_kept_as_a_hash(make_database: MakeDatabase) -> None:
    """It is said; given back, the query is compared with its hash and the retrieval is run."""
    database = make_database(keep_query=False)
    database.add_memory(memory_id="m", title="Zinc", content="zinc", kind="knowledge")
    database.set_memory_status("m", "published", "measured")
    one = database.search("zinc", plan=STORE).retrieval_id
    assert [item.outcome for item in database.replay_all()] == ["not_replayable"]
    with pytest.raises(StateError, match=r"kept only as a hash\. Give the query with --query"):
        database.replay(one)
    with pytest.raises(InputError, match="not the query"):
        database.replay(one, query="copper")
    assert database.replay(one, query="zinc").outcome == "identical"


def test_a_query_from_which_a_credential_was_taken(make_database: MakeDatabase) -> None:
    """The kept query is not the one that was asked, so it is not run in its place."""
    database = make_database()
    database.add_memory(memory_id="m", title="Zinc", content="zinc", kind="knowledge")
    query = "zinc password=hunter2hunter2X9"
    one = database.search(query, plan=STORE).retrieval_id
    with pytest.raises(StateError, match="credential"):
        database.replay(one)
    assert database.replay(one, query=query).outcome == "identical"


def test_a_replay_writes_an_event_and_no_record(
    asked: ResearchDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event names the retrieval and the outcome; nothing else is written, and the private copy is gone."""
    private = tmp_path / "private"  # other tests replay at the same time
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    asked.replay_all()
    (event,) = asked.audit_events("replayed")
    assert (event.subject_kind, event.subject_id, event.details) == (
        "retrieval", asked.retrievals()[0]["retrieval_id"], {"outcome": "identical", "cause": ""},
    )  # fmt: skip
    assert len(asked.retrievals()) == 1
    assert list(private.iterdir()) == []
    assert asked.verify_audit().damages == ()


def test_a_read_only_file_replays(asked: ResearchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is given; the event can't be written and is not."""
    from arr_sql.errors import StoreReadOnly

    def refuse() -> Connection:
        raise StoreReadOnly("read-only")

    monkeypatch.setattr(asked, "_write", refuse)
    assert verdicts(asked) == [("identical", None, None)]


# --- Diff -------------------------------------------------------------------------------------------------------------


def test_diff_names_what_changed(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Added, changed, renamed and removed sources, changed memories; what came and went in between is not named."""
    for name, words in (("a", "router one"), ("b", "plane two"), ("c", "zinc three")):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n{words}\n", "utf-8")
    database = make_database(folder=tmp_path)
    database.add(tmp_path)
    first = database.status()["revision"]
    database.add_memory(memory_id="m", title="Zinc", content="zinc", kind="knowledge")
    (tmp_path / "a.md").write_text("# a\n\nrouter changed\n", "utf-8")
    (tmp_path / "b.md").rename(tmp_path / "bb.md")
    (tmp_path / "c.md").unlink()
    (tmp_path / "d.md").write_text("# d\n\nnew\n", "utf-8")
    (tmp_path / "e.md").write_text("# e\n\npassing\n", "utf-8")
    database.sync()
    (tmp_path / "e.md").unlink()
    database.sync()
    found = database.diff(first)
    assert [(item.kind, item.name, item.change) for item in found.subjects] == [
        ("source", "a.md", "changed"), ("source", "bb.md", "renamed"), ("source", "c.md", "removed"),
        ("source", "d.md", "added"), ("memory", "m", "added"),
    ]  # fmt: skip
    assert database.diff(found.last, found.last).subjects == ()
    for wrong in ((0, 900), (5, 2)):
        with pytest.raises(InputError):
            database.diff(*wrong)


def test_diff_names_the_answers_that_would_be_others(asked: ResearchDatabase, tmp_path: Path) -> None:
    """Of the past retrievals, those whose evidence is another at the later revision, with what they gain and lose."""
    asked.search("plane", plan={"tool_rounds": [["bm25"]]})
    first = asked.status()["revision"]
    (tmp_path / "a.md").write_text("# Router\n\nNothing of the kind.\n", "utf-8")
    asked.sync()
    assert asked.diff(first, first, retrievals=True).answers == ()
    found = asked.diff(first, retrievals=True)
    assert (found.answers_compared, found.answers_not_replayable) == (2, 0)
    (answer,) = found.answers
    assert (answer.query, answer.lost, answer.gained) == ("router budget", ("a.md",), ("a.md",))
