"""Repository and branch as read from git's own files, against the real git."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.git_identity import read_git_identity, repository_name

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    """Run git in ``folder`` with no settings but these."""
    settings = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main",
                "-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false")  # fmt: skip
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.rstrip("\n")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit on ``main`` and no remote."""
    folder = tmp_path / "lumen"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.md").write_text("a\n", "utf-8")
    git(folder, "add", "a.md")
    git(folder, "commit", "-q", "-m", "first")
    return folder


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/vision/lumen.git", "example.org/vision/lumen"),
        ("https://example.org/vision/lumen", "example.org/vision/lumen"),
        ("https://example.org/vision/lumen/", "example.org/vision/lumen"),
        ("https://user:s3cr3t@Example.ORG:8443/vision/lumen.git", "example.org/vision/lumen"),
        ("https://ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@example.org/vision/lumen.git", "example.org/vision/lumen"),
        ("https://oauth2:token@example.org/vision/lumen?ref=x#y", "example.org/vision/lumen"),
        ("ssh://git@example.org:2222/vision/lumen.git", "example.org/vision/lumen"),
        ("ssh://git@[2001:db8::1]:22/vision/lumen.git", "2001:db8::1/vision/lumen"),
        ("git@example.org:vision/lumen.git", "example.org/vision/lumen"),
        ("example.org:lumen", "example.org/lumen"),
        ("git://example.org/lumen.git", "example.org/lumen"),
        ("file:///srv/git/lumen.git", "srv/git/lumen"),
        ("/srv/git/lumen.git", "lumen"),
        ("../lumen.git/", "lumen"),
        (r"C:\repositories\lumen.git", "lumen"),
        ("C:/repositories/lumen", "lumen"),
        (r"\\server\share\lumen.git", "lumen"),
    ],
)
def test_the_name_of_a_remote(url: str, expected: str) -> None:
    """Host and path, never a user, password, token, port, query or ``.git``; of a local path only the last name."""
    assert repository_name(url) == expected


@given(st.text(max_size=40))
def test_no_url_raises(url: str) -> None:
    """Whatever stands in a config file, a name comes back."""
    assert isinstance(repository_name(url), str)


@given(
    st.from_regex(r"[A-Za-z0-9_.%-]{1,20}", fullmatch=True), st.from_regex(r"[A-Za-z0-9_.!$-]{8,30}", fullmatch=True)
)
def test_no_password_survives(user: str, password: str) -> None:
    """The user and password of a remote are in no form of its name."""
    for url in (f"https://{user}:{password}@example.org/lumen.git", f"ssh://{user}:{password}@example.org/lumen.git"):
        assert repository_name(url) == "example.org/lumen"


def test_no_remote(repository: Path) -> None:
    """Without a remote the repository is called like the folder that owns it."""
    found = read_git_identity(repository)
    assert found is not None
    assert (found.repository, found.branch, found.has_remote, found.is_detached, found.is_linked_worktree) == (
        "lumen", "main", False, False, False,
    )  # fmt: skip
    assert (found.commit, found.top, found.main_worktree) == (
        git(repository, "rev-parse", "HEAD"),
        repository,
        repository,
    )


def test_the_remote_names_the_repository(repository: Path) -> None:
    """``origin`` counts, else the first remote; a subfolder has the identity of its work tree."""
    git(repository, "remote", "add", "upstream", "https://example.org/upstream/lumen.git")
    first = read_git_identity(repository)
    git(repository, "remote", "add", "origin", "git@example.org:vision/lumen.git")
    (repository / "src" / "deep").mkdir(parents=True)
    second = read_git_identity(repository / "src" / "deep")
    assert first is not None and second is not None
    assert (first.repository, second.repository, second.has_remote) == (
        "example.org/upstream/lumen",
        "example.org/vision/lumen",
        True,
    )
    assert second.top == repository


@pytest.mark.parametrize(
    "config",
    ['[remote "origin"]\n\turl = "https://example.org/vision/lumen.git"\n',
     '[remote "origin"]\n\turl = https://example.org/vision/lumen.git ; with a comment\n',
     '[remote "origin"]\n\turl = https://example.org/vision/lumen.git # with a comment\n',
     '[REMOTE "origin"]\n  URL=https://example.org/vision/lumen.git\n',
     '[remote "origin"] url = https://example.org/vision/lumen.git\n',
     '[remote "origin"] # mine\n\turl = "https://example.org/vision/lumen.git" ; quoted\n',
     '[remote "origin"]\n\tpushurl = https://example.org/other.git\n\turl = https://example.org/vision/lumen.git\n',
     '[remote "a \\"quoted\\" one"]\n\turl = https://example.org/vision/lumen.git\n',
     '[core]\n\turl = https://example.org/wrong.git\n[remote "origin"]\n\turl = https://example.org/vision/lumen.git\n'],
)  # fmt: skip
def test_forms_of_the_config_file(repository: Path, config: str) -> None:
    """What git itself reads as the remote's URL is what is read here."""
    (repository / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n" + config, "utf-8")
    remote = git(repository, "remote").splitlines()[0]
    assert repository_name(git(repository, "config", "--get", f"remote.{remote}.url")) == "example.org/vision/lumen"
    found = read_git_identity(repository)
    assert found is not None and found.repository == "example.org/vision/lumen"


@pytest.mark.parametrize("branch", ["feature/new-loss", "user/研究/x", "a.b", "release/1.0"])
def test_branch_names_with_slashes(repository: Path, branch: str) -> None:
    """The whole name behind refs/heads/ is the branch."""
    git(repository, "checkout", "-q", "-b", branch)
    found = read_git_identity(repository)
    assert found is not None
    assert (found.branch, found.commit) == (branch, git(repository, "rev-parse", "HEAD"))


def test_packed_refs(repository: Path) -> None:
    """After ``git pack-refs`` the commit is found in the packed file; a newer loose ref wins over it."""
    git(repository, "checkout", "-q", "-b", "feature/x")
    git(repository, "pack-refs", "--all")
    assert not (repository / ".git" / "refs" / "heads" / "feature").exists()
    packed = read_git_identity(repository)
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    loose = read_git_identity(repository)
    assert packed is not None and loose is not None
    assert packed.commit == git(repository, "rev-parse", "HEAD~1")
    assert loose.commit == git(repository, "rev-parse", "HEAD")


def test_detached_head(repository: Path) -> None:
    """A detached HEAD has a branch name of its own, made of the commit, and says so."""
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "--detach")
    found = read_git_identity(repository)
    assert found is not None
    assert (found.branch, found.commit, found.is_detached) == (f"detached-{commit[:12]}", commit, True)


def test_unborn_branch(tmp_path: Path) -> None:
    """A repository without a commit has a branch and no commit."""
    git(tmp_path, "init", "-q", "-b", "trunk")
    found = read_git_identity(tmp_path)
    assert found is not None
    assert (found.branch, found.commit, found.is_detached) == ("trunk", None, False)


def test_a_linked_worktree_shares_the_identity(repository: Path, tmp_path: Path) -> None:
    """A linked worktree is the same repository on its own branch, with or without a remote."""
    linked = tmp_path / "elsewhere" / "wt"
    git(repository, "worktree", "add", "-q", "-b", "side", str(linked))
    for url in (None, "https://example.org/vision/lumen.git"):
        if url:
            git(repository, "remote", "add", "origin", url)
        main, side = read_git_identity(repository), read_git_identity(linked)
        assert main is not None and side is not None
        assert side.repository == main.repository == ("example.org/vision/lumen" if url else "lumen")
        assert (side.branch, side.is_linked_worktree, side.top, side.main_worktree) == (
            "side",
            True,
            linked,
            repository,
        )
        assert (side.common_dir, side.commit) == (main.common_dir, main.commit)


def test_a_worktree_of_a_bare_repository(repository: Path, tmp_path: Path) -> None:
    """A bare repository names its worktrees after itself, without ``.git``, and has no main worktree."""
    bare, linked = tmp_path / "store.git", tmp_path / "wt"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "remote", "remove", "origin")
    git(bare, "worktree", "add", "-q", str(linked), "main")
    found = read_git_identity(linked)
    assert found is not None
    assert (found.repository, found.main_worktree, found.branch) == ("store", None, "main")


def test_a_submodule_is_a_repository_of_its_own(repository: Path, tmp_path: Path) -> None:
    """Inside a submodule its own remote and branch count; around it those of the repository that holds it."""
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "submodule", "--quiet", "add", str(inner), "third/inner")
    git(repository / "third" / "inner", "remote", "set-url", "origin", "https://example.org/third/inner.git")
    within, around = read_git_identity(repository / "third" / "inner"), read_git_identity(repository / "third")
    assert within is not None and around is not None
    assert (within.repository, within.branch, within.is_linked_worktree) == ("example.org/third/inner", "main", False)
    assert (around.repository, around.branch) == ("lumen", "main")
    assert within.commit == git(inner, "rev-parse", "HEAD")


def test_a_sha256_repository(tmp_path: Path) -> None:
    """Object names of 64 digits are commits too."""
    git(tmp_path, "init", "-q", "--object-format=sha256")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    found = read_git_identity(tmp_path)
    assert found is not None and found.commit == git(tmp_path, "rev-parse", "HEAD") and len(found.commit) == 64


def test_no_git(tmp_path: Path) -> None:
    """A folder without a repository above it has no identity."""
    assert read_git_identity(tmp_path) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda git_dir: (git_dir / "HEAD").unlink(),
        lambda git_dir: (git_dir / "HEAD").write_bytes(b"\xff\xfe\0"),
        lambda git_dir: (git_dir / "HEAD").write_text("ref: refs/heads/" + "x" * 300),
        lambda git_dir: (git_dir / "config").write_bytes(b"\xff[remote"),
        lambda git_dir: (git_dir / "HEAD").write_text("ref: ../../../../etc/passwd\n"),
        lambda git_dir: (shutil.rmtree(git_dir), git_dir.write_text("gitdir: /nowhere/at/all\n")),
        lambda git_dir: (shutil.rmtree(git_dir), git_dir.write_bytes(b"\xff\xfe" * 100)),
    ],
    ids=[
        "no HEAD",
        "binary HEAD",
        "long name",
        "binary config",
        "ref that climbs out",
        "gitdir nowhere",
        "binary .git file",
    ],
)
def test_broken_files_never_raise(repository: Path, damage: object) -> None:
    """A damaged or hostile repository gives an identity without a commit, or none; nothing outside is taken for one."""
    damage(repository / ".git")  # type: ignore[operator]
    found = read_git_identity(repository / ".")
    assert found is None or found.commit is None or len(found.commit) in (40, 64)
