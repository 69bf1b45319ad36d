"""Contract 10.8: the same store, plan and limits give the same bytes, in this process and in any other (report rank-01).

Run as a script, this file prints the answers of a store: that is what the fresh processes do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arr_sql.database import ResearchDatabase
from arr_sql.policy.retrieval_router import DEPTH
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, StepClock

REPOSITORY = Path(__file__).parents[2]
QUERIES = ("router budget", "lr_decay", "学习率减半", "same text for all", "nothing of the kind")
PLANS: tuple[Any, ...] = (
    None,
    *({"tool_rounds": [[name]]} for name in ("research-memory", "bm25", "vector", "grep")),
    {"tool_rounds": [["grep", "bm25"], ["vector", {"tool": "bm25", "query": "plane"}]]},
)


def answers(path: Path, folder: Path, ks: tuple[int, ...] = (10,)) -> str:
    """All queries over all plans on a freshly opened store, as one JSON text without durations; nothing is recorded."""
    said = []
    with ResearchDatabase(
        path, SCOPE, project_folder=folder, actor="tester", clock=StepClock(), embedder=FakeEmbedder
    ) as database:
        for query in QUERIES:
            for plan in PLANS:
                for k in ks:
                    result = database.search(query, plan=plan, k=k, write_record=False).model_dump(mode="json")
                    for trace in result["traces"]:
                        del trace["duration_ms"]
                    said.append(result)
    return json.dumps(said, ensure_ascii=False)


@pytest.fixture
def store(make_database: MakeDatabase, tmp_path: Path) -> tuple[Path, Path]:
    """Twelve files of one text taken in in an odd order, three different ones, and twelve memories of one text."""
    folder = tmp_path / "docs"
    folder.mkdir()
    database = make_database(folder=folder, path=tmp_path / "arr.db")
    for number in (7, 0, 11, 3, 9, 1, 5, 10, 2, 8, 4, 6):
        (folder / f"{number:02}.txt").write_text("same text for all: router budget", encoding="utf-8")
        database.add(folder)
        database.add_memory(
            memory_id=f"m{number:02}", kind="knowledge", title="note", content="same text for all: router"
        )
        database.set_memory_status(f"m{number:02}", "published", "no source")
    (folder / "x.md").write_text("# Budget\n\nThe router keeps a budget.\n\n# Plane\n\ncontrol plane", encoding="utf-8")
    (folder / "y.txt").write_text("当验证集损失不再下降时，学习率减半。", encoding="utf-8")
    (folder / "z.py").write_text("def lr_decay(loss):\n    return loss * 0.5\n", encoding="utf-8")
    database.add(folder)
    database.embed()
    return database.path, folder


def test_asking_again_gives_the_same_bytes(store: tuple[Path, Path]) -> None:
    """Twenty times over the same open store and over newly opened ones."""
    path, folder = store
    first = answers(path, folder)
    assert {answers(path, folder) for _ in range(5)} == {first}
    with ResearchDatabase(path, SCOPE, project_folder=folder, clock=StepClock(), embedder=FakeEmbedder) as database:
        same = set()
        for _ in range(20):
            result = database.search("same text for all", write_record=False)
            same.add(repr([result.evidence, result.degradations, result.rejections]))
    assert len(same) == 1


def test_fresh_processes_give_the_same_bytes(store: tuple[Path, Path]) -> None:
    """With PYTHONHASHSEED 0 to 3, which orders sets and dictionaries of text differently."""
    path, folder = store
    said = []
    for seed in range(4):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": str(seed),
            "PYTHONIOENCODING": "utf-8",
            "PYTHONPATH": str(REPOSITORY),
        }
        done = subprocess.run(
            [sys.executable, "-m", "tests.promises.test_determinism", str(path), str(folder)],
            env=environment, cwd=REPOSITORY, capture_output=True, check=True, encoding="utf-8",
        )  # fmt: skip
        said.append(done.stdout.rstrip("\n"))
    assert said == [answers(path, folder)] * 4


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: "all" if plan is None else str(plan["tool_rounds"])[:40])
def test_a_smaller_k_is_a_prefix(store: tuple[Path, Path], plan: Any) -> None:
    """k = 1, 5 and 12 give the beginning of what k = 100 gives, item by item with the same scores."""
    path, folder = store
    with ResearchDatabase(path, SCOPE, project_folder=folder, clock=StepClock(), embedder=FakeEmbedder) as database:
        for query in QUERIES:
            full = database.search(query, plan=plan, k=DEPTH, write_record=False).evidence
            for k in (1, 5, 12):
                assert database.search(query, plan=plan, k=k, write_record=False).evidence == full[:k]


@pytest.mark.parametrize("channel", ["bm25", "vector", "grep", "research-memory"])
def test_twelve_equal_texts_are_all_found_in_one_order(store: tuple[Path, Path], channel: str) -> None:
    """Field report rank-01: the order in which they were taken in does not show."""
    path, folder = store
    with ResearchDatabase(path, SCOPE, project_folder=folder, clock=StepClock(), embedder=FakeEmbedder) as database:
        found = database.search(
            "same text for all", plan={"tool_rounds": [[channel]]}, k=100, write_record=False
        ).evidence
    equal = [item for item in found if item.content.startswith("same text for all")]
    assert len(equal) == (24 if channel == "vector" else 12)  # twelve chunks and twelve memories
    key = {"grep": "source_ref"}.get(channel, "chunk_id")
    for is_memory in (False, True):  # the two texts differ, so each kind has its own place in the list
        names = [getattr(item, key) for item in equal if item.chunk_id.startswith("memory:") is is_memory]
        assert names == sorted(names)


if __name__ == "__main__":
    print(answers(Path(sys.argv[1]), Path(sys.argv[2])))
