"""The engine that embedding speed is measured against: multilingual-e5-small in plain NumPy, micro-batches of 512 tokens.

It is the first engine of this project, kept as it was. Windows are sorted by length, those of equal length share the
attention products, and nothing is padded; a window's vector depends on its neighbours by float32 rounding only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from arr_sql.index.embedders.e5_weights import E5Weights, Layer, Linear, Norm
from arr_sql.index.embedders.e5_windows import Window
from arr_sql.index.embedders.gelu import gelu_in_place

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import Floats

#: Tokens in a micro-batch. A longer window runs alone.
BATCH_TOKENS = 512


class PlainNumpyEngine:
    """Runs windows through the network, on ``workers`` threads."""

    def __init__(self, weights: E5Weights, workers: int = 1) -> None:
        self._weights = weights
        self._workers = workers

    def window_means(self, windows: Sequence[Window]) -> Floats:
        """The mean over tokens of the last layer, for each window: (len(windows), hidden), not normalised.

        Values that are not finite can only come from damaged weights; they are passed on for the caller to refuse.
        """
        means = np.empty((len(windows), self._weights.shape.hidden), np.float32)
        batches = list(micro_batches([len(window) for window in windows]))

        def run(batch: list[int]) -> None:
            with np.errstate(all="ignore"):
                means[batch] = self._forward([windows[index] for index in batch])

        if self._workers == 1 or len(batches) == 1:
            for batch in batches:
                run(batch)
        else:
            with ThreadPoolExecutor(min(self._workers, len(batches)), "arr-embed") as pool:
                for _ in pool.map(run, batches):
                    pass
        return means

    def _forward(self, windows: Sequence[Window]) -> Floats:
        """Means of one micro-batch whose windows are sorted by length. Rows are the tokens of all windows."""
        weights = self._weights
        rows = weights.words([token for window in windows for token in window])
        rows += np.concatenate([weights.positions[: len(window)] for window in windows])
        normalise(rows, weights.embedding_norm, weights.shape.epsilon)
        runs = list(_equal_runs(windows))
        for layer in weights.layers:
            self._layer(rows, layer, runs)
        return np.concatenate([rows[a:b].reshape(count, -1, rows.shape[1]).mean(axis=1) for a, b, count in runs])

    def _layer(self, rows: Floats, layer: Layer, runs: list[tuple[int, int, int]]) -> None:
        epsilon = self._weights.shape.epsilon
        projected = apply(layer.attend_in, rows)
        mixed = np.empty_like(rows)
        for start, end, count in runs:
            attend(projected[start:end], mixed[start:end], count, self._weights.shape.heads)
        rows += apply(layer.attend_out, mixed)
        normalise(rows, layer.attend_norm, epsilon)
        wide = apply(layer.feed_in, rows)
        gelu_in_place(wide)
        rows += apply(layer.feed_out, wide)
        normalise(rows, layer.feed_norm, epsilon)


def micro_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of windows, shortest first, in groups of at most ``BATCH_TOKENS`` tokens (or one longer window)."""
    batch: list[int] = []
    tokens = 0
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and tokens + lengths[index] > BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(index)
        tokens += lengths[index]
    if batch:
        yield batch


def _equal_runs(windows: Sequence[Window]) -> Iterator[tuple[int, int, int]]:
    """(first row, row after the last, number of windows) of neighbours that have the same length."""
    start = 0
    for length, group in groupby(windows, key=len):
        count = sum(1 for _ in group)
        yield start, start + length * count, count
        start += length * count


def apply(linear: Linear, rows: Floats) -> Floats:
    result: Floats = rows @ linear.weight
    result += linear.bias
    return result


def attend(projected: Floats, out: Floats, count: int, heads: int) -> None:
    """Scaled dot-product attention inside each of ``count`` windows of equal length.

    ``projected`` is (count * length, 3 * hidden): queries, keys, values. ``out`` is (count * length, hidden).
    """
    length, size = projected.shape[0] // count, projected.shape[1] // (3 * heads)
    queries, keys, values = projected.reshape(count, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
    scores = np.matmul(queries * np.float32(1.0 / sqrt(size)), keys.transpose(0, 1, 3, 2))
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    mixed = np.matmul(scores, values)
    mixed /= scores.sum(axis=-1, keepdims=True)
    out.reshape(count, length, heads, size)[...] = mixed.transpose(0, 2, 1, 3)


def normalise(rows: Floats, norm: Norm, epsilon: float) -> None:
    """Layer normalisation (Ba et al. 2016, arXiv:1607.06450) of each row, in place."""
    rows -= rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows) / np.float32(rows.shape[1])
    rows *= (1.0 / np.sqrt(variance + np.float32(epsilon)))[:, np.newaxis]
    rows *= norm.scale
    rows += norm.shift
