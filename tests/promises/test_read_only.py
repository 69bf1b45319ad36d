"""Read-only files and media can be searched; the answer says that no record was written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# A process without CAP_DAC_OVERRIDE (1) and CAP_DAC_READ_SEARCH (2): even root then obeys the permission bits.
OBEY = """
import ctypes, os, sys
if hasattr(os, "geteuid") and os.geteuid() == 0:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for capability in (1, 2):
        if prctl(24, capability, 0, 0, 0):
            sys.exit("can't drop capabilities")
os.execv(sys.executable, [sys.executable, "-m", "arr_sql", *sys.argv[1:]])
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permission bits are a POSIX thing")


def arr(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in ``folder`` as somebody whom the permission bits bind."""
    if sys.platform != "linux" and os.geteuid() == 0:
        pytest.skip("root on this system can't give up its right to write everywhere")
    return subprocess.run(
        [sys.executable, "-c", OBEY, *arguments], cwd=folder, capture_output=True, text=True, timeout=120,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A project with one file taken in and everything checkpointed; made writable again at the end."""
    folder = tmp_path / "lab"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nalphaword is here.\n", "utf-8")
    assert arr(folder, "init", "--team", "vision", "--name", "lumen").returncode == 0
    assert arr(folder, "add", "--no-embed", "a.md").returncode == 0
    yield folder
    for path in (folder, folder / ".arr", folder / ".arr" / "arr.db"):
        path.chmod(0o755)


def expect_answer_without_record(folder: Path) -> None:
    """A search finds and says that it wrote no record; writing is refused in one line; not a byte changes."""
    database = folder / ".arr" / "arr.db"
    before = database.read_bytes()
    for turn in range(2):
        result = arr(folder, "search", f"alphaword {turn}", "--json")
        assert (result.returncode, result.stderr) == (0, "")
        answer = json.loads(result.stdout)
        assert answer["evidence"][0]["source_ref"] == "a.md"
        assert {rank["channel"] for rank in answer["evidence"][0]["channels"]} == {"bm25", "grep"}
        assert "record_not_written" in [item["code"] for item in answer["degradations"]]
        assert answer["retrieval_id"] == "unrecorded"
    for words in (("memory", "add", "--title", "t", "--content", "c"), ("sync", "--no-embed")):
        refused = arr(folder, *words)
        assert (words, refused.returncode, refused.stderr.count("\n")) == (words, 1, 1)
        assert "Searching works; to write, change its permissions or copy it." in refused.stderr
    assert arr(folder, "status").returncode == 0
    assert arr(folder, "audit", "verify").returncode == 0
    checked = arr(folder, "db", "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert database.read_bytes() == before


def test_a_read_only_file(project: Path) -> None:
    """A file whose permissions allow no writing answers, and says so."""
    (project / ".arr" / "arr.db").chmod(0o444)
    expect_answer_without_record(project)


def test_a_read_only_file_in_a_read_only_folder(project: Path) -> None:
    """Where neither the file nor its folder can be written, no -wal and no -shm is needed to read it."""
    (project / ".arr" / "arr.db").chmod(0o444)
    (project / ".arr").chmod(0o555)
    assert sorted(name for name in os.listdir(project / ".arr") if not name.endswith("lock")) == [
        ".gitignore",
        "arr.db",
    ]
    expect_answer_without_record(project)
    assert sorted(name for name in os.listdir(project / ".arr") if not name.endswith("lock")) == [
        ".gitignore",
        "arr.db",
    ]


def test_a_writable_file_in_a_read_only_folder(project: Path) -> None:
    """A file that may be written in a folder that may not: SQLite needs the folder, so it counts as read-only."""
    (project / ".arr").chmod(0o555)
    expect_answer_without_record(project)


def test_a_read_only_medium(project: Path, tmp_path: Path) -> None:
    """A file system mounted read-only can be searched."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if sys.platform != "linux" or os.geteuid() != 0 or not mount or not umount:
        pytest.skip("mounting a file system needs Linux and root")
    medium = tmp_path / "medium"
    medium.mkdir()
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(medium)], capture_output=True).returncode:
        pytest.skip("this sandbox does not let root mount a tmpfs")
    try:
        shutil.copytree(project, medium / "lab")
        subprocess.run([mount, "-o", "remount,ro", str(medium)], check=True)
        expect_answer_without_record(medium / "lab")
    finally:
        subprocess.run([umount, "-l", str(medium)], check=True)


def test_a_write_that_is_not_on_disk_yet_is_not_missed(project: Path) -> None:
    """With a -wal file that holds acknowledged writes in a read-only folder, the answer has them or there is no answer."""
    code = """
import os, sys
from pathlib import Path
from arr_sql.core.connection import open_writer, write_transaction
path = Path(sys.argv[1])
connection = open_writer(path)
connection.execute("PRAGMA wal_autocheckpoint=0")
with write_transaction(connection, path):
    connection.execute("UPDATE scope SET project_id = 'only in the wal'")
os._exit(0)
"""
    path = project / ".arr" / "arr.db"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert path.with_name("arr.db-wal").stat().st_size > 0
    path.with_name("arr.db-shm").unlink()
    (project / ".arr").chmod(0o555)
    result = arr(project, "scope", "list", "--json")
    assert "only in the wal" in result.stdout or (result.returncode, result.stderr.count("\n")) == (1, 1)
    (project / ".arr").chmod(0o755)
    assert "only in the wal" in arr(project, "scope", "list", "--json").stdout
