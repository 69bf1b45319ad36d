"""Git's index file: which blob each tracked path should hold. Read, never refreshed; format in git's index-format docs.

Comparing a file's own blob hash with it tells ``clean``, ``modified`` or ``untracked`` without running git (whose
``status`` may run commands that a hostile repository's configuration names). A file checked out with converted line
ends counts as modified, which errs on the careful side.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Literal

from arr_sql.core.git_identity import GitIdentity

GitState = Literal["clean", "modified", "untracked"]
_MAX_INDEX_BYTES = 256 << 20


class GitIndex:
    """Tracked paths (relative to the work tree, with ``/``) and their blob ids."""

    def __init__(self, blobs: dict[bytes, bytes]) -> None:
        self._blobs = blobs

    def state(self, path: str, data: bytes) -> GitState:
        """How ``data`` compares with what the index holds for ``path``."""
        blob = self._blobs.get(path.encode("utf-8", "surrogateescape"))
        if blob is None:
            return "untracked"
        algorithm = hashlib.sha1 if len(blob) == 20 else hashlib.sha256
        return "clean" if algorithm(b"blob %d\0" % len(data) + data).digest() == blob else "modified"


def read_git_index(git: GitIdentity) -> GitIndex | None:
    """The index of a work tree; None when there is none or it is of a form this reader does not know."""
    git_dir = git.top / ".git"
    try:
        if git_dir.is_file():
            git_dir = (git.top / git_dir.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
        index = git_dir / "index"
        if not index.is_file() or index.stat().st_size > _MAX_INDEX_BYTES:
            return None
        return GitIndex(_parse(index.read_bytes()))
    except (OSError, ValueError, struct.error, IndexError):
        return None


def _parse(data: bytes) -> dict[bytes, bytes]:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("unknown index format")
    for id_size in (20, 32):  # SHA-1 repositories first, then SHA-256
        try:
            return _entries(data, version, count, id_size)
        except (ValueError, struct.error, IndexError):
            if id_size == 32:
                raise
    raise ValueError("unknown index format")


def _entries(data: bytes, version: int, count: int, id_size: int) -> dict[bytes, bytes]:
    blobs: dict[bytes, bytes] = {}
    at, previous = 12, b""
    for _ in range(count):
        start = at
        blob = data[at + 40 : at + 40 + id_size]
        (flags,) = struct.unpack_from(">H", data, at + 40 + id_size)
        at += 42 + id_size
        if flags & 0x4000:  # extended flags
            at += 2
        if version == 4:
            strip = data[at] & 0x7F
            while data[at] & 0x80:
                at += 1
                strip = ((strip + 1) << 7) | (data[at] & 0x7F)
            at += 1
            end = data.index(b"\0", at)
            name = previous[: len(previous) - strip] + data[at:end]
            at = end + 1
        else:
            end = data.index(b"\0", at)
            name = data[at:end]
            if flags & 0xFFF != min(len(name), 0xFFF):
                raise ValueError("path length mismatch")
            at = start + ((end - start) // 8 + 1) * 8
        previous = name
        if not flags & 0x3000:  # merge stages have no single truth
            blobs[name] = blob
    return blobs
