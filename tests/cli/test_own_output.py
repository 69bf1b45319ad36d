"""What a command writes into a folder that is read must not become evidence unnoticed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.support import MEMORY, arr


def test_an_exported_tree_is_no_source(project: Path) -> None:
    """It holds the texts of all scopes: neither sync nor grep reads it, also when it is moved."""
    arr(
        "memory",
        "add",
        "--env",
        "h800",
        "--title",
        "Secret",
        "--content",
        "ZEPHYR_77 is only for h800",
        "--id",
        "z",
        cwd=project,
    )
    assert arr("memory", "publish", "z", "--env", "h800", "--reason", "x", cwd=project).code == 0
    ran = arr("db", "export", "notes/lab-export", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    os.rename(project / "notes" / "lab-export", project / "src" / "old-export")
    assert arr("search", "ZEPHYR_77", "--json", cwd=project).json["evidence"] == []
    assert arr("grep", "ZEPHYR_77", "--json", cwd=project).json["hits"] == []
    synced = arr("sync", "--no-embed", "--json", cwd=project).json
    assert "export" not in json.dumps(synced)
    assert arr("db", "import", "src/old-export", "--to", "copy.db", cwd=project).code == 0


@pytest.mark.parametrize(
    ("command", "target", "is_read"),
    [
        (("audit", "export"), "notes/audit.jsonl", True),
        (("audit", "export"), "audit.jsonl", False),
        (("audit", "export"), ".arr/audit.jsonl", False),
        (("memory", "export"), "src/memories.jsonl", True),
        (("memory", "export"), "memories.jsonl", False),
        (("memory", "export", "--markdown"), "notes/memories", True),
        (("memory", "export", "--markdown"), "memories", False),
    ],
)
def test_a_file_in_a_folder_that_is_read_is_remarked(
    project: Path, command: tuple[str, ...], target: str, is_read: bool
) -> None:
    """On stderr, with the way out; the file is there all the same."""
    assert MEMORY
    ran = arr(*command, target, cwd=project)
    assert ran.code == 0 and (project / target).exists()
    assert ("next `arr sync` takes it in" in ran.err) is is_read


def test_what_is_ignored_is_not_remarked(project: Path) -> None:
    """By a rule of the folder or of one above it."""
    (project / "notes" / ".arrignore").write_text("exports/\n*.out\n", "utf-8")
    (project / "notes" / "exports" / "deep").mkdir(parents=True)
    for target in ("notes/exports/deep/audit.jsonl", "notes/audit.out"):
        assert arr("audit", "export", target, cwd=project).err == ""
    assert "takes it in" in arr("audit", "export", "notes/audit.jsonl", cwd=project).err
