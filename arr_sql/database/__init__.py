"""The one place where the parts are joined: :class:`ResearchDatabase`, one file seen from one scope.

A request falls through the floors once and rises once. Every method acts in ``self.scope`` and nowhere else. Each group
of methods is a module of its own: ``base`` (connections), ``sources``, ``source_list``,
``lines``, ``retrieval``, ``replay``, ``replicas``, ``memories``,
``memory_moves`` (files, promotion), ``approvals``, ``forgetting``, ``copies``, ``upkeep``, ``operator``, ``audit``.
"""

from __future__ import annotations

from pathlib import Path

from arr_sql.core.project import find_project
from arr_sql.database.approvals import ApprovalMethods
from arr_sql.database.audit import AuditMethods
from arr_sql.database.base import DEFAULT_MAX_FILE_BYTES
from arr_sql.database.copies import CopyMethods
from arr_sql.database.forgetting import ForgettingMethods
from arr_sql.database.lines import LineMethods
from arr_sql.database.memory_moves import MemoryMoveMethods
from arr_sql.database.replicas import ReplicaMethods
from arr_sql.database.source_list import SourceListMethods
from arr_sql.database.turns import one_at_a_time
from arr_sql.database.upkeep import UpkeepMethods

__all__ = ["DEFAULT_MAX_FILE_BYTES", "ResearchDatabase", "connect"]


def connect(folder: str | Path = ".", *, environment: str | None = None, branch: str | None = None) -> ResearchDatabase:
    """The project that ``folder`` belongs to, in the scope that follows from where it is.

    Raises StoreMissing when there is no project or file, SchemaOutOfDate and the other StoreErrors of an unfit file.
    """
    return ResearchDatabase.of_project(find_project(Path(folder), environment=environment, branch=branch))


@one_at_a_time
class ResearchDatabase(
    ReplicaMethods,
    MemoryMoveMethods,
    ApprovalMethods,
    ForgettingMethods,
    CopyMethods,
    UpkeepMethods,
    LineMethods,
    SourceListMethods,
    AuditMethods,
):
    """One database file seen from one scope. Use as a context manager, or call :meth:`close`.

    It serves one call at a time: another thread waits for its turn. For calls side by side open one for each thread, or use
    :mod:`arr_sql.aio`. Once it is closed, every method raises StateError.
    """
