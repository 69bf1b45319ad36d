"""Stores of generated chunks, made once and kept in a folder, so that several benchmarks can use them."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from benchmarks.corpus import Corpus, write_markdown


def scope(branch: str = "main") -> ScopeKey:
    """The benchmarks' scope of this branch."""
    return ScopeKey(
        team_id="bench", project_id="bench", repository="corpus", branch=branch, experiment_environment="none"
    )


def default_folder() -> Path:
    """Where stores are kept when no folder is named."""
    return Path(tempfile.gettempdir()) / "arr-benchmarks"


def source_folder(chunks: int, folder: Path, *, seed: int = 1, chinese: float = 0.0) -> Path:
    """Generated Markdown files with about ``chunks`` sections. Written on the first call."""
    sources = folder / f"{chunks}-{seed}-{round(100 * chinese)}"
    if not sources.is_dir():
        unfinished = sources.with_name(sources.name + ".making")
        shutil.rmtree(unfinished, ignore_errors=True)
        write_markdown(unfinished, chunks, Corpus(seed, chinese=chinese))
        unfinished.rename(sources)
    return sources


def store_of(chunks: int, folder: Path, *, seed: int = 1, chinese: float = 0.0, branch: str = "main") -> Path:
    """A database with one scope of about ``chunks`` chunks, without vectors. Made on the first call."""
    name = f"{chunks}-{seed}-{round(100 * chinese)}"
    path = folder / f"{name}.db"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    sources, unfinished = source_folder(chunks, folder, seed=seed, chinese=chinese), folder / f"{name}.part"
    for left in folder.glob(f"{name}.part*"):
        left.unlink()
    with ResearchDatabase.create(
        unfinished, scope(branch), project_folder=sources, actor="bench", embedder=None
    ) as database:
        database.add(sources)
        database.checkpoint() if hasattr(database, "checkpoint") else None
    unfinished.rename(path)
    for ending in ("-wal", "-shm"):
        left = unfinished.with_name(unfinished.name + ending)
        if left.exists():
            shutil.move(left, path.with_name(path.name + ending))
    print(f"made {path.name} in {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return path
