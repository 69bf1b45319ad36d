"""Contract 12.1: off by default, keys from the environment alone and in no text."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from arr_sql.llm.endpoint import SILICONFLOW
from arr_sql.llm.settings import LLMSettings, read_llm_settings

KEY = "sk-canary-7c1f09ab22d34e5f"
REMOTE = {"ARR_LLM_ENABLED": "1", "ARR_SILICONFLOW_API_KEY": KEY, "ARR_LLM_MODEL": "Qwen/Qwen3-8B"}
LOCAL = {"ARR_LLM_ENABLED": "1", "ARR_LLM_ENDPOINT": "http://127.0.0.1:11434/v1", "ARR_LLM_MODEL": "qwen3:4b"}


@pytest.mark.parametrize("value", [None, "", "0", "false", "no", "OFF", " 0 "])
def test_off_by_default_whatever_else_is_set(value: str | None) -> None:
    """A key and a model alone switch nothing on, and are not even read."""
    values = {**REMOTE, "ARR_LLM_ENDPOINT": "http://example.org"}
    values.pop("ARR_LLM_ENABLED")
    if value is not None:
        values["ARR_LLM_ENABLED"] = value
    assert read_llm_settings(values) == LLMSettings()
    assert not LLMSettings().is_enabled and LLMSettings().key is None


def test_the_remote_model() -> None:
    """A key, a model, five seconds, and the JSON mode that SiliconFlow documents."""
    settings = read_llm_settings(REMOTE)
    assert settings.problem == "" and settings.is_enabled and settings.endpoint == SILICONFLOW
    assert settings.key is not None and settings.key.get_secret_value() == KEY
    assert (settings.model, settings.timeout_seconds, settings.response_format) == ("Qwen/Qwen3-8B", 5.0, "json_object")


def test_a_local_server_gets_no_key() -> None:
    """It is reached without TLS: the key is not even taken from the environment."""
    settings = read_llm_settings({**LOCAL, "ARR_SILICONFLOW_API_KEY": KEY, "ARR_LLM_TIMEOUT_SECONDS": "30"})
    assert settings.problem == "" and settings.key is None and settings.endpoint.url == LOCAL["ARR_LLM_ENDPOINT"]
    assert (settings.timeout_seconds, settings.response_format) == (30.0, "json_schema")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ARR_LLM_ENABLED": "maybe"}, "ARR_LLM_ENABLED"),
        ({"ARR_SILICONFLOW_API_KEY": ""}, "ARR_SILICONFLOW_API_KEY is not set"),
        ({"ARR_SILICONFLOW_API_KEY": "short"}, "is not a key"),
        ({"ARR_SILICONFLOW_API_KEY": f"{KEY}\r\nX-Evil: 1"}, "is not a key"),
        ({"ARR_SILICONFLOW_API_KEY": f"Bearer {KEY}"}, "is not a key"),
        ({"ARR_SILICONFLOW_API_KEY": f"{KEY}é"}, "is not a key"),
        ({"ARR_LLM_MODEL": ""}, "ARR_LLM_MODEL is not set"),
        ({"ARR_LLM_MODEL": "a\u0007b"}, "not a model id"),
        ({"ARR_LLM_MODEL": "m" * 201}, "not a model id"),
        ({"ARR_LLM_MODEL": f"x/{KEY}"}, "holds the key"),
        ({"ARR_LLM_TIMEOUT_SECONDS": "soon"}, "ARR_LLM_TIMEOUT_SECONDS"),
        ({"ARR_LLM_TIMEOUT_SECONDS": "nan"}, "ARR_LLM_TIMEOUT_SECONDS"),
        ({"ARR_LLM_TIMEOUT_SECONDS": "inf"}, "ARR_LLM_TIMEOUT_SECONDS"),
        ({"ARR_LLM_TIMEOUT_SECONDS": "0"}, "ARR_LLM_TIMEOUT_SECONDS"),
        ({"ARR_LLM_TIMEOUT_SECONDS": "-1"}, "ARR_LLM_TIMEOUT_SECONDS"),
        ({"ARR_LLM_ENDPOINT": "http://localhost:8080/v1"}, "not allowed"),
        ({"ARR_LLM_ENDPOINT": f"http://{KEY}@127.0.0.1:1/v1"}, "not allowed"),
        ({"ARR_LLM_RESPONSE_FORMAT": "xml"}, "ARR_LLM_RESPONSE_FORMAT"),
    ],
)
def test_a_wrong_setting_is_a_sentence_without_the_key(change: dict[str, str], said: str) -> None:
    """Named, with what to do; never raised; and the key is in none of it."""
    settings = read_llm_settings({**REMOTE, **change})
    assert settings.is_enabled and said in settings.problem and settings.problem.endswith(".")
    assert KEY not in repr(settings) and KEY not in settings.problem and settings.key is None


def test_the_key_is_in_no_text_of_the_settings() -> None:
    """Not in repr, str or format."""
    settings = read_llm_settings(REMOTE)
    for text in (repr(settings), str(settings), f"{settings}", repr(vars(settings))):
        assert KEY not in text
    assert KEY.encode() in pickle.dumps(settings)  # what a program pickles on purpose is its own affair


def test_files_of_a_project_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``.env`` beside the project switches nothing on."""
    (tmp_path / ".env").write_text("\n".join(f"{name}={value}" for name, value in REMOTE.items()), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert not read_llm_settings().is_enabled
    monkeypatch.setenv("ARR_LLM_ENABLED", "1")
    assert read_llm_settings().problem and "ARR_SILICONFLOW_API_KEY" not in os.environ
