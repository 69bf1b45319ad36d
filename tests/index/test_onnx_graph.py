"""The ONNX writer: ONNX Runtime reads what it writes, and numbers have the bytes that protocol buffers prescribe."""

# ruff: noqa: E402  (what needs NumPy is imported after the skip)
from __future__ import annotations

import pytest

np = pytest.importorskip("numpy", reason="the writer needs NumPy (extra `local`)")
pytest.importorskip("onnxruntime", reason="what it writes is run by ONNX Runtime (extra `local`)")

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_int8_engine import open_session
from arr_sql.index.embedders.onnx_graph import OnnxGraph


def test_a_graph_computes_what_it_says() -> None:
    """Two inputs, constants of each kind, an attribute of each kind, an operator with two outputs, one left out."""
    graph = OnnxGraph("small")
    rows = graph.input("rows", "float32", [1, "n", 4])
    left, right = graph.nodes("Split", 2, rows, axis=-1, num_outputs=2)
    summed = graph.node("Add", left, graph.node("Mul", right, graph.constant(np.float32(10))))
    leaky = graph.node("LeakyRelu", summed, alpha=0.5)
    clipped = graph.node("Clip", leaky, "", graph.constant(np.float32(40)))
    total = graph.node("ReduceSum", clipped, graph.constant(np.asarray([-1], np.int64)), keepdims=0)
    graph.output(total, "total", "float32", [1, "n"])

    (result,) = open_session(graph.to_bytes()).run(
        None, {"rows": np.asarray([[[1, 2, 3, 4], [-1, -2, -3, -4]]], np.float32)}
    )

    assert result.tolist() == [[31.0 + 40.0, -15.5 - 21.0]]


def test_whole_numbers_multiply_exactly() -> None:
    """Constants of 8 bits, signed and not, and an operator of ONNX Runtime's own."""
    graph = OnnxGraph("whole")
    rows = graph.input("rows", "uint8", ["n", 2])
    weight, zero = graph.constant(np.asarray([[1, -2], [3, 4]], np.int8)), graph.constant(np.uint8(128))
    one, scales = graph.constant(np.float32(1)), graph.constant(np.asarray([1, 0.5], np.float32))
    graph.output(
        graph.node("MatMulIntegerToFloat", rows, weight, one, scales, zero, runtime=True), "y", "float32", ["n", 2]
    )

    (result,) = open_session(graph.to_bytes()).run(None, {"rows": np.asarray([[129, 126], [128, 128]], np.uint8)})

    assert result.tolist() == [[1 - 6, 0.5 * (-2 - 8)], [0.0, 0.0]]


def test_what_is_no_model_is_refused() -> None:
    """A ModelError, not the runtime's own."""
    with pytest.raises(ModelError, match="cannot open"):
        open_session(b"no model")
