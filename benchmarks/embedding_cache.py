"""Vectors that were computed once: an embedder that keeps what it gave in one SQLite file.

    python -m benchmarks.embedding_cache DATA [--cache FOLDER]

fills the cache with the passages and queries of every collection in DATA and of the code set, and can be stopped and run
again at any time. The file is ``FOLDER/embeddings.db``; ``FOLDER/FORMAT.md``, written beside it, says how to read it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from arr_sql.index.embedders.model_store import open_embedder
from arr_sql.index.embedders.protocol import Embedder, EmbedderSpec, embed_text
from benchmarks.judged_collection import Collection, read_collection
from benchmarks.standard_library import standard_library

ORDER = (
    "csl", "xquad_zh_en", "pubmedqa", "longmemeval_evidence", "stard_positives", "cacm", "scifact",
)  # fmt: skip
BATCH = 32
FORMAT = """\
# embeddings.db

One SQLite table:

    CREATE TABLE vector (
      model TEXT NOT NULL,   -- EmbedderSpec.fingerprint() of the model that gave the vector
      kind TEXT NOT NULL,    -- 'passage' or 'query': the model puts another prefix before each
      sha256 TEXT NOT NULL,  -- hex SHA-256 of the UTF-8 text
      vector BLOB NOT NULL,  -- little-endian float32, unit length, as the embedder returned it (language shift included)
      PRIMARY KEY (model, kind, sha256)
    ) STRICT, WITHOUT ROWID

A passage's text is embed_text(title, text): "title\\ntext", or the text alone where there is no title. A document without
a text has its title for one. A query's text is the query. Texts and ids come from
`benchmarks.judged_collection.read_collection(folder)` and `benchmarks.standard_library.standard_library()`.

In Python: `CachedEmbedder(open_embedder(), Path(FOLDER))` of `benchmarks/embedding_cache.py` is an embedder that looks
here first and keeps what it had to compute.
"""


def cache_folder() -> Path:
    """The user's cache folder for this."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
        base = chosen if chosen.is_absolute() else Path.home() / ".cache"
    return base / "arr_sql" / "benchmarks"


class CachedEmbedder:
    """An embedder over another one. Each batch is kept as soon as it is there; two processes may share the file."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "FORMAT.md").write_text(FORMAT, encoding="utf-8")
        self._embedder, self._model = embedder, embedder.spec.fingerprint()
        self._lock = threading.Lock()  # a search asks from a thread of its own
        self._file = sqlite3.connect(
            folder / "embeddings.db", timeout=60, isolation_level=None, check_same_thread=False
        )
        self._file.execute("PRAGMA journal_mode=WAL")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS vector (model TEXT NOT NULL, kind TEXT NOT NULL, sha256 TEXT NOT NULL,"
            " vector BLOB NOT NULL, PRIMARY KEY (model, kind, sha256)) STRICT, WITHOUT ROWID"
        )

    @property
    def spec(self) -> EmbedderSpec:
        """That of the embedder below."""
        return self._embedder.spec

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """As the embedder below."""
        return self._embed("query", texts, self._embedder.embed_queries)

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        """As the embedder below."""
        return self._embed("passage", texts, self._embedder.embed_passages)

    def missing(self, kind: str, texts: Iterable[str]) -> list[str]:
        """Those of ``texts`` that are not in the cache, each once."""
        return [text for text in dict.fromkeys(texts) if text.strip() and self._known(kind, text) is None]

    def _known(self, kind: str, text: str) -> bytes | None:
        row = self._file.execute(
            "SELECT vector FROM vector WHERE model = ? AND kind = ? AND sha256 = ?", (self._model, kind, _hash(text))
        ).fetchone()
        return row[0] if row else None

    def _embed(
        self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], list[bytes | None]]
    ) -> list[bytes | None]:
        with self._lock:
            return self._looked_up(kind, texts, embed)

    def _looked_up(
        self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], list[bytes | None]]
    ) -> list[bytes | None]:
        known = {text: self._known(kind, text) for text in texts}
        unknown = [text for text, vector in known.items() if vector is None]
        if unknown:
            known.update(zip(unknown, embed(unknown), strict=True))
            rows = [(self._model, kind, _hash(text), known[text]) for text in unknown if known[text] is not None]
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany("INSERT OR IGNORE INTO vector VALUES (?, ?, ?, ?)", rows)
            self._file.execute("COMMIT")
        return [known[text] for text in texts]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fill(embedder: CachedEmbedder, collection: Collection, say: Callable[[str], None]) -> None:
    """Embed what of a collection is missing, queries first: they are few and short."""
    wanted = {
        "query": [topic.text for topic in collection.topics],
        "passage": [embed_text(title, text) for _, title, text in collection.documents],
    }
    for kind, texts in wanted.items():
        missing, started = embedder.missing(kind, texts), time.monotonic()
        for at in range(0, len(missing), BATCH):
            some = missing[at : at + BATCH]
            (embedder.embed_queries if kind == "query" else embedder.embed_passages)(some)
            if at // BATCH % 10 == 0:
                rate = (at + len(some)) / (time.monotonic() - started)
                say(f"{collection.name} {kind}: {at + len(some)} of {len(missing)}, {rate:.1f} a second")
        say(f"{collection.name} {kind}: complete, {len(texts)} texts")


def main() -> None:
    """Fill the cache."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=cache_folder())
    arguments = parser.parse_args()
    embedder = CachedEmbedder(open_embedder(), arguments.cache)

    def say(text: str) -> None:
        print(text, flush=True)

    for name in ORDER:
        if (arguments.data / name).is_dir():
            fill(embedder, read_collection(arguments.data / name), say)
    fill(embedder, standard_library(), say)
    embedder.close()


if __name__ == "__main__":
    main()
