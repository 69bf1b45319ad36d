"""Parts of ``benchmarks.ingestion``: taking in with the default embedder, and readers beside a long sync."""

from __future__ import annotations

import hashlib
import math
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.index.embedders.model_store import open_embedder
from arr_sql.index.embedders.protocol import Embedder, EmbedderSpec
from benchmarks.corpus import Corpus, write_markdown

SCOPE = ScopeKey(team_id="b", project_id="b", repository="b", branch="b", experiment_environment="b")
EMBEDDED = 0.9
READER_CHUNKS = 1_000


def size_of(path: Path) -> int:
    """Bytes of a database and its log."""
    return sum(part.stat().st_size for part in path.parent.glob(path.name + "*") if not part.name.endswith("-shm"))


class InTurn:
    """An embedder that gives each batch to the engine once more and measures that apart, so that load falls on both alike."""

    def __init__(self, engine: Embedder) -> None:
        self._engine, self.spec = engine, engine.spec
        self.passages, self.bare, self.inside = 0, 0.0, 0.0

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """As the engine's."""
        return self._engine.embed_queries(texts)

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        """As the engine's, whose own time for the same batch is added up before or after, in turn."""
        is_first = self.passages // 64 % 2 == 0
        if is_first:
            self._again(texts)
        started = time.perf_counter()
        vectors = self._engine.embed_passages(texts)
        self.inside += time.perf_counter() - started
        if not is_first:
            self._again(texts)
        self.passages += len(texts)
        return vectors

    def _again(self, texts: Sequence[str]) -> None:
        started = time.perf_counter()
        self._engine.embed_passages(texts)
        self.bare += time.perf_counter() - started


def embedding(chunks: int, chinese: float, rounds: int) -> dict[str, Any]:
    """``add`` and ``embed`` of about ``chunks`` chunks, beside the bare engine on the same passages, batch by batch in turn.

    The ratio is that of the two rates. The pipeline adds reading, cutting, the text index, the vectors' rows and events.
    """
    engine = open_embedder()
    ratios, whole, before, bare = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "sources"
        write_markdown(sources, chunks, Corpus(3, chinese=chinese))
        engine.embed_passages(["the first call loads what the others use"])
        for number in range(rounds):
            embedder = InTurn(engine)
            path = Path(folder) / f"round{number}.db"
            with ResearchDatabase.create(path, SCOPE, project_folder=sources, embedder=lambda: embedder) as database:  # noqa: B023
                started = time.perf_counter()
                summary = database.add(sources)
                before.append(time.perf_counter() - started)
                embedded = database.embed()
                whole.append(time.perf_counter() - started - embedder.bare)
            assert embedded.embedded == summary.chunks_added and not embedded.missing
            bare.append(embedder.bare)
            ratios.append(embedder.bare / whole[-1])
    return {
        "model": engine.spec.id, "chunks": embedded.embedded, "rounds": rounds, "load": os.getloadavg()[0],
        "pipeline_seconds": statistics.median(whole), "before_first_vector_seconds": statistics.median(before),
        "engine_seconds": statistics.median(bare), "ratio": statistics.median(ratios),
        "ratio_spread": [min(ratios), max(ratios)],
        "chunks_a_second": embedded.embedded / statistics.median(whole),
    }  # fmt: skip


def embedding_text(r: dict[str, Any]) -> list[str]:
    """The lines for people."""
    low, high = r["ratio_spread"]
    return [
        f"with the default embedder ({r['model']}), {r['chunks']:,} chunks, {r['rounds']} rounds, load {r['load']:.1f}: "
        f"{r['pipeline_seconds']:.1f} s ({r['chunks_a_second']:.1f} chunks a second), {r['before_first_vector_seconds']:.2f} s "
        f"of it before the first vector; the engine alone {r['engine_seconds']:.1f} s",
        f"rate {r['ratio']:.2f} ({low:.2f} to {high:.2f}) times the engine's (aim: at least {EMBEDDED}): "
        f"{'met' if r['ratio'] >= EMBEDDED else 'MISSED'}",
    ]


class StandIn:
    """Vectors of the default model's length without its work: what they take in a file does not depend on their values."""

    spec = EmbedderSpec(id="stand-in", revision="1", dimension=384, window_tokens=512)

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """A unit vector drawn for each text."""
        return [self._vector(text) for text in texts]

    embed_passages = embed_queries

    def _vector(self, text: str) -> bytes:
        values = [byte - 127.5 for byte in hashlib.shake_128(text.encode()).digest(self.spec.dimension)]
        length = math.sqrt(math.fsum(value * value for value in values))
        return struct.pack(f"<{self.spec.dimension}f", *(value / length for value in values))


def after_vacuum(store: Path) -> tuple[int, int]:
    """Bytes of a store in pages that hold nothing, and of all of it once `arr db vacuum` has run. Changes the store."""
    with ResearchDatabase(store, SCOPE, project_folder=store.parent, embedder=lambda: None) as database:
        before, after = database.vacuum()
    return before.free, after.file


def bytes_with_vectors(store: Path) -> int:
    """Bytes of a store once each of its chunks has a vector of 384 numbers. Changes the store."""
    with ResearchDatabase(store, SCOPE, project_folder=store.parent, embedder=StandIn) as database:
        database.embed()
    return size_of(store)


ADD = """
import sys
from pathlib import Path
from benchmarks.ingestion_parts import SCOPE
from arr_sql.database import ResearchDatabase
with ResearchDatabase(Path(sys.argv[1]), SCOPE, project_folder=Path(sys.argv[1]).parent, embedder=lambda: None) as database:
    print("ready", flush=True)
    sys.stdin.readline()
    database.add(Path(sys.argv[2]))
"""


def readers(sources: Path, seconds_idle: float = 5.0) -> dict[str, Any]:
    """How long a search waits while ``sources`` are taken into another scope: this process reads, another one writes.

    Measured are whole answers of the bm25 channel in a scope of about 1,000 chunks, back to back, first alone, then until
    the other process has taken everything in.
    """
    own = ScopeKey(**{**SCOPE.model_dump(), "branch": "readers"})
    corpus = Corpus(5)
    questions = [corpus.question() for _ in range(50)]
    with tempfile.TemporaryDirectory() as folder:
        small, path = Path(folder) / "small", Path(folder) / "arr.db"
        write_markdown(small, READER_CHUNKS, corpus)
        with ResearchDatabase.create(path, own, project_folder=Path(folder), embedder=lambda: None) as database:
            database.add(small)
            plan = {"tool_rounds": [["bm25"]]}

            def ask(number: int) -> float:
                started = time.perf_counter()
                database.search(questions[number % len(questions)], plan=plan, write_record=False)
                return time.perf_counter() - started

            for number in range(20):
                ask(number)
            idle, until = [], time.perf_counter() + seconds_idle
            while time.perf_counter() < until:
                idle.append(ask(len(idle)))
            with subprocess.Popen(
                [sys.executable, "-c", ADD, str(path), str(sources)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as process:
                assert process.stdin is not None and process.stdout is not None
                process.stdout.readline()
                done = threading.Event()
                threading.Thread(target=lambda: (process.wait(), done.set()), daemon=True).start()
                started = time.perf_counter()
                process.stdin.write("go\n")
                process.stdin.flush()
                beside = []
                while not done.is_set():
                    beside.append(ask(len(beside)))
                taken = time.perf_counter() - started
                failed = process.returncode
    if failed:
        raise SystemExit("the process that takes the files in failed")
    return {
        "sync_seconds": taken, "answers_idle": len(idle), "answers_beside": len(beside), "load": os.getloadavg()[0],
        **{f"{name}_{label}_ms": 1000 * value for name, times in (("idle", idle), ("beside", beside))
           for label, value in (("p50", statistics.median(times)), ("p99", _p99(times)), ("longest", max(times)))},
    }  # fmt: skip


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def readers_text(r: dict[str, Any]) -> list[str]:
    """The line for people."""
    return [
        f"a reader beside a sync of {r['sync_seconds']:.1f} s (load {r['load']:.1f}): {r['answers_beside']:,} answers, "
        f"p50 {r['beside_p50_ms']:.1f} ms, p99 {r['beside_p99_ms']:.1f} ms, longest {r['beside_longest_ms']:.0f} ms; alone "
        f"p50 {r['idle_p50_ms']:.1f} ms, p99 {r['idle_p99_ms']:.1f} ms, longest {r['idle_longest_ms']:.0f} ms"
    ]
