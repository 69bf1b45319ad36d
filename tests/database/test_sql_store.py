"""The SQL functions that ask the store: on every driver, from its own connections, without ever writing."""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arr_sql import add_functions
from arr_sql.core.connection import open_reader
from arr_sql.database import ResearchDatabase, base
from arr_sql.database.sql_store import SqlStore
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, other_scopes
from tests.drivers import connect, each_driver

HERE = json.dumps(SCOPE.bindings())
OTHER = json.dumps(other_scopes()[3].bindings())


@pytest.fixture
def stored(
    make_database: MakeDatabase, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> ResearchDatabase:
    """Three notes with vectors of a model in 16 dimensions, one past retrieval, and a neighbour with a note of its own."""
    monkeypatch.setattr(base, "_shared", [FakeEmbedder()])
    write("notes/warmup.md", "# Warmup\n\nThe warmup run diverged at step 900.\n")
    write("notes/data.md", "# Data\n\nThe dev set has 812 questions about warmup.\n")
    write("notes/optimiser.md", "# Optimiser\n\nAdamW, betas 0.9 and 0.95.\n")
    neighbour = make_database(scope=other_scopes()[3])
    neighbour.add(write("other/secret.md", "warmup warmup warmup in the other branch\n").parent)
    database = make_database()
    database.add(database.project_folder / "notes")
    database.embed()
    database.search("why did warmup diverge")
    return database


@pytest.fixture
def host(driver: str, stored: ResearchDatabase) -> Iterator[Any]:
    """A plain connection to the file, as a host of the functions opens it."""
    opened = connect(driver, stored.path)
    add_functions(opened)
    yield opened
    opened.close()


def ask(connection: Any, call: str, *values: Any) -> Any:
    return json.loads(connection.execute(f"SELECT {call}", values).fetchone()[0])


def fingerprint(path: Path) -> str:
    """The file's bytes and its WAL's."""
    wal = path.with_name(path.name + "-wal")
    return hashlib.sha256(path.read_bytes() + (wal.read_bytes() if wal.exists() else b"")).hexdigest()


@each_driver
def test_search_is_the_search_of_the_library(host: Any, stored: ResearchDatabase) -> None:
    """Evidence, order, scores, states: what Python gets, with the record left out and said to be."""
    found = ask(host, "arr_search('warmup diverged', ?, 5)", HERE)
    expected = stored.search("warmup diverged", k=5, write_record=False).model_dump(mode="json")
    for answer in (found, expected):
        for trace in answer["traces"]:
            del trace["duration_ms"]
    assert (found.pop("recorded"), found.pop("retrieval_id")) == (False, None)
    del expected["retrieval_id"]
    assert found == expected and len(found["evidence"]) >= 2


@each_driver
def test_nothing_is_written(host: Any, stored: ResearchDatabase) -> None:
    """Not a byte of the file or of its WAL, not a retrieval record."""
    name = stored.retrievals()[0]["retrieval_id"]
    before = fingerprint(stored.path)
    for call in ("arr_search('warmup', ?)", "arr_bm25('warmup', ?)", "arr_vector('warmup', ?)"):
        ask(host, call, HERE)
    ask(host, "arr_explain(?)", name)
    ask(host, "arr_verify_audit()")
    assert fingerprint(stored.path) == before and len(stored.retrievals()) == 1


@each_driver
@pytest.mark.parametrize(("function", "channel"), [("arr_bm25", "bm25"), ("arr_vector", "vector")])
def test_a_channel_gives_its_own_list(host: Any, stored: ResearchDatabase, function: str, channel: str) -> None:
    """Ranks from 1, best first, at most k; the ranks are those that the fused answer names."""
    answer = ask(host, f"{function}('warmup questions', ?, 2)", HERE)
    assert (answer["channel"], answer["state"]) == (channel, "ok")
    assert [hit["rank"] for hit in answer["hits"]] == [1, 2] and answer["matched"] >= 2
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    evidence = stored.search("warmup questions", write_record=False).evidence
    ranks = {item.chunk_id: rank.rank for item in evidence for rank in item.channels if rank.channel == channel}
    assert [ranks[hit["chunk_id"]] for hit in answer["hits"]] == [1, 2]


@each_driver
def test_fusing_in_sql_gives_the_fused_score(host: Any, stored: ResearchDatabase) -> None:
    """arr_rrf over two channels' ranks, added up, is the rrf_score of a search with these two channels."""
    rows = host.execute(
        """
        SELECT chunk_id, sum(arr_rrf(rank)) FROM (
          SELECT json_extract(value, '$.chunk_id') AS chunk_id, json_extract(value, '$.rank') AS rank
          FROM json_each(arr_bm25(:q, :s), '$.hits')
          UNION ALL
          SELECT json_extract(value, '$.chunk_id'), json_extract(value, '$.rank')
          FROM json_each(arr_vector(:q, :s), '$.hits')
        ) GROUP BY chunk_id
        """,
        {"q": "warmup", "s": HERE},
    ).fetchall()
    plan = {"version": 1, "tool_rounds": [["bm25", "vector"]]}
    evidence = stored.search("warmup", plan=plan, write_record=False).evidence
    fused = {item.chunk_id: item.rrf_score for item in evidence}
    assert {row[0]: pytest.approx(row[1], rel=1e-9) for row in rows} == fused and len(fused) == 3


@each_driver
def test_a_channel_that_cannot_answer_is_an_error_not_an_empty_list(
    host: Any, stored: ResearchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors of another model, a scope without vectors, a text index behind its content: each says what to do."""
    with pytest.raises(
        host.OperationalError, match=r"arr_vector\(\): the channel can't answer: not_indexed\. .*arr embed"
    ):
        ask(host, "arr_vector('warmup', ?)", OTHER)
    monkeypatch.setattr(base, "_shared", [FakeEmbedder("another-16")])
    with pytest.raises(
        host.OperationalError, match=r"arr_vector\(\): the channel can't answer: unavailable\. .*--rebuild"
    ):
        ask(host, "arr_vector('warmup', ?)", HERE)
    stored._write().execute("UPDATE scope_index SET content_revision = content_revision - 1 WHERE name = 'chunk_text'")
    with pytest.raises(host.OperationalError, match=r"arr_bm25\(\): the channel can't answer: stale\. .*db rebuild"):
        ask(host, "arr_bm25('warmup', ?)", HERE)
    found = ask(host, "arr_search('warmup', ?)", HERE)
    assert found["partial"] and {"stale_index", "model_changed"} <= {
        item["code"] for item in found["degradations"] + found["rejections"]
    }


@each_driver
def test_no_scope_sees_another(host: Any) -> None:
    """The neighbour's file is found in its scope alone."""
    for scope, files in ((HERE, {"notes/warmup.md", "notes/data.md"}), (OTHER, {"other/secret.md"})):
        hits = ask(host, "arr_bm25('warmup', ?)", scope)["hits"]
        assert {hit["source_ref"] for hit in hits} == files


@each_driver
def test_limited_to_scopes(driver: str, stored: ResearchDatabase) -> None:
    """A connection limited to one scope answers for no other, explains no other's retrieval, and not for the whole file."""
    name = stored.retrievals()[0]["retrieval_id"]
    for scopes, allowed in (([SCOPE], True), ([other_scopes()[3]], False), ([], False)):
        connection = connect(driver, stored.path)
        add_functions(connection, scopes=scopes)
        calls: list[tuple[str, str]] = [
            ("arr_search('warmup', ?)", HERE),
            ("arr_bm25('warmup', ?)", HERE),
            ("arr_explain(?)", name),
        ]
        for call, argument in calls:
            if allowed:
                assert ask(connection, call, argument)
            else:
                with pytest.raises(connection.OperationalError, match=r"limited to other scopes|no scope holds"):
                    ask(connection, call, argument)
        with pytest.raises(connection.OperationalError, match=r"arr_verify_audit\(\): .*limited to some of its scopes"):
            ask(connection, "arr_verify_audit()")
        connection.close()


@each_driver
def test_explain_says_it_in_sentences(host: Any, stored: ResearchDatabase) -> None:
    """The record, what each code means, one sentence a call and a piece of evidence."""
    name = stored.retrievals()[0]["retrieval_id"]
    value = ask(host, "arr_explain(?)", name)
    assert value == ask(host, "arr_explain(?, ?)", name, HERE) == json.loads(json.dumps(stored.explain(name)))
    text = "\n".join(value["sentences"])
    assert "The plan came from the rules. Rounds: 1. Calls: 4." in text
    assert "Round 1, bm25: ok, 2 matched, 2 returned." in text
    assert "1. notes/warmup.md L1-3 (fresh then): found by bm25 at rank 1" in text
    for wrong, scope in (("r9-00000000", None), (name, OTHER)):
        with pytest.raises(host.OperationalError, match=r"arr_explain\(\): argument retrieval_id: "):
            ask(host, "arr_explain(?)" if scope is None else "arr_explain(?, ?)", *filter(None, (wrong, scope)))


@each_driver
def test_verify_audit_finds_a_changed_event(host: Any, stored: ResearchDatabase) -> None:
    """1 and the head on a whole file, 0 and the damage on one that was edited."""
    assert ask(host, "arr_verify_audit()")["verified"] == 1
    writer = stored._write()
    writer.execute("DROP TRIGGER audit_event_no_update")
    writer.execute("UPDATE audit_event SET actor = 'eve' WHERE seq = 3")
    report = ask(host, "arr_verify_audit()")
    assert report["verified"] == 0 and report["damages"][0] == {
        "kind": "changed_event", "seq": 3, "subject": "its hash is not that of its fields",
    }  # fmt: skip


@each_driver
def test_a_file_in_memory_and_a_foreign_file_say_so(driver: str, tmp_path: Path) -> None:
    """Functions that need a store name what is wrong with this one; the others work."""
    memory, foreign = connect(driver), connect(driver, tmp_path / "foreign.db")
    foreign.execute("CREATE TABLE t (a)")
    foreign.commit()
    for connection, said in ((memory, "it is in memory"), (foreign, "an SQLite database of another application")):
        add_functions(connection)
        assert connection.execute("SELECT arr_rrf(1, 1)").fetchone()[0] == 0.5
        for call in (
            f"arr_search('a', '{HERE}')",
            f"arr_vector('a', '{HERE}')",
            "arr_explain('r1')",
            "arr_verify_audit()",
        ):
            with pytest.raises(connection.OperationalError, match=rf"^{call.partition('(')[0]}\(\): .*{said}"):
                ask(connection, call)
        connection.close()


@each_driver
def test_what_is_not_committed_is_not_seen_and_does_not_block(host: Any, stored: ResearchDatabase) -> None:
    """Inside a write transaction of the host itself: the answer is that of the committed file."""
    host.isolation_level = None
    host.execute("BEGIN IMMEDIATE")
    host.execute("UPDATE chunk SET content = 'edited' WHERE content LIKE '%diverged%'")
    contents = [hit["content"] for hit in ask(host, "arr_bm25('diverged', ?)", HERE)["hits"]]
    host.execute("ROLLBACK")
    assert contents and "edited" not in contents


@each_driver
def test_one_call_for_each_row(host: Any) -> None:
    """A question a row: each row its own answer, on the connection that is being read."""
    rows = host.execute(
        "SELECT column1, json_extract(arr_bm25(column1, ?), '$.hits[0].source_ref') FROM (VALUES ('diverged'), ('AdamW'), ('zebra'))",
        (HERE,),
    ).fetchall()
    assert [tuple(row) for row in rows] == [
        ("diverged", "notes/warmup.md"), ("AdamW", "notes/optimiser.md"), ("zebra", None),
    ]  # fmt: skip


@each_driver
def test_threads_at_once(driver: str, stored: ResearchDatabase) -> None:
    """Four threads, each with its own connection, get the same answer."""
    answers: list[str] = []

    def work() -> None:
        connection = connect(driver, stored.path)
        add_functions(connection)
        for _ in range(3):
            answers.append(json.dumps(ask(connection, "arr_bm25('warmup', ?)", HERE)))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 12 and len(set(answers)) == 1


def test_no_connection_stays_open(stored: ResearchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reader that a call opens is closed when it returns, also when it fails."""
    opened: list[Any] = []
    for module in ("arr_sql.database.base", "arr_sql.database.sql_store"):

        def note(path: Path, **options: Any) -> Any:
            opened.append(open_reader(path, **options))
            return opened[-1]

        monkeypatch.setattr(importlib.import_module(module), "open_reader", note)
    store = SqlStore(stored.path)
    store.search("warmup", SCOPE, 3)
    with pytest.raises(ValueError, match="retrieval_id"):
        store.explain("r9", None)
    gc.collect()
    assert len(opened) > 3
    for connection in opened:
        with pytest.raises(Exception, match="closed"):
            connection.execute("SELECT 1")


def test_the_librarys_own_connections_have_the_functions(stored: ResearchDatabase) -> None:
    """Readers (so a channel of one's own can use them) and the writer."""
    for connection in (stored._reader("main"), stored._write()):
        assert connection.execute("SELECT arr_rrf(1, 1)").fetchone()[0] == 0.5
        assert ask(connection, "arr_bm25('warmup', ?)", HERE)["hits"]
