"""Offline by default (contract 1.4): with every door to the network shut, the ordinary commands work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from arr_sql.index.embedders import model_store
from tests.cli.support import environment

SHUT = """
import socket, sys

def refuse(*arguments, **keywords):
    raise AssertionError(f"the network was used: {arguments!r}")

class Refused(socket.socket):
    def __init__(self, *arguments, **keywords):
        refuse(*arguments)

socket.socket = Refused
socket.create_connection = socket.getaddrinfo = socket.gethostbyname = socket.socketpair = refuse
import _socket
_socket.socket = refuse
_socket.getaddrinfo = refuse
"""
RUN = """
import json, sys
from arr_sql.cli import main
for command in json.loads(sys.argv[1]):
    sys.argv = ["arr", *command]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            sys.exit(f"arr {command} ended with {stop.code}")
print("MODULES", json.dumps(sorted(name for name in sys.modules if "." not in name)))
"""
COMMANDS = [
    ["init"], ["add", "."], ["sync"], ["status"], ["search", "warmup"], ["search", "warmup", "--json"],
    ["memory", "add", "--title", "Warmup", "--content", "2000 steps", "--source", "a.md", "--id", "m1"],
    ["memory", "publish", "m1"], ["plan", "warmup"], ["audit", "verify"], ["db", "check"], ["doctor"], ["model", "list"],
]  # fmt: skip


def run(code: str, folder: Path, commands: list[list[str]]) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a fresh process with default settings."""
    return subprocess.run(
        [sys.executable, "-c", code, json.dumps(commands)], cwd=folder, env=environment(), capture_output=True, text=True,
        encoding="utf-8", timeout=300,
    )  # fmt: skip


def test_every_ordinary_command_works_with_the_network_shut(tmp_path: Path) -> None:
    """init, add, sync, search, memory, audit, check and doctor open no socket and look no name up."""
    (tmp_path / "a.md").write_text("The warmup run diverged.\n", "utf-8")
    ran = run(SHUT + RUN, tmp_path, COMMANDS)
    assert ran.returncode == 0, ran.stderr
    modules = set(json.loads(ran.stdout.rpartition("MODULES ")[2]))
    assert not modules & {"httpx", "httpcore", "requests", "urllib3"}
    assert "a.md" in ran.stdout and "Verified: " in ran.stdout


@pytest.mark.parametrize(
    "use", ["socket.socket()", "socket.create_connection(('127.0.0.1', 9))", "socket.getaddrinfo('a', 1)"]
)
def test_the_doors_are_really_shut(use: str, tmp_path: Path) -> None:
    """The check itself works: each way to the network raises."""
    ran = run(SHUT + f"import socket; {use}", tmp_path, [])
    assert ran.returncode != 0 and ("the network was used" in ran.stderr)


@pytest.mark.model
def test_embedding_and_a_healthy_search_need_no_network(tmp_path: Path) -> None:
    """With the default model installed, a run without degradations opens no socket."""
    if model_store.find_default_model() is None:
        pytest.skip("the default model's weights are not installed (extra `local`)")
    (tmp_path / "a.md").write_text("The warmup run diverged.\n", "utf-8")
    ran = run(SHUT + RUN, tmp_path, [["init"], ["add", "."], ["search", "why did it blow up", "--strict"]])
    assert ran.returncode == 0, ran.stderr
    assert "vector ok" in ran.stdout and "vector#" in ran.stdout
