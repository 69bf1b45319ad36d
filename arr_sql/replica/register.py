"""Where copies of a file were ever begun: read from its audit log, and written there.

Events of the file, not of a scope: ``replica_started`` before the first byte leaves, ``replica_stopped``,
``replica_purged``. They name the target and hold no credential. Restoring writes nothing into what it makes, so that a
restored file is a state that the source had, event for event.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from arr_sql.core.connection import Connection, open_writer, write_transaction
from arr_sql.core.migrations import current_reader, require_current
from arr_sql.core.statements import load
from arr_sql.errors import InputError
from arr_sql.memory.audit_log import append_event
from arr_sql.replica.target import Target


def note_event(path: Path, target: Target, kind: str, *, actor: str, now: datetime, **details: Any) -> None:
    """Append one event of the file. Raises SchemaOutOfDate, StoreReadOnly and the other StoreErrors."""
    writer = open_writer(path)
    try:
        require_current(writer, path)
        with write_transaction(writer, path):
            append_event(
                writer, scope_id=None, revision=None, at=now, actor=actor, kind=kind, subject_kind="replica",
                subject_id=target.text, subject_hash="",
                details={"kind": target.kind, "endpoint": target.endpoint, "region": target.region, **details},
            )  # fmt: skip
    finally:
        writer.close()


def known_targets(connection: Connection) -> list[Target]:
    """Every target that a copy of this file was begun to, the latest first."""
    found: dict[Target, None] = {}
    for row in reversed(_replica_events(connection)):
        if row["kind"] == "replica_started":
            details = json.loads(row["details"])
            found[Target(details["kind"], row["subject_id"], details["endpoint"], details["region"])] = None
    return list(found)


def copies_elsewhere(connection: Connection) -> tuple[str, ...]:
    """The targets that may hold older states of the file: all that are known.

    A folder that is not there may be on a disk that is not attached, and an empty one the place where that disk belongs.
    """
    return tuple(target.text for target in known_targets(connection))


def is_clock_set_back(connection: Connection) -> bool:
    """Does an event since the last copy was begun say that the clock was set back? Then times don't tell what came first."""
    starts = [row["seq"] for row in _replica_events(connection) if row["kind"] == "replica_started"]
    steps = connection.execute(load("read_clock_steps"), {"since": max(starts, default=0)})
    return steps.fetchone() is not None


def _replica_events(connection: Connection) -> list[Any]:
    return connection.execute(load("read_replica_events")).fetchall()


def targets_of(path: Path) -> list[Target]:
    """As :func:`known_targets`, of a file that nobody has opened here."""
    with current_reader(path) as reader:
        return known_targets(reader)


def latest_target(path: Path) -> Target:
    """The target of the copy that was begun last. Raises InputError when none ever was."""
    found = targets_of(path)
    if not found:
        raise InputError("No copy of this file was ever begun. Run `arr replica start FOLDER`, or name the target.")
    return found[0]
