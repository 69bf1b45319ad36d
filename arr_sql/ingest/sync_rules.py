"""What a sync decides about one file, apart from its doing: is it settled, is it a rename, does it keep its last version."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass
from typing import Any

from arr_sql.core.filesystem import RACY_NS
from arr_sql.core.rooted import FileRead
from arr_sql.ingest.prepare import NotTaken, Prepared
from arr_sql.ingest.readers import reader_for
from arr_sql.ingest.roots import RootRow
from arr_sql.ingest.source_store import Writing
from arr_sql.ingest.sync_state import SyncJob

# A file refused for one of these may be back in a moment: its last version stays.
TRANSIENT = frozenset({"changed_while_reading", "permission_denied", "unreadable"})

Change = tuple[Callable[[Writing], None], int]
"""How to write one file's change, and how many bytes of the file it stands for."""


@dataclass
class Content:
    """A file whose content is new, as it was read; ``future`` is its preparation where another process has it."""

    rel: str
    read: FileRead
    read_at: int
    known: Any
    data_hash: str
    git_state: str | None
    future: Future[Prepared | NotTaken] | None = None

    @property
    def size(self) -> int:
        return len(self.read.data)


def is_ready(future: Future[Prepared | NotTaken] | None) -> bool:
    """Is there nothing to wait for?"""
    return future is None or future.done()


def waited_for(future: Future[Prepared | NotTaken]) -> Prepared | NotTaken:
    """The result; Ctrl-C is noticed while waiting, on Windows too."""
    while True:
        try:
            return future.result(timeout=0.5)
        except StillRunning:
            if future.done():
                raise


def is_text(rel: str) -> bool:
    """Can the name be stored? (A name that is not UTF-8 on disk can't.)"""
    try:
        rel.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_kept(path: str, job: SyncJob) -> bool:
    """A known file below a folder, or itself, that could not be looked at just now keeps its last version."""
    return any(
        reason in TRANSIENT and (path == left or (left.endswith("/") and path.startswith(left)))
        for left, (reason, _, _) in job.left.items()
        if reason in TRANSIENT
    )


def nested_paths(root: RootRow, others: list[RootRow]) -> list[str]:
    """What of this root belongs to another root inside it."""
    mine = root.path.resolve()
    inside: list[str] = []
    for other in others:
        path = other.path.resolve()
        if other.only_file is not None and (path == mine or mine in path.parents):
            inside.append((path / other.only_file).relative_to(mine).as_posix())
        elif other.only_file is None and mine in path.parents:
            inside.append(path.relative_to(mine).as_posix() + "/")
    return inside


def is_settled(known: Any) -> bool:
    """Was the file's last change long enough before it was read that another one would show in its time?"""
    return bool(known["mtime_ns"] < known["read_at_ns"] - RACY_NS)


def reader_changed(known: Any) -> bool:
    reader = reader_for(known["path_in_root"])
    return reader is not None and (reader.name, reader.version) != (known["reader"], known["reader_version"])


def renamed_from(job: SyncJob, data_hash: str, rel: str) -> Any:
    """The file that is gone and held these bytes; the one with the same file name first."""
    same = [
        row for row in job.gone.values()
        if row["content_hash"] == data_hash and format(row["path_in_root"]) == format(rel)
        and not reader_changed(row)
    ]  # fmt: skip
    if not same:
        return None
    name = rel.rpartition("/")[2]
    row = min(same, key=lambda item: (item["path_in_root"].rpartition("/")[2] != name, item["path_in_root"]))
    del job.gone[row["path_in_root"]]
    return row


def format(path: str) -> str:
    """What a reader may take from a name: its ending, or all of it. Under another one the text would be cut otherwise."""
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def git_state(job: SyncJob, rel: str, data: bytes) -> str | None:
    if job.git is None or job.index is None:
        return None
    path = (job.root.path.resolve() / rel).relative_to(job.git.top).as_posix()
    return job.index.state(path, data)
