"""Forgetting: what goes, what stays, what is told of it, and that the audit log knows the difference from damage."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import open_reader, open_writer, sqlite3
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StoreBusy
from arr_sql.memory.audit_verify import verify_audit
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, StepClock, other_scopes

Write = Callable[[str, str | bytes], Path]
PLAN: Any = {"tool_rounds": [["bm25", "research-memory", "vector"]]}
REWRITTEN: Any = {"tool_rounds": [[{"tool": "bm25", "query": "quagga stripes pattern"}]], "reason": "narrower"}


@pytest.fixture
def database(make_database: MakeDatabase, write: Write, tmp_path: Path) -> ResearchDatabase:
    """Two sources in several versions, two memories, four retrievals; the same in a neighbour under other words."""
    write("notes/quagga.md", "# Quagga\n\nquagga stripes pattern 斑驴条纹 measured first.\n")
    write("notes/keep.md", "# Keep\n\nrouter budget design stays.\n")
    made = make_database()
    made.add(tmp_path / "notes")
    write("notes/quagga.md", "# Quagga\n\nquagga stripes pattern 斑驴条纹 measured again, thylacine as well.\n")
    made.sync()
    made.embed()
    made.add_memory(memory_id="m-gone", title="Dodo memo", content="the dodo laid one egg per year", kind="knowledge",
                    metadata={"where": "mauritius archive"}, source_refs=["papers/dodo.pdf"])  # fmt: skip
    made.set_memory_status("m-gone", "published", "because of the archive")
    made.add_memory(memory_id="m-kept", title="Router", content="router budget is two", kind="knowledge")
    made.set_memory_status("m-kept", "published", "measured")
    for query, plan in (
        ("quagga stripes", PLAN),
        ("dodo egg", PLAN),
        ("router budget", PLAN),
        ("what of it", REWRITTEN),
    ):
        made.search(query, plan=plan)
    return made


def raw(path: Path) -> bytes:
    """The bytes of the database and of everything beside it."""
    files = [path.with_name(path.name + end) for end in ("", "-wal", "-journal")]
    return b"\n".join(file.read_bytes() for file in files if file.exists())


def answer(database: ResearchDatabase, query: str) -> Any:
    """All that an answer says but how long it took; nothing is recorded."""
    value = database.search(query, plan=PLAN, write_record=False).model_dump(mode="json")
    return [value["evidence"], value["degradations"], value["rejections"], value["state"],
            [{**trace, "duration_ms": 0} for trace in value["traces"]]]  # fmt: skip


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    reader = open_reader(path)
    try:
        return [tuple(row) for row in reader.execute(sql)]
    finally:
        reader.close()


def test_a_memory_goes_with_its_history(database: ResearchDatabase) -> None:
    """Every version, its terms and texts are gone; the log verifies, the file passes, the rest is found as before."""
    before = answer(database, "router budget")[0]
    assert raw(database.path).count(b"one egg per year") >= 2
    report = database.forget(memory_ids=["m-gone"])
    assert (report.result, report.counts) == ("clean", {"memories": 1, "memory_versions": 2})
    left = raw(database.path)
    assert not [
        t
        for t in ("one egg per year", "Dodo memo", "mauritius", "dodo.pdf", "because of the archive")
        if t.encode() in left
    ]
    with pytest.raises(InputError, match="no memory 'm-gone'"):
        database.memory("m-gone")
    after = answer(database, "router budget")[0]
    assert [item["chunk_id"] for item in after] == [
        item["chunk_id"] for item in before if item["chunk_id"] != "memory:m-gone"
    ]
    assert all(item["chunk_id"] != "memory:m-gone" for item in answer(database, "dodo egg")[0])
    assert database.verify_audit().damages == ()
    assert check_store(database.path).passed


def test_the_vectors_of_a_memory_go_with_it(database: ResearchDatabase) -> None:
    """Of every version, from every byte; the other memory's stays, and what replays says why it can't."""
    database.embed()
    database.set_memory_status("m-gone", "deprecated", "doubtful")
    database.set_memory_status("m-gone", "published", "it was right")
    found = database.search("dodo egg", plan={"tool_rounds": [["vector"]]})
    assert "memory:m-gone" in [item.chunk_id for item in found.evidence]
    ((vector,),) = set(rows(database.path, "SELECT DISTINCT e.vector FROM memory_embedding AS e JOIN memory AS m "
                            "ON m.id = e.memory WHERE m.memory_id = 'm-gone'"))  # fmt: skip
    assert raw(database.path).count(vector) >= 3
    assert database.verify_audit().damages == ()
    report = database.forget(memory_ids=["m-gone"])
    assert (report.result, report.counts) == ("clean", {"memories": 1, "memory_versions": 4, "vectors": 3})
    assert vector not in raw(database.path)
    assert rows(database.path, "SELECT m.memory_id FROM memory_embedding AS e JOIN memory AS m ON m.id = e.memory") == [
        ("m-kept",)
    ]
    assert database.verify_audit().damages == () and check_store(database.path).passed
    assert database.replay(found.retrieval_id).cause == "row_erased"


def test_a_source_goes_with_every_version_and_name(database: ResearchDatabase, tmp_path: Path) -> None:
    """Old versions, former names, vectors and the evidence's own mention of the file go; sync takes nothing of it for live."""
    (tmp_path / "notes/quagga.md").rename(tmp_path / "notes/zebra-like.md")
    assert database.sync().renamed
    with pytest.raises(InputError, match=r"'notes/quagga\.md' is called 'notes/zebra-like\.md' now"):
        database.forget(source_refs=["notes/quagga.md"])
    database.search("thylacine", plan=PLAN)
    report = database.forget(
        source_refs=["notes/zebra-like.md"], queries=["quagga stripes", "thylacine", "quagga stripes pattern"]
    )
    assert report.result == "clean" and report.counts["source_versions"] == 3 and report.counts["chunks"] == 2
    assert report.still_on_disk == ("notes/zebra-like.md",)
    left = raw(database.path)
    gone = ("quagga", "斑驴", "thylacine", "zebra-like", json.dumps("斑驴")[1:-1])
    assert not [text for text in gone if text.encode() in left or text.encode("utf-16-le") in left]
    assert rows(database.path, "SELECT count(*) FROM chunk_embedding") == [(1,)]
    assert database.verify_audit().damages == () and check_store(database.path).passed


def test_a_record_stays_without_the_file_that_it_named(database: ResearchDatabase) -> None:
    """Evidence keeps chunk id, hash and scores; the name is '(erased)', and the record's new hash is in the receipt."""
    database.forget(source_refs=["notes/quagga.md"])
    (record,) = (item for item in database.retrievals() if item["query"] == "quagga stripes")
    named = [(item["source_ref"], item["content"]) for item in record["evidence"]]
    assert named[0] == ("(erased)", None) and record["n_evidence"] == len(named)
    assert all(item["content_hash"] and item["channels"] for item in record["evidence"])
    assert database.verify_audit().damages == ()


def test_a_query_goes_from_the_record_and_from_plans(database: ResearchDatabase) -> None:
    """By text: the query, its vector and equal rewritten queries; by id: whatever that record asked. Evidence stays."""
    found = database.retrievals()
    ids = {item["query"]: item["retrieval_id"] for item in found}
    report = database.forget(queries=["quagga stripes pattern", ids["dodo egg"]])
    assert report.counts == {"retrievals_rewritten": 2}
    after = {item["retrieval_id"]: item for item in database.retrievals()}
    by_plan, by_id = after[ids["what of it"]], after[ids["dodo egg"]]
    assert by_plan["query"] == "what of it" and by_plan["plan"]["tool_rounds"][0][0]["query"] == "(erased)"
    assert (by_id["query"], by_id["query_vectors"], by_id["n_evidence"]) == (None, "{}", len(by_id["evidence"]))
    assert by_id["evidence"]
    assert b"dodo egg" not in raw(database.path)
    assert report.held_here == {"chunk": 2} or not report.held_here  # the note says the same words
    assert database.verify_audit().damages == ()
    with pytest.raises(InputError, match="nothing called"):
        database.forget(queries=["quagga stripes patter"])


@pytest.mark.parametrize("keep_query", [True, False])
@pytest.mark.parametrize("gone", ["moa feathers", "password=hunter22 of the archive"])
def test_a_rewritten_query_goes_with_its_vector(
    database: ResearchDatabase, make_database: MakeDatabase, keep_query: bool, gone: str
) -> None:
    """Also where queries are kept as hashes or without a credential; the vectors of the queries that stay stay."""
    asked = make_database(path=database.path, folder=database.project_folder, keep_query=keep_query)
    stays = "quagga measured again"
    calls = ["vector", {"tool": "vector", "query": gone}, {"tool": "vector", "query": stays}]
    found = asked.search("what of it", plan={"tool_rounds": [calls]})
    vectors = [base64.b64encode(item or b"") for item in FakeEmbedder().embed_queries(["what of it", gone, stays])]
    assert all(item in raw(database.path) for item in vectors)
    report = asked.forget(queries=[gone])
    assert (report.result, report.counts) == ("clean", {"retrievals_rewritten": 1})
    assert [item in raw(database.path) for item in vectors] == [True, False, True]
    assert sha256_text(gone).encode() not in raw(database.path)
    assert (asked.replay(found.retrieval_id).cause, asked.verify_audit().damages) == ("row_erased", ())


def test_a_scope_goes_and_its_neighbour_stays(
    database: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """Everything of the scope but its name and its log; the neighbour's answers are the same to the byte."""
    other = make_database(scope=other_scopes()[0], path=database.path)
    other.add(tmp_path / "notes")
    other.embed()
    before = answer(other, "quagga stripes")
    events = len(database.audit_events(limit=1000))
    report = database.forget(whole_scope=True)
    assert report.result == "clean" and report.counts["retrievals_removed"] == 4
    scope_id = "(SELECT id FROM scope WHERE experiment_environment = 'a100' AND team_id = 'vision')"
    for table in (
        "memory",
        "chunk",
        "chunk_embedding",
        "source",
        "source_version",
        "retrieval",
        "retrieval_evidence",
        "root",
    ):
        assert rows(database.path, f"SELECT count(*) FROM {table} WHERE scope_id = {scope_id}") == [(0,)]
    assert len(database.audit_events(limit=1000)) == events + 1
    assert answer(other, "quagga stripes") == before
    assert b"one egg per year" not in raw(database.path)
    assert database.verify_audit().damages == () and check_store(database.path).passed
    database.add(tmp_path / "notes")
    assert database.search("quagga stripes", plan=PLAN).evidence
    assert database.verify_audit().damages == () and check_store(database.path).passed


def test_what_another_scope_holds_is_told_to_the_operator_only(
    database: ResearchDatabase, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """The same text in a neighbour stays; what the scope is told is the same as without the neighbour."""
    alone = tmp_path / "alone.db"
    database.backup(alone)
    other = make_database(scope=other_scopes()[0], path=database.path)
    other.add(tmp_path / "notes")
    other.add_memory(title="Copied", content="the dodo laid one egg per year", kind="knowledge")
    single = make_database(path=alone)
    told = [item.forget(memory_ids=["m-gone"], source_refs=["notes/quagga.md"]) for item in (database, single)]
    assert told[0] == told[1] and told[0].result == "clean"
    state = "SELECT state, held_elsewhere FROM forget_trail"
    assert (rows(database.path, state), rows(alone, state)) == ([("verified", 1)], [("verified", 0)])
    assert b"one egg per year" in raw(database.path) and b"one egg per year" not in raw(alone)
    strip = (
        "seq",
        "prev_hash",
        "hash",
        "at",
        "subject_hash",
    )  # the last covers the time, and the two have their own clocks
    logs = [
        [{k: v for k, v in event.model_dump().items() if k not in strip} for event in item.audit_events("forgotten")]
        for item in (database, single)
    ]
    assert logs[0] == logs[1]


def test_the_same_words_in_ones_own_scope_are_named(database: ResearchDatabase) -> None:
    """A memory that quotes a forgotten one: the erasure is clean, and says in which table the words still stand."""
    database.add_memory(title="Quote", content="he wrote: the dodo laid one egg per year", kind="knowledge")
    report = database.forget(memory_ids=["m-gone"])
    assert (report.result, report.held_here) == ("clean", {"memory": 1})


def test_a_dry_run_lists_all_and_changes_nothing(database: ResearchDatabase) -> None:
    """By name: memories, sources, retrievals; the file's bytes are the same afterwards."""
    before = raw(database.path)
    listing = database.plan_forgetting(memory_ids=["m-gone"], source_refs=["notes/quagga.md"], queries=["dodo egg"])
    assert listing["counts"] == {"memories": 1, "memory_versions": 2, "sources": 1, "source_versions": 2, "chunks": 2,
                                 "vectors": 1, "retrievals_rewritten": 4}  # fmt: skip
    assert listing["memories"][0]["memory_id"] == "m-gone" and listing["sources"][0]["source_ref"] == "notes/quagga.md"
    assert {item["query"] for item in listing["retrievals"]} >= {"quagga stripes", "dodo egg"}
    assert raw(database.path) == before


def test_the_receipt_holds_no_text(database: ResearchDatabase) -> None:
    """Receipt, subjects, scan and events: ids, codes, numbers and hashes."""
    database.forget(memory_ids=["m-gone"], source_refs=["notes/quagga.md"])
    for table in ("forget_receipt", "forget_subject", "forget_scan", "audit_event"):
        text = json.dumps(rows(database.path, f"SELECT * FROM {table}"))
        assert not [word for word in ("quagga", "dodo", "Dodo", "stripes", "mauritius") if word in text]
    (receipt,) = rows(database.path, "SELECT state, found, probes > 100, actor FROM forget_trail")
    assert receipt == ("verified", 0, 1, "tester")


RECEIPTS = {
    "a receipt's count": "UPDATE forget_receipt SET counts = json_set(counts, '$.chunks', 9)",
    "a subject that is added": "INSERT INTO forget_subject SELECT receipt, 99, scope_id, kind, 'm-kept', revision, before_hash, "
    "after_hash, text_hash FROM forget_subject WHERE kind = 'memory' LIMIT 1",
    "a subject's hash": "UPDATE forget_subject SET before_hash = text_hash WHERE kind = 'memory'",
    "a subject that is gone": "DELETE FROM forget_subject WHERE kind = 'source_version'",
    "a scan's result": "UPDATE forget_scan SET n_bytes = n_bytes + 1",
    "a scan that is gone": "DELETE FROM forget_scan",
    "another row that is gone": "DELETE FROM memory WHERE memory_id = 'm-kept'",
    "a subject's scope": "UPDATE forget_subject SET scope_id = 2 WHERE kind = 'memory'",
    "a name that was left out": "UPDATE source_left_out SET reason = 'x' WHERE path_in_root = 'kept.png'",
    "a row number": "UPDATE retrieval SET id = 900 WHERE id = (SELECT max(id) FROM retrieval)",
    "a row that nothing points at": "DELETE FROM root WHERE path = 'empty'",
    "a rewritten record": "UPDATE retrieval_evidence SET source_ref = 'x' WHERE source_ref = '(erased)'",
}


@pytest.mark.parametrize("what", RECEIPTS)
def test_damage_beside_a_receipt_is_found(database: ResearchDatabase, what: str, write: Write, tmp_path: Path) -> None:
    """A receipt excuses the rows that it lists and no others, and is vouched for itself."""
    for name in ("notes/gone.png", "notes/kept.png"):
        write(name, b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "empty").mkdir()
    database.add(tmp_path / "empty")
    database.sync()
    database.forget(memory_ids=["m-gone"], source_refs=["notes/quagga.md", "notes/gone.png"])
    assert rows(database.path, "SELECT path_in_root FROM source_left_out") == [("kept.png",)]
    assert database.verify_audit().damages == ()
    connection = sqlite3.connect(database.path, isolation_level=None)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    assert connection.execute(RECEIPTS[what]).rowcount
    connection.close()
    reader = open_reader(database.path)
    assert verify_audit(reader).damages
    reader.close()


@pytest.mark.parametrize("table", ["forget_receipt", "forget_subject", "forget_scan"])
def test_receipts_are_append_only(database: ResearchDatabase, table: str) -> None:
    """The database itself refuses to change or remove them."""
    database.forget(memory_ids=["m-gone"])
    writer = open_writer(database.path)
    for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET receipt = receipt" if table != "forget_receipt"
                      else "UPDATE forget_receipt SET actor = 'x'"):  # fmt: skip
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            writer.execute(statement)
    writer.close()


def test_ids_can_be_used_again(database: ResearchDatabase, tmp_path: Path) -> None:
    """A memory of the same id, the same file taken in again and removed again: the log verifies all the while."""
    for turn in range(2):
        database.forget(memory_ids=["m-gone"], source_refs=["notes/quagga.md"])
        database.sync()
        (tmp_path / "notes/quagga.md").unlink()
        assert database.sync().removed == ["notes/quagga.md"]
        (tmp_path / "notes/quagga.md").write_text(f"# Quagga\n\nquagga once more {turn}\n", "utf-8")
        database.sync()
        database.add_memory(memory_id="m-gone", title="Dodo memo", content="the dodo again", kind="knowledge")
        assert database.verify_audit().damages == ()
    assert check_store(database.path).passed


def test_a_removed_source_can_be_forgotten(database: ResearchDatabase, tmp_path: Path) -> None:
    """A file that is gone from the disk still has its history here, until it is forgotten."""
    (tmp_path / "notes/quagga.md").unlink()
    database.sync()
    assert database.plan_forgetting(source_refs=["notes/quagga.md"])["sources"] == [
        {"source_ref": "notes/quagga.md", "live": False}
    ]
    report = database.forget(source_refs=["notes/quagga.md"], queries=["quagga stripes", "quagga stripes pattern"])
    assert report.result == "clean" and report.still_on_disk == () and b"quagga" not in raw(database.path)
    assert database.verify_audit().damages == ()


def test_a_single_added_file_goes_with_its_root(make_database: MakeDatabase, write: Write, tmp_path: Path) -> None:
    """A root of one file names it, so it goes too: sync does not take the file in again."""
    write("a.md", "alpha text\n")
    write("secret-plan.md", "gharial plan\n")
    database = make_database()
    database.add(tmp_path / "a.md")
    database.add(tmp_path / "secret-plan.md")
    report = database.forget(source_refs=["secret-plan.md"])
    assert report.result == "clean" and report.counts["roots"] == 1 and report.still_on_disk == ()
    assert b"secret-plan" not in raw(database.path) and b"gharial" not in raw(database.path)
    assert database.sync().added == []
    assert database.verify_audit().damages == ()


def test_the_name_of_a_file_left_out_can_be_forgotten(
    make_database: MakeDatabase, write: Write, tmp_path: Path
) -> None:
    """A file that was never read left its name all the same."""
    write("notes/a.md", "alpha\n")
    write("notes/numbat.bin", b"\x00\x01\x02" * 50)
    database = make_database()
    database.add(tmp_path / "notes")
    assert b"numbat" in raw(database.path)
    report = database.forget(source_refs=["notes/numbat.bin"])
    assert report.counts == {"left_out_names": 1} and b"numbat" not in raw(database.path)


def test_a_case_goes_with_its_approvals(make_database: MakeDatabase) -> None:
    """Package, decision and verification receipt of a forgotten case go; without a receipt the database keeps them."""
    database = make_database()
    database.add_memory(memory_id="case-1", kind="research_case", title="Case", content="try the axolotl")
    package = database.request_approval("case-1", {"plan": "axolotl surgery"}, risk_level="high")
    another = make_database(path=database.path, actor="somebody else")
    decision = another.decide_approval(
        package.package_id, "approved", payload_hash=package.payload_hash, reason="axolotl agreed"
    )
    assert decision.receipt_token
    database.record_receipt(
        package.package_id, case_id="case-1", payload_hash=package.payload_hash, receipt_token=decision.receipt_token,
        receipt_id="step-1", status="passed", body={"evidence_refs": ["axolotl/run.log"]},
    )  # fmt: skip
    writer = open_writer(database.path)
    for table in ("approval_package", "approval_decision", "verification_receipt"):
        with pytest.raises(sqlite3.IntegrityError, match=r"never removed"):
            writer.execute(f"DELETE FROM {table}")
    writer.close()
    report = database.forget(memory_ids=["case-1"])
    assert (report.result, report.counts["approval_packages"]) == ("clean", 1)
    assert b"axolotl" not in raw(database.path)
    assert database.verify_audit().damages == () and check_store(database.path).passed


def test_an_interrupted_erasure_is_finished(database: ResearchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after the rows went: the state is 'erased', and the same call again (or a resume) makes it 'verified'."""
    from arr_sql.memory import forget_proof

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(forget_proof, "clean_file", stop)
        with pytest.raises(KeyboardInterrupt):
            database.forget(memory_ids=["m-gone"])
    assert rows(database.path, "SELECT state, method FROM forget_trail") == [("erased", None)]
    report = database.forget(memory_ids=["m-gone"])
    (name,) = report.completed
    assert (report.receipt_id, report.result) == (None, "clean") and name.startswith("f1-")
    assert rows(database.path, "SELECT state, method FROM forget_trail") == [("verified", "structure")]
    assert b"one egg per year" not in raw(database.path)
    assert database.resume_forgetting() == () and database.verify_audit().damages == ()


def test_a_reader_of_an_older_state_is_named(database: ResearchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process in the middle of a read keeps the old pages: a clear error, and afterwards the rest is done."""
    reader = open_reader(database.path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memory").fetchone()
    database._write().execute("PRAGMA busy_timeout=100")
    with pytest.raises(StoreBusy, match="reading an older state"):
        database.forget(memory_ids=["m-gone"])
    reader.close()
    assert len(database.resume_forgetting()) == 1
    assert b"one egg per year" not in raw(database.path)


def test_backups_are_scrubbed(database: ResearchDatabase, tmp_path: Path) -> None:
    """A backup that is named loses it too, keeps verifying, and can be restored; one that is not named is left alone."""
    named, other = tmp_path / "named.db", tmp_path / "other.db"
    database.backup(named)
    database.backup(other)
    report = database.forget(memory_ids=["m-gone"], backups=[named])
    assert [(item["result"], item["counts"]["memory_versions"]) for item in report.backups] == [("clean", 2)]
    assert (b"one egg per year" in raw(named), b"one egg per year" in raw(other)) == (False, True)
    assert check_store(named).passed
    later = database.forget(memory_ids=["m-gone"], backups=[other])  # gone here already
    assert later.receipt_id is None and later.backups[0]["result"] == "clean"
    assert b"one egg per year" not in raw(other)
    assert rows(database.path, "SELECT backups_clean FROM forget_trail") == [(1,)]
    with pytest.raises(InputError, match="is the database itself"):
        database.forget(memory_ids=["m-kept"], backups=[database.path])


def test_the_text_index_is_as_if_it_had_never_seen_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of FTS5, and the table that finds them, hold what an index of the remaining rows alone holds, at once.

    (A second attempt would make the index anew.)
    """
    from arr_sql.memory import forget_proof

    monkeypatch.setattr(forget_proof, "ATTEMPTS", 1)
    # Odd numbers go and even ones stay, so that a page begins with a term that goes and holds others that stay.
    words = {
        name: [f"w{(n * 60 + i) * 2 + odd:05d}" for i in range(60)]
        for odd in (0, 1)
        for n in range(40)
        for name in [f"{'kg'[odd]}{n}.md"]
    }
    kept = {name: f"# Kept\n\n{' '.join(words[name])}\n" for name in words if name[0] == "k"}
    gone = {name: f"# Gone\n\n{' '.join(words[name])}\n" for name in words if name[0] == "g"}
    pages = []
    for name, files in (("one", {**gone, **kept}), ("two", kept)):
        folder = tmp_path / name
        (folder / "notes").mkdir(parents=True)
        for file, text in files.items():
            (folder / "notes" / file).write_text(text, "utf-8")
        with ResearchDatabase.create(
            folder / "x.db", SCOPE, project_folder=folder, actor="tester", clock=StepClock(), embedder=FakeEmbedder
        ) as database:
            database.add(folder / "notes")
            if name == "one":
                assert database.forget(source_refs=[f"notes/{file}" for file in gone]).result == "clean"
        terms = rows(folder / "x.db", "SELECT DISTINCT term FROM chunk_term ORDER BY term")
        finder = [bytes(row[0]) for row in rows(folder / "x.db", "SELECT CAST(term AS BLOB) FROM chunk_fts_idx")]
        blocks = b"".join(bytes(row[0]) for row in rows(folder / "x.db", "SELECT block FROM chunk_fts_data"))
        known = [b"0" + row[0].encode() for row in terms]
        odd = [term for term in finder if term and not any(item.startswith(term) for item in known)]
        pages.append((terms, odd, b"00011" in blocks))
    assert pages[0] == pages[1] == (pages[0][0], [], False) and len(pages[0][0]) > 2400
