"""What hit lines are made of: the channel's quick way gives what a plain way gives, one line, one chunk, one file at a time."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arr_sql.core.canonical import canonical_json, sha256_bytes, sha256_text, significant
from arr_sql.core.rooted import Root
from arr_sql.core.statements import load
from arr_sql.database import ResearchDatabase
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.line_search import search_lines
from arr_sql.retrieval.line_values import LineHit
from arr_sql.retrieval.needles import needles
from arr_sql.retrieval.rows import chunk_hit, chunks_by_row
from tests.conftest import SCOPE

NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "source": ["alpha = 1\n", "beta = 2"], "metadata": {}, "outputs": [], "execution_count": None}
    ],
    "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip
TEXTS = {
    "a.md": "# One\n\nalpha here\n\nbeta and alpha\n\n## Two\n\n" + "alpha beta gamma " * 40 + "\n\nlast alpha\n",
    "sub/b.py": "import alpha\n\n\ndef beta():\n    return alpha\n\n\nclass Gamma:\n    alpha = 'ＡＬＰＨＡ'\n",
    "sub/c.txt": "\n".join("alpha" if n % 9 == 0 else "-" for n in range(60)),
    "n.ipynb": json.dumps(NOTEBOOK, indent=1),
    "t.csv": "alpha,beta\n1,gamma\nalpha,3\n",
    "bib.bib": "% alpha\n\n@book{alpha,\n  title = {Beta and alpha},\n  year = 2001,\n}\n\n\nalpha\n\n@misc{beta, title={alpha}}\n\nbeta\n",
    "odd.zzz": "alpha of no known kind\n",
    "keys.txt": "alpha\nbeta token = ghp_" + "a1B2" * 9 + "\n",
    "名.md": "阿尔法 alpha 一行\r\n第二行 beta\r\n",
}
QUERIES = ("alpha", "alpha beta", '"beta and"', "beta", "gamma", "阿尔法", "import")
WHAT = ("touch", "append", "swap letters", "swap letters later", "delete", "new", "sync")
happenings = st.lists(st.tuples(st.sampled_from(WHAT), st.sampled_from(sorted(TEXTS))), max_size=5)


def happen(folder: Path, what: str, name: str, database: ResearchDatabase) -> None:
    """One thing that may happen to a file; swapped letters leave its size as it was, and, unless later, its time."""
    path = folder / name
    if what == "sync":
        database.sync()
    elif what == "new":
        (folder / f"new-{path.name}").write_bytes(TEXTS["a.md"].encode())
    elif path.exists():
        said, data = path.stat(), path.read_bytes()
        if what == "touch":
            os.utime(path)
        elif what == "append":
            path.write_bytes(data + b"\nalpha at the end\n")
        elif what == "delete":
            path.unlink()
        else:
            path.write_bytes(data.replace(b"alpha", b"ahpla"))
            later = 10**10 if what == "swap letters later" else 0
            os.utime(path, ns=(said.st_atime_ns, said.st_mtime_ns + later))


def plain(database: ResearchDatabase, query: str, k: int) -> tuple[int, list[Hit]]:
    """The answers of the channel in the plainest way."""
    reader, scope = database._reader("main"), database.scope
    roots = {str(root.id): root for root in database._grep_roots()}
    groups: dict[Any, list[LineHit]] = defaultdict(list)
    windows: list[list[LineHit]] = []
    with ExitStack() as stack:
        opened = {name: stack.enter_context(Root(root.path)) for name, root in roots.items()}
        hits = search_lines(
            list(opened.items()), needles(query), deadline=time.monotonic() + 60, max_results=20_000
        ).hits
    for hit in hits:
        path = Path(roots[hit.root_name].path, hit.rel)
        values = {**scope.bindings(), "files": json.dumps([[int(hit.root_name), hit.rel]])}
        holders = [
            row for row in reader.execute(load("search_chunk_spans"), values)
            if row["start_line"] <= hit.line_no <= row["end_line"]
        ]  # fmt: skip
        if holders:
            row, chunk = holders[-1], chunks_by_row(reader, scope, [holders[-1]["chunk"]])[holders[-1]["chunk"]]
            as_it_was = row["size"] == path.stat().st_size and (
                row["mtime_ns"] == path.stat().st_mtime_ns or chunk["file_hash"] == sha256_bytes(path.read_bytes())
            )
            if as_it_was and (hit.clipped or hit.text.strip() in chunk["content"]):
                groups[row["chunk"]].append(hit)
                continue
        last = windows[-1][0] if windows else None
        if (
            last is not None
            and (last.root_name, last.rel) == (hit.root_name, hit.rel)
            and hit.line_no - last.line_no < 20
        ):
            windows[-1].append(hit)
        else:
            windows.append([hit])
    every = [*groups.values(), *windows]
    holding = Counter(needle for lines in every for needle in {needle for line in lines for needle in line.needles})
    answers = []
    for chunk_row, lines in [*groups.items(), *((None, window) for window in windows)]:
        held = sorted({needle for line in lines for needle in line.needles})
        rarity = math.fsum(math.log(1 + len(every) / holding[needle]) for needle in held)
        score = significant(rarity + 0.1 * len(lines) / (1 + len(lines)))
        more = {"matched_lines": [line.line_no for line in lines][:20]}
        if chunk_row is not None:
            answer = chunk_hit(chunks_by_row(reader, scope, [chunk_row])[chunk_row], scope, 1, score, more)
        else:
            first, final = lines[0].line_no, lines[-1].line_no
            ref, content = roots[lines[0].root_name].prefix + lines[0].rel, "\n".join(line.text for line in lines)
            number = sha256_text(canonical_json([*scope.values(), ref, first, content]))[:20]
            answer = Hit(
                f"g{number}", scope, 1, score, ref, f"L{first}" if first == final else f"L{first}-{final}", content,
                sha256_text(content), "", "1970-01-01T00:00:00.000000Z",
                metadata={"kind": "lines", "as_on_disk": True, "start_line": first, "end_line": final, **more},
            )  # fmt: skip
        answers.append((-score, answer.source_ref, lines[0].line_no, answer.chunk_id, answer))
    answers.sort(key=lambda item: item[:4])
    return len(every), [Hit(**{**vars(answer), "rank": n}) for n, (*_, answer) in enumerate(answers[:k], 1)]


@given(happenings, st.sampled_from(QUERIES), st.sampled_from((1, 3, 100)))
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_the_quick_way_gives_what_the_plain_way_gives(history: list[tuple[str, str]], query: str, k: int) -> None:
    """Chunks and loose lines of many kinds of files; files that were touched, changed, removed, or new since the last sync."""
    shm = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=shm if os.access(shm, os.W_OK) else None))
    try:
        folder = base / "lab"
        for name, text in TEXTS.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.encode())
        with ResearchDatabase.create(base / "arr.db", SCOPE, project_folder=base, embedder=lambda: None) as database:
            database.add(folder)
            for what, name in history:
                happen(folder, what, name, database)
            registration = database._catalog()[0].get("grep")
            assert registration is not None
            for _ in range(2):
                answer = registration.channel.retrieve(query, SCOPE, k, time.monotonic() + 60)
                assert (answer.candidate_count, list(answer.hits)) == plain(database, query, k)
    finally:
        shutil.rmtree(base)
