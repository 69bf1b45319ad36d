"""``arr memory edit | history | verify | ... | import | export | promote`` and ``arr scope open | merge-preview``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.support import ARR, MEMORY, arr, environment

on_a_terminal = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")


def status_of(memory_id: str, project: Path, *options: str) -> str:
    return str(arr("memory", "show", memory_id, "--json", *options, cwd=project).json["status"])


def terminal(*arguments: str, cwd: Path, say: str = "", **values: str) -> tuple[int, str]:
    """Run on a pseudo-terminal, answer ``say``: the exit code and what was written."""
    pexpect = pytest.importorskip("pexpect")
    child = pexpect.spawn(
        ARR[0], [*ARR[1:], *arguments], cwd=str(cwd), encoding="utf-8", timeout=60, dimensions=(60, 100),
        env=environment(**{"TERM": "xterm-256color", "TMPDIR": str(cwd.parent), **values}),
    )  # fmt: skip
    written = ""
    if say:
        child.expect(r"\[y/N\]")
        written = child.before
        child.sendline(say)
    written += child.read()
    child.close()
    return child.exitstatus, written


def editor(project: Path, body: str) -> str:
    """A small program as an editor; ``path`` is the file it is given."""
    script = project / "editor.py"
    script.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{body}\n", "utf-8")
    return f"'{sys.executable}' '{script}'"


# --- The life of a memory ---------------------------------------------------------------------------------------------


def test_every_step_of_a_life(project: Path) -> None:
    """Each command says the new status; the history tells who, when, why and what changed."""
    steps = [
        (("edit", MEMORY, "--content", "Use 2500 steps.", "--reason", "measured"), "candidate"),
        (("verify", MEMORY), "verified"), (("publish", MEMORY), "published"),
        (("conflict", MEMORY, "m-kept", "--reason", "r9"), "conflict"),
        (("resolve", MEMORY, "--deprecate", "m-kept", "--reason", "wrong split"), "published"),
        (("expire", MEMORY, "--reason", "over"), "expired"),
        (("renew", MEMORY, "--expires", "2099-01-01T00:00:00Z"), "published"),
        (("deprecate", MEMORY, "--reason", "old"), "deprecated"), (("revoke", MEMORY, "--reason", "wrong"), "revoked"),
    ]  # fmt: skip
    for words, status in steps:
        ran = arr("memory", *words, cwd=project)
        assert (ran.code, ran.err) == (0, "") and f"Memory {MEMORY} is {status}: Warmup\n" in ran.out, ran
    assert status_of("m-kept", project) == "deprecated"
    versions = arr("memory", "history", MEMORY, "--json", cwd=project).json
    assert [version["memory"]["status"] for version in versions] == ["candidate", *(status for _, status in steps)]
    assert {"actor", "reason", "at", "event", "scope_seq", "retired_revision", "memory"} == set(versions[0])
    table = arr("memory", "history", MEMORY, cwd=project).out
    assert "memory_edited" in table and "content" in table and "measured" in table
    assert arr("memory", "show", MEMORY, "--history", "--json", cwd=project).json["history"] == versions
    assert "memory_edited" in arr("memory", "show", MEMORY, "--history", cwd=project).out
    assert arr("audit", "verify", cwd=project).code == 0


def test_each_field_can_be_edited_and_cleared(project: Path) -> None:
    """Options give a field anew, --clear takes it away, --meta sets one entry beside the others."""
    added = arr("memory", "add", "--title", "Case", "--content", "C", "--kind", "research_case", "--id", "case", "--evidence", "c1",
                "--action", "rerun", "--meta", "seed=7", "--meta", "note=a=b", "--source", "a.md", "--json", cwd=project).json  # fmt: skip
    assert (added["evidence_chunk_ids"], added["proposed_actions"]) == (["c1"], ["rerun"])
    assert added["metadata"] == {"seed": 7, "note": "a=b"}
    edited = arr(
        "memory", "edit", "case", "--title", "数据", "--source", "b.md", "--source", "c.md", "--confidence", "0.5", "--only-env", "h800",
        "--conflict-key", "k", "--expires", "2099-01-01T00:00:00+01:00", "--action", "stop", "--meta", "seed=8",
        "--clear", "evidence", "--json", cwd=project,
    ).json  # fmt: skip
    assert {name: edited[name] for name in edited if edited[name] != added[name]} == {
        "title": "数据", "source_refs": ["b.md", "c.md"], "confidence": 0.5, "conflict_key": "k", "proposed_actions": ["stop"],
        "applicability": {"experiment_environments": ["h800"]}, "expires_at": "2098-12-31T23:00:00.000000Z",
        "evidence_chunk_ids": [], "metadata": {"seed": 8, "note": "a=b"}, "updated_at": edited["updated_at"],
        "revision": edited["revision"],
    }  # fmt: skip
    clear = [
        word
        for name in ("sources", "only-env", "conflict-key", "expires", "related", "actions", "meta")
        for word in ("--clear", name)
    ]
    empty = arr("memory", "edit", "case", *clear, "--json", cwd=project).json
    assert [empty[name] for name in ("source_refs", "applicability", "conflict_key", "expires_at", "proposed_actions", "metadata")] == [
        [], {}, None, None, [], {},
    ]  # fmt: skip
    again = arr("memory", "edit", "case", "--title", "数据", cwd=project)
    assert again.err == "Nothing differs: nothing was written.\n"


def test_a_pipe_gives_the_content(project: Path) -> None:
    """Without options, or with --content - beside others."""
    assert arr("memory", "edit", MEMORY, "--json", cwd=project, stdin="数据 1\n".encode()).json["content"] == "数据 1\n"
    both = arr("memory", "edit", MEMORY, "--content", "-", "--title", "T", "--json", cwd=project, stdin=b"two").json
    assert (both["content"], both["title"]) == ("two", "T")


def test_a_lost_update_is_told(project: Path) -> None:
    """--expect-revision refuses with the current revision in the message, for people and for programs (conc-01)."""
    read = arr("memory", "show", MEMORY, "--json", cwd=project).json["revision"]
    assert arr("memory", "edit", MEMORY, "--content", "base+B", "--expect-revision", str(read), cwd=project).code == 0
    now = arr("memory", "show", MEMORY, "--json", cwd=project).json["revision"]
    late = arr("memory", "edit", MEMORY, "--content", "base+A", "--expect-revision", str(read), "--json", cwd=project)
    error = json.loads(late.err)
    assert (late.code, error["error"]) == (1, "MemoryChanged") and f"--expect-revision {now}" in error["message"]
    assert arr("memory", "show", MEMORY, "--json", cwd=project).json["content"] == "base+B"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("edit", "m-kept", "--content", "x"), 1, "is published"), (("edit", "none", "--content", "x"), 1, "no memory 'none'"),
        (("edit", MEMORY, "--meta", "novalue"), 2, "KEY=VALUE"), (("edit", MEMORY, "--action", "x"), 1, "research_case"),
        (("resolve", "m-kept", "--reason", "x"), 1, "is published, not conflict"), (("link", MEMORY), 2, "Name a memory"),
        (("link", MEMORY, MEMORY), 1, "related to itself"), (("link", MEMORY, "none"), 1, "does not exist"),
        (("renew", "m-kept", "--expires", "2099-01-01T00:00:00Z"), 1, "has not run out"),
        (("renew", "m-kept", "--expires", "soon"), 1, "ISO 8601"), (("expire", MEMORY, "--reason", "x"), 1, "can't become expired"),
        (("deprecate", "m-kept"), 2, "--reason"), (("history", "none"), 1, "no memory 'none'"),
        (("list", "--since", "soon"), 1, "ISO 8601"), (("import", "none.jsonl"), 1, "no file and no folder"),
        (("import", "x", "--keep-status"), 2, "--reason"), (("export", "--markdown"), 2, "needs a folder"),
        (("promote", "m-kept"), 2, "Name the other scope"), (("promote", "m-kept", "--to-branch", "typo", "--yes"), 1, "holds no scope"),
        (("promote", "m-kept", "--to-branch", "no-git", "--yes"), 1, "this very scope"),
    ],
)  # fmt: skip
def test_what_is_refused_says_what_to_do(words: tuple[str, ...], code: int, says: str, project: Path) -> None:
    """Exit code 1 or 2, one message, nothing changed."""
    before = arr("memory", "list", "--json", cwd=project).json
    ran = arr("memory", *words, cwd=project)
    assert (ran.code, ran.out) == (code, "") and says in ran.err and "internal fault" not in ran.err, ran
    assert arr("memory", "list", "--json", cwd=project).json == before


def test_relations(project: Path) -> None:
    """Added and removed; the other fields stay."""
    linked = arr("memory", "link", "m-kept", MEMORY, cwd=project)
    assert linked.out.endswith(f"Related: {MEMORY}\n") and status_of("m-kept", project) == "published"
    assert arr("memory", "link", "m-kept", "--remove", MEMORY, "--json", cwd=project).json["related_memory_ids"] == []


def test_list_filters_by_kind_and_time(project: Path) -> None:
    """Alone and together with --status."""
    arr("memory", "add", "--title", "T", "--content", "C", "--kind", "workflow", "--id", "w", cwd=project)
    ids = lambda *words: [m["memory_id"] for m in arr("memory", "list", *words, "--json", cwd=project).json]  # noqa: E731
    assert (ids("--kind", "workflow"), ids("--kind", "workflow", "--status", "published")) == (["w"], [])
    assert len(ids("--since", "1h")) == 3 and ids("--since", "2099-01-01") == []


# --- The editor -------------------------------------------------------------------------------------------------------


@on_a_terminal
def test_the_editor_opens_on_the_content(project: Path) -> None:
    """$EDITOR gets the text and its answer becomes the next version; the line end that editors add is not kept."""
    command = editor(
        project, "assert path.read_text() == 'Use 2000 steps.\\n'\npath.write_text('数据 2500\\n', 'utf-8')"
    )
    code, written = terminal("memory", "edit", MEMORY, cwd=project, EDITOR=command)
    assert code == 0, written
    assert arr("memory", "show", MEMORY, "--json", cwd=project).json["content"] == "数据 2500"
    added = editor(project, "path.write_text('first\\nsecond\\n')")
    code, written = terminal(
        "memory", "add", "--title", "T", "--id", "typed", cwd=project, VISUAL=added, EDITOR="false"
    )
    assert code == 0, written
    assert arr("memory", "show", "typed", "--json", cwd=project).json["content"] == "first\nsecond"


@on_a_terminal
def test_what_was_typed_is_kept_when_somebody_was_quicker(project: Path) -> None:
    """The editor's revision is expected; refused, the text lies in a file that is named."""
    quicker = f"import subprocess\nsubprocess.run([{sys.executable!r}, '-m', 'arr_sql', 'memory', 'edit', '{MEMORY}', '--content', 'B'])\n"
    command = editor(project, quicker + "path.write_text('typed for hours')")
    code, written = terminal("memory", "edit", MEMORY, cwd=project, EDITOR=command)
    assert code == 1 and "--expect-revision" in written
    kept = Path(written.split("Your text is kept in ")[1].splitlines()[0].strip())
    assert kept.read_text() == "typed for hours"
    assert arr("memory", "show", MEMORY, "--json", cwd=project).json["content"] == "B"
    kept.unlink()


@on_a_terminal
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("path.write_text('  ')", "text is empty"),
        ("sys.exit(3)", "ended with code 3"),
        ("path.write_bytes(b'\\xff')", "no UTF-8"),
    ],
)
def test_an_editor_that_fails_changes_nothing(body: str, says: str, project: Path) -> None:
    """Empty, failed, not UTF-8, or not there: a message and exit code 2."""
    code, written = terminal("memory", "edit", MEMORY, cwd=project, EDITOR=editor(project, body))
    assert code == 2 and says in " ".join(written.split())
    assert len(arr("memory", "history", MEMORY, "--json", cwd=project).json) == 1


@on_a_terminal
def test_published_words_are_refused_before_the_editor_opens(project: Path) -> None:
    """Nobody types in vain."""
    command = editor(project, "sys.exit(9)")
    code, written = terminal("memory", "edit", "m-kept", cwd=project, EDITOR=command)
    assert code == 1 and "is published" in written


# --- Files and other scopes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["jsonl", "markdown", "pipe"])
def test_out_and_in_again(form: str, project: Path, tmp_path: Path) -> None:
    """Exported, imported into another environment, exported again: the same bytes."""
    there = ("--env", "h800")
    first = arr("memory", "export", cwd=project).out
    keep = ("--keep-status", "--reason", "ours")
    if form == "jsonl":
        assert arr("memory", "export", str(tmp_path / "m.jsonl"), "--json", cwd=project).json["memories"] == 2
        assert (tmp_path / "m.jsonl").read_bytes() == first.encode()
        ran = arr("memory", "import", str(tmp_path / "m.jsonl"), *keep, *there, "--json", cwd=project)
    elif form == "markdown":
        assert arr("memory", "export", "--markdown", str(tmp_path / "md"), cwd=project).code == 0
        ran = arr("memory", "import", str(tmp_path / "md"), *keep, *there, "--json", cwd=project)
    else:
        ran = arr("memory", "import", "-", *keep, *there, "--json", cwd=project, stdin=first.encode())
    assert ran.json == {"imported": ["m-kept", MEMORY], "unchanged": [], "skipped": []}
    assert arr("memory", "export", *there, cwd=project).out == first
    assert [json.loads(line)["memory_id"] for line in first.splitlines()] == ["m-kept", MEMORY]
    assert arr("memory", "export", "--json", cwd=project).json == [json.loads(line) for line in first.splitlines()]


def test_a_broken_file_is_named_with_its_line(project: Path) -> None:
    """For people and programs; nothing is imported."""
    (project / "m.jsonl").write_text('{"title": "T", "content": "C"}\n{"title": "T"}\n', "utf-8")
    ran = arr("memory", "import", "m.jsonl", cwd=project)
    assert (ran.code, ran.out) == (1, "") and "m.jsonl:2: content is missing." in ran.err
    assert len(arr("memory", "list", "--json", cwd=project).json) == 2


def test_files_are_not_written_over(project: Path) -> None:
    """Only with --replace."""
    assert arr("memory", "export", "m.jsonl", cwd=project).code == 0
    again = arr("memory", "export", "m.jsonl", cwd=project)
    assert again.code == 1 and "--replace" in again.err
    assert arr("memory", "export", "m.jsonl", "--replace", "--history", cwd=project).code == 0
    told = arr("memory", "import", "m.jsonl", "--branch", "x", cwd=project)
    assert "Older versions in the file were not taken over" in told.err


def test_from_a_branch_to_main(project: Path) -> None:
    """Open a branch from main, publish there, look at what it would promote, promote it by name: a candidate on main."""
    lion = ("--branch", "try-lion")
    opened = arr("scope", "open", *lion, "--from", "no-git", "--json", cwd=project).json
    assert (opened["scope"]["branch"], opened["parent"]["branch"]) == ("try-lion", "no-git") and opened[
        "parent_revision"
    ] > 0
    again = arr("scope", "open", *lion, "--from", "no-git", cwd=project)
    assert again.code == 1 and "open already" in again.err
    assert arr("scope", "open", *lion, cwd=project).code == 2
    arr(
        "memory",
        "add",
        "--title",
        "Lion",
        "--content",
        "Lion works.",
        "--id",
        "lion",
        "--source",
        "a.md",
        *lion,
        cwd=project,
    )
    arr("memory", "publish", "lion", *lion, cwd=project)
    (item,) = arr("scope", "merge-preview", "--from", "try-lion", "--json", cwd=project).json
    assert (item["memory"]["memory_id"], item["state"], item["refusal"]) == ("lion", "absent", "")
    shown = arr("scope", "merge-preview", "--from", "try-lion", cwd=project)
    assert 'arr memory promote ID --to-branch "no-git"' in shown.out
    to = ("memory", "promote", "lion", "--to-branch", "no-git", *lion)
    unasked = arr(*to, cwd=project)
    assert unasked.code == 2 and "--dry-run" in unasked.err
    assert arr(*to, "--dry-run", "--json", cwd=project).json["new_id"] == "lion"
    assert arr("memory", "show", "lion", cwd=project).code == 1
    done = arr(*to, "--yes", "--reason", "merged", "--json", cwd=project).json
    assert done["memory"]["metadata"]["promoted_from"]["scope"]["branch"] == "try-lion"
    assert status_of("lion", project) == "candidate"
    empty = arr("scope", "merge-preview", "--from", "try-lion", cwd=project)
    assert empty.out == "Everything published there is here already.\n"
    kinds = [
        event["kind"] for words in ((), lion) for event in arr("audit", "list", "--json", *words, cwd=project).json[:1]
    ]
    assert kinds == ["memory_received", "memory_promoted"]


@on_a_terminal
@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_a_person_is_asked(answer: str, code: int, project: Path) -> None:
    """On a terminal the preview is followed by a question, whose answer counts."""
    arr("memory", "add", "--title", "T", "--content", "C", "--branch", "main", cwd=project)
    ended, written = terminal("memory", "promote", "m-kept", "--to-branch", "main", cwd=project, say=answer)
    assert ended == code and "absent there" in written
    assert (arr("memory", "show", "m-kept", "--branch", "main", cwd=project).code == 0) is (answer == "y")


@pytest.mark.parametrize("command", ["conflict", "deprecate", "revoke", "expire"])
def test_a_reason_that_is_asked_for_is_not_blank(project: Path, command: str) -> None:
    """What stands in the history for good says something."""
    ran = arr("memory", command, MEMORY, "--reason", "  ", cwd=project)
    assert ran.code == 2 and "it is blank" in ran.err
