"""One scope of 10,000 chunks in a file of its own, and the same scope among 1,000,000 chunks of 400 other scopes.

    python -m benchmarks.many_scopes [--others 1000000] [--work FOLDER]

The files are written by the product's own statements: generated texts, analysed once and stored for each scope; a vector
for every chunk; three recorded retrievals in every tenth scope. The sizes of the others follow a power law. The measured
scope comes in twenty portions, each after a twentieth of the others, so that its rows, postings and vectors lie among
theirs. The large file takes about half an hour and 4 GB; it is made once and kept.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from arr_sql.core.connection import write_transaction
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.index.text_index import note_current
from arr_sql.ingest.prepare import Prepared, prepare
from arr_sql.ingest.roots import RootRow, add_root
from arr_sql.ingest.source_store import Writing, add_file, finish
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.row_vouching import hash_of_root
from arr_sql.memory.scope_store import advance, ensure_scope, read_scope
from benchmarks.corpus import Corpus
from benchmarks.random_vectors import RandomVectors
from benchmarks.stores import default_folder, scope, source_folder

MEASURED = 10_000
PER_FILE = 25
SCOPES = 400
PORTIONS = 20
ASKED = ["research-memory", "bm25", "vector"]
"""The channels of the others' recorded retrievals: grep reads the disk and leaves nothing in the file."""


def sizes(total: int) -> list[int]:
    """Files of each of the other scopes, together about ``total`` chunks: the n-th has 1/n^0.7 of the first, mixed."""
    shares = [n**-0.7 for n in range(1, SCOPES + 1)]
    found = [max(1, round(total / PER_FILE * share / sum(shares))) for share in shares]
    random.Random(3).shuffle(found)
    return found


def prepared_files(folder: Path) -> list[Prepared]:
    """All files of a generated corpus, read and analysed."""
    found = []
    for path in sorted(folder.glob("*.md")):
        one = prepare(path.name, path.read_bytes(), path.stat().st_mtime_ns)
        assert isinstance(one, Prepared), one
        found.append(one)
    return found


def trust(database: ResearchDatabase, folder: Path) -> RootRow:
    """Trust ``folder`` without taking its files in."""
    writer = database._write()
    with write_transaction(writer, database.path):
        row = ensure_scope(writer, database.scope, database.actor, database._clock())
        root = add_root(writer, database.scope, row.id, database.project_folder, folder, database._clock())
        row = advance(writer, row, is_content=False)
        append_event(
            writer, scope_id=row.id, revision=row.revision, at=database._clock(), actor=database.actor, kind="root_added",
            subject_kind="root", subject_id=str(root.id), subject_hash=hash_of_root(writer, root.id), details={},
        )  # fmt: skip
    return root


def put_in(database: ResearchDatabase, root: RootRow, files: Sequence[Prepared]) -> None:
    """Store ``files`` in the database's scope in one transaction, as a sync does, and their vectors."""
    writer = database._write()
    with write_transaction(writer, database.path):
        row = read_scope(writer, database.scope)
        assert row is not None
        row = advance(writer, row, is_content=True)
        writing = Writing(writer, database.scope, row.id, row.revision, database._clock(), database.actor, None)
        for file in files:
            add_file(writing, root.id, root.source_ref(file.path), file, None)
        finish(writing)
        note_current(writer, row.id, row.content_revision)
    database.embed()


def opened(path: Path, key: ScopeKey, project: Path) -> ResearchDatabase:
    """The file seen from one scope. Its transactions don't wait for the disk while it is being made."""
    database = ResearchDatabase.create(path, key, project_folder=project, actor="bench", embedder=RandomVectors)
    for pragma in ("synchronous=OFF", "cache_size=-400000"):
        database._write().execute(f"PRAGMA {pragma}")
    return database


def many_scopes(others: int, folder: Path, measured_chunks: int = MEASURED) -> Path:
    """The file with ``others`` chunks of other scopes beside the measured one. Made on the first call."""
    path = folder / f"{measured_chunks}-among-{others}.db"
    if path.exists():
        return path
    started = time.perf_counter()
    unfinished = folder / f"{path.stem}.part"
    for left in folder.glob(f"{path.stem}.part*"):
        left.unlink()
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    mine_folder = source_folder(measured_chunks, folder)
    mine = prepared_files(mine_folder)
    theirs_folder = source_folder(100_000, folder) if others else mine_folder
    theirs = prepared_files(theirs_folder) if others else []
    rng, asker = random.Random(5), Corpus(11)
    wanted = sizes(others) if others else []
    measured = opened(unfinished, scope(), project)
    root = trust(measured, mine_folder)
    for portion in range(PORTIONS):
        for number in range(portion * SCOPES // PORTIONS, (portion + 1) * SCOPES // PORTIONS) if wanted else ():
            with opened(unfinished, scope(f"other-{number:03}"), project) as other:
                files = rng.sample(theirs, min(wanted[number], len(theirs)))
                put_in(other, trust(other, theirs_folder), files)
                for _ in range(3 if number % 10 == 0 else 0):
                    other.search(asker.question(), plan={"tool_rounds": [ASKED]})
            print(f"{number + 1} scopes, {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        put_in(measured, root, mine[portion * len(mine) // PORTIONS : (portion + 1) * len(mine) // PORTIONS])
    measured._write().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    measured.close()
    unfinished.rename(path)
    return path


def main() -> None:
    """Make both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, default=default_folder())
    options = parser.parse_args()
    for others in (0, options.others):
        path = many_scopes(others, options.work)
        print(f"{path}: {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
