"""From the bytes of a file to everything a transaction will write: decoded, withheld, cut, analysed. Pure and slow,
so it runs before the write transaction begins (and nothing that fails here has touched the store).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arr_sql.core.canonical import sha256_bytes, sha256_text
from arr_sql.core.redaction import withhold_lines
from arr_sql.index.text_index import Terms, terms_of
from arr_sql.index.vector_index import embed_text
from arr_sql.ingest.chunker import Chunk, chunk
from arr_sql.core.decode import Undecodable, decode
from arr_sql.ingest.readers import BytesReader, reader_for


@dataclass(frozen=True)
class PreparedChunk:
    """One chunk, its hashes and its terms."""

    chunk: Chunk
    content_hash: str
    embed_hash: str
    terms: Terms


@dataclass(frozen=True)
class Prepared:
    """A file ready to be stored."""

    path: str
    data_hash: str
    size: int
    mtime_ns: int
    reader: str
    reader_version: str
    encoding: str
    confidence: float
    title: str
    language: str
    metadata: Mapping[str, Any]
    warnings: tuple[str, ...]
    lines_withheld: int
    chunks: tuple[PreparedChunk, ...]


@dataclass(frozen=True)
class NotTaken:
    """A file that is left out, with a reason of the closed set in docs/sources.md."""

    reason: str


def prepare(path: str, data: bytes, mtime_ns: int) -> Prepared | NotTaken:
    """Decode, withhold credentials, read, cut and analyse one file. ``path`` is only used for its name."""
    reader = reader_for(path)
    if reader is None:
        return NotTaken("unknown_format")
    withheld, encoding, confidence = 0, "bytes", 1.0
    warnings: tuple[str, ...] = ()
    if isinstance(reader, BytesReader) and reader.reads_bytes:
        result = reader.read_bytes(data, path)
    else:
        decoded = decode(data)
        if isinstance(decoded, Undecodable):
            return NotTaken(decoded.code)
        clean = withhold_lines(decoded.text)
        withheld, encoding, confidence, warnings = clean.count, decoded.encoding, decoded.confidence, decoded.warnings
        result = reader.read(clean.text, path)
    return Prepared(
        path=path, data_hash=sha256_bytes(data), size=len(data), mtime_ns=mtime_ns, reader=reader.name,
        reader_version=reader.version, encoding=encoding, confidence=confidence, title=result.title,
        language=result.language, metadata=result.metadata, warnings=(*warnings, *result.warnings),
        lines_withheld=withheld, chunks=tuple(_prepared(item) for item in chunk(result)),
    )  # fmt: skip


def _prepared(item: Chunk) -> PreparedChunk:
    return PreparedChunk(
        chunk=item,
        content_hash=sha256_text(item.text),
        embed_hash=sha256_text(embed_text(item.heading, item.text)),
        terms=terms_of(item.heading, item.text),
    )
