"""Copies in an S3-compatible store: a real server process on loopback, the real engine. Not part of `pytest`:

python3 -m venv .venv-replica && .venv-replica/bin/python -m pip install -q -U pip
.venv-replica/bin/python -m pip install -q '.[replica]' --group replica-store
.venv-replica/bin/python -m pytest -q .ci/test_replica.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.replica_kill import KEYS, store_process

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The address of a store with the bucket `lab`."""
    with store_process() as address:
        yield address


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one note and one retrieval. Each test has a target of its own."""
    folder = tmp_path_factory.mktemp("replica") / "lumen"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "warmup.md").write_text("# Warmup\n\nWarmup takes 2000 steps. 学习率减半。\n", "utf-8")
    for command in ("init --team vision --name lumen --env a100", "add notes --no-embed", "search warmup"):
        assert arr(folder, *command.split()).returncode == 0
    return folder


def arr(folder: Path, *arguments: str, **values: str) -> subprocess.CompletedProcess[str]:
    """Run ``arr`` with no credential in its environment but those given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LITESTREAM_", "ARR_"))}
    return subprocess.run(
        [sys.executable, "-m", "arr_sql", *arguments], cwd=folder, env={**kept, **values}, capture_output=True, text=True,
        encoding="utf-8", timeout=120,
    )  # fmt: skip


def test_there_and_back(project: Path, store: str) -> None:
    """Copied, watched, restored with the same answers; the second copy takes only what is new; a read copy follows."""
    target = ("s3://lab/there", "--endpoint", store)
    first = arr(project, "replica", "start", *target, "--once", **KEYS)
    assert first.returncode == 0 and "behind: nothing" in first.stdout, first
    assert arr(project, "memory", "add", "--title", "T", "--content", "C").returncode == 0
    behind = json.loads(arr(project, "replica", "status", "--json", **KEYS).stdout)
    assert (behind["is_complete"], behind["target"], behind["endpoint"]) == (False, "s3://lab/there", store)
    assert arr(project, "replica", "start", *target, "--once", **KEYS).returncode == 0
    status = json.loads(arr(project, "replica", "status", "--json", **KEYS).stdout)
    assert status["is_complete"] and status["transaction"] > behind["transaction"]
    restored = arr(project.parent, "replica", "restore", *target, "restored.db", **KEYS)
    assert restored.returncode == 0, restored
    verified = json.loads(arr(project, "replica", "verify", "../restored.db", "--json").stdout)
    assert (verified["passed"], verified["missing_events"], verified["identical"]) == (True, 0, 1)
    followed = arr(project, "replica", "follow", *target, "../read.db", "--once", **KEYS)
    assert followed.returncode == 0, followed
    assert json.loads(arr(project, "replica", "verify", "../read.db", "--json").stdout)["passed"]


def test_keys_from_a_file_that_is_named(project: Path, store: str) -> None:
    """The file is the engine's to read; its content is nowhere else."""
    keys = project.parent / "keys"
    keys.write_text(
        "[lab]\naws_access_key_id = AKIAEXAMPLEEXAMPLE77\naws_secret_access_key = hush-hush-hush\n", "utf-8"
    )
    named = {"AWS_SHARED_CREDENTIALS_FILE": str(keys), "AWS_PROFILE": "lab"}
    ran = arr(project, "replica", "start", "s3://lab/by-file", "--endpoint", store, "--once", **named)
    assert ran.returncode == 0, ran
    for path in (path for path in project.rglob("*") if path.is_file()):
        assert b"hush" not in path.read_bytes() and b"AKIAEXAMPLE" not in path.read_bytes(), path
    assert "hush" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("command", ["start s3://lab/x --once", "restore s3://lab/x out.db"])
def test_a_store_that_does_not_answer(project: Path, command: str) -> None:
    """An error with the reason; no file, no key in it."""
    keys = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLEEXAMPLE77", "AWS_SECRET_ACCESS_KEY": "hush-hush-hush"}
    keys["ARR_REPLICA_TIMEOUT_SECONDS"] = "2"
    ran = arr(project, "replica", *command.split(), "--endpoint", "http://127.0.0.1:9", **keys)
    assert ran.returncode == 1 and ran.stderr.startswith("Error: Litestream"), ran
    assert "hush" not in ran.stderr and "AKIAEXAMPLE" not in ran.stderr
    assert not (project / "out.db").exists()


def test_a_bucket_that_is_not_there(project: Path, store: str) -> None:
    """The engine's complaint is passed on."""
    ran = arr(project, "replica", "start", "s3://no-such-bucket/x", "--endpoint", store, "--once", **KEYS)
    assert ran.returncode == 1 and "NoSuchBucket" in ran.stderr, ran


@pytest.mark.skipif(os.environ.get("ARR_DEEP") != "1", reason="with ARR_DEEP=1; with a folder: tests/promises")
def test_killed_in_mid_load() -> None:
    """Writer, arr and Litestream are killed; what is restored is whole and answers the same."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.replica_kill", "--s3", "--seconds", "2", "--records", "15", "--files", "15",
         "--no-embed"],
        cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert "1 of 1 whole, with 15 of 15 retrievals identical." in done.stdout
