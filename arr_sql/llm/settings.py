"""What the operator's environment says about a language model. Read from there alone, never from a project's files.

A wrong setting is a value (``problem``), not an exception: a search goes on by the rules and says
``llm_not_configured``; ``arr llm check`` shows the sentence. The key is a ``SecretStr`` and is in no message.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import SecretStr

from arr_sql.errors import InputError
from arr_sql.llm.endpoint import SILICONFLOW, Endpoint, local_endpoint

ResponseFormat = Literal["json_schema", "json_object", "none"]

DEFAULT_TIMEOUT_SECONDS = 5.0
MAX_TIMEOUT_SECONDS = 120.0
MAX_MODEL_LENGTH = 200
_ON, _OFF = frozenset({"1", "true", "yes", "on"}), frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True)
class LLMSettings:
    """Settings as found. ``problem`` says what is wrong and what to do; '' when all is well or all is off."""

    is_enabled: bool = False
    endpoint: Endpoint = SILICONFLOW
    model: str = ""
    key: SecretStr | None = None
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    response_format: ResponseFormat = "json_object"
    problem: str = ""


def read_llm_settings(environment: Mapping[str, str] | None = None) -> LLMSettings:
    """The settings in ``environment`` (default: this process's)."""
    values = os.environ if environment is None else environment

    def get(name: str) -> str:
        return values.get(name, "").strip()

    switch = get("ARR_LLM_ENABLED").lower()
    if switch in _OFF:
        return LLMSettings()
    try:
        if switch not in _ON:
            raise InputError("ARR_LLM_ENABLED is neither 1 nor 0. Set it to 1 to switch the language model on.")
        named = get("ARR_LLM_ENDPOINT")
        endpoint = local_endpoint(named) if named else SILICONFLOW
        # A server on this machine is reached without TLS and never gets the key.
        key = None if endpoint.is_local else _key(get("ARR_SILICONFLOW_API_KEY"))
        return LLMSettings(
            is_enabled=True, endpoint=endpoint, model=_model(get("ARR_LLM_MODEL"), key), key=key,
            timeout_seconds=_timeout(get("ARR_LLM_TIMEOUT_SECONDS")),
            response_format=_response_format(get("ARR_LLM_RESPONSE_FORMAT"), endpoint),
        )  # fmt: skip
    except InputError as problem:
        return LLMSettings(is_enabled=True, problem=str(problem))


def _key(text: str) -> SecretStr:
    if not text:
        raise InputError("ARR_SILICONFLOW_API_KEY is not set. Set it, or name a local server with ARR_LLM_ENDPOINT.")
    if not 8 <= len(text) <= 512 or not all("!" <= character <= "~" for character in text):
        raise InputError("ARR_SILICONFLOW_API_KEY is not a key: 8 to 512 printable ASCII characters without spaces.")
    return SecretStr(text)


def _model(text: str, key: SecretStr | None) -> str:
    if not text:
        raise InputError("ARR_LLM_MODEL is not set. Set it to the id of a model that the server has.")
    if len(text) > MAX_MODEL_LENGTH or not text.isprintable() or any("\ud800" <= c <= "\udfff" for c in text):
        raise InputError(f"ARR_LLM_MODEL is not a model id: at most {MAX_MODEL_LENGTH} printable characters.")
    if key is not None and key.get_secret_value() in text:
        raise InputError("ARR_LLM_MODEL holds the key. Set it to the id of a model.")
    return text


def _timeout(text: str) -> float:
    if not text:
        return DEFAULT_TIMEOUT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= MAX_TIMEOUT_SECONDS:  # false for NaN too
        raise InputError(
            f"ARR_LLM_TIMEOUT_SECONDS is not a number of seconds above 0 and up to {MAX_TIMEOUT_SECONDS:g}."
        )
    return seconds


def _response_format(text: str, endpoint: Endpoint) -> ResponseFormat:
    """What to ask the server for. LM Studio takes no ``json_object``, SiliconFlow documents nothing else; nothing is retried."""
    if not text:
        return "json_schema" if endpoint.is_local else "json_object"
    for name in get_args(ResponseFormat):
        if text == name:
            return name  # type: ignore[no-any-return]
    raise InputError("ARR_LLM_RESPONSE_FORMAT is none of json_schema, json_object, none.")
