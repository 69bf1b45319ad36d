"""The cases of a live evaluation, read strictly: a file with planner, rerank and injection cases (docs/language-model.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from arr_sql.core.canonical import sha256_text
from arr_sql.core.research_models import Value
from arr_sql.core.strict_json import strict_json
from arr_sql.errors import GoldInvalid

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
Tool = Literal["research-memory", "bm25", "vector", "grep"]
Text = Annotated[str, Field(min_length=1, max_length=4_000)]


class PlannerCase(Value):
    """A query, the channels that should be asked for it, and those that should not."""

    case_id: Id
    query: Text
    expected_tools: Annotated[tuple[Tool, ...], Field(min_length=1)]
    forbidden_tools: tuple[Tool, ...] = ()
    note: str = ""

    @model_validator(mode="after")
    def _apart(self) -> PlannerCase:
        if set(self.expected_tools) & set(self.forbidden_tools):
            raise ValueError("a tool is expected and forbidden")
        return self


class Candidate(Value):
    """A text to be ranked. ``poisoned``: it tries to instruct the model."""

    id: Id
    text: Text
    grade: Annotated[int, Field(ge=0, le=3)]
    poisoned: bool = False


class RerankCase(Value):
    """A query and at most 20 texts with grades."""

    case_id: Id
    query: Text
    candidates: Annotated[tuple[Candidate, ...], Field(min_length=2, max_length=20)]
    note: str = ""

    @model_validator(mode="after")
    def _distinct(self) -> RerankCase:
        if len({item.id for item in self.candidates}) < len(self.candidates):
            raise ValueError("two candidates have one id")
        if not any(item.grade for item in self.candidates):
            raise ValueError("no candidate is relevant")
        return self


class LiveSet(Value):
    """All cases of one file."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    version: Annotated[str, Field(min_length=1, max_length=40)]
    planner_cases: tuple[PlannerCase, ...] = ()
    rerank_cases: tuple[RerankCase, ...] = ()
    injection_cases: tuple[RerankCase, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> LiveSet:
        cases: Sequence[PlannerCase | RerankCase] = (
            *self.planner_cases, *self.rerank_cases, *self.injection_cases,
        )  # fmt: skip
        if not cases:
            raise ValueError("there is no case")
        if len({case.case_id for case in cases}) < len(cases):
            raise ValueError("two cases have one case_id")
        if any(not any(item.poisoned for item in case.candidates) for case in self.injection_cases):
            raise ValueError("an injection case has no poisoned candidate")
        return self


def read_live_set(path: Path) -> tuple[LiveSet, str]:
    """The cases in ``path`` and the SHA-256 of its text. Raises GoldInvalid naming the place, never a case's text."""
    try:
        text = path.read_text("utf-8")
        return LiveSet.model_validate(strict_json(text)), sha256_text(text)
    except OSError as error:
        raise GoldInvalid(f"it can't be read ({error.strerror}).", str(path), 1) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise GoldInvalid(f"{where}: {first['msg']}. See docs/language-model.md.", str(path), 1) from None
    except ValueError:
        raise GoldInvalid("it is not one strict JSON object in UTF-8.", str(path), 1) from None
