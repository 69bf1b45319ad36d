"""Contract 1.3, 7.6: the file explains itself in plain SQLite, with no function and no module of ours.

The four statements of docs/audit.md about one memory are asked of a file in which a neighbouring scope holds a memory of
the same id, through the standard library's ``sqlite3`` in a bare interpreter and through the ``sqlite3`` shell.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from tests.conftest import StepClock
from tests.docs.audit_project import SCOPE, WITHOUT_VECTORS, build
from tests.docs.blocks import ROOT, blocks

VIEWS = ("audit_trail", "retrieval_trail", "evidence_trail", "memory_trail", "approval_trail")
PAGE = (ROOT / "docs" / "audit.md").read_text("utf-8")
SIDES = [
    block.code
    for block in blocks(PAGE.split("## One memory from four sides")[1].split("\n## ")[0])
    if block.language == "sql"
]

BARE = """
import json, sqlite3, sys
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(json.dumps([connection.execute(statement).fetchall() for statement in json.loads(sys.argv[2])]))
assert not [name for name in sys.modules if name.startswith(("arr_sql", "pysqlite3", "sqlean", "sqlite_utils"))]
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the page, and beside it a branch whose memory of that id dan published without anybody's approval."""
    folder = tmp_path_factory.mktemp("stock")
    path = build(folder)
    branch = ScopeKey(**{**SCOPE.model_dump(), "branch": "try-lion"})
    with ResearchDatabase(
        path, branch, project_folder=folder, actor="dan", clock=StepClock(), embedder=lambda: None
    ) as dan:
        dan.add_memory(memory_id="longer-warmup", title="Longer warmup", content="warmup with lion", kind="knowledge")
        dan.set_memory_status("longer-warmup", "published", "tried once")
        dan.search("warmup", plan=WITHOUT_VECTORS)
    return path


def python(path: Path, *statements: str) -> list[list[list[object]]]:
    """Rows of each statement in an interpreter that sees no installed package."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", BARE, path.as_posix(), json.dumps(statements)],
        capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found: list[list[list[object]]] = json.loads(done.stdout)
    return found


def test_one_memory_from_four_sides(file: Path) -> None:
    """Who published it, on what evidence, after whose approval, which answers used it: each scope's own, in one SELECT each."""
    published, evidence, approval, used = python(file, *SIDES)
    assert [row[:3] for row in published] == [["main", "longer-warmup", "bo"], ["try-lion", "longer-warmup", "dan"]]
    assert sorted(map(repr, evidence)) == sorted(
        map(
            repr,
            [
                ["main", '["notes/warmup.md"]', "[]", '["runs/r9.log"]', "r9 was stable"],
                ["try-lion", "[]", "[]", None, None],
            ],
        )
    )
    assert [(row[0], row[2], row[3], row[5], row[7]) for row in approval] == [
        ("main", "ana", "bo", "approved", "passed")
    ]
    assert sorted((row[0], row[3], row[4]) for row in used) == [("main", "cy", "warmup"), ("try-lion", "dan", "warmup")]
    assert {name for name in VIEWS if any(name in statement for statement in SIDES)} == set(VIEWS)


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_is_readable_whole(file: Path, view: str) -> None:
    """Every row of every view, and one for each row of its table."""
    table = {"audit_trail": "audit_event", "approval_trail": "approval_package", "evidence_trail": "retrieval_evidence"}
    counted, rows = python(
        file, f"SELECT count(*) FROM {table.get(view, view.removesuffix('_trail'))}", f"SELECT * FROM {view}"
    )
    assert len(rows) == counted[0][0] > 0


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="no sqlite3 shell")
def test_the_shell_says_the_same(file: Path) -> None:
    """The `sqlite3` program, as JSON, gives the rows that the library gives."""
    for statement, expected in zip(SIDES, python(file, *SIDES), strict=True):
        done = subprocess.run(
            ["sqlite3", "-readonly", "-json", str(file), statement], capture_output=True, text=True, encoding="utf-8"
        )
        if "unknown option: -json" in done.stderr:
            pytest.skip("this sqlite3 shell is older than its -json")
        assert (done.returncode, done.stderr) == (0, "")
        assert [list(row.values()) for row in json.loads(done.stdout or "[]")] == expected
