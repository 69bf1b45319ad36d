"""``arr add | sync | embed``: summaries for people and programs, what was left out, going on after a stop."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from arr_sql.cli.source_commands import REASONS
from arr_sql.core.walk import LEFT_OUT_REASONS
from arr_sql.index.embedders import model_paths
from tests.cli.support import arr

SYNC_KEYS = {
    "added", "changed", "renamed", "removed", "touched", "unchanged", "chunks_added", "chunks_retired", "left_out",
    "lines_withheld", "warnings", "roots_missing", "roots_other_branch", "index_rebuilt",
}  # fmt: skip
VECTOR_KEYS = {"model_id", "embedded", "missing", "retired_models"}


def test_add_json_has_the_documented_keys(project: Path) -> None:
    """One summary a path, vectors null when they were left for later; nothing on stderr."""
    (project / "more").mkdir()
    (project / "more/a.md").write_text("alpha\n", "utf-8")
    ran = arr("add", "more", "--no-embed", "--json", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert set(ran.json) == {"syncs", "vectors"} and ran.json["vectors"] is None
    assert set(ran.json["syncs"][0]) >= SYNC_KEYS and ran.json["syncs"][0]["added"] == ["more/a.md"]


def test_add_for_people_lists_files_and_what_was_left_out(project: Path) -> None:
    """Added files by name, everything left out by reason, and the next step."""
    (project / "more").mkdir()
    (project / "more/a.md").write_text("alpha\n", "utf-8")
    (project / "more/.env").write_text("X=1\n", "utf-8")
    (project / "more/b.bin").write_bytes(bytes(range(256)) * 20)
    ran = arr("add", "more", "--no-embed", cwd=project)
    assert ran.code == 0 and ran.out.startswith("Files: 1 added, 0 changed")
    assert "  + more/a.md" in ran.out and 'Next: arr search "your question"' in ran.out
    assert "1  sensitive_name: names of secrets (never opened)" in ran.out


def test_every_reason_that_add_can_give_has_words() -> None:
    """The closed set of the walk's reasons is explained to people, all of it."""
    assert set(LEFT_OUT_REASONS) <= set(REASONS)


def test_sync_names_what_changed(project: Path) -> None:
    """New, edited, renamed and deleted files each have their sign."""
    (project / "notes/new.md").write_text("new\n", "utf-8")
    (project / "notes/warmup.md").write_text("# Warmup\n\nEdited.\n", "utf-8")
    (project / "src/train.py").rename(project / "src/learn.py")
    (project / "papers/README.md").unlink()
    ran = arr("sync", "--no-embed", cwd=project)
    assert ran.code == 0
    for line in ("  + notes/new.md", "  ~ notes/warmup.md", "  - papers/README.md", "  > src/train.py -> src/learn.py"):
        assert line in ran.out.splitlines(), ran.out
    again = arr("sync", "--no-embed", "--json", cwd=project).json["syncs"][0]
    assert (again["added"], again["changed"], again["renamed"], again["removed"]) == ([], [], [], [])
    assert again["unchanged"] == 4


def test_sync_before_add_says_so(project: Path) -> None:
    """A scope without folders has nothing to sync."""
    ran = arr("sync", "--env", "other", cwd=project)
    assert (ran.code, ran.out) == (1, "") and "Run `arr add FOLDER` first" in ran.err


def test_withheld_lines_are_counted(project: Path) -> None:
    """A line that holds a credential is withheld and said, the rest of the file is found."""
    (project / "notes/conf.md").write_text(
        "alpha\naws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYzzzKEY1x\n", "utf-8"
    )
    ran = arr("sync", "--no-embed", cwd=project)
    assert "Withheld: 1 lines that hold credentials." in ran.out
    assert "wJalr" not in arr("search", "alpha", "--full", "--json", cwd=project).out


@pytest.mark.skipif(sys.platform == "win32", reason="Windows allows no control characters in file names")
def test_file_names_cannot_move_the_cursor(project: Path) -> None:
    """Control characters in a file's name are spelt out."""
    (project / "notes" / "a\x1b[2Jb.md").write_text("alpha\n", "utf-8")
    ran = arr("sync", "--no-embed", cwd=project)
    assert ran.code == 0 and "\x1b" not in ran.out and "notes/a\\x1b[2Jb.md" in ran.out


def test_without_a_model_text_is_searchable(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No model: add succeeds and says how to get one; embed fails with the same advice; search names the channel."""
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path / "models"))
    monkeypatch.setattr(model_paths, "e5_distribution_path", lambda: None)
    (project / "notes/new.md").write_text("zebra\n", "utf-8")
    ran = arr("add", "notes", cwd=project)
    assert ran.code == 0 and "No vectors: " in ran.err and "arr-sql[local]" in ran.err
    embedding = arr("embed", cwd=project)
    assert (embedding.code, embedding.out) == (1, "") and "arr-sql[local]" in embedding.err
    traces = {t["tool_name"]: t["reason"] for t in arr("search", "zebra", "--json", cwd=project).json["traces"]}
    assert traces["vector"] == "model_missing" and traces["bm25"] == ""


@pytest.mark.model
def test_embed_says_what_it_added(project: Path) -> None:
    """The second run adds nothing; a new environment gets every vector, and is not told that they were there."""
    first, second = (arr("embed", "--json", cwd=project) for _ in range(2))
    assert first.code == 0 and set(first.json) >= VECTOR_KEYS
    assert first.json["embedded"] > 0 and first.json["missing"] == 0
    assert (second.json["embedded"], second.json["missing"]) == (0, 0)
    other = arr("add", "notes", "--env", "h800", "--json", cwd=project).json["vectors"]
    assert other["embedded"] > 0 and "reused" not in other
    assert arr("embed", cwd=project).out.startswith("Vectors (")
    assert arr("search", "warmup", "--strict", cwd=project).code == 0


def test_a_healthy_answer_is_not_degraded_only_when_vectors_are_there(project: Path) -> None:
    """Without vectors the vector channel says how many of how many are indexed."""
    found = arr("search", "warmup", "--json", cwd=project).json["degradations"]
    if model_paths.find_default_model() is None:
        assert [d["code"] for d in found] == ["model_missing"]
    else:
        assert [(d["tool_name"], d["code"], d["detail"]["indexed"]) for d in found] == [("vector", "not_indexed", 0)]


def test_the_same_file_twice_is_one_source(project: Path) -> None:
    """Adding what is already covered adds nothing."""
    ran = arr("add", "notes/warmup.md", "./notes", "--no-embed", "--json", cwd=project)
    assert ran.code == 0
    assert all(item["added"] == [] for item in ran.json["syncs"])
    assert arr("status", "--json", cwd=project).json["sources"] == 4


def test_nothing_is_taken_in_where_one_of_several_paths_is_wrong(project: Path) -> None:
    """All paths are looked at first: no account of a half is lost."""
    (project / "more").mkdir()
    (project / "more" / "a.md").write_text("zyzzyva", "utf-8")
    ran = arr("add", "more", "nope", "--no-embed", "--json", cwd=project)
    assert ran.code == 1 and json.loads(ran.err)["error"] == "PathRefused"
    assert arr("search", "zyzzyva", "--json", cwd=project).json["evidence"] == []
