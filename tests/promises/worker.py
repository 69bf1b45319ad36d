"""A process that works on a shared file until it is told to stop, or killed: ``python -m tests.promises.worker JSON``.

It opens the file, prints ``ready`` and waits for a line; the next line (or the end of its input) stops it. After each step
that returned it appends one line to its own ledger, synced to the disk unless ``is_synced`` is false: what stands there was
acknowledged, whatever happened to the process afterwards. :mod:`tests.promises.shared_file` starts it and reads the ledger.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode
from arr_sql.database import ResearchDatabase
from tests.conftest import FakeEmbedder

WORDS = [f"word{number}" for number in range(400)] + ["router", "budget", "学习率", "lr_decay"]
PLAN: Any = {"tool_rounds": [["bm25", "research-memory", "vector"]]}


class Worker:
    """The steps that one process takes."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.name, self.chance = given["name"], random.Random(given["name"])
        self.folder = Path(given["path"]).resolve().parents[1]
        self.notes = self.folder / "notes" / self.name
        self.notes.mkdir(parents=True, exist_ok=True)
        self.number = 0
        self.saved: list[str] = []
        self.database = ResearchDatabase(
            Path(given["path"]), ScopeKey(**given["scope"]), project_folder=self.folder, actor=self.name,
            embedder=FakeEmbedder,
        )  # fmt: skip

    def text(self) -> str:
        """Some sentences."""
        return ". ".join(" ".join(self.chance.choices(WORDS, k=12)) for _ in range(4)) + "."

    def save(self) -> dict[str, Any]:
        """A new memory; the look before it is what begins a reader's transaction in a careless store."""
        memory_id = f"{self.name}-{self.number}"
        assert all(memory.memory_id != memory_id for memory in self.database.memories("candidate"))
        self.database.add_memory(memory_id=memory_id, title=f"Note {self.number}", content=self.text())
        self.saved.append(memory_id)
        return {"memory": memory_id}

    def publish(self) -> dict[str, Any]:
        """One of this process's memories, if there is one that waits."""
        if not self.saved:
            return self.save()
        memory_id = self.saved.pop(0)
        self.database.set_memory_status(memory_id, "published", "measured")
        return {"published": memory_id}

    def ingest(self) -> dict[str, Any]:
        """A new file, or another version of one; now and then its vectors."""
        path = self.notes / f"{self.number % 5}.md"
        data = f"# {self.name} {self.number}\n\n{self.text()}\n\n## More\n\n{self.text()}\n".encode()
        path.write_bytes(data)
        self.database.add(self.notes)
        if self.number % 3 == 0:
            self.database.embed()
        return {"file": path.relative_to(self.folder).as_posix(), "hash": hashlib.sha256(data).hexdigest()}

    def search(self) -> dict[str, Any]:
        """A recorded retrieval, weaker than asked only where the newest texts have no vectors yet."""
        found = self.database.search(" ".join(self.chance.choices(WORDS, k=3)), plan=PLAN)
        if found.rejections or any(item.code != ReasonCode.NOT_INDEXED for item in found.degradations):
            raise SystemExit(f"weaker than asked: {found.degradations} {found.rejections}")
        return {"retrieval": found.retrieval_id, "evidence": len(found.evidence)}


def main() -> None:
    """Work until told to stop."""
    given = json.loads(sys.argv[1])
    worker = Worker(given)
    ledger = os.open(given["ledger"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    print("ready", flush=True)
    sys.stdin.readline()
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    while not stop.is_set():
        step = worker.chance.choice(given["steps"])
        worker.number += 1
        begun = time.monotonic()
        done = getattr(worker, step)()
        done |= {"step": step, "begun": begun, "ms": 1000 * (time.monotonic() - begun)}
        os.write(ledger, (json.dumps(done) + "\n").encode())
        if given["is_synced"]:
            os.fsync(ledger)
        time.sleep(given["pause"])
    worker.database.close()


if __name__ == "__main__":
    main()
