"""The forward pass of multilingual-e5-small in NumPy: token windows in, mean token vectors out.

A BERT encoder (Devlin et al. 2018, arXiv:1810.04805) with post-normalisation and exact GELU, pooled by the mean over
tokens (Wang et al. 2024, arXiv:2402.05672). It is what runs where ``e5_int8_engine`` cannot, and what that one is
compared with. It holds no state that changes, so threads may share it and a forked child may use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from arr_sql.index.embedders.e5_weights import E5Weights, Layer, Linear, Norm
from arr_sql.index.embedders.e5_windows import Window, run_each
from arr_sql.index.embedders.gelu import gelu_in_place

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import Floats


class E5Engine:
    """An ``Engine`` on NumPy."""

    def __init__(self, weights: E5Weights) -> None:
        self._weights = weights

    def window_means(self, windows: Sequence[Window]) -> Floats:
        """As ``Engine.window_means``."""
        return run_each(self._forward, windows, self._weights.shape.hidden)

    def _forward(self, window: Window) -> Floats:
        weights = self._weights
        rows = weights.words(list(window)) + weights.positions[: len(window)]
        _normalise(rows, weights.embedding_norm, weights.shape.epsilon)
        for layer in weights.layers:
            self._layer(rows, layer)
        mean: Floats = rows.mean(axis=0)
        return mean

    def _layer(self, rows: Floats, layer: Layer) -> None:
        epsilon = self._weights.shape.epsilon
        mixed = _attend(_apply(layer.attend_in, rows), self._weights.shape.heads)
        rows += _apply(layer.attend_out, mixed)
        _normalise(rows, layer.attend_norm, epsilon)
        wide = _apply(layer.feed_in, rows)
        gelu_in_place(wide)
        rows += _apply(layer.feed_out, wide)
        _normalise(rows, layer.feed_norm, epsilon)


def _apply(linear: Linear, rows: Floats) -> Floats:
    result: Floats = rows @ linear.weight
    result += linear.bias
    return result


def _attend(projected: Floats, heads: int) -> Floats:
    """Scaled dot-product attention. ``projected`` is (length, 3 * hidden): queries, keys, values."""
    length, size = projected.shape[0], projected.shape[1] // (3 * heads)
    queries, keys, values = projected.reshape(length, 3, heads, size).transpose(1, 2, 0, 3)
    scores = np.matmul(queries * np.float32(1.0 / sqrt(size)), keys.transpose(0, 2, 1))
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    mixed = np.matmul(scores, values)
    mixed /= scores.sum(axis=-1, keepdims=True)
    result: Floats = mixed.transpose(1, 0, 2).reshape(length, heads * size)
    return result


def _normalise(rows: Floats, norm: Norm, epsilon: float) -> None:
    """Layer normalisation (Ba et al. 2016, arXiv:1607.06450) of each row, in place."""
    rows -= rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows) / np.float32(rows.shape[1])
    rows *= (1.0 / np.sqrt(variance + np.float32(epsilon)))[:, np.newaxis]
    rows *= norm.scale
    rows += norm.shift
