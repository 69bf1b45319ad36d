"""arr_sql: research memory and evidence retrieval in one SQLite file per project.

>>> import arr_sql
>>> with arr_sql.connect("my-project") as db:  # doctest: +SKIP
...     result = db.search("why did the warmup run diverge")

These names are the public surface; everything else may change between releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives. They are imported when first used: `arr --help` needs none of them.
_HOMES = {
    "connect": "arr_sql.database",
    "missing_words": "arr_sql.retrieval.missing_words",
    "add_functions": "arr_sql.database.sql_store",
    "ResearchDatabase": "arr_sql.database",
    "ArrError": "arr_sql.errors",
    "InputError": "arr_sql.errors",
    "StateError": "arr_sql.errors",
    "StoreError": "arr_sql.errors",
    "ApprovalDecision": "arr_sql.core.approval_models",
    "ApprovalPackage": "arr_sql.core.approval_models",
    "VerificationRun": "arr_sql.core.approval_models",
    "EvidenceChunk": "arr_sql.core.research_models",
    "ResearchMemory": "arr_sql.core.research_models",
    "ScopeKey": "arr_sql.core.research_models",
    "Degradation": "arr_sql.core.router_models",
    "QueryPlan": "arr_sql.core.router_models",
    "ReasonCode": "arr_sql.core.router_models",
    "Rejection": "arr_sql.core.router_models",
    "RouterResult": "arr_sql.core.router_models",
    "ToolCall": "arr_sql.core.router_models",
    "ToolTrace": "arr_sql.core.router_models",
}
__all__ = [
    "ApprovalDecision",
    "ApprovalPackage",
    "ArrError",
    "Degradation",
    "EvidenceChunk",
    "InputError",
    "QueryPlan",
    "ReasonCode",
    "Rejection",
    "ResearchDatabase",
    "ResearchMemory",
    "RouterResult",
    "ScopeKey",
    "StateError",
    "StoreError",
    "ToolCall",
    "ToolTrace",
    "VerificationRun",
    "__version__",
    "add_functions",
    "connect",
    "missing_words",
]

if TYPE_CHECKING:
    from arr_sql.core.approval_models import ApprovalDecision, ApprovalPackage, VerificationRun
    from arr_sql.core.research_models import EvidenceChunk, ResearchMemory, ScopeKey
    from arr_sql.core.router_models import (
        Degradation,
        QueryPlan,
        ReasonCode,
        Rejection,
        RouterResult,
        ToolCall,
        ToolTrace,
    )
    from arr_sql.database import ResearchDatabase, connect
    from arr_sql.database.sql_store import add_functions
    from arr_sql.errors import ArrError, InputError, StateError, StoreError
    from arr_sql.retrieval.missing_words import missing_words


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'arr_sql' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
