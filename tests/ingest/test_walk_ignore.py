"""Ignore files mean what they mean to git; where git is installed, git is asked."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arr_sql.core.ignore import is_ignored, parse_rules
from arr_sql.core.rooted import Root
from arr_sql.core.walk import Found, LeftOut, comes_to, walk

NAMES = ["a", "b", "foo", "bar", "x.log", "y.py", "build", "foo.d", "Foo", "a b", "#c", "!d", "[x]", "tmp~"]
PATTERNS = [
    "a", "b", "foo", "foo/", "/foo", "bar/", "*.log", "!*.log", "*.py", "!y.py", "/a/b", "a/b", "a/*", "!a/b", "**/foo",
    "foo/**", "foo/**/", "a/**/b", "build/", "!build/", "*", "!*/", "!*.py", "/*", "!/a", "!/foo/", "?", "[ab]", "[!a]",
    "\\#c", "\\!d", "#c", "a\\ b", "foo.d/", "*.d", "!*.d/", "tmp~", "*~", "b ", "b\\ ", "**", "/**", "foo/*", "!foo/bar",
    "bar/*.log", "*/b", "\\[x\\]", "x.log/", "f*", "*o", "!f*/", "a/", "!a/", "/", "foo**", "[a-c]", "foo\\", "  ", "Foo",
    "!foo/a/", "**/a/**", "!**/b", "# comment", "",
]  # fmt: skip


def found(folder: Path, **options: bool) -> set[str]:
    with Root(folder) as root:
        return {row.rel for row in walk(root, **options) if isinstance(row, Found)}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8", newline="")


def test_nested_files_negation_folders_and_anchors(tmp_path: Path) -> None:
    """One tree with each rule once."""
    write(
        tmp_path,
        {
            ".gitignore": "*.log\n/top.md\nbuild/\ndata/**\n!data/keep.md\r\n",
            "a.log": "", "top.md": "", "sub/top.md": "", "build/x.md": "", "sub/build/x.md": "", "data/x.md": "",
            "data/keep.md": "", "sub/.gitignore": "!b.log\nlocal.md\n", "sub/b.log": "", "sub/a.log": "", "sub/local.md": "",
            "local.md": "", "docs/build": "", ".arrignore": "draft*\n!/a.log\n", "draft1.md": "",
        },
    )  # fmt: skip
    assert found(tmp_path) == {
        ".arrignore", ".gitignore", "a.log", "data/keep.md", "docs/build", "local.md", "sub/.gitignore", "sub/b.log",
        "sub/top.md",
    }  # fmt: skip
    with Root(tmp_path) as root:
        rows = {row.rel: row.reason for row in walk(root) if isinstance(row, LeftOut)}
        assert rows["build/"] == "ignored" and rows["data/x.md"] == "ignored"
        assert {row.rel for row in walk(root, under="sub") if isinstance(row, Found)} == {
            "sub/.gitignore",
            "sub/b.log",
            "sub/top.md",
        }
    assert "draft1.md" in found(tmp_path, ignore=False)


def test_a_linked_ignore_file_is_not_read(tmp_path: Path) -> None:
    """git does not follow it either."""
    if sys.platform == "win32":
        pytest.skip("needs symbolic links")
    write(tmp_path / "r", {"a.md": ""})
    write(tmp_path, {"rules": "*.md\n"})
    (tmp_path / "r/.gitignore").symlink_to("../rules")
    assert found(tmp_path / "r") == {"a.md"}


def test_broken_and_costly_rules_match_nothing_and_are_kept_apart(tmp_path: Path) -> None:
    """A hostile rule must not hold up the walk."""
    rules = parse_rules("", ["*a*a*a*a*a*a*b", "**/x/**/y/**/z/*/*/*/*", "ok.md", "[[:alpha:]]"])
    assert rules is not None
    assert rules.unused[:2] == ("*a*a*a*a*a*a*b", "**/x/**/y/**/z/*/*/*/*")
    start = time.process_time()
    assert not is_ignored([rules], "a" * 250)
    assert time.process_time() - start < 1
    assert is_ignored([rules], "ok.md")
    assert parse_rules("", ["# nothing", "", "  "]) is None


def test_three_stars_cost_little() -> None:
    """The costliest rule that is honoured, against the longest name there is."""
    rules = parse_rules("", ["*a*a*b"])
    assert rules is not None
    start = time.process_time()
    for _ in range(10):
        assert not is_ignored([rules], "a" * 255)
    assert time.process_time() - start < 5


@pytest.mark.skipif(shutil.which("git") is None or sys.platform == "win32", reason="needs git and POSIX names")
@pytest.mark.parametrize("seed", range(40))
def test_the_outcome_is_gits(tmp_path: Path, seed: int) -> None:
    """Random trees with random rules: the same files, no more and no fewer."""
    chance = random.Random(seed)

    def fill(folder: Path, depth: int) -> None:
        for name in chance.sample(NAMES, chance.randint(2, 6)):
            if depth < 3 and chance.random() < 0.5:
                (folder / name).mkdir()
                fill(folder / name, depth + 1)
            else:
                (folder / name).touch()
        if depth == 0 or chance.random() < 0.35:
            lines = chance.choices(PATTERNS, k=chance.randint(1, 5))
            (folder / ".gitignore").write_text("\n".join(lines) + "\n", "utf-8")

    fill(tmp_path, 0)
    git = ["git", "-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--others", "--exclude-standard"], cwd=tmp_path, check=True, capture_output=True
    ).stdout
    expected = {name for name in listed.decode("utf-8").split("\0") if name}
    assert found(tmp_path) == expected
    with Root(tmp_path) as root:  # and of a single name the same is said without a walk
        everything = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
        assert {name for name in everything if comes_to(root, name)} == expected
