"""One POST of JSON to an allowed endpoint: certificates checked, no redirect, no proxy of the environment, no retry.

Everything is bounded: connecting, each read, the whole call, and the bytes of the answer while they arrive. A compressed
answer was not asked for and is refused unread, so nothing is ever unpacked. What goes wrong is an LLMError with a reason
code; no message, cause or log line of it holds the key, the request or the answer (tests/llm/test_http_client.py).
"""

from __future__ import annotations

import json
import logging
import re
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpcore
import httpx
from pydantic import SecretStr

from arr_sql.core.router_models import REASON_TEXT, ReasonCode
from arr_sql.core.strict_json import strict_json
from arr_sql.errors import LLMError
from arr_sql.llm.endpoint import Endpoint
from arr_sql.llm.network import DeadlineTransport, Network

MAX_RESPONSE_BYTES = 256 << 10
CONNECT_SECONDS = 3.0
GRACE_SECONDS = 0.25
"""How long after the deadline the caller still waits for the worker, which by then is closing its connection."""

_QUIET = threading.local()


class _NotOfOurCalls(logging.Filter):
    """Drops what httpx and httpcore log of our calls: their debug lines hold the server's headers, which may echo a key."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_QUIET, "on", False)


_FILTER = _NotOfOurCalls()
for _name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy"):
    logging.getLogger(_name).addFilter(_FILTER)


@dataclass
class _Call:
    """One call while it runs. Written by its worker, read by the caller once ``done`` is set."""

    request: httpx.Request = field(repr=False)
    deadline: float
    body: bytes = field(default=b"", repr=False)
    code: ReasonCode | None = None
    detail: dict[str, int] = field(default_factory=dict)
    done: threading.Event = field(default_factory=threading.Event)


class HttpClient:
    """Posts JSON to one endpoint. Safe to share between threads; it keeps no connection open between calls."""

    def __init__(
        self, endpoint: Endpoint, *, key: SecretStr | None = None, total_seconds: float = 5.0,
        max_bytes: int = MAX_RESPONSE_BYTES, network: Network = Network(),
    ) -> None:  # fmt: skip
        """``key`` is sent as a bearer token to SiliconFlow and never to a server on this machine."""
        self.endpoint = endpoint
        self._key = None if endpoint.is_local else key
        self._total, self._max_bytes, self._network = total_seconds, max_bytes, network

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON value that the server answers to ``body`` at ``path`` (for example ``/chat/completions``).

        Raises LLMError with a code; within the total time plus a quarter of a second, whatever the server does.
        """
        deadline = time.monotonic() + self._total
        call = _Call(self._request(path, body), deadline)
        # A thread: looking a name up can't be limited in time. Daemon: it must not keep the process alive.
        threading.Thread(target=self._run, args=(call,), daemon=True, name="arr-llm").start()
        if not call.done.wait(max(0.0, deadline - time.monotonic()) + GRACE_SECONDS):
            raise _error(ReasonCode.LLM_TIMED_OUT)
        if call.code is not None:
            raise _error(call.code, call.detail)
        if self.holds_key(call.body.decode("utf-8", "replace")):
            raise _error(ReasonCode.LLM_KEY_ECHOED)
        value = _parsed(call.body)
        if value is None:
            raise _error(ReasonCode.LLM_NOT_A_COMPLETION)
        return value

    def holds_key(self, text: str) -> bool:
        """Does ``text`` hold the key, also in JSON's escapes, in other case, or with other characters strewn in?"""
        if self._key is None:
            return False
        unescaped = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
        key = _letters(self._key.get_secret_value())
        return bool(key) and (key in _letters(text) or key in _letters(unescaped))

    def _request(self, path: str, body: Mapping[str, Any]) -> httpx.Request:
        """These headers and no others (docs/language-model.md)."""
        content = json.dumps(body, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
        headers = {
            "Host": httpx.URL(self.endpoint.url).netloc.decode("ascii"), "User-Agent": "arr-sql",
            "Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json",
            "Content-Length": str(len(content)), "Connection": "close",
        }  # fmt: skip
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        times = httpx.Timeout(self._total, connect=min(self._total, CONNECT_SECONDS))
        return httpx.Request(
            "POST", self.endpoint.url + path, headers=headers, content=content, extensions={"timeout": times.as_dict()}
        )

    def _run(self, call: _Call) -> None:
        """The worker. Nothing leaves it but what it writes into ``call``."""
        _QUIET.on = True
        try:
            self._exchange(call)
        except Exception as error:  # noqa: BLE001  whatever a server makes the libraries raise is this call's loss
            late = time.monotonic() >= call.deadline or isinstance(error, httpcore.TimeoutException)
            call.code = ReasonCode.LLM_TIMED_OUT if late else _code_of(error)
        finally:
            call.done.set()

    def _exchange(self, call: _Call) -> None:
        transport = DeadlineTransport(self._network, call.deadline, is_tls=not self.endpoint.is_local)
        with httpx.Client(transport=transport, trust_env=False, follow_redirects=False) as client:
            answer = client.send(call.request, stream=True)
            try:
                call.code = _refusal(answer, self._max_bytes)
                if call.code is ReasonCode.LLM_HTTP_STATUS or call.code is ReasonCode.LLM_REDIRECTED:
                    call.detail = {"status": answer.status_code}
                if call.code is None:
                    self._read(answer, call)
            finally:
                answer.close()

    def _read(self, answer: httpx.Response, call: _Call) -> None:
        read = bytearray()
        for piece in answer.iter_raw():
            read += piece
            if len(read) > self._max_bytes:
                call.code = ReasonCode.LLM_TOO_LARGE
                return
        call.body = bytes(read)


def _refusal(answer: httpx.Response, max_bytes: int) -> ReasonCode | None:
    """Why the answer's head alone is enough to refuse it."""
    if 300 <= answer.status_code < 400:
        return ReasonCode.LLM_REDIRECTED
    if answer.status_code != 200:
        return ReasonCode.LLM_HTTP_STATUS
    if answer.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        return ReasonCode.LLM_NOT_A_COMPLETION
    length = answer.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length) > max_bytes:
        return ReasonCode.LLM_TOO_LARGE
    return None


def _code_of(error: BaseException | None) -> ReasonCode:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return ReasonCode.LLM_NOT_TRUSTED
        error = error.__cause__ or error.__context__
    return ReasonCode.LLM_UNREACHABLE


def _parsed(body: bytes) -> Any:
    try:
        return strict_json(body.decode("utf-8"))
    except ValueError:
        return None


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _error(code: ReasonCode, detail: Mapping[str, int] | None = None) -> LLMError:
    return LLMError(REASON_TEXT[code], str(code), detail)
