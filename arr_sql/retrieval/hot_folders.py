"""The folders of a trusted root in memory, for a process that searches it again and again.

A folder whose stamp is what it was is not listed again, and its files are only looked at (:class:`FolderMemory`). Where all of
them are what they were, those whose lines are in memory are counted together and not named one by one: with some ten
thousand files that is most of the work beside the look itself.

Held by ``tests/retrieval/test_hot_lines.py``: the answers are those of a search without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from arr_sql.core.rooted import Entry, FileStat, FolderStamp, Root
from arr_sql.core.walk import Step

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from arr_sql.retrieval.hot_lines import HotLines

_LIVELY = frozenset({"vanished", "denied"})


class Listed(NamedTuple):
    """A folder as it was listed: its stamp, the ignore rules in it, its steps, and the names of the files among them."""

    stamp: FolderStamp
    rules: str
    steps: list[Step]
    names: list[str]


class Block(NamedTuple):
    """A folder with what is known of its files when they are as ``stats`` says: ``numbers`` are those in the lines of which
    ``state`` is the token, of ``size`` bytes together; ``steps`` are those of all others."""

    state: object
    stats: list[FileStat]
    numbers: NDArray[np.int64]
    size: int
    largest: int
    steps: list[Step]


@dataclass
class RootFolders:
    """What is kept of the folders of one root, by path."""

    listed: dict[str, Listed] = field(default_factory=dict)
    blocks: dict[str, Block] = field(default_factory=dict)


class HotFolders:
    """The folders of one root for one search: see :class:`arr_sql.core.walk.FolderMemory`.

    Only folders that had not changed since ``rest_before`` are kept. ``pass_over`` is asked whether the files of a block
    need not be named; without it each file is.
    """

    def __init__(
        self, kept: RootFolders, root_name: str, lines: HotLines, rest_before: int,
        pass_over: Callable[[Block], bool] | None,
    ) -> None:  # fmt: skip
        self._kept, self._root_name, self._lines = kept, root_name, lines
        self._rest_before, self._pass_over = rest_before, pass_over

    def recall(self, root: Root, rel: str, rules: str) -> list[Step] | None:
        """The steps of a folder that is as it was, with what its files are now."""
        known = self._kept.listed.get(rel)
        if known is None or known.rules != rules:
            return None
        block = self._kept.blocks.get(rel)
        stats = root.look_again(rel, known.stamp, known.names, block.stats if block is not None else ())
        if stats is None:
            return None
        if self._pass_over is not None:
            if block is None or block.state is not self._lines.token or block.stats != stats:
                block = self._kept.blocks[rel] = self._block(rel, known, stats)
            if self._pass_over(block):
                return block.steps
        return list(_with_stats(known.steps, stats))

    def _block(self, rel: str, known: Listed, stats: list[FileStat]) -> Block:
        import numpy as np

        prefix = f"{rel}/" if rel else ""
        numbers, sizes, steps = [], [], []
        for entry, reason in _with_stats(known.steps, stats):
            number = None
            if reason is None and entry.kind == "file":
                number = self._lines.number.get((self._root_name, prefix + entry.name))
            if number is not None and self._lines.files[number].stat == entry[2:]:
                numbers.append(number)
                sizes.append(entry.size)
            else:
                steps.append((entry, reason))
        return Block(
            self._lines.token, stats, np.array(numbers, dtype=np.int64), sum(sizes), max(sizes, default=0), steps
        )  # fmt: skip

    def note(self, rel: str, stamp: FolderStamp, rules: str, steps: Sequence[Step]) -> None:
        """Keep a folder that was at rest."""
        at_rest = max(stamp.mtime_ns, stamp.ctime_ns) < self._rest_before
        if at_rest and not any(entry.kind in _LIVELY for entry, _ in steps):
            names = [entry.name for entry, reason in steps if entry.kind == "file" and reason is None]
            self._kept.listed[rel] = Listed(stamp, rules, list(steps), names)


def _with_stats(steps: Sequence[Step], stats: Sequence[FileStat]) -> Iterator[Step]:
    """The same steps, with what the files that were looked at are now."""
    looked_at = iter(stats)
    for entry, reason in steps:
        if reason is None and entry.kind == "file":
            yield Entry(entry.name, "file", *next(looked_at)), None
        else:
            yield entry, reason
