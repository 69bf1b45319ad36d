"""The account of a past retrieval in sentences, for people and agents. Pure: a record in, plain values out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from arr_sql.core.router_models import REASON_TEXT, ReasonCode


def explained(record: Mapping[str, Any]) -> dict[str, Any]:
    """``record`` (as ``ResearchDatabase.retrievals`` gives it) with ``sentences``, and each code's meaning beside it."""
    value = {name: item for name, item in record.items() if name != "query_vectors"}
    for name in ("rejections", "degradations"):
        value[name] = [{**item, "meaning": _meaning(item["code"])} for item in record[name]]
    value["sentences"] = list(_sentences(record))
    return value


def _sentences(record: Mapping[str, Any]) -> Iterator[str]:
    words = "partial" if record["partial"] else "complete"
    yield (
        f"Retrieval {record['retrieval_id']} ran at {record['at']} for {record['actor']}, at scope revision "
        f"{record['scope_revision']}: {record['state']}, {words}. Pieces of evidence: {len(record['evidence'])}."
    )
    origin = {"rules": "the rules", "caller": "the caller", "model": "a language model"}[record["plan_origin"]]
    yield f"The plan came from {origin}. Rounds: {len(record['plan']['tool_rounds'])}. Calls: {len(record['traces'])}."
    for trace in record["traces"]:
        said = f": {trace['reason']}, {_meaning(trace['reason'])}" if trace["reason"] else ""
        yield (
            f"Round {trace['round_index'] + 1}, {trace['tool_name']}: {trace['state']}, {trace['candidate_count']} matched, "
            f"{trace['eligible_count']} returned{said}"
        ).rstrip(".") + "."
        if without := trace["detail"].get("memories_without_vector"):
            yield f"Published memories that had no vector, so that only their words could find them: {without}."
    if by := next((t["detail"]["below_floor_by"] for t in record["traces"] if "below_floor_by" in t["detail"]), None):
        yield f"What was found is {by:.3f} below the floor of an answer, so it was set aside."
    for item in record["evidence"]:
        found = ", ".join(f"{rank['channel']} at rank {rank['rank']}" for rank in item["channels"])
        parts = (
            f"; score {item['rerank_score']:.3f} = {item['rerank_reason']}" if item["rerank_score"] is not None else ""
        )
        fused = f"; fused {item['rrf_score']:.6f}" if item["rrf_score"] is not None else ""
        yield f"{item['rank']}. {item['source_ref']} {item['locator']} ({item['freshness']} then): found by {found}{fused}{parts}."


def _meaning(code: str) -> str:
    """The sentence of a reason code; empty for one that a later version made up."""
    try:
        return REASON_TEXT[ReasonCode(code)]
    except ValueError:
        return ""
