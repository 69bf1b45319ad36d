"""How fast text is taken in, beside a plain FTS5 table: rate, size of the file, memory.

    python -m benchmarks.ingestion [--chunks 100000] [--chinese 0.1] [--rounds 3] [--folder FOLDER] [--json [FILE]]
    python -m benchmarks.ingestion --only embedding [--embed 400] [--rounds 3] [--json [FILE]]
    python -m benchmarks.ingestion --only readers [--chunks 100000] [--folder FOLDER] [--json [FILE]]

Two sides, each in a process of its own, in turn, ``--rounds`` times:

- ``arr``: a folder of generated Markdown files is added without embeddings, as ``arr add --no-embed`` does: walked, read,
  hashed, decoded, searched for credentials, cut, analysed, written with its audit events.
- ``fts5``: the very texts of the chunks (already in memory) go into a default FTS5 table in one transaction.

Both write a file on the same disk. Compared are the medians of the wall times; the processor times stand beside them,
because a busy machine stretches the first. Aims: at least 0.3 times the rate, at most 2.2 times the size of the text,
less than 600 MB of memory in all processes together. Then each chunk gets a vector (a stand-in's, of the default model's
length) and the file's bytes for each chunk are told with and without.

``--only embedding``: adding and embedding some hundred chunks with the default embedder beside the bare engine on the same
batches. Aim: at least 0.9 times its rate. ``--only readers``: how long a search waits while all of this is taken in.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.corpus import Corpus, write_markdown
from benchmarks.ingestion_parts import (
    after_vacuum,
    bytes_with_vectors,
    embedding,
    embedding_text,
    readers,
    readers_text,
    size_of,
)
from benchmarks.sync_many_files import run as run_watched

RATE, SIZE, MEMORY = 0.3, 2.2, 600

ARR = """
import json, sys, time
from pathlib import Path
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
scope = ScopeKey(team_id="b", project_id="b", repository="b", branch="b", experiment_environment="b")
target, path = Path(sys.argv[1]), Path(sys.argv[2])
with ResearchDatabase.create(path, scope, project_folder=path.parent, embedder=None) as database:
    started = time.perf_counter()
    summary = database.add(target)
    seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "chunks": summary.chunks_added, "files": len(summary.added)}))
"""

FTS5 = """
import json, sys, time
from arr_sql.core.connection import open_reader, sqlite3
from pathlib import Path
source = open_reader(Path(sys.argv[1]))
texts = [(row[0],) for row in source.execute("SELECT content FROM chunk WHERE retired_revision IS NULL ORDER BY id")]
source.close()
plain = sqlite3.connect(sys.argv[2], isolation_level=None)
started = time.perf_counter()
plain.execute("CREATE VIRTUAL TABLE plain USING fts5(body)")
plain.execute("BEGIN")
plain.executemany("INSERT INTO plain (body) VALUES (?)", texts)
plain.execute("COMMIT")
seconds = time.perf_counter() - started
plain.close()
print(json.dumps({"seconds": seconds, "chunks": len(texts), "bytes": sum(len(text.encode()) for (text,) in texts)}))
"""


def measure(program: str, *arguments: str) -> dict[str, Any]:
    """What one side says of itself, with the processor time of all its processes and their peak memory together (MB)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, largest, together, out = run_watched(Path.cwd(), *arguments, program=["-c", program])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    said["cpu"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return said | {"largest_mb": largest, "together_mb": together}


def compare(folder: Path, sources: Path, rounds: int) -> dict[str, Any]:
    """Both sides in turn; the medians, ratios and sizes."""
    sides: dict[str, list[dict[str, Any]]] = {"arr": [], "fts5": []}
    store, plain = folder / "arr.db", folder / "plain.db"
    for _ in range(rounds):
        for path in (store, plain):
            for part in folder.glob(path.name + "*"):
                part.unlink()
        sides["arr"].append(measure(ARR, str(sources), str(store)))
        sides["fts5"].append(measure(FTS5, str(store), str(plain)))
    text = sides["fts5"][0]["bytes"]
    chunks = sides["fts5"][0]["chunks"]
    result: dict[str, Any] = {
        "chunks": chunks, "text_bytes": text, "rounds": rounds, "load": os.getloadavg()[0], "cores": os.cpu_count(),
        "file_bytes": size_of(store), "plain_bytes": size_of(plain),
    }  # fmt: skip
    for side, runs in sides.items():
        for name in ("seconds", "cpu", "largest_mb", "together_mb"):
            result[f"{side}_{name}"] = statistics.median(item[name] for item in runs)
        result[f"{side}_spread"] = [min(item["seconds"] for item in runs), max(item["seconds"] for item in runs)]
    result["rate_ratio"] = statistics.median(
        b["seconds"] / a["seconds"] for a, b in zip(sides["arr"], sides["fts5"], strict=True)
    )
    result["cpu_ratio"] = result["fts5_cpu"] / result["arr_cpu"]
    result["size_ratio"] = result["file_bytes"] / text
    result["bytes_per_chunk"] = result["file_bytes"] / chunks
    result["free_bytes"], result["vacuumed_bytes"] = after_vacuum(store)
    result["bytes_per_chunk_with_vectors"] = bytes_with_vectors(store) / chunks
    return result


def text_of(result: dict[str, Any]) -> str:
    """The result for people."""
    r = result
    said = [
        f"{r['chunks']:,} chunks, {r['text_bytes'] / 1e6:.1f} MB of text, {r['rounds']} rounds, load {r['load']:.1f} on {r['cores']} cores",
        "",
        "| | seconds (least to most) | CPU seconds | chunks a second | MB of memory, all processes | file, MB |",
        "|---|---|---|---|---|---|",
    ]
    for side, label, size in (
        ("arr", "`arr add --no-embed`", "file_bytes"),
        ("fts5", "default FTS5 table", "plain_bytes"),
    ):
        low, high = r[f"{side}_spread"]
        said.append(
            f"| {label} | {r[f'{side}_seconds']:.1f} ({low:.1f} to {high:.1f}) | {r[f'{side}_cpu']:.1f} "
            f"| {r['chunks'] / r[f'{side}_seconds']:,.0f} | {r[f'{side}_together_mb']:.0f} | {r[size] / 1e6:.1f} |"
        )
    aims = [
        (f"rate {r['rate_ratio']:.2f} times FTS5's", f"at least {RATE}", r["rate_ratio"] >= RATE),
        (f"file {r['size_ratio']:.2f} times the text", f"at most {SIZE}", r["size_ratio"] <= SIZE),
        (f"memory {r['arr_together_mb']:.0f} MB", f"below {MEMORY}", r["arr_together_mb"] < MEMORY),
    ]  # fmt: skip
    said += ["", *(f"{what} (aim: {aim}): {'met' if met else 'MISSED'}" for what, aim, met in aims)]
    said.append(
        f"{r['bytes_per_chunk']:,.0f} bytes of the file for each chunk, {r['bytes_per_chunk_with_vectors']:,.0f} with vectors"
    )
    said.append(
        f"{r['free_bytes'] / 1e6:.1f} MB of the file are pages that merges of the index left empty, and later writes fill: without "
        f"them {(r['file_bytes'] - r['free_bytes']) / r['text_bytes']:.2f} times the text; after `arr db vacuum` "
        f"{r['vacuumed_bytes'] / 1e6:.1f} MB, {r['vacuumed_bytes'] / r['text_bytes']:.2f} times"
    )
    said.append(f"by processor time the rate is {r['cpu_ratio']:.2f} times FTS5's on one core")
    return "\n".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["rate", "embedding", "readers"], default="rate", help="Which part to run.")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--embed", type=int, default=400, help="How many chunks the part `embedding` takes in.")
    parser.add_argument("--chinese", type=float, default=0.1, help="Share of Chinese texts.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="Keep the generated files here and use them again.")
    parser.add_argument("--json", type=Path, nargs="?", const=Path("-"), help="Print JSON, or write it to a file too.")
    options = parser.parse_args()
    if options.only == "embedding":
        result = embedding(options.embed, options.chinese, options.rounds)
        said = "\n".join(embedding_text(result))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            kept = options.folder or Path(temporary)
            sources = kept / f"markdown-{options.chunks}-{round(100 * options.chinese)}"
            if not sources.exists():
                started = time.perf_counter()
                write_markdown(sources, options.chunks, Corpus(1, chinese=options.chinese))
                print(f"wrote {sources.name} in {time.perf_counter() - started:.0f} s", file=sys.stderr)
            if options.only == "readers":
                result = readers(sources)
                said = "\n".join(readers_text(result))
            else:
                result = compare(Path(temporary), sources, options.rounds)
                said = text_of(result)
    text = json.dumps(result, indent=1, sort_keys=True)
    if options.json is not None and options.json != Path("-"):
        options.json.write_text(text + "\n", "utf-8")
    print(text if options.json == Path("-") else said)


if __name__ == "__main__":
    main()
