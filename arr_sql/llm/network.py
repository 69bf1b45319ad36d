"""Opening connections within a deadline: what stands between httpx and the operating system.

httpx limits each wait on its own, so a server that sends one byte a second could hold a call forever. Here every wait,
the TLS handshake included, gets at most what is left until the call's deadline.

:class:`Network` is a constructor's argument and has no setting: the program makes only ``Network()``, and a test hands
in a certificate authority and an address of its own.
"""

from __future__ import annotations

import functools
import ssl
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import certifi
import httpcore
import httpx

WRITE_BYTES = 16_384


@dataclass(frozen=True)
class Network:
    """How connections are opened. ``connect_to`` (address, port) replaces where to connect, not whom to expect there."""

    tls: ssl.SSLContext | None = None
    connect_to: tuple[str, int] | None = None


@functools.lru_cache(maxsize=1)
def verifying_tls() -> ssl.SSLContext:
    """TLS 1.2 or newer with certifi's authorities, the host's name checked, and nothing taken from the environment."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # ssl.create_default_context would obey SSLKEYLOGFILE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(certifi.where())
    return context


class DeadlineTransport(httpx.BaseTransport):
    """A transport for one call: one connection, no pool to keep, no retry, no proxy, every wait within the deadline."""

    def __init__(self, network: Network, deadline: float, is_tls: bool) -> None:
        """``deadline`` is a ``time.monotonic()`` value."""
        self._pool = httpcore.ConnectionPool(
            ssl_context=(network.tls or verifying_tls()) if is_tls else None, max_connections=1,
            max_keepalive_connections=0, http1=True, http2=False, retries=0,
            network_backend=_Backend(network.connect_to, deadline),
        )  # fmt: skip

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the answer's body is still to be read."""
        assert isinstance(request.stream, Iterable)
        answer = self._pool.handle_request(
            httpcore.Request(
                method=request.method, url=httpcore.URL(
                    scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw, content=request.stream, extensions=request.extensions,
            )
        )  # fmt: skip
        assert isinstance(answer.stream, Iterable)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer.stream))

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()


def _left(deadline: float, timeout: float | None) -> float:
    """How long to wait at most. Raises httpcore.ReadTimeout when the time is over."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout
    return left if timeout is None else min(left, timeout)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, connect_to: tuple[str, int] | None, deadline: float) -> None:
        self._connect_to, self._deadline = connect_to, deadline
        self._system = httpcore.SyncBackend()

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:  # fmt: skip
        address, number = self._connect_to or (host, port)
        stream = self._system.connect_tcp(address, number, timeout=_left(self._deadline, timeout))
        return _Stream(stream, self._deadline)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout=_left(self._deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), WRITE_BYTES):  # a server that reads slowly is held to the deadline too
            self._stream.write(buffer[start : start + WRITE_BYTES], timeout=_left(self._deadline, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout=_left(self._deadline, timeout))
        return _Stream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
