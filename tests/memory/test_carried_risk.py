"""Risk goes where a case goes: a copy in another scope, or from a file, needs an approval of its own (contract 5.2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arr_sql.core.approval_models import highest_risk
from arr_sql.errors import ImportInvalid, StateError
from arr_sql.memory.memory_files import FileRecord, from_jsonl, to_jsonl
from tests.conftest import other_scopes
from tests.memory.people import People

THERE = other_scopes()[0]


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    """A file with this scope and another one."""
    made = People(tmp_path / "arr.db")
    made("ana", THERE).add_memory(memory_id="z", title="z", content="z")
    yield made
    made.close()


def stated(people: People) -> str:
    """The risk is in the metadata."""
    return people.case("c", metadata={"risk_level": "high"})


def stated_once(people: People) -> str:
    """It was, and was edited away."""
    people.case("c", metadata={"risk_level": "medium"})
    return people.ana.edit_memory("c", metadata={"note": "none"}).memory_id


def packaged(people: People) -> str:
    """Nothing is stated, and somebody asked for an approval."""
    people.case("c")
    people.package("p", "c", risk="low")
    return "c"


def passed(people: People) -> str:
    """It is approved, reported as passed and published: here."""
    people.case("c", metadata={"risk_level": "high"})
    people.package("p", "c")
    people.receipt(people.approve("p").receipt_token or "", package_id="p", case_id="c")
    people.bo.set_memory_status("c", "published")
    return "c"


RISKS: list[tuple[Callable[[People], str], str]] = [
    (stated, "high"), (stated_once, "medium"), (packaged, "low"), (passed, "high")
]  # fmt: skip


@pytest.mark.parametrize(("make", "risk"), RISKS)
def test_a_promoted_case_carries_its_risk(people: People, make: Callable[[People], str], risk: str) -> None:
    """The preview says so, the copy has it, no edit takes it away, and a copy of the copy has it again."""
    make(people)
    if people.bo.memory("c").status == "candidate":
        people.bo.set_memory_status("c", "verified")
    preview = people.bo.preview_promotion("c", THERE)
    assert preview.risk == risk
    assert people.bo.promote_memory(preview).metadata["risk_carried"] == risk
    there = people("bo", THERE)
    for metadata in (None, {}):
        if metadata is not None:
            there.edit_memory("c", metadata=metadata)
        with pytest.raises(StateError, match="Case 'c' is risk-bearing"):
            there.set_memory_status("c", "published")
    there.set_memory_status("c", "verified")
    people.bo.set_memory_status("c", "revoked", "made anew")
    back = there.promote_memory(there.preview_promotion("c", people.scope, new_id="back"))
    assert back.metadata["risk_carried"] == risk
    with pytest.raises(StateError, match="Case 'back' is risk-bearing"):
        people.bo.set_memory_status("back", "published")


def test_an_approval_there_publishes_the_copy(people: People) -> None:
    """With a package for what it says there, of no lower risk, and a passed receipt."""
    passed(people)
    people.bo.promote_memory(people.bo.preview_promotion("c", THERE))
    there = People(people.path, THERE)
    with pytest.raises(StateError, match="states risk level high"):
        there.package("p", "c", risk="low")
    there.package("p", "c")
    there.receipt(there.approve("p").receipt_token or "", package_id="p", case_id="c")
    assert there.bo.set_memory_status("c", "published").status == "published"
    there.close()


def test_a_preview_that_knew_of_no_risk_is_not_written(people: People) -> None:
    """Somebody asks for an approval between the look and the step."""
    people.case("c")
    people.bo.set_memory_status("c", "verified")
    preview = people.bo.preview_promotion("c", THERE)
    assert preview.risk is None
    people.package("p", "c")
    with pytest.raises(StateError, match="changed since you looked"):
        people.bo.promote_memory(preview)


def test_what_bears_no_risk_carries_none(people: People) -> None:
    """A plain case and another kind of memory leave as they are, and are published there."""
    people.case("c", metadata={"risk_level": "low"})
    people.ana.add_memory(memory_id="m", title="t", content="d", source_refs=["a"], metadata={"risk_level": "high"})
    for name in ("c", "m"):
        people.bo.set_memory_status(name, "verified")
        copy = people.bo.promote_memory(people.bo.preview_promotion(name, THERE))
        assert "risk_carried" not in copy.metadata
        assert people("bo", THERE).set_memory_status(name, "published").status == "published"
    assert not [item for item in people.bo.exported_memories()[0] if "risk_carried" in item.metadata]


def exported(people: People, **changes: object) -> list[FileRecord]:
    """The lines that an export of this scope writes, with ``changes``."""
    lines = to_jsonl(people.bo.exported_memories()[0]).splitlines()
    records, problems = from_jsonl("\n".join(json.dumps({**json.loads(line), **changes}) for line in lines), "m.jsonl")
    assert not problems
    return records


@pytest.mark.parametrize(("make", "risk"), RISKS)
def test_an_exported_case_carries_its_risk(people: People, make: Callable[[People], str], risk: str) -> None:
    """So does what is imported from it, here under another id and there under its own; the file itself is still known here."""
    make(people)
    records = exported(people, status="candidate")
    assert [record.values["metadata"]["risk_carried"] for record in records] == [risk]
    assert people.bo.import_memories(records, origin="m.jsonl").unchanged == ("c",)
    for database, name in ((people.bo, "c2"), (people("bo", THERE), "c")):
        database.import_memories(exported(people, memory_id=name)[:1], origin="m.jsonl")
        with pytest.raises(StateError, match="is risk-bearing"):
            database.set_memory_status(name, "published")


@pytest.mark.parametrize("make", [*(make for make, _ in RISKS), lambda people: people.case("c")])
def test_no_import_keeps_a_case_as_published(people: People, make: Callable[[People], str]) -> None:
    """A file can be changed, so whatever it says of risk: only an approval in this scope publishes."""
    make(people)
    for metadata in ({}, {"risk_level": "low"}):
        records = exported(people, memory_id="c2", status="published", metadata=metadata)
        with pytest.raises(ImportInvalid, match="Case 'c2' can't be kept as published"):
            people.bo.import_memories(records, origin="m.jsonl", keep_status=True, reason="x")
    assert [memory.memory_id for memory in people.bo.memories()] == ["c"]


def test_the_highest_risk_is_carried() -> None:
    """By hand; a level that nobody knows counts as high."""
    assert highest_risk([]) is None
    assert [highest_risk(levels) for levels in (["low"], ["low", "medium"], ["HIGH"], [3, "low"], [["low"]])] == [
        "low", "medium", "high", "high", "high"
    ]  # fmt: skip
