"""``arr grep``: what a person sees of the lines on disk, and what each exit code means."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arr_sql.retrieval import line_pattern
from tests.cli.support import Ran, arr

KEYS = {
    "pattern", "mode", "hits", "files_searched", "bytes_searched", "lines_withheld", "skipped", "left_out", "cut", "complete",
    "limits", "roots_missing", "roots_other_branch", "line_index",
}  # fmt: skip
needs_regex = pytest.mark.skipif(not line_pattern.has_regex_engine(), reason="needs the extra `regex`")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose trusted folder ``r`` is filled by the test: grep reads the disk, not the index."""
    (tmp_path / "p" / "r").mkdir(parents=True)
    assert arr("init", "--team", "t", cwd=tmp_path / "p").code == 0
    assert arr("add", "r", "--no-embed", cwd=tmp_path / "p").code == 0
    return tmp_path / "p"


def put(folder: Path, **files: str | bytes) -> None:
    for name, text in files.items():
        (folder / "r" / name.replace("__", ".")).write_bytes(text if isinstance(text, bytes) else text.encode())


def grep(folder: Path, *arguments: str) -> Ran:
    return arr("grep", *arguments, cwd=folder)


def test_lines_on_stdout_and_the_account_on_stderr(folder: Path) -> None:
    """Name, number and line; then how much was searched. Literal, without regard to case."""
    put(folder, a__md="one\nthe Needle (a+)+\n", b__md="needle\n", c__md="x\n")
    ran = grep(folder, "needle")
    assert (ran.code, ran.out) == (0, "r/a.md:2:the Needle (a+)+\nr/b.md:1:needle\n")
    assert ran.err == "2 lines in 2 files; 3 searched.\n"
    assert grep(folder, "(a+)+").out == "r/a.md:2:the Needle (a+)+\n"
    assert grep(folder, "needle", "--exact").out == "r/b.md:1:needle\n"
    assert grep(folder, "-l", "needle").out == "r/a.md\nr/b.md\n"
    assert (grep(folder, "zebra").code, grep(folder, "zebra").err) == (0, "Nothing found in 3 files.\n")


def test_many_files_without_an_index_are_worth_a_word(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On stderr, for people, by `arr grep` and `arr search`; no more once there is an index."""
    monkeypatch.setattr("arr_sql.cli._shared.MANY_FILES", 2)
    put(folder, a__md="needle\n", b__md="x\n")
    assert "line-index" not in grep(folder, "needle").err
    put(folder, c__md="x\n")
    advice = "3 files were read for their lines. `arr db line-index` spares most of that from then on.\n"
    assert grep(folder, "needle").err == "1 line in 1 file; 3 searched.\n" + advice
    assert arr("sync", cwd=folder).code == 0
    assert advice in arr("search", "needle", cwd=folder).err
    assert advice not in arr("search", "needle", "--json", cwd=folder).err
    assert arr("db", "line-index", cwd=folder).code == 0
    for command in ("grep", "search"):
        assert "line-index" not in arr(command, "needle", cwd=folder).err


def test_the_documented_json(folder: Path) -> None:
    """Every key, for lines and for names; an index offset for clipped ones."""
    put(folder, a__md="x needle\n", b__md=b"\x89PNG\r\n needle", c__md="needle password: hunter2-plum-77x\n")
    found = grep(folder, "needle", "--json").json
    assert set(found) == KEYS
    assert found["hits"] == [
        {
            "source_ref": "r/a.md",
            "line": 1,
            "column": 3,
            "text": "x needle",
            "clipped": False,
            "true_length": 8,
            "offset": 0,
        }
    ]
    assert (found["lines_withheld"], found["skipped"], found["left_out"]) == (
        1, {"binary": 1}, [{"source_ref": "r/b.md", "reason": "binary"}],
    )  # fmt: skip
    assert (found["mode"], found["cut"], found["complete"]) == ("literal", None, True)
    assert grep(folder, "needle", "--json", "-l").json["files"] == ["r/a.md"]


def test_paths_narrow_it_and_cannot_leave_the_folders(folder: Path) -> None:
    """Field report grepf-02 for people: a neighbour whose name begins alike, a way round, a link: one and the same answer."""
    put(folder, a__md="needle\n", b__md="needle\n")
    (folder / "r/sub").mkdir()
    (folder / "r/sub/c.md").write_text("needle\n", "utf-8")
    (folder / "r-private").mkdir()
    (folder / "r-private/plan.md").write_text("needle\n", "utf-8")
    assert grep(folder, "needle", "r/sub").out == "r/sub/c.md:1:needle\n"
    assert (
        grep(folder, "needle", "r/./b.md", str(folder / "r/sub/c.md")).out == "r/b.md:1:needle\nr/sub/c.md:1:needle\n"
    )
    for path in ("r-private/plan.md", "r/../r-private/plan.md", "/etc/passwd", "r-private/nothing.md", ".."):
        ran = grep(folder, "needle", path)
        assert (ran.code, ran.out) == (1, "") and "is outside the trusted folders" in ran.err
    ran = grep(folder, "needle", "r/none.md")
    assert (ran.code, ran.out) == (1, "") and "there is no such file" in ran.err


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_a_special_file_named_by_hand_is_an_error_and_not_a_hang(folder: Path) -> None:
    """Field report grepf-03: in the folder it is counted, named by hand it is refused."""
    put(folder, n__md="needle\n")
    os.mkfifo(folder / "r/pipe.md")
    (folder / "r/link.md").symlink_to("n.md")
    ran = grep(folder, "needle")
    assert ran.out == "r/n.md:1:needle\n" and "Not searched: 1 special_file, 1 symlink." in ran.err
    for name, words in (("pipe.md", "is a pipe"), ("link.md", "is a link")):
        ran = grep(folder, "needle", f"r/{name}")
        assert ran.code == 1 and words in ran.err


def test_a_minified_line_does_not_flood_the_answer(folder: Path) -> None:
    """Field report grepf-04: each match cut around the hit, flagged with the true length; the small note still shown."""
    put(
        folder, app__min__js="a" * 700_000 + " telemetry " + "b" * 1000, notes__md="telemetry here\n",
        big__json="[" + ",".join(f'"{n} telemetry {"x" * 2480}"' for n in range(2000)) + "]",
    )  # fmt: skip
    ran = grep(folder, "telemetry")
    assert ran.code == 0 and len(ran.out) < 2_000
    js, big, note = ran.out.splitlines()
    assert " telemetry " in js and js.endswith("[clipped: 701,011 characters, from 699,902]")
    assert big.startswith("r/big.json:1:") and "telemetry" in big and "[clipped: 4," in big
    assert note == "r/notes.md:1:telemetry here"
    hits = grep(folder, "telemetry", "--json").json["hits"]
    assert [(hit["clipped"], len(hit["text"]) <= 400) for hit in hits] == [(True, True), (True, True), (False, True)]
    assert hits[0]["true_length"] == 701_011 and hits[0]["column"] == 700_002


@needs_regex
def test_line_ends_of_windows(folder: Path) -> None:
    """Field report grepe-03: ``$`` and ``^`` work with CRLF, numbers are grep's, an inner CR is shown escaped."""
    put(folder, c__txt=b"red\r\ngreen\r\nblue", m__txt=b"a\nb\r\nc", r__txt=b"alpha beta\rgamma delta\n")
    assert grep(folder, "--regex", "red$").out == "r/c.txt:1:red\n"
    assert grep(folder, "--regex", "^blue$").out == "r/c.txt:3:blue\n"
    assert grep(folder, "--regex", "b$").out == "r/m.txt:2:b\n"
    assert grep(folder, "beta").out == "r/r.txt:1:alpha beta\\x0dgamma delta\n"
    assert [h["text"] for h in grep(folder, "--regex", "^.*$", "--json").json["hits"]] == [
        "red", "green", "blue", "a", "b", "c", "alpha beta\rgamma delta",
    ]  # fmt: skip


@needs_regex
def test_numbers_are_those_of_grep(folder: Path) -> None:
    """Compared with grep itself over a file of mixed line ends."""
    text = b"".join(
        b"%d %s%s" % (n, b"needle" if n % 3 else b"x", (b"\n", b"\r\n", b"\n\n")[n % 3]) for n in range(200)
    )
    put(folder, a__txt=text)
    theirs = subprocess.run(["grep", "-n", "needle", "r/a.txt"], cwd=folder, capture_output=True, text=True, check=True)
    numbers = [line.split(":")[0] for line in theirs.stdout.splitlines()]
    for extra in ((), ("--regex",), ("--exact",)):
        ran = grep(folder, "needle", *extra)
        assert [line.split(":")[1] for line in ran.out.splitlines()] == numbers


@needs_regex
@pytest.mark.parametrize("pattern", ["(", "[z-a]", "*x", "(?P<n>a)(?P<n>b)", "a" * 100_000])
def test_an_invalid_pattern_is_a_usage_error(folder: Path, pattern: str) -> None:
    """Field report grepr-01: exit code 2 and where it is wrong; the same text without --regex is simply looked for."""
    put(folder, n__md="needle\n")
    ran = grep(folder, "--regex", pattern)
    assert (ran.code, ran.out) == (2, "") and len(ran.err) < 400
    assert "position" in ran.err or "100,000 characters" in ran.err
    assert grep(folder, pattern).code == 0


@needs_regex
def test_a_catastrophic_pattern_ends(folder: Path) -> None:
    """Field report grepr-01: nested quantifiers end at once."""
    put(folder, l__txt="a" * 40 + "!\n", n__md="needle\n")
    ran = grep(folder, "--regex", "(a+)+$", "--deadline", "10")
    assert (ran.code, ran.out) == (0, "") and "2 files" in ran.err


def test_a_limit_is_said_and_is_3_only_with_strict(folder: Path) -> None:
    """Partial results are flagged in both forms; the exit code stays 0 unless --strict asks."""
    put(folder, a__md="needle\n" * 9)
    ran = grep(folder, "needle", "--max-results", "4")
    assert ran.code == 0 and ran.out.count("\n") == 4 and "Stopped at the limit of lines (--max-results)" in ran.err
    strict = grep(folder, "needle", "--max-results", "4", "--strict", "--json")
    assert (strict.code, strict.json["cut"], strict.json["complete"], len(strict.json["hits"])) == (
        3,
        "max_results",
        False,
        4,
    )
    assert grep(folder, "needle", "--strict").code == 0


def test_the_lines_of_a_root_inside_another_come_once(folder: Path) -> None:
    """As in a sync, the inner root answers for its files."""
    put(folder, a__md="needle\n")
    (folder / "r/in").mkdir()
    (folder / "r/in/b.md").write_text("needle\n", "utf-8")
    assert arr("add", "r/in", ".", "--no-embed", cwd=folder).code == 0
    assert grep(folder, "needle").out == "r/a.md:1:needle\nr/in/b.md:1:needle\n"


def test_nothing_is_written(folder: Path) -> None:
    """A look at the disk leaves no record and no event."""
    put(folder, a__md="needle\n")
    before = arr("audit", "list", "--json", cwd=folder).out
    assert grep(folder, "needle").code == 0
    assert arr("audit", "list", "--json", cwd=folder).out == before


def test_empty_or_before_add(folder: Path) -> None:
    """An empty text and a scope without folders each say what to do."""
    assert "Give a part of one line" in grep(folder, "").err and grep(folder, "").code == 1
    ran = grep(folder, "x", "--env", "other")
    assert ran.code == 1 and "`arr add FOLDER`" in ran.err


def test_nan_is_in_no_range(project: Path) -> None:
    """Comparisons let it through: it is refused by name."""
    ran = arr("grep", "warmup", "--deadline", "nan", cwd=project)
    assert ran.code == 2 and "nan is no number in the range" in ran.err
