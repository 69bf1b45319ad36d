"""Opening and closing one file, and its connections: what all parts of :class:`ResearchDatabase` stand on.

Reading uses connections that can only SELECT, one for each channel; writing goes through one connection and one short
transaction per change.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from arr_sql.core.analysis import ANALYSER_VERSION
from arr_sql.core.clock import utc_now
from arr_sql.core.connection import Connection, open_reader, open_writer, store_errors, write_transaction
from arr_sql.core.filesystem import follow_link
from arr_sql.core.migrations import require_current
from arr_sql.core.project import Project
from arr_sql.core.research_models import ScopeKey
from arr_sql.database.advice import installed_language_model
from arr_sql.database.hot_store import HotStore, SharedHotStore
from arr_sql.database.sql_store import add_functions
from arr_sql.database.turns import CLOSED
from arr_sql.errors import StateError
from arr_sql.index.embedders.protocol import Embedder
from arr_sql.index.text_index import TEXT_INDEX_VERSION, index_is_foreign, rebuild_text_index
from arr_sql.memory.audit_log import append_event, current_actor
from arr_sql.policy.retrieval_router import Limits
from arr_sql.retrieval.catalog import Channel
from arr_sql.retrieval.vector_retriever import QueryVectors

if TYPE_CHECKING:
    from typing_extensions import Self

    from arr_sql.llm.language_model import LanguageModel

DEFAULT_MAX_FILE_BYTES = 16 << 20


class DatabaseBase:
    """One database file seen from one scope: its connections and settings."""

    def __init__(
        self, path: Path, scope: ScopeKey, *, project_folder: Path | None = None, actor: str | None = None,
        clock: Callable[[], datetime] = utc_now, embedder: Callable[[], Embedder | None] | None = None,
        keep_query: bool = True, max_file_bytes: int = DEFAULT_MAX_FILE_BYTES, limits: Limits = Limits(),
        language_model: Callable[[], LanguageModel] | None = None, shared_hot: SharedHotStore | None = None,
    ) -> None:  # fmt: skip
        """``embedder`` gives the embedding model when it is first needed, None when there is none.

        ``language_model`` gives the model that a search may ask for advice (default: the environment's). ``shared_hot`` is
        what this process keeps in memory of the file while it is closed; without it that lasts until ``close``.
        """
        self._turn, self._is_closed = threading.RLock(), False
        path = follow_link(path)
        self.path, self.scope = path, scope
        self.project_folder = project_folder or path.resolve().parent
        self.actor = actor or current_actor()
        self._clock, self._keep_query, self._max_file_bytes = clock, keep_query, max_file_bytes
        self._limits = limits
        self._embedder_source = embedder or installed_embedder
        self._language_model_source = language_model or installed_language_model
        self._query_vectors: QueryVectors | None = None
        self._older: dict[str, QueryVectors | None] = {}
        self._shared_hot, self._hot_store = shared_hot, HotStore(path) if shared_hot is None else None
        self._writer: Connection | None = None
        self._readers: dict[str, Connection] = {}
        self._reader_of: dict[str, str] = {}
        self._abandoned: list[Connection] = []
        self._extra_channels: list[Callable[[Connection], Channel]] = []
        try:
            require_current(self._reader("main"), path)
            if self._hot_store is None and shared_hot is not None:
                with store_errors(path):
                    self._hot_store = shared_hot.borrow(self._reader("main"))
        except BaseException:
            self.close()  # nobody else has it: on Windows a file that is open can't be moved away
            raise

    @classmethod
    def create(cls, path: Path, scope: ScopeKey, **options: Any) -> Self:
        """Make the file (or bring an older one up to date) and open it."""
        from arr_sql.memory.store_copy import bring_up_to_date  # not for a search: it knows every check

        path = follow_link(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        bring_up_to_date(path, create=True)
        return cls(path, scope, **options)

    @classmethod
    def of_project(cls, project: Project, **options: Any) -> Self:
        """Open a found project's file in its scope."""
        settings = project.settings
        limits = Limits(k=settings.search.k, deadline_seconds=settings.search.deadline_seconds)
        return cls(
            project.database, project.scope,
            **{"project_folder": project.folder, "keep_query": settings.audit.query == "text",
               "max_file_bytes": settings.sources.max_file_bytes, "limits": limits, **options},
        )  # fmt: skip

    def __enter__(self) -> Self:
        if self._is_closed:
            raise StateError(CLOSED)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections, after a call that runs. Closing twice is harmless; nothing else is done with it afterwards."""
        self._is_closed = True
        if self._shared_hot is None:
            self._hot.close()
        elif self._hot_store is not None:
            self._shared_hot.give_back(self._hot_store, self._readers.get("main"))
            self._hot_store = None
        for connection in (*self._readers.values(), *self._abandoned):
            connection.close()
        self._readers.clear()
        self._abandoned.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    @property
    def _hot(self) -> HotStore:
        """What is kept in memory of the file."""
        assert self._hot_store is not None, "it is given back by close alone"
        return self._hot_store

    def _reader(self, name: str) -> Connection:
        """A warm read connection of its own for each channel: one connection serves one thread at a time."""
        if name not in self._readers:
            self._readers[name] = open_reader(self.path)
            add_functions(self._readers[name], self.path)
        return self._readers[name]

    def _write(self) -> Connection:
        if self._writer is None:
            self._writer = open_writer(self.path)
            add_functions(self._writer, self.path)
        return self._writer

    def _ready_writer(self) -> Connection:
        """The writer, with a text index that this program's analyser made."""
        writer = self._write()
        with store_errors(self.path):
            if index_is_foreign(writer):
                self.rebuild()
        return writer

    def rebuild(self, progress: Callable[[int], None] = lambda done: None) -> int:
        """Make the text index anew from content; how many rows it holds."""
        writer = self._write()
        with write_transaction(writer, self.path):
            rows = rebuild_text_index(writer, progress)
            append_event(
                writer, scope_id=None, revision=None, at=self._clock(), actor=self.actor, kind="index_built",
                subject_kind="text_index", subject_id=TEXT_INDEX_VERSION, subject_hash="",
                details={"rows": rows, "analyser": ANALYSER_VERSION},
            )  # fmt: skip
            return rows


_shared: list[Embedder] = []
_sharing = threading.Lock()


def shared_embedder() -> Embedder | None:
    """As :func:`installed_embedder`, but loaded once for all databases of this process; its threads may share it."""
    with _sharing:
        if not _shared and (embedder := installed_embedder()) is not None:
            _shared.append(embedder)
        return _shared[0] if _shared else None


def is_model_there() -> bool:
    """Is the chosen model installed, or shared already? Asked before one is loaded, which takes half a second."""
    from arr_sql.database.embedder_choice import has_embedder

    return bool(_shared) or has_embedder()


def installed_embedder() -> Embedder | None:
    """The model that ARR_EMBEDDER names, else the installed default one; None when there is none.

    Raises ModelError when it is damaged or cannot be had.
    """
    from arr_sql.database.embedder_choice import has_embedder, open_chosen, read_choice

    return open_chosen(read_choice()) if has_embedder() else None
