"""The forward pass of multilingual-e5-small as an ONNX graph with 8-bit matrix products.

Products of 8-bit numbers run two to four times as fast as those of float32. Three things keep the vectors:

- Each row of activations (a token) and each column of weights is scaled by its own largest value, in blocks of
  192 or 384 inputs, so an outlier costs precision in its block only. No scale depends on another token.
- A few channels of the normalised activations are 10 to 20 times as large as the others. They are divided by a constant
  and the weights multiplied by it (Xiao et al. 2023, SmoothQuant, arXiv:2211.10438): s = a^x / w^(1 - x) with a the
  channel's largest activation (``e5_activation_ranges.json``, measured by ``benchmarks/e5_activation_ranges.py``),
  w its largest weight, and x = 0.8 before attention, 0.6 before the feed-forward part.
- GELU is never below -0.17. With 0.17 added it fills the unsigned range, which halves the step; what the addition
  contributes is constant, so it is part of the bias.

Everything else stays float32. ``tests/index/test_e5_int8.py`` compares the vectors with the NumPy engine's.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from arr_sql.errors import ModelError
from arr_sql.index.embedders.onnx_graph import OnnxGraph

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import E5Weights, Floats, Linear, Norm

#: Part of the kept file's name: change it with any change to the graph or to the ranges.
GRAPH_REVISION = 1

INPUT, ZERO_POINTS, OUTPUT = "embedded", "zero_points", "mean"

_SMOOTH_IN, _SMOOTH_FEED = 0.8, 0.6
_STEPS_AN_OCTAVE = 4
_GELU_LOW = np.float32(0.17)
_TINY = np.float32(1e-12)


def build_graph(weights: E5Weights) -> bytes:
    """An ONNX file: (1, n, hidden) summed word, position and type vectors in, (1, hidden) mean token vectors out.

    Its second input is n times 128, the zero of unsigned 8-bit rows.
    """
    return _Builder(weights).build()


def activation_ranges(layers: int, hidden: int) -> Floats:
    """The largest absolute value of each channel before attention and before the feed-forward part.

    Shape (layers, 2, hidden); ones (no smoothing by activations) for a network of another size.
    """
    data = json.loads(files(__package__).joinpath("e5_activation_ranges.json").read_text("utf-8"))
    steps = np.asarray(data["quarter_octaves"], np.float32)
    if steps.ndim != 3 or steps.shape[1] != 2:
        raise ModelError("e5_activation_ranges.json is damaged; reinstall arr_sql.")
    if steps.shape != (layers, 2, hidden):
        return np.ones((layers, 2, hidden), np.float32)
    ranges: Floats = np.exp2(steps / np.float32(_STEPS_AN_OCTAVE)).astype(np.float32)
    return ranges


class _Builder:
    """Builds one graph. Values are (1, n, channels) between the operators."""

    def __init__(self, weights: E5Weights) -> None:
        self._weights = weights
        self._shape = weights.shape
        self._graph = OnnxGraph("multilingual-e5-small, 8-bit products")
        self._last_axis = self._graph.constant(np.asarray([-1], np.int64))
        self._epsilon = self._graph.constant(np.float32(self._shape.epsilon))
        self._tiny = self._graph.constant(_TINY)
        self._one = self._graph.constant(np.float32(1.0))
        self._signed_zero = self._graph.constant(np.uint8(128))
        self._gelu_low = self._graph.constant(_GELU_LOW)

    def build(self) -> bytes:
        graph, shape = self._graph, self._shape
        rows = graph.input(INPUT, "float32", [1, "tokens", shape.hidden])
        graph.input(ZERO_POINTS, "uint8", ["tokens"])
        ranges = activation_ranges(shape.layers, shape.hidden)
        rows = self._normalise(rows, self._weights.embedding_norm)
        for layer, (range_in, range_feed) in zip(self._weights.new_layers(), ranges, strict=True):
            smooth = _smoothing(range_in, layer.attend_in.weight, _SMOOTH_IN)
            projected = self._product(rows, layer.attend_in, 2, smooth)
            parts = graph.nodes("Split", 3, projected, axis=-1, num_outputs=3)
            bias = graph.constant(layer.attend_in.bias)
            mixed = graph.node("MultiHeadAttention", *parts, bias, runtime=True, num_heads=shape.heads)
            mixed = self._add_bias(self._product(mixed, layer.attend_out, 1), layer.attend_out.bias)
            rows = self._normalise(graph.node("Add", rows, mixed), layer.attend_norm)
            smooth = _smoothing(range_feed, layer.feed_in.weight, _SMOOTH_FEED)
            wide = self._product(rows, layer.feed_in, 2, smooth)
            wide = graph.node("BiasGelu", wide, graph.constant(layer.feed_in.bias), runtime=True)
            rows = self._normalise(graph.node("Add", rows, self._feed_out(wide, layer.feed_out)), layer.feed_norm)
        mean = graph.node("ReduceMean", rows, graph.constant(np.asarray([1], np.int64)), keepdims=0)
        graph.output(mean, OUTPUT, "float32", [1, shape.hidden])
        return graph.to_bytes()

    def _product(self, rows: str, linear: Linear, blocks: int, smooth: Floats | None = None) -> str:
        """``rows @ linear.weight`` without the bias; rows are scaled to -127..127 about the zero 128."""
        graph, weight = self._graph, linear.weight
        if smooth is not None:
            rows = graph.node("Mul", rows, graph.constant(1 / smooth))
            weight = weight * smooth[:, np.newaxis]
        sums = []
        for part, some in zip(self._blocks(rows, blocks), np.split(weight, blocks), strict=True):
            largest = graph.node("ReduceMax", graph.node("Abs", part), self._last_axis, keepdims=1)
            sums.append(self._block_product(part, some, largest, 127, ZERO_POINTS, self._signed_zero))
        return self._sum(sums)

    def _feed_out(self, wide: str, linear: Linear) -> str:
        """The second product of the feed-forward part with its bias; its rows are GELU's, scaled to 0..255."""
        graph = self._graph
        blocks = max(1, wide_blocks) if (wide_blocks := self._shape.feed_forward // self._shape.hidden) else 1
        blocks = blocks if self._shape.feed_forward % blocks == 0 else 1
        sums, low = [], np.zeros_like(linear.bias)
        raised = graph.node("Add", wide, self._gelu_low)
        for part, some in zip(self._blocks(raised, blocks), np.split(linear.weight, blocks), strict=True):
            largest = graph.node("ReduceMax", part, self._last_axis, keepdims=1)
            sums.append(self._block_product(part, some, largest, 255, "", ""))
            numbers, scales = quantise_columns(some)
            low += _GELU_LOW * (numbers.astype(np.float32) * scales).sum(axis=0)
        return self._add_bias(self._sum(sums), linear.bias - low)

    def _block_product(self, rows: str, weight: Floats, largest: str, steps: int, zeros: str, zero: str) -> str:
        graph = self._graph
        scale = graph.node("Mul", largest, graph.constant(np.float32(1 / steps)))
        scale = graph.node("Max", scale, self._tiny)
        flat = graph.node("Reshape", scale, self._last_axis)
        quantised = graph.node("QuantizeLinear", rows, flat, *([zeros] if zeros else []), axis=1)
        numbers, scales = quantise_columns(weight)
        inputs = [quantised, graph.constant(numbers), self._one, graph.constant(scales), *([zero] if zero else [])]
        return graph.node("Mul", graph.node("MatMulIntegerToFloat", *inputs, runtime=True), scale)

    def _blocks(self, rows: str, count: int) -> list[str]:
        return self._graph.nodes("Split", count, rows, axis=-1, num_outputs=count) if count > 1 else [rows]

    def _sum(self, values: list[str]) -> str:
        total = values[0]
        for value in values[1:]:
            total = self._graph.node("Add", total, value)
        return total

    def _add_bias(self, rows: str, bias: Floats) -> str:
        return self._graph.node("Add", rows, self._graph.constant(bias))

    def _normalise(self, rows: str, norm: Norm) -> str:
        """Layer normalisation in eight plain operators: a third of the time of the runtime's single one."""
        graph = self._graph
        centred = graph.node("Sub", rows, graph.node("ReduceMean", rows, self._last_axis, keepdims=1))
        variance = graph.node("ReduceMean", graph.node("Mul", centred, centred), self._last_axis, keepdims=1)
        deviation = graph.node("Sqrt", graph.node("Add", variance, self._epsilon))
        scaled = graph.node("Mul", graph.node("Div", centred, deviation), graph.constant(norm.scale))
        return graph.node("Add", scaled, graph.constant(norm.shift))


def quantise_columns(weight: Floats) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int8]], Floats]:
    """Whole numbers from -127 to 127 and a scale for each column of (inputs, outputs); their product is the weight."""
    scales: Floats = (np.abs(weight).max(axis=0) / np.float32(127)).astype(np.float32)
    scales = np.maximum(scales, _TINY)
    return np.rint(weight / scales).astype(np.int8), scales


def _smoothing(ranges: Floats, weight: Floats, exponent: float) -> Floats:
    """What each input channel is divided by: a^x / w^(1 - x)."""
    largest = np.maximum(np.abs(weight).max(axis=1), _TINY)
    smooth: Floats = (ranges**exponent / largest ** (1 - exponent)).astype(np.float32)
    return smooth
