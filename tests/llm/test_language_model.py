"""A model as the rest of the program sees it: what is asked of a server, and a text or a code for whatever it answers."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.advice import Ask, Prompt
from arr_sql.core.router_models import ReasonCode
from arr_sql.llm.budget import CallBudget
from arr_sql.llm.endpoint import Endpoint
from arr_sql.llm.http_client import HttpClient
from arr_sql.llm.language_model import LanguageModel, _content
from arr_sql.llm.settings import LLMSettings
from tests.llm import servers
from tests.llm.servers import Server, completion, respond, say

Serve = Callable[..., Server]
ASK = Ask(Prompt("planner", "plan-1", "Rules."), "data", {"type": "object"})


def settings(url: str, **values: Any) -> LLMSettings:
    return LLMSettings(is_enabled=True, endpoint=Endpoint(url), model="m", timeout_seconds=30, **values)


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        ("json_object", {"type": "json_object"}), ("none", None),
        ("json_schema", {"type": "json_schema", "json_schema": {"name": "plan_1", "strict": True, "schema": {"type": "object"}}}),
    ],
)  # fmt: skip
def test_the_reply_format_is_asked_for_as_the_server_takes_it(serve: Serve, wanted: Any, sent: Any) -> None:
    """The rest of the request is the same: two messages, no tools, no stream, no sampling."""
    server = serve(say("hello"))
    reply = LanguageModel(settings(server.url, response_format=wanted)).asking()(ASK)
    assert (reply.text, reply.code) == ("hello", None)
    body = server.requests[0].json
    assert body.pop("response_format", None) == sent
    assert body == {
        "model": "m", "temperature": 0, "max_tokens": 2048, "stream": False,
        "messages": [{"role": "system", "content": "Rules."}, {"role": "user", "content": "data"}],
    }  # fmt: skip


ENVELOPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["stop", "assistant", "content", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "role", "finish_reason", "tool_calls"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(ENVELOPES)
def test_whatever_a_server_sends_is_a_text_or_nothing(answer: Any) -> None:
    """Exactly one finished choice of an assistant that calls no tool; nothing raises."""
    text = _content(answer)
    assert text is None or (isinstance(text, str) and len(answer["choices"]) == 1)


def test_a_long_text_is_refused() -> None:
    """Within the bytes that are read, a reply of more than 64 thousand characters is none."""
    with servers.serving(say("x" * 70_000)) as server:
        assert LanguageModel(settings(server.url)).asking()(ASK).code is ReasonCode.LLM_TOO_LARGE


def test_without_a_budget_of_its_own_a_callable_asks_once_for_each_purpose(serve: Serve) -> None:
    """A second plan is refused; another retrieval may ask again."""
    server = serve(say("hello"))
    model = LanguageModel(settings(server.url))
    complete = model.asking()
    codes = [complete(ASK).code, complete(ASK).code, model.asking(CallBudget(1).for_retrieval())(ASK).code]
    assert codes == [None, ReasonCode.LLM_BUDGET_EXHAUSTED, None] and len(server.requests) == 2


def test_the_six_figure_loopback_address_is_reached() -> None:
    """``http://[::1]:PORT/v1``, where this machine has IPv6."""
    listening = socket.socket(socket.AF_INET6) if socket.has_ipv6 else None
    try:
        if listening is None:
            raise OSError
        listening.bind(("::1", 0))
    except OSError:
        if listening is not None:
            listening.close()
        pytest.skip("this machine has no IPv6 loopback")
    listening.listen(1)
    listening.settimeout(20)
    heads: list[bytes] = []

    def answer() -> None:
        connection, _ = listening.accept()
        with connection:
            heads.append(connection.recv(65_536))
            body = completion("hello").encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    thread = threading.Thread(target=answer)
    thread.start()
    port = listening.getsockname()[1]
    found = HttpClient(Endpoint(f"http://[::1]:{port}/v1"), total_seconds=20).post("/chat/completions", {})
    thread.join(20)
    listening.close()
    assert _content(found) == "hello" and f"Host: [::1]:{port}".encode() in heads[0]


def test_a_model_list_or_an_error_is_no_completion(serve: Serve) -> None:
    """Answers of other endpoints, with status 200."""
    for body in ({"object": "list", "data": [{"id": "m"}]}, {"error": {"message": "no"}}, [], "x", None):
        server = serve(respond(json.dumps(body)))
        assert LanguageModel(settings(server.url)).asking()(ASK).code is ReasonCode.LLM_NOT_A_COMPLETION
