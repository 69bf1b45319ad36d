"""Contract 7.5: what is forgotten is in no byte of any file, and nothing else is changed.

The bytes are read here by the plainest means: is this text in the file? `pytest --hypothesis-profile=deep` runs more.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from arr_sql.core.connection import open_reader
from arr_sql.database import ResearchDatabase
from arr_sql.memory.store_check import check_store
from tests.conftest import SCOPE, FakeEmbedder, StepClock, other_scopes

ERASURES = 50
KILLS = 10
PLAN: Any = {"tool_rounds": [["bm25", "research-memory", "vector"]]}
LATIN = "abcdefghijklmnopqrstuvwxyz"
HAN = "学习率减半验证损失不再下降时缓存命中实验环境参数收敛曲线梯度爆炸权重衰减批量大小"


def unique_text(seed: int, han: bool, words: int) -> str:
    """Words that no other seed has, so that whoever finds one knows whose it was."""
    chance = random.Random(seed)
    made = []
    for _ in range(words):
        if han:
            made.append("".join(chance.choices(HAN, k=9)))
        else:
            made.append("".join(chance.choices(LATIN, k=11)))
        made.append(chance.choice(("\n\n", " ", " ", ", ")))
    return "".join(made).strip()


@dataclass(frozen=True)
class Thing:
    """Something that can be forgotten: a source, a memory or a query, with its own words."""

    kind: str
    seed: int
    han: bool
    words: int

    @property
    def text(self) -> str:
        return unique_text(self.seed, self.han, self.words)

    @property
    def name(self) -> str:
        return f"{'笔记' if self.han else 'note'}-{unique_text(self.seed + 7919, self.han, 1)}"

    def pieces(self) -> list[str]:
        """Every word of it and (where names go too) its name."""
        words = [word for word in re.split(r"[\s,]+", self.text) if word]
        return [*words, self.name] if self.kind == "source" else words


things = st.builds(
    Thing, st.sampled_from(("source", "memory", "query")), st.integers(1, 6000), st.booleans(), st.integers(2, 60)
)
stores = st.lists(things, min_size=2, max_size=6, unique_by=(lambda thing: thing.seed, lambda thing: thing.seed % 7919))


@contextmanager
def opened(folder: Path, scope: Any = SCOPE) -> Iterator[ResearchDatabase]:
    database = ResearchDatabase.create(
        folder / "x.db", scope, project_folder=folder, actor="tester", clock=StepClock(), embedder=FakeEmbedder
    )
    try:
        yield database
    finally:
        database.close()


def fill(database: ResearchDatabase, held: list[Thing], turns: int = 2) -> None:
    """Take everything in; sources change once, memories are published, each text is asked for."""
    notes = database.project_folder / "notes"
    notes.mkdir(exist_ok=True)
    for turn in range(turns):
        for thing in held:
            if thing.kind == "source":
                (notes / f"{thing.name}.md").write_text(f"# {thing.name}\n\n{thing.text}\n\nturn {turn}\n", "utf-8")
        database.add(notes) if turn == 0 else database.sync()
        database.embed()
    for thing in held:
        if thing.kind == "memory":
            database.add_memory(memory_id=f"m{thing.seed}", title=thing.text[:40], content=thing.text, kind="knowledge",
                                metadata={"quote": thing.text[:30]})  # fmt: skip
            database.set_memory_status(f"m{thing.seed}", "published", "because")
            database.embed()
        elif thing.kind == "query":
            database.search(thing.text[:900], plan=PLAN)
            database.search("other words", plan={"tool_rounds": [[{"tool": "bm25", "query": thing.text[:900]}]]})


def request(gone: list[Thing]) -> dict[str, Any]:
    return {
        "memory_ids": [f"m{thing.seed}" for thing in gone if thing.kind == "memory"],
        "source_refs": [f"notes/{thing.name}.md" for thing in gone if thing.kind == "source"],
        "queries": [thing.text[:900].strip() for thing in gone if thing.kind == "query"],
    }  # fmt: skip


def in_bytes(folder: Path, held: list[Thing]) -> list[str]:
    """The words of ``held`` that stand in the files, in any of four writings."""
    files = [folder / f"x.db{end}" for end in ("", "-wal", "-shm", "-journal")]
    data = b"\n".join(file.read_bytes() for file in files if file.exists())
    pieces = [piece for thing in held for piece in thing.pieces()]
    return [piece for piece in pieces if any(writing in data for writing in writings(piece))]


def writings(text: str) -> list[bytes]:
    return [text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be"), json.dumps(text)[1:-1].encode()]


def texts_of(folder: Path, ids: set[int]) -> list[Any]:
    """All rows of content that belong to other scopes than ``ids``."""
    reader = open_reader(folder / "x.db")
    try:
        found = []
        for table in (
            "memory",
            "chunk",
            "chunk_embedding",
            "memory_embedding",
            "source_version",
            "retrieval",
            "retrieval_evidence",
            "root",
            "scope_index",
        ):
            rows = reader.execute(f"SELECT * FROM {table}").fetchall()
            found += [(table, *map(repr, row)) for row in rows if row["scope_id"] not in ids]
        return sorted(found)
    finally:
        reader.close()


def answer(database: ResearchDatabase, query: str) -> Any:
    value = database.search(query, plan=PLAN, write_record=False)
    return [(item.chunk_id, item.content, item.source_ref) for item in value.evidence]


def found(database: ResearchDatabase, word: str) -> bool:
    """Is a text with this word among the answers to it?"""
    return any(word in content for _, content, _ in answer(database, word))


@settings(max_examples=max(ERASURES, settings().max_examples // 4), suppress_health_check=list(HealthCheck))
@given(stores, st.integers(0, 63), st.booleans())
@example([Thing("source", 1, True, 60), Thing("source", 2, False, 60), Thing("query", 3, True, 5)], 0b101, True)
@example([Thing("source", 2, False, 60), Thing("query", 3, True, 5), Thing("memory", 4, True, 40)], 0b110, False)
@example([Thing("memory", 5, False, 50), Thing("memory", 6, False, 50)], 1, False)
def test_no_byte_is_left_and_nothing_else_is_changed(held: list[Thing], chosen: int, whole_scope: bool) -> None:
    """Random texts in two scripts in sources, memories and queries: the chosen ones are found before and not after.

    The others are found as before, a neighbour that holds other texts keeps every row, the log verifies, the file passes.
    """
    gone = held if whole_scope else [thing for number, thing in enumerate(held) if chosen >> number & 1] or held[:1]
    kept = [thing for thing in held if thing not in gone]
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        folder, beside = Path(name), Path(name) / "beside"
        beside.mkdir()
        with opened(folder) as database:
            fill(database, held)
            neighbour = ResearchDatabase.create(
                folder / "x.db",
                other_scopes()[0],
                project_folder=beside,
                actor="tester",
                clock=StepClock(),
                embedder=FakeEmbedder,
            )
            theirs = [Thing(kind, 7000 + n, n % 2 == 0, 20) for n, kind in enumerate(("source", "memory", "query"))]
            fill(neighbour, theirs)
            mine = {1}
            before, rows = answer(neighbour, theirs[0].text[:60]), texts_of(folder, mine)
            assert sorted(set(in_bytes(folder, gone))) == sorted({piece for thing in gone for piece in thing.pieces()})
            asked = [thing.pieces()[0] for thing in kept if thing.kind != "query"]
            assert all(found(database, word) for word in asked)
            report = database.forget(**({"whole_scope": True} if whole_scope else request(gone)))
            assert report.result == "clean"
            assert in_bytes(folder, gone) == []
            assert all(found(database, word) for word in asked)
            assert (answer(neighbour, theirs[0].text[:60]), texts_of(folder, mine)) == (before, rows)
            assert len(in_bytes(folder, [*kept, *theirs])) == sum(len(thing.pieces()) for thing in (*kept, *theirs))
            assert database.verify_audit().damages == ()
            neighbour.close()
        assert check_store(folder / "x.db").passed


def test_without_the_last_steps_the_bytes_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: rows that are only deleted leave their text, and the proof says so."""
    from arr_sql.memory import forget_proof

    monkeypatch.setattr(forget_proof, "clean_file", lambda *_, **__: None)
    gone = [Thing("memory", 11, False, 60), Thing("source", 12, True, 60)]
    with opened(tmp_path) as database:
        fill(database, gone)
        assert database.forget(**request(gone)).result == "residue"
        assert in_bytes(tmp_path, gone)


FORGET = """
import json, sys
from pathlib import Path
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
given = json.loads(sys.argv[1])
database = ResearchDatabase(Path(given["path"]), ScopeKey(**given["scope"]), project_folder=Path(given["path"]).parent,
                            actor="tester", embedder=lambda: None)
print("ready", flush=True)
database.forget(**given["request"])
print("done", flush=True)
"""


def test_a_kill_leaves_everything_or_what_the_next_run_completes(tmp_path: Path) -> None:
    """SIGKILL at random instants: the file passes, the texts are all there or all unreachable, and the same call finishes."""
    held = [Thing(kind, 100 + n, n % 2 == 0, 70) for n, kind in enumerate(("source", "memory", "query") * 6)]
    gone, kept = held[:9], held[9:]
    (tmp_path / "first").mkdir()
    with opened(tmp_path / "first") as database:
        fill(database, held)
    first = texts_of(tmp_path / "first", set())
    words = [thing.pieces()[0] for thing in kept if thing.kind != "query"]

    def is_kept(row: Any) -> bool:
        return row[0] in ("memory", "chunk") and any(word in "".join(row) for word in words)

    chance, seen = random.Random(5), set()
    whole = 0.0
    for turn in range(KILLS + 1):
        folder = Path(shutil.copytree(tmp_path / "first", tmp_path / f"turn{turn}"))
        given = {"path": str(folder / "x.db"), "scope": SCOPE.model_dump(), "request": request(gone)}
        process = subprocess.Popen(
            [sys.executable, "-c", FORGET, json.dumps(given)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=Path(__file__).resolve().parents[2],
        )  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "ready\n", process.communicate()
        begun = time.monotonic()
        if turn:
            time.sleep(chance.uniform(0, whole))
            process.kill()
        process.communicate()
        whole = whole or time.monotonic() - begun
        assert check_store(folder / "x.db").passed
        reader = open_reader(folder / "x.db")
        states = [row[0] for row in reader.execute("SELECT state FROM forget_trail")]
        memories = {row[0] for row in reader.execute("SELECT memory_id FROM memory")}
        reader.close()
        seen.add(tuple(states))
        names = set(request(gone)["memory_ids"])
        assert memories & names == (set() if states else names)
        if states != ["verified"]:
            with opened(folder) as database:
                assert database.forget(**request(gone)).result == "clean"
        assert in_bytes(folder, gone) == []
        now = texts_of(folder, set())
        assert [row for row in now if row[0] in ("memory", "chunk") and row not in first] == []
        assert len(memories - names) == 3 and not [row for row in first if is_kept(row) and row not in now]
        assert check_store(folder / "x.db").passed
        shutil.rmtree(folder)
    assert () in seen and len(seen) >= 2
