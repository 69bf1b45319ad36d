"""Filling in vectors: which chunks and published memories of a scope have none, embedding them in batches, storing each
batch at once.

Text is searchable before this runs; until it is done the vector channel says ``not_indexed (n of m)``. Embedding
happens outside write transactions, each batch commits on its own, so it can be stopped at any instant and resumed.
A text that this model has embedded anywhere in the file is not embedded again: the value is reused, never the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from arr_sql.core.canonical import sha256_text
from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection, write_transaction
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load
from arr_sql.errors import ModelError
from arr_sql.index.embedders.protocol import (
    CANARY_COSINE,
    Embedder,
    canary_vectors,
    check_vector,
    cosine,
    embed_text,
)
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.row_vouching import hashes_of_memory_vectors, hashes_of_vectors, vouch_for_model
from arr_sql.memory.scope_store import advance, read_scope

Kind = Literal["memory", "chunk"]
"""What has vectors. Memories come first: they are few, and people wrote them."""
#: Chunks embedded and committed at a time: what a kill loses, and enough to keep several threads busy to the end.
BATCH_CHUNKS = 64


@dataclass
class EmbedSummary:
    """``embedded`` got a vector, ``missing`` are without one afterwards.

    How many were computed and how many reused is not told: a value may come from another scope's equal text, and whoever
    writes a guess into a file of their own would learn whether it is there.
    """

    model_id: str = ""
    embedded: int = 0
    missing: int = 0
    retired_models: bool = False


def fill_vectors(
    connection: Connection, database: Path, scope: ScopeKey, embedder: Embedder, *, actor: str,
    clock: Callable[[], datetime], rebuild: bool = False, progress: Callable[[int, int], None] = lambda done, total: None,
) -> EmbedSummary:  # fmt: skip
    """Embed what has no vector yet. ``rebuild`` retires the vectors of other models once this one's are complete.

    Raises ModelError when the model is not the one whose vectors are stored under the same fingerprint.
    """
    summary = EmbedSummary(model_id=embedder.spec.id)
    scope_row = read_scope(connection, scope)
    if scope_row is None:
        return summary
    model = _model_row(connection, database, embedder, actor, clock())
    ids: dict[str, Any] = {"scope_id": scope_row.id, "model": model}
    total = connection.execute(load("read_missing_vectors"), ids).fetchone()["missing"]
    done = 0
    progress(0, total)
    for kind in get_args(Kind):
        after = 0
        while rows := _without_vector(connection, kind, {**ids, "after": after, "limit": BATCH_CHUNKS}):
            vectors = _vectors(connection, model, rows, embedder)
            summary.embedded += _store(connection, database, scope, model, kind, vectors, actor, clock(), embedder)
            done, after = done + len(rows), rows[-1]["id"]
            progress(done, max(total, done))
    summary.missing = connection.execute(load("read_missing_vectors"), ids).fetchone()["missing"]
    if rebuild and not summary.missing:
        summary.retired_models = _retire_others(connection, database, scope, model, actor, clock())
    return summary


def _without_vector(connection: Connection, kind: Kind, values: dict[str, Any]) -> list[dict[str, Any]]:
    """The next rows to embed: ``id``, ``heading``, ``content`` and ``embed_hash``."""
    if kind == "chunk":
        return [dict(row) for row in connection.execute(load("read_chunks_without_vector"), values)]
    rows = connection.execute(load("read_memories_without_vector"), values)
    return [{**row, "embed_hash": sha256_text(embed_text(row["heading"], row["content"]))} for row in rows]


class StoredVectors:
    """The passage vectors that a file holds of one model, by text. Only reads."""

    def __init__(self, connection: Connection, fingerprint: str) -> None:
        self._connection = connection
        row = connection.execute(load("read_embedding_model"), {"fingerprint": fingerprint}).fetchone()
        self._model = row["id"] if row else None

    def of(self, text: str) -> bytes | None:
        """The vector of a text that was embedded before, in whatever scope; None when there is none."""
        return _known_vector(self._connection, self._model, sha256_text(text))


def _known_vector(connection: Connection, model: int | None, embed_hash: str) -> bytes | None:
    row = connection.execute(load("read_vector_value"), {"model": model, "embed_hash": embed_hash}).fetchone()
    return bytes(row["vector"]) if row else None


def _model_row(connection: Connection, database: Path, embedder: Embedder, actor: str, now: datetime) -> int:
    """The id of the model's row, made on first use. Compares the canaries, which notice a model changed behind its name."""
    fingerprint, canaries = embedder.spec.fingerprint(), canary_vectors(embedder)
    row = connection.execute(load("read_embedding_model"), {"fingerprint": fingerprint}).fetchone()
    if row is None:
        with write_transaction(connection, database):
            added = connection.execute(
                load("add_embedding_model"),
                {
                    "fingerprint": fingerprint, "model_id": embedder.spec.id, "dimension": embedder.spec.dimension,
                    "spec": embedder.spec.to_json(), "canaries": b"".join(canaries), "created_at": to_text(now),
                },
            ).rowcount  # fmt: skip
            if added:  # another process may have been first
                vouch_for_model(connection, fingerprint, actor=actor, now=now)
        row = connection.execute(load("read_embedding_model"), {"fingerprint": fingerprint}).fetchone()
    require_same_canaries(row["canaries"], canaries, row["model_id"])
    return int(row["id"])


def require_same_canaries(stored: bytes, fresh: list[bytes], model_id: str) -> None:
    """Raises ModelError when the installed model no longer gives the vectors that it gave."""
    size = len(stored) // len(fresh)
    for number, vector in enumerate(fresh):
        if cosine(stored[number * size : (number + 1) * size], vector) < CANARY_COSINE:
            raise ModelError(
                f"The installed model '{model_id}' gives other vectors than those stored under the same name. "
                "Reinstall it, or run `arr embed --rebuild` with another model."
            )


def _vectors(
    connection: Connection, model: int, rows: list[dict[str, Any]], embedder: Embedder
) -> dict[int, tuple[str, bytes]]:
    """Hash and vector for each row that has text to embed."""
    known: dict[str, bytes] = {}
    for row in rows:
        found = _known_vector(connection, model, row["embed_hash"])
        if found is not None:
            known[row["embed_hash"]] = found
    fresh = {
        row["embed_hash"]: embed_text(row["heading"], row["content"]) for row in rows if row["embed_hash"] not in known
    }
    for embed_hash, vector in zip(fresh, embedder.embed_passages(list(fresh.values())), strict=True):
        if vector is not None:
            check_vector(vector, embedder.spec.dimension)
            known[embed_hash] = vector
    there = {row["id"]: row["embed_hash"] for row in rows if row["embed_hash"] in known}
    return {row_id: (embed_hash, known[embed_hash]) for row_id, embed_hash in there.items()}


def _store(
    connection: Connection, database: Path, scope: ScopeKey, model: int, kind: Kind, vectors: dict[int, tuple[str, bytes]],
    actor: str, now: datetime, embedder: Embedder,
) -> int:  # fmt: skip
    if not vectors:
        return 0
    with write_transaction(connection, database):
        scope_row = read_scope(connection, scope)
        assert scope_row is not None
        scope_row = advance(connection, scope_row, is_content=False)
        stored = 0
        statement = load("add_embedding") if kind == "chunk" else load("add_memory_embedding")
        for row_id, (embed_hash, vector) in vectors.items():
            values = {"embed_hash": embed_hash, "vector": vector, "model": model, "revision": scope_row.revision}
            stored += connection.execute(statement, {kind: row_id, **values}).rowcount
        hashes = hashes_of_vectors if kind == "chunk" else hashes_of_memory_vectors
        append_event(
            connection, scope_id=scope_row.id, revision=scope_row.revision, at=now, actor=actor, kind="vectors_added",
            subject_kind="embedding_model", subject_id=embedder.spec.fingerprint()[:16], subject_hash="",
            # Not how many values were reused: that would tell what other scopes hold.
            details={"vectors": stored, "vector_hashes": hashes(connection, vectors, scope_row.revision)},
        )  # fmt: skip
    return stored


def _retire_others(
    connection: Connection, database: Path, scope: ScopeKey, model: int, actor: str, now: datetime
) -> bool:
    with write_transaction(connection, database):
        scope_row = read_scope(connection, scope)
        assert scope_row is not None
        scope_row = advance(connection, scope_row, is_content=False)
        values = {"scope_id": scope_row.id, "model": model, "revision": scope_row.revision}
        retired = connection.execute(load("set_other_embeddings_retired"), values).rowcount
        retired += connection.execute(load("set_other_memory_embeddings_retired"), values).rowcount
        append_event(
            connection, scope_id=scope_row.id, revision=scope_row.revision, at=now, actor=actor, kind="vectors_retired",
            subject_kind="embedding_model", subject_id=str(model), subject_hash="", details={"vectors": retired},
        )  # fmt: skip
    return bool(retired)
