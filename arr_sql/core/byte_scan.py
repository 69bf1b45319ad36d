"""Do a file's raw bytes still hold a text? Probes are made from what was erased; files are read whole, page by page.

SQLite splits long values over pages and FTS5 rewrites terms, so a text is looked for in pieces: every window of 16
bytes of it, in UTF-8, UTF-16 (both orders) and as JSON escapes it, against every eighth position of the file. Whatever
run of an erased text is left, :attr:`Probes.shortest_run` bytes of it are enough to be found. What is shorter than that
run is looked for as a whole, from 6 bytes on: shorter ones occur in any file by chance. Pure but for reading files.
Held by tests/core/test_byte_scan.py and tests/promises/test_forgetting_bytes.py.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

WINDOW = 16
STRIDE = 8
SHORTEST = 6
"""Bytes below which a text is not looked for."""
MAX_WINDOWS = 2_000_000
"""Above that many, a text's windows are taken at a distance; longer runs are then needed to be found."""
VECTOR_STEP = 5
DISTINCT = 3
"""A rule of dashes, spaces or zeros is no text: such bytes stand in any file."""
PIECE = 8 << 20
OVERLAP = 4096
FEW = 100
SIDE_FILES = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True)
class Probes:
    """What to look for: ``windows`` of longer texts and vectors, ``short`` ones as a whole."""

    windows: frozenset[bytes]
    short: frozenset[bytes]
    step: int = 1

    def __len__(self) -> int:
        return len(self.windows) + len(self.short)

    def __or__(self, other: Probes) -> Probes:
        return Probes(self.windows | other.windows, self.short | other.short, max(self.step, other.step))

    @property
    def shortest_run(self) -> int:
        """A left-over run of a text of at least so many bytes is found, wherever it stands."""
        return WINDOW + STRIDE * self.step - 1


def forms(text: str) -> set[bytes]:
    """The ways in which a text may stand in a file: UTF-8, UTF-16 in both orders, and JSON's ASCII escapes."""
    return {
        text.encode("utf-8", "surrogatepass"),
        text.encode("utf-16-le", "surrogatepass"),
        text.encode("utf-16-be", "surrogatepass"),
        json.dumps(text)[1:-1].encode("ascii"),
    }


def make_probes(texts: Iterable[str], vectors: Iterable[bytes] = (), terms: Iterable[str] = ()) -> Probes:
    """Probes for texts (in all their forms), vectors, and analysed terms (as they stand in the index)."""
    encoded = {form for text in set(texts) for form in forms(text.strip())}
    longer = [form for form in encoded if len(form) >= WINDOW + STRIDE - 1]
    step = 1 + 2 * (sum(map(len, longer)) // (2 * MAX_WINDOWS))  # odd: it meets every eighth position in turn
    windows: set[bytes] = set()
    for form in longer:
        windows.update(form[at : at + WINDOW] for at in range(0, len(form) - WINDOW + 1, step))
    for vector in set(vectors):
        windows.update(vector[at : at + WINDOW] for at in range(0, len(vector) - WINDOW + 1, VECTOR_STEP))
    short = {form for form in encoded if len(form) < WINDOW + STRIDE - 1}
    short |= {term.encode("utf-8", "surrogatepass") for term in set(terms)}
    return Probes(
        frozenset(window for window in windows if len(set(window)) >= DISTINCT),
        frozenset(probe for probe in short if len(probe) >= SHORTEST and len(set(probe)) >= DISTINCT),
        step,
    )


def scan_files(
    paths: Sequence[Path], probes: Probes, progress: Callable[[int, int], None] = lambda done, total: None
) -> tuple[set[bytes], int]:
    """Which probes stand in any of the files (those that are not there count as empty), and how many bytes were read."""
    found: set[bytes] = set()
    done, total = 0, sum(path.stat().st_size for path in paths if path.is_file())
    for path in paths:
        for piece, size in _pieces(path):
            found |= find_at_stride(piece, probes.windows) | find_short(piece, probes.short)
            done += size
            progress(min(done, total), total)
    return found, done


def database_files(path: Path) -> list[Path]:
    """A database's file and those that SQLite keeps beside it."""
    return [path.with_name(path.name + ending) for ending in SIDE_FILES]


def _pieces(path: Path) -> Iterator[tuple[bytes, int]]:
    """The file in pieces that overlap, so that nothing is cut in two; each with how many of its bytes are new."""
    try:
        handle = path.open("rb")
    except FileNotFoundError:
        return
    with handle:
        tail = b""
        while block := handle.read(PIECE):
            piece = tail + block
            yield piece, len(block)
            tail = piece[-OVERLAP:] if len(piece) >= OVERLAP else piece


def find_at_stride(data: bytes, windows: frozenset[bytes]) -> set[bytes]:
    """The windows that stand at a position divisible by ``STRIDE``."""
    if not windows:
        return set()
    found: set[bytes] = set()
    for start in range(0, WINDOW, STRIDE):
        usable = (len(data) - start) // WINDOW * WINDOW
        if usable > 0:
            pairs = struct.iter_unpack(f"{WINDOW}s", memoryview(data)[start : start + usable])
            found.update(windows.intersection(item for (item,) in pairs))
    return found


def find_anywhere(data: bytes, windows: set[bytes]) -> set[bytes]:
    """The windows that stand anywhere in ``data``."""
    return windows.intersection(data[at : at + WINDOW] for at in range(len(data) - WINDOW + 1))


def find_short(data: bytes, short: Iterable[bytes]) -> set[bytes]:
    """The short probes that stand anywhere in ``data``. Many are first sifted by their beginnings."""
    short = list(short)
    if len(short) > FEW:
        starts = {probe[:SHORTEST] for probe in short}
        seen: set[bytes] = set()
        for start in range(SHORTEST):
            usable = (len(data) - start) // SHORTEST * SHORTEST
            if usable > 0:
                pairs = struct.iter_unpack(f"{SHORTEST}s", memoryview(data)[start : start + usable])
                seen.update(starts.intersection(item for (item,) in pairs))
        short = [probe for probe in short if probe[:SHORTEST] in seen]
    return {probe for probe in short if probe in data}
