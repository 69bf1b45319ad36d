"""Files made from a store: restored to a moment, and read copies that follow. Each is checked before it gets its name.

As every copy here (:mod:`arr_sql.memory.store_copy`), a file is made beside its place and takes its name in one step, after
`arr db check` with the audit chain: killed at any instant, there is a whole checked file or none. Nothing is written into
it, so its history is that of the source, event for event, up to where it ends.

A read copy is marked so that SQLite itself refuses to write to it: what somebody stored there would be gone with the next
update.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from arr_sql.core.byte_scan import SIDE_FILES
from arr_sql.core.clock import from_text, to_text
from arr_sql.core.connection import read_transaction
from arr_sql.core.migrations import current_reader
from arr_sql.errors import InputError, ReplicaError, StoreDamaged
from arr_sql.memory.audit_anchor import anchor_damages, database_hash_at
from arr_sql.memory.audit_log import last_event
from arr_sql.memory.store_copy import bring_up_to_date, is_read_copy, mark_read_copy, new_store, require_whole
from arr_sql.replica.copying import FILES, OLD_FILES, is_set_aside
from arr_sql.replica.engine import StoredFile, ask, list_store
from arr_sql.replica.status import oldest_state
from arr_sql.replica.target import Target

if TYPE_CHECKING:
    from arr_sql.memory.audit_anchor import Anchor

RESTORE_SECONDS = 6 * 3600.0
_PART = re.compile(r"[0-9]+\.part(-wal|-shm|-journal|-lock|\.tmp)?")


@dataclass(frozen=True)
class Restored:
    """A checked file. ``copied_at`` is when its newest transaction was taken: what was written later is not in it.

    ``events`` and ``last_event_at`` are of its audit log; ``missing`` says which anchored events lie behind its end.
    """

    file: str
    bytes: int
    transaction: int
    copied_at: str
    events: int
    last_event_at: str | None
    missing: tuple[str, ...] = ()


def restore_store(
    target: Target, output: Path, *, at: datetime | None = None, anchors: Sequence[Anchor] = ()
) -> Restored:
    """Make ``output`` from the store, as of ``at`` or the newest state, and check it.

    Raises InputError when ``output`` exists or the store holds nothing of that time, ReplicaError when the store can't be
    read, StoreDamaged when the file does not pass the checks or contradicts an anchor.
    """
    with new_store(output) as made:
        restored = _fetch(target, made, at)
        bring_up_to_date(made)
        require_whole(made, Path(target.text))
        return _described(made, output, restored, anchors)


def follow_store(
    target: Target, output: Path, *, every: float, tell: Callable[[Restored], None], rounds: int | None = None
) -> None:
    """Keep a read copy at ``output`` as new as the store, until KeyboardInterrupt; asked ``every`` seconds.

    ``rounds`` ends it after so many askings. Each new state is a whole new file that takes the name of the one before;
    who has that open goes on reading it. Raises InputError when ``output`` is no read copy, so is not replaced.
    """
    held: int | None = None
    _tidy(output)
    for number in range(rounds) if rounds is not None else iter(int, 1):
        if number or held is not None:
            time.sleep(every)
        if output.exists() and not is_read_copy(output):
            raise InputError(f"'{output}' is not a read copy of a store. It is not replaced; name another file.")
        files = _stored_files(output, target)
        if files[-1].last == held:
            continue
        made = output.with_name(f".{output.name}.{os.getpid()}.part")
        try:
            restored = _fetch(target, made, None)
            require_whole(made, Path(target.text))
            described = _described(made, output, restored, ())
            mark_read_copy(made)
            try:
                made.replace(output)
            except PermissionError:  # Windows: somebody has the file open
                raise ReplicaError(f"'{output}' is open elsewhere and can't be replaced here. Close it.") from None
        finally:
            for ending in (*SIDE_FILES, "-lock", ".tmp"):
                made.with_name(made.name + ending).unlink(missing_ok=True)
        held = files[-1].last
        tell(described)


def _tidy(output: Path) -> None:
    """Remove what an earlier run, killed in the middle, was making: a copy of everything under a name that nobody looks at."""
    if output.parent.is_dir():
        for item in list(output.parent.iterdir()):
            if item.name.startswith(f".{output.name}.") and _PART.fullmatch(item.name.removeprefix(f".{output.name}.")):
                with contextlib.suppress(PermissionError):  # Windows: it is being made
                    item.unlink()


def _stored_files(path: Path, target: Target) -> list[StoredFile]:
    """What the store holds. Raises InputError when that is nothing."""
    files = list_store(path.resolve(), target)
    if files:
        return files
    if is_set_aside(target):
        raise InputError(
            f"A purge of {target.text} was interrupted, and the copy is set aside in it. Run `arr replica purge` again where the"
            f" file is; if that is lost, rename '{OLD_FILES}' to '{FILES}' there."
        )
    raise InputError(f"There is no copy in {target.text}. Was `arr replica start` run with this target?")


def _fetch(target: Target, made: Path, at: datetime | None) -> tuple[int, datetime]:
    """Let the engine make the file; its newest transaction and when that was taken."""
    place = made.resolve()
    files = _stored_files(place, target)
    options = ["-json", "-o", str(place)]
    if at is not None:
        oldest = oldest_state(files)
        if at < oldest:
            raise InputError(f"The store goes back to {to_text(oldest)}, not to {to_text(at)}. Name a later time.")
        if at < files[-1].at:  # else the newest state is the state of that time
            options += ["-timestamp", to_text(at)]
    try:
        said = json.loads(ask(place, target, "restore", *options, timeout=RESTORE_SECONDS))
    finally:
        place.with_name(place.name + ".tmp").unlink(missing_ok=True)
    transaction = int(said["txid"], 16)
    moments = [file.at for file in files if file.last == transaction]
    return transaction, min(moments) if moments else files[-1].at


def _described(made: Path, output: Path, restored: tuple[int, datetime], anchors: Sequence[Anchor]) -> Restored:
    with current_reader(made) as reader, read_transaction(reader):
        last = last_event(reader)
        damages = anchor_damages(anchors, database_hash_at(reader))
    contradictions = [item for item in damages if item.kind != "tail_missing"]
    if contradictions:
        raise StoreDamaged(
            f"The store's log is not the one that was anchored ({contradictions[0].subject}). Nothing was kept."
        )
    return Restored(
        str(output), made.stat().st_size, restored[0], to_text(restored[1]), last["seq"] if last else 0,
        to_text(from_text(last["at"])) if last else None, tuple(item.subject for item in damages),
    )  # fmt: skip
