"""The operator's side: status, audit, checks, the scopes of the whole file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from arr_sql.core.connection import read_transaction, store_errors
from arr_sql.core.research_models import AuditEvent
from arr_sql.core.statements import load
from arr_sql.database.sources import SourceMethods
from arr_sql.index.text_index import stale_text_indexes
from arr_sql.ingest.roots import is_other_branch
from arr_sql.memory.audit_log import list_events
from arr_sql.memory.scope_store import read_scope

if TYPE_CHECKING:
    from arr_sql.memory.store_check import CheckReport


class OperatorMethods(SourceMethods):
    """Looking after the file."""

    def status(self) -> dict[str, Any]:
        """What this scope holds and how each channel stands, as plain values."""
        from arr_sql.index.vector_state import vector_state

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            row = reader.execute(load("read_status"), self.scope.bindings()).fetchone()
            vectors = vector_state(reader, self.scope)
            stale = sorted(stale_text_indexes(reader, self.scope))
        held = {name: row[name] for name in row.keys()} if row else {}  # noqa: SIM118  sqlite3.Row has no items()
        for name in ("memories", "left_out"):
            held[name] = json.loads(held.get(name) or "{}")
        return {
            "scope": self.scope.model_dump(), "database": str(self.path), **held,
            "roots": [
                {"path": str(root.path), "file": root.only_file, "other_branch": is_other_branch(root, self.scope),
                 "missing": not root.path.is_dir()}
                for root in self.roots()
            ],
            "stale_indexes": stale,
            "vectors": [
                {"model": item["model_id"], "fingerprint": item["fingerprint"], "embedded": item["embedded"],
                 "memories_embedded": item["memories_embedded"]}
                for item in vectors if item["model"] is not None
            ],
            "file_bytes": self.path.stat().st_size,
        }  # fmt: skip

    def audit_events(self, kind: str | None = None, limit: int = 50) -> list[AuditEvent]:
        """The last audit events of this scope, newest first."""
        with store_errors(self.path):
            return list_events(self._reader("main"), self.scope, kind=kind, limit=limit)

    def event_kinds(self) -> list[str]:
        """Which kinds of events this scope has."""
        reader = self._reader("main")
        with store_errors(self.path):
            row = read_scope(reader, self.scope)
            values = {"scope_id": None if row is None else row.id}
            return [item["kind"] for item in reader.execute(load("read_event_kinds"), values)]

    def check(self) -> CheckReport:
        """SQLite's integrity, foreign keys, schema, FTS5, index = content, audit. Changes nothing."""
        from arr_sql.memory.store_check import check_store

        return check_store(self.path)

    def scopes(self) -> list[dict[str, Any]]:
        """Every scope of the file with what it holds and was opened from: for the operator of the whole file."""
        with store_errors(self.path):
            rows = [dict(row) for row in self._reader("main").execute(load("read_scopes"))]
        return [{**row, "parent": json.loads(row["parent"]) if row["parent"] else None} for row in rows]
