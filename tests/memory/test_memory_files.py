"""Memories as files: nothing is lost on the way there and back, and nothing broken is half taken in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arr_sql.database import ResearchDatabase
from arr_sql.errors import ImportInvalid, InputError
from arr_sql.memory.memory_files import (
    FILE_FIELDS,
    FileRecord,
    file_name,
    from_jsonl,
    from_markdown,
    to_jsonl,
    to_markdown,
)
from arr_sql.memory.memory_paths import read_paths, read_text, write_file, write_folder
from arr_sql.memory.research_store import checked_memory
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, MakeDatabase, StepClock, other_scopes

AT = "2026-01-02T03:04:05.000000Z"
LINE = {"memory_id": "m1", "title": "Warmup", "content": "Use 2000 steps."}


def jsonl(*values: dict[str, Any]) -> str:
    """Lines of a file."""
    return "".join(json.dumps(value) + "\n" for value in values)


def taken(database: ResearchDatabase, text: str, **options: Any) -> Any:
    """Import a text of JSON lines."""
    records, problems = from_jsonl(text, "a.jsonl")
    return database.import_memories(records, problems, origin="a.jsonl", **options)


def problems_of(database: ResearchDatabase, text: str, **options: Any) -> list[tuple[int, str]]:
    """Line and message of each problem; nothing was written but, in a scope that is open, the event of the refusal."""
    before = (database.memories(), len(database.audit_events(limit=1000)))
    with pytest.raises(ImportInvalid, match=r"^Nothing was imported\.") as caught:
        taken(database, text, **options)
    events = database.audit_events(limit=1000)
    assert (database.memories(), len(events)) == (before[0], before[1] + bool(database.scopes()))
    if events:
        assert (events[0].kind, events[0].details) == ("memory_refused", {"asked": "import", "error": "ImportInvalid"})
    assert {path for path, _, _ in caught.value.problems} == {"a.jsonl"}
    return [(line, message) for _, line, message in caught.value.problems]


# --- There and back ---------------------------------------------------------------------------------------------------

ANY = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=40).filter(
    str.strip
)
LISTS = st.lists(ANY, max_size=3)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=5,
)  # fmt: skip
TIMES = st.sampled_from(
    [AT, "2025-12-31T23:59:59.999999Z", "1999-01-01T00:00:00.000000Z", "2099-06-01T12:00:00.000000Z"]
)
MEMORY = st.fixed_dictionaries(
    {
        "memory_id": ANY, "title": ANY,
        "content": ANY | st.sampled_from(["\nx\n", "---\n---\n", "a\r\nb\r", "x\n\n", "\ufeffx", "\u2028x"]),
        "status": st.sampled_from(["candidate", "verified", "published", "deprecated", "conflict", "expired", "revoked"]),
        "confidence": st.floats(0, 1), "source_refs": LISTS, "conflict_key": st.none() | ANY, "expires_at": st.none() | TIMES,
        "applicability": st.sampled_from([{}, {"experiment_environments": ["a100", "数"]}, {"experiment_environments": []}]),
        "metadata": st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=3), "created_at": TIMES, "updated_at": TIMES,
    },
    optional={"kind": st.just("research_case"), "evidence_chunk_ids": LISTS, "proposed_actions": LISTS},
).map(lambda v: {**v, "kind": "research_case" if v.get("evidence_chunk_ids") or v.get("proposed_actions") else "literature"})  # fmt: skip


def importable(values: dict[str, Any]) -> dict[str, Any]:
    """A case is never kept as published (tests/memory/test_carried_risk.py)."""
    is_published_case = (values["kind"], values["status"]) == ("research_case", "published")
    return {**values, "status": "deprecated"} if is_published_case else values


@given(values=MEMORY)
def test_one_memory_as_text_and_back(values: dict[str, Any]) -> None:
    """Both forms give back every field of any memory, and writing it again gives the same bytes. Pure."""
    memory = checked_memory(SCOPE, **values)
    for written, read in ((to_jsonl([memory]), from_jsonl), (to_markdown(memory), from_markdown)):
        records, problems = read(written.encode("utf-8").decode("utf-8"), "f")
        assert problems == []
        again = checked_memory(SCOPE, **{"status": "candidate", **records[0].values})
        assert again == memory
        assert (to_jsonl([again]) if read is from_jsonl else to_markdown(again)) == written


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file in which each example has scopes of its own."""
    path = tmp_path_factory.mktemp("round") / "arr.db"
    ResearchDatabase.create(path, SCOPE).close()
    return path


COUNT = iter(range(1_000_000))


@given(
    drawn=st.lists(MEMORY.map(importable), min_size=1, max_size=4, unique_by=lambda v: v["memory_id"]),
    as_markdown=st.booleans(),
    links=st.booleans(),
)
@settings(max_examples=40)
def test_export_import_export_is_the_same_bytes(
    shared: Path, tmp_path_factory: pytest.TempPathFactory, drawn: list[dict[str, Any]], as_markdown: bool, links: bool
) -> None:
    """From one scope through a file or a folder into an empty one and out again: byte for byte; also relations in a circle."""
    ids = [values["memory_id"] for values in drawn]
    folder = tmp_path_factory.mktemp("files")
    texts: list[str] = []
    for turn in range(2):
        scope = type(SCOPE)(**{**SCOPE.model_dump(), "branch": f"b{next(COUNT)}"})
        with ResearchDatabase(shared, scope, actor="tester", clock=StepClock(), embedder=lambda: None) as database:
            if turn == 0:
                related = [[other for other in ids if other != own] if links else [] for own in ids]
                records = [
                    FileRecord({**values, "related_memory_ids": others}, "drawn", 1, {})
                    for values, others in zip(drawn, related, strict=True)
                ]
                problems: list[Any] = []
            else:
                source = folder / "md" if as_markdown else folder / "m.jsonl"
                records, problems = read_paths([source])
            database.import_memories(records, problems, origin="test", keep_status=True, reason="round trip")
            memories, _ = database.exported_memories()
            texts.append(to_jsonl(memories))
            if turn == 0:
                write_folder(folder / "md", memories, replace=False)
                write_file(folder / "m.jsonl", texts[0], replace=False)
    assert texts[0] == texts[1]
    assert len(list((folder / "md").iterdir())) == len(ids)


def test_without_a_word_they_arrive_as_candidates(make_database: MakeDatabase) -> None:
    """Status and time of change are this scope's; words and ``created_at`` the file's; the history says where from."""
    database = make_database()
    line = {
        **LINE,
        "status": "published",
        "created_at": "2025-03-10T20:15:00-03:00",
        "updated_at": "2025-03-11T00:00:00Z",
    }
    assert taken(database, jsonl(line)).imported == ("m1",)
    memory = database.memory("m1")
    assert (memory.status, memory.created_at, memory.updated_at[:4]) == (
        "candidate",
        "2025-03-10T23:15:00.000000Z",
        "2026",
    )
    (version,) = database.memory_history("m1")
    assert (version.event, version.reason, version.actor) == ("memory_imported", "imported from a.jsonl", "tester")


def test_keeping_the_status_is_a_persons_decision(make_database: MakeDatabase) -> None:
    """It needs a name and a reason, which the history keeps; a published one is found at once."""
    database = make_database()
    text = jsonl({**LINE, "status": "published", "updated_at": "2025-03-11T00:00:00Z"})
    for actor, reason in (("tester", " "), (" ", "ours")):
        database.actor = actor
        with pytest.raises(InputError, match="Give --reason, and set ARR_ACTOR"):
            taken(database, text, keep_status=True, reason=reason)
    database.actor = "ana"
    taken(database, text, keep_status=True, reason="our own export")
    (version,) = database.memory_history("m1")
    assert (version.memory.status, version.reason, version.actor) == (
        "published", "imported from a.jsonl, kept as published: our own export", "ana",
    )  # fmt: skip
    assert version.memory.updated_at == "2025-03-11T00:00:00.000000Z"
    plan = {"version": 1, "tool_rounds": [[{"tool": "research-memory"}]], "reason": "test"}
    assert [item.chunk_id for item in database.search("warmup", plan=plan).evidence] == ["memory:m1"]
    assert check_store(database.path).passed


def test_importing_again_changes_nothing(make_database: MakeDatabase) -> None:
    """The same words are left as they are, whatever became of them here; other words are refused or passed over."""
    database = make_database()
    text = jsonl(LINE, {**LINE, "memory_id": "m2"})
    taken(database, text)
    database.set_memory_status("m1", "verified")
    events = len(database.audit_events())
    assert taken(database, text).unchanged == ("m1", "m2")
    assert len(database.audit_events()) == events
    changed = jsonl({**LINE, "content": "other"}, {**LINE, "memory_id": "m3"})
    assert problems_of(database, changed)[0][0] == 1
    result = taken(database, changed, skip_existing=True)
    assert (result.imported, result.skipped) == (("m3",), ("m1",))
    assert database.memory("m1").content == LINE["content"]


def test_with_history(make_database: MakeDatabase) -> None:
    """Older versions are written on request, with who and why; read back they are passed over."""
    database = make_database()
    database.add_memory(**LINE)
    database.edit_memory("m1", content="new", reason="measured")
    memories, histories = database.exported_memories(with_history=True)
    (line,) = to_jsonl(memories, histories).splitlines()
    value = json.loads(line)
    assert (value["revision"], value["scope"]["branch"], value["content"]) == (2, "main", "new")
    assert [(v["revision"], v["content"], v["actor"]) for v in value["history"]] == [(1, "Use 2000 steps.", "tester")]
    neighbour = make_database(other_scopes()[0], path=database.path)
    assert taken(neighbour, line).imported == ("m1",)
    assert neighbour.memory("m1").content == "new"


# --- What is broken ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"title": "T"', "not JSON"), ("[1]", "not a JSON object"), ('{"title": "a", "title": "b"}', "twice"),
        (jsonl({**LINE, "confidence": float("nan")}), "NaN is not JSON"), ("[" * 100_000, "nested too deeply|not JSON"),
        (jsonl({"title": "T"}), "content is missing"), (jsonl({**LINE, "colour": 1}), "'colour' is not a field"),
        (jsonl({**LINE, "title": 7}), "title is of the wrong type"), (jsonl({**LINE, "confidence": "1"}), "wrong type"),
        (jsonl({**LINE, "confidence": True}), "wrong type"), (jsonl({**LINE, "source_refs": "a"}), "wrong type"),
        (jsonl({**LINE, "confidence": 2}), "confidence is wrong"), (jsonl({**LINE, "status": "done"}), "status is wrong"),
        (jsonl({**LINE, "kind": "poem"}), "kind is wrong"), (jsonl({**LINE, "created_at": "2025-03-10"}), "no time zone"),
        (jsonl({**LINE, "updated_at": "2025-03-10T02:30:00"}), "no time zone"), (jsonl({**LINE, "expires_at": "soon"}), "ISO"),
        (jsonl({**LINE, "title": "a\udc80b"}), "half a character"), (jsonl({**LINE, "content": "a\0b"}), "NUL"),
        (jsonl({**LINE, "applicability": {"experiment_environments": None}}), "applicability"),
        (jsonl({**LINE, "related_memory_ids": ["nobody"]}), "neither in this scope nor"),
        (jsonl({**LINE, "related_memory_ids": ["m1"]}), "related to itself"),
        (jsonl({**LINE, "memory_id": "good"}), "is in a.jsonl:1 already"),
        (jsonl({**LINE, "content": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}), "credential"),
        (jsonl({**LINE, "metadata": {"a": {"aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}}}), "credential"),
    ],
)  # fmt: skip
def test_one_broken_line_and_nothing_is_imported(make_database: MakeDatabase, line: str, says: str) -> None:
    """The problem is named with its line; the good lines around it are not taken in."""
    import re

    database = make_database()
    text = (
        jsonl({**LINE, "memory_id": "good"}) + "\n" + line.rstrip("\n") + "\n" + jsonl({**LINE, "memory_id": "good2"})
    )
    ((number, message),) = problems_of(database, text)
    assert number == 3 and re.search(says, message), message
    assert "wJalrXUtnFEMI" not in message


def test_all_problems_are_named_at_once(make_database: MakeDatabase) -> None:
    """Up to twenty in the message, all in the error."""
    database = make_database()
    found = problems_of(database, "{\n" * 30)
    assert [line for line, _ in found] == list(range(1, 31))


def test_a_published_one_still_passes_the_gate(make_database: MakeDatabase) -> None:
    """A risk-bearing case that was approved elsewhere was not approved here."""
    database = make_database()
    line = {**LINE, "kind": "research_case", "status": "published", "metadata": {"risk_level": "high"}}
    ((number, message),) = problems_of(database, jsonl(line), keep_status=True, reason="ours")
    assert number == 1 and "approved" in message


def test_markdown_by_hand(make_database: MakeDatabase) -> None:
    """Plain words are text, numbers in a title are text too, Windows line ends in the head do no harm."""
    head = (
        "---",
        "title: Warmup: 2000",
        "memory_id: 17",
        "kind: literature",
        "confidence: 0.5",
        'source_refs: ["a.md"]',
        "---",
    )
    text = "".join(f"{line}\r\n" for line in head) + "\r\nBody\nmore\n"
    records, problems = from_markdown(text, "a.md")
    assert problems == []
    assert records[0].values == {
        "title": "Warmup: 2000", "memory_id": "17", "kind": "literature", "confidence": 0.5, "source_refs": ["a.md"],
        "content": "Body\nmore",
    }  # fmt: skip
    database = make_database()
    assert database.import_memories(records, origin="a.md").imported == ("17",)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("# no front\n", 1, "no front matter"), ("---\ntitle: x\n", 1, "does not end"), ("", 1, "no front matter"),
        ("---\ntitle: a\ntitle: b\n---\n\nx\n", 3, "twice"), ("---\ntitle: a\nnonsense\n---\n\nx\n", 3, "not 'name: value'"),
        ("---\ntitle: a\nsource_refs: a.md\n---\n\nx\n", 3, "not JSON"), ("---\nkind: literature\n---\n\nx\n", 1, "title is missing"),
        ("---\ntitle: a\n\ncolour: red\n---\n\nx\n", 4, "not a field"), ("---\ntitle: a\nconfidence: high\n---\n\nx\n", 3, "not JSON"),
    ],
)  # fmt: skip
def test_broken_markdown_names_the_line(text: str, line: int, says: str) -> None:
    """Each problem stands at its line."""
    records, problems = from_markdown(text, "a.md")
    assert (records, problems[0].line) == ([], line) and says in problems[0].message


def test_values_that_break_a_rule_are_named_at_their_line_in_markdown(make_database: MakeDatabase) -> None:
    """Not only the syntax: a rule of a field points at the line of the field, in the file it is in."""
    database = make_database()
    records, problems = read_text(b"---\ntitle: a\n\nconfidence: 2\n---\n\nx\n", "notes/a.md", True)
    with pytest.raises(ImportInvalid, match=r"notes/a\.md:4: The memory's confidence is wrong"):
        database.import_memories(records, problems, origin="notes")


def test_bytes_that_are_not_utf8_name_the_line() -> None:
    """A byte order mark is passed over."""
    assert read_text("a\nb\nx数\n".encode("gbk"), "a.jsonl", False)[1][0].line == 3
    assert len(read_text(b"\xef\xbb\xbf" + jsonl(LINE).encode(), "a.jsonl", False)[0]) == 1


# --- Files ------------------------------------------------------------------------------------------------------------


def test_file_names_are_safe_and_tell_ids_apart() -> None:
    """Ids that differ in case, hold slashes, or are names of devices get a hash; a plain id is its own name."""
    ids = ["m1", "M1", "a/b", "../x", "con", "nul.txt", "数据", "a b", "a", ".", "x" * 200, "x" * 199, "a.", "é"]
    names = [file_name(memory_id) for memory_id in ids]
    assert names[0] == "m1.md" and len({name.lower() for name in names}) == len(ids)
    assert all(name.isascii() and len(name) < 100 and not set(name) & set('/\\:*?"<>| ') for name in names)
    assert not {"con.md", "nul.txt.md"} & set(names)


def test_nothing_is_written_over_without_a_word(make_database: MakeDatabase, tmp_path: Path) -> None:
    """A file that is there, or a folder that is not empty, is refused; with ``replace`` other files are left alone."""
    database = make_database()
    memory = database.add_memory(**LINE)
    target = tmp_path / "m.jsonl"
    write_file(target, "a", replace=False)
    with pytest.raises(InputError, match="exists already"):
        write_file(target, "b", replace=False)
    write_file(target, "b", replace=True)
    assert target.read_text() == "b" and not list(tmp_path.glob(".arr-*"))
    folder = tmp_path / "md"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        write_folder(folder, [memory], replace=False)
    write_folder(folder, [memory], replace=True)
    assert sorted(path.name for path in folder.iterdir()) == ["m1.md", "mine.txt"]
    with pytest.raises(InputError, match="is a file"):
        write_folder(target, [memory], replace=True)
    with pytest.raises(InputError, match="There is no folder"):
        write_file(tmp_path / "none" / "m.jsonl", "a", replace=False)


def test_paths_that_are_nothing_are_named(tmp_path: Path) -> None:
    """A missing path, an empty folder."""
    with pytest.raises(InputError, match="is no file and no folder"):
        read_paths([tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no Markdown file"):
        read_paths([tmp_path / "empty"])


def test_the_fields_of_a_file_are_those_of_a_memory() -> None:
    """A field that is added to memories is added to their files, or is said to belong to the scope."""
    from arr_sql.core.research_models import ResearchMemory

    assert set(FILE_FIELDS) == set(ResearchMemory.model_fields) - {"scope", "revision"}
