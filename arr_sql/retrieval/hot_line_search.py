"""One search of the grep channel with the lines that are in memory, and what it leaves there for the next.

Promise: the same answer as without (``tests/retrieval/test_hot_lines.py``). Every file is looked at on the disk as ever; only
one whose size, times and inode are those that it was learned with, when it had been at rest for two seconds, is answered
for from memory. It is read all the same where a needle holds white space and all its words are on one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from arr_sql.core.canonical import sha256_bytes
from arr_sql.core.connection import Connection
from arr_sql.core.filesystem import keeps_folder_times
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import FileRead, Root
from arr_sql.core.walk import Found
from arr_sql.index.text_index import text_index_state
from arr_sql.retrieval.hot_folders import Block, HotFolders, RootFolders
from arr_sql.retrieval.hot_lines import HotLines
from arr_sql.retrieval.line_spans import Place
from arr_sql.retrieval.line_values import Passed, SearchLimits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = tuple[frozenset[str], int]
"""What an answer's score depends on: the needles it holds, and how many of its lines hold one."""


@dataclass(frozen=True, slots=True)
class Note:
    """A file that was read, with the hash of its bytes."""

    place: Place
    file: Found
    hash: str
    text: str


@dataclass
class HotScope:
    """What is kept of one scope in one state. ``refused`` are files that can't be learned as they are in it; ``folders`` are
    those of each root at a path, None where the file system does not keep their times."""

    state: tuple[Any, ...]
    lines: HotLines
    folders: dict[tuple[str, str], RootFolders | None] = field(default_factory=dict)
    refused: dict[Place, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HotAnswer:
    """The lines that one chunk holds."""

    chunk: int
    matched_lines: Sequence[int]


class HotSearch:
    """See :class:`arr_sql.retrieval.line_search.LineMemory`."""

    def __init__(self, kept: HotScope, wanted: Mapping[str, str], room: int, rest_before: int) -> None:
        import numpy as np

        self.lines, self.state = kept.lines, kept.state
        self._folders, self._refused = kept.folders, kept.refused
        self._rest_before = rest_before
        self._needles = list(wanted.values())
        self._bases, self._n_files = kept.lines.bases, len(kept.lines.files)
        found = [self._with_form(form) for form in wanted]
        self._is_read = {
            int(number) for lines, exact in found if not exact for number in np.unique(self._file_of(lines))
        }
        self._hits = reduce(np.union1d, (lines for lines, exact in found if exact), np.empty(0, np.int32))
        self._masks = np.zeros(len(self._hits), dtype=np.int64)
        for bit, (lines, exact) in enumerate(found):
            if exact:
                self._masks[np.searchsorted(self._hits, lines)] |= 1 << bit
        self._files = self._file_of(self._hits)
        self._secret = self.lines.secret[self._hits]
        self._n_hits = np.bincount(self._files[~self._secret], minlength=self._n_files)
        self._n_withheld = np.bincount(self._files[self._secret], minlength=self._n_files)
        self._all_room = room
        self.begin(by_folder=True)

    def begin(self, *, by_folder: bool) -> None:
        """See :class:`~arr_sql.retrieval.line_search.LineMemory`."""
        self._by_folder, self._room = by_folder, self._all_room
        self.notes = list[Note]()
        self._taken: list[int] = []
        self._passed: list[Block] = []
        self._cut: tuple[int, int] | None = None

    @cached_property
    def _counts(self) -> list[int]:
        counts: list[int] = self._n_hits.tolist()
        return counts

    @cached_property
    def _withheld(self) -> list[int]:
        counts: list[int] = self._n_withheld.tolist()
        return counts

    def _file_of(self, lines: NDArray[np.int32]) -> NDArray[np.int64]:
        import numpy as np

        return np.searchsorted(self._bases, lines, side="right") - 1

    def _with_form(self, form: str) -> tuple[NDArray[np.int32], bool]:
        """The lines that hold ``form``; where it has white space, those that hold all of its words, and perhaps it."""
        import numpy as np

        words = form.split()
        if not words:
            return np.arange(len(self.lines.secret), dtype=np.int32), False
        every = [self.lines.with_text(word) for word in words]
        return reduce(np.intersect1d, every), words == [form]

    def is_current(self, reader: Connection, scope: ScopeKey) -> bool:
        """Do its chunks stand in the file as it is now?"""
        return text_index_state(reader, scope) == self.state

    def folders(self, root_name: str, root: Root, limits: SearchLimits) -> HotFolders | None:
        """What the folders of a root held."""
        key = root_name, str(root.path)
        if key not in self._folders:
            self._folders[key] = RootFolders() if keeps_folder_times(root.path) else None
        kept = self._folders[key]
        if kept is None:
            return None

        def pass_over(block: Block) -> bool:
            # A needle with white space makes files be read that are known; they are named, and so is one that is too large.
            if block.largest > limits.max_file_bytes or (self._is_read and not self._is_read.isdisjoint(block.numbers)):
                return False
            self._passed.append(block)
            return True

        return HotFolders(kept, root_name, self.lines, self._rest_before, pass_over if self._by_folder else None)

    def passed_over(self) -> Passed:
        """See :class:`~arr_sql.retrieval.line_search.LineMemory`."""
        import numpy as np

        blocks, self._passed = self._passed, []
        numbers = np.concatenate([block.numbers for block in blocks] or [np.empty(0, dtype=np.int64)])
        counts = self._n_hits[numbers]
        self._taken.extend(numbers[counts > 0].tolist())
        return Passed(
            len(numbers), sum(block.size for block in blocks), int(counts.sum()), int(self._n_withheld[numbers].sum())
        )

    def take(self, root_name: str, file: Found, room: int) -> tuple[int, int, bool] | None:
        """See :class:`~arr_sql.retrieval.line_search.LineMemory`."""
        number = self.lines.number.get((root_name, file.rel))
        if number is None or self.lines.files[number].stat != file[1:] or number in self._is_read:
            return None
        count: int = self._counts[number]
        if count:
            self._taken.append(number)
        if count <= room:
            return count, self._withheld[number], False
        self._cut = number, room
        secret = self._secret[self._files == number]
        return room, int(secret[: (~secret).nonzero()[0][room]].sum()), True

    def note(self, root_name: str, file: Found, read: FileRead, text: str) -> None:
        """Keep the text of a file that can be learned, as far as there is room."""
        place = root_name, file.rel
        number = self.lines.number.get(place)
        if (
            file.size <= self._room and file.inode and max(file.mtime_ns, file.ctime_ns) < self._rest_before
            and (read.size, read.mtime_ns) == (file.size, file.mtime_ns) and self._refused.get(place) != file[1:]
            and (number is None or self.lines.files[number].stat != file[1:])
        ):  # fmt: skip
            self._room -= file.size
            self.notes.append(Note(place, file, sha256_bytes(read.data), text))

    def answers(self, inner: Mapping[str, tuple[str, ...]]) -> HotAnswers:
        """What was taken, without the files of roots that are ``inner`` to others."""
        import numpy as np

        is_taken = np.zeros(self._n_files, dtype=bool)
        is_taken[[number for number in self._taken if not self._is_inner(number, inner)]] = True
        kept = is_taken[self._files] & ~self._secret
        if self._cut is not None:
            number, room = self._cut
            kept[np.flatnonzero(kept & (self._files == number))[room:]] = False
        return HotAnswers(self, self._hits[kept], self._masks[kept], self._files[kept])

    def _is_inner(self, number: int, inner: Mapping[str, tuple[str, ...]]) -> bool:
        root_name, rel = self.lines.files[number].place
        return bool(inner) and f"{rel}/".startswith(inner.get(root_name, ()))

    def needles_of(self, mask: int) -> frozenset[str]:
        """The needles that bits stand for."""
        return frozenset(needle for bit, needle in enumerate(self._needles) if mask >> bit & 1)


class HotAnswers:
    """The hit lines that were taken from memory, by the chunk that holds them."""

    def __init__(
        self, search: HotSearch, hits: NDArray[np.int32], masks: NDArray[np.int64], files: NDArray[np.int64]
    ) -> None:
        import numpy as np

        self._known, self.n_lines = search.lines, len(hits)
        self._chunks, first, self._group, self._counts = np.unique(
            search.lines.held_by[hits], return_index=True, return_inverse=True, return_counts=True
        )
        self._numbers = hits - search.lines.bases[files] + 1
        self._files, self._first = files[first], self._numbers[first]
        held = np.zeros(len(self._chunks), dtype=np.int64)
        np.bitwise_or.at(held, self._group, masks)
        pairs, self._kind, times = np.unique(held << 32 | self._counts, return_inverse=True, return_counts=True)
        self._kinds: list[Kind] = [(search.needles_of(int(pair) >> 32), int(pair) & 0xFFFFFFFF) for pair in pairs]
        self.kinds = Counter(dict(zip(self._kinds, times.tolist(), strict=True)))
        """How many answers there are of each kind."""

    def __len__(self) -> int:
        return len(self._chunks)

    def best(self, score: Mapping[Kind, float], k: int) -> list[tuple[float, str, int, HotAnswer]]:
        """The best ``k``: minus the score, source_ref, number of the first line, answer."""
        import numpy as np

        if not len(self):
            return []
        scores = np.array([score[kind] for kind in self._kinds])[self._kind]
        chosen = np.arange(len(scores))
        if len(scores) > k:
            chosen = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
        order = chosen[np.lexsort((self._first[chosen], self._known.ref_rank[self._files[chosen]], -scores[chosen]))]
        lines = np.argsort(self._group, kind="stable")
        begins = np.cumsum(self._counts) - self._counts
        return [
            (
                -float(scores[at]), self._known.files[self._files[at]].source_ref, int(self._first[at]),
                HotAnswer(int(self._chunks[at]), self._numbers[lines[begins[at] : begins[at] + self._counts[at]]].tolist()),
            )
            for at in order[:k]
        ]  # fmt: skip
