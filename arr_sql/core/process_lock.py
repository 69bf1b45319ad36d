"""One lock across processes, on a file beside the database, for SQLite libraries that need writers kept apart.

The system releases it when the process dies, so a killed writer blocks nobody.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from arr_sql.errors import StoreBusy

SYNC_LOCK = "-sync-lock"
"""What a database's name ends in for the lock that one sync at a time holds."""


@contextlib.contextmanager
def process_lock(path: Path, timeout: float) -> Iterator[int]:
    """Hold the lock file ``path`` for the block, which gets its descriptor. Raises StoreBusy after ``timeout`` seconds.

    A child process that inherits the descriptor keeps the lock when this process is killed (not on Windows).
    """
    begun = time.monotonic()
    with path.open("a+b") as handle:
        while not _try_lock(handle.fileno()):
            waited = time.monotonic() - begun
            if waited > timeout:
                raise StoreBusy(
                    f"Another process is writing and kept '{path}' for more than {timeout:.0f} s. Try again."
                )
            time.sleep(pause_before_asking_again(waited))
        try:
            yield handle.fileno()
        finally:
            _unlock(handle.fileno())


def pause_before_asking_again(waited: float) -> float:
    """Seconds until the next try for a lock. Who has waited longest asks most often, so that newcomers don't pass."""
    return max(0.0005, 0.004 / (1 + 10 * waited))


if sys.platform == "win32":
    import msvcrt

    def _try_lock(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)
