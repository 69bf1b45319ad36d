"""``arr completion``: the script works in the shell it is made for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arr_sql.cli import COMMANDS
from tests.cli.support import arr, environment, process

SCRIPT = Path(sys.executable).parent / "arr"
posix = pytest.mark.skipif(sys.platform == "win32" or not SCRIPT.exists(), reason="needs a POSIX shell and the script")


def _shell(shell: str, code: str, cwd: Path) -> list[str]:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    path = f"{SCRIPT.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    ran = subprocess.run(
        [program, "-c", code],
        cwd=cwd,
        env=environment(PATH=path, HOME=str(cwd)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.split()


def _bash(line: str, cwd: Path) -> list[str]:
    words = " ".join(f"'{word}'" for word in line.split(" "))
    count = len(line.split(" ")) - 1
    code = f"""eval "$(arr completion bash)"
COMP_WORDS=({words}); COMP_CWORD={count}; _arr_completion arr; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return _shell("bash", code, cwd)


@posix
def test_bash_completes_commands_subcommands_options_and_choices(tmp_path: Path) -> None:
    """The sourced script fills COMPREPLY in a real bash."""
    assert _bash("arr se", tmp_path) == ["search"]
    assert set(_bash("arr ", tmp_path)) == set(COMMANDS)
    assert _bash("arr memory pu", tmp_path) == ["publish"]
    assert "--strict" in _bash("arr search --", tmp_path)
    assert _bash("arr memory list --status pub", tmp_path) == ["published"]


@posix
def test_bash_registers_the_completion(tmp_path: Path) -> None:
    """After sourcing, bash itself knows the completion of `arr`."""
    found = _shell("bash", 'eval "$(arr completion bash)"; complete -p arr', tmp_path)
    assert found[-1] == "arr" and "_arr_completion" in found


@posix
def test_fish_completes_commands(tmp_path: Path) -> None:
    """The sourced script answers fish's own completion request."""
    found = _shell("fish", 'arr completion fish | source; complete -C "arr se"', tmp_path)
    assert found[0] == "search"


@posix
def test_zsh_loads_the_script(tmp_path: Path) -> None:
    """zsh defines and registers the completion function."""
    code = 'autoload -Uz compinit; compinit -u; eval "$(arr completion zsh)"; print -r -- ${_comps[arr]}'
    assert _shell("zsh", code, tmp_path) == ["_arr_completion"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_protocol_answers(shell: str, tmp_path: Path) -> None:
    """What each script asks `arr` for is answered, also where that shell is not installed; nothing else is printed."""
    variables = {
        "_ARR_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "arr se",
        "COMP_CWORD": "se" if shell == "fish" else "1",
    }
    ran = process(cwd=tmp_path, env=variables)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert re.search(rb"\bsearch\b", ran.stdout)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed_without_running_a_shell(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contract 1.5: no shell is run, not even to ask bash for its version."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(subprocess, "run", refuse)
    ran = arr("completion", shell)
    assert (ran.code, ran.err) == (0, "") and "_ARR_COMPLETE" in ran.out


def test_another_shell_is_a_usage_error() -> None:
    """The three shells are named."""
    ran = arr("completion", "csh")
    assert ran.code == 2 and all(shell in ran.err for shell in ("bash", "zsh", "fish"))
