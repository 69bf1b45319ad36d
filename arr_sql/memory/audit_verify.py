"""Does the audit log verify? The chain link by link, then every row against the event that vouches for it.

Finds a changed byte, a broken link, a removed or added event, a row without its event, an event without its row, and a
row that is not what its event saw or is not visible when the log says it is (contract 7.2). Reads only; says the first
bad event and what kind of damage it is.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from arr_sql.core.canonical import canonical_json, sha256_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import SCOPE_COLUMNS
from arr_sql.core.row_hashes import chunk_entry, chunks_hash, source_version_hash
from arr_sql.core.statements import load
from arr_sql.errors import StoreDamaged
from arr_sql.index.embedders.protocol import embed_text
from arr_sql.memory.approvals import decision_hash, package_hash
from arr_sql.memory.audit_log import GENESIS, event_hash
from arr_sql.memory.damage import Damage
from arr_sql.memory.forget_receipts import receipt_hash as forget_receipt_hash
from arr_sql.memory.forget_receipts import scan_hash, vouched_receipts, vouched_scans
from arr_sql.memory.pruning import records_hash
from arr_sql.memory.receipts import receipt_hash
from arr_sql.memory.research_store import memory_hash
from arr_sql.memory.retrieval_log import read_evidence, record_hash
from arr_sql.memory.row_verify import OWN_KINDS, Said, details_of, id_damages, row_damages

LATEST = (1 << 63) - 1
__all__ = ["Damage", "VerifyReport", "read_chain", "verify_audit"]
Key = tuple[str, "int | None", str, "int | None"]


@dataclass(frozen=True)
class VerifyReport:
    """``events`` were checked; ``damages`` is empty when everything verifies; ``head`` is the last hash.

    ``last`` is the number of the last event: with a hole in the log it is not ``events``.
    """

    events: int
    rows: int
    head: str
    damages: tuple[Damage, ...]
    last: int = 0


def verify_audit(connection: Connection, scope_id: int | None = None) -> VerifyReport:
    """Check the whole file's chain and rows. Call inside a read transaction for one snapshot.

    With ``scope_id`` only damages to that scope's rows are reported: no other scope decides what is said of it.
    Raises StoreDamaged when a value is not even of its column's type, which STRICT tables let nobody write.
    """
    try:
        return _verified(connection, scope_id)
    except (TypeError, AttributeError, LookupError) as error:
        raise StoreDamaged(
            f"A row holds a value of the wrong type ({error}). `arr db check` names the column."
        ) from error


def _verified(connection: Connection, scope_id: int | None) -> VerifyReport:
    damages: list[Damage] = []
    vouched: dict[Key, tuple[int, str]] = {}
    removals: dict[str, int] = {}
    said = Said()
    forgotten = {(row["scope_id"], row["receipt_id"]): subjects for row, subjects in vouched_receipts(connection)}
    events, previous, expected = 0, GENESIS, 1
    for row in read_chain(connection):
        events += 1
        if row["seq"] != expected:
            damages.append(Damage("event_removed", expected, f"events {expected} to {row['seq'] - 1} are missing"))
        if row["prev_hash"] != previous:
            damages.append(Damage("broken_link", row["seq"], "does not follow the event before it"))
        if not _is_true(row):
            damages.append(Damage("changed_event", row["seq"], "its hash is not that of its fields"))
        previous, expected = row["hash"], row["seq"] + 1
        key = (row["subject_kind"], row["scope_id"], row["subject_id"], _version_of(row))
        said.hear(row)
        if row["subject_hash"] and row["subject_kind"] not in OWN_KINDS:
            vouched[key] = (row["seq"], row["subject_hash"])
        if row["kind"] == "source_removed":
            removals[row["subject_id"]] = row["revision"]
        if row["kind"] == "forgotten":
            subjects = forgotten.get((row["scope_id"], row["subject_id"]), [])
            damages += _forget(row, subjects, vouched, removals)
            damages += said.forget(row, subjects)
        if row["kind"] == "retrievals_pruned":
            damages += _prune(row, vouched)
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
    for owner, damage in row_damages(connection, said):
        damages.append(damage)
        where.append(owner)
    if not damages and scope_id is None:
        damages += id_damages(connection, said)
    if scope_id is not None:
        damages = [damage for damage, owner in zip(damages, where, strict=True) if owner == scope_id]
    damages.sort(key=_order)
    return VerifyReport(events, rows, previous, tuple(damages), expected - 1)


def _forget(
    event: Any, subjects: Sequence[Any], vouched: dict[Key, tuple[int, str]], removals: dict[str, int]
) -> Iterator[Damage]:
    """An erasure excuses the rows that its receipt lists, each only if the receipt names the hash that the log holds."""
    for item in subjects:
        key = (item["kind"], event["scope_id"], item["subject_id"], item["revision"])
        if item["before_hash"] == "" or item["kind"] in OWN_KINDS:
            continue  # a chunk or a source: its version's event vouches for it; the others: see Said.forget
        if vouched.get(key, (0, ""))[1] != item["before_hash"]:
            yield Damage("forgotten_otherwise", event["seq"], f"{item['kind']} {item['subject_id']}")
        elif item["after_hash"] is None:
            del vouched[key]
        else:
            vouched[key] = (event["seq"], item["after_hash"])
        if item["kind"] == "source_version":
            removals.pop(item["subject_id"], None)


def _prune(event: Any, vouched: dict[Key, tuple[int, str]]) -> Iterator[Damage]:
    """A pruning excuses the scope's oldest records, as many as it says, if its hash is that of what the log holds of them."""
    details = details_of(event)
    records = details.get("records", 0)
    own = (key for key in vouched if key[0] == "retrieval" and key[1] == event["scope_id"])
    keys = list(islice(own, min(records, len(vouched)))) if type(records) is int and records >= 0 else []
    if records_hash((key[2], vouched[key][1]) for key in keys) != details.get("records_hash"):
        yield Damage("pruned_otherwise", event["seq"], f"{len(keys)} retrieval records")
        return
    for key in keys:
        del vouched[key]


CHAIN = frozenset({"event_removed", "broken_link", "changed_event"})


def _order(damage: Damage) -> tuple[bool, bool, int]:
    """By event, what is wrong with the chain itself first: what a broken chain says of rows is worth nothing."""
    return damage.kind not in CHAIN, damage.seq is None, damage.seq or 0


def read_chain(connection: Connection) -> Iterator[Any]:
    """Every event of the file in order, each with its scope's five values."""
    yield from connection.execute(load("read_audit_chain"))


def _is_true(row: Any) -> bool:
    scope = tuple(row[name] for name in SCOPE_COLUMNS) if row["scope_id"] is not None else None
    if scope is not None and None in scope:
        return False  # its scope row is gone
    try:
        is_canonical = canonical_json(json.loads(row["details"])) == row["details"]
        return is_canonical and bool(event_hash(row["prev_hash"], row, scope) == row["hash"])
    except (ValueError, RecursionError):
        return False


def _version_of(row: Any) -> int | None:
    """Memories have one event a version, told apart by revision; other subjects have one id a row."""
    return row["revision"] if row["subject_kind"] == "memory" else None


def _rows(connection: Connection, removals: Mapping[str, int]) -> Iterator[tuple[Key, str, str]]:
    """Every vouched row: its key, its hash as it is now, and what is wrong with what hangs on it ('' for nothing).

    ``removals`` are the revisions at which the log says that source versions were removed, by the version's id.
    """
    versions = connection.execute(load("read_source_versions")).fetchall()
    retired = _retirements(
        (row["id"], row["source_id"], row["added_revision"], removals.get(str(row["id"]))) for row in versions
    )
    for row in versions:
        problem = _chunk_problem(connection, row, row["added_revision"])
        if not problem and row["retired_revision"] != retired[row["id"]]:
            problem = "visibility_changed"
        if not problem and row["retired_revision"] is None:
            problem = _chunk_problem(connection, row, LATEST)
        yield ("source_version", row["scope_id"], str(row["id"]), None), source_version_hash(row), problem
    memories = connection.execute(load("read_memory_versions")).fetchall()
    retired = _retirements(
        (row["id"], (row["scope_id"], row["memory_id"]), row["added_revision"], None) for row in memories
    )
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
    for row, subjects in vouched_receipts(connection):
        found = forget_receipt_hash(row, subjects)
        is_own = all(item["scope_id"] == row["scope_id"] for item in subjects)
        problem = "" if found == row["receipt_hash"] and is_own else "row_changed"
        yield ("forget_receipt", row["scope_id"], row["receipt_id"], None), found, problem
    for row in vouched_scans(connection):
        yield ("forget_scan", None, str(row["id"]), None), scan_hash(row), ""


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
    if [chunk["ordinal"] for chunk in chunks] != list(range(len(chunks))):
        return "chunks_changed"
    texts = ((embed_text(chunk["heading"], chunk["content"]), chunk["content"], chunk) for chunk in chunks)
    if any((sha256_text(whole), sha256_text(text)) != (c["embed_hash"], c["content_hash"]) for whole, text, c in texts):
        return "text_changed"
    return ""
