"""Anchors: the head of the audit log, written down outside the database, so that a cut or rewritten log is found.

A chain proves that nothing in it was changed, not that nothing is missing at its end, and whoever can write the file
can compute a whole new chain. An anchor (one JSON line: number of events, head hash, time) kept elsewhere settles both
(contract 7.2). An anchor file is only ever appended to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from arr_sql.core.canonical import canonical_json
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import SCOPE_COLUMNS
from arr_sql.core.statements import load
from arr_sql.errors import InputError, StateError
from arr_sql.memory.audit_log import GENESIS, event_hash, hash_at
from arr_sql.memory.audit_verify import Damage, VerifyReport, read_chain

EVENT_FIELDS = ("seq", "scope_seq", "revision", "at", "actor", "kind", "subject_kind", "subject_id", "subject_hash")


@dataclass(frozen=True)
class Anchor:
    """The log ended with event ``seq``, whose hash was ``head``, at the time ``at``; ``events`` are counted up to it."""

    seq: int
    head: str
    events: int
    at: str

    def line(self) -> str:
        """The anchor as one line of canonical JSON."""
        return canonical_json(asdict(self)) + "\n"


def make_anchor(connection: Connection, now: datetime) -> Anchor:
    """The log's head now. Raises StateError for an empty log."""
    last = connection.execute(load("read_audit_head")).fetchone()
    if last is None or last["seq"] is None:
        raise StateError("The audit log is empty: there is nothing to anchor. Add or store something first.")
    return Anchor(last["seq"], last["hash"], last["events"], to_text(now))


def parse_anchors(text: str, name: str) -> list[Anchor]:
    """The anchors of a file's text, in order. Raises InputError with the line that is none."""
    anchors = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            anchor = Anchor(**value)
            whole = all(type(n) is int and n > 0 for n in (anchor.seq, anchor.events))
            if not whole or len(bytes.fromhex(anchor.head)) != 32 or type(anchor.at) is not str:
                raise ValueError
        except (ValueError, TypeError, RecursionError):
            raise InputError(f"{name}:{number} is no anchor. Name a file that `arr audit anchor` wrote.") from None
        anchors.append(anchor)
    return anchors


def read_anchors(path: Path) -> list[Anchor]:
    """The anchors of a file. Raises InputError when it can't be read, holds none, or holds something else."""
    try:
        anchors = parse_anchors(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The anchor file '{path}' can't be read ({error}). Name a file that `arr audit anchor` wrote."
        ) from None
    if not anchors:
        raise InputError(f"'{path}' holds no anchor. Write one with `arr audit anchor {path}`.")
    return anchors


def add_anchor(path: Path, anchor: Anchor, hash_at: Callable[[int], str | None]) -> bool:
    """Append ``anchor`` to the file; False when its last line says the same already.

    Raises StateError when an anchor in the file contradicts the log: it is of another log, or this one was rewritten.
    """
    known = read_anchors(path) if path.exists() and path.stat().st_size else []
    damage = anchor_damages(known, hash_at)
    if damage:
        raise StateError(
            f"'{path}' holds an anchor that this log contradicts ({damage[0].kind} at event {damage[0].seq}): it belongs to "
            f"another database, or this log was cut or rewritten. Run `arr audit verify --anchor {path}`; for a new "
            "database name a new file."
        )
    if known and (known[-1].seq, known[-1].head) == (anchor.seq, anchor.head):
        return False
    with open(path, "a", encoding="utf-8", newline="\n") as file:
        file.write(anchor.line())
        file.flush()
        os.fsync(file.fileno())
    return True


def anchor_damages(anchors: Sequence[Anchor], hash_at: Callable[[int], str | None]) -> list[Damage]:
    """What the anchors say of a log: ``tail_missing`` from an event on, ``chain_rewritten`` from one on. Pure.

    ``hash_at`` gives the hash of an event of the log by its number, None when there is no such event.
    """
    damages: list[Damage] = []
    agreed = 0
    for anchor in sorted(anchors, key=lambda item: item.seq):
        found = hash_at(anchor.seq)
        if found == anchor.head:
            agreed = anchor.seq
        elif found is None:
            damages.append(
                Damage("tail_missing", agreed + 1, f"event {anchor.seq} was anchored at {anchor.at} and is not there")
            )
        else:
            span = f"events {agreed + 1} to {anchor.seq}" if agreed + 1 < anchor.seq else f"event {anchor.seq}"
            damages.append(Damage("chain_rewritten", agreed + 1, f"{span}: not what was anchored at {anchor.at}"))
    return damages


def database_hash_at(connection: Connection) -> Callable[[int], str | None]:
    """The hashes of the log in a database, by number."""
    return partial(hash_at, connection)


def with_last_event(damages: Sequence[Damage], last: int) -> list[Damage]:
    """A missing tail named by the first event that is missing, now that the end of the log is known."""
    return [Damage(d.kind, last + 1, d.subject) if d.kind == "tail_missing" else d for d in damages]


# --- export -------------------------------------------------------------------------------------------------------------


def export_lines(connection: Connection) -> Iterator[str]:
    """Every event of the file as one line of canonical JSON: what is hashed, then both hashes."""
    for row in read_chain(connection):
        scope = [row[name] for name in SCOPE_COLUMNS] if row["scope_id"] is not None else None
        event = {name: row[name] for name in EVENT_FIELDS}
        yield canonical_json(
            {**event, "scope": scope, "details": json.loads(row["details"]), "prev_hash": row["prev_hash"], "hash": row["hash"]}
        ) + "\n"  # fmt: skip


def verify_export(path: Path, anchors: Sequence[Anchor] = ()) -> VerifyReport:
    """Check an exported log by itself: numbers, links and hashes, each line in its one form. No database is opened.

    Raises InputError when the file can't be read or a line is no event.
    """
    damages: list[Damage] = []
    hashes: dict[int, str] = {}
    previous, expected = GENESIS, 1
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                event = _event(line, path, number)
                seq = event["seq"]
                if seq != expected:
                    damages.append(Damage("event_removed", expected, f"line {number} holds event {seq}"))
                if event["prev_hash"] != previous:
                    damages.append(Damage("broken_link", seq, "does not follow the event before it"))
                if not _is_true(event) or canonical_json(event) + "\n" != line:
                    damages.append(Damage("changed_event", seq, "its hash is not that of its fields"))
                hashes[seq] = previous = event["hash"]
                expected = seq + 1
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The export '{path}' can't be read ({error}). Name a file that `arr audit export` wrote."
        ) from None
    damages += with_last_event(anchor_damages(anchors, hashes.get), max(hashes, default=0))
    damages.sort(key=lambda item: item.seq or 0)
    return VerifyReport(len(hashes), 0, previous, tuple(damages), expected - 1)


def _event(line: str, path: Path, number: int) -> dict[str, Any]:
    names = {*EVENT_FIELDS, "scope", "details", "prev_hash", "hash"}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or set(value) != names or type(value["seq"]) is not int:
        raise InputError(f"{path}:{number} is no audit event. Name a file that `arr audit export` wrote.")
    return value


def _is_true(event: Mapping[str, Any]) -> bool:
    scope = event["scope"]
    try:
        fields = {**event, "details": canonical_json(event["details"])}
        return bool(
            event_hash(event["prev_hash"], fields, tuple(scope) if scope is not None else None) == event["hash"]
        )
    except (TypeError, ValueError):
        return False
