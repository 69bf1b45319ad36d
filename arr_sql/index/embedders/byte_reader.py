"""A cursor over bytes that are not trusted: each read is checked against what is there."""

from __future__ import annotations

import struct

from arr_sql.errors import ModelError


class ByteReader:
    """Reads little-endian values from ``data``; ``name`` says in messages what is being read.

    Every method raises ModelError instead of reading outside ``data`` or outside the range asked for.
    """

    def __init__(self, data: memoryview, name: str) -> None:
        self._data = data
        self._name = name
        self.position = 0

    def damaged(self, what: str) -> ModelError:
        """The error to raise; ``what`` says what is wrong."""
        return ModelError(
            f"Model file '{self._name}' is damaged: {what}. Install it again: `arr model install FILE.whl`."
        )

    def slice(self, offset: int, length: int, what: str) -> memoryview:
        """``length`` bytes at ``offset``, without moving."""
        if offset < 0 or length < 0 or offset + length > len(self._data):
            raise self.damaged(f"{what} would need bytes {offset} to {offset + length} of {len(self._data)}")
        return self._data[offset : offset + length]

    def take(self, length: int, what: str) -> memoryview:
        """The next ``length`` bytes."""
        taken = self.slice(self.position, length, what)
        self.position += length
        return taken

    def u8(self, what: str) -> int:
        return self.take(1, what)[0]

    def u16(self, what: str) -> int:
        return int.from_bytes(self.take(2, what), "little")

    def u32(self, what: str) -> int:
        return int.from_bytes(self.take(4, what), "little")

    def u64(self, what: str) -> int:
        return int.from_bytes(self.take(8, what), "little")

    def i32(self, what: str, least: int, most: int) -> int:
        """A signed value from ``least`` to ``most``."""
        value = int.from_bytes(self.take(4, what), "little", signed=True)
        if not least <= value <= most:
            raise self.damaged(f"{what} is {value}, not between {least} and {most}")
        return value

    def f32(self, what: str) -> float:
        return float(struct.unpack("<f", self.take(4, what))[0])

    def code_point(self, what: str) -> int:
        """A Unicode scalar value: no surrogate, nothing beyond U+10FFFF."""
        value = self.u32(what)
        if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
            raise self.damaged(f"{what} has {value:#x}, which is no character")
        return value
