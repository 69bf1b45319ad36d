"""A real server on loopback that answers as a test tells it to: well, badly, slowly, or not at all.

Raw sockets, so that it can also break HTTP. Each connection is bounded in time; nothing ever connects elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import trustme

from arr_sql.llm.network import Network

HOST = "api.siliconflow.cn"
PATIENCE = 20.0
"""No connection is held longer than this many seconds."""


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    head: str
    body: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def headers(self) -> dict[str, str]:
        """The headers with lower-case names."""
        lines = self.head.split("\r\n")[1:]
        return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines if line)}


class Wire:
    """What a behaviour may do with its connection."""

    def __init__(self, connection: socket.socket, server: Server) -> None:
        self._connection, self._server = connection, server
        self._until = time.monotonic() + PATIENCE

    def send(self, data: bytes | str) -> None:
        """Send bytes, or text as UTF-8."""
        self._connection.sendall(data.encode("utf-8") if isinstance(data, str) else data)

    def pause(self, seconds: float) -> bool:
        """Wait. False when it is time to end."""
        return not self._server.stopping.wait(seconds) and time.monotonic() < self._until


Behaviour = Callable[[Wire, Request], None]


class Server:
    """Listens on 127.0.0.1 until it is closed. ``behave`` may be changed between requests."""

    def __init__(self, behave: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self.behave, self._tls = behave, tls
        self.requests: list[Request] = []
        self.connections = 0
        self.faults: list[BaseException] = []
        self.stopping = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.05)
        self.port: int = self._socket.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return ("127.0.0.1", self.port)

    @property
    def url(self) -> str:
        """Its address as the operator would name it."""
        return f"http://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        """Stop listening, wait for the connections to end, and raise what went wrong in a behaviour."""
        self.stopping.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        self._socket.close()
        for fault in self.faults:
            raise fault

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                continue
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            request = _read(connection)
            self.requests.append(request)
            self.behave(Wire(connection, self), request)
            connection.shutdown(socket.SHUT_WR)
        except (OSError, EOFError):  # the client went away, or did not trust us
            pass
        except BaseException as error:  # noqa: BLE001  a fault of the test itself: told when the server is closed
            self.faults.append(error)
        finally:
            connection.close()


def _read(connection: socket.socket) -> Request:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65_536)
        if not piece:
            raise EOFError("the client went away")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    request = Request(head.decode("latin-1"), body)
    length = int(request.headers.get("content-length", "0"))
    while len(body) < length:
        piece = connection.recv(65_536)
        if not piece:
            raise EOFError("the client went away")
        body += piece
    return Request(request.head, body)


@contextlib.contextmanager
def serving(behave: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server for the time of a block."""
    server = Server(behave, tls)
    try:
        yield server
    finally:
        server.close()


# --- certificates -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Authority:
    """A certificate authority of the tests' own."""

    ca: trustme.CA

    def server_tls(self, host: str = HOST) -> ssl.SSLContext:
        """What a server for ``host`` shows."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert(host).configure_cert(context)
        return context

    def network(self, server: Server) -> Network:
        """A client's network that trusts this authority alone and reaches ``server`` alone, whatever host is asked for."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.ca.configure_trust(context)
        return Network(tls=context, connect_to=server.address)


def make_authority() -> Authority:
    """A new authority that nobody else trusts."""
    return Authority(trustme.CA())


# --- behaviours ---------------------------------------------------------------------------------------------------------


def respond(
    body: bytes | str,
    status: str = "200 OK",
    headers: dict[str, str] | None = None,
    content_type: str = "application/json",
) -> Behaviour:
    """One whole answer."""
    data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    named = {"Content-Type": content_type, "Content-Length": str(len(data)), "Connection": "close", **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())

    def behave(wire: Wire, request: Request) -> None:
        wire.send(f"HTTP/1.1 {status}\r\n{head}\r\n")
        wire.send(data)

    return behave


def completion(text: Any, **choice: Any) -> str:
    """A chat completion whose message says ``text``."""
    message = {"role": "assistant", "content": text, **choice.pop("message", {})}
    return json.dumps({"id": "x", "object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "finish_reason": "stop", "message": message, **choice}]})  # fmt: skip


def say(text: Any) -> Behaviour:
    """A good server whose model says ``text``."""
    return respond(completion(text))


def drip(data: bytes | str, every: float = 0.05, after: bytes | str = b"") -> Behaviour:
    """Send ``after`` at once, then ``data`` a byte at a time, over and over."""
    raw = data.encode("utf-8") if isinstance(data, str) else data

    def behave(wire: Wire, request: Request) -> None:
        wire.send(after)
        while True:
            for number in range(len(raw)):
                wire.send(raw[number : number + 1])
                if not wire.pause(every):
                    return

    return behave


def silence(wire: Wire, request: Request) -> None:
    """Take the request and say nothing."""
    wire.pause(PATIENCE)


def hang_up(wire: Wire, request: Request) -> None:
    """Take the request and close."""


def flood(wire: Wire, request: Request) -> None:
    """A chunked answer without end."""
    wire.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    while wire.pause(0):
        wire.send(piece)


def endless_header(wire: Wire, request: Request) -> None:
    """A header without end."""
    wire.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Long: ")
    while wire.pause(0):
        wire.send("x" * 4_096)
