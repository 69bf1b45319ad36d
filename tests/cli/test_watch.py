"""``arr sync --watch``: each change is synced soon, nothing is synced for its own writes, and Ctrl-C is a clean end."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from arr_sql.cli import _watch
from arr_sql.ingest.roots import RootRow
from tests.cli.support import ARR, arr, environment

needs_watcher = pytest.mark.skipif(importlib.util.find_spec("watchfiles") is None, reason="needs the extra `watch`")


class Watching:
    """A running ``arr sync --watch --json``."""

    def __init__(self, project: Path) -> None:
        self.process = subprocess.Popen(
            [*ARR, "sync", "--watch", "--no-embed", "--json"], cwd=project, env=environment(ARR_ACTOR="tester"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def next(self, seconds: float = 60) -> dict[str, Any] | None:
        """The next sync's summary, None when there is none for so long."""
        try:
            return dict(json.loads(self._lines.get(timeout=seconds))["syncs"][0])
        except Empty:
            return None

    def stop(self) -> str:
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(60) == 0
        assert self.process.stderr is not None
        return self.process.stderr.read()


@pytest.fixture
def watching(project: Path) -> Iterator[Watching]:
    """Started, and past its first sync: from then on no change is missed."""
    started = Watching(project)
    assert started.next() is not None
    yield started
    if started.process.poll() is None:
        started.process.kill()
    started.process.wait()
    for stream in (started.process.stdout, started.process.stderr):
        assert stream is not None
        stream.close()


@needs_watcher
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to one process")
def test_changes_are_synced_and_ctrl_c_is_the_end(watching: Watching, project: Path) -> None:
    """A new file, a burst of edits (one sync), a deletion; nothing for tool folders; exit code 0 and no traceback."""
    (project / "notes/new.md").write_text("zebra\n", "utf-8")
    done = watching.next()
    assert done is not None and done["added"] == ["notes/new.md"]
    for n in range(5):
        (project / "notes/new.md").write_text(f"zebra {n}\n" * (n + 2), "utf-8")
        (project / f"notes/n{n}.md").write_text(f"{n}\n", "utf-8")
    done = watching.next()
    assert done is not None and (done["changed"], len(done["added"])) == (["notes/new.md"], 5)
    (project / "notes/new.md").unlink()
    done = watching.next()
    assert done is not None and done["removed"] == ["notes/new.md"]
    (project / "notes/__pycache__").mkdir()
    (project / "notes/__pycache__/x.py").write_text("x", "utf-8")
    assert watching.next(4) is None
    said = watching.stop()
    assert said == "Watching. Ctrl-C ends it.\nStopped watching. What was taken in is kept.\n"
    assert arr("status", "--json", cwd=project).json["sources"] == 4 + 5


def test_what_a_sync_can_see(tmp_path: Path) -> None:
    """Files of the roots; not the store, not tool folders, not a neighbour of a root that is one file."""
    folder, store = tmp_path.resolve(), tmp_path.resolve() / "lab.db"
    whole = RootRow(1, "", folder / "a", None, None, None)
    single = RootRow(2, "", folder / "b", "x.md", None, None)
    seen = {
        name: _watch.is_relevant(str(folder / name), [whole, single], store)
        for name in (
            "a/n.md",
            "a/in/n.md",
            "a/.git/HEAD",
            "a/in/node_modules/m.js",
            "b/x.md",
            "b/y.md",
            "c/z.md",
            "lab.db",
            "lab.db-wal",
        )
    }
    assert [name for name, is_seen in seen.items() if is_seen] == ["a/n.md", "a/in/n.md", "b/x.md"]


def test_without_the_extra_the_message_says_what_to_do(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is synced, and both ways out are named."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    ran = arr("sync", "--watch", cwd=project)
    assert (ran.code, ran.out) == (1, "") and "pip install 'arr-sql[watch]'" in ran.err and "`arr sync`" in ran.err
