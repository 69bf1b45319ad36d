"""Every name below a root is found or left out with a reason, in the same order each time, and loops cannot loop."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from arr_sql.core import walk as walk_module
from arr_sql.core.rooted import FileRead, Root
from arr_sql.core.walk import LEFT_OUT_REASONS, Found, LeftOut, display, walk

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def found(folder: Path, **options: object) -> list[str]:
    with Root(folder) as root:
        return [row.rel for row in walk(root, **options) if isinstance(row, Found)]  # type: ignore[arg-type]


def left_out(folder: Path, **options: object) -> dict[str, str]:
    with Root(folder) as root:
        return {row.rel: row.reason for row in walk(root, **options) if isinstance(row, LeftOut)}  # type: ignore[arg-type]


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Component by component, so that a folder's files stay together."""
    make(tmp_path, "b.md", "a/z.md", "a/b/c.md", "a.md", "B.md", "数据/笔记.md")
    assert found(tmp_path) == ["B.md", "a/b/c.md", "a/z.md", "a.md", "b.md", "数据/笔记.md"]
    with Root(tmp_path) as root:
        said = (tmp_path / "B.md").stat()
        assert next(iter(walk(root))) == Found("B.md", 1, said.st_mtime_ns, said.st_ctime_ns, said.st_ino)


def test_folders_of_tools_are_one_row_each(tmp_path: Path) -> None:
    """Nothing in them is looked at."""
    names = [
        ".git",
        ".hg",
        ".svn",
        ".arr",
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".tox",
        ".nox",
        ".mypy_cache",
    ]
    names += [
        ".pytest_cache",
        ".ruff_cache",
        "site-packages",
        "vendor",
        "third_party",
        ".ipynb_checkpoints",
        ".idea",
        ".vscode",
    ]
    make(
        tmp_path,
        "ok.md",
        *[f"x/{name}/deep/f.md" for name in names],
        "env/pyvenv.cfg",
        "env/lib/f.py",
        "environment/f.md",
        "env2/f.md",
    )
    assert found(tmp_path) == ["env2/f.md", "environment/f.md", "ok.md"]
    expected = {f"x/{name}/" for name in names} | {"env/"}
    assert left_out(tmp_path) == dict.fromkeys(expected, "vendored_or_tool_folder")


def test_a_root_inside_such_a_folder_is_walked(tmp_path: Path) -> None:
    """It was named; so is a folder given as ``under``."""
    make(tmp_path, "node_modules/pkg/readme.md", "env/pyvenv.cfg", "env/notes.md")
    assert found(tmp_path / "node_modules") == ["pkg/readme.md"]
    assert found(tmp_path / "env") == ["notes.md", "pyvenv.cfg"]
    assert found(tmp_path, under="node_modules/pkg/") == ["node_modules/pkg/readme.md"]


def test_the_git_file_of_a_worktree_is_left_out(tmp_path: Path) -> None:
    """In a linked worktree ``.git`` is a file."""
    make(tmp_path, ".git", "a.md")
    assert found(tmp_path) == ["a.md"]


@posix
def test_loops_of_links_end(tmp_path: Path) -> None:
    """Links to the parent, to the top, to the world and to one another (field report grepf-01)."""
    root = tmp_path / "r"
    make(root, "d/f.md", *[f"m/{n}/g.md" for n in range(4)])
    (root / "d/e").mkdir()
    (root / "d/back").symlink_to("..")
    (root / "d/e/top").symlink_to("../..")
    (root / "etc").symlink_to("/")
    for n in range(4):
        for other in range(4):
            (root / f"m/{n}/{other}").symlink_to(f"../{other}")
    start = time.monotonic()
    assert found(root) == ["d/f.md", "m/0/g.md", "m/1/g.md", "m/2/g.md", "m/3/g.md"]
    assert time.monotonic() - start < 5
    skipped = left_out(root)
    assert len(skipped) == 19 and set(skipped.values()) == {"symlink"}


@posix
def test_special_and_sensitive_files_are_named_and_not_found(tmp_path: Path) -> None:
    """Names are listed; nothing is opened."""
    make(
        tmp_path,
        "n.md",
        ".env",
        ".env.example",
        "id_rsa",
        "sub/tls.pem",
        ".ssh/config",
        ".aws/config",
        "x/.docker/config.json",
    )
    os.mkfifo(tmp_path / "pipe.md")
    assert found(tmp_path) == [".env.example", "n.md"]
    assert left_out(tmp_path) == {
        ".aws/": "sensitive_name", ".env": "sensitive_name", ".ssh/": "sensitive_name", "id_rsa": "sensitive_name",
        "pipe.md": "special_file", "sub/tls.pem": "sensitive_name", "x/.docker/config.json": "sensitive_name",
    }  # fmt: skip


@posix
def test_an_unreadable_folder_is_a_row(tmp_path: Path) -> None:
    """Never silent, never an error."""
    make(tmp_path, "a/f.md", "b/f.md", "shut/f.md")
    for folder in (tmp_path, tmp_path / "a", tmp_path / "b"):
        folder.chmod(0o755)
    (tmp_path / "shut").chmod(0)
    with Root(tmp_path) as root:
        step_down = hasattr(os, "geteuid") and os.geteuid() == 0
        if step_down:
            os.seteuid(65534)
        try:
            rows = list(walk(root))
        finally:
            if step_down:
                os.seteuid(0)
            (tmp_path / "shut").chmod(0o755)
    assert [row.rel for row in rows] == ["a/f.md", "b/f.md", "shut/"]
    assert rows[-1] == LeftOut("shut/", "permission_denied")


def test_limits_are_rows(tmp_path: Path) -> None:
    """Files, time, size and depth; the walk says where it stopped."""
    make(tmp_path, "a.md", "b.md", "c.md")
    (tmp_path / "big.md").write_bytes(b"x" * 100)
    assert left_out(tmp_path, max_file_bytes=99) == {"big.md": "too_large"}
    with Root(tmp_path) as root:
        rows = list(walk(root, max_files=2))
        assert [row.rel for row in rows] == ["a.md", "b.md", "big.md"] and rows[-1] == LeftOut(
            "big.md", "limit_reached"
        )
        assert list(walk(root, max_files=4))[-1][:2] == ("c.md", 1)
        assert list(walk(root, deadline=time.monotonic() - 1)) == [LeftOut("a.md", "limit_reached")]


def test_very_deep_folders_end_in_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is left out, the rest is walked."""
    monkeypatch.setattr(walk_module, "MAX_DEPTH", 4)
    make(tmp_path, "a/b/c/d/e.md", "z.md")
    assert found(tmp_path) == ["z.md"]
    assert left_out(tmp_path) == {"a/b/c/d/": "limit_reached"}


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="APFS refuses names that are not UTF-8")
def test_names_that_are_not_utf8_are_found_and_shown_safely(tmp_path: Path) -> None:
    """The name opens the file; ``display`` makes it printable."""
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_bytes(b"x")
    (name,) = found(tmp_path)
    with Root(tmp_path) as root:
        assert isinstance(root.read_file(name, 10), FileRead)
    assert display(name) == "caf\\xe9.md"


def test_display_hides_nothing_and_moves_nothing() -> None:
    """Escapes for what would act on a terminal or reorder text; ordinary names of any script stay."""
    assert display("a\x1b[2J\n\u202egnp.md") == "a\\x1b[2J\\x0a\\u202egnp.md"
    assert display("notes/数据 über.md") == "notes/数据 über.md"
    display("".join(map(chr, range(0x3000)))).encode()


def test_a_missing_folder_is_a_row(tmp_path: Path) -> None:
    """``under`` may name nothing."""
    assert left_out(tmp_path, under="none") == {"none/": "vanished"}
    assert left_out(tmp_path, under="../x") == {"../x/": "vanished"}


def test_stopping_early_leaves_nothing_open(tmp_path: Path) -> None:
    """No descriptor is held between two rows."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    make(tmp_path, *[f"{n}/f.md" for n in range(10)])
    with Root(tmp_path) as root:
        before = len(os.listdir("/proc/self/fd"))
        rows = walk(root)
        next(rows)
        assert len(os.listdir("/proc/self/fd")) == before


def test_twenty_thousand_files_take_about_a_second(tmp_path: Path) -> None:
    """With a hundred ignore rules; the bound is loose because test machines are shared."""
    for folder in range(200):
        path = tmp_path / f"d{folder % 10}" / f"e{folder}"
        path.mkdir(parents=True)
        for number in range(100):
            (path / f"file_{number}.md").touch()
    (tmp_path / ".gitignore").write_text("".join(f"*.ext{n}\n/build{n}/\nname{n}\n" for n in range(34)), "utf-8")
    start = time.process_time()
    assert len(found(tmp_path)) == 20_001
    assert time.process_time() - start < 5


def test_every_reason_is_in_the_closed_set() -> None:
    """The set is what documents and callers rely on."""
    assert set(LEFT_OUT_REASONS) == {
        "ignored", "vendored_or_tool_folder", "symlink", "special_file", "sensitive_name", "permission_denied",
        "too_large", "vanished", "unreadable", "limit_reached",
    }  # fmt: skip
