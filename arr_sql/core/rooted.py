"""A trusted folder, and the only way files below it are opened.

Promise: whatever a path, a link, a race or a special file tries, nothing outside the folder is read, nothing
blocks, and nothing raises. A file comes back whole and unchanged, or a :class:`Refused` value says why it did not.

How: the folder is opened once and every step below it goes through that descriptor (``openat``), one component at
a time, never through a link. A file is looked at (``lstat``), opened without following and without blocking, looked
at again (``fstat``) and must be the same; after the read its size and times must not have moved. Comparing path
*strings* is how a neighbour called ``kb-private`` slips past ``kb`` (CWE-22), so strings are never compared.

How Windows differs is in ``core/folder_access.py`` alone; the tests run both ways on every system.

Held by ``tests/core/test_rooted.py``.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from arr_sql.core.folder_access import (
    HAS_DESCRIPTORS,
    OPEN_FOLDER,
    REFUSAL_CODES,
    WINDOWS,
    DescriptorFolder,
    Entry,
    EntryKind,
    FileStat,
    Folder,
    FolderStamp,
    PathFolder,
    RefusalCode,
    Stop,
    is_link,
    stop_for,
)
from arr_sql.core.redaction import is_sensitive_folder, is_sensitive_name
from arr_sql.errors import PathRefused, StateError

__all__ = [
    "REFUSAL_CODES", "Entry", "EntryKind", "FileInfo", "FileRead", "FileStat", "FolderStamp", "Listing", "RefusalCode",
    "Refused", "Root",
]  # fmt: skip

ATTEMPTS = 3  # one read and two more when the file changes under it

_DEVICE_NAMES = frozenset(
    ("con", "prn", "aux", "nul", "conin$", "conout$", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
)


@dataclass(frozen=True, slots=True)
class FileRead:
    """One whole file: its bytes and the size and modification time they belong to."""

    rel: str
    data: bytes
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What is known of a regular file without reading it."""

    rel: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The names in a folder, sorted, and the folder's stamp from before they were listed."""

    stamp: FolderStamp
    entries: list[Entry]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a path below the root was not read. ``detail`` never names anything outside the root."""

    rel: str
    code: RefusalCode
    detail: str


def _parts(rel: str) -> list[str]:
    """The components of ``rel``. Raises ``Stop`` for anything that could name a place outside the root."""
    outside = Stop("outside_root", "is outside the trusted folders")
    if "\0" in rel or rel.startswith("/") or (WINDOWS and ("\\" in rel or ":" in rel)):
        raise outside
    parts = [part for part in rel.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise outside
    if WINDOWS and any(part.split(".")[0].rstrip(" ").lower() in _DEVICE_NAMES for part in parts):
        raise Stop("special_file", "is the name of a device")
    return parts


class Root:
    """A trusted folder, held open. Use as a context manager or call :meth:`close`.

    The parent of ``path`` is resolved (a symlinked parent is fine); the folder itself must not be a link, so that
    what is trusted is what was named. Raises :class:`~arr_sql.errors.PathRefused` when there is no such folder.
    ``by_descriptor=False`` selects the Windows way on any system.
    """

    def __init__(self, path: str | os.PathLike[str], *, by_descriptor: bool = HAS_DESCRIPTORS) -> None:
        given = os.fspath(path)
        self._folder: Folder | None = None
        try:
            self.path = _resolve_parent(given)
            found = os.lstat(self.path)
            if is_link(found):
                target = os.path.realpath(self.path)
                raise PathRefused(f"'{given}' is a symbolic link. Name the folder it points to: {target}")
            if not stat.S_ISDIR(found.st_mode):
                raise PathRefused(f"'{given}' is not a folder. Name a folder to trust.")
            if by_descriptor:
                fd = os.open(self.path, OPEN_FOLDER)
                self._folder = DescriptorFolder(fd)
                self._identity = os.fstat(fd)
            else:
                os.scandir(self.path).close()
                self._folder = PathFolder(os.path.realpath(self.path))
                self._identity = self.path.stat()
        except (OSError, ValueError) as error:
            if isinstance(error, PathRefused):
                raise
            reason = stop_for(error).detail if isinstance(error, OSError) else "the name is not valid"
            raise PathRefused(f"Cannot open the folder '{given}': {reason}.") from error

    def __repr__(self) -> str:
        return f"Root({str(self.path)!r})"

    def __enter__(self) -> Root:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Give the descriptor back. Closing twice is harmless."""
        folder, self._folder = getattr(self, "_folder", None), None
        if folder is not None:
            folder.close()

    def locate(self, path: str | os.PathLike[str]) -> str | Refused:
        """Turn a path as a person types it (absolute, or relative to the working folder) into a ``rel`` of this root.

        The first ancestor that *is* this folder (same device and inode) decides, so a sibling with the same first
        letters, another spelling of the case, or a way round through ``..`` is never taken for it. Everything
        outside gets one and the same answer, whether it exists or not.
        """
        given = os.fspath(path)
        outside = Refused(given, "outside_root", "is outside the trusted folders")
        if "\0" in given:
            return outside
        whole = Path(Path.cwd(), given)  # not resolved: a link below the root must stay visible as a link
        for count in range(1, len(whole.parts) + 1):
            if not self._is_me(Path(*whole.parts[:count])):
                continue
            rest: list[str] = []
            for part in whole.parts[count:]:
                if part != "..":
                    rest.append(part)
                elif rest:
                    rest.pop()
                else:
                    break
            else:
                return "/".join(rest)
        return outside

    def _is_me(self, path: Path) -> bool:
        try:
            return os.path.samestat(path.stat(), self._identity)
        except (OSError, ValueError):
            return False

    @contextmanager
    def _parent(self, parts: list[str]) -> Iterator[Folder]:
        """Open the folder ``parts`` step by step. Raises ``Stop``."""
        if self._folder is None:
            raise StateError("This Root is closed. Open the folder again.")
        current = self._folder
        try:
            for part in parts:
                try:
                    below = current.enter(part)
                except OSError as error:
                    raise self._why_not(current, part, error) from None
                if current is not self._folder:
                    current.close()
                current = below
            yield current
        finally:
            if current is not self._folder:
                current.close()

    @staticmethod
    def _why_not(folder: Folder, name: str, error: OSError) -> Stop:
        """Systems disagree on the error for a link or pipe in place of a folder, so look at what is there."""
        if error.errno not in (errno.ENOTDIR, errno.ELOOP, getattr(errno, "EMLINK", -1)):
            return stop_for(error)
        try:
            found = folder.lstat(name)
        except OSError as second:
            return stop_for(second)
        if is_link(found):
            return Stop("symlink", "is reached through a link, and links are not followed")
        if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
            return Stop("vanished", "there is no such file")
        return Stop("special_file", "is a pipe, socket or device")

    def scan(self, rel: str = "") -> list[Entry] | Refused:
        """The names in the folder ``rel``, sorted, each with its kind. Sensitive names are listed like any other."""
        listing = self.list_folder(rel)
        return listing if isinstance(listing, Refused) else listing.entries

    def list_folder(self, rel: str = "") -> Listing | Refused:
        """As :meth:`scan`, with the folder's stamp."""
        try:
            with self._parent(_parts(rel)) as folder:
                return Listing(folder.stamp(), sorted(folder.scan()))
        except Stop as stop:
            return Refused(rel, stop.code, stop.detail)
        except OSError as error:
            why = stop_for(error)
            return Refused(rel, why.code, why.detail)

    def look_again(
        self, rel: str, stamp: FolderStamp, names: Sequence[str], known: Sequence[FileStat] = ()
    ) -> list[FileStat] | None:
        """What is known of the files ``names`` in a folder that was listed before; ``known`` is what was known then.

        None when the folder's stamp is another one now, or one of them is no file: then it has to be listed. Nothing is
        read here: that goes through :meth:`read_file`, step by step.
        """
        if self._folder is None:
            raise StateError("This Root is closed. Open the folder again.")
        if "\0" in rel or rel[:1] == "/" or (".." in rel and "/../" in f"/{rel}/"):
            return None
        return self._folder.look_again(rel, stamp, names, known)

    def look(self, rel: str) -> FileInfo | Refused:
        """Size and modification time of a regular file, under the same rules as :meth:`read_file`."""
        try:
            parts = self._allowed(rel)
            with self._parent(parts[:-1]) as folder:
                found = self._regular(folder, parts[-1])
                return FileInfo(rel, found.st_size, found.st_mtime_ns)
        except Stop as stop:
            return Refused(rel, stop.code, stop.detail)

    def read_file(self, rel: str, limit: int) -> FileRead | Refused:
        """Read the whole file ``rel`` (``/`` between components), at most ``limit`` bytes. Never raises for a path."""
        code: RefusalCode = "changed_while_reading"
        detail = f"kept changing while it was read ({ATTEMPTS} attempts)"
        for _ in range(ATTEMPTS):
            try:
                return self._read_once(rel, self._allowed(rel), limit)
            except Stop as stop:
                if stop.code != code:
                    return Refused(rel, stop.code, stop.detail)
        return Refused(rel, code, detail)

    @staticmethod
    def _allowed(rel: str) -> list[str]:
        parts = _parts(rel)
        if not parts:
            raise Stop("not_a_file", "is a folder")
        if is_sensitive_name("/".join(parts[-2:])) or any(is_sensitive_folder(part) for part in parts[:-1]):
            raise Stop("sensitive_name", "has a name that usually holds credentials, so it is not opened")
        return parts

    @staticmethod
    def _regular(folder: Folder, name: str) -> os.stat_result:
        try:
            found = folder.lstat(name)
        except (OSError, ValueError) as error:
            raise (stop_for(error) if isinstance(error, OSError) else Stop("vanished", "no such file")) from None
        if is_link(found):
            raise Stop("symlink", "is a link, and links are not followed")
        if stat.S_ISDIR(found.st_mode):
            raise Stop("not_a_file", "is a folder")
        if not stat.S_ISREG(found.st_mode):
            raise Stop("special_file", "is a pipe, socket or device")
        return found

    def _read_once(self, rel: str, parts: list[str], limit: int) -> FileRead:
        with self._parent(parts[:-1]) as folder:
            expected = self._regular(folder, parts[-1])
            if expected.st_size > limit:
                raise Stop("too_large", f"has {expected.st_size} bytes, the limit is {limit}")
            try:
                fd = folder.open_file(parts[-1])
            except OSError as error:
                raise stop_for(error) from None
        try:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode) or not _same_file(expected, before):
                raise Stop("changed_while_reading", "was replaced")
            if before.st_size > limit:
                raise Stop("too_large", f"has {before.st_size} bytes, the limit is {limit}")
            pieces: list[bytes] = []
            left = before.st_size + 1  # one byte more than there should be tells that it grows
            while left > 0 and (piece := os.read(fd, left)):
                pieces.append(piece)
                left -= len(piece)
            after = os.fstat(fd)
        except OSError as error:
            raise stop_for(error) from None
        finally:
            os.close(fd)
        data = b"".join(pieces)
        if (len(data), before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or before.st_size != after.st_size:
            raise Stop("changed_while_reading", "changed")
        return FileRead(rel, data, after.st_size, after.st_mtime_ns)


def _same_file(one: os.stat_result, two: os.stat_result) -> bool:
    # Windows reports the device differently by path and by handle in some versions; the file index is enough there.
    return one.st_ino == two.st_ino and (WINDOWS or one.st_dev == two.st_dev)


def _resolve_parent(given: str) -> Path:
    """``given`` with its parent resolved. A last component of ``.`` or ``..`` names a folder only once resolved."""
    trimmed = given.rstrip("/" + os.sep) or given
    head, name = os.path.split(trimmed)
    if name in ("", ".", ".."):
        return Path(os.path.realpath(given))
    return Path(os.path.realpath(head or os.curdir), name)
