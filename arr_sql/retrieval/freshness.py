"""Is a returned piece of evidence still what its file says? The file is read and hashed when the answer is made."""

from __future__ import annotations

from collections.abc import Mapping

from arr_sql.core.canonical import sha256_bytes
from arr_sql.core.research_models import Freshness
from arr_sql.core.rooted import FileRead, Root
from arr_sql.errors import PathRefused
from arr_sql.retrieval.catalog import Hit
from arr_sql.retrieval.grep_retriever import GrepRoot

MAX_CHECKED_BYTES = 256 << 20


class FreshnessChecker:
    """Checks hits against the trusted folders; each file is read once. Use as a context manager."""

    def __init__(self, roots: Mapping[int, GrepRoot]) -> None:
        self._roots = roots
        self._opened: dict[int, Root | None] = {}
        self._hashes: dict[tuple[int, str], str | None] = {}

    def __enter__(self) -> FreshnessChecker:
        return self

    def __exit__(self, *_: object) -> None:
        for root in self._opened.values():
            if root is not None:
                root.close()

    def check(self, hit: Hit) -> Freshness:
        """``fresh`` (hash equal), ``changed``, ``missing``, or ``unverifiable`` (other branch, folder not there)."""
        if hit.file is None:
            # A memory lives in the store itself; a line that grep has just read is as the disk is. Of what another
            # channel brings nothing is known.
            is_known = hit.source_ref.startswith("memory:") or hit.metadata.get("as_on_disk") is True
            return "fresh" if is_known else "unverifiable"
        root = self._roots.get(hit.file.root_id)
        if root is None or root.is_other_branch:
            return "unverifiable"
        opened = self._open(root)
        if opened is None:
            return "unverifiable"
        key = (root.id, hit.file.path_in_root)
        if key not in self._hashes:
            read = opened.read_file(hit.file.path_in_root, MAX_CHECKED_BYTES)
            if isinstance(read, FileRead):
                self._hashes[key] = sha256_bytes(read.data)
            elif read.code in ("vanished", "not_a_file"):
                self._hashes[key] = None
            else:
                return "unverifiable"
        found = self._hashes[key]
        if found is None:
            return "missing"
        return "fresh" if found == hit.file.content_hash else "changed"

    def _open(self, root: GrepRoot) -> Root | None:
        if root.id not in self._opened:
            try:
                self._opened[root.id] = Root(root.path)
            except PathRefused:
                self._opened[root.id] = None
        return self._opened[root.id]
