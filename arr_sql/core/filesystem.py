"""Is a folder on a network file system? There SQLite's WAL mode does not work between hosts (sqlite.org/wal.html).

``mounts`` is the text of ``/proc/self/mounts``; tests hand in one of their own (tests/core/test_connection.py).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

NETWORK_KINDS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "9p",
        "fuse.sshfs",
        "beegfs",
        "gpfs",
    }
)


KEEP_FOLDER_TIMES = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "reiserfs", "tmpfs", "xfs", "zfs"}
)
"""File systems of Linux whose folders change their time with each name that comes or goes. FAT does not keep it, network
disks may be late, and elsewhere nothing tells which one it is: there, folders are listed each time."""

RACY_NS = 2_000_000_000
"""The coarsest clock of a file system (FAT): within it a file can change twice and keep its time."""


def follow_link(path: Path) -> Path:
    """The file itself, where ``path`` is a link to it: SQLite keeps its log, and this program its locks, beside that one."""
    return path.resolve() if path.is_symlink() else path


def filesystem_kind(folder: Path, mounts: str | None = None) -> str:
    """The file system's name (``ext4``, ``nfs4``, ...), or ``unknown`` where the system does not tell."""
    if mounts is None:
        if not sys.platform.startswith("linux"):
            return "unc" if str(folder).startswith("\\\\") else "unknown"
        try:
            mounts = Path("/proc/self/mounts").read_text("utf-8", "replace")
        except OSError:
            return "unknown"
    target = folder.resolve()
    best, kind = -1, "unknown"
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount_point = Path(_unescaped(fields[1]))
        # >=: of two mounts on one folder the later one hides the earlier
        if (mount_point == target or mount_point in target.parents) and len(mount_point.parts) >= best:
            best, kind = len(mount_point.parts), fields[2]
    return kind


def keeps_folder_times(folder: Path) -> bool:
    """Does a folder's time surely change with each name that comes or goes?"""
    return sys.platform == "linux" and filesystem_kind(folder) in KEEP_FOLDER_TIMES


def _unescaped(field: str) -> str:
    r"""The kernel writes space, tab, newline and backslash as three octal digits: ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)


def is_network_folder(folder: Path, mounts: str | None = None) -> bool:
    """True when ``folder`` is known to be on a network file system."""
    kind = filesystem_kind(folder, mounts)
    return kind in NETWORK_KINDS or kind == "unc"
