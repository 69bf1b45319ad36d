"""A language model as the rest of the program sees it: ask once, get a text or a reason code. Never raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arr_sql.core.advice import Ask, Complete, Reply
from arr_sql.core.router_models import ReasonCode
from arr_sql.errors import LLMError
from arr_sql.llm.budget import CallBudget, RetrievalBudget
from arr_sql.llm.http_client import HttpClient
from arr_sql.llm.network import Network
from arr_sql.llm.settings import LLMSettings, read_llm_settings

MAX_REPLY_TOKENS = 2_048
MAX_REPLY_CHARACTERS = 64 << 10


class LanguageModel:
    """The model that the operator's environment names, or none."""

    def __init__(self, settings: LLMSettings | None = None, *, network: Network = Network()) -> None:
        """``settings`` are read from the environment when not given."""
        self.settings = settings if settings is not None else read_llm_settings()
        self._client = HttpClient(
            self.settings.endpoint, key=self.settings.key, total_seconds=self.settings.timeout_seconds, network=network
        )

    @property
    def model_id(self) -> str:
        """The model's id as the operator named it."""
        return self.settings.model

    def asking(self, budget: RetrievalBudget | None = None) -> Complete:
        """The one thing that is handed down: a callable that asks within ``budget`` (default: one retrieval's)."""
        granted = budget or CallBudget().for_retrieval()
        return lambda ask: self._complete(ask, granted)

    def request_body(self, ask: Ask) -> dict[str, Any]:
        """What is sent, whole."""
        body: dict[str, Any] = {
            "model": self.settings.model, "temperature": 0, "max_tokens": MAX_REPLY_TOKENS, "stream": False,
            "messages": [
                {"role": "system", "content": ask.prompt.text}, {"role": "user", "content": ask.data},
            ],
        }  # fmt: skip
        if self.settings.response_format == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif self.settings.response_format == "json_schema":
            name = ask.prompt.version.replace("-", "_")
            body["response_format"] = {
                "type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": dict(ask.schema)},
            }  # fmt: skip
        return body

    def _complete(self, ask: Ask, budget: RetrievalBudget) -> Reply:
        if not self.settings.is_enabled:
            return Reply(code=ReasonCode.LLM_OFF)
        if self.settings.problem:
            return Reply(code=ReasonCode.LLM_NOT_CONFIGURED)
        if not budget.take(ask.prompt.purpose):
            return Reply(code=ReasonCode.LLM_BUDGET_EXHAUSTED)
        try:
            answer = self._client.post("/chat/completions", self.request_body(ask))
        except LLMError as error:
            return Reply(code=ReasonCode(error.code), detail=error.detail)
        text = _content(answer)
        if text is None:
            return Reply(code=ReasonCode.LLM_NOT_A_COMPLETION)
        if self._client.holds_key(text):
            return Reply(code=ReasonCode.LLM_KEY_ECHOED)
        return Reply(code=ReasonCode.LLM_TOO_LARGE) if len(text) > MAX_REPLY_CHARACTERS else Reply(text)


def _content(answer: Any) -> str | None:
    """The text of exactly one finished choice that calls no tool; None for anything else."""
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], Mapping):
        return None
    message = choices[0].get("message")
    if not isinstance(message, Mapping) or choices[0].get("finish_reason", "stop") not in ("stop", None):
        return None
    if message.get("role", "assistant") != "assistant" or message.get("tool_calls") or message.get("function_call"):
        return None
    content = message.get("content")
    return content if isinstance(content, str) else None
