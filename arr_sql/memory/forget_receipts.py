"""The receipts of erasures: hashes only, written once, and checked by `arr audit verify`.

A receipt lists each row that went (or was written anew without the text) with the hash that an audit event holds of it.
So the log still verifies after an erasure, and only for those rows: a row that is missing without a receipt, or whose
receipt names another hash, is damage. Held by tests/memory/test_forgetting.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from arr_sql.core.canonical import canonical_json, sha256_json
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load
from arr_sql.memory.audit_log import append_event

RECEIPT_FIELDS = ("scope_seq", "receipt_id", "at", "actor", "target", "revision", "counts", "texts_hash", "n_texts")
SUBJECT_FIELDS = ("number", "kind", "subject_id", "revision", "before_hash", "after_hash", "text_hash")
SCAN_FIELDS = ("receipt", "at", "actor", "file_kind", "path_hash", "method", "result", "n_probes", "n_bytes", "n_found",
               "held_elsewhere")  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """One row that goes, or stays without the text (then ``after_hash`` is what it hashes to afterwards)."""

    kind: str
    subject_id: str
    before_hash: str
    text_hash: str
    after_hash: str | None = None
    revision: int | None = None


@dataclass(frozen=True)
class Scan:
    """What a reading of one file's bytes found."""

    method: str
    n_probes: int
    n_bytes: int
    n_found: int
    held_elsewhere: bool

    @property
    def result(self) -> str:
        """``clean`` or ``residue``."""
        return "residue" if self.n_found else "clean"


def receipt_hash(row: Any, subjects: Sequence[Any]) -> str:
    """The hash by which the event ``forgotten`` vouches for a receipt and its subjects."""
    listed = [[item[name] for name in SUBJECT_FIELDS] for item in subjects]
    return sha256_json([{name: row[name] for name in RECEIPT_FIELDS}, listed])


def scan_hash(row: Any) -> str:
    """The hash by which the event ``forget_scanned`` vouches for a scan."""
    return sha256_json({name: row[name] for name in SCAN_FIELDS})


def add_receipt(
    connection: Connection, scope: ScopeKey, scope_id: int, *, target: str, revision: int, counts: dict[str, int],
    text_hashes: Sequence[str], subjects: Sequence[Subject], actor: str, now: datetime,
) -> tuple[int, str]:  # fmt: skip
    """Write a receipt, its subjects and its event; its row and its id. Call inside the transaction that erases."""
    last = connection.execute(load("read_last_forget_seq"), {"scope_id": scope_id}).fetchone()["scope_seq"]
    texts_hash = sha256_json(sorted(text_hashes))
    row: dict[str, Any] = {
        "scope_id": scope_id, "scope_seq": last + 1,
        "receipt_id": f"f{last + 1}-{sha256_json([*scope.values(), last + 1, texts_hash])[:8]}",
        "at": to_text(now), "actor": actor, "target": target, "revision": revision, "counts": canonical_json(counts),
        "texts_hash": texts_hash, "n_texts": len(text_hashes),
    }  # fmt: skip
    listed = [{**asdict(item), "number": number, "scope_id": scope_id} for number, item in enumerate(subjects, 1)]
    row["receipt_hash"] = receipt_hash(row, listed)
    receipt = connection.execute(load("add_forget_receipt"), row).lastrowid
    assert receipt is not None
    connection.executemany(load("add_forget_subject"), [{**item, "receipt": receipt} for item in listed])
    append_event(
        connection, scope_id=scope_id, revision=revision, at=now, actor=actor, kind="forgotten",
        subject_kind="forget_receipt", subject_id=row["receipt_id"], subject_hash=row["receipt_hash"],
        details={"target": target, "counts": counts},
    )  # fmt: skip
    return receipt, row["receipt_id"]


def add_scan(
    connection: Connection, receipt: int, scan: Scan, *, file_kind: str, path_hash: str, actor: str, now: datetime
) -> None:
    """Record a scan with its event, which belongs to the whole file. Call inside a write transaction."""
    row: dict[str, Any] = {
        "receipt": receipt, "at": to_text(now), "actor": actor, "file_kind": file_kind, "path_hash": path_hash,
        "method": scan.method, "result": scan.result, "n_probes": scan.n_probes, "n_bytes": scan.n_bytes,
        "n_found": scan.n_found, "held_elsewhere": int(scan.held_elsewhere),
    }  # fmt: skip
    scan_id = connection.execute(load("add_forget_scan"), row).lastrowid
    append_event(
        connection, scope_id=None, revision=None, at=now, actor=actor, kind="forget_scanned",
        subject_kind="forget_scan", subject_id=str(scan_id), subject_hash=scan_hash(row),
        details={"file": file_kind, "result": scan.result},
    )  # fmt: skip


def unproven_receipts(connection: Connection, scope_id: int) -> list[tuple[int, str]]:
    """Erasures of a scope that were interrupted before this database was scanned: their rows and ids."""
    rows = connection.execute(load("read_unproven_receipts"), {"scope_id": scope_id})
    return [(row["id"], row["receipt_id"]) for row in rows]


def read_subjects(connection: Connection, receipt: int) -> list[Any]:
    """What one receipt lists."""
    return connection.execute(load("read_forget_subjects"), {"receipt": receipt}).fetchall()


def vouched_receipts(connection: Connection) -> Iterator[tuple[Any, list[Any]]]:
    """Every receipt of the file with its subjects."""
    for row in connection.execute(load("read_forget_receipts")).fetchall():
        yield row, read_subjects(connection, row["id"])


def vouched_scans(connection: Connection) -> list[Any]:
    """Every scan of the file."""
    return connection.execute(load("read_forget_scans")).fetchall()
