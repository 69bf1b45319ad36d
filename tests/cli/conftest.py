"""A small prepared project, made once a run and copied for each test that changes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.support import MEMORY, arr

FILES = {
    "notes/warmup.md": "# Warmup\n\nThe warmup run diverged at step 900.\nWe use 2000 steps now.\n",
    "papers/README.md": "# Papers\n\nA survey of schedules for the learning rate.\n",
    "src/train.py": "def warmup_schedule(step):\n    return min(1.0, step / 2000)\n",
    "notes/数据.md": "# 数据\n\n数据清洗 é naïve ✅ 😀\n",
}


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prepared project: four files, a candidate and a published memory, one retrieval. Don't change it."""
    folder = tmp_path_factory.mktemp("prepared") / "lumen"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
    commands = (
        ("init", "--team", "vision", "--name", "lumen", "--env", "a100"),
        ("add", "notes", "papers", "src", "--no-embed"),
        (
            "memory",
            "add",
            "--id",
            MEMORY,
            "--title",
            "Warmup",
            "--content",
            "Use 2000 steps.",
            "--source",
            "notes/warmup.md",
        ),
        (
            "memory",
            "add",
            "--id",
            "m-kept",
            "--title",
            "✅ 数据",
            "--content",
            "数据 é naïve 😀",
            "--source",
            "notes/数据.md",
        ),
        ("memory", "publish", "m-kept"),
        ("search", "warmup"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARR_ACTOR", "tester")
        patch.delenv("ARR_ENV", raising=False)
        for command in commands:
            ran = arr(*command, cwd=folder)
            assert ran.code == 0, ran
    return folder


@pytest.fixture
def project(prepared: Path, tmp_path: Path) -> Path:
    """A copy of the prepared project that a test may change."""
    return Path(shutil.copytree(prepared, tmp_path / "lumen"))
