"""``arr replay``, ``arr diff`` and the parts of ``arr audit`` that look from outside."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.cli.support import arr, assert_no_traceback


def retrieval_id(project: Path) -> str:
    """The id of the prepared project's one retrieval."""
    return str(arr("audit", "list", "--kind", "retrieval", "--json", cwd=project).json[0]["subject_id"])


@pytest.fixture
def changed(project: Path) -> Path:
    """The project with an edited file that grep answered from."""
    (project / "notes" / "warmup.md").write_text("# Warmup\n\nNothing diverged.\n", "utf-8")
    return project


def test_identical(project: Path) -> None:
    """A retrieval of the copied project replays: exit code 0, in both forms."""
    one = retrieval_id(project)
    ran = arr("replay", one, cwd=project)
    assert (ran.code, ran.out.split()[0]) == (0, "identical"), ran
    value = arr("replay", one, "--json", cwd=project).json
    assert (value["retrieval_id"], value["outcome"], value["cause"], value["difference"]) == (
        one,
        "identical",
        None,
        None,
    )


def test_all_counts(project: Path) -> None:
    """A line with the counts; --since narrows; JSON is a list."""
    assert arr("replay", "--all", cwd=project).out == "1 retrievals: 1 identical, 0 different, 0 not replayable.\n"
    assert [item["outcome"] for item in arr("replay", "--all", "--json", cwd=project).json] == ["identical"]
    assert arr("replay", "--all", "--since", "2999-01-01T00:00:00Z", "--json", cwd=project).json == []


def test_different(changed: Path) -> None:
    """Exit code 1, where it differs first, and the cause in words."""
    ran = arr("replay", retrieval_id(changed), cwd=changed)
    assert ran.code == 1
    assert ran.out.startswith("different at ") and "cause:    file_changed. Files that grep reads" in ran.out
    ran = arr("replay", "--all", cwd=changed)
    assert ran.code == 1 and "file_changed" in ran.out and "1 different" in ran.out
    ran = arr("replay", "--all", "--json", cwd=changed)
    assert ran.code == 1 and ran.json[0]["cause"] == "file_changed" and ran.json[0]["difference"]["where"]


@pytest.mark.parametrize(
    "arguments",
    [(), ("r1-0a1b2c3d", "--all"), ("r1-0a1b2c3d", "--since", "2026-01-01T00:00:00Z"), ("--all", "--query", "x")],
)
def test_usage(project: Path, arguments: tuple[str, ...]) -> None:
    """One retrieval or all of them; options where they belong."""
    ran = arr("replay", *arguments, cwd=project)
    assert ran.code == 2
    assert_no_traceback(ran.err)


def test_an_unknown_retrieval_and_a_bad_time(project: Path) -> None:
    """Errors with the next step."""
    ran = arr("replay", "r9-00000000", cwd=project)
    assert ran.code == 1 and "arr audit list --kind retrieval" in ran.err
    ran = arr("replay", "--all", "--since", "soon", cwd=project)
    assert ran.code == 1 and "ISO 8601" in ran.err


def test_a_query_kept_as_a_hash(project: Path) -> None:
    """It is said how to go on; --query gives it back."""
    settings = project / "arr.toml"
    text = settings.read_text("utf-8")
    assert 'query = "text"' in text
    settings.write_text(text.replace('query = "text"', 'query = "hash"'), "utf-8")
    assert arr("search", "2000 steps", cwd=project).code == 0
    one = retrieval_id(project)
    ran = arr("replay", one, cwd=project)
    assert ran.code == 1 and "--query" in ran.err
    assert arr("replay", one, "--query", "2000 steps", cwd=project).code == 0
    assert "1 not replayable" in arr("replay", "--all", cwd=project).out


def test_diff(changed: Path) -> None:
    """What changed between two revisions, and which answers would be others; both forms."""
    before = arr("status", "--json", cwd=changed).json["revision"]
    assert arr("sync", "--no-embed", cwd=changed).code == 0
    ran = arr("diff", str(before), cwd=changed)
    assert ran.code == 0 and "notes/warmup.md" in ran.out and "changed" in ran.out
    value = arr("diff", str(before), "--retrievals", "--json", cwd=changed).json
    assert [(item["kind"], item["change"], item["name"]) for item in value["subjects"]] == [
        ("source", "changed", "notes/warmup.md")
    ]
    assert (value["compared"], len(value["retrievals"])) == (1, 1)
    assert "1 of 1 past retrievals" in arr("diff", str(before), "--retrievals", cwd=changed).out
    assert arr("diff", str(before), str(before), cwd=changed).out.startswith("Nothing changed")
    assert arr("diff", "900", cwd=changed).code == 1


def test_anchor_verify_export(project: Path, tmp_path: Path) -> None:
    """An anchor is written once, agrees, and finds a cut log; an export is checked without the database."""
    file, export = tmp_path / "lumen.anchor", tmp_path / "audit.jsonl"
    assert arr("audit", "anchor", str(file), cwd=project).out.startswith("Anchored: ")
    assert arr("audit", "anchor", str(file), "--json", cwd=project).json["appended"] is False
    assert ", 1 anchors. Head " in arr("audit", "verify", "--anchor", str(file), cwd=project).out
    assert arr("audit", "export", str(export), cwd=project).code == 0
    assert arr("audit", "export", str(export), cwd=project).code == 1
    ran = arr("audit", "verify", "--export", str(export), "--anchor", str(file), cwd=tmp_path)
    assert ran.code == 0 and ran.out.startswith("Verified: ")
    export.write_text("".join(export.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    ran = arr("audit", "verify", "--export", str(export), "--anchor", str(file), "--json", cwd=tmp_path)
    assert ran.code == 1 and ran.json["damages"][0]["kind"] == "tail_missing"
    connection = sqlite3.connect(project / ".arr/arr.db")
    connection.execute("DROP TRIGGER audit_event_no_delete")
    connection.execute("DELETE FROM audit_event WHERE seq = (SELECT max(seq) FROM audit_event)")
    connection.commit()
    connection.close()
    ran = arr("audit", "verify", "--anchor", str(file), cwd=project)
    assert ran.code == 1 and "tail_missing" in ran.out


def test_git_note_without_git(project: Path, tmp_path: Path) -> None:
    """A folder that is no repository: an error with the next step; the anchor in the file stands."""
    ran = arr("audit", "anchor", str(tmp_path / "a"), "--git-note", cwd=project)
    assert ran.code == 1 and "Anchor to a file only" in ran.err
    assert (tmp_path / "a").exists()


@pytest.mark.parametrize("since", ["yesterday", "7d", "2020-01-01", "2020-01-01T00:00:00+02:00"])
def test_since_is_said_as_elsewhere(project: Path, since: str) -> None:
    """As `memory list` takes it."""
    assert len(arr("replay", "--all", "--since", since, "--json", cwd=project).json) == 1


def test_since_what_is_no_time(project: Path) -> None:
    ran = arr("replay", "--all", "--since", "foo", cwd=project)
    assert ran.code == 1 and "yesterday" in ran.err
