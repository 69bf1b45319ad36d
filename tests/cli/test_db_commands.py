"""``arr db check | migrate | rebuild | line-index | schema``."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from arr_sql.core.connection import open_writer
from tests.cli.support import arr

REPOSITORY = Path(__file__).resolve().parents[2]


def test_check_passes_on_a_healthy_file(project: Path) -> None:
    """Every check by name with `ok`, in both forms."""
    ran = arr("db", "check", "--json", cwd=project)
    assert ran.code == 0 and ran.json["passed"] is True
    assert len(ran.json["findings"]) >= 5 and all(item["passed"] for item in ran.json["findings"])
    text = arr("db", "check", cwd=project).out
    assert all(item["check"] in text for item in ran.json["findings"])


def test_check_finds_a_changed_row(project: Path) -> None:
    """Content changed behind the program's back: exit code 1 and the problem named."""
    connection = sqlite3.connect(project / ".arr/arr.db")
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
    for name in names:
        connection.execute(f'DROP TRIGGER "{name}"')
    connection.execute("UPDATE audit_event SET actor = 'somebody' WHERE seq = 2")
    connection.commit()
    connection.close()
    ran = arr("db", "check", "--json", cwd=project)
    assert ran.code == 1 and ran.json["passed"] is False
    assert [item["check"] for item in ran.json["findings"] if not item["passed"]]
    assert arr("db", "check", cwd=project).code == 1


def test_migrate_twice_is_harmless(project: Path) -> None:
    """A current file says so; an empty one is brought up to date and then is current."""
    assert arr("db", "migrate", cwd=project).out == "Already up to date.\n"
    empty = project / "empty.db"
    empty.write_bytes(b"")
    assert arr("status", "--db", str(empty), cwd=project).code == 1
    first, second = (arr("db", "migrate", "--db", str(empty), cwd=project).out for _ in range(2))
    assert first.startswith("Applied: 0001") and second == "Already up to date.\n"
    assert arr("status", "--db", str(empty), cwd=project).code == 0


def test_rebuild_keeps_the_answers(project: Path) -> None:
    """The index made anew gives the same evidence with the same scores."""
    before = arr("search", "warmup run", "--json", cwd=project).json["evidence"]
    ran = arr("db", "rebuild", cwd=project)
    assert ran.code == 0 and ran.out.startswith("Indexed ")
    assert arr("search", "warmup run", "--json", cwd=project).json["evidence"] == before != []


def test_schema_is_what_the_repository_ships(tmp_path: Path) -> None:
    """Printed or written to a file, outside any project, byte for byte schema.sql."""
    shipped = (REPOSITORY / "schema.sql").read_text("utf-8")
    assert arr("db", "schema", cwd=tmp_path).out == shipped
    assert arr("db", "schema", "--generate", "made.sql", cwd=tmp_path).code == 0
    assert (tmp_path / "made.sql").read_bytes() == shipped.encode()


def test_a_stale_index_is_said_with_the_way_out(project: Path) -> None:
    """An index behind its content: the channel is refused, status and search say `arr db rebuild`, which helps."""
    connection = open_writer(project / ".arr/arr.db")
    connection.execute("UPDATE scope_index SET content_revision = content_revision - 1 WHERE name = 'chunk_text'")
    changed = connection.execute("SELECT changes()").fetchone()[0]
    connection.close()
    assert changed
    assert "bm25             stale, run `arr db rebuild`" in arr("status", cwd=project).out
    ran = arr("search", "warmup", cwd=project)
    assert ran.code == 0 and "stale_index" in ran.out
    assert arr("db", "rebuild", cwd=project).code == 0
    assert "bm25             ready" in arr("status", cwd=project).out


def test_line_index_is_built_used_and_dropped(project: Path) -> None:
    """Counts for people and for programs; grep says what the index spared it; dropped, it is not used any more."""
    built = arr("db", "line-index", "--json", cwd=project).json
    assert (built["files"], built["folders"] > 0, set(built) >= {"indexed", "kept", "read_each_time", "bytes"}) == (
        4,
        True,
        True,
    )
    assert arr("db", "line-index", cwd=project).out.startswith("4 files in ")
    assert set(arr("grep", "diverged", "--json", cwd=project).json["line_index"]) == {"ruled_out", "changed", "damaged"}
    assert arr("grep", "diverged", cwd=project).out == "notes/warmup.md:3:The warmup run diverged at step 900.\n"
    assert arr("db", "line-index", "--drop", cwd=project).out.startswith("Dropped: ")
    assert arr("grep", "diverged", "--json", cwd=project).json["line_index"] is None
    assert arr("db", "line-index", "--drop", "--json", cwd=project).json == {"folders_removed": 0}


def test_a_damaged_line_index_is_named(project: Path) -> None:
    """By the check and by grep, which finds the line all the same; built again it is whole."""
    assert arr("db", "line-index", cwd=project).code == 0
    connection = sqlite3.connect(project / ".arr/arr.db")
    connection.execute("UPDATE line_index_folder SET check_sum = 1")
    connection.commit()
    connection.close()
    ran = arr("grep", "diverged", cwd=project)
    assert (ran.code, ran.out) == (0, "notes/warmup.md:3:The warmup run diverged at step 900.\n")
    assert "rows of the line index are damaged and were not used. `arr db line-index` makes them anew." in ran.err
    assert "run `arr db line-index`" in arr("db", "check", cwd=project).out
    assert arr("db", "line-index", cwd=project).code == 0
    assert arr("db", "check", cwd=project).code == 0
