"""``arr init | status | doctor | scope``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from arr_sql.cli._doctor import _litestream
from arr_sql.core.research_models import SCOPE_COLUMNS
from tests.cli.support import arr


def test_init_writes_settings_database_and_gitignore(tmp_path: Path) -> None:
    """A new folder gets arr.toml, .arr/arr.db and a .gitignore that keeps the file out of the repository."""
    ran = arr("init", "--team", "vision", "--name", "lumen", "--env", "a100", cwd=tmp_path)
    assert ran.code == 0 and ran.out.startswith(f"Wrote {tmp_path / 'arr.toml'}\n") and "Next: arr add ." in ran.out
    assert (tmp_path / ".arr/.gitignore").read_text("utf-8") == "*\n"
    assert (tmp_path / ".arr/arr.db").stat().st_size > 0
    scope = arr("status", "--json", cwd=tmp_path).json["scope"]
    assert [scope[name] for name in SCOPE_COLUMNS] == ["vision", "lumen", tmp_path.name, "no-git", "a100"]


def test_init_json(tmp_path: Path) -> None:
    """One object with the paths, whether the project is new, the scope and the notes; nothing on stderr."""
    first, second = (arr("init", "--json", cwd=tmp_path) for _ in range(2))
    assert (first.code, first.err) == (0, "")
    assert set(first.json) == {"config", "database", "created", "scope", "notes"}
    assert (first.json["created"], second.json["created"]) == (True, False)
    assert set(first.json["scope"]) == set(SCOPE_COLUMNS)
    assert "No git repository" in first.json["notes"][0]


def test_init_twice_changes_nothing(project: Path) -> None:
    """The second init keeps arr.toml to the byte, the content and the .gitignore."""
    (project / "arr.toml").write_text((project / "arr.toml").read_text("utf-8") + "\n# mine\n", "utf-8")
    (project / ".arr/.gitignore").write_text("# mine\n", "utf-8")
    before = ((project / "arr.toml").read_bytes(), arr("status", "--json", cwd=project).json)
    ran = arr("init", cwd=project)
    assert ran.code == 0 and ran.out.startswith("Kept ")
    assert ((project / "arr.toml").read_bytes(), arr("status", "--json", cwd=project).json) == before
    assert (project / ".arr/.gitignore").read_text("utf-8") == "# mine\n"


def test_init_refuses_to_change_an_existing_project(project: Path) -> None:
    """Values for an existing arr.toml are refused, and the file is kept."""
    before = (project / "arr.toml").read_bytes()
    ran = arr("init", "--team", "other", cwd=project)
    assert ran.code == 1 and "exists already. Edit it" in ran.err
    assert (project / "arr.toml").read_bytes() == before


@pytest.mark.parametrize(
    "option", [("--team", "a\nb"), ("--name", "x" * 201), ("--env", " "), ("--name", ""), ("--team", "\udcff")]
)
def test_init_with_an_unfit_name_writes_nothing(option: tuple[str, str], tmp_path: Path) -> None:
    """A value that no scope may have is refused before a file is made."""
    ran = arr("init", *option, cwd=tmp_path)
    assert ran.code in (1, 2) and ran.out == "" and "internal fault" not in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ['a"b\\c', "项目 – é", "with space", "[x]"])
def test_init_writes_any_name_so_that_it_is_read_back(name: str, tmp_path: Path) -> None:
    """Quotes, backslashes and letters of any script survive arr.toml."""
    assert arr("init", "--name", name, cwd=tmp_path).code == 0
    assert arr("status", "--json", cwd=tmp_path).json["scope"]["project_id"] == name


def test_init_of_another_folder_and_of_a_missing_one(tmp_path: Path) -> None:
    """FOLDER is used instead of the current one; a missing one is an error with a next step."""
    (tmp_path / "inner").mkdir()
    assert arr("init", "inner", cwd=tmp_path).code == 0 and (tmp_path / "inner/arr.toml").exists()
    ran = arr("init", "gone", cwd=tmp_path)
    assert ran.code == 1 and "is not a folder. Make it first" in ran.err and not (tmp_path / "gone").exists()


def test_status_counts_and_channel_states(project: Path) -> None:
    """What the scope holds, in both forms, and how each channel stands with the next step."""
    ran = arr("status", "--json", cwd=project)
    state = ran.json
    assert (ran.code, ran.err) == (0, "")
    assert (state["sources"], state["memories"]) == (4, {"candidate": 1, "published": 1})
    assert state["retrievals"] == 1 and len(state["roots"]) == 3 and state["stale_indexes"] == []
    text = arr("status", cwd=project).out
    assert "vision" in text and "1 candidate, 1 published" in text
    assert f"not_indexed (0 of {state['chunks']}), run `arr embed`" in text
    assert "research-memory  ready" in text and "grep             ready" in text


def test_status_says_when_a_root_is_gone(project: Path) -> None:
    """A folder that was added and is not there now is called missing."""
    (project / "papers").rename(project / "elsewhere")
    ran = arr("status", cwd=project)
    assert ran.code == 0 and "papers  (missing)" in ran.out and "2 of 3 folders usable" in ran.out


def test_scope_list_marks_where_you_are(project: Path) -> None:
    """Every scope of the file with its counts; the one in use has a star."""
    (project / "more.md").write_text("another environment\n", "utf-8")
    assert arr("add", "more.md", "--no-embed", "--env", "h800", cwd=project).code == 0
    rows = arr("scope", "list", "--json", cwd=project).json
    assert [(row["experiment_environment"], row["sources"]) for row in rows] == [("a100", 4), ("h800", 1)]
    text = arr("scope", "list", "--env", "h800", cwd=project).out
    assert [line.split()[1] == "*" for line in text.splitlines() if "vision" in line] == [False, True]


def test_doctor_checks_the_machine_and_the_project(project: Path, tmp_path: Path) -> None:
    """The same checks in both forms; outside a project that is `weaker`, not broken."""
    ran = arr("doctor", "--json", cwd=project)
    assert ran.code == 0
    states = {item["check"]: item["state"] for item in ran.json}
    assert list(states) == [
        "python", "sqlite", "writers", "sqlite-vec", "model", "litestream", "project", "file system", "database",
    ]  # fmt: skip
    assert {states["python"], states["sqlite"], states["project"], states["database"]} == {"ok"}
    outside = arr("doctor", "--json", cwd=tmp_path).json[-1]
    assert (outside["check"], outside["state"]) == ("project", "weaker") and "arr init" in outside["next"]
    assert "arr init" in arr("doctor", cwd=tmp_path).out


def test_doctor_says_whether_copies_can_be_made(tmp_path: Path) -> None:
    """Without Litestream, or with one that is too old, everything else works: `weaker`, with what to install."""
    missing = _litestream([str(tmp_path)])
    assert missing.state == "weaker" and "pip install 'arr-sql[replica]'" in missing.next_step
    for version, state in (("v0.3.13", "weaker"), ("v0.5.14", "ok")):
        if sys.platform == "win32":
            (tmp_path / "litestream.bat").write_text(f"@echo {version}\n", "utf-8")
        else:
            (tmp_path / "litestream").write_text(f"#!/bin/sh\necho {version}\n", "utf-8")
            (tmp_path / "litestream").chmod(0o755)
        found = _litestream([str(tmp_path)])
        assert found.state == state and version in found.found + found.next_step


def test_doctor_names_a_broken_database(project: Path) -> None:
    """A damaged file is `broken`: exit code 1 with the reason."""
    (project / ".arr/arr.db").write_bytes(b"not a database" * 100)
    ran = arr("doctor", "--json", cwd=project)
    assert ran.code == 1
    assert (ran.json[-1]["check"], ran.json[-1]["state"]) == ("database", "broken")
    assert "is not an SQLite database" in ran.json[-1]["next"]


def test_status_source_by_source(project: Path) -> None:
    """Each source with how it was read and what is indexed; each file left out with its reason; freshness on request."""
    (project / "notes/gbk.txt").write_bytes("数据库检索测试的结果见附件。\n".encode("gbk"))
    (project / "notes/x.docx").write_bytes(b"PK\x03\x04")
    (project / "notes/.env").write_text("A=1\n", "utf-8")
    assert arr("sync", "--no-embed", cwd=project).code == 0
    (project / "notes/warmup.md").write_text("edited\n", "utf-8")
    (project / "src/train.py").unlink()
    ran = arr("status", "--sources", "--check", "--json", cwd=project)
    listed = {item["source_ref"]: item for item in ran.json["source_list"]}
    assert set(listed) == {"notes/warmup.md", "papers/README.md", "src/train.py", "notes/数据.md", "notes/gbk.txt"}
    assert set(listed["notes/gbk.txt"]) == {
        "source_ref", "size", "reader", "encoding", "encoding_confidence", "title", "warnings", "lines_withheld", "git_state",
        "chunks", "embedded", "freshness",
    }  # fmt: skip
    gbk = listed["notes/gbk.txt"]
    assert (gbk["reader"], gbk["encoding"], gbk["chunks"], gbk["embedded"]) == ("text", "gb18030", 1, 0)
    assert 0.55 <= gbk["encoding_confidence"] < 1
    assert {name: item["freshness"] for name, item in listed.items()} == {
        "notes/warmup.md": "changed", "papers/README.md": "fresh", "src/train.py": "missing", "notes/数据.md": "fresh",
        "notes/gbk.txt": "fresh",
    }  # fmt: skip
    assert [(item["source_ref"], item["reason"]) for item in ran.json["left_out_list"]] == [
        ("notes/.env", "sensitive_name"), ("notes/x.docx", "unknown_format"),
    ]  # fmt: skip
    people = arr("status", "--sources", cwd=project)
    assert (
        f"  notes/gbk.txt  (text, gb18030 at {gbk['encoding_confidence']:.2f}, 1 chunk, 0 with vectors)\n" in people.out
    )
    assert "  notes/x.docx  (unknown_format: no reader for this kind of file)\n" in people.out
    assert arr("status", "--check", cwd=project).code == 2
    empty = arr("status", "--sources", "--env", "other", cwd=project)
    assert "Sources:\n  none\nLeft out:\n  nothing\n" in empty.out
