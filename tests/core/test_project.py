"""Where am I: the project, its file and its five scope values, as found from a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arr_sql.core.project import NO_GIT_BRANCH, find_project
from arr_sql.core.settings import ProjectTable, read_settings, settings_text
from arr_sql.errors import InputError, ScopeInvalid, StoreMissing
from tests.core.test_git_identity import git

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
CONFIG = '[project]\nteam_id = "vision"\nproject_id = "lumen"\nexperiment_environment = "a100"\n'


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder with an arr.toml and no git."""
    folder = tmp_path / "lab"
    folder.mkdir()
    (folder / "arr.toml").write_text(CONFIG, "utf-8")
    return folder


@pytest.fixture
def tracked(plain: Path) -> Path:
    """The same as a git repository with a remote and one commit."""
    git(plain, "init", "-q")
    git(plain, "remote", "add", "origin", "https://user:token@example.org/vision/lumen.git")
    git(plain, "add", ".")
    git(plain, "commit", "-q", "-m", "first")
    return plain


# --- The five values --------------------------------------------------------------------------------------------------


@needs_git
def test_the_scope_of_a_repository(tracked: Path) -> None:
    """Team and project come from arr.toml, repository and branch from git, without a word to say."""
    project = find_project(tracked)
    assert project.scope.values() == ("vision", "lumen", "example.org/vision/lumen", "main", "a100")
    assert (project.folder, project.database, project.notes) == (tracked, tracked / ".arr" / "arr.db", ())


def test_without_git(plain: Path) -> None:
    """Outside git the folder's name is the repository, the branch says so, and so does a note."""
    project = find_project(plain)
    assert project.scope.values() == ("vision", "lumen", "lab", NO_GIT_BRANCH, "a100")
    assert (project.git, len(project.notes), "No git repository here" in project.notes[0]) == (None, 1, True)


@needs_git
def test_without_a_remote(plain: Path) -> None:
    """A repository without a remote is called like its folder, with a note."""
    git(plain, "init", "-q")
    project = find_project(plain)
    assert project.scope.values()[2:4] == ("lab", "main")
    assert project.notes == ("The git repository has no remote: repository is its folder's name, 'lab'.",)


@needs_git
def test_a_detached_head(tracked: Path) -> None:
    """A detached HEAD is a scope of its own and is pointed out, unless a branch is named."""
    git(tracked, "checkout", "-q", "--detach")
    project = find_project(tracked)
    assert project.scope.branch == f"detached-{git(tracked, 'rev-parse', 'HEAD')[:12]}"
    assert "HEAD is detached" in project.notes[0]
    named = find_project(tracked, branch="main")
    assert (named.scope.branch, named.notes) == ("main", ())


@needs_git
def test_the_repository_can_be_named_in_the_file(tracked: Path) -> None:
    """``project.repository`` wins over git."""
    (tracked / "arr.toml").write_text(CONFIG + 'repository = "mine"\n', "utf-8")
    assert find_project(tracked).scope.repository == "mine"


def test_the_environment_is_the_option_then_the_variable_then_the_file(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--env`` before ARR_ENV before arr.toml before ``default``."""
    found = [find_project(plain).scope.experiment_environment]
    monkeypatch.setenv("ARR_ENV", "h800")
    found += [
        find_project(plain).scope.experiment_environment,
        find_project(plain, environment="cpu").scope.experiment_environment,
    ]
    monkeypatch.setenv("ARR_ENV", "")
    found.append(find_project(plain).scope.experiment_environment)
    monkeypatch.delenv("ARR_ENV")
    (plain / "arr.toml").write_text('[project]\nteam_id = "vision"\nproject_id = "lumen"\n', "utf-8")
    found.append(find_project(plain).scope.experiment_environment)
    assert found == ["a100", "h800", "cpu", "a100", "default"]


def test_a_bad_environment_is_refused(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is no scope value is refused by the value's name."""
    monkeypatch.setenv("ARR_ENV", "a\tb")
    with pytest.raises(ScopeInvalid, match="experiment_environment"):
        find_project(plain)


# --- Which file -------------------------------------------------------------------------------------------------------


def test_a_subfolder_belongs_to_the_project_above(plain: Path) -> None:
    """The nearest arr.toml upwards decides; a nested project is its own."""
    deep = plain / "a" / "b"
    deep.mkdir(parents=True)
    assert find_project(deep).folder == plain
    (plain / "a" / "arr.toml").write_text(CONFIG.replace("lumen", "inner"), "utf-8")
    inner = find_project(deep)
    assert (inner.folder, inner.scope.project_id, inner.database) == (
        plain / "a",
        "inner",
        plain / "a" / ".arr" / "arr.db",
    )


def test_the_database_can_be_elsewhere(plain: Path, tmp_path: Path) -> None:
    """``database.path`` is relative to the project; an option wins over it."""
    (plain / "arr.toml").write_text(CONFIG + '[database]\npath = "store/lab.db"\n', "utf-8")
    assert find_project(plain).database == plain / "store" / "lab.db"
    assert find_project(plain, database=tmp_path / "x.db").database == tmp_path / "x.db"


@needs_git
def test_a_linked_worktree_uses_the_main_worktrees_file(tracked: Path, tmp_path: Path) -> None:
    """Worktrees of one repository share identity and database; the branch is each one's own."""
    (tracked / ".arr").mkdir()
    (tracked / ".arr" / "arr.db").touch()
    linked = tmp_path / "wt"
    git(tracked, "worktree", "add", "-q", "-b", "side", str(linked))
    main, side = find_project(tracked), find_project(linked)
    assert side.scope.values() == (*main.scope.values()[:3], "side", "a100")
    assert (side.folder, side.database) == (linked, tracked / ".arr" / "arr.db")
    (linked / ".arr").mkdir()
    (linked / ".arr" / "arr.db").touch()
    assert find_project(linked).database == linked / ".arr" / "arr.db"


@needs_git
def test_a_linked_worktree_without_its_own_config(tracked: Path, tmp_path: Path) -> None:
    """An arr.toml that is not committed holds for all worktrees; the files are the worktree's own."""
    git(tracked, "rm", "-q", "--cached", "arr.toml")
    git(tracked, "commit", "-q", "-m", "not the config")
    linked = tmp_path / "wt"
    git(tracked, "worktree", "add", "-q", "-b", "side", str(linked))
    (tracked / ".arr").mkdir()
    (tracked / ".arr" / "arr.db").touch()
    (linked / "deep").mkdir()
    project = find_project(linked / "deep")
    assert (project.folder, project.scope.project_id, project.database) == (
        linked,
        "lumen",
        tracked / ".arr" / "arr.db",
    )


@needs_git
def test_a_project_in_a_subfolder_of_a_worktree(tracked: Path, tmp_path: Path) -> None:
    """A project below the repository's top finds the main worktree's file at the same place."""
    (tracked / "sub").mkdir()
    (tracked / "sub" / "arr.toml").write_text(CONFIG.replace("lumen", "sub"), "utf-8")
    git(tracked, "add", ".")
    git(tracked, "commit", "-q", "-m", "sub")
    (tracked / "sub" / ".arr").mkdir()
    (tracked / "sub" / ".arr" / "arr.db").touch()
    linked = tmp_path / "wt"
    git(tracked, "worktree", "add", "-q", "-b", "side", str(linked))
    project = find_project(linked / "sub")
    assert (project.folder, project.database) == (linked / "sub", tracked / "sub" / ".arr" / "arr.db")


def test_no_project(tmp_path: Path) -> None:
    """Without an arr.toml the message names the command that makes one."""
    with pytest.raises(StoreMissing, match=r"No arr.toml in .* or above. Run `arr init`"):
        find_project(tmp_path)


# --- A broken arr.toml ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (CONFIG + "colour = 1\n", "project.colour"),
        (CONFIG + "[serach]\nk = 3\n", "serach"),
        (CONFIG + "[search]\nk = 0\n", "search.k"),
        (CONFIG + "[search]\nk = 'many'\n", "search.k"),
        (CONFIG + "[search]\ndeadline_seconds = nan\n", "search.deadline_seconds"),
        (CONFIG + "[search]\ndeadline_seconds = inf\n", "search.deadline_seconds"),
        (CONFIG + '[audit]\nquery = "none"\n', "audit.query"),
        (CONFIG + "[sources]\nmax_file_bytes = -1\n", "sources.max_file_bytes"),
        (CONFIG + '[llm]\nendpoint = "https://example.org"\n', "llm"),
        ('[project]\nteam_id = "vision"\n', "project.project_id"),
        ('[project]\nteam_id = ""\nproject_id = "x"\n', "project.team_id"),
        ("project = 3\n", "project"),
        ("", "project"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(plain: Path, text: str, key: str) -> None:
    """An unknown key, a wrong type, a value out of range and a missing key each name the file and the key."""
    (plain / "arr.toml").write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        find_project(plain)
    assert str(caught.value).startswith(f"'{plain / 'arr.toml'}': {key}: ")


@pytest.mark.parametrize(
    "data",
    [
        b"[project\n",
        b"team_id = \xff\n",
        b"\0",
        b"[project]\nteam_id = 'a'\nteam_id = 'b'\n",
        "[project]\n".encode("utf-16"),
    ],
)
def test_what_is_no_toml_names_the_file(plain: Path, data: bytes) -> None:
    """A file that does not parse, or is not UTF-8, is named with what to do."""
    (plain / "arr.toml").write_bytes(data)
    with pytest.raises(
        InputError, match=r"arr\.toml' is not valid TOML: .*Correct it, or move it away and run `arr init`"
    ):
        find_project(plain)


def test_a_byte_order_mark_and_crlf_are_fine(plain: Path) -> None:
    """A file as Windows editors save it is read like any other."""
    (plain / "arr.toml").write_bytes(b"\xef\xbb\xbf" + CONFIG.replace("\n", "\r\n").encode())
    assert find_project(plain).scope.project_id == "lumen"


@pytest.mark.parametrize(
    "name", ["plain", 'a "quoted" name', "back\\slash", "研究 🔬", "tab\tand\nnewline", "\x7f", "#;=[]", "'''"]
)
def test_what_init_writes_is_read_back(tmp_path: Path, name: str) -> None:
    """Any text that `arr init` may be given comes back from the file it writes."""
    table = ProjectTable(team_id=name, project_id=name, experiment_environment=name, repository=name)
    (tmp_path / "arr.toml").write_text(settings_text(table), "utf-8", newline="\n")
    assert read_settings(tmp_path / "arr.toml").project == table
