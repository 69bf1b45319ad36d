"""What a file becomes changes only together with the version that says so.

``prepared_digests.json`` holds, for each file of a gold set in two languages and a dozen formats, a hash over everything
that is stored of it: chunks, places, hashes and terms. A change that is meant to be quicker only must leave it alone; one
that changes terms, chunks or a reader raises ``ANALYSER_VERSION``, ``CHUNKER_VERSION`` or the reader's version, and the file
is made anew with ``python -m tests.ingest.test_prepared_digests``.
"""

from __future__ import annotations

import json
from pathlib import Path

from arr_sql.core.analysis import ANALYSER_VERSION
from arr_sql.core.canonical import sha256_json
from arr_sql.index.text_index import TEXT_INDEX_VERSION
from arr_sql.ingest.chunker import CHUNKER_VERSION
from arr_sql.ingest.prepare import NotTaken, prepare

HERE = Path(__file__).resolve()
FILES = HERE.parents[2] / "data" / "gold" / "research_zh_en" / "files"
KEPT = HERE.with_name("prepared_digests.json")


def digests() -> dict[str, str]:
    """A hash for each file over what is stored of it, or why it is left out."""
    found = {}
    for path in sorted(FILES.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(FILES).as_posix()
        prepared = prepare(name, path.read_bytes(), 0)
        if isinstance(prepared, NotTaken):
            found[name] = prepared.reason
            continue
        chunks = [
            [*item.chunk, item.content_hash, item.embed_hash, sorted(item.terms.words.split(" ")), *item.terms[1:]]
            for item in prepared.chunks
        ]
        fields = ("data_hash", "reader", "reader_version", "encoding", "title", "language", "lines_withheld")
        found[name] = sha256_json([[getattr(prepared, field) for field in fields], dict(prepared.metadata), chunks])[
            :16
        ]
    return found


def versions() -> dict[str, str]:
    return {"analyser": ANALYSER_VERSION, "chunker": CHUNKER_VERSION, "text_index": TEXT_INDEX_VERSION}


def test_what_a_file_becomes_stays_the_same_under_the_same_versions() -> None:
    """Every chunk, place, hash and term of the gold set's files is what it was when the versions were set."""
    kept = json.loads(KEPT.read_text("utf-8"))
    assert kept["versions"] == versions(), "a version was raised: make prepared_digests.json anew"
    assert digests() == kept["files"]


if __name__ == "__main__":
    KEPT.write_text(json.dumps({"versions": versions(), "files": digests()}, indent=1, sort_keys=True) + "\n", "utf-8")
