"""Research memories of the scope."""

from __future__ import annotations

from typing import Any

from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import store_errors, write_transaction
from arr_sql.core.research_models import MemoryStatus, ResearchMemory
from arr_sql.database.base import DatabaseBase
from arr_sql.errors import ArrError, InputError, StateError
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.research_store import add_memory, list_memories, make_memory, read_memory, set_status
from arr_sql.memory.scope_store import read_scope


class MemoryMethods(DatabaseBase):
    """Adding, publishing, revoking and reading memories."""

    def add_memory(self, **values: Any) -> ResearchMemory:
        """Store a candidate: ``title``, ``content``, ``kind`` and the other fields of ResearchMemory."""
        memory = make_memory(self.scope, self._clock(), **values)
        writer = self._ready_writer()
        with write_transaction(writer, self.path):
            return add_memory(writer, memory, actor=self.actor, now=self._clock())

    def set_memory_status(self, memory_id: str, status: MemoryStatus, reason: str = "") -> ResearchMemory:
        """Publish, revoke or otherwise move a memory. Raises StateError for a step that is not allowed."""
        writer = self._ready_writer()
        try:
            with write_transaction(writer, self.path):
                return set_status(
                    writer, self.scope, memory_id, status, actor=self.actor, reason=reason, now=self._clock()
                )
        except (StateError, InputError) as refusal:
            self._note_refusal(memory_id, status, refusal)
            raise

    def _note_refusal(self, memory_id: str, status: MemoryStatus, refusal: ArrError) -> None:
        """A refused step leaves an event too; nothing else is written."""
        writer = self._write()
        with write_transaction(writer, self.path):
            scope_row = read_scope(writer, self.scope)
            if scope_row is not None:
                append_event(
                    writer, scope_id=scope_row.id, revision=scope_row.revision, at=self._clock(), actor=self.actor.strip() or "unknown",
                    kind="memory_refused", subject_kind="memory", subject_id=sha256_text(memory_id)[:16], subject_hash="",
                    details={"asked": status, "error": type(refusal).__name__},
                )  # fmt: skip

    def memory(self, memory_id: str) -> ResearchMemory:
        """The live version of one memory. Raises InputError when there is none."""
        with store_errors(self.path):
            return read_memory(self._reader("main"), self.scope, memory_id)

    def memories(self, status: MemoryStatus | None = None) -> list[ResearchMemory]:
        """Live memories, newest change first."""
        with store_errors(self.path):
            return list_memories(self._reader("main"), self.scope, status)
