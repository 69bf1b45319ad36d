"""A store for ``arr bench``: the scope's own chunks in a file of its own, so that headings can be held out of the index.

The user's file is only read. Vectors of unchanged texts are taken from it; those of chunks that lost a heading are computed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from arr_sql.database import ResearchDatabase
from arr_sql.database.evaluating import EvaluationStore
from arr_sql.evaluation.gold_models import GoldSet
from arr_sql.evaluation.own_questions import plain_grep
from arr_sql.evaluation.store_protocol import Asked, StoredChunk
from arr_sql.index.embedders.protocol import Embedder, EmbedderSpec
from arr_sql.index.vector_index import StoredVectors
from arr_sql.retrieval.catalog import ChannelAnswer, Hit

PLAIN_GREP = "plain-grep"


class BenchStore(EvaluationStore):
    """An :class:`EvaluationStore` over documents that also lie on disk, with plain grep beside the channels."""

    def __init__(self, folder: Path, gold: GoldSet, database: ResearchDatabase) -> None:
        super().__init__(folder, gold, embedder=lambda: _known_vectors(database))
        self._held: dict[str, Sequence[StoredChunk]] = {}

    def ask(self, alias: str, query: str, depth: int) -> Mapping[str, Asked]:
        """The channels' answers and that of plain grep."""
        held = self._held.setdefault(alias, self.chunks(alias))
        started = time.perf_counter()
        by_id = {chunk.chunk_id: chunk for chunk in held}
        hits = tuple(
            Hit(
                chunk_id=name, scope=self._gold.scopes[alias], rank=rank, score=-float(rank),
                source_ref=by_id[name].source_ref, locator="", content=by_id[name].content, content_hash="",
                heading=by_id[name].heading, created_at="",
            )
            for rank, name in enumerate(plain_grep(query, held)[:depth], 1)
        )  # fmt: skip
        plain = Asked(ChannelAnswer("ok" if hits else "empty", hits, len(hits)), 1000 * (time.perf_counter() - started))
        return {**super().ask(alias, query, depth), PLAIN_GREP: plain}


def _known_vectors(database: ResearchDatabase) -> Embedder | None:
    embedder = database._embedder_source()
    if embedder is None:
        return None
    return _Remembering(embedder, StoredVectors(database._reader("main"), embedder.spec.fingerprint()))


class _Remembering:
    """An embedder that looks a passage up in the user's file before it computes it."""

    def __init__(self, embedder: Embedder, stored: StoredVectors) -> None:
        self._embedder, self._stored = embedder, stored

    @property
    def spec(self) -> EmbedderSpec:
        return self._embedder.spec

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        return self._embedder.embed_queries(texts)

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        known = {text: self._stored.of(text) for text in texts}
        fresh = [text for text, vector in known.items() if vector is None]
        known.update(zip(fresh, self._embedder.embed_passages(fresh), strict=True))
        return [known[text] for text in texts]
