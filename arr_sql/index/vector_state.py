"""How far a scope's vectors are: which models, how many chunks. Reads only, so that a channel may import it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load


def embedding_models(connection: Connection) -> list[Any]:
    """Every model whose vectors the file holds, whole."""
    return connection.execute(load("read_all_models")).fetchall()


def vector_state(connection: Connection, scope: ScopeKey) -> list[Any]:
    """One row a model with vectors in this scope (one with ``model`` NULL when there are none): chunks and embedded."""
    return connection.execute(load("read_vector_state"), scope.bindings()).fetchall()


def scope_revision(connection: Connection, scope: ScopeKey) -> int:
    """How many changes this scope has counted; -1 when there is no such scope."""
    row = connection.execute(load("read_vector_revision"), scope.bindings()).fetchone()
    return -1 if row is None else int(row["revision"])


def vector_chunks(connection: Connection, scope: ScopeKey, ids: Sequence[int]) -> list[Any]:
    """The live chunks that these vectors are of: ``id`` of the vector, ``chunk_id`` and row (``chunk``) of its chunk."""
    return connection.execute(load("read_vector_chunks"), {**scope.bindings(), "ids": json.dumps(ids)}).fetchall()


def scope_vectors(connection: Connection, scope: ScopeKey, model: int) -> Iterator[Any]:
    """Every vector of one model in this scope, by id: ``id`` and ``vector``. Not all at once."""
    return iter(connection.execute(load("read_scope_vectors"), {**scope.bindings(), "model": model}))
