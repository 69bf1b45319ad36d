"""The public surface of the package."""

from __future__ import annotations

import inspect
from pathlib import Path

import arr_sql


def test_the_public_names_are_these() -> None:
    """A name is added or taken away on purpose, with this list."""
    assert sorted(arr_sql.__all__) == [
        "ApprovalDecision", "ApprovalPackage", "ArrError", "Degradation", "EvidenceChunk", "InputError", "QueryPlan",
        "ReasonCode", "Rejection",
        "ResearchDatabase", "ResearchMemory", "RouterResult", "ScopeKey", "StateError", "StoreError", "ToolCall",
        "ToolTrace", "VerificationRun", "__version__", "add_functions", "connect",
        "missing_words",
    ]  # fmt: skip


def test_every_public_name_resolves_and_is_documented() -> None:
    """Each can be imported and says what it is."""
    for name in arr_sql.__all__:
        value = getattr(arr_sql, name)
        assert name == "__version__" or value.__doc__, name


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As for any module."""
    assert not hasattr(arr_sql, "no_such_name")
    assert dir(arr_sql) == sorted(arr_sql.__all__)


def test_every_signature_is_pinned() -> None:
    """docs/api.md, which is compared with the source (tests/docs/test_generated.py), has each name and each method."""
    page = (Path(__file__).resolve().parents[1] / "docs" / "api.md").read_text("utf-8")
    for name in arr_sql.__all__:
        assert f"\n### {name.replace('_', chr(92) + '_') if name.startswith('__') else name}\n" in page, name
    for name, member in inspect.getmembers(arr_sql.ResearchDatabase, callable):
        if not name.startswith("_"):
            assert member.__doc__, f"ResearchDatabase.{name} says nothing of itself"
            assert f"\n#### {name}\n\n```text\n{name}(" in page, name
