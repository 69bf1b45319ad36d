"""``arr demo``: keeps its folder only when asked, and never writes into one that is in use."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.cli.support import arr


def test_keep_leaves_a_project_that_can_be_used(tmp_path: Path) -> None:
    """--keep builds in a new folder, says where, and the kept file passes its check."""
    ran = arr("demo", "--no-embed", "--keep", "sample", cwd=tmp_path)
    assert ran.code == 0 and ran.out.rstrip().endswith("The sample project is in sample.")
    assert (tmp_path / "sample/main-a100/README.md").is_file()
    arr("init", cwd=tmp_path)
    assert arr("db", "check", "--db", "sample/.arr/arr.db", cwd=tmp_path).code == 0


def test_keep_refuses_a_folder_in_use(tmp_path: Path) -> None:
    """A folder with anything in it is a usage error; nothing is added to it."""
    (tmp_path / "mine.txt").write_text("x", "utf-8")
    ran = arr("demo", "--no-embed", "--keep", str(tmp_path))
    assert ran.code == 2 and "is not empty. Name a new folder." in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --keep the temporary folder is gone afterwards, and the current folder untouched."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "cwd").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    assert arr("demo", "--no-embed", cwd=tmp_path / "cwd").code == 0
    assert list((tmp_path / "tmp").iterdir()) == list((tmp_path / "cwd").iterdir()) == []
