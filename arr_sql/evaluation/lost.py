"""Where a relevant item was lost on its way through one search. Pure; the closed list is ``STAGES``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arr_sql.evaluation.units import Unit

STAGES: dict[str, str] = {
    "found": "it is in the answer",
    "not_indexed": "nothing of it is in the index",
    "no_candidate": "no channel offered it",
    "below_floor": "it was within k, and the whole answer was set aside as too far from the question",
    "cut": "every channel ranked it below k, and so did fusion and reranking",
    "fused_down": "a channel ranked it within k, fusion did not, and reranking did not bring it back",
    "reranked_down": "fusion ranked it within k, reranking did not",
}


@dataclass(frozen=True)
class Path:
    """One relevant item: its rank in each channel (None: not offered), after fusion and after reranking."""

    item: str
    grade: int
    stage: str
    channels: Mapping[str, int | None] = field(default_factory=dict)
    fused: int | None = None
    reranked: int | None = None


def path_of(
    unit: Unit, channels: Mapping[str, Sequence[str]], fused: Sequence[str], reranked: Sequence[str], k: int,
    is_below: bool = False,
) -> Path:  # fmt: skip
    """What became of ``unit`` in lists of items, best first. ``is_below``: the floor set the whole answer aside."""
    ranks = {name: _rank(unit.name, ranking) for name, ranking in channels.items()}
    in_fused, in_answer = _rank(unit.name, fused), _rank(unit.name, reranked)
    stage = _stage(unit, ranks, in_fused, in_answer, k)
    if is_below and stage == "found":
        stage = "below_floor"
    return Path(unit.name, unit.grade, stage, ranks, in_fused, in_answer)


def _stage(unit: Unit, ranks: Mapping[str, int | None], fused: int | None, reranked: int | None, k: int) -> str:
    if not unit.ids:
        return "not_indexed"
    if reranked is not None and reranked <= k:
        return "found"
    offered = [rank for rank in ranks.values() if rank is not None]
    if not offered:
        return "no_candidate"
    if fused is not None and fused <= k:
        return "reranked_down"
    return "fused_down" if min(offered) <= k else "cut"


def _rank(name: str, ranking: Sequence[str]) -> int | None:
    return ranking.index(name) + 1 if name in ranking else None
