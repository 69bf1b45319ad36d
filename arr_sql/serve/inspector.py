"""``arr ui``: the store as pages, for the person at this machine.

Rendered here, without scripts and without anything from elsewhere. The pages only read: each request opens the database
anew and closes it, what it read staying in memory for the next, and nothing on a page changes a memory, a source or a
file. A search is recorded only where ``record`` was asked for (``arr ui --record``). Who may ask is decided in
:mod:`arr_sql.serve.guard`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from arr_sql.core.project import Project
from arr_sql.database import ResearchDatabase
from arr_sql.database.base import installed_embedder
from arr_sql.database.hot_store import SharedHotStore
from arr_sql.errors import ArrError, InputError
from arr_sql.index.embedders.protocol import Embedder
from arr_sql.serve.guard import Guard
from arr_sql.serve.pages import store_pages
from arr_sql.serve.pages.retrieval_page import view_of_record, view_of_result
from arr_sql.serve.render import render, style
from arr_sql.serve.words import LANGUAGES, choose_language, words

THEMES = ("light", "dark")
MOST_RECORDS = 200


class Inspector:
    """The pages over one project in one scope."""

    def __init__(
        self, project: Project, *, record: bool = False, embedder: Callable[[], Embedder | None] = installed_embedder
    ) -> None:
        self._project, self._record = project, record
        self._load, self._lock = embedder, threading.Lock()
        self._embedder: Embedder | None = None
        self._is_loaded = False
        self._hot = SharedHotStore(project.database)

    def close(self) -> None:
        """Let go of what is kept in memory between requests."""
        self._hot.close()

    def app(self, *, token: str, port: int) -> Guard:
        """The application that answers at ``port``, guarded by ``token``."""
        pages: list[tuple[str, Callable[[Request], Response]]] = [
            ("/", self.search), ("/retrievals", self.retrievals), ("/retrieval", self.retrieval),
            ("/memories", self.memories), ("/memory", self.memory), ("/sources", self.sources), ("/audit", self.audit),
            ("/chunk", self.chunk), ("/display", self.display), ("/style.css", self.style),
        ]  # fmt: skip
        routes = [Route(path, page, methods=["GET"]) for path, page in pages]
        handlers: dict[Any, Any] = {ArrError: self._refused, HTTPException: self._no_page, Exception: self._fault}
        return Guard(Starlette(routes=routes, exception_handlers=handlers), token=token, port=port)

    # --- pages ----------------------------------------------------------------------------------------------------------

    def search(self, request: Request) -> Response:
        """The question and, when one was asked, its answer."""
        query = request.query_params.get("q", "").strip()
        with self._open() as database:
            if not query:
                return self._page(request, "search.html", "search", query="", view=None, **store_pages.home(database))
            started = time.monotonic()
            result = database.search(query, write_record=self._record)
        view = view_of_result(result, query, 1000 * (time.monotonic() - started))
        return self._page(request, "search.html", "search", query=query, view=view)

    def retrievals(self, request: Request) -> Response:
        """What was asked before."""
        with self._open() as database:
            records = database.retrievals(limit=MOST_RECORDS)
        return self._page(request, "retrievals.html", "retrievals", records=records, limit=MOST_RECORDS)

    def retrieval(self, request: Request) -> Response:
        """One past retrieval."""
        with self._open() as database:
            record = database.retrievals(_asked(request, "id"))[0]
        return self._page(request, "retrieval.html", "retrievals", view=view_of_record(record))

    def memories(self, request: Request) -> Response:
        """The memories of the scope."""
        with self._open() as database:
            values = store_pages.memories(database, request.query_params.get("status"))
        return self._page(request, "memories.html", "memories", **values)

    def memory(self, request: Request) -> Response:
        """One memory with its history and approvals."""
        with self._open() as database:
            values = store_pages.memory(database, _asked(request, "id"))
        return self._page(request, "memory.html", "memories", **values)

    def sources(self, request: Request) -> Response:
        """Each source and whether its file is as it was."""
        with self._open() as database:
            values = store_pages.sources(database, "check" in request.query_params)
        return self._page(request, "sources.html", "sources", **values)

    def audit(self, request: Request) -> Response:
        """The audit log; with ``verify`` the verdict on it."""
        asked = request.query_params
        limit = int(asked["limit"]) if asked.get("limit", "").isdecimal() and len(asked["limit"]) < 8 else 0
        with self._open() as database:
            values = store_pages.audit(database, asked.get("kind") or None, limit, "verify" in asked)
        return self._page(request, "audit.html", "audit", **values)

    def chunk(self, request: Request) -> Response:
        """One chunk whole."""
        with self._open() as database:
            values = store_pages.chunk(database, _asked(request, "id"), request.query_params.get("q", ""))
        return self._page(request, "chunk.html", "search", **values)

    def display(self, request: Request) -> Response:
        """Keep the chosen colours or language in a cookie and go back to where they were chosen."""
        target = request.query_params.get("to", "/")
        is_here = target.startswith("/") and not target.startswith(("//", "/\\", "/display"))
        answer = RedirectResponse(target if is_here else "/", 303)
        for name, allowed in (("theme", (*THEMES, "system")), ("language", LANGUAGES)):
            value = request.query_params.get(name)
            if value is not None and value in allowed:
                answer.set_cookie(f"arr_{name}", value, max_age=365 * 86400, httponly=True, samesite="strict")
        return answer

    def style(self, request: Request) -> Response:
        """The style sheet."""
        return Response(style(), media_type="text/css")

    # --- parts ----------------------------------------------------------------------------------------------------------

    def _open(self) -> ResearchDatabase:
        return ResearchDatabase.of_project(self._project, embedder=self._shared_embedder, shared_hot=self._hot)

    def _shared_embedder(self) -> Embedder | None:
        """The model, loaded once for all requests when the first needs it."""
        with self._lock:
            if not self._is_loaded:
                self._embedder, self._is_loaded = self._load(), True
            return self._embedder

    def _page(self, request: Request, template: str, here: str, *, code: int = 200, **values: Any) -> HTMLResponse:
        language = choose_language(request.cookies.get("arr_language"), request.headers.get("accept-language", ""))
        theme = request.cookies.get("arr_theme")
        address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        # A name of a page's own values must not be taken for one of the frame's: "language" is that of the words.
        values["language_of_text"] = values.pop("language", "")
        text = render(
            template, language, here=here, theme=theme if theme in THEMES else None, address=address,
            scope_values=self._project.scope.values(), recording=self._record, **values,
        )  # fmt: skip
        return HTMLResponse(text.encode("utf-8", "replace"), code, {"Vary": "Accept-Language, Cookie"})

    def _refused(self, request: Request, error: Exception) -> Response:
        status = 500 if not isinstance(error, InputError) else 404 if "id" in request.query_params else 400
        return self._page(request, "problem.html", "", code=status, message=str(error))

    def _no_page(self, request: Request, error: Exception) -> Response:
        return self._problem(request, "not_found", 404)

    def _fault(self, request: Request, error: Exception) -> Response:
        return self._problem(request, "internal", 500)

    def _problem(self, request: Request, name: str, status: int) -> Response:
        language = choose_language(request.cookies.get("arr_language"), request.headers.get("accept-language", ""))
        return self._page(request, "problem.html", "", code=status, message=words(language)(name))


def _asked(request: Request, name: str) -> str:
    """A value of the address. Raises InputError when it is not there."""
    value = request.query_params.get(name, "")
    if not value:
        raise InputError(f"The address has no '{name}'. Follow a link to this page instead.")
    return value
