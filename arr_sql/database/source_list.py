"""Source by source: how each was read, how much of it is indexed, whether it still is what the disk says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from arr_sql.core.connection import read_transaction, store_errors
from arr_sql.core.rooted import Root
from arr_sql.core.statements import load
from arr_sql.core.walk import comes_to
from arr_sql.database.sources import SourceMethods
from arr_sql.errors import PathRefused
from arr_sql.ingest.roots import is_other_branch
from arr_sql.memory.scope_store import read_scope
from arr_sql.retrieval.catalog import FileRef
from arr_sql.retrieval.freshness import FreshnessChecker
from arr_sql.retrieval.grep_retriever import GrepRoot


class SourceListMethods(SourceMethods):
    """The sources of the scope, one by one."""

    def is_read(self, path: Path) -> bool:
        """Would a sync or grep of this scope come to a file at ``path``, by its name and place?"""
        path = path.resolve()
        for row in self.roots():
            if path.is_relative_to(folder := row.path.resolve()):
                rel = path.relative_to(folder).as_posix()
                try:
                    with Root(folder) as root:
                        if row.only_file in (None, rel) and comes_to(root, rel):
                            return True
                except PathRefused:  # the root is gone: nothing in it is read
                    continue
        return False

    def source_list(self, *, check_files: bool = False) -> dict[str, list[dict[str, Any]]]:
        """``sources``: reader, encoding with its confidence, chunks, how many of them have a vector, warnings, and with
        ``check_files`` the freshness of each file, which is read for it. ``left_out``: what the last sync did not take
        in, with its reason; a folder's name ends in ``/``.
        """
        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            scope = read_scope(reader, self.scope)
            values = {"scope_id": scope.id if scope else None}
            sources = [dict(row) for row in reader.execute(load("read_source_list"), values)]
            left_out = [dict(row) for row in reader.execute(load("read_left_out_list"), values)]
        roots = {
            root.id: GrepRoot(root.id, root.prefix, str(root.path), root.only_file, is_other_branch(root, self.scope))
            for root in self.roots()
        }
        with FreshnessChecker(roots, keep_text=False) as checker:
            for source in sources:
                source["warnings"] = json.loads(source["warnings"])
                file = FileRef(source.pop("root_id"), source.pop("path_in_root"), source.pop("content_hash"))
                source["freshness"] = checker.file_state(file).state if check_files else None
                del source["id"]
        for item in left_out:
            item["source_ref"] = roots[item.pop("root_id")].prefix + item.pop("path_in_root")
        return {"sources": sources, "left_out": left_out}
