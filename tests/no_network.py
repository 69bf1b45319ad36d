"""Shuts the network for tests of parts that never need it: any use of it in this process fails the test."""

from __future__ import annotations

import socket
from typing import Any

import pytest


def shut(patch: pytest.MonkeyPatch) -> None:
    """Connecting, listening and looking names up raise until ``patch`` is undone. Sockets in the file system are files."""

    def refuse(*arguments: Any, **_: Any) -> Any:
        raise AssertionError("the network was used")

    for name in ("connect", "connect_ex", "bind", "listen", "sendto"):
        patch.setattr(socket.socket, name, _unless_internet(getattr(socket.socket, name)))
    for name in ("create_connection", "create_server", "getaddrinfo", "gethostbyname"):
        patch.setattr(socket, name, refuse)


def _unless_internet(method: Any) -> Any:
    def checked(self: socket.socket, *arguments: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            raise AssertionError("the network was used")
        return method(self, *arguments)

    return checked
