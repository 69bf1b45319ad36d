"""The audit log as seen from outside the file: anchors, and the log written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arr_sql.core.connection import read_transaction, store_errors, write_transaction
from arr_sql.database.operator import OperatorMethods
from arr_sql.errors import InputError, StoreBusy, StoreFull, StoreReadOnly
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.scope_store import ensure_scope

if TYPE_CHECKING:
    from arr_sql.memory.audit_anchor import Anchor
    from arr_sql.memory.audit_verify import VerifyReport


class AuditMethods(OperatorMethods):
    """Proving the log to someone who does not trust the file."""

    def verify_audit(self, anchors: Sequence[Anchor] = ()) -> VerifyReport:
        """Check the whole file's audit chain and the rows it vouches for; with anchors, its end and its identity too."""
        from arr_sql.memory.audit_anchor import anchor_damages, database_hash_at, with_last_event
        from arr_sql.memory.audit_verify import verify_audit

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            report = verify_audit(reader)
            found = with_last_event(anchor_damages(anchors, database_hash_at(reader)), report.last)
        damages = sorted((*found, *report.damages), key=lambda item: (item.seq is None, item.seq or 0))
        return replace(report, damages=tuple(damages))

    def anchor_audit(self, path: Path | None) -> tuple[Anchor, bool]:
        """The log's head now, appended to the file at ``path`` (None: only made); False when the file says it already.

        Raises StateError when the file holds an anchor that this log contradicts: it is never overwritten.
        """
        from arr_sql.memory.audit_anchor import add_anchor, database_hash_at, make_anchor

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            anchor = make_anchor(reader, self._clock())
            return anchor, add_anchor(path, anchor, database_hash_at(reader)) if path is not None else True

    def note_tool_call(self, tool: str, *, refused: bool, details: Mapping[str, Any]) -> bool:
        """Append the event of a call of a server's tool; False where the file can't be written or is kept locked."""
        try:
            writer = self._write()
            with write_transaction(writer, self.path):
                row = ensure_scope(writer, self.scope, self.actor, self._clock())
                append_event(
                    writer, scope_id=row.id, revision=row.revision, at=self._clock(), actor=self.actor,
                    kind="tool_refused" if refused else "tool_called", subject_kind="tool", subject_id=tool,
                    subject_hash="", details=details,
                )  # fmt: skip
        except (StoreReadOnly, StoreFull, StoreBusy):
            return False
        return True

    def export_audit(self, path: Path) -> int:
        """Write every event to a new file, one line of canonical JSON each; how many. Raises InputError if it exists."""
        from arr_sql.memory.audit_anchor import export_lines

        reader, count = self._reader("main"), 0
        try:
            file = open(path, "x", encoding="utf-8", newline="\n")
        except FileExistsError:
            raise InputError(f"'{path}' exists already. Name a new file: an export is never overwritten.") from None
        except OSError as error:
            raise InputError(
                f"'{path}' can't be written ({error.strerror}). Name a file in a folder you may write to."
            ) from None
        with file, store_errors(self.path), read_transaction(reader):
            for line in export_lines(reader):
                file.write(line)
                count += 1
        return count
