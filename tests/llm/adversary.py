"""Plays the adversarial set (data/gold/llm_adversarial) on a real server."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.llm import servers
from tests.llm.servers import Behaviour, Request, Wire

FOLDER = Path(__file__).resolve().parents[2] / "data" / "gold" / "llm_adversarial"
KEY = "sk-canary-7c1f09ab22d34e5f"
QUERY = "why did the warmup run diverge canaryquery7f3a"
EVIDENCE = "canaryevidence9d2b"


def read(name: str) -> list[dict[str, Any]]:
    """The items of one file."""
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


def filled(text: str, **values: str) -> str:
    """``text`` with the canaries in their places."""
    places = {
        "$SPACEDKEY": " ".join(KEY), "$UPPERKEY": KEY.upper(), "$ESCAPEDKEY": "".join(f"\\u{ord(c):04x}" for c in KEY),
        "$KEY": KEY, "$QUERY": QUERY, "$EVIDENCE": EVIDENCE, "$MANY": "warmup " * 5_000, "$MEGABYTES": "x" * (3 << 20), **values,
    }  # fmt: skip
    for place, value in places.items():
        text = text.replace(place, value)
    return text


def behaviour(item: dict[str, Any], port: int) -> Behaviour:
    """What a server does for one item of replies.jsonl."""
    if "reply" in item:
        return servers.say(filled(item["reply"]))
    told = item["server"]
    if told["do"] == "respond":
        headers = {name: filled(value, **{"$PORT": str(port)}) for name, value in told.get("headers", {}).items()}
        body = bytes.fromhex(told["hex"]) if "hex" in told else filled(told["body"]).encode("utf-8")
        return servers.respond(body, filled(told["status"]), headers)
    if told["do"] == "say":
        return servers.say(filled(told["text"]))
    if told["do"] == "gzip":
        body = gzip.compress(b" " * (told["megabytes"] << 20))
        return servers.respond(body, headers={"Content-Encoding": "gzip"} if told.get("said", True) else {})
    if told["do"] == "raw":
        return lambda wire, request: wire.send(told["bytes"])
    if told["do"] == "drip":
        return _DRIPS[told["part"]]
    return {"flood": servers.flood, "silence": servers.silence, "half": half, "hang-up": servers.hang_up}[told["do"]]


_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_DRIPS = {
    "head": servers.drip("HTTP/1.1 200 OK\r\nX-Slow: y\r\n"),
    "body": servers.drip(servers.completion("{}") + " " * 9_000, after=_HEAD + "Content-Length: 100000\r\n\r\n"),
    "events": servers.drip(
        "10\r\ndata: {}\n\n: wait\n\r\n", after="HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    ),
}  # fmt: skip


def half(wire: Wire, request: Request) -> None:
    """Half an answer, and the connection is closed."""
    body = servers.completion('{"version":"plan-1"}')
    wire.send(f"{_HEAD}Content-Length: {len(body)}\r\n\r\n{body[: len(body) // 2]}")


def obedient(obeyed: dict[str, Any], poison: str) -> Behaviour:
    """A model that does all that the poisoned text tells it."""

    def behave(wire: Wire, request: Request) -> None:
        shown = json.loads(request.json["messages"][1]["content"])
        labels = {one["id"]: poison in one["text"] for one in shown.get("candidates", [])}
        poisoned = next((label for label, is_poison in labels.items() if is_poison), "e01")
        if "say" in obeyed:
            text = filled(obeyed["say"], **{"$P": poisoned})
        else:
            text = json.dumps({"version": "rank-1", "scores": [
                {"id": label, "score": obeyed["scores"]["poison" if is_poison else "others"]}
                for label, is_poison in labels.items()]})  # fmt: skip
        servers.say(text)(wire, request)

    return behave
