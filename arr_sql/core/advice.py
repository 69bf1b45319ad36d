"""What passes between those who ask a language model and the one who may: plain values and one callable.

The planner and the reranker hold a :data:`Complete` and nothing else: no client, key, endpoint, store or scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from arr_sql.core.router_models import ReasonCode

Purpose = Literal["planner", "reranker"]


@dataclass(frozen=True)
class Prompt:
    """One versioned prompt. ``version`` (for example ``plan-1``) must come back in the reply."""

    purpose: Purpose
    version: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class Ask:
    """One question to a model: fixed instructions, untrusted data, and the JSON Schema of the reply."""

    prompt: Prompt
    data: str = field(repr=False)
    schema: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Reply:
    """What came back: the model's text, or the code that says why there is none. ``detail`` holds numbers only."""

    text: str | None = field(default=None, repr=False)
    code: ReasonCode | None = None
    detail: Mapping[str, int] = field(default_factory=dict)


Complete = Callable[[Ask], Reply]
"""Ask a language model once. Never raises."""
