"""People around one file: each opens it under their own name, all by one clock that a test sets by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.approval_models import ApprovalDecision, ApprovalPackage, VerificationRun
from arr_sql.core.connection import Connection, open_writer
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from tests.conftest import SCOPE, FakeEmbedder

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
PAYLOAD: dict[str, Any] = {"plan": "fake", "steps": ["一", 2]}
PAYLOAD_HASH = "c83d206cc7edb1296e249c602e092df96f3fe15f9f94def88b32f5c23c753184"
BODY: dict[str, Any] = {
    "environment": "a100", "verification_summary": "Two seeds agree.", "evidence_refs": ["runs/r8.log"],
    "assertions": ["loss below 2.1"], "log_summary": "step 2000 loss 2.04",
}  # fmt: skip


class HandClock:
    """Stands still until it is told to move."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        """Move forward by the arguments of timedelta."""
        self.now += timedelta(**by)


class People:
    """``people.ana`` is the file as opened by ana; ``people("Ana ")`` by whoever that is."""

    def __init__(self, path: Path, scope: ScopeKey = SCOPE) -> None:
        self.path, self.scope, self.clock = path, scope, HandClock()
        self._opened: list[ResearchDatabase] = []

    def __call__(self, name: str, scope: ScopeKey | None = None) -> ResearchDatabase:
        database = ResearchDatabase.create(
            self.path,
            scope or self.scope,
            project_folder=self.path.parent,
            actor=name,
            clock=self.clock,
            embedder=FakeEmbedder,
        )
        database.actor = name  # ResearchDatabase would take the system's user for a blank name
        self._opened.append(database)
        return database

    @cached_property
    def ana(self) -> ResearchDatabase:
        """Who asks."""
        return self("ana")

    @cached_property
    def bo(self) -> ResearchDatabase:
        """Who decides."""
        return self("bo")

    def case(self, memory_id: str = "case-1", **values: Any) -> str:
        """A research_case of ana's."""
        given = {
            "kind": "research_case",
            "title": "Warmup",
            "content": "Run r8 with 2,000 steps.",
            "source_refs": ["a.md"],
        }
        return self.ana.add_memory(memory_id=memory_id, **{**given, **values}).memory_id

    def package(self, package_id: str = "pkg-1", case_id: str = "case-1", risk: Any = "high") -> ApprovalPackage:
        """A package of ana's."""
        return self.ana.request_approval(case_id, PAYLOAD, risk_level=risk, package_id=package_id)

    def approve(self, package_id: str = "pkg-1") -> ApprovalDecision:
        """Bo approves what bo reads."""
        return self.bo.decide_approval(package_id, "approved", payload_hash=self.bo.approval(package_id).payload_hash)

    def receipt(self, token: str, **changes: Any) -> VerificationRun:
        """Ana records a receipt for pkg-1."""
        values = {
            "package_id": "pkg-1", "case_id": "case-1", "payload_hash": PAYLOAD_HASH, "receipt_token": token,
            "receipt_id": "step-1", "status": "passed", "body": BODY, **changes,
        }  # fmt: skip
        return self.ana.record_receipt(values.pop("package_id"), **values)

    def sql(self) -> Connection:
        """A connection that may write anything, with the triggers on."""
        return open_writer(self.path)

    def rows(self, table: str) -> int:
        """How many rows a table holds."""
        connection = self.sql()
        try:
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        finally:
            connection.close()

    def kinds(self) -> list[str]:
        """The kinds of all events of the scope, oldest first."""
        return [event.kind for event in reversed(self.ana.audit_events(limit=10_000))]

    def close(self) -> None:
        """Close what was opened."""
        for database in self._opened:
            database.close()


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    """People around a new file that holds one research_case, ``case-1``."""
    made = People(tmp_path / "lab.db")
    made.case()
    yield made
    made.close()
