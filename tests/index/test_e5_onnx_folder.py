"""Registering ONNX folders: copied, hashed, described; an id never changes its content. No model is run here."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from arr_sql.errors import ModelError
from arr_sql.index.embedders import model_paths
from arr_sql.index.embedders.model_paths import E5_MODEL_ID
from arr_sql.index.embedders.model_store import add_folder, list_models
from arr_sql.index.embedders.onnx_folder import open_onnx_folder


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store of this test's own; no distribution is installed."""
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path / "store"))
    monkeypatch.setattr(model_paths, "e5_distribution_path", lambda: None)
    return tmp_path / "store"


def contents(folder: Path) -> list[str]:
    """Every file below ``folder``."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def onnx_folder(folder: Path, manifest: object = None, *, below: bool = False) -> Path:
    (folder / "onnx" if below else folder).mkdir(parents=True)
    (folder / ("onnx/model.onnx" if below else "model.onnx")).write_bytes(b"graph")
    (folder / "tokenizer.json").write_bytes(b"{}")
    if manifest is not None:
        (folder / "arr_model.json").write_text(
            manifest if isinstance(manifest, str) else json.dumps(manifest), encoding="utf-8"
        )
    return folder


@pytest.mark.parametrize("below", [False, True])
def test_an_onnx_folder_is_copied_and_hashed(below: bool, tmp_path: Path, store: Path) -> None:
    """The model, its tokenizer and a description with their hashes; nothing else that lies about."""
    folder = onnx_folder(tmp_path / "My-Model", {"dimension": 8, "query_prefix": "q: "}, below=below)
    (folder / "pytorch_model.bin").write_bytes(b"pickle")

    for _ in range(2):
        model = add_folder(folder)
        assert (model.id, model.kind, model.path) == ("my-model", "onnx", store / "my-model")
    assert contents(store / "my-model") == ["arr_model.json", "model.onnx", "tokenizer.json"]
    assert list_models() == [model]
    description = open_onnx_folder(model.path)
    assert (description.dimension, description.query_prefix, description.pooling) == (8, "q: ", "mean")
    assert description.sha256["model.onnx"] == hashlib.sha256(b"graph").hexdigest()


def test_an_id_never_changes_its_content(tmp_path: Path) -> None:
    """Another file or another prefix under the same id is refused."""
    add_folder(onnx_folder(tmp_path / "a", {"id": "m"}))

    with pytest.raises(ModelError, match="already registered with other content"):
        add_folder(onnx_folder(tmp_path / "b", {"id": "m", "query_prefix": "q: "}))
    with pytest.raises(ModelError, match="default model's own"):
        add_folder(onnx_folder(tmp_path / "c", {"id": E5_MODEL_ID}))


def test_a_changed_file_is_noticed_at_opening(tmp_path: Path) -> None:
    """Also one that was never registered."""
    model = add_folder(onnx_folder(tmp_path / "m"))
    (model.path / "model.onnx").write_bytes(b"other")

    with pytest.raises(ModelError, match="not the file that was registered"):
        open_onnx_folder(model.path)
    with pytest.raises(ModelError, match="was not registered"):
        open_onnx_folder(onnx_folder(tmp_path / "n", {"id": "n"}))


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ("{", "not readable as JSON"),
        ("[]", "expected an object"),
        ("[" * 100_000, "larger than|not readable"),
        ("[" * 50_000, "not readable as JSON"),
        ({"pool": "mean"}, "unknown key 'pool'"),
        ({"pooling": "max"}, "'pooling'"),
        ({"dimension": 0}, "'dimension'"),
        ({"dimension": True}, "'dimension'"),
        ({"window_tokens": "512"}, "'window_tokens'"),
        ({"fusion_weight": 1.5}, "'fusion_weight'"),
        ({"query_prefix": 1}, "'query_prefix'"),
        ({"id": 5}, "'id'"),
        ({"id": "../up"}, "is refused"),
    ],
)
def test_a_wrong_description_is_refused_by_key(manifest: object, problem: str, tmp_path: Path, store: Path) -> None:
    """The message names the key; nothing is copied."""
    with pytest.raises(ModelError, match=problem):
        add_folder(onnx_folder(tmp_path / "m", manifest))
    assert list_models() == []
