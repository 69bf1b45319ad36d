"""``arr db vacuum | prune``: what they would win, asking first, and doing it."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from arr_sql.core.project import find_project
from arr_sql.database import ResearchDatabase
from tests.cli.support import arr


def test_a_dry_run_shows_what_a_vacuum_would_win(project: Path) -> None:
    """In words and in JSON, and nothing is changed."""
    before = (project / ".arr" / "arr.db").read_bytes()
    ran = arr("db", "vacuum", "--dry-run", cwd=project)
    assert ran.code == 0 and "Wins at least " in ran.out and "the disk has " in ran.out
    found = arr("db", "vacuum", "--dry-run", "--json", cwd=project).json
    assert set(found) == {"file_bytes", "free_bytes", "wal_bytes", "disk_free_bytes", "needed_bytes"}
    assert (project / ".arr" / "arr.db").read_bytes() == before


@pytest.mark.parametrize("command", [("vacuum",), ("prune", "--older-than", "1")])
def test_they_ask_first(project: Path, command: tuple[str, ...]) -> None:
    """Without a terminal they need --yes: exit code 2; a pruning that finds nothing has nothing to ask."""
    ran = arr("db", *command, cwd=project)
    if command[0] == "vacuum":
        assert ran.code == 2 and "Say --yes to do it, or --dry-run" in ran.err
    else:
        assert ran.code == 0 and "No retrieval record is older than" in ran.out


def test_a_vacuum_says_what_it_gave_back(project: Path) -> None:
    """Bytes before and after agree with the file, which passes its checks."""
    found = arr("db", "vacuum", "--yes", "--json", cwd=project).json
    assert found["bytes_given_back"] == found["bytes_before"] - found["bytes_after"]
    assert (project / ".arr" / "arr.db").stat().st_size == found["bytes_after"]
    assert arr("db", "vacuum", "--yes", cwd=project).out.splitlines()[-1].startswith("Written anew: ")
    assert arr("db", "check", cwd=project).code == 0


def test_pruning_finds_nothing_young(project: Path) -> None:
    """Records of today stay, in JSON too; an age is needed."""
    found = arr("db", "prune", "--older-than", "1", "--json", "--yes", cwd=project).json
    assert (found["records_removed"], found["records"], found["oldest"]) == (0, 0, None)
    assert arr("db", "prune", "--yes", cwd=project).code == 2
    assert arr("db", "prune", "--older-than", "0", cwd=project).code == 2


def test_pruning_says_what_goes_and_what_stays(tmp_path: Path) -> None:
    """Two records of long ago: the older one goes, and its replay says when that was."""
    assert arr("init", "--team", "vision", "--name", "lumen", cwd=tmp_path).code == 0
    past = datetime(2020, 1, 2, tzinfo=timezone.utc)
    with ResearchDatabase.of_project(find_project(tmp_path), clock=lambda: past, embedder=lambda: None) as database:
        gone, stays = database.search("warmup").retrieval_id, database.search("学习率").retrieval_id
    ran = arr("db", "prune", "--older-than", "30", cwd=tmp_path)
    assert ran.code == 2 and "Pruned records can't be brought back. Say --yes" in ran.err
    assert "1 retrieval record with 0 evidence rows, from 2020-01-02T00:00:00.000000Z" in ran.out
    ran = arr("db", "prune", "--older-than", "30", "--yes", cwd=tmp_path)
    assert ran.code == 0 and "Removed 1 record. `arr db vacuum` gives their space back" in ran.out
    assert arr("replay", str(stays), cwd=tmp_path).code == 0
    ran = arr("replay", str(gone), cwd=tmp_path)
    assert ran.code == 1 and "was pruned at 20" in ran.err
    assert arr("audit", "verify", cwd=tmp_path).code == 0
