"""Contract 2.3: whatever other scopes hold or have done, every answer in this scope is the same to the byte.

A random history of one scope is written into a file of its own, and again into a file where it is interleaved with
random histories of five neighbours, each differing in one of the five scope values. Everything that the scope is told,
during the history and after it, must be equal in both files. `pytest --hypothesis-profile=deep` runs 5,000 examples.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from arr_sql.core.analysis import analyse, query_terms
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.errors import ArrError
from arr_sql.index.embedders.protocol import Embedder
from arr_sql.retrieval.answer_floor import AnswerFloor
from arr_sql.retrieval.catalog import ChannelAnswer, Hit
from arr_sql.retrieval.language_axis import language_axis
from tests.conftest import SCOPE, FakeEmbedder, StepClock, other_scopes

SCOPES = (SCOPE, *other_scopes())
EXAMPLES = max(200, settings().max_examples)
"""200 in the default profile; a deeper profile decides for itself."""

CHANNELS = ("research-memory", "bm25", "vector", "grep")
SINGLE_PLANS: tuple[Any, ...] = tuple({"tool_rounds": [[name]]} for name in CHANNELS)
TWO_ROUNDS: Any = {"tool_rounds": [["bm25"], ["vector", {"tool": "grep", "query": "lr_decay"}]]}
PLANS: tuple[Any, ...] = (None, *SINGLE_PLANS, TWO_ROUNDS)


# --- What a scope can do ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Write:
    """Put a text into a file, and (unless it stays only on the disk) take it in."""

    name: str
    text: str
    sync: bool = True


@dataclass(frozen=True)
class Rename:
    """Give a file another name."""

    old: str
    new: str


@dataclass(frozen=True)
class Delete:
    """Remove a file."""

    name: str
    sync: bool = True


@dataclass(frozen=True)
class Remember:
    """Add a memory, published when ``publish``."""

    memory_id: str
    text: str
    publish: bool = True
    conflict_key: str | None = None
    environments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Move:
    """Change a memory's status; many moves are not allowed, and say so."""

    memory_id: str
    status: Any


@dataclass(frozen=True)
class Use:
    """Another embedding model is installed."""

    model: str | None


@dataclass(frozen=True)
class Embed:
    """Compute the vectors that are missing."""

    rebuild: bool = False


@dataclass(frozen=True)
class Search:
    """Ask, which leaves a record."""

    query: str


@dataclass(frozen=True)
class Rebuild:
    """Make the text index of the whole file anew."""


@dataclass(frozen=True)
class Forget:
    """Erase one thing, by its name, for good."""

    kind: str
    name: str


Step = Write | Rename | Delete | Remember | Move | Use | Embed | Search | Rebuild | Forget
History = list[tuple[int, Step]]

NAMES = ("a.md", "b.txt", "notes/c.md", "train.py", "refs.bib")
WORDS = ("router", "budget", "design", "lr_decay", "loss", "plane", "ERR-42", "学习率", "减半", "warmup")
TEXTS = (
    "router budget budget",
    "router design",
    "budget control plane",
    "# Router\n\nThe router keeps a budget.\n\n## Design\n\nThe design of the plane.",
    "当验证集损失不再下降时，学习率减半。",
    "def lr_decay(loss):\n    return loss * 0.5  # ERR-42\n",
)
ENGLISH = (
    "router budget",
    "loss of the plane",
    "warmup design",
    "lr_decay and queue",
    "copper shards",
    "plane of zinc",
)
CHINESE = ("学习率减半", "损失发散", "预热步数", "队列排满", "路由预算", "平面设计")


def library(english: int, chinese: int) -> str:
    """References, each a chunk of its own, in two scripts: from five of each on a scope has a language axis."""
    return "\n".join(
        f"@misc{{k{n},\n title = {{{title}}}\n}}" for n, title in enumerate(ENGLISH[:english] + CHINESE[:chinese])
    )


LIBRARIES = (library(5, 5), library(6, 5), library(5, 6), library(6, 4))
QUERIES = ("router budget", "lr_decay", "学习率减半", "ERR-42 loss", "plane", "nothing of the kind")
MODELS = ("fake-16", "fake-b", "fake-c", AnswerFloor().model_id)
"""The last one by name only: its scopes have a floor under an answer."""

names, ids = st.sampled_from(NAMES), st.sampled_from(("m1", "m2", "m3"))
texts = st.one_of(st.sampled_from(TEXTS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join))
writes = st.builds(Write, names, texts, st.sampled_from((True, True, True, False)))
libraries = st.builds(Write, st.just("refs.bib"), st.sampled_from(LIBRARIES))
memories = st.builds(
    Remember, ids, texts, st.sampled_from((True, True, False)), st.sampled_from((None, "key")),
    st.sampled_from(((), ("a100",), ("a100-2",))),
)  # fmt: skip
steps: st.SearchStrategy[Step] = st.one_of(
    writes,
    writes,
    memories,
    libraries,
    st.builds(Rename, names, names),
    st.builds(Delete, names, st.booleans()),
    st.builds(Move, ids, st.sampled_from(("published", "revoked", "deprecated"))),
    st.builds(Use, st.sampled_from((None, *MODELS))),
    st.builds(Embed, st.booleans()),
    st.builds(Search, st.sampled_from(QUERIES)),
    st.just(Rebuild()),
    st.one_of(
        st.builds(Forget, st.just("source_refs"), names),
        st.builds(Forget, st.just("memory_ids"), ids),
        st.builds(Forget, st.just("queries"), st.sampled_from(QUERIES)),
    ),
)
# 0 is the scope that is asked; half of the steps are its own.
histories: st.SearchStrategy[History] = st.lists(
    st.tuples(st.sampled_from((0, 0, 0, 0, 0, 1, 2, 3, 4, 5)), steps), min_size=2, max_size=14
)


# --- A file and everybody who writes to it ------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _empty_file() -> bytes:
    """A migrated database without content."""
    with _folder() as folder:
        ResearchDatabase.create(folder / "arr.db", SCOPE).close()
        return (folder / "arr.db").read_bytes()


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder in memory where there is such a thing: hundreds of small files are made."""
    shm = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shm if os.access(shm, os.W_OK) else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


class World:
    """One file. Each scope has its own folder, clock, model and database object; ``heard`` is what it was told."""

    def __init__(self, folder: Path, channel: Callable[[Connection], Any] | None = None) -> None:
        self.folder, self._channel = folder, channel
        folder.mkdir()
        (folder / "arr.db").write_bytes(_empty_file())
        self.clocks = [StepClock() for _ in SCOPES]
        self.models: list[str | None] = ["fake-16" for _ in SCOPES]
        self.mtimes = [1_700_000_000 for _ in SCOPES]
        self.heard: list[list[str]] = [[] for _ in SCOPES]
        self._databases: dict[int, ResearchDatabase] = {}

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        for database in self._databases.values():
            database.close()

    def database(self, who: int) -> ResearchDatabase:
        """The scope's own view of the file."""
        if who not in self._databases:
            model = self.models[who]
            embedder: Embedder | None = FakeEmbedder(model) if model is not None else None
            database = ResearchDatabase(
                self.folder / "arr.db", SCOPES[who], project_folder=self.disk(who), actor="tester",
                clock=self.clocks[who], embedder=lambda: embedder,
            )  # fmt: skip
            if self._channel is not None:
                database.register_channel(self._channel)
            self._databases[who] = database
        return self._databases[who]

    def disk(self, who: int) -> Path:
        """The scope's folder."""
        path = self.folder / f"s{who}"
        path.mkdir(exist_ok=True)
        return path

    def tell(self, who: int, ask: Callable[[], Any]) -> None:
        """Write down what ``ask`` gives, or the error that it raises, as text."""
        try:
            said = ask()
        except ArrError as error:
            said = {"error": type(error).__name__, "message": str(error)}
        text = json.dumps(said, sort_keys=True, ensure_ascii=False, default=str)
        self.heard[who].append(text.replace(str(self.folder), "FOLDER"))

    def do(self, who: int, step: Step) -> None:
        """Take one step in one scope."""
        disk = self.disk(who)
        match step:
            case Write(name, text, sync):
                path = disk / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
                # A second apart, so that no edit hides behind an equal size and time.
                self.mtimes[who] += 1
                os.utime(path, (self.mtimes[who], self.mtimes[who]))
                if sync:
                    self._sync(who)
            case Rename(old, new):
                if (disk / old).exists():
                    (disk / new).parent.mkdir(exist_ok=True)
                    (disk / old).replace(disk / new)
                self._sync(who)
            case Delete(name, sync):
                (disk / name).unlink(missing_ok=True)
                if sync:
                    self._sync(who)
            case Remember():
                self.tell(who, lambda: self._remember(who, step))
            case Move(memory_id, status):
                self.tell(who, lambda: self.database(who).set_memory_status(memory_id, status, "because").model_dump())
            case Use(model):
                self.models[who] = model
                if who in self._databases:
                    self._databases.pop(who).close()
            case Embed(rebuild):
                if self.models[who] is not None:
                    self.tell(who, lambda: _embedded(self.database(who), rebuild))
            case Search(query):
                self.tell(who, lambda: searched(self.database(who), query))
            case Rebuild():
                self.database(who).rebuild()
            case Forget(kind, name):
                self.tell(who, lambda: asdict(self.database(who).forget(**{kind: [name]})))

    def _sync(self, who: int) -> None:
        self.tell(who, lambda: asdict(self.database(who).add(self.disk(who))))

    def _remember(self, who: int, step: Remember) -> Any:
        database = self.database(who)
        applies = {"experiment_environments": list(step.environments)} if step.environments else {}
        memory = database.add_memory(
            memory_id=step.memory_id, kind="knowledge", title=step.text.split("\n")[0][:40], content=step.text,
            conflict_key=step.conflict_key, applicability=applies,
        )  # fmt: skip
        if step.publish:
            memory = database.set_memory_status(step.memory_id, "published", "no source needed")
        return memory.model_dump()


def _embedded(database: ResearchDatabase, rebuild: bool) -> Any:
    """How much was embedded: not how much of it was computed, which is a cost and does depend on the file (8.4)."""
    return asdict(database.embed(rebuild=rebuild))


def searched(database: ResearchDatabase, query: str, plan: Any = None, k: int = 10) -> Any:
    """All that one retrieval says, except how long it took."""
    return without_durations(database.search(query, plan=plan, k=k).model_dump())


def without_durations(result: Any) -> Any:
    """``result`` of a search or a retrieval record without the times that its calls took, and the hash over them."""
    traces = [{name: value for name, value in trace.items() if name != "duration_ms"} for trace in result["traces"]]
    left_out = ("duration_ms", "record_hash", "traces")
    return {**{name: value for name, value in result.items() if name not in left_out}, "traces": traces}


def ask_everything(world: World, queries: list[str], k: int, foreign_ids: list[str]) -> list[str]:
    """Everything that scope 0 can be told: all channels alone and together, plans, records, memories, errors."""
    database = world.database(0)
    for query in queries:
        for plan in PLANS:
            world.tell(0, lambda query=query, plan=plan: searched(database, query, plan, k))
            world.tell(0, lambda query=query, plan=plan: _planned(database, query, plan))
    for some_id in ("m1", "m2", "never", *foreign_ids):
        world.tell(0, lambda some_id=some_id: database.memory(some_id).model_dump())
        world.tell(0, lambda some_id=some_id: database.chunk(some_id)["content"])
        world.tell(0, lambda some_id=some_id: [without_durations(row) for row in database.retrievals(some_id)])
    world.tell(0, lambda: [memory.model_dump() for memory in database.memories()])
    world.tell(0, lambda: [without_durations(row) for row in database.retrievals()])
    world.tell(0, lambda: {name: value for name, value in database.status().items() if name != "file_bytes"})
    world.tell(0, lambda: database.set_memory_status("m1", "verified").model_dump())
    return world.heard[0]


def _planned(database: ResearchDatabase, query: str, plan: Any) -> Any:
    parsed, verdicts = database.plan(query, plan)
    return {"plan": parsed.model_dump(), "verdicts": [verdict._asdict() for verdict in verdicts]}


def _ids_of_neighbours(world: World) -> list[str]:
    """Ids that exist in other scopes: a chunk's and a retrieval's."""
    found = []
    for who in range(1, len(SCOPES)):
        if world.heard[who]:
            result = world.database(who).search("router budget")
            found += [result.retrieval_id, *[item.chunk_id for item in result.evidence[:1]]]
    return found


# --- The promise ----------------------------------------------------------------------------------------------------------


def both_answers(history: History, queries: list[str], k: int) -> tuple[list[str], list[str]]:
    """What scope 0 is told when it is alone in the file, and when the neighbours' steps fall in between."""
    with _folder() as base:
        with World(base / "among") as among:
            for who, step in history:
                among.do(who, step)
            foreign_ids = _ids_of_neighbours(among)
            told_among = ask_everything(among, queries, k, foreign_ids)
        with World(base / "alone") as alone:
            for who, step in history:
                if who == 0:
                    alone.do(who, step)
            told_alone = ask_everything(alone, queries, k, foreign_ids)
    return told_alone, told_among


NEIGHBOURS_EVERYWHERE: History = [
    (1, Write("a.md", TEXTS[0])),
    (2, Remember("m1", TEXTS[0], conflict_key="key")),
    (0, Write("a.md", TEXTS[0])),
    (3, Write("a.md", TEXTS[3])),
    (3, Embed()),
    (0, Remember("m1", TEXTS[0], conflict_key="key")),
    (4, Write("b.txt", "router " * 50)),
    (0, Write("b.txt", TEXTS[1])),
    (0, Embed()),
    (5, Remember("m2", TEXTS[1])),
    (1, Delete("a.md")),
    (2, Move("m1", "revoked")),
    (0, Search("router budget")),
    (4, Rebuild()),
    (5, Write("b.txt", TEXTS[2])),
]
# Scope 0 holds vectors of two models and has a third installed: which one is named as stored? Neighbour 1 was the first
# in the file to use the second model, so the models' rows are in another order.
MODELS_IN_ANOTHER_ORDER: History = [
    (1, Use("fake-b")),
    (1, Write("a.md", TEXTS[0])),
    (1, Embed()),
    (0, Write("a.md", TEXTS[0])),
    (0, Embed()),
    (0, Use("fake-b")),
    (0, Embed()),
    (0, Use("fake-c")),
]
# Everybody holds texts in two scripts, in other numbers: scope 0 has an axis and a floor; of the neighbours some have too.
AN_AXIS_EACH: History = [
    *[(who, Use(MODELS[3])) for who in (0, 1, 2)],
    (1, Write("refs.bib", LIBRARIES[2])),
    (1, Embed()),
    (0, Write("refs.bib", LIBRARIES[0])),
    (2, Write("refs.bib", LIBRARIES[3])),
    (0, Embed()),
    (2, Embed()),
    (0, Search("学习率减半")),
    (1, Write("a.md", CHINESE[5])),
    (1, Embed()),
]
AXIS_QUERIES = ["学习率减半", "thylacine dodo"]
"""The second is of something else altogether: its answer is below the floor."""


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(histories, st.lists(st.sampled_from(QUERIES), min_size=1, max_size=2, unique=True), st.sampled_from((1, 2, 10)))
@example(NEIGHBOURS_EVERYWHERE, ["router budget", "plane"], 10)
@example(MODELS_IN_ANOTHER_ORDER, ["router"], 10)
@example(AN_AXIS_EACH, AXIS_QUERIES, 10)
def test_other_scopes_change_nothing(history: History, queries: list[str], k: int) -> None:
    """Evidence, order, scores, traces, plans, refusals, errors and ids are the same with and without neighbours."""
    alone, among = both_answers(history, queries, k)
    assert alone == among


# --- The test can fail ------------------------------------------------------------------------------------------------------


def test_an_axis_of_the_whole_file_would_be_noticed() -> None:
    """The histories reach the axis and the floor; an axis made of every scope's texts changes what scope 0 is told."""

    def of_all_scopes(reader: Connection, scope: ScopeKey, model: int) -> Any:
        rows = reader.execute("SELECT c.content AS content, e.vector AS vector FROM chunk AS c JOIN chunk_embedding AS e "
                              "ON e.chunk = c.id WHERE e.model = ? ORDER BY c.chunk_id", (model,))  # fmt: skip
        return language_axis((row["content"], row["vector"]) for row in rows)

    alone, among = both_answers(AN_AXIS_EACH, AXIS_QUERIES, 10)
    assert alone == among
    assert all(any(word in said for said in alone) for word in ('"language_axis_texts": 5', '"below_floor": '))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arr_sql.retrieval.hot_vectors.read_language_axis", of_all_scopes)
        alone, among = both_answers(AN_AXIS_EACH, AXIS_QUERIES, 10)
    assert alone != among


# What one writes first: one FTS5 table for all scopes and its own bm25(). The terms carry their scope, so no other scope's
# row can match; but the function takes the number of rows and their average length from the whole table.
BUILT_IN_BM25 = """
SELECT rowid AS id, -bm25(t) AS score FROM t
WHERE t MATCH (SELECT group_concat('"s' || :scope || 'x' || q.key || '"', ' OR ') FROM json_each(:terms) AS q)
ORDER BY bm25(t), rowid LIMIT :k
"""
ALL_CHUNKS = """
SELECT c.id AS id, c.scope_id AS scope_id, c.chunk_id AS chunk_id, c.content AS content, c.content_hash AS content_hash,
  c.locator AS locator, c.heading AS heading, c.created_at AS created_at,
  s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository AND s.branch = :branch
    AND s.experiment_environment = :experiment_environment AS is_mine
FROM chunk AS c JOIN scope AS s ON s.id = c.scope_id WHERE c.retired_revision IS NULL
"""


class BuiltInBm25:
    """A channel that ranks with FTS5's bm25()."""

    name, provider, read_only = "built-in-bm25", "local", True

    def __init__(self, reader: Connection) -> None:
        self._reader = reader

    def retrieve(self, query: str, scope: ScopeKey, k: int, deadline: float) -> ChannelAnswer:
        """As :class:`arr_sql.retrieval.bm25_retriever.Bm25Retriever`, over a table that all scopes share."""
        rows = {row["id"]: row for row in self._reader.execute(ALL_CHUNKS, scope.bindings())}
        mine = [row["scope_id"] for row in rows.values() if row["is_mine"]]
        if not mine:
            return ChannelAnswer("empty")
        table = sqlite3.connect(":memory:")
        table.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='ascii')")
        for row in rows.values():
            terms = analyse(f"{row['heading']}\n{row['content']}").terms
            text = " ".join(f"s{row['scope_id']}x{term}" for term in terms)
            table.execute("INSERT INTO t (rowid, body) VALUES (?, ?)", (row["id"], text))
        found = table.execute(
            BUILT_IN_BM25, {"scope": mine[0], "terms": json.dumps(query_terms(query)), "k": k}
        ).fetchall()
        table.close()
        hits = tuple(
            Hit(
                chunk_id=rows[row]["chunk_id"], scope=scope, rank=rank, score=score, source_ref="a file",
                heading=rows[row]["heading"], locator=rows[row]["locator"], content=rows[row]["content"],
                content_hash=rows[row]["content_hash"], created_at=rows[row]["created_at"],
            )
            for rank, (row, score) in enumerate(found, 1)
        )  # fmt: skip
        return ChannelAnswer("ok" if hits else "empty", hits, len(hits))


def test_the_built_in_bm25_would_be_noticed() -> None:
    """The comparison reports FTS5's own bm25(): it finds the scope's chunks only, and its scores give the others away."""
    found, told = [], []
    for with_neighbours in (False, True):
        with _folder() as base, World(base / "world", BuiltInBm25) as world:
            for who, step in NEIGHBOURS_EVERYWHERE:
                if who == 0 or with_neighbours:
                    world.do(who, step)
            result = world.database(0).search("router budget", plan={"tool_rounds": [["built-in-bm25"]]})
            ours = world.database(0).search("router budget", plan={"tool_rounds": [["bm25"]]})
            found.append({item.chunk_id for item in result.evidence})
            told.append(([item.channels for item in result.evidence], [item.channels for item in ours.evidence]))
    (leaking_alone, ours_alone), (leaking_among, ours_among) = told
    assert len(found[0]) == 2
    assert found[0] == found[1]
    assert leaking_alone != leaking_among
    assert ours_alone == ours_among
