"""The sieves of all files of a root at once: which may hold one of the needles? In NumPy, for an index that is asked again.

Held by ``tests/retrieval/test_line_index.py``: the answers are those of :func:`arr_sql.core.line_sieve.which_may_hold`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class AllSieves:
    """The sieves one after the other, with each one's folder and its number there."""

    def __init__(self, folders: Iterable[tuple[str, bytes, Sequence[tuple[int, int, int]]]]) -> None:
        """Of each folder its path, its sieves, and for each of them a number, where it begins and where it ends."""
        import numpy as np

        self._paths: list[str] = []
        sieves: list[bytes] = []
        rows: list[tuple[int, int, int, int]] = []
        base = 0
        for path, bits, places in folders:
            at = len(self._paths)
            self._paths.append(path)
            sieves.append(bits)
            # A sieve of no bits belongs to a text that has no gram, and so no needle that has one.
            rows.extend((at, number, base + start, 8 * (end - start)) for number, start, end in places if start < end)
            base += len(bits)
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        self._folder, self._number, self._start, self._size = (np.ascontiguousarray(column) for column in table.T)
        self._bits = np.frombuffer(b"".join(sieves), dtype=np.uint8)

    def holding(self, wanted: Sequence[Sequence[int]]) -> dict[str, list[int]]:
        """By folder the numbers, ascending, of the sieves that may hold one of the needles, each a row of hashes."""
        import numpy as np

        found: dict[str, list[int]] = {}
        each = [self._with_all(hashes) for hashes in wanted]
        rows = np.unique(np.concatenate(each)) if each else np.empty(0, dtype=np.int64)
        for folder, number in zip(self._folder[rows].tolist(), self._number[rows].tolist(), strict=True):
            found.setdefault(self._paths[folder], []).append(number)
        return found

    def _with_all(self, hashes: Sequence[int]) -> NDArray[np.int64]:
        """The rows whose sieves have the bit of every hash."""
        import numpy as np

        rows = np.arange(len(self._size))
        for value in hashes:
            place = value % self._size[rows]
            rows = rows[(self._bits[self._start[rows] + (place >> 3)] >> (place & 7).astype(np.uint8) & 1).astype(bool)]
        return rows
