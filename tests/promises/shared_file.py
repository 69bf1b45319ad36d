"""Several processes on one file: starting them, telling them to stop, killing them, and what must be true afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arr_sql.core.connection import open_reader
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, FakeEmbedder

ROOT = Path(__file__).resolve().parents[2]
WRITES = ("save", "save", "publish", "ingest")


def new_file(folder: Path, scope: ScopeKey = SCOPE) -> Path:
    """An empty database in a project folder."""
    path = folder / ".arr" / "arr.db"
    ResearchDatabase.create(path, scope, project_folder=folder, actor="tester", embedder=FakeEmbedder).close()
    return path


class Process:
    """One :mod:`tests.promises.worker`. It waits for :meth:`go` with its file open and its modules loaded."""

    def __init__(
        self, path: Path, name: str, steps: Sequence[str], *, pause: float = 0, is_synced: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.ledger = name, path.with_name(f"{name}.ledger")
        given = {"path": str(path), "scope": SCOPE.model_dump(), "name": name, "ledger": str(self.ledger),
                 "steps": steps, "pause": pause, "is_synced": is_synced}  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.promises.worker", json.dumps(given)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(environment or {})},
        )  # fmt: skip
        self.is_ready = self.is_working = False

    def wait_until_ready(self) -> None:
        """Its modules are loaded and its file is open."""
        assert self.process.stdout is not None
        if not self.is_ready:
            assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]
            self.is_ready = True

    def go(self) -> None:
        """Let it work, if it does not yet."""
        self.wait_until_ready()
        if not self.is_working:
            self.is_working = True
            self._say()

    def stop(self) -> None:
        """Let it finish its step and end; it must end well and have nothing to complain of."""
        with contextlib.suppress(OSError):  # it has ended already: its own words say why
            self._say()
        _, errors = self.process.communicate(timeout=120)
        assert (self.process.returncode, errors) == (0, ""), (
            f"{self.name} ended with {self.process.returncode}: {errors}"
        )

    def kill(self) -> None:
        """SIGKILL, or TerminateProcess. It must have been alive: an error of its own would hide in a kill."""
        was_alive = self.process.poll() is None
        self.process.kill()
        _, errors = self.process.communicate(timeout=120)
        assert was_alive and errors == "", f"{self.name} had ended before it was killed: {errors}"

    def acknowledged(self) -> list[dict[str, Any]]:
        """What stands in its ledger; a line that a kill cut off was not acknowledged."""
        if not self.ledger.exists():
            return []
        whole, _, _ = self.ledger.read_bytes().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def _say(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def all_ended(processes: Sequence[Process]) -> Iterator[None]:
    """Whatever happens in the block, none of these, and of those that are added meanwhile, outlives it."""
    try:
        yield
    finally:
        for process in processes:
            process.process.kill()
            process.process.communicate()


def losses(path: Path, acknowledged: Iterable[dict[str, Any]]) -> list[str]:
    """Acknowledged steps of which the file knows nothing. Read the ledgers before the file."""
    reader = open_reader(path)
    try:
        rows = reader.execute("SELECT memory_id, status, retired_revision FROM memory").fetchall()
        memories = {row["memory_id"] for row in rows}
        published = {row["memory_id"] for row in rows if row["status"] == "published"}
        files = {tuple(row) for row in reader.execute("SELECT source_ref, content_hash FROM source_version")}
        retrievals = {tuple(row) for row in reader.execute("SELECT retrieval_id, n_evidence FROM retrieval")}
    finally:
        reader.close()
    lost = []
    for done in acknowledged:
        if "memory" in done and done["memory"] not in memories:
            lost.append(f"memory {done['memory']}")
        elif "published" in done and done["published"] not in published:
            lost.append(f"publication of {done['published']}")
        elif "file" in done and (done["file"], done["hash"]) not in files:
            lost.append(f"{done['file']} as it was")
        elif "retrieval" in done and (done["retrieval"], done["evidence"]) not in retrievals:
            lost.append(f"retrieval {done['retrieval']}")
    return lost


def incomplete_records(path: Path) -> list[str]:
    """Retrieval records without all of their evidence rows, or without the event that vouches for them."""
    reader = open_reader(path)
    try:
        return [
            row[0]
            for row in reader.execute(
                "SELECT r.retrieval_id FROM retrieval AS r WHERE r.n_evidence <> "
                "(SELECT count(*) FROM retrieval_evidence AS e WHERE e.retrieval = r.id) OR 1 <> "
                "(SELECT count(*) FROM audit_event AS a WHERE a.subject_kind = 'retrieval' AND a.kind = 'retrieval' "
                "AND a.scope_id = r.scope_id AND a.subject_id = r.retrieval_id AND a.subject_hash = r.record_hash)"
            )
        ]
    finally:
        reader.close()


def problems(path: Path) -> list[str]:
    """What `arr db check` finds, the audit chain and every row included."""
    return [
        f"{item.check}: {problem}" for item in check_store(path).findings if not item.passed
        for problem in item.problems or ("failed",)
    ]  # fmt: skip


def counts(acknowledged: Iterable[dict[str, Any]]) -> str:
    """How many steps of each kind."""
    found = Counter(done["step"] for done in acknowledged)
    return ", ".join(f"{name} {count:,}" for name, count in sorted(found.items())) or "nothing"
