"""Contract 10.7: the reason codes are one closed vocabulary; each is reached here by a real run, and each has a text."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from arr_sql.core.connection import Connection, open_writer, write_transaction
from arr_sql.core.router_models import REASON_TEXT, ReasonCode
from arr_sql.database import ResearchDatabase
from arr_sql.errors import PlanInvalid, StoreReadOnly
from arr_sql.llm.endpoint import Endpoint
from arr_sql.llm.language_model import LanguageModel
from arr_sql.llm.prompt_files import load_prompt
from arr_sql.llm.settings import LLMSettings
from arr_sql.policy.admission import Policy, ToolFacts, admit
from arr_sql.policy.llm_query_planner import propose_plan
from arr_sql.policy.plan_rules import rule_plan
from arr_sql.policy.retrieval_router import Limits, run
from arr_sql.retrieval.answer_floor import AnswerFloor
from arr_sql.retrieval.catalog import Catalog, ChannelAnswer
from arr_sql.retrieval.hybrid_retriever import RankedList, fuse
from arr_sql.retrieval.llm_reranker import candidates, judge
from arr_sql.retrieval.rule_reranker import rerank
from tests.conftest import SCOPE, FakeEmbedder, StepClock, other_scopes
from tests.llm.servers import HOST, Behaviour, hang_up, make_authority, respond, say, serving, silence
from tests.policy.test_retrieval_router import Channel, Turncoat, ok, one_round, raising
from tests.retrieval.test_freshness import git_folder
from tests.retrieval.test_hybrid_retriever import make_hit
from tests.retrieval.test_vector_retriever import TableEmbedder

QUERY = "canary-zqx router"


class Bench:
    """A folder with a database and one file, and what was said in it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.docs, self.said = folder, folder / "docs", set[str]()
        self.accounts: list[str] = []
        self._stack = stack
        self.docs.mkdir()
        (self.docs / "a.txt").write_text("router budget canary-zqx\n", encoding="utf-8")

    def database(self, kind: type[ResearchDatabase] = ResearchDatabase, **options: Any) -> ResearchDatabase:
        """Open the file, or make it."""
        values: dict[str, Any] = {"clock": StepClock(), "embedder": FakeEmbedder, "actor": "tester", **options}
        return self._stack.enter_context(kind.create(self.folder / "arr.db", SCOPE, project_folder=self.docs, **values))

    def filled(self, **options: Any) -> ResearchDatabase:
        """With the file taken in."""
        database = self.database(**options)
        database.add(self.docs)
        return database

    def search(self, database: ResearchDatabase, *names: str, plan: Any = None) -> None:
        """Ask the named channels (default: the rule plan), or run ``plan``, and keep the codes."""
        plan = {"tool_rounds": [list(names)]} if names else plan
        try:
            result = database.search(QUERY, plan=plan)
        except PlanInvalid as error:
            self.said.add(error.code)
            self.accounts.append(str(error))
        else:
            self.hear(result)

    def hear(self, result: Any) -> None:
        """Keep the codes of a result."""
        self.said |= {str(item.code) for item in (*result.degradations, *result.rejections)}
        self.said |= {trace.reason for trace in result.traces if trace.reason}
        self.accounts.append(repr([result.traces, result.rejections, result.degradations]))

    def with_channel(self, channel: Any) -> None:
        """Register a channel of one's own and ask it."""
        database = self.database(limits=Limits(deadline_seconds=1.0))
        database.register_channel(lambda reader: channel)
        self.search(database, channel.name)

    def execute(self, *statements: str) -> None:
        """Change the file behind the program's back."""
        writer: Connection = open_writer(self.folder / "arr.db")
        with write_transaction(writer, self.folder / "arr.db"):
            for statement in statements:
                writer.execute(statement)
        writer.close()


Scenario = Callable[[Bench], None]
SCENARIOS: dict[ReasonCode, Scenario] = {}


def reaches(code: ReasonCode) -> Callable[[Scenario], Scenario]:
    """Note that a scenario is there for ``code``."""

    def note(scenario: Scenario) -> Scenario:
        SCENARIOS[code] = scenario
        return scenario

    return note


def plans(code: ReasonCode, plan: Any) -> None:
    """A caller's plan that is refused."""
    SCENARIOS[code] = lambda bench: bench.search(bench.database(), plan=plan)


def channels(code: ReasonCode, answer: Any) -> None:
    """A registered channel that answers badly."""
    SCENARIOS[code] = lambda bench: bench.with_channel(Channel("mine", answer))


# --- A plan that breaks the format ----------------------------------------------------------------------------------------

plans(ReasonCode.PLAN_EMPTY, {"tool_rounds": []})
plans(ReasonCode.PLAN_INVALID, {"rounds": ["bm25"]})
plans(ReasonCode.TOO_MANY_ROUNDS, {"tool_rounds": [[{"tool": "bm25", "query": f"q{n}"}] for n in range(7)]})
plans(ReasonCode.TOO_MANY_CALLS, {"tool_rounds": [[{"tool": "bm25", "query": f"q{n}"} for n in range(13)]]})
plans(ReasonCode.DUPLICATE_CALL, {"tool_rounds": [["bm25", "bm25"]]})
plans(ReasonCode.REWRITTEN_QUERY_TOO_LONG, {"tool_rounds": [[{"tool": "bm25", "query": QUERY * 100}]]})
plans(ReasonCode.REWRITTEN_QUERY_BLANK, {"tool_rounds": [[{"tool": "bm25", "query": "  "}]]})

# --- Admission ------------------------------------------------------------------------------------------------------------


@reaches(ReasonCode.BUDGET_EXHAUSTED)
def _budget(bench: Bench) -> None:
    catalog = Catalog()
    for name in ("one", "two"):
        catalog.register(Channel(name, ok("a")))
    bench.hear(run(QUERY, SCOPE, one_round("one", "two"), catalog, policy=Policy(max_calls=1), limits=Limits()))


@reaches(ReasonCode.NOT_REGISTERED)
def _unknown(bench: Bench) -> None:
    bench.search(bench.database(), "no-such-channel")


@reaches(ReasonCode.PROVIDER_NOT_ALLOWED)
def _provider(bench: Bench) -> None:
    class Lab(Channel):
        provider = "lab"

    catalog = Catalog(allowed_providers=frozenset({"lab"}))
    catalog.register(Lab("mine", ok("a")))
    bench.hear(run(QUERY, SCOPE, one_round("mine"), catalog, policy=Policy(), limits=Limits()))


def _judge(bench: Bench, facts: ToolFacts) -> None:
    """Registration refuses such a channel, so only admission itself can be asked."""
    bench.said |= {str(verdict.code) for verdict in admit(rule_plan(["bm25"]), QUERY, {"bm25": facts}, Policy())}


SCENARIOS[ReasonCode.NOT_READ_ONLY] = lambda bench: _judge(bench, ToolFacts("bm25", "local", 1))
SCENARIOS[ReasonCode.UNSAFE_NAME] = lambda bench: _judge(bench, ToolFacts("web-shell", "local", True))


@reaches(ReasonCode.STALE_INDEX)
def _stale(bench: Bench) -> None:
    database = bench.filled()
    bench.execute("UPDATE scope_index SET content_revision = 0")
    bench.search(database, "bm25")


# --- One channel ----------------------------------------------------------------------------------------------------------

channels(ReasonCode.CHANNEL_ERROR, raising(RuntimeError(QUERY)))
channels(ReasonCode.WRONG_TYPE, [QUERY])
SCENARIOS[ReasonCode.IDENTITY_CHANGED] = lambda bench: bench.with_channel(
    Turncoat("mine", ok("a"), "provider", "remote")
)


@reaches(ReasonCode.TIMED_OUT)
def _late(bench: Bench) -> None:
    release = threading.Event()

    def wait(*_: Any) -> ChannelAnswer:
        release.wait(60)
        return ok()

    try:
        bench.with_channel(Channel("mine", wait))
    finally:
        release.set()


@reaches(ReasonCode.CUT)
def _cut(bench: Bench) -> None:
    (bench.docs / "long.txt").write_text("canary-zqx\n" * 20_001, encoding="utf-8")
    bench.search(bench.filled(), "grep")


@reaches(ReasonCode.NOT_INDEXED)
def _not_indexed(bench: Bench) -> None:
    bench.search(bench.filled(), "vector")


@reaches(ReasonCode.MODEL_MISSING)
def _no_model(bench: Bench) -> None:
    bench.search(bench.filled(embedder=lambda: None), "vector")


@reaches(ReasonCode.MODEL_CHANGED)
def _other_model(bench: Bench) -> None:
    bench.filled().embed()
    bench.search(bench.database(embedder=lambda: FakeEmbedder("fake-b")), "vector")


@reaches(ReasonCode.MODEL_FAILED)
def _broken_model(bench: Bench) -> None:
    model = TableEmbedder({QUERY.split()[0]: (0.0, 0.0, 0.0)})
    database = bench.filled(embedder=lambda: model)
    database.embed()
    bench.search(database, "vector")


@reaches(ReasonCode.INDEX_MISSING)
def _no_index(bench: Bench) -> None:
    database = bench.filled()
    bench.execute("DROP TABLE chunk_term", "DROP TABLE chunk_fts")
    bench.search(database, "bm25")


@reaches(ReasonCode.OTHER_BRANCH)
def _other_branch(bench: Bench) -> None:
    git_folder(bench.docs, "main")
    database = bench.filled()
    git_folder(bench.docs, "side")
    bench.search(database, "grep")


@reaches(ReasonCode.NO_ROOTS)
def _no_roots(bench: Bench) -> None:
    bench.search(bench.database(), "grep")


@reaches(ReasonCode.ROOT_MISSING)
def _no_folder(bench: Bench) -> None:
    database = bench.filled()
    bench.docs.rename(bench.folder / "away")
    bench.search(database, "grep")


# --- One item -------------------------------------------------------------------------------------------------------------

channels(ReasonCode.WRONG_SCOPE, ChannelAnswer("ok", (make_hit("a", scope=other_scopes()[0]),), 1))
channels(ReasonCode.BAD_SCORE, ChannelAnswer("ok", (make_hit("a", score=float("nan")),), 1))
channels(ReasonCode.CONFLICTING_ITEM, ChannelAnswer("ok", (make_hit("a"), make_hit("a", content=QUERY)), 2))

# --- A language model's advice --------------------------------------------------------------------------------------------


def advice(
    code: ReasonCode, behave: Behaviour | None, *, asks: str = "planner", calls: int = 1, **settings: Any
) -> None:
    """A model, or a server, that is not to be used. ``behave`` None: nobody listens."""

    def scenario(bench: Bench) -> None:
        with serving(behave or hang_up) as server:
            if behave is None:
                server.close()
            values: dict[str, Any] = {"is_enabled": True, "endpoint": Endpoint(server.url), "model": "m", **settings}
            model = LanguageModel(LLMSettings(**values))
            complete = model.asking()
            hits = tuple(make_hit(name) for name in "ab")
            items = candidates(rerank(QUERY, fuse([RankedList("bm25", 0, hits)]).items, [RankedList("bm25", 0, hits)]))
            for _ in range(calls):
                found = (
                    propose_plan(QUERY, ["bm25", "grep"], complete, load_prompt("planner")) if asks == "planner"
                    else judge(QUERY, items, complete, load_prompt("reranker"))
                )  # fmt: skip
            bench.said.add(str(found.code))
            bench.accounts.append(repr(found))

    SCENARIOS[code] = scenario


def plan_reply(rounds: Any, version: str = "plan-1") -> Behaviour:
    """A model that proposes these rounds."""
    return say(json.dumps({"version": version, "tool_rounds": rounds}))


def scores_reply(**scores: Any) -> Behaviour:
    """A model that gives these scores."""
    return say(json.dumps({"version": "rank-1", "scores": [{"id": i, "score": s} for i, s in scores.items()]}))


advice(ReasonCode.LLM_OFF, say("{}"), is_enabled=False)
advice(ReasonCode.LLM_NOT_CONFIGURED, say("{}"), problem="ARR_LLM_MODEL is not set.")
advice(ReasonCode.LLM_BUDGET_EXHAUSTED, say("{}"), calls=2)
advice(ReasonCode.LLM_UNREACHABLE, None)
advice(ReasonCode.LLM_TIMED_OUT, silence, timeout_seconds=0.2)
advice(ReasonCode.LLM_REDIRECTED, respond("", "302 Found", {"Location": "http://127.0.0.1:1/"}))
advice(ReasonCode.LLM_HTTP_STATUS, respond("{}", "500 Broken"))
advice(ReasonCode.LLM_TOO_LARGE, respond(" " * 300_000))
advice(ReasonCode.LLM_NOT_A_COMPLETION, respond("{}"))
advice(ReasonCode.LLM_NOT_JSON, say(f"Here is the plan for {QUERY}"))
advice(ReasonCode.LLM_WRONG_VERSION, plan_reply([["bm25"]], "plan-0"))
advice(ReasonCode.LLM_WRONG_SHAPE, plan_reply("bm25"))
advice(ReasonCode.LLM_UNKNOWN_TOOL, plan_reply([["web-search"]]))
advice(ReasonCode.LLM_UNSAFE_REWRITE, plan_reply([["bm25", {"tool": "grep", "query": "/etc/passwd"}]]))
advice(ReasonCode.LLM_QUERY_DROPPED, plan_reply([[{"tool": "bm25", "query": "something else"}]]))
advice(ReasonCode.LLM_WRONG_IDS, scores_reply(e01=0.5), asks="reranker")
advice(ReasonCode.LLM_BAD_SCORE, scores_reply(e01=0.5, e02=2), asks="reranker")


@contextmanager
def as_the_remote_host(behave: Behaviour, shown_as: str) -> Iterator[LanguageModel]:
    """A model behind TLS, with a certificate for ``shown_as``."""
    authority, key = make_authority(), SecretStr("sk-canary-zqx-0123456789")
    with serving(behave, authority.server_tls(shown_as)) as server:
        settings = LLMSettings(is_enabled=True, model="m", key=key)
        yield LanguageModel(settings, network=authority.network(server))


def _over_tls(bench: Bench, behave: Behaviour, shown_as: str) -> None:
    with as_the_remote_host(behave, shown_as) as model:
        found = propose_plan(QUERY, ["bm25"], model.asking(), load_prompt("planner"))
    bench.said.add(str(found.code))
    bench.accounts.append(repr(found))


SCENARIOS[ReasonCode.LLM_NOT_TRUSTED] = lambda bench: _over_tls(bench, hang_up, "example.org")
SCENARIOS[ReasonCode.LLM_KEY_ECHOED] = lambda bench: _over_tls(bench, say("sk-canary-zqx-0123456789"), HOST)

# --- The run --------------------------------------------------------------------------------------------------------------


@reaches(ReasonCode.NO_NEW_EVIDENCE)
def _nothing_new(bench: Bench) -> None:
    bench.search(bench.filled(), plan={"tool_rounds": [["bm25"], ["grep"], ["vector"]]})


class Far(FakeEmbedder):
    """The model that the floor was fitted for; a query is as far as can be from every text."""

    def __init__(self) -> None:
        super().__init__(AnswerFloor().model_id)

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        passages = self.embed_passages(texts)
        return [None if p is None else struct.pack("<16f", *(-x for x in struct.unpack("<16f", p))) for p in passages]


@reaches(ReasonCode.BELOW_FLOOR)
def _too_far(bench: Bench) -> None:
    database = bench.filled(embedder=Far)
    for number in range(6):  # a handful of chunks is not judged
        (database.project_folder / f"more{number}.md").write_text(f"lagoon{number}\n", "utf-8")
    database.add(database.project_folder)
    database.embed()
    bench.hear(database.search("pelican"))


class OnReadOnlyMedium(ResearchDatabase):
    """A database whose file can't be written. (File permissions would not stop a test that runs as root.)"""

    def _write(self) -> Connection:
        raise StoreReadOnly("This medium is read-only.")


@reaches(ReasonCode.RECORD_NOT_WRITTEN)
def _read_only(bench: Bench) -> None:
    bench.filled()
    bench.search(bench.database(OnReadOnlyMedium), "bm25")


# --- The promises ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[ReasonCode, Bench]]:
    """Every scenario, run."""
    benches: dict[ReasonCode, Bench] = {}
    with ExitStack() as stack:
        for code, scenario in SCENARIOS.items():
            bench = benches[code] = Bench(tmp_path_factory.mktemp(code.value), stack)
            scenario(bench)
        yield benches


@pytest.mark.parametrize("code", list(SCENARIOS), ids=str)
def test_a_scenario_reaches_its_code(reached: dict[ReasonCode, Bench], code: ReasonCode) -> None:
    """What the run said holds the code that the scenario is for."""
    assert str(code) in reached[code].said


def test_every_reason_is_reached(reached: dict[ReasonCode, Bench]) -> None:
    """No member of the vocabulary is dead, and nothing outside it is ever said."""
    said = set().union(*(bench.said for bench in reached.values()))
    members = {str(code) for code in ReasonCode}
    assert (sorted(members - said), sorted(said - members)) == ([], [])


def test_no_account_holds_the_query(reached: dict[ReasonCode, Bench]) -> None:
    """Traces, codes, details and messages of all scenarios: the canary in the query, a text and the errors is in none."""
    accounts = [account for bench in reached.values() for account in bench.accounts]
    assert [account for account in accounts if "canary-zqx" in account] == []
    assert len(accounts) >= len(SCENARIOS) - 2


def test_every_reason_has_a_text_of_its_own() -> None:
    """One sentence or two, ending in a full stop, for each member and for nothing else."""
    assert set(REASON_TEXT) == set(ReasonCode)
    assert len(set(REASON_TEXT.values())) == len(ReasonCode)
    assert [
        text for text in REASON_TEXT.values() if not (text.endswith(".") and text == text.strip() and len(text) > 20)
    ] == []
