"""Which embedding model is used: the default one, or the one that the operator names in ``ARR_EMBEDDER``.

Read from the environment alone: nothing in a project's files can choose a model or a server (contract 12.2). The value is a
kind and, after a colon, what of it: see ``KINDS``. Other packages add kinds by the entry point group ``arr_sql.embedders``: the
name is the kind, the object is called with what follows the colon and gives an ``Embedder``.
``tests/index/test_embedder_choice.py`` and docs/embedders.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from arr_sql.errors import InputError, ModelError
from arr_sql.index.embedders.model_paths import E5_MODEL_ID, find_default_model
from arr_sql.index.embedders.protocol import Embedder, EmbedderSpec

VARIABLE = "ARR_EMBEDDER"
ENDPOINT_VARIABLE = "ARR_EMBEDDER_ENDPOINT"
QUERY_PREFIX_VARIABLE, PASSAGE_PREFIX_VARIABLE = "ARR_EMBEDDER_QUERY_PREFIX", "ARR_EMBEDDER_PASSAGE_PREFIX"
TIMEOUT_VARIABLE = "ARR_EMBEDDER_TIMEOUT_SECONDS"
KEY_VARIABLE = "ARR_SILICONFLOW_API_KEY"
ENTRY_POINT_GROUP = "arr_sql.embedders"

KINDS = {
    "store": "a model that `arr model add` registered, by its id",
    "model2vec": "a folder with a model2vec model",
    "sentence-transformers": "a folder with a sentence-transformers model",
    "fastembed": "a model's name; fastembed must have it in its cache, or in FOLDER: NAME@FOLDER",
    "ollama": "a model's name; a server on this machine, http://127.0.0.1:11434/v1 unless ARR_EMBEDDER_ENDPOINT names it",
    "openai": "a model's name; SiliconFlow, or the server on this machine that ARR_EMBEDDER_ENDPOINT names",
}
OLLAMA_URL = "http://127.0.0.1:11434/v1"
_DEFAULT_SECONDS, _MOST_SECONDS = 60.0, 600.0


class Choice(NamedTuple):
    """What ``ARR_EMBEDDER`` says: a kind and an argument."""

    kind: str
    argument: str


def read_choice(environment: Mapping[str, str] | None = None) -> Choice | None:
    """The operator's choice; None for the default model. Raises ModelError when the value makes no sense."""
    value = (os.environ if environment is None else environment).get(VARIABLE, "").strip()
    if not value:
        return None
    kind, colon, argument = value.partition(":")
    if not (colon and kind and argument.strip()):
        kinds = "".join(f"\n  {name}:...  {meaning}" for name, meaning in KINDS.items())
        raise ModelError(f"{VARIABLE} is not KIND:WHAT. Kinds are{kinds}\nand those of installed packages.")
    return Choice(kind, argument.strip())


def has_embedder() -> bool:
    """Is there a model to open? Opens none."""
    return bool(os.environ.get(VARIABLE, "").strip()) or find_default_model() is not None


def open_chosen(choice: Choice | None, environment: Mapping[str, str] | None = None) -> Embedder:
    """The embedder of a choice. Raises ModelError, with the next step, when it cannot be had."""
    from arr_sql.index.embedders.model_store import open_embedder

    values = os.environ if environment is None else environment
    if choice is None:
        return open_embedder()
    prefixes = {
        "query_prefix": values.get(QUERY_PREFIX_VARIABLE, ""), "passage_prefix": values.get(PASSAGE_PREFIX_VARIABLE, ""),
    }  # fmt: skip
    if choice.kind == "store":
        return open_embedder(choice.argument)
    if choice.kind in ("model2vec", "sentence-transformers", "fastembed"):
        from arr_sql.index.embedders.package_embedders import (
            FastEmbedEmbedder,
            Model2VecEmbedder,
            SentenceTransformersEmbedder,
        )

        if choice.kind == "fastembed":
            return FastEmbedEmbedder(choice.argument, **prefixes)
        opened = Model2VecEmbedder if choice.kind == "model2vec" else SentenceTransformersEmbedder
        return opened(Path(choice.argument).expanduser(), **prefixes)
    if choice.kind in ("ollama", "openai"):
        return _open_endpoint(choice, values, prefixes)
    return _open_plugin(choice)


def open_older(model_id: str) -> Embedder | None:
    """A model that made vectors of a store, by its id there: the default one or one that is registered; else None."""
    from arr_sql.index.embedders.model_store import list_models, open_embedder

    if model_id != E5_MODEL_ID and model_id not in {model.id for model in list_models()}:
        return None
    try:
        return open_embedder(model_id)
    except ModelError:
        return None


def _open_endpoint(choice: Choice, values: Mapping[str, str], prefixes: dict[str, str]) -> Embedder:
    from pydantic import SecretStr

    from arr_sql.llm.endpoint import SILICONFLOW, local_endpoint
    from arr_sql.llm.endpoint_embedder import MAX_RESPONSE_BYTES, EndpointEmbedder
    from arr_sql.llm.http_client import HttpClient

    named = values.get(ENDPOINT_VARIABLE, "").strip() or (OLLAMA_URL if choice.kind == "ollama" else "")
    try:
        endpoint = local_endpoint(named) if named else SILICONFLOW
        seconds = float(values.get(TIMEOUT_VARIABLE, "").strip() or _DEFAULT_SECONDS)
    except InputError as error:
        raise ModelError(f"{ENDPOINT_VARIABLE}: {error}") from None
    except ValueError:
        raise ModelError(f"{TIMEOUT_VARIABLE} is not a number of seconds.") from None
    if not 0 < seconds <= _MOST_SECONDS:
        raise ModelError(f"{TIMEOUT_VARIABLE} must be above 0 and at most {_MOST_SECONDS:g} seconds.")
    key = values.get(KEY_VARIABLE, "").strip()
    if not endpoint.is_local and not key:
        raise ModelError(f"{KEY_VARIABLE} is not set, and the server that {VARIABLE} chooses needs it.")
    client = HttpClient(
        endpoint, key=SecretStr(key) if key else None, total_seconds=seconds, max_bytes=MAX_RESPONSE_BYTES
    )
    return EndpointEmbedder(client, choice.argument, kind=choice.kind, **prefixes)


def _open_plugin(choice: Choice) -> Embedder:
    from importlib.metadata import entry_points

    found = [point for point in entry_points(group=ENTRY_POINT_GROUP) if point.name == choice.kind]
    if len(found) != 1:
        how_many = "no installed package has it" if not found else "several installed packages have it"
        raise ModelError(f"{VARIABLE}: kind '{choice.kind}' is not known: {how_many}. Known are {', '.join(KINDS)}.")
    try:
        made: Any = found[0].load()(choice.argument)
    except ModelError:
        raise
    except Exception as error:  # foreign code
        raise ModelError(f"The package behind '{choice.kind}' failed: {type(error).__name__}.") from error
    if not isinstance(made, Embedder) or not isinstance(made.spec, EmbedderSpec):
        raise ModelError(f"The package behind '{choice.kind}' gave no Embedder (arr_sql/index/embedders/protocol.py).")
    return made
