"""Does the audit log verify? The chain link by link, then every row against the event that vouches for it.

Finds a changed byte, a broken link, a removed or added event, a row without its event, an event without its row, and a
row that is not what its event saw or is not visible when the log says it is (contract 7.2). Reads only; says the first
bad event and what kind of damage it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import SCOPE_COLUMNS
from arr_sql.core.row_hashes import chunk_entry, chunks_hash, source_version_hash
from arr_sql.core.statements import load
from arr_sql.index.embedders.protocol import embed_text
from arr_sql.memory.approvals import decision_hash, package_hash
from arr_sql.memory.audit_log import GENESIS, event_hash
from arr_sql.memory.receipts import receipt_hash
from arr_sql.memory.research_store import memory_hash
from arr_sql.memory.retrieval_log import read_evidence, record_hash

LATEST = (1 << 63) - 1
Key = tuple[str, "int | None", str, "int | None"]


@dataclass(frozen=True)
class Damage:
    """One thing that does not verify. ``seq`` is the event, None when the row has no event."""

    kind: str
    seq: int | None
    subject: str


@dataclass(frozen=True)
class VerifyReport:
    """``events`` were checked; ``damages`` is empty when everything verifies; ``head`` is the last hash."""

    events: int
    rows: int
    head: str
    damages: tuple[Damage, ...]


def verify_audit(connection: Connection, scope_id: int | None = None) -> VerifyReport:
    """Check the whole file's chain and rows. Call inside a read transaction for one snapshot.

    With ``scope_id`` only damages to that scope's rows are reported: no other scope decides what is said of it.
    """
    damages: list[Damage] = []
    vouched: dict[Key, tuple[int, str]] = {}
    removals: dict[str, int] = {}
    events, previous, expected = 0, GENESIS, 1
    for row in connection.execute(load("read_audit_chain")):
        events += 1
        if row["seq"] != expected:
            damages.append(Damage("event_removed", expected, f"events {expected} to {row['seq'] - 1} are missing"))
        if row["prev_hash"] != previous:
            damages.append(Damage("broken_link", row["seq"], "does not follow the event before it"))
        if not _is_true(row):
            damages.append(Damage("changed_event", row["seq"], "its hash is not that of its fields"))
        previous, expected = row["hash"], row["seq"] + 1
        key = (row["subject_kind"], row["scope_id"], row["subject_id"], _version_of(row))
        if row["subject_hash"]:
            vouched[key] = (row["seq"], row["subject_hash"])
        if row["kind"] == "source_removed":
            removals[row["subject_id"]] = row["revision"]
    where: list[int | None] = [None] * len(damages)  # whose each damage is; a broken chain is everybody's
    rows = 0
    for key, found, problem in _rows(connection, removals):
        rows += 1
        entry = vouched.pop(key, None)
        subject = f"{key[0]} {key[2]}"
        if entry is None:
            damages.append(Damage("row_without_event", None, subject))
        elif entry[1] != found:
            damages.append(Damage("row_changed", entry[0], subject))
        elif problem:
            damages.append(Damage(problem, entry[0], subject))
        if len(damages) > len(where):
            where.append(key[1])
    for key, (seq, _) in vouched.items():
        damages.append(Damage("event_without_row", seq, f"{key[0]} {key[2]}"))
        where.append(key[1])
    if scope_id is not None:
        damages = [damage for damage, owner in zip(damages, where, strict=True) if owner == scope_id]
    damages.sort(key=lambda item: (item.seq is None, item.seq or 0))
    return VerifyReport(events, rows, previous, tuple(damages))


def _is_true(row: Any) -> bool:
    scope = tuple(row[name] for name in SCOPE_COLUMNS) if row["scope_id"] is not None else None
    if scope is not None and None in scope:
        return False  # its scope row is gone
    try:
        return bool(event_hash(row["prev_hash"], row, scope) == row["hash"])
    except ValueError:
        return False


def _version_of(row: Any) -> int | None:
    """Memories have one event a version, told apart by revision; other subjects have one id a row."""
    return row["revision"] if row["subject_kind"] == "memory" else None


def _rows(connection: Connection, removals: Mapping[str, int]) -> Iterator[tuple[Key, str, str]]:
    """Every vouched row: its key, its hash as it is now, and what is wrong with what hangs on it ('' for nothing).

    ``removals`` are the revisions at which the log says that source versions were removed, by the version's id.
    """
    versions = connection.execute(load("read_source_versions")).fetchall()
    retired = _retirements((row["id"], row["source_id"], row["added_revision"], removals.get(str(row["id"]))) for row in versions)
    for row in versions:
        problem = _chunk_problem(connection, row, row["added_revision"])
        if not problem and row["retired_revision"] != retired[row["id"]]:
            problem = "visibility_changed"
        if not problem and row["retired_revision"] is None:
            problem = _chunk_problem(connection, row, LATEST)
        yield ("source_version", row["scope_id"], str(row["id"]), None), source_version_hash(row), problem
    memories = connection.execute(load("read_memory_versions")).fetchall()
    retired = _retirements((row["id"], (row["scope_id"], row["memory_id"]), row["added_revision"], None) for row in memories)
    for row in memories:
        problem = "" if sha256_text(row["content"]) == row["content_hash"] else "text_changed"
        if not problem and row["retired_revision"] != retired[row["id"]]:
            problem = "visibility_changed"
        yield ("memory", row["scope_id"], row["memory_id"], row["added_revision"]), memory_hash(row), problem
    for row in connection.execute(load("read_all_retrievals")).fetchall():
        evidence = read_evidence(connection, row["id"])
        found = record_hash(row, evidence)
        problem = "" if found == row["record_hash"] else "row_changed"
        yield ("retrieval", row["scope_id"], row["retrieval_id"], None), found, problem
    yield from _approval_rows(connection)


def _approval_rows(connection: Connection) -> Iterator[tuple[Key, str, str]]:
    """Packages, decisions and receipts; the texts of the first and last against their hashes."""
    for row in connection.execute(load("read_approval_packages")).fetchall():
        problem = "" if sha256_text(row["payload"]) == row["payload_hash"] else "text_changed"
        yield ("approval_package", row["scope_id"], row["package_id"], None), package_hash(row), problem
    for row in connection.execute(load("read_approval_decisions")).fetchall():
        yield ("approval_decision", row["scope_id"], row["package_id"], None), decision_hash(row), ""
    for row in connection.execute(load("read_verification_receipts")).fetchall():
        problem = "" if sha256_text(row["body"]) == row["body_hash"] else "text_changed"
        yield ("verification_receipt", row["scope_id"], row["event_key"], None), receipt_hash(row), problem


def _retirements(rows: Iterable[tuple[int, Hashable, int, int | None]]) -> dict[int, int | None]:
    """Of each version (id, what it is a version of, added at, removed at) the revision at which it must have been
    retired: where the next version begins, else where it was removed, else None."""
    found: dict[int, int | None] = {}
    last: dict[Hashable, int] = {}
    for row_id, subject, added, removed in rows:
        if subject in last:
            found[last[subject]] = added
        found[row_id], last[subject] = removed, row_id
    return found


def _chunk_problem(connection: Connection, version: Any, revision: int) -> str:
    """Are the chunks that the version's source has at ``revision`` those that the version lists, text by text?"""
    values = {"source_id": version["source_id"], "revision": revision}
    chunks = connection.execute(load("read_chunks_at_revision"), values).fetchall()
    if chunks_hash([chunk_entry(chunk) for chunk in chunks]) != version["chunks_hash"]:
        return "chunks_changed"
    texts = ((embed_text(chunk["heading"], chunk["content"]), chunk["content"], chunk) for chunk in chunks)
    if any((sha256_text(whole), sha256_text(text)) != (c["embed_hash"], c["content_hash"]) for whole, text, c in texts):
        return "text_changed"
    return ""
