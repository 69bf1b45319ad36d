"""Who may see the inspector's pages: nobody but the person who started it, on this machine, in a page of its own.

The address that is printed holds a random token. It is exchanged for a cookie and then leaves the address bar, so that
it is in no bookmark and no screenshot; no page sends a referrer. Every request must name this very address as its Host
(a foreign name that resolves to loopback is refused), must not come from another page (Origin, Sec-Fetch-Site), may only
read (GET, HEAD), and must carry the cookie. Answers may load and run nothing: no script, no frame, no foreign style, picture or font.
tests/serve/test_guard.py asks over real sockets, tests/serve/test_inspector_browser.py with a real browser.
"""

from __future__ import annotations

import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_BYTES = 32
ENTRY = "/"
PUBLIC_PATHS = frozenset({"/style.css"})
"""Holds nothing of the project, and the page that says "no" needs it too."""

POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


def new_token() -> str:
    """256 random bits, as they stand in the address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class Guard:
    """The outermost layer of the application. ``port`` is where it listens."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app, self._token = app, token
        # A second secret: what the browser keeps is not what the address held.
        self._pass = secrets.token_urlsafe(TOKEN_BYTES)
        # Cookies don't know ports: two inspectors on one machine must not overwrite each other's.
        self.cookie = f"arr_pass_{port}"
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand the request on, with the headers that every answer has."""
        if scope["type"] != "http":  # no web sockets here
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """None where the request may go on."""
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        if host not in self._hosts:
            return _no(421, "This page answers under its own address only (wrong Host).")
        if scope["method"] not in ("GET", "HEAD"):
            return _no(405, "These pages can only be read.", {"Allow": "GET, HEAD"})
        given = parse_qs(scope["query_string"].decode("ascii", "replace")).get("token", [""])[0]
        if path == ENTRY and given and _same(given, self._token):
            return self._let_in()
        if headers.get("origin") not in (None, f"http://{host}"):
            return _no(403, "The request came from another page (Origin).")
        if headers.get("sec-fetch-site") not in (None, "none", "same-origin"):
            return _no(403, "The request came from another page (Sec-Fetch-Site).")
        if path not in PUBLIC_PATHS and not _same(
            cookie_parser(headers.get("cookie", "")).get(self.cookie, ""), self._pass
        ):
            return _no(403, "Open the address that `arr ui` printed: it holds the token that lets you in.")
        return None

    def _let_in(self) -> Response:
        # Not a redirect: in a chain of redirects that another page began, a strict cookie would not be sent back.
        answer = HTMLResponse(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>arr</title>'
            '<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Open the inspector</a></p></html>'
        )
        answer.set_cookie(self.cookie, self._pass, httponly=True, samesite="strict", path="/")
        return answer


def _same(given: str, wanted: str) -> bool:
    """In a time that does not tell how much of it is right."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8"))


def _no(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(text + "\n", status, headers)
