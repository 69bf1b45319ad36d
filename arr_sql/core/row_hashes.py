"""The hashes by which audit events vouch for source rows; used where they are written and where they are verified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arr_sql.core.canonical import sha256_bytes, sha256_json

VERSION_FIELDS = (
    "source_id", "source_ref", "path_in_root", "content_hash", "size", "reader", "reader_version", "encoding",
    "encoding_confidence", "title", "language", "metadata", "warnings", "lines_withheld", "git_commit", "git_state",
    "n_chunks", "chunks_hash", "created_at", "added_revision",
)  # fmt: skip
CHUNK_FIELDS = ("chunk_id", "content_hash", "embed_hash", "kind", "locator", "start_line", "end_line")


def source_version_hash(row: Any) -> str:
    """The hash by which the audit log vouches for one source version."""
    return sha256_json({name: row[name] for name in VERSION_FIELDS})


def chunk_entry(chunk: Any) -> list[Any]:
    """What a version's hash holds of one chunk: its id, its texts (heading included) by hash, and where they stand."""
    return [chunk[name] for name in CHUNK_FIELDS]


def chunks_hash(entries: Sequence[list[Any]]) -> str:
    """Hash over the entries of a version's chunks in order."""
    return sha256_json(list(entries))


ROOT_FIELDS = ("name", "path", "is_inside_project", "only_file", "git_repository", "git_branch", "added_at")
MODEL_FIELDS = ("fingerprint", "model_id", "dimension", "spec", "created_at")


def root_hash(row: Any) -> str:
    """The hash by which the audit log vouches for a root."""
    return sha256_json({name: row[name] for name in ROOT_FIELDS})


def model_hash(row: Any) -> str:
    """The hash by which the audit log vouches for an embedding model, its canaries included."""
    return sha256_json({**{name: row[name] for name in MODEL_FIELDS}, "canaries": sha256_bytes(row["canaries"])})


def left_out_hash(rows: Sequence[Any]) -> str:
    """The hash over what one walk of a root left out, in order of the paths."""
    return sha256_json([[row["path_in_root"], row["reason"], row["size"], row["mtime_ns"]] for row in rows])


def vectors_hash(rows: Sequence[Any]) -> str:
    """32 hex digits over the vectors that one chunk got at one revision, in order of the models' fingerprints."""
    return sha256_json([[row["fingerprint"], row["embed_hash"], sha256_bytes(row["vector"])] for row in rows])[:32]


def ids_hash(ids: Sequence[int]) -> str:
    """The hash over a table's row numbers in order."""
    return sha256_json(list(ids))
