"""docs/performance.md says what the kept figures say, and every kept figure comes from a command that is there."""

from __future__ import annotations

import importlib.util
import json
import pkgutil
import sys

import pytest

from tests.docs.blocks import ROOT

sys.path.insert(0, str(ROOT / "docs"))
sys.path.insert(0, str(ROOT))

import _performance

from benchmarks.performance import BENCHMARKS, FIGURES, Row, kept, shown_command

KEPT = sorted(path.stem for path in FIGURES.glob("*.json"))


def test_the_chart_is_up_to_date() -> None:
    """Bring it up to date: python docs/_performance.py"""
    assert _performance.CHART.read_text("utf-8") == _performance.chart()


@pytest.mark.parametrize("name", KEPT)
def test_kept_figures_belong_to_a_benchmark(name: str) -> None:
    """Each file is of a named benchmark, made by its command as it is now, and has rows that can be read."""
    value = json.loads((FIGURES / f"{name}.json").read_text("utf-8"))
    assert value["command"] == shown_command(BENCHMARKS[name])
    assert value["rows"] and all(Row(**row).figure for row in value["rows"])


def test_each_command_is_there() -> None:
    """The module that a benchmark's command runs exists."""
    for benchmark in BENCHMARKS.values():
        assert importlib.util.find_spec(benchmark.command.split()[2]) is not None


def test_the_stages_of_a_search_are_there() -> None:
    """The functions that whole_search puts a clock around exist under these names."""
    pytest.importorskip("numpy", reason="the benchmark needs NumPy (extra `local`)")
    from benchmarks.whole_search import STAGES

    for target in STAGES.values():
        owner, _, attribute = target.rpartition(".")
        assert hasattr(pkgutil.resolve_name(owner), attribute)


def test_nothing_kept_is_left_out() -> None:
    """Every kept file has a section, and the count of what is missed covers every promise."""
    page = (ROOT / "docs" / "performance.md").read_text("utf-8")
    assert sorted(item.name for item in kept()) == KEPT
    for item in kept():
        assert f"### {item.title}\n" in page
    missed = sum(row.share > 1 for _, row in _performance.promises() if row.share is not None)
    assert page.count("**missed**") == missed


def test_a_share_says_how_much_of_a_bound_is_used() -> None:
    """At most 1 where the promise is kept, whichever way it points."""
    assert Row("a", "1 ms", 0.5, "b", 1.0).share == 0.5
    assert Row("a", "1", 0.9, "b", 0.45, "least").share == 0.5
    assert Row("a", "1 ms", 2.4, "b", 1.2).share == 2
    assert Row("a", "1 ms").share is None
