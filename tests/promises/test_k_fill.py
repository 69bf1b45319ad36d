"""Contract 2.5: scope, status and applicability are decided before anything is cut, so a channel gives min(k, eligible).

Small scopes beside a big one whose 2,000 rows all match and score higher (field report rank-03), and one eligible
memory among 199 better ones that are not to be used.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.connection import open_writer, write_transaction
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import RouterResult
from arr_sql.database import ResearchDatabase
from arr_sql.memory.research_store import add_memory, make_memory, set_status
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, StepClock, other_scopes

SMALL, SMALLER, BIG = SCOPE, other_scopes()[3], other_scopes()[4]
N_BIG = 2_000
HELD = {SMALL: 3, SMALLER: 2, BIG: N_BIG}
CHANNELS = ("research-memory", "bm25", "vector", "grep")
LOUD = " ".join(["needle"] * 20)


@dataclass(frozen=True)
class Row:
    """A memory to be: its text and how it is to end."""

    memory_id: str
    text: str
    status: Any = "published"
    values: tuple[tuple[str, Any], ...] = ()


def put_memories(path: Path, scope: ScopeKey, clock: StepClock, rows: Sequence[Row]) -> None:
    """Store many memories in one transaction, through the functions that the database itself calls."""
    writer = open_writer(path)
    try:
        with write_transaction(writer, path):
            for row in rows:
                memory = make_memory(
                    scope,
                    clock(),
                    memory_id=row.memory_id,
                    kind="knowledge",
                    title="note",
                    content=row.text,
                    **dict(row.values),
                )
                add_memory(writer, memory, actor="tester", now=clock())
                for status in _way_to(row.status):
                    set_status(writer, scope, row.memory_id, status, actor="tester", reason="no source", now=clock())
    finally:
        writer.close()


def _way_to(status: str) -> list[Any]:
    """The allowed steps from candidate to ``status``."""
    if status == "candidate":
        return []
    return [status] if status in ("verified", "published", "revoked") else ["published", status]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with one file of three scopes: 3, 2 and 2,000 matching chunks, vectors, lines and memories."""
    folder = tmp_path_factory.mktemp("crowded")
    for scope, count in HELD.items():
        clock, disk = StepClock(), folder / scope.branch / scope.experiment_environment
        disk.mkdir(parents=True)
        word = LOUD if scope == BIG else "needle in a stack of hay"
        # A section with a heading of its own is a chunk of its own.
        for part in range(0, count, 500):
            numbers = range(part, min(part + 500, count))
            (disk / f"notes-{part}.md").write_text(
                "".join(f"# Part {n}\n\n{word} {n}\n\n" for n in numbers), encoding="utf-8"
            )
        with ResearchDatabase.create(
            folder / "arr.db", scope, project_folder=disk, actor="tester", clock=clock, embedder=FakeEmbedder
        ) as database:
            database.add(disk)
            database.embed()
        put_memories(folder / "arr.db", scope, clock, [Row(f"m{n:04}", f"{word} {n}") for n in range(count)])
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def search(crowded: Path) -> Iterator[Callable[[ScopeKey, str, int], RouterResult]]:
    """``search(scope, channel, k)`` for ``needle``, over one channel or (``""``) all."""
    opened: list[ResearchDatabase] = []

    def ask(scope: ScopeKey, channel: str, k: int) -> RouterResult:
        database = ResearchDatabase(
            crowded / "arr.db", scope, project_folder=crowded / scope.branch / scope.experiment_environment,
            actor="tester", clock=StepClock(), embedder=FakeEmbedder,
        )  # fmt: skip
        opened.append(database)
        return database.search("needle", k=k, plan={"tool_rounds": [[channel]]} if channel else None)

    yield ask
    for database in opened:
        database.close()


Ask = Callable[[ScopeKey, str, int], RouterResult]


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("scope", [SMALL, SMALLER], ids=["three", "two"])
def test_a_small_scope_beside_a_big_one_gives_all_it_has(search: Ask, scope: ScopeKey, channel: str) -> None:
    """Field report rank-03: k = 5 gives the three (or two) there are, all of this scope, and counts them as all."""
    result = search(scope, channel, 5)
    assert {item.scope for item in result.evidence} == {scope}
    assert [len(result.evidence), result.traces[0].candidate_count] == [HELD[scope], HELD[scope]]
    assert (result.state, result.partial, result.degradations) == ("found", False, ())


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("k", [1, 5, 150])
def test_a_big_scope_gives_k(search: Ask, channel: str, k: int) -> None:
    """Also more than the usual depth of a channel, when so many are asked for."""
    result = search(BIG, channel, k)
    assert {item.scope for item in result.evidence} == {BIG}
    assert [len(result.evidence), result.traces[0].candidate_count] == [k, N_BIG]


def test_all_channels_together_give_all_that_a_small_scope_has(search: Ask) -> None:
    """Three chunks and three memories of the scope, whatever stands beside it."""
    found = search(SMALL, "", 10).evidence
    assert sorted(item.chunk_id.startswith("memory:") for item in found) == [False] * 3 + [True] * 3
    assert {item.scope for item in found} == {SMALL}


# --- Status, applicability, expiry and conflicts ------------------------------------------------------------------------

BY_MEANING = {"tool_rounds": [["vector"]]}
INELIGIBLE: dict[str, tuple[Any, dict[str, Any]]] = {
    "candidates": ("candidate", {}),
    "verified": ("verified", {}),
    "revoked": ("revoked", {}),
    "deprecated": ("deprecated", {}),
    "in conflict": ("conflict", {}),
    "marked expired": ("expired", {}),
    "past their time": ("published", {"expires_at": "2026-01-02T05:00:00.000000Z"}),
    "of another environment": ("published", {"applicability": {"experiment_environments": ["h800", "a100-2", "A100"]}}),
    "of no environment": ("published", {"applicability": {"experiment_environments": []}}),
    "losers of a conflict": ("published", {"conflict_key": "lr", "confidence": 0.1}),
}


@pytest.mark.parametrize(("status", "values"), INELIGIBLE.values(), ids=INELIGIBLE)
def test_199_better_memories_that_may_not_be_used_take_no_place(
    make_database: MakeDatabase, status: Any, values: dict[str, Any]
) -> None:
    """k = 1 gives the one eligible memory, though 199 others say ``needle`` twenty times; and it is the only candidate."""
    clock = StepClock()
    database = make_database(clock=clock)
    eligible = {"conflict_key": "lr", "confidence": 0.9} if "conflict_key" in values else {}
    rows = [Row(f"a{n:03}", f"{LOUD} {n}", status, tuple(values.items())) for n in range(199)]
    put_memories(
        database.path, SCOPE, clock, [*rows, Row("the-one", "a needle, once", "published", tuple(eligible.items()))]
    )
    clock.now += timedelta(hours=3)
    result = database.search("needle", k=1, plan={"tool_rounds": [["research-memory"]]})
    assert [item.chunk_id for item in result.evidence] == ["memory:the-one"]
    assert (result.traces[0].candidate_count, result.partial) == (1, False)


@pytest.mark.parametrize(("status", "values"), INELIGIBLE.values(), ids=INELIGIBLE)
def test_nearer_memories_that_may_not_be_used_take_no_place(
    make_database: MakeDatabase, status: Any, values: dict[str, Any]
) -> None:
    """The same by meaning: 40 memories that say exactly what is asked had vectors, and the one usable memory is found."""
    clock = StepClock()
    database = make_database(clock=clock)
    eligible = {"conflict_key": "lr", "confidence": 0.9} if "conflict_key" in values else {}
    at_first = status if status in ("candidate", "verified") else "published"
    rows = [Row(f"a{n:03}", "needle", at_first, tuple(values.items())) for n in range(40)]
    put_memories(database.path, SCOPE, clock, [*rows, Row("the-one", "a needle", "published", tuple(eligible.items()))])
    assert database.embed().missing == 0
    if status != at_first:
        assert database.search("needle", k=1, plan=BY_MEANING).evidence[0].chunk_id != "memory:the-one"
        database.set_memory_statuses([(row.memory_id, status) for row in rows], "no source")
    clock.now += timedelta(hours=3)
    result = database.search("needle", k=1, plan=BY_MEANING)
    assert [item.chunk_id for item in result.evidence] == ["memory:the-one"]
    assert (result.traces[0].candidate_count, result.partial) == (1, False)


def test_the_199_would_be_better(make_database: MakeDatabase) -> None:
    """Were they eligible, they would take the places: the tests above can fail."""
    clock = StepClock()
    database = make_database(clock=clock)
    rows = [Row(f"a{n:03}", f"{LOUD} {n}") for n in range(199)]
    put_memories(database.path, SCOPE, clock, [*rows, Row("the-one", "a needle, once")])
    result = database.search("needle", k=199, plan={"tool_rounds": [["research-memory"]]})
    assert result.traces[0].candidate_count == 200
    assert "memory:the-one" not in {item.chunk_id for item in result.evidence}


# --- Retired rows and untrusted files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", ["bm25", "vector", "grep"])
def test_199_removed_files_take_no_place(make_database: MakeDatabase, tmp_path: Path, channel: str) -> None:
    """Chunks and vectors of files that are gone are no candidates, however well they matched."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(199):
        (docs / f"a{number:03}.txt").write_text(f"{LOUD} {number}", encoding="utf-8")
    (docs / "the-one.txt").write_text("a needle, once, among other words", encoding="utf-8")
    database = make_database(folder=docs, path=tmp_path / "arr.db")
    database.add(docs)
    database.embed()
    for number in range(199):
        (docs / f"a{number:03}.txt").unlink()
    database.sync()
    result = database.search("needle", k=1, plan={"tool_rounds": [[channel]]})
    assert [item.source_ref for item in result.evidence] == ["the-one.txt"]
    assert (result.traces[0].candidate_count, result.partial) == (1, False)


def test_a_trusted_file_is_found_beside_199_that_are_not(make_database: MakeDatabase, tmp_path: Path) -> None:
    """grep looks at the one file that was added, and neither searches nor counts its neighbours."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(199):
        (docs / f"a{number:03}.txt").write_text(f"{LOUD} {number}", encoding="utf-8")
    (docs / "the-one.txt").write_text("a needle, once", encoding="utf-8")
    database = make_database(folder=docs, path=tmp_path / "arr.db")
    database.add(docs / "the-one.txt")
    result = database.search("needle", k=1, plan={"tool_rounds": [["grep"]]})
    assert [item.source_ref for item in result.evidence] == ["the-one.txt"]
    assert result.traces[0].detail == {"files": 1, "lines": 1, "withheld": 0}
