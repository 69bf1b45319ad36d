"""Which project and scope: -C, --db, --branch, --env, ARR_ENV, git, worktrees (contract 2.6)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.support import arr

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def scope(*options: str, cwd: Path) -> dict[str, str]:
    ran = arr("status", "--json", *options, cwd=cwd)
    assert ran.code == 0, ran
    found = ran.json["scope"]
    assert isinstance(found, dict)
    return found


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t.example", "-c", "init.defaultBranch=main",
         "-c", "commit.gpgsign=false", *arguments],
        cwd=folder, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and a remote, made a project with one indexed file."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init")
    git(folder, "remote", "add", "origin", "https://user:secret@example.org/team/lumen.git")
    (folder / "notes.md").write_text("zebra crossing\n", "utf-8")
    git(folder, "add", "notes.md")
    git(folder, "commit", "-m", "one")
    assert arr("init", cwd=folder).code == 0
    assert arr("add", "notes.md", "--no-embed", cwd=folder).code == 0
    return folder


def states(ran_json: dict[str, list[dict[str, str]]]) -> dict[str, tuple[str, str]]:
    return {trace["tool_name"]: (trace["state"], trace["reason"]) for trace in ran_json["traces"]}


def test_the_environment_comes_from_option_then_variable_then_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--env wins over ARR_ENV, which wins over arr.toml."""
    assert scope(cwd=project)["experiment_environment"] == "a100"
    monkeypatch.setenv("ARR_ENV", "h800")
    assert scope(cwd=project)["experiment_environment"] == "h800"
    assert scope("--env", "cpu", cwd=project)["experiment_environment"] == "cpu"


@pytest.mark.parametrize("option", ["--env", "--branch"])
@pytest.mark.parametrize("value", ["", "  ", "a\x07b", "x" * 201, "\udcff"])
def test_an_unfit_scope_value_is_refused(option: str, value: str, project: Path) -> None:
    """A blank or unprintable name never falls back to another scope."""
    ran = arr("status", option, value, cwd=project)
    assert ran.code in (1, 2) and ran.out == "" and "internal fault" not in ran.err and ran.err != ""


def test_another_branch_is_another_scope(project: Path) -> None:
    """--branch sees nothing of the branch that was indexed."""
    assert scope("--branch", "exp/1", cwd=project)["branch"] == "exp/1"
    ran = arr("search", "warmup", "--branch", "exp/1", "--json", cwd=project)
    assert (ran.code, ran.json["evidence"]) == (0, [])


def test_a_subfolder_belongs_to_the_project_above(project: Path) -> None:
    """Commands work from any folder below arr.toml, and with -C from anywhere."""
    inside = arr("search", "warmup", "--json", cwd=project / "notes").json
    outside = arr("search", "warmup", "--json", "-C", str(project), cwd=project.parent).json
    assert [item["chunk_id"] for item in inside["evidence"]] == [item["chunk_id"] for item in outside["evidence"]] != []


def test_a_folder_that_is_not_there_is_a_usage_error(project: Path) -> None:
    """A misspelt -C does not fall back to the project above it."""
    ran = arr("status", "-C", "notse", cwd=project)
    assert (ran.code, ran.out) == (2, "") and "notse" in ran.err


def test_db_names_another_file(project: Path, tmp_path: Path) -> None:
    """--db is used instead of arr.toml's; a missing one is an error that says what to do."""
    copy = tmp_path / "copy.db"
    shutil.copyfile(project / ".arr/arr.db", copy)
    state = arr("status", "--db", str(copy), "--json", cwd=project).json
    assert state["database"] == str(copy) and state["sources"] == 4
    ran = arr("status", "--db", "gone.db", cwd=project)
    assert ran.code == 1 and "There is no database at 'gone.db'. Run `arr init`" in ran.err
    assert not (project / "gone.db").exists()


def test_outside_a_project_the_next_step_is_init(tmp_path: Path) -> None:
    """Every command that needs a project says where it looked and names `arr init`."""
    for command in (
        ("search", "x"),
        ("status",),
        ("add", "."),
        ("memory", "list"),
        ("audit", "verify"),
        ("db", "check"),
    ):
        ran = arr(*command, cwd=tmp_path)
        assert ran.code == 1 and f"No arr.toml in '{tmp_path}' or above. Run `arr init`" in ran.err, ran


def test_no_git_is_said(tmp_path: Path) -> None:
    """Without a repository the scope says so, on stderr for people and in `notes` for programs."""
    ran = arr("init", cwd=tmp_path)
    assert "Note: No git repository here" in ran.err and "no-git" in ran.out
    assert any("No git repository" in note for note in arr("status", "--json", cwd=tmp_path).json["notes"])


@needs_git
def test_repository_and_branch_come_from_git(repository: Path) -> None:
    """The remote's host and path without user, password or .git; the branch checked out."""
    found = scope(cwd=repository)
    assert (found["repository"], found["branch"]) == ("example.org/team/lumen", "main")
    assert git(repository, "status", "--short") == "?? arr.toml"  # .arr ignores itself


@needs_git
def test_a_branch_switch_after_indexing_is_said(repository: Path) -> None:
    """The old branch's scope still answers; grep is `other_branch` and freshness unverifiable; sync says why not."""
    git(repository, "checkout", "-b", "exp/rope")
    assert scope(cwd=repository)["branch"] == "exp/rope"
    here = arr("search", "zebra", cwd=repository)
    assert here.code == 0 and "Nothing has been added to this scope yet" in here.err
    old = arr("search", "zebra", "--branch", "main", "--json", cwd=repository).json
    assert [(e["source_ref"], e["freshness"]) for e in old["evidence"]] == [("notes.md", "unverifiable")]
    assert states(old)["grep"] == ("unavailable", "other_branch")
    text = arr("status", "--branch", "main", cwd=repository).out
    assert "another branch is checked out" in text and "0 of 1 folders usable" in text
    synced = arr("sync", "--no-embed", "--branch", "main", cwd=repository)
    assert synced.code == 0 and "Not synced:" in synced.err and "another branch or repository" in synced.err
    assert "1 removed" not in synced.out


@needs_git
def test_a_detached_head_is_said(repository: Path) -> None:
    """The branch is `detached-` and the commit's first 12 digits, and a note says how to choose another."""
    git(repository, "checkout", "--detach")
    state = arr("status", "--json", cwd=repository).json
    assert state["scope"]["branch"] == "detached-" + git(repository, "rev-parse", "HEAD")[:12]
    assert any("HEAD is detached" in note and "--branch" in note for note in state["notes"])
    assert "Note: HEAD is detached" in arr("status", cwd=repository).err


@needs_git
def test_a_linked_worktree_shares_identity_and_file(repository: Path) -> None:
    """A linked worktree of the same repository has its own branch in the main worktree's file."""
    tree = repository.parent / "tree"
    git(repository, "worktree", "add", "-b", "exp/tree", str(tree))
    state = arr("status", "--json", cwd=tree).json
    assert (state["scope"]["repository"], state["scope"]["branch"]) == ("example.org/team/lumen", "exp/tree")
    assert Path(state["database"]) == repository / ".arr/arr.db"
    assert arr("add", "notes.md", "--no-embed", cwd=tree).code == 0
    (tree / "notes.md").write_text("zebra in the tree\n", "utf-8")
    assert arr("sync", "--no-embed", cwd=tree).code == 0
    contents = [arr("search", "zebra", "-k", "1", "--json", cwd=f).json["evidence"][0] for f in (tree, repository)]
    assert [item["content"].strip() for item in contents] == ["zebra in the tree", "zebra crossing"]
    assert [item["freshness"] for item in contents] == ["fresh", "fresh"]
    rows = arr("scope", "list", "--json", cwd=tree).json
    assert sorted(row["branch"] for row in rows) == ["exp/tree", "main"]


@needs_git
def test_init_in_a_linked_worktree(repository: Path) -> None:
    """`arr init` in a worktree makes it a project of the same repository and of its own branch."""
    git(repository, "add", "arr.toml")
    git(repository, "commit", "-m", "two")
    tree = repository.parent / "tree"
    git(repository, "worktree", "add", "-b", "exp/tree", str(tree))
    ran = arr("init", "--json", cwd=tree)
    assert (ran.code, ran.json["created"]) == (0, False)
    assert (ran.json["scope"]["repository"], ran.json["scope"]["branch"]) == ("example.org/team/lumen", "exp/tree")
    assert Path(ran.json["database"]) == repository / ".arr/arr.db"


@needs_git
def test_an_unborn_branch_and_no_remote(tmp_path: Path) -> None:
    """A repository without commit or remote: its folder's name, its HEAD's branch, and a note."""
    git(tmp_path, "init")
    ran = arr("init", "--json", cwd=tmp_path)
    assert ran.code == 0 and ran.json["scope"]["branch"] == "main"
    assert ran.json["scope"]["repository"] == tmp_path.name
    assert any("has no remote" in note for note in ran.json["notes"])
