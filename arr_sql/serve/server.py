"""Listening on this machine's loopback address only, until Ctrl-C.

The socket is bound here and not by the server, so that a port that is taken is an error with a next step, and so that
the address can be printed before the first request. tests/serve/test_server.py runs it as a process.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from arr_sql.errors import InputError

HOST = "127.0.0.1"
GRACE_SECONDS = 3
MOST_CONNECTIONS = 64
"""More at once are answered with 503: a person has a few pages open, not a crowd."""


def bind(port: int, option: str = "--port") -> socket.socket:
    """A socket that listens at ``port`` of the loopback address; 0 takes a free one.

    Raises InputError when it is taken; the message names the ``option`` that another is named with.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows would let two programs share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:  # a port that was just left may be taken again
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((HOST, port))
        bound.listen(MOST_CONNECTIONS)
    except OSError as error:
        bound.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            why = "is taken by another program" if error.errno == errno.EADDRINUSE else "may not be used by you"
            raise InputError(f"Port {port} {why}. Name another with {option}, or 0 for any free one.") from None
        raise
    return bound


def serve(app: ASGIApp, bound: socket.socket, ready: Callable[[], None], *, has_lifespan: bool = False) -> None:
    """Answer at ``bound`` until the process is interrupted; ``ready`` is called when the first request can come.

    ``has_lifespan``: the application wants to be told that it begins and ends.
    """
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, lifespan="on" if has_lifespan else "off", ws="none", http="h11",
        timeout_graceful_shutdown=GRACE_SECONDS, limit_concurrency=MOST_CONNECTIONS, proxy_headers=False,
    )  # fmt: skip
    ready()  # the socket listens already: what comes now waits for the server
    try:
        uvicorn.Server(config).run(sockets=[bound])
    except KeyboardInterrupt:  # how it is meant to end
        pass
    finally:
        bound.close()
