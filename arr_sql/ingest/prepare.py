"""From the bytes of a file to everything a transaction will write: decoded, withheld, cut, analysed. Pure and slow,
so it runs before the write transaction begins (and nothing that fails here has touched the store).

Credentials are withheld from text before a reader sees it. A format that is not text (PDF, notebook) is read first and
its pieces are cleaned afterwards, line by line and as one text, so that a key which spans pieces goes as a whole.
Whatever a reader answers, only text that SQLite can hold leaves here; a reader that raises costs only its file.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from arr_sql.core.canonical import sha256_bytes, sha256_text
from arr_sql.core.decode import Undecodable, decode
from arr_sql.core.redaction import redact, withhold_lines
from arr_sql.index.embedders.protocol import embed_text
from arr_sql.index.text_index import ChunkTerms, chunk_terms_of
from arr_sql.ingest.chunker import Chunk, chunk
from arr_sql.ingest.readers import (
    BytesReader,
    GrammarReader,
    PasswordReader,
    Piece,
    Reader,
    ReadResult,
    Unreadable,
    reader_for,
)


class PreparedChunk(NamedTuple):
    """One chunk, its hashes and its terms. A tuple, as it comes from another process: quick to pack and unpack."""

    chunk: Chunk
    content_hash: str
    embed_hash: str
    terms: ChunkTerms


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
    read_at_ns: int = field(default_factory=time.time_ns)


@dataclass(frozen=True)
class NotTaken:
    """A file that is left out, with a reason of the closed set in docs/sources.md. ``detail`` may say more."""

    reason: str
    detail: str = ""


@dataclass(frozen=True)
class _Read:
    """What one reader made of one file, cleaned."""

    result: ReadResult
    encoding: str
    confidence: float
    withheld: int


def prepare(path: str, data: bytes, mtime_ns: int, *, passwords: Sequence[str] = ()) -> Prepared | NotTaken:
    """Decode, withhold credentials, read, cut and analyse one file. ``path`` is only used for its name.

    ``passwords`` are tried where a file is encrypted; they are kept nowhere.
    """
    reader = reader_for(path)
    if reader is None:
        return NotTaken("unknown_format")
    if reader.reads_bytes and isinstance(reader, BytesReader):
        if passwords and isinstance(reader, PasswordReader):
            reader = reader.with_passwords(passwords)
        read = _read_bytes(reader, data, path)
    else:
        read = _read_text(reader, data, path)
    if isinstance(read, NotTaken):
        return read
    result = read.result
    return Prepared(
        path=path, data_hash=sha256_bytes(data), size=len(data), mtime_ns=mtime_ns, reader=reader.name,
        reader_version=reader.version, encoding=read.encoding, confidence=read.confidence, title=result.title,
        language=result.language, metadata=result.metadata, warnings=result.warnings,
        lines_withheld=read.withheld, chunks=tuple(_prepared(item) for item in chunk(result)),
    )  # fmt: skip


def _read_text(reader: Reader, data: bytes, path: str) -> _Read | NotTaken:
    decoded = decode(data)
    if isinstance(decoded, Undecodable):
        return NotTaken(decoded.code, decoded.detail)
    clean = withhold_lines(decoded.text)
    if clean.count and isinstance(reader, GrammarReader):
        result = _checked(reader, lambda: reader.read_withheld(clean.text, decoded.text, path))
    else:
        result = _checked(reader, lambda: reader.read(clean.text, path))
    if isinstance(result, NotTaken):
        return result
    if clean.count and result.warnings:  # of what is wrong with the file itself, not with the words for a withheld line
        plain = _checked(reader, lambda: reader.read(decoded.text, path))
        same = plain.warnings if isinstance(plain, ReadResult) else ()
        result = replace(result, warnings=tuple(warning for warning in result.warnings if warning in same))
    warnings = (*decoded.warnings, *result.warnings)
    return _Read(replace(result, warnings=warnings), decoded.encoding, decoded.confidence, clean.count)


def _read_bytes(reader: BytesReader, data: bytes, path: str) -> _Read | NotTaken:
    result = _checked(reader, lambda: reader.read_bytes(data, path))
    if isinstance(result, NotTaken):
        return result
    clean = withhold_lines("\n".join(piece.text for piece in result.pieces))
    lines = clean.text.split("\n")
    pieces: list[Piece] = []
    at = 0
    for piece in result.pieces:
        height = piece.text.count("\n") + 1
        pieces.append(
            replace(
                piece, text="\n".join(lines[at : at + height]), heading=redact(piece.heading), name=redact(piece.name)
            )
        )
        at += height
    metadata = _redacted(result.metadata)
    return _Read(
        replace(result, pieces=tuple(pieces), title=redact(result.title), metadata=metadata), "bytes", 1.0, clean.count
    )


def _checked(reader: Reader, read: Callable[[], ReadResult | Unreadable]) -> ReadResult | NotTaken:
    """The reader's answer with nothing in it that can't be stored, or why there is none."""
    try:
        result = read()
    except Exception as error:  # noqa: BLE001 - may be foreign code; whatever it raises costs only this file
        return NotTaken("reader_failed", f"{reader.name}: {type(error).__name__}")
    if isinstance(result, Unreadable):
        return NotTaken(result.code, result.detail)
    if not isinstance(result, ReadResult) or not all(map(_is_sound, result.pieces)):
        return NotTaken("reader_failed", f"{reader.name}: the answer is no ReadResult with whole, numbered lines")
    try:
        metadata = _plain(result.metadata)
    except (TypeError, RecursionError):
        return NotTaken("reader_failed", f"{reader.name}: the metadata is no JSON")
    return ReadResult(
        tuple(map(_stored_piece, result.pieces)),
        _stored(result.title),
        _stored(result.language),
        metadata,
        tuple(map(_stored, result.warnings)),
    )


# A surrogate can't be written as UTF-8; SQL functions stop at a NUL.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def _stored(text: str) -> str:
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return text if _UNSTORABLE.search(text) is None else _UNSTORABLE.sub("\ufffd", text)


def _stored_piece(piece: Piece) -> Piece:
    before = (piece.text, piece.heading, piece.name, piece.locator, piece.kind)
    text, heading, name, locator, kind = after = tuple(map(_stored, before))
    if before == after:
        return piece
    return replace(piece, text=text, heading=heading, name=name, locator=locator, kind=kind)


def _is_sound(piece: Piece) -> bool:
    return isinstance(piece, Piece) and 1 <= piece.start_line <= piece.end_line


def _plain(value: Any) -> Any:
    """``value`` as JSON that can be stored. Raises TypeError for anything that is no JSON."""
    if isinstance(value, str):
        return _stored(value)
    if isinstance(value, Mapping):
        return {_stored(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise TypeError(type(value).__name__)


def _redacted(value: Any) -> Any:
    """``value`` without credentials in its texts."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redacted(item) for key, item in value.items()}
    return [_redacted(item) for item in value] if isinstance(value, list) else value


def _prepared(item: Chunk) -> PreparedChunk:
    return PreparedChunk(
        chunk=item,
        content_hash=sha256_text(item.text),
        embed_hash=sha256_text(embed_text(item.heading, item.text)),
        terms=chunk_terms_of(item.heading, item.text),
    )
