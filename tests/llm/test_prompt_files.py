"""Contract 12.6: a prompt's text never changes under its version, and every version that ever was is still known."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from arr_sql.core.advice import Purpose
from arr_sql.core.canonical import sha256_text
from arr_sql.llm.prompt_files import CURRENT, load_prompt

HASHES = Path(__file__).parent / "prompt_hashes.json"
"""Version to SHA-256. A line is added with a new prompt and never changed."""


def texts() -> dict[str, str]:
    """Every prompt file by its name."""
    folder = resources.files("arr_sql.llm").joinpath("prompts")
    return {
        path.name: path.read_text("utf-8").replace("\r\n", "\n") for path in folder.iterdir() if path.name[0] != "_"
    }


def test_a_changed_prompt_needs_a_new_version() -> None:
    """The files are those whose hashes are known, no more, no fewer, and unchanged."""
    found = {name.removesuffix(".md"): sha256_text(text) for name, text in texts().items()}
    assert found == json.loads(HASHES.read_text("utf-8")), "Don't edit a prompt: add a file with the next number."


@pytest.mark.parametrize("purpose", ["planner", "reranker"])
def test_the_prompt_in_use_asks_for_its_own_version(purpose: Purpose) -> None:
    """Its example names it, its data are called untrusted, and it is the newest of its kind."""
    prompt = load_prompt(purpose)
    assert prompt.version == CURRENT[purpose] and f'"version": "{prompt.version}"' in prompt.text
    assert "untrusted" in prompt.text and prompt.purpose == purpose
    kind = prompt.version.rpartition("-")[0]
    assert prompt.version == max(
        (n.removesuffix(".md") for n in texts() if n.startswith(kind)), key=lambda n: int(n[5:])
    )
    assert prompt.text[:20] not in repr(prompt)


def test_prompts_hold_nothing_of_a_project() -> None:
    """They are the same for everyone: no placeholder is filled in."""
    assert not [name for name, text in texts().items() if "{query}" in text or "{{" in text or "%s" in text]
