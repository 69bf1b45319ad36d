"""What a hit counts as, and where an item was lost: worked cases."""

from __future__ import annotations

import pytest

from arr_sql.evaluation.gold_models import Item, Judgement
from arr_sql.evaluation.lost import STAGES, path_of
from arr_sql.evaluation.store_protocol import StoredChunk
from arr_sql.evaluation.units import Unit, Units

CHUNKS = [
    StoredChunk("c1", "a.md", "Head", "first part"), StoredChunk("c2", "a.md", "", "second part with the ANSWER"),
    StoredChunk("c3", "b.md", "", "another file"), StoredChunk("c4", "a.md", "Title with WORD", "third"),
]  # fmt: skip


def judged(*items: tuple[str, int]) -> list[Judgement]:
    """Judgements from names as they stand in a set."""
    made = []
    for text, grade in items:
        path, _, anchor = text.partition("#")
        memory = text.removeprefix("memory:") if text.startswith("memory:") else ""
        made.append(Judgement(Item(text, "" if memory else path, anchor, memory), grade))
    return made


def test_any_chunk_stands_for_its_file_and_only_the_first_counts() -> None:
    """Hits that are not judged keep their ids."""
    units = Units(judged(("a.md", 2)), CHUNKS)
    assert units.ranking(["c3", "c2", "c1", "c4"]) == ["c3", "a.md"]
    assert units.grades == {"a.md": 2}


def test_an_anchor_is_its_chunk_and_the_file_is_the_rest() -> None:
    """Where both are judged."""
    units = Units(judged(("a.md", 1), ("a.md#ANSWER", 3)), CHUNKS)
    assert units.ranking(["c1", "c2", "c4"]) == ["a.md", "a.md#ANSWER"]
    assert Units(judged(("a.md#WORD", 1)), CHUNKS).ranking(["c4"]) == ["a.md#WORD"]  # a heading belongs to its chunk


def test_items_of_one_chunk_are_one_item_with_the_higher_grade() -> None:
    """Else no list could find both."""
    units = Units(judged(("a.md#ANSWER", 1), ("a.md#second part", 2), ("b.md", 1), ("b.md#another", 3)), CHUNKS)
    assert units.grades == {"a.md#second part": 2, "b.md#another": 3}
    assert units.ranking(["c3", "c2"]) == ["b.md#another", "a.md#second part"]


def test_memories_and_what_is_not_indexed() -> None:
    """A memory's id is its hit's id; an item without a chunk stays wanted."""
    units = Units(judged(("memory:m1", 3), ("lost.md", 1)), CHUNKS)
    assert units.ranking(["memory:m1"]) == ["memory:m1"]
    assert [unit.ids for unit in units.units if unit.name == "lost.md"] == [frozenset()]
    assert units.grades == {"memory:m1": 3, "lost.md": 1}


IN_INDEX = Unit("x", 1, frozenset({"c1"}))
OTHERS = [f"o{number}" for number in range(30)]


@pytest.mark.parametrize(
    ("stage", "unit", "channel", "fused", "reranked"),
    [
        ("found", IN_INDEX, 3, 20, 2),
        ("not_indexed", Unit("x", 1, frozenset()), None, None, None),
        ("no_candidate", IN_INDEX, None, None, None),
        ("cut", IN_INDEX, 15, 16, 17),
        ("fused_down", IN_INDEX, 1, 12, 11),
        ("fused_down", IN_INDEX, 1, 12, None),
        ("reranked_down", IN_INDEX, 4, 9, 11),
        ("reranked_down", IN_INDEX, 4, 9, None),
    ],
)
def test_each_stage_of_loss(
    stage: str, unit: Unit, channel: int | None, fused: int | None, reranked: int | None
) -> None:
    """With k = 10."""

    def ranking(rank: int | None) -> list[str]:
        return OTHERS if rank is None else [*OTHERS[: rank - 1], "x", *OTHERS[rank - 1 :]]

    path = path_of(unit, {"bm25": ranking(channel), "vector": OTHERS}, ranking(fused), ranking(reranked), 10)
    assert (path.stage, path.fused, path.reranked) == (stage, fused, reranked)
    assert path.channels == {"bm25": channel, "vector": None}
    assert stage in STAGES
