"""After an erasure: write the file anew, then read its raw bytes and see whether anything of what went is left.

SQLite's ``secure_delete`` and FTS5's ``secure-delete`` each leave copies alone: pages of the WAL, the beginnings of terms
in ``..._fts_idx``, rows that VACUUM has not moved. So the text index is written anew, the file is vacuumed, the WAL is cut
to nothing, and then the bytes of all four files are read (:mod:`arr_sql.core.byte_scan`). A probe that is found must be
held by a row that remains; else the steps are taken again, with an index made anew, and what is found then is residue.
Tables that are not arr_sql's own are rows that remain, too: they are counted by name. In a backup an erased content must be
held by no row of the scope at all.
Held by tests/memory/test_forgetting.py and tests/promises/test_forgetting_bytes.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

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
from arr_sql.core.pages import compact
from arr_sql.core.statements import load
from arr_sql.core.table_rows import schema_text_values, table_names, table_rows
from arr_sql.index.text_index import compact_text_index, has_text_index, rebuild_text_index
from arr_sql.memory.forget_receipts import Scan, add_scan, read_subjects
from arr_sql.memory.store_check import own_names

ATTEMPTS = 3
Progress = Callable[[str, int, int], None]
Listed = tuple[str, str, str]
"""Of a row that a receipt lists: its kind, its id, the hash of its text."""


def no_progress(phase: str, done: int, total: int) -> None:
    """Shows nothing."""


@dataclass(frozen=True)
class Sought:
    """What to look for: ``probes`` in the bytes, ``texts`` as a whole in the rows that remain. Of these, no row of the scope
    may hold one of ``contents`` any more: else the file is not clean."""

    probes: Probes
    texts: frozenset[str] = frozenset()
    contents: frozenset[str] = frozenset()
    listed: frozenset[Listed] = frozenset()
    """Rows that receipts of an interrupted erasure list, whose texts nobody knows any more: as ``contents``."""


@dataclass(frozen=True)
class Proof:
    """A scan and, for the scope's own eyes, in how many of its rows an erased text still stands as a whole, by table; and in
    how many rows of tables that are nobody's scope a part of one stands."""

    scan: Scan
    held_here: dict[str, int]
    held_in_file: dict[str, int]


def prove(
    connection: Connection, path: Path, scope_id: int | None, sought: Sought, *, progress: Progress = no_progress
) -> Proof:
    """Clean the file and look for what went.

    Raises StoreBusy while another process keeps an older state; nothing is lost then, and it can be called again.
    """
    found: set[bytes] = set()
    for attempt in range(ATTEMPTS):
        clean_file(connection, path, anew=attempt > 0, progress=progress)
        found, n_bytes = scan_files(
            database_files(path), sought.probes, lambda done, total: progress("Reading bytes", done, total)
        )
        account = _Account(connection, scope_id, found, sought)
        if not account.unexplained:
            break
    listed = _still_there(connection, scope_id, sought.listed) if sought.listed else Counter()
    n_found = len(account.unexplained) + max(account.n_contents, listed.total())
    scan = Scan("bytes", len(sought.probes), n_bytes, n_found, account.is_held_elsewhere)
    return Proof(scan, dict(account.held_here | listed), dict(account.held_in_file))


def clean_file(connection: Connection, path: Path, *, anew: bool = False, progress: Progress = no_progress) -> None:
    """Text index, then file, then WAL: nothing but what the rows hold is left."""
    progress("Rewriting the text index", 0, 0)
    with write_transaction(connection, path):
        if has_text_index(connection):
            (rebuild_text_index if anew else compact_text_index)(connection)
    progress("Rewriting the file", 0, 0)
    compact(connection, path)


def prove_structure(
    connection: Connection, path: Path, scope_id: int, receipts: Sequence[int], *, progress: Progress = no_progress
) -> Scan:
    """What can still be shown after an interruption, when only hashes of the texts are left.

    The file is written anew from its rows, and no row of the scope has the hash of an erased text under an erased id.
    """
    clean_file(connection, path, progress=progress)
    subjects = listed_in(connection, receipts)
    left = _still_there(connection, scope_id, subjects).total()
    size = sum(file.stat().st_size for file in database_files(path) if file.is_file())
    return Scan("structure", len(subjects), size, left, False)


def listed_in(connection: Connection, receipts: Sequence[int]) -> frozenset[Listed]:
    """The rows that these receipts say are gone."""
    return frozenset(
        (item["kind"], item["subject_id"], item["text_hash"])
        for receipt in receipts for item in read_subjects(connection, receipt) if item["after_hash"] is None
    )  # fmt: skip


def _still_there(connection: Connection, scope_id: int | None, listed: frozenset[Listed]) -> Counter[str]:
    """How many rows of the scope are ``listed``, by table."""
    return Counter(
        table for table in ("chunk", "memory") for row in table_rows(connection, table)
        if row["scope_id"] == scope_id and (table, row[f"{table}_id"], row["content_hash"]) in listed
    )  # fmt: skip


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

    def __init__(self, connection: Connection, scope_id: int | None, found: set[bytes], sought: Sought) -> None:
        self.unexplained = set(found)
        self.is_held_elsewhere = False
        """In a row of another scope, or of a table that is not arr_sql's."""
        self.held_here: Counter[str] = Counter()
        self.held_in_file: Counter[str] = Counter()
        self.n_contents = 0
        """Rows of the scope that hold one of the contents which none may hold."""
        if not found:
            return
        windows = {probe for probe in found if len(probe) == WINDOW}
        others = found - windows

        def whole(texts: frozenset[str]) -> list[bytes]:
            encoded = {form for text in texts for form in forms(text.strip())}
            return [
                data for data in encoded if len(data) >= SHORTEST and (data in found or find_anywhere(data, windows))
            ]

        texts, contents = whole(sought.texts), whole(sought.contents)
        for row in _remaining(connection):
            if len(row.data) < SHORTEST:
                continue
            in_windows = find_anywhere(row.data, windows) if windows else set()
            held = find_short(row.data, others) | in_windows
            if not held:
                continue
            self.unexplained -= held
            is_whole = any(text in row.data for text in texts)
            if row.is_foreign and (in_windows or is_whole):  # a single word of an erased text says nothing
                self.held_in_file[row.table] += 1
                self.is_held_elsewhere = True
            elif row.scope_id is not None and row.scope_id != scope_id:
                self.is_held_elsewhere = True
            elif row.scope_id is not None and is_whole:
                self.held_here[row.table] += 1
                self.n_contents += any(text in row.data for text in contents)


class _Remaining(NamedTuple):
    """A row (or a definition, or a term) that remains: its table, its scope, its texts and BLOBs."""

    table: str
    scope_id: int | None
    is_foreign: bool
    data: bytes


def _remaining(connection: Connection) -> Iterator[_Remaining]:
    """Everything that remains: the rows of all tables, then the schema, then the index's terms."""
    own = own_names()
    for table in table_names(connection):
        is_foreign = table not in own
        for row in table_rows(connection, table):
            scope = row.get("scope_id")
            data = b"".join(_bytes(value) for value in row.values())
            is_of_scope = isinstance(scope, int) and not is_foreign
            yield _Remaining(table, scope if is_of_scope else None, is_foreign, data)
    for name, text in schema_text_values(connection):
        yield _Remaining(name, None, name not in own, text.encode())
    if has_text_index(connection):
        for name in ("read_chunk_vocabulary", "read_memory_vocabulary"):
            for row in connection.execute(load(name)):
                yield _Remaining("", None, False, row["term"].encode("utf-8", "surrogatepass"))


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return bytes(value) if isinstance(value, (bytes, memoryview)) else b""
