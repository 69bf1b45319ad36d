"""The generated pages are what the code says now, and nothing is missing from them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from arr_sql.core.ignore import IGNORE_FILES
from arr_sql.core.rooted import REFUSAL_CODES
from arr_sql.core.router_models import REASON_TEXT, ReasonCode
from arr_sql.core.walk import LEFT_OUT_REASONS
from tests.docs.blocks import ROOT

sys.path.insert(0, str(ROOT / "docs"))

import _generate
import _generate_sql

# Reasons that sync and the decoder give beside those of the walk and the trusted folder.
OTHER_REASONS = {"unknown_format", "name_not_utf8", "binary", "unreadable", "own_file"}


def page(name: str) -> str:
    """The text of one page of docs/."""
    return (ROOT / "docs" / name).read_text("utf-8")


def test_generated_parts_are_up_to_date() -> None:
    """``cog --check`` finds nothing to change in the README, the Chinese one and docs/."""
    pages = [str(path) for path in (*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md")))]
    done = subprocess.run(
        [sys.executable, "-m", "cogapp", "--check", *pages],
        capture_output=True, text=True, encoding="utf-8", cwd=ROOT,
    )  # fmt: skip
    fix = "Bring them up to date: cog -r README*.md docs/*.md docs/zh/*.md"
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{fix}"


def test_every_command_has_its_help() -> None:
    """Each command of the click tree, hidden ones aside, has a heading in cli.md."""
    headings = set(re.findall(r"^#+ (arr.*)$", page("cli.md"), re.MULTILINE))
    assert {context.command_path for context in _generate.commands()} == headings
    assert len(headings) > 20


def test_every_table_view_and_trigger_is_in_the_schema() -> None:
    """Each table and view has a heading and a comment; each trigger is named."""
    text = page("schema.md")
    for kind, name, sql in _generate_sql.schema_objects():
        if kind in ("table", "view"):
            assert f"### {name}\n" in text
            assert _generate_sql._comment(sql), f"{kind} {name} has no comment below its first line"
        else:
            assert f"`{name}`" in text
    for path in (ROOT / "arr_sql" / "sql").glob("build_*.sql"):
        if made := re.search(r"CREATE VIRTUAL TABLE (?:IF NOT EXISTS )?([a-z_.]+)", path.read_text("utf-8")):
            assert f"| `{made.group(1)}` |" in text


def test_every_statement_is_listed_and_loaded() -> None:
    """Each statement file is in statements.md with its comment, and some module loads it."""
    text, used = page("statements.md"), _generate_sql.loaders()
    for path in _generate_sql.statement_files():
        assert f"[`{path.stem}`](../arr_sql/sql/{path.name})" in text
        assert _generate_sql.first_comment(path), f"{path.name} opens without a comment"
        assert used[path.stem], f"no module loads {path.name}"


def test_every_error_is_listed() -> None:
    """Each class of arr_sql.errors is in errors.md with a docstring of its own."""
    text = page("errors.md")
    for _, kind in _generate.error_classes():
        assert f"`{kind.__name__}` |" in text
        assert kind.__dict__.get("__doc__"), f"{kind.__name__} has no docstring"


def test_every_reason_code_is_listed_once() -> None:
    """Each code is in one group of reason-codes.md, with its sentence."""
    grouped = [code for _, codes in _generate.reason_groups() for code in codes]
    assert sorted(grouped) == sorted(str(code) for code in ReasonCode)
    for code, sentence in REASON_TEXT.items():
        assert f"| `{code}` | {sentence.replace('|', chr(92) + '|')} |" in page("reason-codes.md")


def test_every_reason_for_leaving_out_is_explained() -> None:
    """The explanations cover what the walk, the trusted folder, the decoder and sync can say, and nothing else."""
    assert set(_generate.LEFT_OUT) == set(LEFT_OUT_REASONS) | set(REFUSAL_CODES) | OTHER_REASONS
    assert set(_generate.LEFT_OUT).isdisjoint(_generate.reader_refusals())
    sync = (ROOT / "arr_sql" / "ingest" / "sync.py").read_text("utf-8")
    assert set(re.findall(r'_leave_out\(.*"([a-z_0-9]+)"', sync)) <= set(_generate.LEFT_OUT)
    assert all(name in page("sources.md") for name in IGNORE_FILES)


def test_every_left_out_reason_of_the_command_line_is_explained() -> None:
    """`arr add` prints no reason that the page doesn't have."""
    from arr_sql.cli.source_commands import REASONS

    assert set(REASONS) <= set(_generate.LEFT_OUT) | set(_generate.reader_refusals())


@pytest.mark.parametrize(
    "name", ["ok", "empty", "cut", "stale", "not_indexed", "timed_out", "unavailable", "error", "rejected"]
)
def test_every_channel_state_is_explained(name: str) -> None:
    """concepts.md has a line for each state."""
    assert f"| `{name}` |" in page("concepts.md")


def test_the_rerank_weights_are_those_of_the_code() -> None:
    """concepts.md states the weights that the reranker uses."""
    from arr_sql.retrieval.bm25_scoring import Bm25Parameters
    from arr_sql.retrieval.rule_reranker import RerankWeights

    text, weights, bm25 = page("concepts.md"), RerankWeights(), Bm25Parameters()
    assert weights.bm25 == weights.vector == weights.memory
    assert f"| `bm25`, `vector`, `research-memory` | {weights.bm25:.2f} each |" in text
    assert f"| `grep`, and any other channel | {weights.grep:.2f} | the same; {weights.quoted:.2f} when" in text
    for name in ("fused", "coverage", "heading", "phrase", "identifier"):
        assert f"| `{name}` | {getattr(weights, name):.2f} |" in text
    assert f"k1 = {bm25.k1:g}, b = {bm25.b:g}" in text
    assert bm25.heading_weight == 2.0, "concepts.md says that a heading word counts twice"


def test_the_page_can_be_wrong(tmp_path: Path) -> None:
    """The check can fail: a changed generated part is found."""
    broken = tmp_path / "errors.md"
    broken.write_text(page("errors.md").replace("| `ArrError` |", "| `OtherError` |"), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "cogapp", "--check", str(broken)],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode != 0
