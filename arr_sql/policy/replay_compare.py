"""Is an answer that was run again the answer that was recorded, and if not, where does it differ first and why? Pure.

Compared are evidence (ids, order, content hashes, places, each channel's rank and score, fused and reranked scores and
their parts), rejections, degradations, state, partial, and what became of each call. Not compared: freshness and
durations, which are about the moment, and the counts of files that grep read (contract 7.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Cause = Literal[
    "row_revised", "row_erased", "index_version", "analyser_version", "model_missing", "policy_changed", "file_changed"
]
EVIDENCE_FIELDS = (
    "chunk_id", "content_hash", "source_ref", "locator", "channels", "rrf_score", "rerank_score", "rerank_reason",
)  # fmt: skip
TRACE_FIELDS = ("round_index", "tool_name", "state", "accepted", "candidate_count", "eligible_count", "reason")
GREP = "grep"


@dataclass(frozen=True)
class Difference:
    """The first place where two accounts differ: ids, codes and numbers, never a text."""

    where: str
    recorded: Any
    replayed: Any


@dataclass(frozen=True)
class Facts:
    """What is known about a retrieval that came out differently."""

    evidence_erased: bool = False
    """A text that was evidence is no longer in the store."""
    evidence_revised: bool = False
    """A text that was evidence is there, but not under that id and hash at that revision."""
    rows_erased: bool = False
    """The log knows rows of that revision that are no longer there."""
    rows_revised: bool = False
    """A row is not what its event vouches for."""
    index_version: bool = False
    analyser_version: bool = False
    model_missing: bool = False
    policy_changed: bool = False
    only_grep: bool = False
    """Every other channel gave what it gave then."""
    files_changed: bool = False
    """The files on disk are not those of that revision."""


GREP_COUNTS = ("files", "lines", "withheld", "ruled_out", "changed", "damaged")


def comparable(account: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of an account that are compared, as plain values."""
    return {
        "evidence": [{name: item[name] for name in EVIDENCE_FIELDS} for item in account["evidence"]],
        "rejections": [dict(item) for item in account["rejections"]],
        "degradations": [_without_counts(item) for item in account["degradations"]],
        "partial": bool(account["partial"]),
        "state": account["state"],
        "calls": [{name: trace[name] for name in TRACE_FIELDS} for trace in account["traces"]],
    }


def _without_counts(degradation: Mapping[str, Any]) -> dict[str, Any]:
    """How many files grep had read when it stopped is about the disk and the machine."""
    if degradation["tool_name"] != GREP:
        return dict(degradation)
    detail = {name: value for name, value in degradation["detail"].items() if name not in GREP_COUNTS}
    return {**degradation, "detail": detail}


def first_difference(recorded: Mapping[str, Any], replayed: Mapping[str, Any]) -> Difference | None:
    """The first difference between two :func:`comparable` accounts, evidence first; None when they are identical."""
    for rank, (old, new) in enumerate(zip(recorded["evidence"], replayed["evidence"], strict=False), 1):
        for name in EVIDENCE_FIELDS:
            if old[name] != new[name]:
                return Difference(f"evidence {rank}: {name}", old[name], new[name])
    for name in ("evidence", "calls", "rejections", "degradations"):
        old_items, new_items = recorded[name], replayed[name]
        if len(old_items) != len(new_items):
            return Difference(f"number of {name}", len(old_items), len(new_items))
        for number, (old, new) in enumerate(zip(old_items, new_items, strict=True), 1):
            if old != new:
                return Difference(f"{name[:-1] if name != 'evidence' else name} {number}", old, new)
    for name in ("partial", "state"):
        if recorded[name] != replayed[name]:
            return Difference(name, recorded[name], replayed[name])
    return None


def differs_in_grep_only(
    recorded: Mapping[str, Any],
    replayed: Mapping[str, Any],
    ranks: Mapping[tuple[str, str], Sequence[tuple[int, float]]],
) -> bool:
    """Did every channel but grep give what it gave then?

    ``ranks`` are the (rank, score) pairs that each (channel, chunk id) got when run again, also beyond the evidence.
    """
    if [call for call in recorded["calls"] if call["tool_name"] != GREP] != [
        call for call in replayed["calls"] if call["tool_name"] != GREP
    ]:
        return False
    return all(
        (given["rank"], given["score"]) in ranks.get((given["channel"], item["chunk_id"]), ())
        for item in recorded["evidence"]
        for given in item["channels"]
        if given["channel"] != GREP
    )


def cause_of(facts: Facts) -> Cause | None:
    """The cause to name; None when nothing known explains the difference, which asks for ``arr db check``.

    What is known of the evidence itself comes first. The files on disk explain a difference only when every other
    channel agrees.
    """
    if facts.evidence_erased:
        return "row_erased"
    if facts.evidence_revised:
        return "row_revised"
    if facts.only_grep and facts.files_changed:
        return "file_changed"
    if facts.model_missing:
        return "model_missing"
    named: tuple[tuple[bool, Cause], ...] = (
        (facts.rows_erased, "row_erased"), (facts.rows_revised, "row_revised"), (facts.index_version, "index_version"),
        (facts.analyser_version, "analyser_version"), (facts.policy_changed, "policy_changed"),
    )  # fmt: skip
    return next((cause for holds, cause in named if holds), None)
