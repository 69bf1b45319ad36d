"""A sentence-embedding model in a folder: ``model.onnx``, ``tokenizer.json`` and ``arr_model.json`` that describes it.

``arr_model.json`` may hold::

    {"id": "my-model", "dimension": 384, "query_prefix": "", "passage_prefix": "", "pooling": "mean",
     "window_tokens": 510, "fusion_weight": 0.3}

Without it the id is the folder's name in lower case, and the rest as above, except that the dimension is what the
model declares. ``pooling`` is ``mean`` (over tokens), ``cls`` (the first token) or ``none`` (the model's own sentence
vector). A folder is registered by copying it into the store with the hashes of its files; the copy is checked when it
is opened, and an id never changes its content. ``tests/index/test_e5_onnx_folder.py`` holds that.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from arr_sql.core.canonical import sha256_json
from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_file import sha256_of
from arr_sql.index.embedders.model_paths import (
    E5_MODEL_ID,
    HOW_TO_GET_A_MODEL,
    InstalledModel,
    check_model_id,
    model_folder,
)

MANIFEST = "arr_model.json"
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"

#: Weights that exporters write beside a model of more than 2 GB.
_EXTERNAL_DATA = ("model.onnx_data", "model.onnx.data")
_POOLINGS = ("mean", "cls", "none")
_LARGEST_MANIFEST = 64 << 10


@dataclass(frozen=True)
class OnnxDescription:
    """What ``arr_model.json`` says. ``sha256`` (file name to hash) is written by the store."""

    id: str
    dimension: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: str = "mean"
    window_tokens: int = 510
    fusion_weight: float = 0.3
    sha256: dict[str, str] = field(default_factory=dict)

    def revision(self) -> str:
        """Hex SHA-256 over the hashes of the model's files and the pooling."""
        return sha256_json({"files": self.sha256, "pooling": self.pooling})


def register_onnx_folder(folder: Path) -> InstalledModel:
    """Copy the ONNX model in ``folder`` into the store.

    Raises ModelError when a file is missing, ``arr_model.json`` is wrong, or its id is taken by other content.
    """
    sources = _source_files(folder)
    description = _read_description(folder / MANIFEST, folder.resolve().name.lower())
    if description.id == E5_MODEL_ID:
        raise ModelError(f"Model id '{E5_MODEL_ID}' is the default model's own. Choose another in {MANIFEST}.")
    target = model_folder() / check_model_id(description.id)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=target.parent) as temporary:
            copy = Path(temporary) / description.id
            copy.mkdir()
            for name, source in sources.items():
                shutil.copyfile(source, copy / name)
            described = replace(description, sha256={name: _hash(copy / name) for name in sources})
            (copy / MANIFEST).write_text(json.dumps(asdict(described), indent=1) + "\n", encoding="utf-8")
            if target.exists():
                _refuse_other_content(target, described)
            else:
                copy.rename(target)
    except OSError as error:
        raise ModelError(f"Model folder '{folder}' cannot be copied: {error.strerror or error}.") from error
    return installed_onnx(target)


def installed_onnx(folder: Path) -> InstalledModel:
    """The entry of a registered folder, without reading the model."""
    size = sum(file.stat().st_size for file in folder.iterdir())
    return InstalledModel(folder.name, "onnx", folder, size, "store")


def open_onnx_folder(folder: Path) -> OnnxDescription:
    """The description of a registered folder, after the hashes of its files were checked.

    Raises ModelError when a file is missing, changed, or was never registered.
    """
    description = _read_description(folder / MANIFEST, folder.name)
    if set(description.sha256) < {MODEL, TOKENIZER}:
        raise ModelError(f"Model folder '{folder}' was not registered. Run `arr model add {folder}`.")
    for name, expected in description.sha256.items():
        if name not in (MODEL, TOKENIZER, *_EXTERNAL_DATA):
            raise ModelError(f"{folder / MANIFEST}: 'sha256' names an unknown file '{name}'.")
        if not (folder / name).is_file() or _hash(folder / name) != expected:
            raise ModelError(
                f"Model '{description.id}': '{folder / name}' is missing or not the file that was registered."
                f" Remove the folder and run `arr model add` again."
            )
    return description


def _source_files(folder: Path) -> dict[str, Path]:
    """Name in the store to file to copy. Exporters put the model into the folder or into ``onnx`` below it."""
    model = next((path for path in (folder / MODEL, folder / "onnx" / MODEL) if path.is_file()), None)
    tokenizer = folder / TOKENIZER
    if model is None or not tokenizer.is_file():
        raise ModelError(
            f"'{folder}' holds no model: expected e5-small-q4.bin, or {MODEL} (or onnx/{MODEL}) and {TOKENIZER}.\n"
            + HOW_TO_GET_A_MODEL
        )
    beside = {name: model.parent / name for name in _EXTERNAL_DATA if (model.parent / name).is_file()}
    return {MODEL: model, TOKENIZER: tokenizer, **beside}


def _read_description(path: Path, default_id: str) -> OnnxDescription:
    if not path.exists():
        return OnnxDescription(check_model_id(default_id))
    try:
        if path.stat().st_size > _LARGEST_MANIFEST:
            raise ModelError(f"{path}: larger than {_LARGEST_MANIFEST} bytes.")
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not readable as JSON: {error}.") from error
    if not isinstance(data, dict):
        raise ModelError(f"{path}: expected an object.")
    known = {entry.name for entry in fields(OnnxDescription)}
    if unknown := sorted(set(data) - known):
        raise ModelError(f"{path}: unknown key '{unknown[0]}'; known are {', '.join(sorted(known))}.")
    description = OnnxDescription(**{"id": default_id, **data})
    if wrong := _wrong_key(description):
        raise ModelError(f"{path}: '{wrong}' has a value that is not allowed: {data.get(wrong)!r}.")
    check_model_id(description.id)
    return description


def _wrong_key(description: OnnxDescription) -> str | None:
    """The first key with a wrong value, or None."""
    right: dict[str, bool] = {
        "id": isinstance(description.id, str),
        "dimension": description.dimension is None or _is_count(description.dimension, 1 << 16),
        "query_prefix": isinstance(description.query_prefix, str),
        "passage_prefix": isinstance(description.passage_prefix, str),
        "pooling": description.pooling in _POOLINGS,
        "window_tokens": _is_count(description.window_tokens, 1 << 20),
        "fusion_weight": _is_number(description.fusion_weight) and 0.0 <= description.fusion_weight <= 1.0,
        "sha256": isinstance(description.sha256, dict)
        and all(isinstance(value, str) for value in description.sha256.values()),
    }
    return next((key for key, is_right in right.items() if not is_right), None)


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse_other_content(target: Path, described: OnnxDescription) -> None:
    if _read_description(target / MANIFEST, target.name) != described:
        raise ModelError(
            f"Model id '{described.id}' is already registered with other content in '{target}', and vectors may depend"
            f' on it. Choose another "id" in {MANIFEST}, or remove that folder first.'
        )


def _hash(path: Path) -> str:
    with path.open("rb") as handle:
        return sha256_of(handle)
