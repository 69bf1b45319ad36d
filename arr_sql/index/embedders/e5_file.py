"""Reads ``e5-small-q4.bin``: multilingual-e5-small with 4-bit weights, its vocabulary and its normaliser.

The file is mapped read-only and never trusted: its SHA-256 is compared before a byte is parsed, and every
count and offset is checked against the bytes that are there, so a damaged file gives a ModelError and never
a crash. ``tests/index/test_e5_file.py`` flips and cuts bytes with the hash check switched off.

Layout, little-endian (lengths in bytes; ``n`` pieces)::

    "E5S1"  u32 version
    i32 hidden, layers, heads, feed-forward, vocabulary, positions, types;  f32 epsilon;  i32 block
    i32 n, bos, eos, pad, unk;  u64 blob length;  u32 offsets[n+1];  f32 scores[n];  blob (UTF-8 pieces)
    i32 entries, u32 length;  each entry: u32 code point, u8 k, u32[k] replacement
    i32 tensors;  each: u16 name length, name, u8 kind (0 float32, 1 Q4_0), u32 values, u64 offset, u64 length

A Q4_0 block holds 32 weights in 18 bytes: a float16 scale and 16 bytes whose low nibbles are weights 0-15 and
high nibbles 16-31; a weight is (nibble - 8) * scale.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from arr_sql.errors import ModelError
from arr_sql.index.embedders.byte_reader import ByteReader

E5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
E5_SIZE = 71_622_400

FLOAT32, Q4 = 0, 1
BLOCK = 32
BLOCK_BYTES = 18

_LARGEST_FILE = 1 << 30
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Shape:
    """The network's sizes, in values (not bytes)."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True)
class Vocabulary:
    """The tokenizer's pieces as raw bytes: piece i is ``blob[offsets[i]:offsets[i+1]]``, UTF-8."""

    count: int
    bos: int
    eos: int
    pad: int
    unk: int
    offsets: memoryview = field(repr=False)
    scores: memoryview = field(repr=False)
    blob: memoryview = field(repr=False)


@dataclass(frozen=True)
class Tensor:
    """One named array: ``kind`` FLOAT32 or Q4, ``count`` values, and its bytes inside the mapped file."""

    kind: int
    count: int
    data: memoryview = field(repr=False)


@dataclass(frozen=True)
class E5File:
    """The parsed file. Its views keep the mapping open."""

    path: Path
    sha256: str
    shape: Shape
    vocabulary: Vocabulary
    replacements: dict[int, str] = field(repr=False)
    tensors: dict[str, Tensor] = field(repr=False)

    def tensor(self, name: str, kind: int, count: int) -> memoryview:
        """The bytes of tensor ``name``. Raises ModelError unless it is there with this kind and count."""
        found = self.tensors.get(name)
        if found is None:
            raise ModelError(f"Model file '{self.path}' is damaged: tensor '{name}' is missing.")
        if found.kind != kind or found.count != count:
            raise ModelError(
                f"Model file '{self.path}' is damaged: tensor '{name}' has kind {found.kind} and {found.count} values,"
                f" expected kind {kind} and {count}."
            )
        return found.data


def open_e5_file(path: Path, expected_sha256: str | None = E5_SHA256) -> E5File:
    """Check and parse the model file at ``path``. ``expected_sha256`` None skips the hash check (tests).

    Raises ModelError when the file is missing, is not a regular file, has another hash, or is damaged.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelError(f"Model file '{path}' is not a regular file.")
        with path.open("rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            if not 8 <= size <= _LARGEST_FILE:
                raise ModelError(f"Model file '{path}' is damaged: {size} bytes is no size for it.")
            digest = ""
            if expected_sha256 is not None:
                digest = sha256_of(handle)
                if digest != expected_sha256:
                    raise ModelError(
                        f"Model file '{path}' has SHA-256 {digest}, expected {expected_sha256}."
                        " It is damaged or another version; it was not read. Run `arr model install FILE.whl` again."
                    )
            mapped = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ModelError(f"Model file '{path}' cannot be read: {error.strerror or error}.") from error
    return parse_e5(memoryview(mapped), path, digest)


def sha256_of(handle: BinaryIO) -> str:
    """Hex SHA-256 of an open file, read in pieces: reading through the mapping would keep 72 MB resident."""
    digest = hashlib.sha256()
    handle.seek(0)
    while chunk := handle.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def parse_e5(data: memoryview, path: Path, sha256: str = "") -> E5File:
    """Parse the bytes of a model file; ``path`` is for messages. Raises ModelError where they make no sense."""
    reader = ByteReader(data, str(path))
    if bytes(reader.take(4, "magic")) != b"E5S1":
        raise reader.damaged("it does not start with E5S1")
    version = reader.u32("version")
    if version != 1:
        raise reader.damaged(f"version {version} is unknown")
    shape = _read_shape(reader)
    vocabulary = _read_vocabulary(reader, shape)
    replacements = _read_replacements(reader)
    return E5File(path, sha256, shape, vocabulary, replacements, _read_tensors(reader))


def _read_shape(reader: ByteReader) -> Shape:
    hidden = reader.i32("hidden size", 32, 4096)
    layers = reader.i32("layer count", 1, 64)
    heads = reader.i32("head count", 1, 64)
    feed_forward = reader.i32("feed-forward size", 32, 16384)
    vocabulary = reader.i32("vocabulary size", 4, 1 << 20)
    positions = reader.i32("position count", 8, 8192)
    types = reader.i32("type count", 1, 16)
    epsilon = reader.f32("epsilon")
    block = reader.i32("block size", BLOCK, BLOCK)
    if hidden % block or feed_forward % block or hidden % heads:
        raise reader.damaged(f"sizes {hidden}, {feed_forward} and {heads} heads do not divide")
    if not (math.isfinite(epsilon) and 0.0 < epsilon < 1e-2):
        raise reader.damaged("epsilon is out of range")
    return Shape(hidden, layers, heads, feed_forward, vocabulary, positions, types, epsilon)


def _read_vocabulary(reader: ByteReader, shape: Shape) -> Vocabulary:
    count = reader.i32("piece count", 4, shape.vocabulary)
    bos, eos, pad, unk = (reader.i32(f"{name} token", 0, count - 1) for name in ("bos", "eos", "pad", "unk"))
    length = reader.u64("piece bytes")
    offsets = reader.take(4 * (count + 1), "piece offsets")
    scores = reader.take(4 * count, "piece scores")
    return Vocabulary(count, bos, eos, pad, unk, offsets, scores, reader.take(length, "pieces"))


def _read_replacements(reader: ByteReader) -> dict[int, str]:
    """Code point to replacement text, ready for ``str.translate``."""
    entries = reader.i32("normaliser entries", 0, 0x110000)
    end = reader.u32("normaliser bytes") + reader.position
    replacements: dict[int, str] = {}
    for _ in range(entries):
        source = reader.code_point("normaliser entry")
        length = reader.u8("normaliser entry length")
        replacements[source] = "".join(chr(reader.code_point("normaliser entry")) for _ in range(length))
    if reader.position != end:
        raise reader.damaged("the normaliser does not end where it says")
    return replacements


def _read_tensors(reader: ByteReader) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for _ in range(reader.i32("tensor count", 0, 4096)):
        name = bytes(reader.take(reader.u16("tensor name length"), "tensor name")).decode("ascii", "replace")
        kind = reader.u8("tensor kind")
        count = reader.u32("tensor values")
        offset = reader.u64("tensor offset")
        length = reader.u64("tensor bytes")
        if kind not in (FLOAT32, Q4) or (kind == Q4 and count % BLOCK):
            raise reader.damaged(f"tensor '{name}' has kind {kind} and {count} values")
        if length != (4 * count if kind == FLOAT32 else count // BLOCK * BLOCK_BYTES):
            raise reader.damaged(f"tensor '{name}' has {length} bytes for {count} values of kind {kind}")
        if name in tensors:
            raise reader.damaged(f"tensor '{name}' is there twice")
        tensors[name] = Tensor(kind, count, reader.slice(offset, length, f"tensor '{name}'"))
    return tensors
