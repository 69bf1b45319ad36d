"""Where a memory holds and which one is found: the pure rules, and that the SQL of the channel follows them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arr_sql.core.clock import to_text
from arr_sql.core.research_models import ResearchMemory, ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.errors import MemoryInvalid
from arr_sql.memory.applicability import applies, checked_applicability, is_usable, winners
from arr_sql.memory.memory_files import FileRecord, file_values
from arr_sql.memory.research_store import checked_memory
from tests.conftest import SCOPE, MakeDatabase

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
AT = to_text(NOW)
PLAN = {"version": 1, "tool_rounds": [[{"tool": "research-memory"}]], "reason": "test"}


def memory(**values: Any) -> ResearchMemory:
    """A published memory from the values that matter."""
    filled = {
        "memory_id": "m", "title": "warmup", "content": "steps", "status": "published", "created_at": AT,
        "updated_at": AT, **values,
    }  # fmt: skip
    return checked_memory(SCOPE, **filled)


@pytest.mark.parametrize(
    ("given_value", "kept"),
    [
        ({}, {}),
        ({"experiment_environments": []}, {"experiment_environments": []}),
        ({"experiment_environments": [" a100 ", "h800", "a100"]}, {"experiment_environments": ["a100", "h800"]}),
        ({"experiment_environments": ["A100", "a100"]}, {"experiment_environments": ["A100", "a100"]}),
    ],
)
def test_what_is_kept(given_value: dict[str, Any], kept: dict[str, Any]) -> None:
    """Names are trimmed and named once; their case counts."""
    assert checked_applicability(given_value) == kept


@pytest.mark.parametrize(
    "value",
    [
        None, [], "a100", 7, True, ["a100"], {"experiment_environments": None}, {"experiment_environments": "a100"},
        {"experiment_environments": {"a100": 1}}, {"experiment_environments": ("a100",)},
        {"experiment_environments": [1]}, {"experiment_environments": [None]}, {"experiment_environments": True},
        {"experiment_environments": [" "]}, {"experiment_environments": ["a\nb"]},
        {"experiment_environments": ["x" * 201]}, {"experiment_environment": ["a100"]}, {"where": "a100"},
    ],
    ids=repr,
)  # fmt: skip
def test_any_other_type_is_refused(value: Any) -> None:
    """Also a key that restricts nothing: a slip of the pen must not make a memory hold everywhere (contract 5.4)."""
    with pytest.raises(MemoryInvalid, match="applicability") as caught:
        checked_applicability(value)
    assert caught.value.field == "applicability"


@pytest.mark.parametrize("value", [{"experiment_environments": None}, {"experiment_environment": ["a100"]}])
def test_saving_and_editing_refuse_it(make_database: MakeDatabase, value: Any) -> None:
    """The rule is used on save; nothing is written."""
    database = make_database()
    with pytest.raises(MemoryInvalid, match="applicability"):
        database.add_memory(title="T", content="C", applicability=value)
    assert database.memories() == []
    database.add_memory(title="T", content="C", memory_id="m")
    with pytest.raises(MemoryInvalid, match="applicability"):
        database.edit_memory("m", applicability=value)
    assert database.memory("m").revision == 1


def test_where_it_holds() -> None:
    """Without a list anywhere; with one there and nowhere else; names are compared exactly."""
    assert applies({}, "a100")
    assert not applies({"experiment_environments": []}, "a100")
    assert applies({"experiment_environments": ["h800", "a100"]}, "a100")
    assert not applies({"experiment_environments": ["A100", "a100-2"]}, "a100")


def test_usable_until_that_very_moment() -> None:
    """``expires_at`` itself is too late; only the published are usable."""
    later = to_text(NOW + timedelta(microseconds=1))
    assert is_usable(memory(expires_at=later), "a100", AT)
    assert not is_usable(memory(expires_at=AT), "a100", AT)
    assert not is_usable(memory(status="verified"), "a100", AT)


def test_the_winner_by_hand() -> None:
    """Confidence, then time, then id; a loser that is not usable is no loser."""
    later = to_text(NOW + timedelta(seconds=1))
    found = winners(
        [
            memory(memory_id="a", conflict_key="k", confidence=0.5),
            memory(memory_id="b", conflict_key="k", confidence=0.9),
            memory(memory_id="c", conflict_key="k", confidence=0.9, updated_at=later),
            memory(memory_id="d", conflict_key="k", confidence=1.0, status="deprecated"),
            memory(memory_id="e", conflict_key="j"), memory(memory_id="f", conflict_key="j"), memory(memory_id="g"),
        ],
        "a100", AT,
    )  # fmt: skip
    assert [(item.memory.memory_id, [loser.memory_id for loser in item.losers]) for item in found] == [
        ("c", ["b", "a"]), ("e", ["f"]), ("g", []),
    ]  # fmt: skip


# --- The SQL says the same --------------------------------------------------------------------------------------------

MEMORIES = st.lists(
    st.fixed_dictionaries(
        {
            "memory_id": st.sampled_from(["a", "b", "B", "é", "数", "m1", "m10", "k", "kx"]),
            "status": st.sampled_from(["published"] * 6 + ["candidate", "deprecated", "conflict", "expired", "revoked"]),
            "confidence": st.sampled_from([0.0, 0.1, 0.30000000000000004, 0.3, 0.8, 1.0]),
            "conflict_key": st.sampled_from([None, None, "x", "X", "k", "数"]),
            "expires_at": st.sampled_from([None, None, AT, to_text(NOW + timedelta(seconds=1)), to_text(NOW - timedelta(days=1))]),
            "updated_at": st.sampled_from([AT, to_text(NOW + timedelta(seconds=1)), to_text(NOW - timedelta(days=400))]),
            "applicability": st.sampled_from(
                [{}, {}, {"experiment_environments": ["a100"]}, {"experiment_environments": ["A100", "h800"]},
                 {"experiment_environments": []}]
            ),
        }
    ),
    max_size=9, unique_by=lambda values: values["memory_id"],
)  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One file in which each example has a scope of its own."""
    path = tmp_path_factory.mktemp("winners") / "arr.db"
    ResearchDatabase.create(path, SCOPE).close()
    yield path


COUNT = iter(range(1_000_000))


@given(drawn=MEMORIES)
@settings(max_examples=60)
def test_the_channel_agrees_with_the_pure_rules(shared: Path, drawn: list[dict[str, Any]]) -> None:
    """Whatever there is in a scope, the channel finds the winners of the pure function and names the same losers."""
    scope = ScopeKey(**{**SCOPE.model_dump(), "branch": f"b{next(COUNT)}"})
    made = [checked_memory(scope, title="warmup", content="steps", created_at=AT, **values) for values in drawn]
    with ResearchDatabase(shared, scope, actor="tester", clock=lambda: NOW, embedder=lambda: None) as database:
        records = [FileRecord(file_values(item), "drawn", 1, {}) for item in made]
        database.import_memories(records, origin="drawn", keep_status=True, reason="test")
        evidence = database.search("warmup", plan=PLAN, k=20, write_record=False).evidence
    found = {item.metadata["memory_id"]: list(item.metadata.get("conflict_losers", ())) for item in evidence}
    assert found == {
        item.memory.memory_id: [loser.memory_id for loser in item.losers]
        for item in winners(made, scope.experiment_environment, AT)
    }
