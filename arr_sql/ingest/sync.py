"""Bring a scope's sources up to date with the disk: what is new, edited, renamed, gone, and what is left out and why.

Reading and analysing happen outside transactions, writing in batches of whole files; so a kill at any instant loses
at most the batch that was not yet acknowledged, no file is ever half present, and the next run goes on from there.
A file whose size and time are unchanged is not read; one that can't be read just now keeps its last version.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from arr_sql.core.canonical import sha256_bytes
from arr_sql.core.clock import utc_now
from arr_sql.core.connection import Connection, write_transaction
from arr_sql.core.git_identity import read_git_identity
from arr_sql.core.git_index import read_git_index
from arr_sql.core.pages import page_cache
from arr_sql.core.process_lock import SYNC_LOCK, process_lock
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.rooted import Refused, Root
from arr_sql.core.settings import CONFIG_NAME
from arr_sql.core.statements import load
from arr_sql.core.walk import Found, LeftOut, walk
from arr_sql.errors import PathRefused
from arr_sql.index.text_index import IndexDrift, note_current, rebuild_text_index
from arr_sql.ingest.prepare import NotTaken, Prepared, prepare
from arr_sql.ingest.readers import is_worth_retrying, reader_for
from arr_sql.ingest.reading_pool import ReadingPool, worker_count
from arr_sql.ingest.roots import RootRow, is_other_branch
from arr_sql.ingest.source_store import Writing, add_file, change_file, finish, note_stat, remove_file, rename_file
from arr_sql.ingest.sync_rules import (
    TRANSIENT,
    Change,
    Content,
    git_state,
    is_kept,
    is_ready,
    is_settled,
    is_text,
    nested_paths,
    reader_changed,
    renamed_from,
    waited_for,
)
from arr_sql.ingest.sync_state import SyncJob, SyncSummary
from arr_sql.ingest.tidying import merging_later, tidy
from arr_sql.memory.row_vouching import vouch_for_left_out
from arr_sql.memory.scope_store import advance, read_scope

BATCH_FILES = 500
BATCH_BYTES = 4 << 20
BATCH_SECONDS = 2.0
AHEAD_FILES = 256
AHEAD_BYTES = 8 << 20
"""How far other processes read ahead of the writing: this bounds the memory of a sync, whatever the folder's size."""
CACHE_BYTES = 32 << 20
"""Of the database's pages: more than a batch of the longest texts changes, index included."""
OWN_FILES = frozenset({CONFIG_NAME, ".arrignore"})
WAIT_SECONDS = 600.0

Progress = Callable[[str, int, int], None]
"""Called with a phase (``walk``, ``read``), how many are done and how many there are (0 while unknown)."""


class Syncer:
    """Syncs roots of one scope over one writer connection."""

    def __init__(
        self, connection: Connection, database: Path, scope: ScopeKey, actor: str, *,
        max_file_bytes: int, progress: Progress = lambda phase, done, total: None,
        clock: Callable[[], datetime] = utc_now, passwords: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """``passwords`` are tried on encrypted files and kept nowhere."""
        self._passwords = passwords
        self._connection, self._database, self._scope, self._actor = connection, database, scope, actor
        self._max_file_bytes, self._progress, self._clock = max_file_bytes, progress, clock
        self.summary = SyncSummary()

    def sync(self, roots: list[RootRow], known: list[RootRow]) -> SyncSummary:
        """Sync each of ``roots`` in turn; ``known`` are all roots of the scope (one inside another keeps its files).

        A root that is not there keeps its sources and is named in the summary. Another sync of the same file is waited
        for: what is known of the disk is read before it is written, and must not change in between.
        """
        lock = process_lock(self._database.with_name(self._database.name + SYNC_LOCK), WAIT_SECONDS)
        with lock, page_cache(self._connection, CACHE_BYTES):
            summary = self._sync_all(roots, known)
            tidy(self._connection, self._database, summary.chunks_added)
            return summary

    def _sync_all(self, roots: list[RootRow], known: list[RootRow]) -> SyncSummary:
        for root in roots:
            if is_other_branch(root, self._scope):
                self.summary.roots_other_branch.append(str(root.path))
                continue
            try:
                opened = Root(root.path)
            except PathRefused:
                self.summary.roots_missing.append(str(root.path))
                continue
            with opened:
                self._sync_root(opened, root, [other for other in known if other.id != root.id])
        return self.summary

    # --- one root -----------------------------------------------------------------------------------------------

    def _sync_root(self, opened: Root, root: RootRow, others: list[RootRow]) -> None:
        job = self._job(root)
        found = self._walk(opened, root, others, job)
        seen = {item.rel for item in found}
        job.gone = {
            path: row for path, row in job.known.items()
            if path not in seen and (job.is_complete or path in job.left) and not is_kept(path, job)
        }  # fmt: skip
        self._take(opened, job, found)
        self._finish(job)

    def _job(self, root: RootRow) -> SyncJob:
        row = read_scope(self._connection, self._scope)
        assert row is not None, "a root belongs to an open scope"
        ids = {"scope_id": row.id, "root_id": root.id}
        known = {item["path_in_root"]: item for item in self._connection.execute(load("read_live_sources"), ids)}
        left = {
            item["path_in_root"]: (item["reason"], item["size"], item["mtime_ns"])
            for item in self._connection.execute(load("read_left_out"), ids)
        }
        git = read_git_identity(root.path)
        return SyncJob(root, git, read_git_index(git) if git else None, known, left)

    def _walk(self, opened: Root, root: RootRow, others: list[RootRow], job: SyncJob) -> list[Found]:
        if root.only_file is not None:
            info = opened.look(root.only_file)
            if isinstance(info, Refused):
                if info.code != "vanished":
                    self._leave_out(job, root.only_file, info.code)
                return []
            return [Found(info.rel, info.size, info.mtime_ns)]
        nested = nested_paths(root, others)
        found: list[Found] = []
        for item in walk(opened, max_file_bytes=self._max_file_bytes):
            if nested and any(
                item.rel == inside or (inside.endswith("/") and item.rel.startswith(inside)) for inside in nested
            ):
                continue
            if isinstance(item, LeftOut):
                self._leave_out(job, item.rel, item.reason)
                # "./" is the root itself: what is in a folder that can't be listed is unknown, not gone.
                job.is_complete = job.is_complete and item.reason != "limit_reached" and item.rel != "./"
            elif item.rel.rpartition("/")[2] in OWN_FILES:
                self._leave_out(job, item.rel, "own_file")
            elif not is_text(item.rel):
                self._leave_out(job, item.rel.encode("utf-8", "backslashreplace").decode(), "name_not_utf8")
            else:
                found.append(item)
                if len(found) % 500 == 0:
                    self._progress("walk", len(found), 0)
        return found

    def _take(self, opened: Root, job: SyncJob, found: list[Found]) -> None:
        new = [item for item in found if self._is_likely_read(job, item)]
        with merging_later(self._connection, self._database, sum(item.size for item in new)):
            self._take_all(opened, job, found, new)

    def _take_all(self, opened: Root, job: SyncJob, found: list[Found], new: list[Found]) -> None:
        batch: list[Callable[[Writing], None]] = []
        size, started = 0, time.monotonic()
        for done, change in enumerate(self._in_order(opened, job, found, new)):
            if change is not None:
                batch.append(change[0])
                size += change[1]
            if batch and (
                len(batch) >= BATCH_FILES or size >= BATCH_BYTES or time.monotonic() - started > BATCH_SECONDS
            ):
                self._write(job, batch)
                batch, size, started = [], 0, time.monotonic()
            self._progress("read", done + 1, len(found))
        batch += [self._removal(row) for row in job.gone.values()]
        self._write(job, batch)

    def _in_order(self, opened: Root, job: SyncJob, found: list[Found], new: list[Found]) -> Iterator[Change | None]:
        """The change of each file in turn, a bounded number of them being prepared ahead by other processes."""
        workers = worker_count(len(new), sum(item.size for item in new))
        if not workers:
            for item in found:
                yield self._conclude(job, self._look(opened, job, item, None), None)
            return
        ahead: deque[tuple[Content | None, Future[Prepared | NotTaken] | None]] = deque()
        size = 0
        with ReadingPool(workers, self._passwords) as pool:
            for item in found:
                content = self._look(opened, job, item, pool)
                ahead.append((content, content.future if content is not None else None))
                size += content.size if content is not None else 0
                while ahead and (size > AHEAD_BYTES or len(ahead) > AHEAD_FILES or is_ready(ahead[0][1])):
                    first, future = ahead.popleft()
                    size -= first.size if first is not None else 0
                    yield self._conclude(job, first, future)
            for first, future in ahead:
                yield self._conclude(job, first, future)

    @staticmethod
    def _is_likely_read(job: SyncJob, item: Found) -> bool:
        known, before = job.known.get(item.rel), job.left_before.get(item.rel)
        same = known is not None and (known["size"], known["mtime_ns"]) == (item.size, item.mtime_ns)
        left = before is not None and before[1:] == (item.size, item.mtime_ns)
        return not same and not left and reader_for(item.rel) is not None

    def _look(self, opened: Root, job: SyncJob, item: Found, pool: ReadingPool | None) -> Content | None:
        """The file's new content where it has any, its preparation begun in ``pool``; None when there is nothing to do."""
        known = job.known.get(item.rel)
        same_stat = known is not None and (known["size"], known["mtime_ns"]) == (item.size, item.mtime_ns)
        if same_stat and is_settled(known) and not reader_changed(known):
            self.summary.unchanged += 1
            return None
        before = job.left_before.get(item.rel)
        is_left_before = known is None and before is not None and before[1:] == (item.size, item.mtime_ns)
        if is_left_before and before is not None and not self._is_worth_reading(item.rel, before[0]):
            self._leave_out(job, item.rel, before[0], item.size, item.mtime_ns)
            return None
        if known is None and reader_for(item.rel) is None:
            self._leave_out(job, item.rel, "unknown_format", item.size, item.mtime_ns)
            return None
        read_at = time.time_ns()
        read = opened.read_file(item.rel, self._max_file_bytes)
        if isinstance(read, Refused):
            self._leave_out(job, item.rel, read.code)
            if known is not None and read.code not in TRANSIENT:
                job.gone[item.rel] = known
            return None
        self.summary.bytes_read += len(read.data)
        data_hash = sha256_bytes(read.data)
        if known is not None and known["content_hash"] == data_hash and not reader_changed(known):
            if same_stat:
                self.summary.unchanged += 1
            else:
                self.summary.touched.append(known["source_ref"])
            job.stats.append((known["source_id"], read.size, read.mtime_ns, read_at))
            return None
        content = Content(item.rel, read, read_at, known, data_hash, git_state(job, item.rel, read.data))
        if pool is not None and (known is not None or data_hash not in job.known_hashes):  # else it may be a rename
            content.future = pool.submit(item.rel, read.data, read.mtime_ns)
        return content

    def _is_worth_reading(self, rel: str, reason: str) -> bool:
        """A file that was left out and has not changed since: could reading it give something else now?"""
        if reason == "unknown_format":
            return reader_for(rel) is not None
        return reason in TRANSIENT or is_worth_retrying(reason, has_passwords=bool(self._passwords))

    def _conclude(
        self, job: SyncJob, content: Content | None, future: Future[Prepared | NotTaken] | None
    ) -> Change | None:
        """What has to be written for new content. In the order of the files: what is gone decides what is a rename."""
        if content is None:
            return None
        known, read, rel = content.known, content.read, content.rel
        source_ref = job.root.source_ref(rel)
        if known is None and (renamed := renamed_from(job, content.data_hash, rel)) is not None:
            self.summary.renamed.append((renamed["source_ref"], source_ref))

            def rename(w: Writing) -> None:
                rename_file(w, renamed["id"], source_ref, rel, content.git_state)
                note_stat(w.connection, renamed["source_id"], read.size, read.mtime_ns, content.read_at)

            return rename, 0
        prepared = (
            prepare(rel, read.data, read.mtime_ns, passwords=self._passwords) if future is None else waited_for(future)
        )
        if isinstance(prepared, NotTaken):
            self._leave_out(job, rel, prepared.reason, read.size, read.mtime_ns)
            if known is not None:
                job.gone[rel] = known
            return None
        prepared = replace(prepared, read_at_ns=content.read_at)
        (self.summary.added if known is None else self.summary.changed).append(source_ref)
        self._note(source_ref, prepared)

        def write(w: Writing) -> None:
            if known is None:
                counts = add_file(w, job.root.id, source_ref, prepared, content.git_state)
            else:
                counts = change_file(w, known["id"], known["source_id"], source_ref, prepared, content.git_state)
            self.summary.chunks_added += counts.added
            self.summary.chunks_retired += counts.retired

        return write, content.size

    def _removal(self, row: Any) -> Callable[[Writing], None]:
        self.summary.removed.append(row["source_ref"])

        def write(w: Writing) -> None:
            self.summary.chunks_retired += remove_file(w, row["id"], row["source_id"]).retired

        return write

    # --- writing --------------------------------------------------------------------------------------------------

    def _write(self, job: SyncJob, batch: list[Callable[[Writing], None]]) -> None:
        """One transaction for the batch; on terms that can't be reproduced, the text index is built anew first."""
        if not batch:
            return
        counts = (self.summary.chunks_added, self.summary.chunks_retired)
        try:
            self._write_once(job, batch)
        except IndexDrift:
            self.summary.chunks_added, self.summary.chunks_retired = counts
            with write_transaction(self._connection, self._database):
                rebuild_text_index(self._connection)
            self.summary.index_rebuilt = True
            self._write_once(job, batch)

    def _write_once(self, job: SyncJob, batch: list[Callable[[Writing], None]]) -> None:
        with write_transaction(self._connection, self._database) as connection:
            row = read_scope(connection, self._scope)
            assert row is not None
            row = advance(connection, row, is_content=True)
            writing = Writing(
                connection, self._scope, row.id, row.revision, self._clock(), self._actor,
                job.git.commit if job.git else None,
            )  # fmt: skip
            for write in batch:
                write(writing)
            finish(writing)
            note_current(connection, row.id, row.content_revision)

    def _finish(self, job: SyncJob) -> None:
        """Note what the file system said of touched files, and what the walk left out, when it differs.

        Neither changes what retrieval can see, so no revision is counted.
        """
        if job.left == job.left_before and not job.stats:
            return
        with write_transaction(self._connection, self._database) as connection:
            for source_id, size, mtime_ns, read_at in job.stats:
                note_stat(connection, source_id, size, mtime_ns, read_at)
            row = read_scope(connection, self._scope)
            assert row is not None
            connection.execute(load("remove_left_out"), {"scope_id": row.id, "root_id": job.root.id})
            connection.executemany(
                load("add_left_out"),
                [
                    {"scope_id": row.id, "root_id": job.root.id, "path_in_root": path, "reason": reason, "size": size, "mtime_ns": mtime}
                    for path, (reason, size, mtime) in job.left.items()
                ],
            )  # fmt: skip
            if job.left != job.left_before:
                vouch_for_left_out(connection, row.id, job.root.id, row.revision, actor=self._actor, now=self._clock())

    # --- notes ----------------------------------------------------------------------------------------------------

    def _leave_out(
        self, job: SyncJob, rel: str, reason: str, size: int | None = None, mtime_ns: int | None = None
    ) -> None:
        if not is_text(rel):
            rel = rel.encode("utf-8", "backslashreplace").decode()
        job.left[rel] = (reason, size, mtime_ns)
        self.summary.left_out[reason] += 1

    def _note(self, source_ref: str, prepared: Prepared) -> None:
        self.summary.lines_withheld += prepared.lines_withheld
        if prepared.warnings:
            self.summary.warnings[source_ref] = prepared.warnings
