"""The prompts, each a file named by its version in ``prompts/``.

A reply must name the version that it answers. A prompt's text never changes under its version
(tests/llm/test_prompt_files.py holds the hashes): a change is a new file with the next number.
"""

from __future__ import annotations

import functools
from importlib import resources

from arr_sql.core.advice import Prompt, Purpose

CURRENT: dict[Purpose, str] = {"planner": "plan-1", "reranker": "rank-1"}


@functools.cache
def load_prompt(purpose: Purpose) -> Prompt:
    """The prompt in use for ``purpose``."""
    version = CURRENT[purpose]
    text = resources.files("arr_sql.llm").joinpath(f"prompts/{version}.md").read_text("utf-8")
    return Prompt(purpose, version, text.replace("\r\n", "\n").strip())
