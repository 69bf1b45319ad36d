"""A walk with a memory gives the rows of a walk without, and lists only what may have changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from arr_sql.core.rooted import Entry, FolderStamp, Root
from arr_sql.core.walk import Found, LeftOut, Step, walk


class Memory:
    """Recalls everything that it was told, files looked at anew."""

    def __init__(self) -> None:
        self.noted: dict[str, tuple[FolderStamp, str, list[Step]]] = {}
        self.recalled: list[str] = []

    def recall(self, root: Root, rel: str, rules: str) -> list[Step] | None:
        """The steps of a folder with the same stamp and rules."""
        stamp, known_rules, steps = self.noted.get(rel, (None, "", []))
        if stamp is None or known_rules != rules:
            return None
        names = [entry.name for entry, reason in steps if entry.kind == "file" and reason is None]
        stats = root.look_again(rel, stamp, names)
        if stats is None:
            return None
        self.recalled.append(rel)
        fresh = {name: Entry(name, "file", *stat) for name, stat in zip(names, stats, strict=True)}
        return [(fresh.get(entry.name, entry), reason) for entry, reason in steps]

    def note(self, rel: str, stamp: FolderStamp, rules: str, steps: Sequence[Step]) -> None:
        """Keep it."""
        self.noted[rel] = (stamp, rules, list(steps))


def rows(folder: Path, memory: Memory | None = None, **options: object) -> list[Found | LeftOut]:
    with Root(folder) as root:
        return list(walk(root, memory=memory, **options))  # type: ignore[arg-type]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files, ignored and sensitive names, a tool folder, a virtual environment, rules at two depths."""
    for name in (
        "a.md",
        "b/c.md",
        "b/x.log",
        "b/d/e.md",
        "b/.env",
        "node_modules/f.js",
        "env/pyvenv.cfg",
        "env/g.py",
        "h/i/j.log",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".gitignore").write_text("*.log\n", "utf-8")
    (tmp_path / "h" / ".arrignore").write_text("!j.log\n", "utf-8")
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lists each time")
def test_the_rows_are_the_same(tree: Path) -> None:
    """With and without; folders with ignore files of their own, and virtual environments, are listed each time."""
    memory = Memory()
    plain = rows(tree)
    assert rows(tree, memory) == plain and memory.recalled == []
    assert rows(tree, memory) == plain
    assert memory.recalled == ["b", "b/d", "h/i"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lists each time")
@pytest.mark.parametrize(
    "options", [{"ignore": False}, {"under": "b"}, {"under": "h/i"}, {"max_files": 2}, {"max_file_bytes": 0}]
)
def test_with_every_option(tree: Path, options: dict[str, object]) -> None:
    """What was noted under other rules is not recalled."""
    memory = Memory()
    rows(tree, memory)
    assert rows(tree, memory, **options) == rows(tree, **options)
    rows(tree, memory, ignore=False)
    assert rows(tree, memory) == rows(tree)


def test_a_changed_file_is_seen_in_a_folder_that_is_not_listed(tree: Path) -> None:
    """An edit in place leaves the folder's time alone."""
    memory = Memory()
    rows(tree, memory)
    with (tree / "b" / "c.md").open("ab") as handle:
        handle.write(b"more")
    assert rows(tree, memory) == rows(tree)
    (found,) = [row for row in rows(tree, memory) if isinstance(row, Found) and row.rel == "b/c.md"]
    assert found.size == 5
