"""The sample project that ``arr demo`` indexes: a bilingual research project in four scopes that differ in one value.

The files under ``project/`` are data: they are copied, read and indexed, never imported.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arr_sql.core.research_models import SCOPE_COLUMNS, ScopeKey
from arr_sql.core.router_models import RouterResult
from arr_sql.database import ResearchDatabase
from arr_sql.errors import ModelError
from arr_sql.ingest.sync_state import SyncSummary

FOLDER = Path(__file__).resolve().parent
ACTOR = "demo"


@dataclass(frozen=True)
class DemoScope:
    """One scope of the sample project and the folder that holds its files."""

    folder: str
    key: ScopeKey


@dataclass(frozen=True)
class Question:
    """One question, the scope it is asked in, the channel without which its answer is not found, and that answer."""

    query: str
    scope: str
    needs: str
    why: str
    expect: tuple[str, ...]


def _values(name: str) -> Any:
    return json.loads((FOLDER / name).read_text("utf-8"))


def demo_scopes() -> list[DemoScope]:
    """The scopes, the one that is asked first."""
    return [
        DemoScope(v["folder"], ScopeKey(**{name: v[name] for name in SCOPE_COLUMNS})) for v in _values("scopes.json")
    ]


def questions() -> list[Question]:
    """The six questions."""
    return [
        Question(v["query"], v["scope"], v["needs"], v["why"], tuple(v["expect"])) for v in _values("questions.json")
    ]


class DemoProject:
    """The sample project in a folder of its own, one database file for all scopes. Close it when done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / ".arr" / "arr.db"
        self.scopes = {scope.folder: scope for scope in demo_scopes()}
        self._open: dict[str, ResearchDatabase] = {}

    def __enter__(self) -> DemoProject:
        return self

    def __exit__(self, *_: object) -> None:
        for database in self._open.values():
            database.close()
        self._open.clear()

    def of(self, folder: str) -> ResearchDatabase:
        """The database seen from one scope."""
        if folder not in self._open:
            scope = self.scopes[folder]
            make = ResearchDatabase if self.database.exists() else ResearchDatabase.create
            self._open[folder] = make(self.database, scope.key, project_folder=self.folder / folder, actor=ACTOR)
        return self._open[folder]

    def build(self, progress: Callable[[int, int], None] = lambda done, total: None) -> dict[str, SyncSummary]:
        """Copy the files, index every scope, add and publish the memories."""
        summaries: dict[str, SyncSummary] = {}
        for number, name in enumerate(self.scopes):
            # pip compiles shipped .py files on installation: those are not part of the project.
            shutil.copytree(FOLDER / "project" / name, self.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            summaries[name] = self.of(name).add(self.folder / name)
            progress(number + 1, len(self.scopes))
        for value in _values("memories.json"):
            status = value.pop("status")
            database = self.of(value.pop("scope"))
            memory = database.add_memory(**{**value, "source_refs": tuple(value["source_refs"])})
            if status in ("published", "revoked"):
                database.set_memory_status(memory.memory_id, status, "part of the sample project")
        return summaries

    def embed(self, progress: Callable[[int, int], None] = lambda done, total: None) -> str | None:
        """Embed all scopes. None when done, else why there are no vectors."""
        try:
            for name in self.scopes:
                self.of(name).embed(progress=progress)
        except ModelError as error:
            return str(error)
        return None

    def ask(self, question: Question, **options: Any) -> RouterResult:
        """Search in the question's scope."""
        return self.of(question.scope).search(question.query, **options)
