"""Retrievers for other frameworks, each in a module that imports its framework: ``langchain``, ``llama_index``, ``haystack``.

All ask one project in one scope and give its evidence in the framework's own form. These forms are plain lists, with no
place for the account of an answer. So an answer that found nothing while something could not be searched is an error
here, and what was weaker stands in every item's metadata.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arr_sql.core.project import find_project
from arr_sql.core.research_models import EvidenceChunk
from arr_sql.core.router_models import RouterResult
from arr_sql.database import ResearchDatabase
from arr_sql.database.base import shared_embedder
from arr_sql.errors import ChannelError


def ask(folder: str, query: str, k: int, environment: str | None, branch: str | None) -> RouterResult:
    """The answer for ``query``. Raises ChannelError when nothing was found and not everything could be searched."""
    project = find_project(Path(folder), environment=environment, branch=branch)
    with ResearchDatabase.of_project(project, embedder=shared_embedder) as database:
        result = database.search(query, k=k)
    if result.state == "incomplete":
        codes = ", ".join(sorted({f"{item.tool_name} {item.code}".strip() for item in result.degradations}))
        raise ChannelError(f"Nothing was found, but not everything could be searched: {codes}. See `arr status`.")
    return result


def score(item: EvidenceChunk) -> float:
    """What the item was ordered by: the reranker's score, else the fused one, else the channel's own."""
    return next(value for value in (item.rerank_score, item.rrf_score, item.channels[0].score) if value is not None)


def metadata(result: RouterResult, item: EvidenceChunk) -> dict[str, Any]:
    """Where the text is from, how it was found, and what was weaker about the answer: plain values."""
    return {
        "source": item.source_ref, "locator": item.locator, "freshness": item.freshness, "content_hash": item.content_hash,
        "found_by": " ".join(f"{rank.channel}#{rank.rank}" for rank in item.channels),
        "retrieval_id": result.retrieval_id, "partial": result.partial,
        "weaker": ", ".join(f"{d.tool_name} {d.code}".strip() for d in result.degradations),
    }  # fmt: skip
