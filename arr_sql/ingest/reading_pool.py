"""Reading files on all cores: ``prepare`` in worker processes, with the answers it would give here.

Preparing is most of a first sync's time and is pure Python, so threads gain nothing and processes nearly all of it.
The workers are processes of our own (``reading_worker``) and no ``multiprocessing``: nothing is forked with open
database connections, and nobody's script is imported a second time where processes are spawned. One that does not
start, dies or answers nonsense costs speed only: its file, and all that follow, are prepared in this process.

Small syncs start none. Figures: ``benchmarks/parallel_reading.py``. Held by ``tests/ingest/test_reading_pool.py``.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any

from arr_sql.errors import InputError
from arr_sql.ingest.prepare import NotTaken, Prepared, prepare

MIN_BYTES = 2 << 20  # below this the work takes about as long as starting a worker
MIN_FILES = 16
MAX_WORKERS = 8  # one process writes, and is busy at about six
WORKERS_VARIABLE = "ARR_WORKERS"
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from arr_sql.ingest.reading_worker import main; main()"
)


class _WorkerGone(Exception):
    """The process is not there, or said something that is no answer."""


def worker_count(n_files: int, n_bytes: int) -> int:
    """How many processes to read so much with; 0: read here. ``ARR_WORKERS`` decides where it is set."""
    given = os.environ.get(WORKERS_VARIABLE, "").strip()
    if given:
        if not (given.isascii() and given.isdecimal()):
            raise InputError(
                f"{WORKERS_VARIABLE} is '{given[:20]}'; it is a number of processes: 1 reads in this one alone."
            )
        return min(int(given[:6]), 64) if int(given[:6]) > 1 else 0
    if n_files < MIN_FILES or n_bytes < MIN_BYTES or not sys.executable:
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_WORKERS) if cores > 1 else 0


class ReadingPool:
    """Use as a context manager: at its end no worker is left."""

    def __init__(self, workers: int, passwords: Sequence[str] = ()) -> None:
        self._passwords = tuple(passwords)
        self._local = threading.local()
        self._started: list[_Worker] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self.is_broken = False
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="arr-reading")

    def __enter__(self) -> ReadingPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, path: str, data: bytes, mtime_ns: int) -> Future[Prepared | NotTaken]:
        """What ``prepare`` says of a file, later."""
        return self._threads.submit(self._prepare, path, data, mtime_ns)

    def close(self) -> None:
        """End the workers at once, whatever they are at."""
        with self._lock:
            self._is_closed = True
            started = list(self._started)
        for worker in started:
            worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _prepare(self, path: str, data: bytes, mtime_ns: int) -> Prepared | NotTaken:
        if not self.is_broken:
            try:
                return self._worker().ask((path, data, mtime_ns, self._passwords))
            except (_WorkerGone, OSError):
                if self._is_closed:
                    raise
                self.is_broken = True
        return prepare(path, data, mtime_ns, passwords=self._passwords)

    def _worker(self) -> _Worker:
        """This thread's own."""
        worker: _Worker | None = getattr(self._local, "worker", None)
        if worker is None:
            with self._lock:
                if self._is_closed:
                    raise _WorkerGone
                worker = self._local.worker = _Worker()
                self._started.append(worker)
        return worker


class _Worker:
    """One process. Raises OSError when it can't be started."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", *(["-X", "utf8"] if sys.flags.utf8_mode else []), "-c", _BOOT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in: IO[bytes] = self._process.stdin
        self._out: IO[bytes] = self._process.stdout
        path = [entry or os.getcwd() for entry in sys.path]  # noqa: PTH109  "" is the working folder
        self._in.write(json.dumps(path).encode() + b"\n")

    def ask(self, request: Any) -> Prepared | NotTaken:
        """The worker's answer. Raises _WorkerGone."""
        try:
            write_frame(self._in, request)
            answer = read_frame(self._out)
        except (OSError, EOFError, pickle.UnpicklingError, ValueError, MemoryError, AttributeError, ImportError):
            raise _WorkerGone from None
        if not isinstance(answer, (Prepared, NotTaken)):
            raise _WorkerGone
        return answer

    def kill(self) -> None:
        """End it and give its pipes back."""
        self._process.kill()
        self._process.wait()
        for stream in (self._in, self._out):
            try:
                stream.close()
            except OSError:
                pass


def write_frame(stream: IO[bytes], value: Any) -> None:
    """A length and a pickle. Both ends are this program, of the same version."""
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(struct.pack("<Q", len(body)))
    stream.write(body)
    stream.flush()


def read_frame(stream: IO[bytes]) -> Any:
    """The next value. Raises EOFError at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    (size,) = struct.unpack("<Q", head)
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return pickle.loads(body)
