"""The other side of :mod:`arr_sql.ingest.reading_pool`: prepares one file after the other until its input ends."""

from __future__ import annotations

import os
import signal
import sys

from arr_sql.ingest.prepare import prepare
from arr_sql.ingest.reading_pool import read_frame, write_frame


def main() -> None:
    """Answer requests. Ctrl-C is the parent's to handle; when the parent is gone, the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a reader of another package may print
    requests = sys.stdin.buffer
    while True:
        try:
            path, data, mtime_ns, passwords = read_frame(requests)
        except EOFError:
            return
        write_frame(answers, prepare(path, data, mtime_ns, passwords=passwords))
