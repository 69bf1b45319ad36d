"""One step below an open folder: look at a name, open it, enter it, list them. No step follows a link.

:class:`DescriptorFolder` works through directory descriptors (``openat``), which nobody can redirect by renaming.
:class:`PathFolder` does the same steps by path for Windows, which has no ``dir_fd`` and no ``O_NOFOLLOW``: ``lstat``
first, and the resolved path must be the path itself. It is the one place that differs between systems.

The rules of what may be read are in ``core/rooted.py``; nothing else uses this module.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple, Protocol, get_args

RefusalCode = Literal[
    "symlink",
    "special_file",
    "outside_root",
    "sensitive_name",
    "too_large",
    "vanished",
    "permission_denied",
    "changed_while_reading",
    "not_a_file",
    "unreadable",
]
REFUSAL_CODES: tuple[str, ...] = get_args(RefusalCode)

EntryKind = Literal["file", "folder", "symlink", "special", "vanished", "denied"]

WINDOWS = sys.platform == "win32"
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_OPEN_FILE = (
    os.O_RDONLY
    | _NOFOLLOW
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO that replaces the file in the meantime must not hang us
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOINHERIT", 0)
)
OPEN_FOLDER = _OPEN_FILE | getattr(os, "O_DIRECTORY", 0)
HAS_DESCRIPTORS = bool(
    _NOFOLLOW and os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and os.scandir in os.supports_fd
)
_LINK_TAGS = (0xA000000C, 0xA0000003)  # Windows: symbolic link, mount point (junction); other tags are plain files


class Entry(NamedTuple):
    """One name in a folder. The numbers are 0 for anything but a file.

    ``ctime_ns`` is the time of the last change to content, name or mode (on Windows: when it was made); no program can
    set it back, as it can ``mtime_ns``.
    """

    name: str
    kind: EntryKind
    size: int
    mtime_ns: int
    ctime_ns: int = 0
    inode: int = 0


FileStat = tuple[int, int, int, int]
"""What tells a file's state without reading it: size, mtime_ns, ctime_ns, inode."""


class FolderStamp(NamedTuple):
    """Which folder this is and when a name in it last came, went or changed its mode."""

    device: int
    inode: int
    mtime_ns: int
    ctime_ns: int


class Stop(Exception):
    """Carries a refusal up to the public method of ``Root``, which turns it into a value."""

    def __init__(self, code: RefusalCode, detail: str) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail


class Folder(Protocol):
    def lstat(self, name: str) -> os.stat_result: ...
    def open_file(self, name: str) -> int: ...
    def enter(self, name: str) -> Folder: ...
    def scan(self) -> list[Entry]: ...
    def stamp(self) -> FolderStamp: ...
    def look_again(
        self, rel: str, stamp: FolderStamp, names: Iterable[str], known: Sequence[FileStat]
    ) -> list[FileStat] | None: ...
    def close(self) -> None: ...


class DescriptorFolder:
    """An open directory descriptor. Renaming or replacing the path afterwards cannot redirect it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def lstat(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self._fd, follow_symlinks=False)

    def open_file(self, name: str) -> int:
        return os.open(name, _OPEN_FILE, dir_fd=self._fd)

    def enter(self, name: str) -> DescriptorFolder:
        return DescriptorFolder(os.open(name, OPEN_FOLDER, dir_fd=self._fd))

    def scan(self) -> list[Entry]:
        with os.scandir(self._fd) as entries:
            return [_entry(entry.name, entry) for entry in entries]

    def stamp(self) -> FolderStamp:
        return _stamp(os.fstat(self._fd))

    def look_again(
        self, rel: str, stamp: FolderStamp, names: Iterable[str], known: Sequence[FileStat]
    ) -> list[FileStat] | None:
        # One step instead of one for each part of the path: it may follow a link on the way, and then the stamp differs.
        try:
            fd = os.open(rel or ".", OPEN_FOLDER, dir_fd=self._fd)
        except OSError:
            return None
        look = os.lstat
        try:
            if _folder_stat(os.fstat(fd)) != stamp:
                return None
            stats: list[FileStat] = [_file_stat(look(name, dir_fd=fd)) for name in names]
            # The inode of a file is no folder's or link's while its change time is the same: only the others are in doubt.
            if stats != known and not all(stat.S_ISREG(look(name, dir_fd=fd).st_mode) for name in names):
                return None
        except OSError:
            return None
        finally:
            os.close(fd)
        return stats

    def close(self) -> None:
        os.close(self._fd)


class PathFolder:
    """The same steps where the system has no ``openat``: ``lstat`` first, and the resolved path must not move."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _inside(self, name: str) -> str:
        path = f"{self._path.rstrip(os.sep)}{os.sep}{name}"
        if is_link(os.lstat(path)):
            raise Stop("symlink", "is a link, and links are not followed")
        if os.path.normcase(os.path.realpath(path)) != os.path.normcase(path):
            raise Stop("symlink", "is reached through a link or under another name")
        return path

    def lstat(self, name: str) -> os.stat_result:
        return os.lstat(f"{self._path.rstrip(os.sep)}{os.sep}{name}")

    def open_file(self, name: str) -> int:
        return os.open(self._inside(name), _OPEN_FILE)

    def enter(self, name: str) -> PathFolder:
        path = self._inside(name)
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return PathFolder(path)

    def scan(self) -> list[Entry]:
        with os.scandir(self._path) as entries:
            return [_entry(entry.name, entry) for entry in entries]

    def stamp(self) -> FolderStamp:
        return _stamp(os.lstat(self._path))

    def look_again(
        self, rel: str, stamp: FolderStamp, names: Iterable[str], known: Sequence[FileStat]
    ) -> list[FileStat] | None:
        return None  # FAT does not keep the time of a folder, and nothing tells which file system this is

    def close(self) -> None:
        pass


_file_stat: Callable[[os.stat_result], FileStat] = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")
_folder_stat: Callable[[os.stat_result], FileStat] = attrgetter("st_dev", "st_ino", "st_mtime_ns", "st_ctime_ns")
"""The fields of a FolderStamp."""


def _stamp(found: os.stat_result) -> FolderStamp:
    return FolderStamp(*_folder_stat(found))


def is_link(found: os.stat_result) -> bool:
    return stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) in _LINK_TAGS


def _entry(name: str, entry: os.DirEntry[str]) -> Entry:
    """Classify one directory entry; a file costs one ``lstat``, everything else none where the system says its type."""
    try:
        if entry.is_symlink():
            return Entry(name, "symlink", 0, 0)
        if WINDOWS:
            # The directory's own copy of size and time lags behind on Windows, and junctions hide behind is_dir().
            found = os.lstat(entry.path)
            if is_link(found):
                return Entry(name, "symlink", 0, 0)
        if entry.is_dir(follow_symlinks=False):
            return Entry(name, "folder", 0, 0)
        if not WINDOWS:
            found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return Entry(name, "vanished", 0, 0)
    except OSError:
        return Entry(name, "denied", 0, 0)
    if stat.S_ISREG(found.st_mode):
        return Entry(name, "file", found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
    return Entry(name, "folder" if stat.S_ISDIR(found.st_mode) else "special", 0, 0)


def stop_for(error: OSError) -> Stop:
    """The refusal that an operating system error stands for."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG | errno.ESTALE:
            return Stop("vanished", "there is no such file")
        case errno.EACCES | errno.EPERM:
            return Stop("permission_denied", "may not be read by this user")
        case errno.ELOOP:
            return Stop("symlink", "is a link, and links are not followed")
        case errno.ENXIO | errno.EOPNOTSUPP:
            return Stop("special_file", "is a pipe, socket or device")
        case errno.EISDIR:
            return Stop("not_a_file", "is a folder")
        case number:
            return Stop("unreadable", f"the system refused: {errno.errorcode.get(number or 0, 'unknown error')}")
