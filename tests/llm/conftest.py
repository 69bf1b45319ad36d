"""A certificate authority for the whole run, and servers that end with their test."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator

import pytest

from tests.llm.servers import Authority, Behaviour, Server, make_authority


@pytest.fixture(scope="session")
def authority() -> Authority:
    """Made once: keys take a moment."""
    return make_authority()


@pytest.fixture(scope="session")
def server_tls(authority: Authority) -> ssl.SSLContext:
    """What the real host's stand-in shows."""
    return authority.server_tls()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start a server: ``serve(behaviour, tls)``."""
    started: list[Server] = []

    def start(behave: Behaviour, tls: ssl.SSLContext | None = None) -> Server:
        started.append(Server(behave, tls))
        return started[-1]

    yield start
    for server in started:
        server.close()
