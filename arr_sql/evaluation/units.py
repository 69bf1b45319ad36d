"""From chunks to judged items: what a hit counts as. Pure.

Each chunk belongs to at most one judged item. Where a file and an anchor in it are both judged, the anchor's chunk stands
for the anchor and the rest of the file for the file. Two anchors in one chunk are one item with the higher grade. A file's
first chunk in a list counts for it and its later ones are left out of the list, as they would be from a list of files; a
hit that is not judged keeps its own id and place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arr_sql.evaluation.gold_models import MEMORY_PREFIX, Judgement
from arr_sql.evaluation.store_protocol import StoredChunk


@dataclass(frozen=True)
class Unit:
    """A judged item and the ids that stand for it; none when nothing of it is in the index."""

    name: str
    grade: int
    ids: frozenset[str]


class Units:
    """The judged items of one topic."""

    def __init__(self, judgements: Sequence[Judgement], chunks: Sequence[StoredChunk]) -> None:
        """``chunks`` are those of the topic's scope."""
        self._unit_of: dict[str, str] = {}
        self.units: list[Unit] = []
        anchors_first = sorted(judgements, key=lambda j: (not j.item.anchor, -j.grade, j.item.text))
        for judgement in anchors_first:
            ids = _ids(judgement, chunks)
            free = frozenset(name for name in ids if name not in self._unit_of)
            if ids and not free:  # a better judged item of the same chunk, or of the whole file, has them all
                continue
            self.units.append(Unit(judgement.item.text, judgement.grade, free))
            self._unit_of.update(dict.fromkeys(free, judgement.item.text))
        self.grades = {unit.name: unit.grade for unit in self.units}

    def ranking(self, ids: Iterable[str]) -> list[str]:
        """Items and unjudged ids in the order of ``ids``, each once."""
        return list(dict.fromkeys(self._unit_of.get(name, name) for name in ids))


def _ids(judgement: Judgement, chunks: Sequence[StoredChunk]) -> list[str]:
    item = judgement.item
    if item.memory_id:
        return [f"{MEMORY_PREFIX}{item.memory_id}"]
    return [
        chunk.chunk_id
        for chunk in chunks
        if chunk.source_ref == item.path and (not item.anchor or item.anchor in f"{chunk.heading}\n{chunk.content}")
    ]
