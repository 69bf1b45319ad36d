"""Embeddings from an OpenAI-compatible server: ``POST /v1/embeddings``, as Ollama and others on this machine have it.

The same rules as for a language model (contract 12): an allowed endpoint and no other, no redirect, no proxy, bounded time
and size, the key from the environment only and never to a server on this machine. What goes to a remote server is
redacted first, and the spec says that texts leave the machine (tests/llm/test_endpoint_embedder.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from arr_sql.core.redaction import redact
from arr_sql.errors import LLMError, ModelError
from arr_sql.index.embedders.protocol import EmbedderSpec
from arr_sql.index.embedders.window_embedder import WINDOW_TOKENS, WindowEmbedder
from arr_sql.llm.http_client import HttpClient

#: Texts in one request.
BATCH = 16
MAX_RESPONSE_BYTES = 16 << 20
_MOST_COMPONENTS = 16_384


class EndpointEmbedder(WindowEmbedder):
    """The model ``model`` of the server behind ``client``. Its dimension is asked for when it is opened."""

    def __init__(
        self, client: HttpClient, model: str, *, kind: str = "openai", query_prefix: str = "", passage_prefix: str = ""
    ) -> None:
        """Raises ModelError when the server fails or answers something else than vectors."""
        self._client, self._model = client, model
        self.spec = EmbedderSpec(
            id=f"{kind}:{model}", revision="as served", dimension=len(self._ask(["dimension"])[0]),
            window_tokens=WINDOW_TOKENS, query_prefix=query_prefix, passage_prefix=passage_prefix,
            # A server may put texts of one request into one batch.
            batch_invariant=False, network=not client.endpoint.is_local,
        )  # fmt: skip

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, ``BATCH`` texts a request."""
        rows: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            rows += self._ask(texts[start : start + BATCH])
        return rows

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        sent = list(texts) if self._client.endpoint.is_local else [redact(text) for text in texts]
        try:
            answer = self._client.post("/embeddings", {"model": self._model, "input": sent, "encoding_format": "float"})
        except LLMError as error:
            raise ModelError(f"The embedding server did not answer as it should: {error.code}.") from None
        rows = read_vectors(answer, len(sent))
        if rows is None:
            raise ModelError("The embedding server answered something else than one vector for each text.")
        return rows


def read_vectors(answer: Any, count: int) -> list[list[float]] | None:
    """The ``count`` vectors of an answer in the order of their texts; None unless all is as it must be."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or len(data) != count:
        return None
    rows: dict[int, list[float]] = {}
    for item in data:
        index, values = (item.get("index"), item.get("embedding")) if isinstance(item, dict) else (None, None)
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count or index in rows:
            return None
        if not isinstance(values, list) or not 1 <= len(values) <= _MOST_COMPONENTS:
            return None
        if not all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values):
            return None
        rows[index] = [float(value) for value in values]
    if len({len(row) for row in rows.values()}) != 1:
        return None
    return [rows[index] for index in range(count)]
