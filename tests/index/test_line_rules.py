"""The line index forgets by itself what other rules made: nothing that decides what a row says can change unnoticed."""

from __future__ import annotations

import unicodedata
from importlib.metadata import version

import grimp
import pytest

from arr_sql.index import line_rules
from arr_sql.index.line_rules import RULES, made_by


def test_no_module_that_decides_is_missing() -> None:
    """The list is what the deciding modules are and import, to the last one: a new import of theirs belongs into it."""
    graph = grimp.build_graph("arr_sql")
    decide = {f"arr_sql.core.{name}" for name in ("decode", "line_fold", "line_sieve", "redaction", "walk")}
    closure = decide.union(*(graph.find_upstream_modules(name) for name in decide))
    assert {*RULES} == {"arr_sql.index.line_rows", *closure}
    # line_rows marks files with them, and asks no other module what a file is worth.
    direct = graph.find_modules_directly_imported_by("arr_sql.index.line_rows")
    store = {"connection", "research_models", "rooted", "statements"}
    assert direct - {f"arr_sql.core.{name}" for name in store} - {"arr_sql.index.line_rules"} <= {*RULES}


@pytest.mark.parametrize("name", RULES)
def test_any_edit_of_a_rule_is_another_maker(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more byte in one file, and rows that were made before are absent."""
    plain, read = made_by.__wrapped__(), line_rules.get_data

    def edited(package: str, path: str) -> bytes | None:
        data = read(package, path)
        return data and data + b"#" * (f"{package}/{path}" == name.replace(".", "/") + ".py")

    monkeypatch.setattr(line_rules, "get_data", edited)
    assert made_by.__wrapped__() != plain


def test_unicode_and_the_library_of_ignore_rules_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """They decide too, and come from outside."""
    assert made_by().split()[1:] == [unicodedata.unidata_version, version("pathspec")]
    monkeypatch.setattr(line_rules, "version", lambda name: "9.9")
    assert made_by.__wrapped__().split()[2] == "9.9"
