"""After an erasure: write the file anew, then read its raw bytes and see whether anything of what went is left.

SQLite's ``secure_delete`` and FTS5's ``secure-delete`` each leave copies alone: pages of the WAL, the beginnings of terms
in ``..._fts_idx``, rows that VACUUM has not moved. So the text index is written anew, the file is vacuumed, the WAL is cut
to nothing, and then the bytes of all four files are read (:mod:`arr_sql.core.byte_scan`). A probe that is found must be
held by a row that remains; else the steps are taken again, with an index made anew, and what is found then is residue.
Held by tests/memory/test_forgetting.py and tests/promises/test_forgetting_bytes.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arr_sql.core.byte_scan import (
    SHORTEST,
    WINDOW,
    Probes,
    database_files,
    find_anywhere,
    find_short,
    forms,
    scan_files,
)
from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import Connection, write_transaction
from arr_sql.core.migrations import own_tables
from arr_sql.core.pages import compact
from arr_sql.core.statements import load
from arr_sql.core.table_rows import schema_text_values, table_names, table_rows
from arr_sql.index.text_index import compact_text_index, has_text_index, rebuild_text_index
from arr_sql.memory.forget_receipts import Scan, add_scan, read_subjects

ATTEMPTS = 3
Progress = Callable[[str, int, int], None]


def no_progress(phase: str, done: int, total: int) -> None:
    """Shows nothing."""


@dataclass(frozen=True)
class Proof:
    """A scan and, for the scope's own eyes, in how many of its rows an erased text still stands as a whole, by table.

    A table that is not the store's own belongs to whoever works with the file, so it is counted too.
    """

    scan: Scan
    held_here: dict[str, int]


def prove(
    connection: Connection, path: Path, scope_id: int | None, probes: Probes, texts: Sequence[str], *,
    progress: Progress = no_progress,
) -> Proof:  # fmt: skip
    """Clean the file and look for ``probes``. ``texts`` are looked for as a whole in the scope's remaining rows.

    Raises StoreBusy while another process keeps an older state; nothing is lost then, and it can be called again.
    """
    found: set[bytes] = set()
    for attempt in range(ATTEMPTS):
        clean_file(connection, path, anew=attempt > 0, progress=progress)
        found, n_bytes = scan_files(
            database_files(path), probes, lambda done, total: progress("Reading bytes", done, total)
        )
        account = _Account(connection, scope_id, found, texts)
        found = account.unexplained
        if not found:
            break
    scan = Scan("bytes", len(probes), n_bytes, len(found), account.held_elsewhere)
    return Proof(scan, dict(account.held_here))


def clean_file(connection: Connection, path: Path, *, anew: bool = False, progress: Progress = no_progress) -> None:
    """Text index, then file, then WAL: nothing but what the rows hold is left."""
    progress("Rewriting the text index", 0, 0)
    with write_transaction(connection, path):
        if has_text_index(connection):
            (rebuild_text_index if anew else compact_text_index)(connection)
    progress("Rewriting the file", 0, 0)
    compact(connection, path)


def prove_structure(
    connection: Connection, path: Path, receipts: Sequence[int], *, progress: Progress = no_progress
) -> Scan:
    """What can still be shown after an interruption, when only hashes of the texts are left.

    The file is written anew from its rows, and no row of the scope has the hash of an erased text under an erased id.
    """
    clean_file(connection, path, progress=progress)
    subjects = {
        (item["scope_id"], item["kind"], item["subject_id"], item["text_hash"])
        for receipt in receipts for item in read_subjects(connection, receipt) if item["after_hash"] is None
    }  # fmt: skip
    left = sum(
        (row["scope_id"], kind, row[name], row["content_hash"]) in subjects
        for table, kind, name in (("chunk", "chunk", "chunk_id"), ("memory", "memory", "memory_id"))
        for row in table_rows(connection, table)
    )  # fmt: skip
    size = sum(file.stat().st_size for file in database_files(path) if file.is_file())
    return Scan("structure", len(subjects), size, left, False)


def record_scan(
    connection: Connection,
    path: Path,
    receipts: Sequence[int],
    scan: Scan,
    *,
    backup: Path | None,
    actor: str,
    now: datetime,
) -> None:
    """Keep what a scan found, for each of the receipts."""
    path_hash = sha256_text(str(backup.resolve())) if backup else ""
    with write_transaction(connection, path):
        for receipt in receipts:
            add_scan(
                connection, receipt, scan, file_kind="backup" if backup else "database", path_hash=path_hash,
                actor=actor, now=now,
            )  # fmt: skip


class _Account:
    """Which of the probes that were found are held by rows that remain?"""

    def __init__(self, connection: Connection, scope_id: int | None, found: set[bytes], texts: Sequence[str]) -> None:
        self.unexplained = set(found)
        self.held_elsewhere = False
        self.held_here: Counter[str] = Counter()
        if not found:
            return
        windows = {probe for probe in found if len(probe) == WINDOW}
        others = found - windows
        encoded = {form for text in texts for form in forms(text.strip())}
        whole = [data for data in encoded if len(data) >= SHORTEST and (data in found or find_anywhere(data, windows))]
        own = own_tables()
        for table, owner, data in _values(connection):
            if len(data) < SHORTEST:
                continue
            held = find_short(data, others) | (find_anywhere(data, windows) if windows else set())
            if not held:
                continue
            self.unexplained -= held
            is_own = table in own
            if is_own and owner is not None and owner != scope_id:
                self.held_elsewhere = True
            elif (owner is not None or not is_own) and table and any(text in data for text in whole):
                self.held_here[table] += 1


def _values(connection: Connection) -> Iterator[tuple[str, int | None, bytes]]:
    """Everything that remains: (table, scope, the row's texts and BLOBs), then the schema, then the index's terms."""
    for table in table_names(connection):
        for row in table_rows(connection, table):
            scope = row.get("scope_id")
            yield table, scope if isinstance(scope, int) else None, b"".join(_bytes(value) for value in row.values())
    for text in schema_text_values(connection):
        yield "", None, text.encode()
    if has_text_index(connection):
        for name in ("read_chunk_vocabulary", "read_memory_vocabulary"):
            for row in connection.execute(load(name)):
                yield "", None, row["term"].encode("utf-8", "surrogatepass")


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return bytes(value) if isinstance(value, (bytes, memoryview)) else b""
