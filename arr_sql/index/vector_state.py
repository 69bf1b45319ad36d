"""How far a scope's vectors are: which models, how many chunks. Reads only, so that a channel may import it."""

from __future__ import annotations

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
