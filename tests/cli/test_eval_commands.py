"""``arr eval``: run, compare and explain from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import arr, assert_no_traceback
from tests.evaluation.gold_maker import head, put, single_file, write_folder


@pytest.fixture
def gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gold set, and a machine without a model: nothing here needs one."""
    monkeypatch.setattr("arr_sql.index.embedders.model_paths.e5_distribution_path", lambda: None)
    return write_folder(tmp_path / "small")


def test_run_prints_saves_and_compares(gold: Path, tmp_path: Path) -> None:
    """The saved run is what --json prints; the page and the run files are there; a run holds against itself."""
    ran = arr("eval", "run", str(gold), "--save", "a.json", "--html", "a.html", "--trec", "trec", cwd=tmp_path)
    assert ran.code == 0, ran
    for word in ("reranked", "ndcg_at_10", "leaks", "code_error", "text_index_bytes"):
        assert word in ran.out
    saved = json.loads((tmp_path / "a.json").read_text("utf-8"))
    again = arr("eval", "run", str(gold), "--json", cwd=tmp_path).json
    assert again["gold"] == saved["gold"] and again["modes"].keys() == saved["modes"].keys()
    assert {"arr_sql", "python", "sqlite", "system", "index", "at"} == saved["program"].keys()
    assert (tmp_path / "a.html").read_text("utf-8").startswith("<!doctype html>")
    assert (tmp_path / "trec" / "reranked.run").read_text("utf-8").startswith("t1 Q0 ")
    compared = arr("eval", "compare", "a.json", "a.json", cwd=tmp_path)
    assert (compared.code, "0 wins, 0 losses, 4 ties" in compared.out) == (0, True)
    as_json = arr("eval", "compare", "a.json", "a.json", "--json", cwd=tmp_path).json
    assert (as_json["ties"], as_json["changes"]) == (4, [])


def test_expectations_decide_the_exit_code(gold: Path, tmp_path: Path) -> None:
    """0 when they hold, 1 when a value is below."""
    arr("eval", "run", str(gold), "--save", "a.json", "--modes", "bm25, reranked", cwd=tmp_path)
    put(
        tmp_path / "low.json", json.dumps({"expected": {"small": {"bm25": {"ndcg_at_10": 0.1, "scope_leak_count": 0}}}})
    )
    put(tmp_path / "high.json", json.dumps({"expected": {"small": {"bm25": {"ndcg_at_10": 0.99}}}}))
    assert arr("eval", "compare", "a.json", "low.json", cwd=tmp_path).code == 0
    failed = arr("eval", "compare", "a.json", "high.json", cwd=tmp_path)
    assert (failed.code, "NO" in failed.out, "0 of 1 hold" in failed.out) == (1, True, True)
    assert arr("eval", "compare", "a.json", "high.json", "--tolerance", "0.9", cwd=tmp_path).code == 0
    assert arr("eval", "compare", "a.json", "high.json", "--json", cwd=tmp_path).json["holds"] is False


def test_explain_says_where_each_item_was_lost(gold: Path, tmp_path: Path) -> None:
    """In words and as JSON; a kept store is built once."""
    for _ in range(2):
        ran = arr("eval", "explain", str(gold), "t1", "--store", "kept", cwd=tmp_path)
        assert ran.code == 0 and "found: it is in the answer" in ran.out and "note: names the step" in ran.out
    found = arr("eval", "explain", str(gold), "t4", "--store", "kept", "--json", cwd=tmp_path).json
    assert found["relevant"][0]["stage"] == "no_candidate"  # Chinese text, English question, no model
    assert found["channels"]["vector"]["code"] == "model_missing"
    assert "Nothing is relevant" in arr("eval", "explain", str(gold), "t3", "--store", "kept", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "broken.json"), "exactly team_id"),
        (("run", "empty"), "no gold set"),
        (("run", "small", "--modes", "bm25,magic"), "magic"),
        (("run", "small", "--store", "mine"), "not empty"),
        (("explain", "small", "t99"), "There is no topic 't99'"),
        (("compare", "small/set.json", "small/set.json"), "neither a run nor expectations"),
        (("compare", "low.json", "figures.json"), "Give the run first: `arr eval compare figures.json low.json`"),
        (("compare", "figures.json", "figures.json"), "compared with expectations only"),
    ],
)
def test_mistakes_name_the_next_step(gold: Path, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """No traceback, nothing written."""
    put(tmp_path / "mine" / "thesis.md", "mine")
    (tmp_path / "empty").mkdir()
    put(tmp_path / "low.json", json.dumps({"expected": {"small": {"bm25": {"ndcg_at_10": 0.1}}}}))
    put(tmp_path / "figures.json", json.dumps({"measured": {"small": {"bm25": {"ndcg_at_10": 0.1}}}}))
    put(tmp_path / "broken.json", json.dumps({**single_file(), **head(scopes={"main": {}})}))
    ran = arr("eval", *arguments, cwd=tmp_path)
    assert ran.code in (1, 2) and words in ran.err, ran
    assert_no_traceback(ran.err)
