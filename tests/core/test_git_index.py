"""What git's index says of a file, against the real git, in every version of its format."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arr_sql.core.git_identity import GitIdentity, read_git_identity
from arr_sql.core.git_index import GitIndex, read_git_index
from tests.core.test_git_identity import git, pytestmark, repository

__all__ = ["pytestmark", "repository"]

NAMES = [
    "a.md",
    "a/b.md",
    "a/b.md.bak",
    "deep/er/and/deeper/still.txt",
    "研究/笔记.md",
    "x" * 200 + ".md",
    "with space.md",
    "z/é.md",
]


def identity(folder: Path) -> GitIdentity:
    found = read_git_identity(folder)
    assert found is not None
    return found


def index_of(folder: Path) -> GitIndex:
    found = read_git_index(identity(folder))
    assert found is not None
    return found


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_clean_modified_and_untracked(repository: Path, version: str) -> None:
    """In versions 2, 3 and 4 each tracked file is clean as it is, modified with other bytes; the rest is untracked."""
    for name in NAMES:
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}\n", "utf-8")
    git(repository, "add", ".")
    if version == "3":  # an entry with extended flags makes git write version 3
        (repository / "later.md").write_text("later\n", "utf-8")
        git(repository, "add", "--intent-to-add", "later.md")
    git(repository, "update-index", "--index-version", version)
    assert struct.unpack_from(">4sI", (repository / ".git" / "index").read_bytes()) == (b"DIRC", int(version))
    index = index_of(repository)
    states = {name: (index.state(name, f"text of {name}\n".encode()), index.state(name, b"other")) for name in NAMES}
    assert states == dict.fromkeys(NAMES, ("clean", "modified"))
    assert (index.state("new.md", b""), index.state("a", b""), index.state("", b"")) == ("untracked",) * 3


def test_it_agrees_with_git_status(repository: Path) -> None:
    """Staged, edited and new files are what ``git status`` calls them, compared with the index."""
    for name in ("clean.md", "edited.md", "staged.md"):
        (repository / name).write_text("one\n", "utf-8")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "second")
    (repository / "edited.md").write_text("two\n", "utf-8")
    (repository / "staged.md").write_text("two\n", "utf-8")
    git(repository, "add", "staged.md")
    (repository / "new.md").write_text("one\n", "utf-8")
    letters = {line[3:]: line[1] for line in git(repository, "status", "--porcelain").splitlines()}
    index = index_of(repository)
    for name in ("clean.md", "edited.md", "staged.md", "new.md"):
        state = index.state(name, (repository / name).read_bytes())
        assert (name, state) == (name, {"M": "modified", "?": "untracked"}.get(letters.get(name, " "), "clean"))


def test_a_linked_worktree_has_its_own_index(repository: Path, tmp_path: Path) -> None:
    """What is staged in one worktree is not in the other's index."""
    linked = tmp_path / "wt"
    git(repository, "worktree", "add", "-q", "-b", "side", str(linked))
    (linked / "only-there.md").write_text("x\n", "utf-8")
    git(linked, "add", "only-there.md")
    assert index_of(linked).state("only-there.md", b"x\n") == "clean"
    assert index_of(repository).state("only-there.md", b"x\n") == "untracked"


def test_a_submodule_has_its_own_index(repository: Path, tmp_path: Path) -> None:
    """The index behind a submodule's ``.git`` file is read, with paths relative to the submodule."""
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "b.md").write_text("b\n", "utf-8")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "first")
    git(repository, "submodule", "--quiet", "add", str(inner), "third/inner")
    assert index_of(repository / "third" / "inner").state("b.md", b"b\n") == "clean"


def test_a_sha256_repository(tmp_path: Path) -> None:
    """Blob names of 32 bytes are compared with SHA-256."""
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "a.md").write_text("a\n", "utf-8")
    git(tmp_path, "add", "a.md")
    index = index_of(tmp_path)
    assert (index.state("a.md", b"a\n"), index.state("a.md", b"b\n")) == ("clean", "modified")


def test_a_file_in_conflict_has_no_single_truth(repository: Path) -> None:
    """During a merge conflict the file counts as untracked, not as clean."""
    git(repository, "checkout", "-q", "-b", "side")
    (repository / "a.md").write_text("side\n", "utf-8")
    git(repository, "commit", "-q", "-am", "side")
    git(repository, "checkout", "-q", "main")
    (repository / "a.md").write_text("main\n", "utf-8")
    git(repository, "commit", "-q", "-am", "main")
    with pytest.raises(Exception, match="merge"):
        git(repository, "merge", "side")
    assert index_of(repository).state("a.md", b"main\n") == "untracked"


@pytest.mark.skipif(os.name == "nt", reason="names on Windows are Unicode")
def test_a_name_that_is_not_utf8(repository: Path) -> None:
    """A tracked name of arbitrary bytes is found by its surrogate-escaped form."""
    name = os.fsdecode(b"caf\xe9.md")
    (repository / name).write_bytes(b"x\n")
    git(repository, "add", ".")
    assert index_of(repository).state(name, b"x\n") == "clean"


def test_no_index_yet(tmp_path: Path) -> None:
    """A repository without a staged file has no index, which is not an error."""
    git(tmp_path, "init", "-q")
    assert read_git_index(identity(tmp_path)) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_a_damaged_index_is_no_index(repository: Path, data: st.DataObject) -> None:
    """An index that is cut or overwritten anywhere gives None or an index; it never raises and never hangs."""
    whole = (repository / ".git" / "index").read_bytes() if not SEEN else SEEN[0]
    SEEN[:] = [whole]
    cut = data.draw(st.integers(min_value=0, max_value=len(whole)))
    at = data.draw(st.integers(min_value=0, max_value=len(whole) - 1))
    damaged = bytearray(whole)
    damaged[at : at + 4] = data.draw(st.binary(min_size=4, max_size=4))
    for content in (whole[:cut], bytes(damaged)):
        (repository / ".git" / "index").write_bytes(content)
        found = read_git_index(identity(repository))
        assert found is None or found.state("nothing-of-that-name", b"") == "untracked"


SEEN: list[bytes] = []
