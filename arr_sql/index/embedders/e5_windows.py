"""What an engine is, and how windows go through one: each alone.

Alone, because then a window's vector has the same bytes whatever else is embedded with it: matrix products of another
shape add up in another order, and 8-bit products may scale by what is beside a row. Replay and the comparison of
stores rest on equal bytes. It costs nothing: a window of 250 tokens keeps a core as busy as two of them.
``tests/index/test_e5_engine.py`` and ``test_e5_int8.py`` hold the equality.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import Floats

Window = Sequence[int]
"""Token ids of one window, special tokens included; at most ``positions`` of them."""


class Engine(Protocol):
    """Token windows in, mean token vectors out. May be shared between threads and used after a fork."""

    def window_means(self, windows: Sequence[Window]) -> Floats:
        """The mean over tokens of the last layer, for each window: (len(windows), hidden), not normalised.

        Values that are not finite can only come from damaged weights; they are passed on for the caller to refuse.
        """
        ...


def run_each(forward: Callable[[Window], Floats], windows: Sequence[Window], hidden: int) -> Floats:
    """``forward`` of each window, which gives (hidden,), as rows."""
    means = np.empty((len(windows), hidden), np.float32)
    with np.errstate(all="ignore"):
        for index, window in enumerate(windows):
            means[index] = forward(window)
    return means
