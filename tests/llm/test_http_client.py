"""Contract 12.3: what the client refuses, how long it waits, and that nothing of a call is said anywhere else."""

from __future__ import annotations

import gzip
import logging
import ssl
import threading
import time
import traceback
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from arr_sql.errors import LLMError
from arr_sql.llm.endpoint import SILICONFLOW, Endpoint
from arr_sql.llm.http_client import HttpClient
from arr_sql.llm.network import Network, verifying_tls
from tests.llm import servers
from tests.llm.servers import HOST, Authority, Server, Wire, drip, respond

Serve = Callable[..., Server]
KEY = "sk-canary-7c1f09ab22d34e5f"
QUERY = "canary-query-zqx"
LIMIT = 0.5
SLACK = 10.0
"""A busy machine may be slow. What is tested is that a call ends at all, where the servers would go on for longer."""

OK = respond('{"a": [1, 2.5, "数据"]}')
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.fixture
def post(serve: Serve, authority: Authority, server_tls: ssl.SSLContext) -> Callable[..., Any]:
    """Post to a server that behaves so, over TLS as to the remote host."""

    def call(behave: servers.Behaviour, **options: Any) -> Any:
        server = serve(behave, server_tls)
        client = HttpClient(
            SILICONFLOW, key=SecretStr(KEY), network=authority.network(server), **{"total_seconds": 30.0, **options}
        )
        return client.post("/chat/completions", {"messages": [{"role": "user", "content": QUERY}]})

    return call


def test_a_good_answer_is_the_json_value(post: Callable[..., Any]) -> None:
    """Over TLS, whole or chunked."""
    assert post(OK) == {"a": [1, 2.5, "数据"]}

    def chunked(wire: Wire, request: servers.Request) -> None:
        wire.send(HEAD + 'Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n5\r\n": 1}\r\n0\r\n\r\n')

    assert post(chunked) == {"a": 1}


def test_what_is_sent_is_exactly_this(serve: Serve, authority: Authority, server_tls: ssl.SSLContext) -> None:
    """One POST; these headers and no others; the key only to the remote host."""
    remote = serve(OK, server_tls)
    HttpClient(SILICONFLOW, key=SecretStr(KEY), network=authority.network(remote)).post("/chat/completions", {"q": "é"})
    sent = remote.requests[0]
    assert sent.head.split("\r\n")[0] == "POST /v1/chat/completions HTTP/1.1"
    assert sent.body == b'{"q":"\\u00e9"}'
    expected = {
        "host": HOST, "user-agent": "arr-sql", "accept": "application/json", "accept-encoding": "identity",
        "content-type": "application/json", "content-length": "14", "connection": "close",
    }  # fmt: skip
    assert sent.headers == {**expected, "authorization": f"Bearer {KEY}"}
    local = serve(OK)
    HttpClient(Endpoint(local.url), key=SecretStr(KEY)).post("/embeddings", {"q": "é"})
    assert local.requests[0].headers == {**expected, "host": f"127.0.0.1:{local.port}"}
    assert KEY not in local.requests[0].head


def test_the_environment_changes_nothing(
    serve: Serve, authority: Authority, server_tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Proxies, .netrc and certificate settings of the environment are not read."""
    trap = serve(OK)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{trap.port}")
    (tmp_path / "netrc").write_text(
        f"machine {HOST} login a password b\nmachine 127.0.0.1 login a password b\n", "utf-8"
    )
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    server, local = serve(OK, server_tls), serve(OK)
    HttpClient(SILICONFLOW, network=authority.network(server)).post("/x", {})
    HttpClient(Endpoint(local.url)).post("/x", {})
    verifying_tls.cache_clear()
    assert verifying_tls().verify_mode is ssl.CERT_REQUIRED and verifying_tls().check_hostname
    assert trap.connections == 0 and not (tmp_path / "keys").exists()
    assert "authorization" not in server.requests[0].headers and "authorization" not in local.requests[0].headers


REDIRECTS = ["http://127.0.0.1:{port}/v1/chat/completions", "http://[::1]:{port}/", "http://169.254.169.254/latest/meta-data/",
             "http://[fe80::1]/", "https://api.siliconflow.cn/v1/chat/completions", "//127.0.0.1:{port}/", "/v1/other",
             "file:///etc/passwd", "\x00"]  # fmt: skip

FAULTS: dict[str, tuple[servers.Behaviour, str, dict[str, int]]] = {
    **{f"status {code}": (respond("{}", f"{code} X"), "llm_http_status", {"status": code}) for code in (
        201, 204, 206, 400, 401, 403, 404, 418, 500, 502, 503)},
    "429": (respond("{}", "429 Slow down", {"Retry-After": "3600"}), "llm_http_status", {"status": 429}),
    "gzip bomb": (
        respond(gzip.compress(b" " * (64 << 20)), headers={"Content-Encoding": "gzip"}), "llm_not_a_completion", {},
    ),
    "deflate": (respond(zlib.compress(b"{}"), headers={"Content-Encoding": "deflate"}), "llm_not_a_completion", {}),
    "gzip, unsaid": (respond(gzip.compress(b"{}")), "llm_not_a_completion", {}),
    "megabytes": (respond(b" " * (4 << 20)), "llm_too_large", {}),
    "claims megabytes": (respond(b"{}", headers={"Content-Length": "4000000"}), "llm_too_large", {}),
    "claims more than HTTP allows": (respond(b"{}", headers={"Content-Length": "9" * 400}), "llm_unreachable", {}),
    "flood": (servers.flood, "llm_too_large", {}),
    "half a body": (respond(b'{"a": 1}', headers={"Content-Length": "100"}), "llm_unreachable", {}),
    "hangs up": (servers.hang_up, "llm_unreachable", {}),
    "not HTTP": (lambda wire, request: wire.send("SSH-2.0-OpenSSH_9.0\r\n\r\n"), "llm_unreachable", {}),
    "endless header": (servers.endless_header, "llm_unreachable", {}),
    "not JSON": (respond("<html>"), "llm_not_a_completion", {}),
    "not UTF-8": (respond(b'{"a": "\xff"}'), "llm_not_a_completion", {}),
    "two values": (respond('{"a": 1}{"a": 1}'), "llm_not_a_completion", {}),
    "NaN": (respond('{"a": NaN}'), "llm_not_a_completion", {}),
    "deep": (respond("[" * 100_000 + "]" * 100_000), "llm_not_a_completion", {}),
    "echoes the key": (respond(f'{{"a": "Bearer {KEY}"}}'), "llm_key_echoed", {}),
    "echoes the key in capitals": (respond(f'{{"a": "{KEY.upper()}"}}'), "llm_key_echoed", {}),
    "echoes the key in escapes": (
        respond('{"a": "' + "".join(f"\\u{ord(c):04x}" for c in KEY) + '"}'), "llm_key_echoed", {}),
    "echoes the key spelled out": (respond(f'{{"a": "{" ".join(KEY)}"}}'), "llm_key_echoed", {}),
    **{f"redirect {number}": (
        respond("", f"{status} Go", {"Location": where.format(port=1) if "\x00" not in where else ""}),
        "llm_redirected", {"status": status},
    ) for number, (where, status) in enumerate(zip(REDIRECTS, (301, 302, 303, 307, 308, 302, 307, 302, 300), strict=True))},
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_code_and_says_nothing_else(
    post: Callable[..., Any], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The code, numbers for detail, a fixed sentence; the key and the query in no cause, no traceback and no log line."""
    behave, code, detail = FAULTS[name]
    caplog.set_level(logging.DEBUG)
    with pytest.raises(LLMError) as caught:
        post(behave)
    assert (caught.value.code, caught.value.detail) == (code, detail)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    said = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert KEY not in said and QUERY not in said and "Bearer" not in said


SLOW: dict[str, servers.Behaviour] = {
    "silence": servers.silence,
    "drips its head": drip("HTTP/1.1 200 OK\r\nX-A: b\r\n"),
    "drips a header": drip("x", 0.05, HEAD + "X-Long: "),
    "drips its body": drip(" ", 0.05, HEAD + "Content-Length: 200000\r\n\r\n"),
    "drips chunks": drip("1\r\n \r\n", 0.05, HEAD + "Transfer-Encoding: chunked\r\n\r\n"),
    "only promises": drip("HTTP/1.1 100 Continue\r\n\r\n", 0.01),
    "stops in the middle": drip("", 0.05, HEAD + 'Content-Length: 100\r\n\r\n{"a'),
}


def stop_in_the_middle(wire: Wire, request: servers.Request) -> None:
    """Half an answer, and then nothing."""
    wire.send(HEAD + 'Content-Length: 100\r\n\r\n{"a')
    wire.pause(servers.PATIENCE)


SLOW["stops in the middle"] = stop_in_the_middle


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_server_costs_the_limit_and_no_more(post: Callable[..., Any], name: str) -> None:
    """Whatever it drips. Each of these servers would go on for twenty seconds."""
    started = time.monotonic()
    with pytest.raises(LLMError) as caught:
        post(SLOW[name], total_seconds=LIMIT)
    assert caught.value.code == "llm_timed_out"
    assert time.monotonic() - started < LIMIT + SLACK


def test_a_server_that_never_shakes_hands_costs_the_limit(serve: Serve, authority: Authority) -> None:
    """TLS is asked of a server that speaks none and waits."""
    server = serve(servers.silence)  # reads the ClientHello as if it were a request, for ever
    client = HttpClient(SILICONFLOW, total_seconds=LIMIT, network=authority.network(server))
    started = time.monotonic()
    with pytest.raises(LLMError) as caught:
        client.post("/x", {})
    assert caught.value.code == "llm_timed_out" and time.monotonic() - started < LIMIT + SLACK


def test_a_name_that_is_looked_up_for_ever_costs_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking a name up knows no time limit; the caller does."""
    import socket

    release = threading.Event()

    def look_up(*_: Any, **__: Any) -> Any:
        release.wait(30)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    started = time.monotonic()
    with pytest.raises(LLMError) as caught:
        HttpClient(SILICONFLOW, total_seconds=LIMIT).post("/x", {})
    release.set()
    assert caught.value.code == "llm_timed_out" and time.monotonic() - started < LIMIT + SLACK


@pytest.mark.parametrize("which", ["another host", "another authority", "no authority of certifi"])
def test_a_wrong_certificate_ends_the_call_before_anything_is_sent(
    serve: Serve, authority: Authority, which: str
) -> None:
    """The host's name and its authority are both checked."""
    shown = servers.make_authority() if which == "another authority" else authority
    server = serve(OK, shown.server_tls("api.siliconflow.com" if which == "another host" else HOST))
    network = authority.network(server)
    if which.startswith("no"):
        network = Network(connect_to=server.address)
    with pytest.raises(LLMError) as caught:
        HttpClient(SILICONFLOW, key=SecretStr(KEY), total_seconds=30.0, network=network).post("/x", {})
    assert caught.value.code == "llm_not_trusted" and server.requests == []


def test_an_unreachable_server(serve: Serve) -> None:
    """Nobody listens."""
    server = serve(OK)
    server.close()
    with pytest.raises(LLMError) as caught:
        HttpClient(Endpoint(server.url)).post("/x", {})
    assert caught.value.code == "llm_unreachable"


def test_nothing_is_asked_twice(serve: Serve, authority: Authority, server_tls: ssl.SSLContext) -> None:
    """One connection and one request for each call, whatever came of it; a redirect leads nowhere."""
    for name in (
        "429",
        "status 500",
        "hangs up",
        "half a body",
        *(name for name in FAULTS if name.startswith("redirect")),
    ):
        server = serve(FAULTS[name][0], server_tls)
        with pytest.raises(LLMError):
            HttpClient(SILICONFLOW, total_seconds=30.0, network=authority.network(server)).post("/x", {})
        assert (server.connections, len(server.requests)) == (1, 1)


def test_the_limit_of_size_is_the_callers(serve: Serve) -> None:
    """One byte too many is too many; a larger limit takes it."""
    body = b'{"a": "' + b"x" * 1_000 + b'"}'
    url = serve(respond(body)).url
    assert HttpClient(Endpoint(url), max_bytes=len(body)).post("/x", {})
    with pytest.raises(LLMError) as caught:
        HttpClient(Endpoint(url), max_bytes=len(body) - 1).post("/x", {})
    assert caught.value.code == "llm_too_large"


def test_one_client_serves_many_threads(serve: Serve) -> None:
    """Calls do not share anything that could mix their answers up."""

    def echo(wire: Wire, request: servers.Request) -> None:
        respond(request.body)(wire, request)

    client = HttpClient(Endpoint(serve(echo).url), total_seconds=30.0)
    answers: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda n=n: answers.__setitem__(n, client.post("/x", {"n": n}))) for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: {"n": n} for n in range(12)}


def test_the_key_is_in_no_text_of_the_client() -> None:
    """Not in repr or among what vars shows of it."""
    client = HttpClient(SILICONFLOW, key=SecretStr(KEY))
    assert KEY not in repr(client) and KEY not in repr(vars(client))


def test_logs_of_others_are_not_touched(caplog: pytest.LogCaptureFixture) -> None:
    """The filter silences this client's calls, not the libraries."""
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpcore.http11").debug("somebody else's call")
    assert "somebody else's call" in caplog.text
