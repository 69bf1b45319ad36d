"""Is a folder on a network file system? There SQLite's WAL mode does not work between hosts (sqlite.org/wal.html)."""

from __future__ import annotations

import sys
from pathlib import Path

NETWORK_KINDS = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "9p", "fuse.sshfs", "beegfs", "gpfs"}
)


def filesystem_kind(folder: Path) -> str:
    """The file system's name (``ext4``, ``nfs4``, ...), or ``unknown`` where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return "unc" if str(folder).startswith("\\\\") else "unknown"
    try:
        mounts = Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return "unknown"
    target = folder.resolve()
    best, kind = -1, "unknown"
    for line in mounts:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount_point = Path(fields[1].replace("\\040", " "))
        if (mount_point == target or mount_point in target.parents) and len(mount_point.parts) > best:
            best, kind = len(mount_point.parts), fields[2]
    return kind


def is_network_folder(folder: Path) -> bool:
    """True when ``folder`` is known to be on a network file system."""
    kind = filesystem_kind(folder)
    return kind in NETWORK_KINDS or kind == "unc"
