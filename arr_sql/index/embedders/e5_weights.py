"""The arrays of an ``E5File``: float32 for the layers (85 MB, made when first asked for), 4 bits in the mapped file for the word table.

All arrays are read-only, so that threads can share them. Layout of the tensors: ``e5_file``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_file import BLOCK, BLOCK_BYTES, FLOAT32, Q4, E5File

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    Bytes: TypeAlias = NDArray[np.uint8]

_ZERO_POINT = np.int8(8)


@dataclass(frozen=True)
class Linear:
    """y = x @ weight + bias; weight (inputs, outputs), bias (outputs,), float32.

    The file has (outputs, inputs); turned round once at loading, a query of 20 tokens takes a third less time.
    """

    weight: Floats
    bias: Floats


@dataclass(frozen=True)
class Norm:
    """Layer normalisation over the last axis; scale and shift (hidden,), float32."""

    scale: Floats
    shift: Floats


@dataclass(frozen=True)
class Layer:
    """One transformer layer. ``attend_in`` is queries, keys and values side by side: (hidden, 3 * hidden)."""

    attend_in: Linear
    attend_out: Linear
    attend_norm: Norm
    feed_in: Linear
    feed_out: Linear
    feed_norm: Norm


class E5Weights:
    """The network's arrays. Raises ModelError when a tensor is missing or has another shape."""

    def __init__(self, file: E5File) -> None:
        self._file = file
        self.shape = file.shape
        self.file_sha256 = file.sha256
        hidden = self.shape.hidden
        # Position and token type (always type 0) are added to every word vector, so they are summed once.
        positions = self._floats("emb.pos", self.shape.positions * hidden).reshape(-1, hidden)
        types = self._floats("emb.type", self.shape.types * hidden).reshape(-1, hidden)
        self.positions: Floats = positions + types[0]
        self.embedding_norm = self._norm("emb.ln")
        self._words: Bytes = self._blocks("emb.word", self.shape.vocabulary, hidden)

    @cached_property
    def layers(self) -> list[Layer]:
        """The layers as float32, made on first use. Raises ModelError when one is damaged."""
        return self.new_layers()

    def new_layers(self) -> list[Layer]:
        """As ``layers``, for one who keeps something else made of them."""
        return [self._layer(index) for index in range(self.shape.layers)]

    def words(self, ids: list[int]) -> Floats:
        """Word vectors of ``ids``: (len(ids), hidden), from the 4-bit table."""
        rows = self._words[np.asarray(ids, dtype=np.intp)]
        return dequantise(rows).reshape(len(ids), self.shape.hidden)

    def _layer(self, index: int) -> Layer:
        hidden, wide, name = self.shape.hidden, self.shape.feed_forward, f"l{index}."
        queries_keys_values = [self._linear(name + part, hidden, hidden) for part in "qkv"]
        stacked = Linear(
            np.concatenate([part.weight for part in queries_keys_values], axis=1),
            np.concatenate([part.bias for part in queries_keys_values]),
        )
        return Layer(
            attend_in=stacked,
            attend_out=self._linear(name + "ao", hidden, hidden),
            attend_norm=self._norm(name + "aln"),
            feed_in=self._linear(name + "fi", wide, hidden),
            feed_out=self._linear(name + "fo", hidden, wide),
            feed_norm=self._norm(name + "oln"),
        )

    def _linear(self, name: str, outputs: int, inputs: int) -> Linear:
        blocks = self._blocks(name + ".w", outputs, inputs)
        weight = np.ascontiguousarray(dequantise(blocks).reshape(outputs, inputs).T)
        return Linear(weight, self._floats(name + ".b", outputs))

    def _norm(self, name: str) -> Norm:
        return Norm(self._floats(name + ".w", self.shape.hidden), self._floats(name + ".b", self.shape.hidden))

    def _floats(self, name: str, count: int) -> Floats:
        values = np.frombuffer(self._file.tensor(name, FLOAT32, count), "<f4").astype(np.float32)
        if not bool(np.isfinite(values).all()):
            raise ModelError(f"Model file '{self._file.path}' is damaged: '{name}' has a value that is not finite.")
        return values

    def _blocks(self, name: str, rows: int, columns: int) -> Bytes:
        """The raw blocks of a Q4 tensor: (rows, columns // 32, 18)."""
        data = self._file.tensor(name, Q4, rows * columns)
        return np.frombuffer(data, np.uint8).reshape(rows, columns // BLOCK, BLOCK_BYTES)


def block_scales(blocks: Bytes) -> Floats:
    """The scale of each Q4_0 block: (..., 18) to (...,)."""
    return np.ascontiguousarray(blocks[..., :2]).view("<f2")[..., 0].astype(np.float32)


def dequantise(blocks: Bytes) -> Floats:
    """Q4_0 blocks (..., 18) to float32 weights (..., 32): (nibble - 8) * scale, low nibbles first."""
    scales = block_scales(blocks)[..., np.newaxis]
    nibbles = blocks[..., 2:]
    weights = np.empty((*blocks.shape[:-1], 2, 16), np.float32)
    # A damaged scale may be infinite: the vectors are then NaN, which is refused, and nothing should warn before.
    with np.errstate(all="ignore"):
        np.multiply((nibbles & 15).view(np.int8) - _ZERO_POINT, scales, out=weights[..., 0, :])
        np.multiply((nibbles >> 4).view(np.int8) - _ZERO_POINT, scales, out=weights[..., 1, :])
    return weights
