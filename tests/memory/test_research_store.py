"""Research memories: what may be saved, what may be published, and that nothing that was there is lost."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import open_reader
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StateError
from arr_sql.memory.research_store import make_memory
from tests.conftest import SCOPE, MakeDatabase, StepClock, other_scopes

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
GIVEN = {"title": "Warmup", "content": "Use 2000 steps.", "kind": "knowledge"}
PLAN = {"version": 1, "tool_rounds": [[{"tool": "research-memory"}]], "reason": "test"}
SECRET = "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def found(database: ResearchDatabase, query: str = "warmup steps") -> list[str]:
    """The ids of the memories that a search finds, best first."""
    evidence = database.search(query, plan=PLAN).evidence
    return [item.chunk_id.removeprefix("memory:") for item in evidence]


def test_a_new_memory_is_a_candidate_and_is_not_found(make_database: MakeDatabase) -> None:
    """Nothing publishes itself: what is saved is a candidate, whatever it says, until a person publishes it."""
    database = make_database()
    memory = database.add_memory(**GIVEN)
    assert (memory.status, memory.confidence, memory.revision) == ("candidate", 0.8, 1)
    assert found(database) == []
    published = database.set_memory_status(memory.memory_id, "published", "measured twice")
    assert (published.status, published.revision, found(database)) == ("published", 2, [memory.memory_id])
    assert published.model_dump(exclude={"status", "revision", "updated_at"}) == memory.model_dump(
        exclude={"status", "revision", "updated_at"}
    )


def test_publishing_needs_a_source_or_a_reason(make_database: MakeDatabase) -> None:
    """A memory without a source reference is published only with a reason for having none."""
    database = make_database()
    bare, sourced = database.add_memory(**GIVEN), database.add_memory(**GIVEN, source_refs=["notes/warmup.md"])
    for reason in ("", "  "):
        with pytest.raises(StateError, match=r"names no source.*--reason.*--source"):
            database.set_memory_status(bare.memory_id, "published", reason)
    assert database.memory(bare.memory_id).status == "candidate"
    assert database.set_memory_status(sourced.memory_id, "published").status == "published"
    assert database.set_memory_status(bare.memory_id, "published", "common knowledge").status == "published"


def test_publishing_names_a_person(make_database: MakeDatabase) -> None:
    """A change of status by nobody is refused."""
    database = make_database()
    memory = database.add_memory(**GIVEN)
    nobody = make_database(path=database.path)
    nobody.actor = "  "
    with pytest.raises(InputError, match="names a person"):
        nobody.set_memory_status(memory.memory_id, "published", "because")


def test_revoking_is_final_and_takes_it_out_of_search(make_database: MakeDatabase) -> None:
    """A revoked memory is not found at once, keeps its history, and can't come back."""
    database = make_database()
    memory = database.add_memory(**GIVEN)
    database.set_memory_status(memory.memory_id, "published", "measured")
    assert database.set_memory_status(memory.memory_id, "revoked", "wrong").status == "revoked"
    assert found(database) == []
    for status in ("published", "candidate", "revoked"):
        with pytest.raises(StateError, match="That is final; add a new memory instead"):
            database.set_memory_status(memory.memory_id, status, "again")  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["deprecated", "conflict"])
def test_a_memory_can_be_set_aside_and_come_back(make_database: MakeDatabase, status: str) -> None:
    """Deprecated and conflicting memories are not found; published again they are."""
    database = make_database()
    memory = database.add_memory(**GIVEN)
    database.set_memory_status(memory.memory_id, "published", "measured")
    database.set_memory_status(memory.memory_id, status, "aside")  # type: ignore[arg-type]
    assert found(database) == []
    database.set_memory_status(memory.memory_id, "published", "measured again")
    assert found(database) == [memory.memory_id]


def test_history_is_kept(make_database: MakeDatabase) -> None:
    """Every version stays as a row with its person and reason; each change has an event with the hashes before and after."""
    database = make_database()
    memory = database.add_memory(**GIVEN)
    database.set_memory_status(memory.memory_id, "verified")
    database.set_memory_status(memory.memory_id, "published", "measured")
    reader = open_reader(database.path)
    columns = "status, reason, actor, added_revision, retired_revision"
    rows = reader.execute(f"SELECT {columns} FROM memory_trail ORDER BY added_revision").fetchall()
    reader.close()
    assert [tuple(row) for row in rows] == [
        ("candidate", "", "tester", 1, 2), ("verified", "", "tester", 2, 3), ("published", "measured", "tester", 3, None),
    ]  # fmt: skip
    events = list(reversed(database.audit_events()))[1:]
    assert [event.kind for event in events] == ["memory_added", "memory_verified", "memory_published"]
    assert [event.details["before"] for event in events] == ["", events[0].subject_hash, events[1].subject_hash]
    assert len({event.subject_hash for event in events}) == 3


# --- Refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["title", "content"])
def test_a_credential_is_refused_before_anything_is_written(make_database: MakeDatabase, field: str) -> None:
    """Text that holds a credential is refused; the file does not hold a byte of it, nor an event."""
    database = make_database()
    with pytest.raises(InputError, match="looks like a credential"):
        database.add_memory(**{**GIVEN, field: f"note {SECRET}"})
    database.close()
    held = b"".join(path.read_bytes() for path in database.path.parent.iterdir())
    assert b"wJalrXUtnFEMI" not in held
    assert make_database(path=database.path).audit_events() == []


TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"memory_id": TOKEN}, "memory_id"),
        ({"conflict_key": f"api_key={TOKEN}"}, "conflict_key"),
        ({"metadata": {TOKEN: 1}}, "a key of metadata"),
        ({"metadata": {"password": 12345678901}}, "metadata.password"),
        ({"metadata": {"password": {"value": "correcthorse99"}}}, "metadata.password"),
        ({"applicability": {"experiment_environments": [TOKEN]}}, "applicability"),
        ({"evidence_chunk_ids": [TOKEN], "kind": "research_case"}, "evidence_chunk_ids"),
        ({"source_refs": [TOKEN]}, "text"),
    ],
)
def test_no_part_of_a_memory_may_be_a_credential(
    make_database: MakeDatabase, values: dict[str, object], place: str
) -> None:
    """An id stands in the log for good; keys, numbers under a name that says secret, and lists are shown as texts are."""
    database = make_database()
    with pytest.raises(InputError, match=re.escape(f"({place}) holds what looks like a credential")) as refused:
        database.add_memory(**{"title": "T", "content": "C", "memory_id": "m", **values})  # type: ignore[arg-type]
    database.close()
    assert TOKEN not in str(refused.value) and TOKEN.encode() not in database.path.read_bytes()


@pytest.mark.parametrize(
    "values",
    [
        {"memory_id": "3f2a1b9c0d4e5f60718293a4b5c6d7e8f9012345", "conflict_key": "optimizer/learning-rate"},
        {"memory_id": "123e4567-e89b-12d3-a456-426614174000", "metadata": {"max_tokens": 4096, "token_count": 12}},
        {"memory_id": "Pass", "evidence_chunk_ids": ["password", "c0123456789abcdef0123"], "kind": "research_case"},
        {"memory_id": "tokenizer.py", "metadata": {"tokenizer": "bpe", "password": None, "seed": 17}},
    ],
)
def test_ids_and_numbers_are_no_credentials(make_database: MakeDatabase, values: dict[str, object]) -> None:
    """Hashes, UUIDs, file names and counts are let in."""
    memory = make_database().add_memory(**{"title": "T", "content": "C", **values})  # type: ignore[arg-type]
    assert memory.memory_id == values["memory_id"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"title": " "}, "A memory needs a title"),
        ({"content": ""}, "A memory needs a content"),
        ({"content": None}, "A memory needs a content"),
        ({"title": 7}, "A memory needs a title"),
        ({"title": "a\0b"}, "title holds a NUL character"),
        ({"content": "a\ud800b"}, "content holds half a character"),
        ({"kind": "note"}, "kind is wrong"),
        ({"confidence": 1.5}, "confidence is wrong"),
        ({"confidence": float("nan")}, "confidence is wrong"),
        ({"title": "x" * 501}, "title is wrong"),
        ({"memory_id": " "}, "memory_id is wrong"),
        ({"memory_id": "x" * 201}, "memory_id is wrong"),
        ({"expires_at": "2027-01-01T00:00:00"}, "has no time zone"),
        ({"expires_at": "2027-01-01"}, "has no time zone"),
        ({"expires_at": "soon"}, "is not an ISO 8601 time"),
        ({"applicability": {"experiment_environments": "a100"}}, "applicability must be"),
        ({"applicability": {"experiment_environments": [1]}}, "applicability must be"),
        ({"applicability": ["a100"]}, "applicability must be"),
        ({"related_memory_ids": ["nobody"]}, "Related memory 'nobody' does not exist in this scope"),
        ({"metadata": {"x": float("nan")}}, "metadata is wrong"),
        ({"colour": "red"}, "colour is wrong"),
    ],
)
def test_what_is_wrong_is_named(make_database: MakeDatabase, change: dict[str, object], says: str) -> None:
    """A value of the wrong kind, out of range or without a zone is an InputError that names the field; nothing is written."""
    database = make_database()
    with pytest.raises(InputError, match=says):
        database.add_memory(**{**GIVEN, **change})
    assert (database.memories(), database.audit_events()) == ([], [])


def test_a_naive_time_is_refused_wherever_it_comes_from() -> None:
    """The clock itself must have a zone."""
    with pytest.raises(InputError, match="has no time zone"):
        make_memory(SCOPE, datetime(2026, 1, 1), **GIVEN)


def test_an_id_is_unique_within_its_scope_only(make_database: MakeDatabase) -> None:
    """The same id again in one scope is refused; in a neighbouring scope it is another memory."""
    database = make_database()
    database.add_memory(**GIVEN, memory_id="m1")
    with pytest.raises(StateError, match="Memory 'm1' exists in this scope already"):
        database.add_memory(**{**GIVEN, "content": "other"}, memory_id="m1")
    for scope in other_scopes():
        neighbour = make_database(scope, path=database.path)
        assert neighbour.add_memory(**{**GIVEN, "content": "theirs"}, memory_id="m1").content == "theirs"
    assert database.memory("m1").content == GIVEN["content"]
    with pytest.raises(InputError, match="There is no memory 'm2' in this scope"):
        database.set_memory_status("m2", "published", "x")


def test_relations_keep_their_order_without_duplicates(make_database: MakeDatabase) -> None:
    """Related memories must exist in this scope, keep the order they were given in, and are named once (contract 5.6)."""
    database = make_database()
    for name in ("a", "b", "c"):
        database.add_memory(**GIVEN, memory_id=name)
    memory = database.add_memory(**GIVEN, memory_id="d", related_memory_ids=["c", "a", "c"])
    assert database.memory("d").related_memory_ids == memory.related_memory_ids == ("c", "a")
    neighbour = make_database(other_scopes()[0], path=database.path)
    with pytest.raises(InputError, match="Related memory 'a' does not exist in this scope"):
        neighbour.add_memory(**GIVEN, related_memory_ids=["a"])


# --- Who wins, and until when -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confidence", "winner"),
    [((0.9, 0.5), "one"), ((0.5, 0.9), "two"), ((0.7, 0.7), "two")],
    ids=["higher", "lower", "later"],
)
def test_of_one_conflict_key_one_is_found_and_names_the_loser(
    make_database: MakeDatabase, confidence: tuple[float, float], winner: str
) -> None:
    """Higher confidence wins, then the later change; the loser is not found but named in the winner's metadata."""
    database = make_database()
    for name, value in zip(("one", "two"), confidence, strict=True):
        database.add_memory(**GIVEN, memory_id=name, confidence=value, conflict_key=" warmup ")
        database.set_memory_status(name, "published", "measured")
    result = database.search("warmup", plan=PLAN)
    assert [item.chunk_id for item in result.evidence] == [f"memory:{winner}"]
    assert list(result.evidence[0].metadata["conflict_losers"]) == [{"one": "two", "two": "one"}[winner]]
    database.set_memory_status(winner, "revoked", "wrong")
    assert found(database) == [{"one": "two", "two": "one"}[winner]]


def test_with_equal_confidence_and_time_the_smaller_id_wins(make_database: MakeDatabase) -> None:
    """The last tie-break is the id; a blank key is no key."""
    database = make_database(clock=lambda: NOW)
    for name in ("b", "a"):
        database.add_memory(**GIVEN, memory_id=name, conflict_key="k")
        database.set_memory_status(name, "published", "measured")
    assert found(database) == ["a"]
    for name in ("c", "d"):
        assert database.add_memory(**GIVEN, memory_id=name, conflict_key="  ").conflict_key is None
        database.set_memory_status(name, "published", "measured")
    assert sorted(found(database)) == ["a", "c", "d"]


def test_an_expired_memory_is_not_found_from_that_very_moment(make_database: MakeDatabase) -> None:
    """``expires_at`` is exclusive and read from the clock that is passed in; expired it can't be published again."""
    clock = StepClock()
    database = make_database(clock=clock)
    database.add_memory(**GIVEN, memory_id="m1", expires_at="2026-01-02T11:05:00+08:00")
    assert database.set_memory_status("m1", "published", "measured").expires_at == "2026-01-02T03:05:00.000000Z"
    assert found(database) == ["m1"]
    clock.now = datetime(2026, 1, 2, 3, 4, 59, tzinfo=timezone.utc)
    assert found(database) == []
    clock.now = datetime(2026, 1, 2, 3, 4, 57, tzinfo=timezone.utc)
    assert found(database) == ["m1"]
    database.set_memory_status("m1", "expired", "over")
    clock.now = datetime(2027, 1, 1, tzinfo=timezone.utc)
    with pytest.raises(StateError, match=r"expired at 2026-01-02T03:05:00.000000Z"):
        database.set_memory_status("m1", "published", "again")


def test_a_memory_holds_only_where_it_says(make_database: MakeDatabase) -> None:
    """Limited to other environments it is not found; limited to this one, to several, or to none at all it is."""
    database = make_database()
    for name, environments in (
        ("other", ["h800"]),
        ("mine", ["a100"]),
        ("several", ["h800", "a100"]),
        ("case", ["A100"]),
    ):
        database.add_memory(**GIVEN, memory_id=name, applicability={"experiment_environments": environments})
        database.set_memory_status(name, "published", "measured")
    database.add_memory(**GIVEN, memory_id="anywhere", applicability={})
    database.set_memory_status("anywhere", "published", "measured")
    assert sorted(found(database)) == ["anywhere", "mine", "several"]


# --- Any text ---------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=80).filter(
    str.strip
)


@given(title=TEXT, content=TEXT, confidence=st.floats(min_value=0, max_value=1))
def test_any_text_makes_a_memory(title: str, content: str, confidence: float) -> None:
    """A title and a content of any characters are kept as they are; the id follows from text and time."""
    memory = make_memory(SCOPE, NOW, title=title, content=content, kind="experiment", confidence=confidence)
    assert (memory.title, memory.content, memory.confidence, memory.scope) == (title, content, confidence, SCOPE)
    again = make_memory(SCOPE, NOW, title=title, content=content, kind="experiment")
    assert again.memory_id == memory.memory_id and len(memory.memory_id) == 13
    assert (
        make_memory(SCOPE, StepClock()(), title=title, content=content, kind="experiment").memory_id != memory.memory_id
    )


def test_what_is_invalid_leaves_an_event_too(make_database: MakeDatabase) -> None:
    """A memory whose values break a rule is refused with an event that names the error and no value; nothing is stored."""
    database = make_database()
    database.add_memory(**GIVEN, memory_id="m")
    for wrong in ({"title": " "}, {"confidence": 2.0}, {"kind": "rumour"}, {"content": SECRET}):
        with pytest.raises(InputError):
            database.add_memory(**{**GIVEN, **wrong}, memory_id="n")
    with pytest.raises(InputError):
        database.add_memory(**{**GIVEN, "title": 5})
    refused = database.audit_events("memory_refused")
    assert [(event.subject_id, event.details) for event in refused] == [
        ("(unknown)", {"asked": "add", "error": "MemoryInvalid"}),
        (sha256_text("n")[:16], {"asked": "add", "error": "InputError"}),
        *[(sha256_text("n")[:16], {"asked": "add", "error": "MemoryInvalid"})] * 3,
    ]
    assert [memory.memory_id for memory in database.memories()] == ["m"]
    assert database.verify_audit().damages == ()
