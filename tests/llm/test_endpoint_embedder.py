"""Vectors from a real server on loopback: order, batches, what is sent, and every answer that is none."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import pytest

from arr_sql.errors import ModelError
from arr_sql.index.embedders.protocol import Embedder
from arr_sql.llm.endpoint import Endpoint
from arr_sql.llm.endpoint_embedder import BATCH, EndpointEmbedder, read_vectors
from arr_sql.llm.http_client import HttpClient
from tests.llm.servers import Request, Server, Wire

Serve = Callable[..., Server]


def answer(wire: Wire, value: Any, status: str = "200 OK") -> None:
    body = json.dumps(value).encode()
    wire.send(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nContent-Type: application/json\r\n\r\n")
    wire.send(body)


def vectors(wire: Wire, request: Request) -> None:
    """(length, 1) of each text, in reverse order: the index says whose each is."""
    rows = [{"index": n, "embedding": [len(text), 1]} for n, text in enumerate(request.json["input"])]
    answer(wire, {"object": "list", "data": rows[::-1], "model": request.json["model"]})


def embedder(server: Server, **options: str) -> EndpointEmbedder:
    client = HttpClient(Endpoint(f"http://127.0.0.1:{server.port}/v1"), total_seconds=10.0)
    return EndpointEmbedder(client, "some-model", **options)


def test_each_text_gets_its_vector(serve: Serve) -> None:
    """By index and not by place, in requests of at most sixteen texts; blank texts are not sent."""
    server = serve(vectors)
    model = embedder(server, kind="ollama", query_prefix="q: ")
    texts = ["x" * (n + 1) for n in range(BATCH + 3)]

    found = model.embed_passages([*texts, " "])

    assert isinstance(model, Embedder)
    assert found[-1] is None
    for text, blob in zip(texts, found, strict=False):
        assert blob is not None
        x, y = struct.unpack("<2f", blob)
        assert x / y == pytest.approx(len(text), rel=1e-5)
    assert [len(request.json["input"]) for request in server.requests] == [1, BATCH, 3]
    model.embed_queries(["why"])
    assert server.requests[-1].json == {"model": "some-model", "input": ["q: why"], "encoding_format": "float"}
    assert server.requests[-1].head.startswith("POST /v1/embeddings ")
    assert "authorization" not in server.requests[-1].headers


def test_the_spec_says_what_is_known(serve: Serve) -> None:
    """The name, the dimension that was asked for, that texts stay here and may share a batch."""
    spec = embedder(serve(vectors), kind="ollama").spec

    assert (spec.id, spec.dimension, spec.network, spec.batch_invariant) == ("ollama:some-model", 2, False, False)


def test_a_long_text_is_sent_in_windows(serve: Serve) -> None:
    """All of it, none longer than what servers read."""
    server = serve(vectors)
    model = embedder(server)
    text = "字" * 1000

    model.embed_passages([text])

    sent = [part for request in server.requests[1:] for part in request.json["input"]]
    assert "".join(sent) == text
    assert max(map(len, sent)) <= 480


@pytest.mark.parametrize("status", ["500 No", "401 No", "302 Elsewhere"])
def test_a_refusal_is_a_fault_of_the_model(serve: Serve, status: str) -> None:
    """With a code and nothing of what the server said."""
    with pytest.raises(ModelError) as caught:
        embedder(serve(lambda wire, request: answer(wire, {"error": "private words"}, status)))
    assert "private words" not in str(caught.value)
    assert "llm_" in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 2, "embedding": [1.0]}]},
        {"data": [{"index": True, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": ["1"]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [float("inf")]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, "text"]},
    ],
)
def test_only_one_finite_vector_for_each_text_is_an_answer(value: Any) -> None:
    """Two texts were sent."""
    assert read_vectors(value, 2) is None
