"""Fixtures of the whole suite: real files, a real database, five neighbours that differ in one value each."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from arr_sql.core.analysis import query_terms
from arr_sql.core.research_models import SCOPE_COLUMNS, ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.index.embedders.protocol import EmbedderSpec
from tests.browser import find_browser

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", deadline=None, max_examples=5000, suppress_health_check=list(HealthCheck))
settings.load_profile("default")

SCOPE = ScopeKey(
    team_id="vision", project_id="lumen", repository="example.org/lumen", branch="main", experiment_environment="a100"
)


def other_scopes(scope: ScopeKey = SCOPE) -> list[ScopeKey]:
    """Five neighbours, each differing from ``scope`` in one value."""
    return [ScopeKey(**{**scope.model_dump(), name: f"{scope.model_dump()[name]}-2"}) for name in SCOPE_COLUMNS]


class StepClock:
    """A clock that moves one second a reading, so that runs can be compared byte for byte."""

    def __init__(self, start: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)) -> None:
        self.now = start

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class FakeEmbedder:
    """A real embedder in 16 dimensions: hashed terms. Deterministic, the same alone and in a batch."""

    def __init__(self, model_id: str = "fake-16", dimension: int = 16) -> None:
        self.spec = EmbedderSpec(id=model_id, revision="1", dimension=dimension, window_tokens=512)
        self.calls: list[list[str]] = []

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """One unit vector a text."""
        self.calls.append(list(texts))
        return [self._vector(text) for text in texts]

    embed_passages = embed_queries

    def _vector(self, text: str) -> bytes | None:
        if not text.strip():
            return None
        values = [1e-3] * self.spec.dimension
        for term, weight in query_terms(text).items():
            digest = hashlib.sha256(f"{self.spec.id} {term}".encode("utf-8", "surrogatepass")).digest()
            values[digest[0] % self.spec.dimension] += weight * (1 if digest[1] % 2 else -1)
        length = sum(value * value for value in values) ** 0.5
        return struct.pack(f"<{self.spec.dimension}f", *(value / length for value in values))


MakeDatabase = Callable[..., ResearchDatabase]


@pytest.fixture
def make_database(tmp_path: Path) -> Iterator[MakeDatabase]:
    """Make or open a database: ``make_database(scope=..., path=..., folder=...)``; closed at the end of the test."""
    opened: list[ResearchDatabase] = []

    def make(
        scope: ScopeKey = SCOPE, path: Path | None = None, folder: Path | None = None, **options: object
    ) -> ResearchDatabase:
        path = path or tmp_path / ".arr" / "arr.db"
        folder = folder or tmp_path
        folder.mkdir(parents=True, exist_ok=True)
        values: dict[str, object] = {
            "project_folder": folder,
            "actor": "tester",
            "clock": StepClock(),
            "embedder": FakeEmbedder,
        }
        values.update(options)
        database = ResearchDatabase.create(path, scope, **values)
        opened.append(database)
        return database

    yield make
    for database in opened:
        database.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file below ``tmp_path`` (folders are made)."""

    def put(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return put


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine reaches a test."""
    for name in list(os.environ):
        if name.startswith("ARR_") and name not in ("ARR_SQLITE_DRIVER", "ARR_SQLITE_VEC"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ARR_ACTOR", "tester")


@pytest.fixture(scope="session")
def browser_path() -> str:
    """A Chromium, Chrome or Edge on this machine; without one the test can't run."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium, Chrome or Edge on this machine (Debian: apt-get install chromium)")
    return path
