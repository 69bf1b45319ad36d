"""``arr bench`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import arr, assert_no_traceback
from tests.evaluation.test_own_questions import make_chunks


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a model: the other channels are measured."""
    monkeypatch.setattr("arr_sql.index.embedders.model_paths.e5_distribution_path", lambda: None)


def test_bench_prints_each_channel_beside_plain_grep(project: Path) -> None:
    """With intervals, by kind of question; what was missing is said; the run can be compared."""
    for chunk in make_chunks():
        (project / "notes" / f"{chunk.chunk_id}.md").write_text(f"# {chunk.content}", encoding="utf-8")
    assert arr("add", "notes", "--no-embed", cwd=project).code == 0
    ran = arr("bench", "--each", "20", "--save", "bench.json", cwd=project)
    assert ran.code == 0, ran
    for word in ("60 questions over", "plain-grep", "bm25", "reranked", "95 %", "title", "sentence", "identifier"):
        assert word in ran.out
    assert "vector: model_missing in 60 questions" in ran.out
    saved = json.loads((project / "bench.json").read_text("utf-8"))
    assert arr("eval", "compare", "bench.json", "bench.json", cwd=project).code == 0
    again = arr("bench", "--each", "20", "--json", cwd=project).json
    for mode, row in saved["modes"].items():
        assert row["ndcg_at_10"] == again["modes"][mode]["ndcg_at_10"]


def test_bench_refuses_a_small_scope(project: Path) -> None:
    """And says what to do."""
    ran = arr("bench", cwd=project)
    assert (ran.code, "below 100 nearly every ranking" in ran.err, "arr add" in ran.err) == (1, True, True)
    assert_no_traceback(ran.err)
