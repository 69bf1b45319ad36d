"""Research memories of the scope."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import Connection, read_transaction, store_errors, write_transaction
from arr_sql.core.research_models import MemoryKind, MemoryStatus, MemoryVersion, ResearchMemory
from arr_sql.database.base import DatabaseBase
from arr_sql.errors import ArrError, InputError, StateError
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.scope_store import read_scope


class MemoryMethods(DatabaseBase):
    """The life of memories: adding, editing, every change of status, relations, and reading them with their history."""

    def add_memory(self, **values: Any) -> ResearchMemory:
        """Store a candidate: ``title``, ``content``, ``kind`` and the other fields of ResearchMemory."""
        from arr_sql.memory.research_store import add_memory, make_memory

        with self._change(values.get("memory_id"), "add") as writer:
            memory = make_memory(self.scope, self._clock(), **values)
            return add_memory(writer, memory, actor=self.actor, now=self._clock())

    def set_memory_status(self, memory_id: str, status: MemoryStatus, reason: str = "") -> ResearchMemory:
        """Publish, revoke or otherwise move a memory. Raises StateError for a step that is not allowed."""
        return self.set_memory_statuses([(memory_id, status)], reason)[0]

    def set_memory_statuses(self, steps: Sequence[tuple[str, MemoryStatus]], reason: str = "") -> list[ResearchMemory]:
        """Several steps, or none of them: two memories marked as in conflict, a conflict resolved."""
        return self._set_statuses(steps, reason, None)

    def resolve_conflict(self, winner: str, losers: Sequence[str] = (), reason: str = "") -> list[ResearchMemory]:
        """Of memories marked as in conflict: ``losers`` are deprecated, ``winner`` is published again, or nothing happens."""
        steps: list[tuple[str, MemoryStatus]] = [(name, "deprecated") for name in dict.fromkeys(losers)]
        return self._set_statuses([*steps, (winner, "published")], reason, "conflict")

    def _set_statuses(
        self, steps: Sequence[tuple[str, MemoryStatus]], reason: str, only_from: MemoryStatus | None
    ) -> list[ResearchMemory]:
        from arr_sql.memory.lifecycle import require_status
        from arr_sql.memory.research_store import read_memory, set_status

        writer = self._ready_writer()
        asked = steps[0]
        made: list[ResearchMemory] = []
        try:
            with write_transaction(writer, self.path):
                for asked in steps:
                    if only_from is not None:
                        require_status(read_memory(writer, self.scope, asked[0]), only_from)
                    made.append(
                        set_status(writer, self.scope, *asked, actor=self.actor, reason=reason, now=self._clock())
                    )
        except (StateError, InputError) as refusal:
            self._note_refusal(*asked, refusal)
            raise
        return made

    def edit_memory(
        self, memory_id: str, *, expected_revision: int | None = None, reason: str = "", **changes: Any
    ) -> ResearchMemory:
        """A new version of a candidate or verified memory, as a candidate: ``title=``, ``content=`` and so on.

        ``expected_revision`` is the revision that was read: MemoryChanged is raised, and nothing written, when somebody
        else was quicker. None takes ``conflict_key`` or ``expires_at`` away.
        """
        from arr_sql.memory.memory_edit import edit_memory

        with self._change(memory_id, "edit") as writer:
            return edit_memory(
                writer, self.scope, memory_id, changes, expected_revision=expected_revision, actor=self.actor,
                reason=reason, now=self._clock(),
            )  # fmt: skip

    def link_memory(
        self, memory_id: str, *others: str, remove: Sequence[str] = (), expected_revision: int | None = None
    ) -> ResearchMemory:
        """Relate a memory to ``others`` of this scope, and no longer to ``remove``. Its words and status stay."""
        from arr_sql.memory.memory_edit import link_memory

        with self._change(memory_id, "link") as writer:
            return link_memory(
                writer, self.scope, memory_id, add=others, remove=remove, expected_revision=expected_revision,
                actor=self.actor, now=self._clock(),
            )  # fmt: skip

    def renew_memory(self, memory_id: str, expires_at: str, reason: str = "") -> ResearchMemory:
        """Publish a memory that ran out, with a later ``expires_at``."""
        from arr_sql.memory.memory_edit import renew_memory

        with self._change(memory_id, "renew") as writer:
            return renew_memory(
                writer, self.scope, memory_id, expires_at, actor=self.actor, reason=reason, now=self._clock()
            )

    @contextlib.contextmanager
    def _change(self, name: object, asked: str, kind: str = "memory") -> Iterator[Connection]:
        """One write transaction; what is refused in it leaves an event. ``name`` is whatever the caller gave."""
        writer = self._ready_writer()
        try:
            with write_transaction(writer, self.path):
                yield writer
        except (StateError, InputError) as refusal:
            self._note_refusal(name, asked, refusal, kind)
            raise

    def _note_refusal(self, name: object, asked: str, refusal: ArrError, kind: str = "memory") -> None:
        """A refused step leaves an event too; nothing else is written. A scope that is not open has no log for it."""
        subject = sha256_text(name)[:16] if isinstance(name, str) else "(unknown)"
        writer = self._write()
        with write_transaction(writer, self.path):
            scope_row = read_scope(writer, self.scope)
            if scope_row is not None:
                append_event(
                    writer, scope_id=scope_row.id, revision=scope_row.revision, at=self._clock(), actor=self.actor.strip() or "unknown",
                    kind=f"{kind}_refused", subject_kind=kind, subject_id=subject, subject_hash="",
                    details={"asked": asked, "error": type(refusal).__name__},
                )  # fmt: skip

    def memory(self, memory_id: str) -> ResearchMemory:
        """The live version of one memory. Raises InputError when there is none."""
        from arr_sql.memory.research_store import read_memory

        with store_errors(self.path):
            return read_memory(self._reader("main"), self.scope, memory_id)

    def memories(
        self, status: MemoryStatus | None = None, *, kind: MemoryKind | None = None, since: datetime | None = None
    ) -> list[ResearchMemory]:
        """Live memories, newest change first; of one status or kind, or changed at ``since`` or later."""
        from arr_sql.memory.research_store import list_memories

        with store_errors(self.path):
            return list_memories(self._reader("main"), self.scope, status, kind=kind, since=since)

    def memory_history(self, memory_id: str) -> list[MemoryVersion]:
        """Every version of one memory, oldest first. Raises InputError when there is none."""
        from arr_sql.memory.research_store import read_history

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            return read_history(reader, self.scope, memory_id)
