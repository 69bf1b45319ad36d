"""Contract 7.4: what was answered once is answered again on the store as it was, or the difference is named with its cause."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from arr_sql.database import ResearchDatabase
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, StepClock, other_scopes

WORDS = ("router budget warmup decay plane zinc copper loss schedule nan queue shard epoch optimiser 学习率 数据 lr_decay "
         "NAN_LOSS_17 gradient clip").split()  # fmt: skip
PLANS: tuple[Any, ...] = (
    None, None, None,
    {"tool_rounds": [["bm25"]]},
    {"tool_rounds": [["research-memory", "vector"]]},
    {"tool_rounds": [["grep", "bm25"], ["vector", {"tool": "bm25", "query": "plane budget"}]]},
    {"tool_rounds": [["nobody", "bm25"]]},
)  # fmt: skip


def text(rng: random.Random) -> str:
    lines = [" ".join(rng.choice(WORDS) for _ in range(rng.randint(3, 9))) for _ in range(rng.randint(2, 6))]
    return f"# {rng.choice(WORDS)} {rng.choice(WORDS)}\n\n" + "\n\n".join(lines) + "\n"


def test_a_changing_store_replays(make_database: MakeDatabase, tmp_path: Path) -> None:
    database = make_database(folder=tmp_path)
    rng = random.Random(7)
    notes = tmp_path / "notes"
    notes.mkdir()
    for n in range(6):
        (notes / f"{n}.md").write_text(text(rng), "utf-8")
    database.add(notes)
    database.embed()
    for step in range(30):
        database.search(" ".join(rng.choice(WORDS) for _ in range(3)), plan=rng.choice([p for p in PLANS if p is None or "grep" not in str(p)]) or {"tool_rounds":[["research-memory","bm25","vector"]]})
        k = rng.randrange(5)
        if k == 0:
            (notes / f"{rng.randrange(9)}.md").write_text(text(rng), "utf-8"); database.sync()
        elif k == 1:
            database.embed()
        elif k == 2:
            m = database.add_memory(title=rng.choice(WORDS), content=text(rng), kind="knowledge")
            database.set_memory_status(m.memory_id, "published", "why")
    found = database.replay_all()
    assert [(r.outcome, r.difference, r.cause) for r in found if r.outcome != "identical"] == []
    assert len(found) == 30
