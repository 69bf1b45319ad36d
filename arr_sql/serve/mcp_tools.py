"""The MCP tools: each takes checked arguments, asks one database, and gives a bounded output. No SDK here.

All but ``propose_memory`` only read, apart from the records and events that asking leaves. None takes a scope: the
database that they are handed is seen from the one that was bound when the server started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arr_sql.core.canonical import sha256_text
from arr_sql.core.research_models import memory_name
from arr_sql.core.router_models import REASON_TEXT, Degradation, Rejection
from arr_sql.retrieval.missing_words import missing_words
from arr_sql.serve import mcp_values as values
from arr_sql.serve.mcp_values import MAX_K, WINDOW, Arguments, Output

if TYPE_CHECKING:
    from arr_sql.core.research_models import EvidenceChunk
    from arr_sql.database import ResearchDatabase

TEXT_LIMIT = 4_000
"""Characters of one piece of evidence in an answer to ``search``."""
TOTAL_LIMIT = 40_000
"""Characters of all texts of one answer."""
LINE_LIMIT = 300
"""Characters of one memory in a list."""


@dataclass(frozen=True)
class Tool:
    """A tool: what it says of itself, what it takes and gives, and what it does."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    output: type[Output]
    run: Callable[[ResearchDatabase, Any], Output]
    read_only: bool = True

    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments; closed to unknown ones."""
        return self.arguments.model_json_schema()

    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the output."""
        return self.output.model_json_schema(mode="serialization")


def search(database: ResearchDatabase, asked: values.SearchArguments) -> values.SearchOutput:
    """Evidence for a question, with the account of how it was found."""
    result = database.search(asked.query, k=asked.k, plan=_plan(asked.tool_rounds))
    evidence, cut = _bounded(result.evidence)
    return values.SearchOutput(
        retrieval_id=result.retrieval_id, state=result.state, partial=result.partial, evidence=evidence, cut=cut,
        missing_words=list(missing_words(asked.query, result.evidence)),
        channels=[
            values.Channel(
                round=trace.round_index + 1, tool=trace.tool_name, state=trace.state, matched=trace.candidate_count,
                returned=trace.eligible_count, reason=trace.reason,
            )
            for trace in result.traces
        ],
        weaker=_remarks(result.degradations), refused=_remarks(result.rejections),
    )  # fmt: skip


def plan(database: ResearchDatabase, asked: values.PlanArguments) -> values.PlanOutput:
    """The plan and the verdict on each call. Runs nothing."""
    _, verdicts = database.plan(asked.query, _plan(asked.tool_rounds))
    calls = [
        values.Verdict(
            round=v.round_index + 1, tool=v.tool_name, query=v.query[:LINE_LIMIT], admitted=v.is_admitted,
            code=str(v.code) if v.code else None,
        )
        for v in verdicts
    ]  # fmt: skip
    is_cut = any(len(v.query) > LINE_LIMIT for v in verdicts)
    return values.PlanOutput(calls=calls, cut=[f"Queries are shown up to {LINE_LIMIT} characters."] if is_cut else [])


def get_evidence(database: ResearchDatabase, asked: values.EvidenceArguments) -> values.EvidenceOutput:
    """A window of the whole text of one chunk or memory as it is stored now."""
    status = ""
    if asked.id.startswith("memory:"):
        memory = database.memory(asked.id.removeprefix("memory:"))
        text, source, locator = memory.content, asked.id, f"revision {memory.revision}"
        heading, status = memory.title, memory.status
    else:
        chunk = database.chunk(asked.id)
        text, source, locator = chunk["content"], chunk["source_ref"], chunk["locator"]
        heading = chunk["heading"]
    end = asked.offset + WINDOW
    is_more = end < len(text)
    cut = [f"{len(text) - end:,} characters follow: ask again with offset {end}."] if is_more else []
    if asked.offset and asked.offset >= len(text):
        cut = [f"The text has {len(text):,} characters: nothing is at offset {asked.offset}."]
    return values.EvidenceOutput(
        id=asked.id, source=source, locator=locator, heading=heading, status=status, content=text[asked.offset : end],
        offset=asked.offset, characters=len(text), next_offset=end if is_more else None, content_hash=sha256_text(text),
        cut=cut,
    )  # fmt: skip


def list_memories(database: ResearchDatabase, asked: values.ListArguments) -> values.ListOutput:
    """The scope's memories, newest change first."""
    found = database.memories(asked.status, kind=asked.kind)
    shown = found[asked.offset : asked.offset + asked.limit]
    cut = []
    if asked.offset + len(shown) < len(found) and shown:
        cut.append(f"{len(found) - asked.offset - len(shown)} more: ask again with offset {asked.offset + len(shown)}.")
    if any(len(memory.content) > LINE_LIMIT for memory in shown):
        cut.append(f"Contents are shown up to {LINE_LIMIT} characters: get_evidence with memory:ID gives the whole.")
    lines = [
        values.MemoryLine(
            id=memory_name(memory.memory_id), kind=memory.kind, status=memory.status, title=memory.title,
            content=memory.content[:LINE_LIMIT], confidence=memory.confidence, updated_at=memory.updated_at,
            source_refs=[reference[:LINE_LIMIT] for reference in memory.source_refs[:20]],
        )
        for memory in shown
    ]  # fmt: skip
    return values.ListOutput(memories=lines, total=len(found), cut=cut)


def propose_memory(database: ResearchDatabase, asked: values.ProposeArguments) -> values.ProposeOutput:
    """A candidate, which a person may verify and publish."""
    memory = database.add_memory(
        title=asked.title, content=asked.content, kind=asked.kind, source_refs=tuple(asked.source_refs),
        confidence=asked.confidence,
    )  # fmt: skip
    assert memory.status == "candidate"
    return values.ProposeOutput(id=memory_name(memory.memory_id), status="candidate")


def explain(database: ResearchDatabase, asked: values.ExplainArguments) -> values.ExplainOutput:
    """How a past answer came about, in sentences."""
    record = database.explain(asked.retrieval_id)
    sentences: list[str] = []
    cut: list[str] = []
    total = 0
    for sentence in record["sentences"]:
        total += len(sentence)
        if total > TOTAL_LIMIT:
            cut.append(f"{len(record['sentences']) - len(sentences)} sentences are left out.")
            break
        sentences.append(sentence)
    return values.ExplainOutput(
        retrieval_id=record["retrieval_id"], at=record["at"], state=record["state"], partial=record["partial"],
        sentences=sentences, cut=cut,
    )  # fmt: skip


def status(database: ResearchDatabase, asked: values.NoArguments) -> values.StatusOutput:
    """What the scope holds and how each channel stands; no path of the machine."""
    held = database.status()
    chunks, stale, roots = held.get("chunks", 0), held["stale_indexes"], held["roots"]
    embedded = max((item["embedded"] for item in held["vectors"]), default=0)
    channels = {
        "research-memory": "stale" if "memory_text" in stale else "ready",
        "bm25": "stale" if "chunk_text" in stale else "ready",
        "vector": f"{embedded} of {chunks} texts have vectors",
        "grep": "ready"
        if any(not (root["missing"] or root["other_branch"]) for root in roots)
        else "nothing to read here",
    }
    return values.StatusOutput(
        scope=held["scope"], sources=held.get("sources", 0), chunks=chunks, memories=held["memories"],
        retrievals=held.get("retrievals", 0), revision=held.get("revision", 0), channels=channels, may_propose=False,
    )  # fmt: skip


READING = (
    Tool("search", "Search the project's evidence",
         "Find evidence for a question in the project's notes, code, papers, logs and published memories. Each piece has its "
         "source, lines, freshness and rank; state and weaker say whether everything could be searched, "
         "missing_words which words of the question no piece holds.",
         values.SearchArguments, values.SearchOutput, search),
    Tool("plan", "Show the retrieval plan", "Show which channels a question would be put to, and whether each call would be "
         "admitted. Runs nothing.", values.PlanArguments, values.PlanOutput, plan),
    Tool("get_evidence", "Read one text whole", "Read the whole text of a piece of evidence or a memory by its id, "
         f"{WINDOW:,} characters at a time.", values.EvidenceArguments, values.EvidenceOutput, get_evidence),
    Tool("list_memories", "List research memories", "List what people wrote down: decisions, findings, preferences, with "
         "their status. Only published ones are found by search.", values.ListArguments, values.ListOutput, list_memories),
    Tool("explain", "Explain a past answer", "Say in sentences how a past answer came about: plan, channels, what was refused "
         "or weaker, and why each piece ranks where it does.", values.ExplainArguments, values.ExplainOutput, explain),
    Tool("status", "Show what the project holds", "Show the scope that this server answers for, what it holds, and how each "
         "channel stands.", values.NoArguments, values.StatusOutput, status),
)  # fmt: skip
PROPOSING = Tool(
    "propose_memory", "Propose a research memory",
    "Propose something worth remembering, with where it is known from. It is stored as a candidate; a person decides "
    "whether it is published.",
    values.ProposeArguments, values.ProposeOutput, propose_memory, read_only=False,
)  # fmt: skip


# --- Parts ------------------------------------------------------------------------------------------------------------


def _plan(rounds: list[list[values.PlannedCall]] | None) -> dict[str, Any] | None:
    if rounds is None:
        return None
    return {"version": 1, "tool_rounds": [[call.model_dump() for call in calls] for calls in rounds]}


def _bounded(found: Iterable[EvidenceChunk]) -> tuple[list[values.Evidence], list[str]]:
    """As much evidence as fits, best first, and what was cut."""
    items = list(found)
    shown: list[values.Evidence] = []
    total = shortened = 0
    for item in items[:MAX_K]:
        content = item.content[:TEXT_LIMIT]
        if total + len(content) > TOTAL_LIMIT:
            break
        total += len(content)
        shortened += len(content) < len(item.content)
        shown.append(
            values.Evidence(
                id=item.chunk_id, source=item.source_ref, locator=item.locator, heading=_heading(item),
                content=content, characters=len(item.content), freshness=item.freshness, score=item.rerank_score,
                found_by=[f"{rank.channel} {rank.rank}" for rank in item.channels],
            )
        )  # fmt: skip
    cut = []
    if shortened:
        cut.append(f"{shortened} texts are shown up to {TEXT_LIMIT:,} characters: get_evidence gives the whole.")
    if len(shown) < len(items):
        cut.append(
            f"{len(items) - len(shown)} of {len(items)} pieces of evidence are left out: an answer holds {TOTAL_LIMIT:,} characters."
        )
    return shown, cut


def _heading(item: EvidenceChunk) -> str:
    """A chunk's heading, a memory's title."""
    return str(item.metadata.get("heading") or item.metadata.get("title") or "")


def _remarks(found: Iterable[Degradation | Rejection]) -> list[values.Remark]:
    return [
        values.Remark(
            code=str(item.code), tool=item.tool_name, meaning=REASON_TEXT[item.code],
            detail=dict(item.detail) if isinstance(item, Degradation) else {"count": item.count},
        )
        for item in found
    ]  # fmt: skip
