"""``arr ui`` as a process: it starts, says where, changes nothing, and ends."""

from __future__ import annotations

import hashlib
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import arr, process
from tests.serve.running import retrieval_ids, start, stop

PAGES = ("/", "/?q=warmup", "/retrievals", "/memories", "/memory?id=m-steps", "/sources?check=1", "/audit?verify=1")


def contents(folder: Path) -> dict[str, str]:
    """The hash of every file that holds something; SQLite's -shm is scratch memory."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm") and path.stat().st_size
    }  # fmt: skip


def test_looking_changes_nothing(copy_of: Path) -> None:
    """After every page was opened no byte of the project or the store differs."""
    before = contents(copy_of)
    site = start(copy_of)
    for path in PAGES:
        status, _, text = site.get(path)
        assert status == 200, text
    assert "Searches are not recorded" in site.get("/")[2]
    stop(site)
    assert contents(copy_of) == before


def test_a_read_only_file_is_shown(copy_of: Path) -> None:
    """A file without write permission can be looked at."""
    (copy_of / ".arr" / "arr.db").chmod(0o444)
    site = start(copy_of)
    assert [site.get(path)[0] for path in PAGES] == [200] * len(PAGES)
    stop(site)


def test_searches_are_recorded_where_asked(copy_of: Path) -> None:
    """With --record a search on the page leaves the record that `arr search` would leave, and no memory changes."""
    before, memories = retrieval_ids(copy_of), arr("memory", "list", "--json", cwd=copy_of).json
    site = start(copy_of, "--record")
    text = site.get("/?q=warmup")[2]
    stop(site)
    made = retrieval_ids(copy_of)
    assert len(made) == len(before) + 1 and f"/retrieval?id={made[0]}" in text
    assert arr("memory", "list", "--json", cwd=copy_of).json == memories
    assert arr("audit", "verify", cwd=copy_of).code == 0


def test_a_taken_port_is_said(inspected: Path) -> None:
    """No traceback, but what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = process("ui", "--port", str(port), cwd=inspected)
    assert (ran.returncode, ran.stdout) == (1, b"")
    message = f"Error: Port {port} is taken by another program. Name another with --port, or 0 for any free one.\n"
    assert ran.stderr.decode() == message.replace("\n", "\r\n" if sys.platform == "win32" else "\n")


def test_without_a_project_it_says_so(tmp_path: Path) -> None:
    """As every other command."""
    ran = process("ui", "--port", "0", cwd=tmp_path)
    assert ran.returncode == 1 and b"arr init" in ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process alone")
def test_ctrl_c_ends_it(inspected: Path) -> None:
    """With exit code 0, also while a browser holds a connection open; then the port is free again."""
    site = start(inspected)
    with socket.create_connection(("127.0.0.1", site.port)) as idle:
        idle.sendall(b"GET / HTTP/1.1\r\nHost: ")
        site.process.send_signal(signal.SIGINT)
        out, err = site.process.communicate(timeout=30)
    assert (site.process.returncode, out) == (0, "")
    assert err.splitlines()[-1] == "Stopped." and "Traceback" not in err
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", site.port))


def test_without_the_extra_it_says_what_to_install(inspected: Path) -> None:
    """The core has no web server."""
    code = "import sys; sys.modules['uvicorn'] = None; sys.argv = ['arr', 'ui']; from arr_sql.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", code], cwd=inspected, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1 and "pip install 'arr-sql[ui]'" in ran.stderr
