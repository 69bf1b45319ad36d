"""The writer's machine dies in mid-load; another restores from the copy: what is lost, and is it ever corrupt?

Two folders stand for two machines, a third (or, with ``--s3``, a store process on loopback) for what lies between them. On
machine A one process writes and searches without a pause while `arr replica start` copies. Both, and Litestream, are killed
with SIGKILL. Machine B restores. Checked: every check of `arr db check`; the copy's audit log is a beginning of A's, event for
event; every write that was acknowledged up to the copy's end is in it; the newest retrievals (by memory, BM25 and, where a
model is installed, vectors) give identical answers on it.

    python -m benchmarks.replica_kill --rounds 3
    python -m benchmarks.replica_kill --s3          (needs the group `replica-store`)

The lag is what a person loses: from the first acknowledged write that is not in the copy to the kill. It is one second of
the engine's own rhythm, and what the machine takes to copy. Not for Windows, which has no SIGKILL and no process groups.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arr_sql.core.clock import from_text
from arr_sql.core.connection import open_reader
from arr_sql.database import connect
from arr_sql.memory.audit_log import last_event
from arr_sql.replica.copying import engine_process
from arr_sql.replica.status import replica_status
from arr_sql.replica.target import parse_target

ARR = (sys.executable, "-m", "arr_sql")
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
WORDS = [
    "router", "budget", "warmup", "scheduler", "gradient", "shard", "tokenizer", "ablation", "baseline", "seed", "loss",
    "学习率", "预热", "数据清洗", "消融实验",
]  # fmt: skip
PLAN: Any = {"tool_rounds": [["research-memory", "bm25", "vector"]]}
"""Without grep: it reads the files on the disk as they are now, and those are no part of the copy."""


@dataclass(frozen=True)
class Round:
    """What one kill cost. Times in seconds."""

    acknowledged: int
    lost: int
    lag: float
    restored_in: float
    checks_ok: bool
    is_beginning: bool
    all_there: bool
    replayed: int
    identical: int

    @property
    def passed(self) -> bool:
        """Nothing corrupt, nothing out of order, every answer the same."""
        return self.checks_ok and self.is_beginning and self.all_there and self.identical == self.replayed


def text(chance: random.Random, words: int = 60) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def write_without_pause(project: Path, ledger: Path, searches: int) -> None:
    """The writer. After each step that returned, one line in the ledger, synced: the end of the log, and the time."""
    chance = random.Random(7)
    with connect(project) as database, ledger.open("a", encoding="utf-8") as book:
        reader = open_reader(database.path)
        for number in range(1_000_000):
            if number < searches or number % 3 == 0:
                database.search(text(chance, 4), plan=PLAN)
            elif number % 3 == 1:
                database.add_memory(title=text(chance, 5), content=text(chance))
            else:
                (project / "notes" / f"new{number}.md").write_text(f"# {text(chance, 4)}\n\n{text(chance)}\n", "utf-8")
                database.sync()
            end = last_event(reader)
            book.write(json.dumps({"seq": end["seq"], "hash": end["hash"], "at": time.time(), "step": number}) + "\n")
            book.flush()
            os.fsync(book.fileno())


def arr(folder: Path, *arguments: str, env: dict[str, str]) -> str:
    """Run one command, print it and what it says."""
    print(f"$ arr {' '.join(arguments)}", flush=True)
    done = subprocess.run([*ARR, *arguments], cwd=folder, env=env, text=True, encoding="utf-8", stdout=subprocess.PIPE)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        print(f"# exit code {done.returncode}")
    return done.stdout


def one_round(number: int, folder: Path, target: list[str], env: dict[str, str], options: argparse.Namespace) -> Round:
    """Load, kill, restore, compare."""
    a, b = folder / f"machine-a{number}", folder / f"machine-b{number}"
    (a / "notes").mkdir(parents=True)
    b.mkdir()
    chance = random.Random(number)
    for name in range(options.files):
        (a / "notes" / f"note{name}.md").write_text(f"# {text(chance, 4)}\n\n{text(chance)}\n", "utf-8")
    arr(a, "init", "--team", "lab", "--name", "load", "--env", "a100", env=env)
    arr(a, "add", "notes", *(["--no-embed"] if options.no_embed else []), env=env)
    path, ledger = a / ".arr" / "arr.db", folder / f"ledger{number}"
    print(f"$ arr replica start {' '.join(target)} &")
    command = [sys.executable, "-m", "benchmarks.replica_kill", "--write", str(a), str(ledger), str(options.records)]
    with (
        subprocess.Popen(
            [*ARR, "replica", "start", *target],
            cwd=a,
            env=env,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as copying,
        begun_copy(copying),
        subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as writer,
    ):
        wait_for(lambda: ledger.exists() and ledger.read_text("utf-8").count("\n") > options.records, writer)
        # The retrievals that are to be compared must be in the store: what is killed is the load after them.
        asked = json.loads(ledger.read_text("utf-8").splitlines()[options.records])["at"]
        wait_for(lambda: copied_until(path, target, folder) >= asked, writer)
        time.sleep(options.seconds + chance.random())
        engine = engine_process(path)
        assert engine is not None and copying.poll() is None and writer.poll() is None, "they must run until the kill"
        killed = time.time()
        for process in (writer.pid, copying.pid, engine):
            os.kill(process, signal.SIGKILL)
    print(f"# SIGKILL to the writer, arr and Litestream, {options.seconds} s into the load")
    begun = time.monotonic()
    arr(b, "replica", "restore", *target, "arr.db", env=env)
    restored_in = time.monotonic() - begun
    arr(b, "db", "check", "-C", f"../{a.name}", "--db", "arr.db", env=env)
    found = json.loads(
        arr(a, "replica", "verify", f"../{b.name}/arr.db", "--records", str(options.records), "--json", env=env)
    )
    return judged(ledger, path, b / "arr.db", found, killed, restored_in)


def judged(ledger: Path, source: Path, copy: Path, found: dict[str, Any], killed: float, restored_in: float) -> Round:
    """Compare the writer's ledger with the copy's log."""
    lines = [json.loads(line) for line in ledger.read_text("utf-8").splitlines() if line.endswith("}")]
    reader = open_reader(copy)
    hashes = {row["seq"]: row["hash"] for row in reader.execute("SELECT seq, hash FROM audit_event ORDER BY seq")}
    reader.close()
    lost = [line for line in lines if line["seq"] not in hashes]
    all_there = all(hashes[line["seq"]] == line["hash"] for line in lines if line["seq"] in hashes)
    return Round(
        len(lines), len(lost), killed - lost[0]["at"] if lost else 0.0, restored_in, not found["failed_checks"],
        found["is_history_shared"], all_there, found["replayed"], found["identical"],
    )  # fmt: skip


@contextlib.contextmanager
def begun_copy(process: subprocess.Popen[str]) -> Iterator[None]:
    """Wait until something is in the store."""
    assert process.stderr is not None
    said = ""
    while "is in the store" not in said:
        line = process.stderr.readline()
        assert line, f"the copy did not begin: {said}"
        said += line
    yield


def copied_until(path: Path, target: list[str], folder: Path) -> float:
    """When the newest state in the store was taken, in seconds since 1970."""
    place = target[0] if target[0].startswith("s3:") else str(folder / Path(target[0]).name)
    found = replica_status(path, parse_target(place, *target[2:])).copied_at
    return from_text(found).timestamp() if found is not None else 0.0


def wait_for(is_true: Any, process: subprocess.Popen[Any], limit: float = 300) -> None:
    end = time.monotonic() + limit
    while not is_true():
        assert process.poll() is None and time.monotonic() < end, "the load did not begin"
        time.sleep(0.05)


@contextlib.contextmanager
def store_process() -> Iterator[str]:
    """An S3-compatible store on loopback with one bucket, ``lab``; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 60
            while True:
                try:
                    urllib.request.urlopen(urllib.request.Request(f"{address}/lab", method="PUT"), timeout=5).close()
                    break
                except OSError:
                    assert process.poll() is None and time.monotonic() < end, (
                        "the store did not begin (moto[s3], flask)"
                    )
                    time.sleep(0.1)
            yield address
        finally:
            process.kill()


def main() -> int:
    """Run it; 1 when anything is corrupt, missing from the middle, or answers otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0, help="of load before the kill, after the searches")
    parser.add_argument("--records", type=int, default=50, help="retrievals that are run again on the copy")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--s3", action="store_true", help="a store process on loopback instead of a folder")
    parser.add_argument("--no-embed", action="store_true", help="no vectors")
    parser.add_argument("--json", type=Path, help="write the rounds here")
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_without_pause(Path(options.write[0]), Path(options.write[1]), int(options.write[2]))
        return 0
    with contextlib.ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="arr-kill-", ignore_cleanup_errors=True)))
        env = {**os.environ, "ARR_ACTOR": "load", "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        address = held.enter_context(store_process()) if options.s3 else ""
        os.environ.update(KEYS if address else {})
        rounds = []
        for number in range(options.rounds):
            target = ["s3://lab/load" + str(number), "--endpoint", address] if address else [f"../store{number}"]
            rounds.append(one_round(number, folder, target, {**env, **KEYS} if address else env, options))
            print(json.dumps(vars(rounds[-1])))
    lags = [item.lag for item in rounds]
    print(
        f"{len(rounds)} kills: lag median {statistics.median(lags):.2f} s, longest {max(lags):.2f} s; acknowledged steps lost:"
        f" {', '.join(str(item.lost) for item in rounds)}; {sum(item.passed for item in rounds)} of {len(rounds)} whole, with"
        f" {sum(item.identical for item in rounds)} of {sum(item.replayed for item in rounds)} retrievals identical."
    )
    if options.json:
        options.json.write_text(
            json.dumps({"rounds": [{**vars(item), "passed": item.passed} for item in rounds]}, indent=1) + "\n", "utf-8"
        )
    return 0 if all(item.passed for item in rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
