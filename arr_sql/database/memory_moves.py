"""Memories that come from somewhere else: files, and other scopes of this file. Each by a person's explicit step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from arr_sql.core.connection import read_transaction, store_errors
from arr_sql.core.research_models import MemoryVersion, ResearchMemory, ScopeKey
from arr_sql.database.memories import MemoryMethods
from arr_sql.memory.scope_store import open_scope

if TYPE_CHECKING:
    from arr_sql.memory.memory_files import FileRecord, Problem
    from arr_sql.memory.memory_import import ImportResult
    from arr_sql.memory.promotion import PromotionPreview


class MemoryMoveMethods(MemoryMethods):
    """Import, export, opening a scope from another, and promotion. What is refused leaves an event."""

    def exported_memories(
        self, *, with_history: bool = False
    ) -> tuple[list[ResearchMemory], dict[str, list[MemoryVersion]] | None]:
        """All live memories, and with ``with_history`` every version of each: what `arr memory export` writes.

        A case that bears risk says so in its metadata (``risk_carried``), so that it does wherever it is taken in.
        """
        from arr_sql.memory.approvals import carrying, risk_of
        from arr_sql.memory.research_store import list_memories, read_history

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            memories = [
                memory.model_copy(
                    update={"metadata": carrying(memory.metadata, risk_of(reader, self.scope, memory.memory_id))}
                )
                if memory.kind == "research_case" else memory
                for memory in list_memories(reader, self.scope)
            ]  # fmt: skip
            if not with_history:
                return memories, None
            return memories, {m.memory_id: read_history(reader, self.scope, m.memory_id) for m in memories}

    def import_memories(
        self, records: Sequence[FileRecord], problems: Sequence[Problem] = (), *, origin: str, keep_status: bool = False,
        skip_existing: bool = False, reason: str = "",
    ) -> ImportResult:  # fmt: skip
        """Add all memories of the files, or none. Raises ImportInvalid with the place of each problem."""
        from arr_sql.memory.memory_import import import_memories

        with self._change(origin, "import") as writer:
            return import_memories(
                writer, self.scope, records, problems, origin=origin, keep_status=keep_status,
                skip_existing=skip_existing, actor=self.actor, reason=reason, now=self._clock(),
            )  # fmt: skip

    def open_scope_from(self, parent: ScopeKey) -> int:
        """Open this scope from ``parent`` as it stands; the parent's revision. Nothing is copied.

        Raises InputError when the file holds no such parent, StateError when this scope is open already.
        """
        with self._change(str(parent), "open", "scope") as writer:
            return open_scope(writer, self.scope, parent, self.actor, self._clock())[1]

    def preview_promotion(self, memory_id: str, target: ScopeKey, *, new_id: str | None = None) -> PromotionPreview:
        """What promoting a memory to ``target`` would do: conflicts, difference, and why not. Changes nothing."""
        from arr_sql.memory.promotion import preview_promotion

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            return preview_promotion(reader, self.scope, memory_id, target, self._clock(), new_id)

    def promote_memory(self, preview: PromotionPreview, reason: str = "") -> ResearchMemory:
        """Write what the preview shows: a candidate in the other scope, an event in both.

        Raises StateError when it may not be done, or when either scope is no longer as it was shown.
        """
        from arr_sql.memory.promotion import promote

        with self._change(preview.memory.memory_id, "promote") as writer:
            return promote(writer, preview, actor=self.actor, reason=reason, now=self._clock())

    def merge_preview(self, origin: ScopeKey) -> list[PromotionPreview]:
        """What promoting each published memory of ``origin`` to this scope would do, but for those that are here."""
        from arr_sql.memory.promotion import merge_preview

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            return merge_preview(reader, origin, self.scope, self._clock())
