"""Writes an ONNX model as bytes, without the ``onnx`` package: nodes, constants, one input after another.

ONNX files are protocol buffers. A message is a row of fields; a field is a key (number << 3 | wire type) and a value:
a varint (wire type 0), a float of 4 bytes (5), or counted bytes (2). The field numbers below are those of ``onnx.proto``
(https://github.com/onnx/onnx/blob/main/onnx/onnx.proto). ``tests/index/test_onnx_graph.py`` runs what is written here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KINDS = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}
_FLOAT, _INT = 1, 2
_IR_VERSION, _OPSET = 8, 18

#: The operators that ONNX Runtime adds to the standard ones.
RUNTIME_DOMAIN = "com.microsoft"


class OnnxGraph:
    """A graph under construction. ``node`` returns the names of its outputs, which are inputs of later nodes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parts: list[bytes] = []
        self._names = 0

    def constant(self, value: NDArray[Any] | np.generic) -> str:
        """The name of an array of float32, uint8, int8 or int64 that is part of the file."""
        array = np.asarray(value)
        name = self._new_name("c")
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        tensor = b"".join(_number(1, size) for size in array.shape) + _number(2, _KINDS[array.dtype.name])
        self._parts.append(_counted(5, tensor + _counted(8, name) + _counted(9, little.tobytes())))
        return name

    def input(self, name: str, kind: str, axes: Sequence[int | str]) -> str:
        """Declare an input; an axis is a size, or a name where any size may be given."""
        self._parts.append(_counted(11, _declared(name, kind, axes)))
        return name

    def output(self, value: str, name: str, kind: str, axes: Sequence[int | str]) -> None:
        """Declare that ``value`` leaves the graph as ``name``."""
        self._parts.append(_counted(1, _counted(1, value) + _counted(2, name) + _counted(4, "Identity")))
        self._parts.append(_counted(12, _declared(name, kind, axes)))

    def node(self, operator: str, *inputs: str, runtime: bool = False, **attributes: int | float) -> str:
        """One output of ``operator`` (``runtime``: one of ONNX Runtime's own). An empty name is an input left out."""
        return self.nodes(operator, 1, *inputs, runtime=runtime, **attributes)[0]

    def nodes(
        self, operator: str, count: int, *inputs: str, runtime: bool = False, **attributes: int | float
    ) -> list[str]:
        """As ``node``, for an operator with ``count`` outputs."""
        outputs = [self._new_name("v") for _ in range(count)]
        body = b"".join(_counted(1, name) for name in inputs) + b"".join(_counted(2, name) for name in outputs)
        body += _counted(4, operator)
        body += b"".join(_counted(5, _attribute(name, value)) for name, value in attributes.items())
        self._parts.append(_counted(1, body + (_counted(7, RUNTIME_DOMAIN) if runtime else b"")))
        return outputs

    def to_bytes(self) -> bytes:
        """The file."""
        graph = b"".join(self._parts) + _counted(2, self._name)
        sets = _counted(8, _counted(1, "") + _number(2, _OPSET)) + _counted(
            8, _counted(1, RUNTIME_DOMAIN) + _number(2, 1)
        )
        return _number(1, _IR_VERSION) + _counted(2, "arr_sql") + _counted(7, graph) + sets

    def _new_name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"


def _declared(name: str, kind: str, axes: Sequence[int | str]) -> bytes:
    """A ValueInfoProto."""
    sizes = b"".join(_counted(1, _counted(2, axis) if isinstance(axis, str) else _number(1, axis)) for axis in axes)
    return _counted(1, name) + _counted(2, _counted(1, _number(1, _KINDS[kind]) + _counted(2, sizes)))


def _attribute(name: str, value: int | float) -> bytes:
    if isinstance(value, float):
        return _counted(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _FLOAT)
    return _counted(1, name) + _number(3, value) + _number(20, _INT)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _counted(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Seven bits a byte, lowest first; negative numbers as 64 bits in two's complement."""
    value &= (1 << 64) - 1
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)
