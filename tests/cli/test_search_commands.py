"""``arr search | plan | show``: for people, for programs, and by exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arr_sql.core.project import find_project
from arr_sql.database import ResearchDatabase
from tests.cli.support import MEMORY, arr
from tests.retrieval.test_answer_floor import Fitted

RESULT_KEYS = {
    "retrieval_id", "evidence", "traces", "rejections", "degradations", "partial", "state", "plan",
    "missing_words",
}  # fmt: skip
EVIDENCE_KEYS = {
    "chunk_id", "scope", "content", "source_ref", "locator", "content_hash", "channels", "rrf_score", "rerank_score",
    "rerank_reason", "freshness", "metadata", "created_at",
}  # fmt: skip
TRACE_KEYS = {
    "round_index", "tool_name", "state", "accepted", "candidate_count", "eligible_count", "duration_ms", "reason",
    "detail",
}  # fmt: skip


def plan_file(project: Path, *calls: str) -> str:
    path = project / ".arr" / "plan.json"
    path.write_text(json.dumps({"tool_rounds": [list(calls)]}), "utf-8")
    return str(path)


def test_search_json_has_the_documented_keys(project: Path) -> None:
    """One object: evidence with its origin and scores, a trace a channel, and the account of the run."""
    ran = arr("search", "warmup run diverged", "--json", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    result = ran.json
    assert set(result) == RESULT_KEYS
    assert result["state"] == "found" and result["retrieval_id"].startswith("r")
    first = result["evidence"][0]
    assert set(first) == EVIDENCE_KEYS
    assert first["source_ref"] == "notes/warmup.md" and first["locator"].startswith("L")
    assert "diverged at step 900" in first["content"] and first["freshness"] == "fresh"
    assert {rank["channel"] for rank in first["channels"]} == {"bm25", "grep"}
    assert all(set(trace) == TRACE_KEYS for trace in result["traces"])
    assert [trace["tool_name"] for trace in result["traces"]] == ["research-memory", "bm25", "vector", "grep"]


def test_search_for_people_names_source_lines_channels_and_record(project: Path) -> None:
    """The first line is the source with its lines and freshness; the last names the record."""
    ran = arr("search", "warmup run diverged", cwd=project)
    lines = ran.out.splitlines()
    assert lines[0].split() == ["1.", "notes/warmup.md", lines[0].split()[2], "fresh"]
    assert "bm25#1" in lines[1] and "grep#1" in lines[1]
    assert "    The warmup run diverged at step 900." in lines
    assert "Channels: research-memory" in ran.out and lines[-1].startswith("Retrieval r")


def test_search_answers_in_chinese(project: Path) -> None:
    """A memory and a file with a Chinese name are found by a Chinese query."""
    refs = [item["source_ref"] for item in arr("search", "数据", "--json", cwd=project).json["evidence"]]
    assert {"memory:m-kept", "notes/数据.md"} <= set(refs)


def test_search_full_prints_the_whole_chunk(project: Path) -> None:
    """Three best lines by default, every line with --full."""
    (project / "notes/long.md").write_text("\n".join(f"row {n} of zebra" for n in range(9)), "utf-8")
    assert arr("sync", "--no-embed", cwd=project).code == 0
    short, full = (arr("search", "zebra", "-k", "1", *more, cwd=project).out for more in ((), ("--full",)))
    assert (short.count("of zebra"), full.count("of zebra")) == (3, 9)


def test_k_limits_the_evidence(project: Path) -> None:
    """`-k 1` gives the first item of the longer answer."""
    many = arr("search", "warmup", "--json", cwd=project).json["evidence"]
    one = arr("search", "warmup", "-k", "1", "--json", cwd=project).json["evidence"]
    assert len(many) > 1 and [item["chunk_id"] for item in one] == [many[0]["chunk_id"]]


def test_nothing_found_is_a_successful_answer(project: Path) -> None:
    """No hit in healthy channels: exit code 0, `nothing_found`, and a sentence for people."""
    plan = plan_file(project, "research-memory", "bm25", "grep")
    ran = arr("search", "zzqx774120", "--plan", plan, "--json", "--strict", cwd=project)
    assert ran.code == 0 and (ran.json["state"], ran.json["evidence"]) == ("nothing_found", [])
    assert arr("search", "zzqx774120", "--plan", plan, cwd=project).out.startswith("Nothing found.\n")


def test_an_empty_scope_says_what_to_do(project: Path) -> None:
    """A search where nothing was ever added says so on stderr."""
    ran = arr("search", "warmup", "--env", "other", cwd=project)
    assert ran.code == 0 and "Nothing has been added to this scope yet: `arr add FOLDER`" in ran.err


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_strict_is_3_exactly_when_partial_or_degraded(project: Path, as_json: tuple[str, ...]) -> None:
    """--strict: 3 while a channel is weaker than asked, 0 when all that was asked ran; the answer is printed anyway."""
    degraded = arr("search", "warmup", "--strict", *as_json, cwd=project)
    assert degraded.code == 3 and "notes/warmup.md" in degraded.out
    assert arr("search", "warmup", *as_json, cwd=project).code == 0
    healthy = arr("search", "warmup", "--strict", "--plan", plan_file(project, "bm25"), *as_json, cwd=project)
    assert healthy.code == 0
    refused = arr("search", "warmup", "--strict", "--plan", plan_file(project, "bm25", "web"), *as_json, cwd=project)
    assert refused.code == 3 and "not_registered" in refused.out


def test_a_busy_file_is_exit_code_4(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that holds the lock longer than the timeout: exit code 4 and a sentence, for --json as JSON."""
    from arr_sql.core import connection
    from arr_sql.core.connection import open_writer

    connect = connection._connect
    monkeypatch.setattr(connection, "_connect", lambda path, mode, timeout: connect(path, mode, 0.1))
    other = open_writer(project / ".arr" / "arr.db")
    try:
        other.execute("BEGIN IMMEDIATE")
        ran = arr("memory", "publish", MEMORY, cwd=project)
        as_json = arr("memory", "publish", MEMORY, "--json", cwd=project)
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert (ran.code, ran.out) == (4, "") and ran.err.startswith("Error: ")
    assert as_json.code == 4 and json.loads(as_json.err)["error"] == "StoreBusy"
    assert arr("memory", "publish", MEMORY, cwd=project).code == 0


def test_plan_shows_verdicts_and_writes_nothing(project: Path) -> None:
    """`arr plan` names every channel with its verdict; the file and its revision stay as they were."""
    before = arr("status", "--json", cwd=project).json
    judged = arr("plan", "warmup", "--json", cwd=project).json
    assert [v["tool"] for v in judged["verdicts"]] == ["research-memory", "bm25", "vector", "grep"]
    assert all(v["admitted"] and v["code"] is None and v["round"] == 0 for v in judged["verdicts"])
    assert judged["plan"]["version"] == 1
    refused = arr("plan", "warmup", "--plan", plan_file(project, "bm25", "web"), cwd=project)
    assert refused.code == 0 and "refused: not_registered" in refused.out and "admitted" in refused.out
    after = arr("status", "--json", cwd=project).json
    assert (after["revision"], after["retrievals"], after["events"]) == (
        before["revision"], before["retrievals"], before["events"],
    )  # fmt: skip


def test_show_prints_a_retrieval_again(project: Path) -> None:
    """What `arr search` said is what `arr show ID` says, in both forms."""
    result = arr("search", "warmup", "--json", cwd=project).json
    record = arr("show", result["retrieval_id"], "--json", cwd=project).json
    assert record["query"] == "warmup" and record["state"] == result["state"]
    assert [item["chunk_id"] for item in record["evidence"]] == [item["chunk_id"] for item in result["evidence"]]
    text = arr("show", result["retrieval_id"], cwd=project).out
    assert text.startswith(f"Retrieval {result['retrieval_id']} at ") and "Query: warmup" in text
    assert "notes/warmup.md" in text and "research-memory" in text


def test_show_prints_a_memory_and_a_chunk(project: Path) -> None:
    """`memory:ID` and a chunk's id lead to their texts."""
    assert arr("show", f"memory:{MEMORY}", "--json", cwd=project).json["content"] == "Use 2000 steps."
    assert arr("show", f"memory:{MEMORY}", cwd=project).out.rstrip().endswith("Use 2000 steps.")
    item = arr("search", "diverged", "-k", "1", "--json", cwd=project).json["evidence"][0]
    chunk = arr("show", item["chunk_id"], "--json", cwd=project).json
    assert chunk["content"] == item["content"]
    assert item["content"] in arr("show", item["chunk_id"], cwd=project).out


def test_control_characters_do_not_reach_the_terminal(project: Path) -> None:
    """Evidence that holds escape sequences is shown with them spelt out; JSON keeps the exact text."""
    (project / "notes/esc.md").write_text("zebra \x1b[31mred\x1b[0m \x07 \u202eabc\n", "utf-8")
    assert arr("sync", "--no-embed", cwd=project).code == 0
    ran = arr("search", "zebra", cwd=project)
    assert "\x1b" not in ran.out and "\x07" not in ran.out and "\u202e" not in ran.out
    assert "zebra \\x1b[31mred" in ran.out
    assert "\x1b[31mred" in arr("search", "zebra", "--json", cwd=project).json["evidence"][0]["content"]


def test_rich_markup_in_evidence_is_text(project: Path) -> None:
    """Square brackets, colons and tags are printed as they stand."""
    (project / "notes/markup.md").write_text("zebra [bold]x[/bold] :smile: [link=http://a]b[/link]\n", "utf-8")
    assert arr("sync", "--no-embed", cwd=project).code == 0
    assert "zebra [bold]x[/bold] :smile: [link=http://a]b[/link]" in arr("search", "zebra", cwd=project).out


def test_what_is_too_far_from_the_question_is_shown_on_demand(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer says that something was set aside and how to see it."""
    monkeypatch.setattr("arr_sql.database.base.installed_embedder", Fitted)
    for number in range(4):  # a handful of chunks is not judged
        (project / "notes" / f"more{number}.md").write_text(f"Lagoon{number} was measured.\n", "utf-8")
    with ResearchDatabase.of_project(find_project(project), embedder=Fitted) as database:
        database.sync()
        database.embed()
    ran = arr("search", "zorgle blimfrat", cwd=project)
    assert ran.code == 0 and "Nothing found." in ran.out, ran
    assert "`--no-floor` shows it" in ran.out and "vector: below_floor x" in ran.out
    shown = arr("search", "zorgle blimfrat", "--no-floor", "--json", cwd=project)
    assert shown.json["state"] == "found" and shown.json["evidence"]


def test_show_says_what_it_can_show(project: Path) -> None:
    """A cut chunk id is no retrieval."""
    ran = arr("show", "c123", cwd=project)
    assert ran.code == 1 and "a chunk is c with 20" in ran.err
