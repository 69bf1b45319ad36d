"""Why a replay came out differently: the facts, from which :func:`arr_sql.policy.replay_compare.cause_of` names a cause.

What the disk holds is looked at only here, when answers differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from arr_sql.core.analysis import ANALYSER_VERSION
from arr_sql.core.canonical import sha256_bytes
from arr_sql.core.connection import Connection
from arr_sql.core.statements import load
from arr_sql.database.advice import is_of_another_blend
from arr_sql.database.retrieval import INDEX_VERSION
from arr_sql.errors import PathRefused
from arr_sql.index.vector_state import vector_state
from arr_sql.memory.scope_store import ScopeRow
from arr_sql.policy.admission import policy_of

if TYPE_CHECKING:
    from arr_sql.database.replay_run import Rerun, Setting
    from arr_sql.database.replay_store import ReplayStore
    from arr_sql.policy.replay_compare import Facts


MODEL_FAULTS = frozenset({"model_missing", "model_changed", "model_failed"})
MEMORY = "memory:"
"""How the chunk id of a memory begins."""


def facts_of(
    reader: Connection, row: ScopeRow, store: ReplayStore, record: Mapping[str, Any], recorded: Mapping[str, Any],
    again: Rerun, setting: Setting,
) -> Facts:  # fmt: skip
    """The facts about a retrieval that came out differently. Reads the store and, for grep, the disk."""
    from arr_sql.memory.audit_verify import verify_audit
    from arr_sql.policy.replay_compare import Facts, differs_in_grep_only

    erased = revised = False
    shown = {
        (item["chunk_id"], item["content_hash"]) for name in ("chunk", "memory") for item in store.shown_texts(name)
    }
    for item in record["evidence"]:
        if item["chunk_id"].startswith("g") or (item["chunk_id"], item["content_hash"]) in shown:
            continue
        is_gone = _is_gone(reader, row.id, record["scope_revision"], item)
        erased, revised = erased or is_gone, revised or not is_gone
    gone = reader.execute(
        load("read_erased_subjects"), {"scope_id": row.id, "revision": record["scope_revision"]}
    ).fetchall()
    only_grep = differs_in_grep_only(recorded, again.account, again.ranks)
    return Facts(
        evidence_erased=erased, evidence_revised=revised, rows_erased=bool(gone),
        rows_revised=bool(verify_audit(reader, scope_id=row.id).damages),
        index_version=record["index_version"] != INDEX_VERSION or is_of_another_blend(record),
        analyser_version=record["analyser_version"] != ANALYSER_VERSION,
        model_missing=bool(_model_faults(again.account) - _model_faults(recorded)) or not _has_vectors(store, record),
        policy_changed=_policy_changed(record, again), only_grep=only_grep,
        files_changed=only_grep and _files_changed(store, record, again, setting),
    )  # fmt: skip


def _is_gone(reader: Connection, scope_id: int, revision: int, item: Mapping[str, Any]) -> bool:
    """Was the text of this evidence erased, or is nothing of its id there any more?

    Receipts are asked first: the same id may have come back since, with a file that was synced again.
    """
    kind, name = (
        ("memory", item["chunk_id"][len(MEMORY) :])
        if item["chunk_id"].startswith(MEMORY)
        else ("chunk", item["chunk_id"])
    )
    text = {
        "scope_id": scope_id,
        "kind": kind,
        "subject_id": name,
        "text_hash": item["content_hash"],
        "revision": revision,
    }
    if reader.execute(load("read_erased_text"), text).fetchone() is not None:
        return True
    values = {"scope_id": scope_id, "chunk_id": item["chunk_id"], "content_hash": item["content_hash"]}
    return not reader.execute(load("read_evidence_row"), values).fetchone()["named"]


def _model_faults(account: Mapping[str, Any]) -> Counter[tuple[int, str]]:
    """The calls of the vector channel, by round, that a model failed. What failed then too explains no difference."""
    return Counter(
        (call["round_index"], call["reason"])
        for call in account["calls"] if call["tool_name"] == "vector" and call["reason"] in MODEL_FAULTS
    )  # fmt: skip


def _has_vectors(store: ReplayStore, record: Mapping[str, Any]) -> bool:
    """Are there vectors of the model that the record names, if it names one?"""
    models = {row["fingerprint"] for row in vector_state(store.reader("vector"), store.scope)}
    return record["model_fingerprint"] is None or record["model_fingerprint"] in models


def _policy_changed(record: Mapping[str, Any], again: Rerun) -> bool:
    """Other rules, or a channel of one's own that is not registered here."""
    codes = {item["code"] for item in again.account["rejections"]} - {item["code"] for item in record["rejections"]}
    return record["policy_hash"] != policy_of(record["policy_hash"]).hash or "not_registered" in codes


def _told(trace: Mapping[str, Any]) -> tuple[Any, ...]:
    """What grep said of its files, without what the line index spared it (a replayed store has none)."""
    spared = ("ruled_out", "changed", "damaged")
    return trace["state"], trace["reason"], {k: v for k, v in trace["detail"].items() if k not in spared}


def _files_changed(store: ReplayStore, record: Mapping[str, Any], again: Rerun, setting: Setting) -> bool:
    """Are the files that grep reads others than those of the revision that is shown?"""
    from arr_sql.core.rooted import FileRead, Root
    from arr_sql.retrieval.freshness import MAX_CHECKED_BYTES

    old = [trace for trace in record["traces"] if trace["tool_name"] == "grep"]
    if again.loose_lines or any(item["chunk_id"].startswith("g") for item in record["evidence"]):
        return True  # lines of a file that is not, or not as it is, in the store
    if [_told(trace) for trace in old] != [_told(trace) for trace in again.grep_traces]:
        return True  # other files, or another branch
    roots = {root.id: root for root in setting.roots if store.has_root(root.id)}
    for root_id, files in store.shown_files().items():
        if root_id not in roots:
            return True
        try:
            with Root(roots[root_id].path) as opened:
                for path, content_hash in files:
                    read = opened.read_file(path, MAX_CHECKED_BYTES)
                    if not isinstance(read, FileRead) or sha256_bytes(read.data) != content_hash:
                        return True
        except PathRefused:
            return True
    return False
