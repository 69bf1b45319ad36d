"""The tools and their audit without a protocol: what each gives, its bounds, its refusals, the events."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arr_sql.core.project import find_project
from arr_sql.database import base
from arr_sql.errors import InputError, StoreReadOnly
from arr_sql.serve import mcp_tools
from arr_sql.serve.mcp_calls import Client, Desk, UnknownTool, checked
from arr_sql.serve.mcp_tools import PROPOSING, READING
from arr_sql.serve.mcp_values import UNTRUSTED, WINDOW
from tests.cli.support import MEMORY, arr
from tests.serve.support import events

CLIENT = Client("probe", "1.2")
Args = dict[str, Any]


@pytest.fixture
def desk(project: Path) -> Desk:
    """A desk for the prepared project that also takes proposals, without a model."""
    return Desk(find_project(project), may_propose=True, embedder=lambda: None)


def ask(desk: Desk, name: str, **arguments: Any) -> Args:
    answer = desk.call(name, arguments, CLIENT)
    assert answer.output is not None, answer.error
    return answer.output


def refused(desk: Desk, name: str, **arguments: Any) -> str:
    answer = desk.call(name, arguments, CLIENT)
    assert answer.output is None
    return answer.error


def test_search_gives_evidence_and_the_account(desk: Desk) -> None:
    """Id, source, lines, freshness, ranks; every channel's end; what was weaker, in words; marked as untrusted."""
    found = ask(desk, "search", query="why did the warmup run diverge", k=3)
    first = found["evidence"][0]
    assert (first["source"], first["freshness"], first["characters"]) == (
        "notes/warmup.md",
        "fresh",
        len(first["content"]),
    )
    assert "bm25 1" in first["found_by"] and first["id"].startswith("c")
    assert [c["tool"] for c in found["channels"]] == ["research-memory", "bm25", "vector", "grep"]
    assert [(w["tool"], w["code"]) for w in found["weaker"]] == [("vector", "model_missing")] and found["weaker"][0][
        "meaning"
    ]
    assert (found["state"], found["partial"], found["notice"], found["cut"]) == ("found", True, UNTRUSTED, [])


def test_a_plan_of_the_agents_own(desk: Desk) -> None:
    """Bounded rounds run as asked; one that breaks the rules runs nothing and says the code."""
    rounds = [[{"tool": "grep"}], [{"tool": "bm25", "query": "schedule"}]]
    assert [(c["round"], c["tool"]) for c in ask(desk, "search", query="warmup", tool_rounds=rounds)["channels"]] == [
        (1, "grep"),
        (2, "bm25"),
    ]
    before = len(events(desk.project.folder, "retrieval"))
    assert "duplicate_call" in refused(desk, "search", query="a", tool_rounds=[[{"tool": "bm25"}, {"tool": "bm25"}]])
    assert "argument tool_rounds: list should have at most 6 items" in refused(
        desk, "search", query="a", tool_rounds=[[{"tool": "bm25"}]] * 7
    )
    assert len(events(desk.project.folder, "retrieval")) == before
    (call,) = ask(desk, "plan", query="a", tool_rounds=[[{"tool": "web-search"}]])["calls"]
    assert (call["admitted"], call["code"]) == (False, "not_registered")


def test_get_evidence_by_windows(desk: Desk) -> None:
    """A long memory comes in windows that put together are the text; a chunk comes whole."""
    text = "".join(f"第{number}行 and more of it\n" for number in range(2_000))
    ask(desk, "propose_memory", title="Long", content="x", source_refs=["a"])
    arr("memory", "add", "--id", "long", "--title", "Long", "--content", text, cwd=desk.project.folder)
    pieces, offset = [], 0
    while offset is not None:
        piece = ask(desk, "get_evidence", id="memory:long", offset=offset)
        assert len(piece["content"]) <= WINDOW and bool(piece["cut"]) == (piece["next_offset"] is not None)
        pieces.append(piece["content"])
        offset = piece["next_offset"]
    assert "".join(pieces) == text and len(pieces) == 3
    chunk = ask(desk, "search", query="diverged")["evidence"][0]
    whole = ask(desk, "get_evidence", id=chunk["id"])
    assert (whole["content"], whole["source"], whole["next_offset"]) == (chunk["content"], chunk["source"], None)
    assert ask(desk, "get_evidence", id=chunk["id"], offset=10**6)["content"] == ""
    for missing in ("c00000000000000000000", "memory:nosuch", "x"):
        assert "There is no" in refused(desk, "get_evidence", id=missing)


def test_list_memories_pages_and_filters(desk: Desk) -> None:
    """By status and kind; pages cover all, once."""
    for number in range(5):
        ask(desk, "propose_memory", title=f"T{number}", content="c" * 400, kind="preference", source_refs=["a"])
    assert [m["id"] for m in ask(desk, "list_memories", status="published")["memories"]] == ["memory:m-kept"]
    first = ask(desk, "list_memories", kind="preference", limit=3)
    rest = ask(desk, "list_memories", kind="preference", limit=3, offset=3)
    assert (first["total"], len(first["memories"]), len(rest["memories"])) == (5, 3, 2)
    assert len({m["id"] for m in first["memories"] + rest["memories"]}) == 5
    assert first["cut"] == [
        "2 more: ask again with offset 3.",
        "Contents are shown up to 300 characters: get_evidence with memory:ID gives the whole.",
    ]
    assert ask(desk, "list_memories", offset=99) == {**ask(desk, "list_memories", offset=99), "memories": [], "cut": []}


def test_a_proposal_is_a_candidate_and_nothing_more(desk: Desk) -> None:
    """Stored, attributed to the client, and not found by a search until a person publishes it."""
    made = ask(desk, "propose_memory", title="Zebra schedule", content="Use zebra.", source_refs=["notes/warmup.md"])
    assert made["status"] == "candidate"
    assert all(e["id"] != made["id"] for e in ask(desk, "search", query="zebra")["evidence"])
    shown = arr("memory", "history", made["id"].removeprefix("memory:"), "--json", cwd=desk.project.folder)
    assert "via probe" in shown.out
    secret = "password = Zk7-quartz-9931-mule"
    assert "Zk7" not in refused(desk, "propose_memory", title="T", content=secret, source_refs=["a"])
    assert "source_refs" in refused(desk, "propose_memory", title="T", content="C", source_refs=[])


def test_explain_and_status(desk: Desk) -> None:
    """A past answer in sentences; the scope and its channels, without a path of the machine."""
    name = ask(desk, "search", query="warmup")["retrieval_id"]
    explained = ask(desk, "explain", retrieval_id=name)
    assert explained["retrieval_id"] == name and any("bm25: ok" in sentence for sentence in explained["sentences"])
    held = ask(desk, "status")
    assert (held["scope"]["team_id"], held["sources"], held["may_propose"]) == ("vision", 4, True)
    assert held["channels"]["bm25"] == "ready" and str(desk.project.folder) not in json.dumps(held)
    assert "There is no retrieval" in refused(desk, "explain", retrieval_id="r99-00000000")


def test_answers_are_bounded_and_say_what_was_cut(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long texts are shortened, what does not fit is left out, and both are counted."""
    monkeypatch.setattr(mcp_tools, "TEXT_LIMIT", 10)
    monkeypatch.setattr(mcp_tools, "TOTAL_LIMIT", 25)
    found = ask(desk, "search", query="warmup schedule 数据 survey", k=10)
    total = len(found["evidence"]) + int(found["cut"][1].split()[0])
    assert len(found["evidence"]) == 2 and total > 2 and all(len(e["content"]) <= 10 for e in found["evidence"])
    assert found["cut"][0].startswith("2 texts are shown up to 10 characters: get_evidence gives the whole.")
    assert f"{total - 2} of {total} pieces of evidence are left out" in found["cut"][1]


# --- Refusals and the audit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", {"query": "a", "scope": "x"}, "unknown argument scope"),
        ("search", {"query": "a", "branch": "dev"}, "unknown argument branch"),
        ("status", {"team_id": "x"}, "unknown argument team_id. status takes no arguments. The scope is fixed."),
        ("search", {}, "argument query: field required"),
        ("search", {"query": ""}, "argument query: string should have at least 1 character"),
        ("search", {"query": "   "}, "The query is empty"),
        ("search", {"query": "a" * 10_001}, "argument query: string should have at most 10000 characters"),
        ("search", {"query": 5}, "argument query: input should be a valid string"),
        ("search", {"query": "a", "k": "5"}, "argument k: input should be a valid integer"),
        ("search", {"query": "a", "k": True}, "argument k: input should be a valid integer"),
        ("search", {"query": "a", "k": 51}, "argument k: input should be less than or equal to 50"),
        ("search", {"query": "a", "tool_rounds": [[{"tool": "bm25", "scope": "x"}]]}, "unknown argument tool_rounds.0.0.scope"),
        ("get_evidence", {"id": "c1", "offset": -1}, "argument offset"),
        ("list_memories", {"status": "secret"}, "argument status"),
        ("propose_memory", {"title": "T", "content": "C", "source_refs": ["a"], "status": "published"}, "unknown argument status"),
        ("propose_memory", {"title": "T", "content": "C", "source_refs": ["a"], "confidence": float("nan")}, "argument confidence"),
    ],
)  # fmt: skip
def test_a_wrong_or_unknown_argument_is_refused_and_audited(desk: Desk, name: str, arguments: Args, said: str) -> None:
    """Named; nothing runs; the event names the tool and the client and holds no text of the call."""
    assert said in refused(desk, name, **arguments)
    (event,) = events(desk.project.folder, "tool_refused")
    assert (event["actor"], event["subject_id"], event["details"]["client"]) == ("tester via probe", name, "probe")
    assert len(event["details"]["arguments_hash"]) == 64 and "error" in event["details"]
    assert len(events(desk.project.folder, "retrieval")) == 1  # the prepared one


def test_many_problems_are_counted(desk: Desk) -> None:
    """The message is bounded however many arguments are wrong and however long their names are."""
    message = refused(desk, "search", **{f"{number}" + "x" * 5_000: 1 for number in range(50)})
    assert "and 46 more" in message and len(message) < 1_000


def test_every_call_leaves_one_event_with_the_clients_name(desk: Desk) -> None:
    """Answered ones with the retrieval's id; the retrieval itself names the client too; the log verifies."""
    name = ask(desk, "search", query="warmup")["retrieval_id"]
    for tool, arguments in (
        ("plan", {"query": "a"}),
        ("status", {}),
        ("list_memories", {}),
        ("explain", {"retrieval_id": name}),
    ):
        ask(desk, tool, **arguments)
    found = events(desk.project.folder, "tool_called")
    assert [event["subject_id"] for event in found] == ["search", "plan", "status", "list_memories", "explain"]
    assert found[0]["details"] == {
        **found[0]["details"],
        "client": "probe",
        "client_version": "1.2",
        "outcome": "answered",
        "retrieval_id": name,
    }
    assert events(desk.project.folder, "retrieval")[-1]["actor"] == "tester via probe"
    assert (
        arr("audit", "verify", cwd=desk.project.folder).code == 0
        and arr("db", "check", cwd=desk.project.folder).code == 0
    )


def test_an_unknown_tool_is_audited_without_its_name(desk: Desk) -> None:
    """The name is the caller's text: the event says only that it was unknown."""
    with pytest.raises(UnknownTool, match="Tools: search, plan"):
        desk.call("rm -rf", {}, CLIENT)
    (event,) = events(desk.project.folder, "tool_refused")
    assert (event["subject_id"], event["details"]["error"]) == ("unknown", "UnknownTool")


def test_proposing_is_off_unless_asked(project: Path) -> None:
    """Without it the tool is not there, and a call of it is a call of an unknown tool."""
    desk = Desk(find_project(project), may_propose=False, embedder=lambda: None)
    assert list(desk.tools) == [tool.name for tool in READING]
    with pytest.raises(UnknownTool):
        desk.call("propose_memory", {"title": "T", "content": "C", "source_refs": ["a"]}, CLIENT)
    assert [
        m["memory_id"]
        for m in arr("memory", "list", "--json", cwd=project).json
        if m["memory_id"] not in (MEMORY, "m-kept")
    ] == []


def test_the_scope_is_that_of_the_start(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed arr.toml, ARR_ENV or branch after the start changes nothing."""
    before = ask(desk, "status")["scope"]
    (desk.project.folder / "arr.toml").write_text('[project]\nteam_id = "other"\nproject_id = "other"\n', "utf-8")
    monkeypatch.setenv("ARR_ENV", "other")
    assert ask(desk, "status")["scope"] == before


def test_a_fault_of_ours_is_audited_and_tells_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kind, not its text; the server goes on."""

    def broken(database: Any, asked: Any) -> Any:
        raise RuntimeError("secret text")

    monkeypatch.setitem(desk.tools, "status", mcp_tools.Tool(**{**vars(desk.tools["status"]), "run": broken}))
    assert refused(desk, "status") == "Internal fault (RuntimeError). `arr doctor` may say more."
    (event,) = events(desk.project.folder, "tool_called")
    assert event["details"]["error"] == "RuntimeError" and "secret" not in json.dumps(event)
    assert ask(desk, "search", query="warmup")["evidence"]


def test_a_file_that_cannot_be_written_answers_and_says_that_nothing_was_recorded(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """audited is false, the retrieval unrecorded, with its code. (Real read-only media: tests/promises/test_read_only.py)"""

    def refuse(path: Path, **options: Any) -> Any:
        raise StoreReadOnly("the medium is read-only")

    monkeypatch.setattr(base, "open_writer", refuse)
    found = ask(desk, "search", query="warmup")
    assert (found["audited"], found["retrieval_id"]) == (False, "unrecorded")
    assert "record_not_written" in {w["code"] for w in found["weaker"]}
    assert "read-only" in refused(desk, "propose_memory", title="T", content="C", source_refs=["a"])


def test_a_missing_file_is_said_without_the_folder(desk: Desk) -> None:
    """What happened and what to do; not where the project is."""
    shutil.rmtree(desk.project.folder / ".arr")
    message = refused(desk, "search", query="a")
    assert "arr init" in message and str(desk.project.folder) not in message


@given(name=st.text(max_size=300) | st.none() | st.integers(), version=st.text(max_size=100))
def test_a_client_may_call_itself_anything(name: Any, version: str) -> None:
    """What is kept is short and printable, and never empty."""
    client = Client.of(name, version)
    assert 0 < len(client.name) <= 80 and client.name.isprintable() and client.name.strip() == client.name
    assert len(client.version) <= 40 and client.version.isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4), max_leaves=20,
)  # fmt: skip


@given(
    arguments=st.dictionaries(
        st.sampled_from(["query", "k", "tool_rounds", "id", "offset", "title"]) | st.text(max_size=8), JSON, max_size=5
    )
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_arguments_are_either_the_models_or_refused_in_words(arguments: Args) -> None:
    """For every tool and any JSON: a checked model without an unknown field, or an InputError."""
    for tool in (*READING, PROPOSING):
        try:
            value = checked(tool, arguments)
        except InputError as error:
            assert len(str(error)) < 2_500
        else:
            assert set(arguments) <= set(type(value).model_fields)


def test_the_schemas_are_closed_and_say_what_is_needed() -> None:
    """What a client sees is what is checked: no additional properties at any depth, no scope anywhere."""
    for tool in (*READING, PROPOSING):
        schema = tool.input_schema()
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert all(
            item.get("additionalProperties") is False
            for item in schema.get("$defs", {}).values()
            if item["type"] == "object"
        )
        assert not {"scope", "team_id", "branch", "experiment_environment"} & set(schema["properties"])
        assert {"notice", "cut", "audited"} <= set(tool.output_schema()["properties"])


def test_a_plan_of_names(desk: Desk) -> None:
    """As it is written on the command line and in Python; what is neither a name nor a call is said without our names."""
    found = ask(desk, "search", query="warmup", tool_rounds=[["bm25"], [{"tool": "grep"}]])
    assert [(c["round"], c["tool"]) for c in found["channels"]] == [(1, "bm25"), (2, "grep")]
    said = refused(desk, "search", query="warmup", tool_rounds=[[7]])
    assert "tool_rounds.0.0: should be an object" in said and "PlannedCall" not in said
    said = refused(desk, "search", query="warmup", tool_rounds=[["bm25", "bm25"]])
    assert "docs/" not in said and "duplicate" in said


def test_an_offset_behind_the_end(desk: Desk) -> None:
    """Nothing is there, and that is said."""
    found = ask(desk, "search", query="warmup")["evidence"][0]
    past = ask(desk, "get_evidence", id=found["id"], offset=10_000)
    assert past["content"] == "" and past["next_offset"] is None and "nothing is at offset 10000" in past["cut"][0]
