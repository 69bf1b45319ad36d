"""Writes a small ONNX model as bytes, without the ``onnx`` package.

ONNX files are protocol buffers; these few messages and field numbers are from the public ``onnx.proto`` (IR version 8):
a field is a key (number * 8 + wire type) and a varint (wire type 0), four bytes (5) or counted bytes (2).
``tests/index/test_e5_onnx_embedder.py`` runs what this writes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

IR_VERSION = 8
OPSET = 17
CONTRIB = "com.microsoft"

Attribute: TypeAlias = int | float | Sequence[int]
Axes: TypeAlias = Sequence[int | str]
"""Sizes of a value's axes; a name means any size."""

_TENSOR_TYPES = {"float32": 1, "uint8": 2, "int64": 7}


class OnnxGraph:
    """Collects nodes and constants, then gives the model's bytes."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []

    def input(self, name: str, axes: Axes, kind: str = "float32") -> str:
        """Declare an input; gives back its name."""
        self._inputs.append(_value_info(name, axes, kind))
        return name

    def output(self, name: str, axes: Axes, kind: str = "float32") -> None:
        """Declare that the value ``name`` is an output."""
        self._outputs.append(_value_info(name, axes, kind))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Add a constant array (float32, uint8 or int64); gives back its name."""
        little = values.astype(values.dtype.newbyteorder("<"), copy=False)
        tensor = b"".join(_number(1, size) for size in values.shape)
        tensor += _number(2, _TENSOR_TYPES[values.dtype.name]) + _text(8, name) + _bytes(9, little.tobytes())
        self._constants.append(tensor)
        return name

    def node(self, kind: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: Attribute) -> str:
        """Add an operator with one output; gives back the output's name. An empty input name is one left out."""
        node = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(3, output) + _text(4, kind)
        node += b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
        self._nodes.append(node + (_text(7, domain) if domain else b""))
        return output

    def to_bytes(self) -> bytes:
        """The model."""
        graph = [_bytes(1, node) for node in self._nodes]
        graph.append(_text(2, "arr_sql"))
        graph += [_bytes(5, constant) for constant in self._constants]
        graph += [_bytes(11, entry) for entry in self._inputs]
        graph += [_bytes(12, entry) for entry in self._outputs]
        opsets = [_text(1, "") + _number(2, OPSET), _text(1, CONTRIB) + _number(2, 1)]
        head = _number(1, IR_VERSION) + _text(2, "arr_sql") + b"".join(_bytes(8, opset) for opset in opsets)
        return head + _bytes(7, b"".join(graph))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    if isinstance(value, float):
        return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _number(20, 1)
    return _text(1, name) + b"".join(_number(8, item) for item in value) + _number(20, 7)


def _value_info(name: str, axes: Axes, kind: str) -> bytes:
    sizes = (_text(2, axis) if isinstance(axis, str) else _number(1, axis) for axis in axes)
    shape = b"".join(_bytes(1, size) for size in sizes)
    tensor = _number(1, _TENSOR_TYPES[kind]) + _bytes(2, shape)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode("utf-8"))


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Seven bits a byte, lowest first, the top bit set on all but the last; negative values in two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
