"""Random damage to valid files, for every reader and the decoder: nothing may raise, hang, flood memory or lose text.

    python -m benchmarks.fuzz_readers [--minutes 1] [--only markdown pdf decoder] [--seed 1] [--finds FOLDER]

Each reader gets its minutes in a process of its own with 2 GiB of memory. A find is written to FOLDER (default
``fuzz-finds``) as the file that caused it; keep it as a test. Exit code 1 when there is one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import random
import re
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))

import _formats

from arr_sql.core.decode import Decoded, Undecodable, decode
from arr_sql.core.redaction import withhold_lines
from arr_sql.ingest.prepare import NotTaken, Prepared, prepare
from arr_sql.ingest.readers import reader_for, registered_readers
from tests.ingest import test_untidy

SECONDS_PER_FILE = 5.0
MEMORY = 2 << 30
INVISIBLE = re.compile("[\\s\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]+")
"""A part without a visible character is no chunk."""
EXTRACTING = {"pdf", "notebook", "html"}
TOKENS = [
    b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"```", b"---\n", b"{", b"}", b"[", b"]", b"(", b"\\", b"\\begin{", b"\\input{",
    b"\\def\\a{\\a}", b"$", b"@article{", b"<", b"</", b"<table>", b"<!--", b"]]>", b"&#x110000;", b"\"", b"'", b'"""', b"#", b"|", b",",
    b"\t", b"    ", b"1e999", b"-1", b"null", "数".encode(), "é".encode("cp1252"), "\u2028".encode(), "\u202e".encode(), "e\u0301".encode(),
    b"\xed\xa0\x80", b"TY  - ", b"ER  - ", b"endobj", b"stream", b"xref", b"/Length 99999999", b"PRIVATE KEY-----", b"password=",
]  # fmt: skip


def seeds() -> dict[str, list[tuple[str, bytes]]]:
    """Valid files by reader: those of the documentation and of the untidy folder."""
    found: dict[str, list[tuple[str, bytes]]] = {reader.name: [] for reader in registered_readers()}
    files = [(label.split(" ")[0], data) for label, data in {**_formats.TAKEN, **_formats.REFUSED}.items()]
    files += [(name, data) for name, (data, _) in {**test_untidy.TEXTS, **test_untidy.LEFT_OUT}.items()]
    for name, data in files:
        reader = reader_for(name)
        if reader is not None:
            found[reader.name].append((name, data))
    return found


def mutate(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """A few random edits; now and then a part many times over."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(out) + 1)
        end = min(len(out), at + rng.choice((1, 2, 8, 40, 300)))
        match rng.randrange(9):
            case 0:
                out[at:end] = b""
            case 1:
                out[at:at] = rng.choice(TOKENS)
            case 2:
                out[at:end] = rng.choice(TOKENS)
            case 3:
                out[at:at] = out[at:end] * rng.choice((1, 3, 50))
            case 4:
                out[at:at] = rng.choice(TOKENS) * rng.choice((2, 20, 500, 20_000))
            case 5:
                other = rng.choice(others)
                start = rng.randrange(len(other) + 1)
                out[at:end] = other[start : start + 200]
            case 6 if out:
                out[min(at, len(out) - 1)] = rng.randrange(256)
            case 7:
                del out[at:]
            case _:
                out[at:end] = bytes(rng.randrange(256) for _ in range(end - at))
        del out[400_000:]
    return bytes(out)


def fault(name: str, data: bytes) -> str:
    """What is wrong with the answer to one file; empty when nothing is."""
    result = prepare(name, data, 0)
    if isinstance(result, NotTaken):
        return f"reader_failed: {result.detail}" if result.reason == "reader_failed" else ""
    return _fault_in(result, data)


def _fault_in(result: Prepared, data: bytes) -> str:
    for item in result.chunks:
        chunk = item.chunk
        if not chunk.text.strip() or not 1 <= chunk.start_line <= chunk.end_line:
            return f"a blank chunk or false lines: {chunk.locator}"
        (chunk.text + chunk.heading + chunk.locator).encode("utf-8")
        if "\0" in chunk.text + chunk.heading + chunk.locator:
            return "a NUL"
    json.dumps(result.metadata, allow_nan=False)
    if result.reader not in EXTRACTING:
        decoded = decode(data)
        assert isinstance(decoded, Decoded)
        wanted = INVISIBLE.sub("", withhold_lines(decoded.text).text)
        if INVISIBLE.sub("", "".join(item.chunk.text for item in result.chunks)) != wanted:
            return "text lost, repeated or invented"
    return ""


def decoder_fault(name: str, data: bytes) -> str:
    """The same for the decoder alone."""
    result = decode(data)
    if isinstance(result, Undecodable):
        return "" if result.code in ("binary", "unreadable") else f"code {result.code}"
    result.text.encode("utf-8")
    return "a NUL, or a confidence out of range" if "\0" in result.text or not 0.5 <= result.confidence <= 1 else ""


def _cpu_seconds() -> float:
    """Processor time of this process and its ended children: a busy machine must not look like a slow reader."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def hammer(name: str, files: list[tuple[str, bytes]], seconds: float, seed: int, finds: Path) -> None:
    """Fuzz one reader; prints a line at the end. Runs in a process of its own."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    rng = random.Random(f"{seed} {name}")
    check: Callable[[str, bytes], str] = decoder_fault if name == "decoder" else fault
    others = [data for _, data in files]
    end, count, slowest, found = time.monotonic() + seconds, 0, 0.0, 0
    for file, data in _inputs(rng, files, others):
        if time.monotonic() >= end:
            break
        (finds / f"running-{name}").write_bytes(data)  # what it was, if this never returns
        started = _cpu_seconds()
        try:
            said = check(file, data)
        except Exception:  # noqa: BLE001  whatever it is, it is a find
            said = traceback.format_exc(limit=-3)
        took = _cpu_seconds() - started
        count, slowest = count + 1, max(slowest, took)
        if took > SECONDS_PER_FILE:
            said = said or f"took {took:.1f} s"
        if said:
            found += 1
            kept = finds / f"{name}-{hashlib.sha256(data).hexdigest()[:10]}{Path(file).suffix}"
            kept.write_bytes(data)
            print(f"FIND {kept}: {said.strip()}", flush=True)
            if found >= 20:
                break
    (finds / f"running-{name}").unlink()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{name}: {count} files, {found} finds, slowest {slowest:.2f} s, peak {peak} MB", flush=True)
    sys.exit(1 if found else 0)


def _inputs(rng: random.Random, files: list[tuple[str, bytes]], others: list[bytes]) -> Iterator[tuple[str, bytes]]:
    yield from files
    while True:
        name, data = rng.choice(files)
        yield name, mutate(rng, data, others)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--finds", type=Path, default=Path("fuzz-finds"))
    options = parser.parse_args()
    options.finds.mkdir(parents=True, exist_ok=True)
    found = seeds()
    found["decoder"] = [item for files in found.values() for item in files]
    failed = False
    for name, files in found.items():
        if options.only and name not in options.only:
            continue
        seconds = 60 * options.minutes
        process = multiprocessing.get_context("fork").Process(
            target=hammer, args=(name, files, seconds, options.seed, options.finds)
        )
        process.start()
        process.join(seconds + 120)
        if process.is_alive():
            process.kill()
            process.join()
            print(f"FIND {options.finds / f'running-{name}'}: it never returned")
        elif process.exitcode not in (0, 1):
            print(f"FIND {options.finds / f'running-{name}'}: the process ended with {process.exitcode}")
        failed = failed or process.exitcode != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
