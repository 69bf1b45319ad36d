"""The built wheel and sdist: complete, and working in an environment that has never seen this repository."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("build")
pytest.importorskip("hatchling")

REPOSITORY = Path(__file__).resolve().parents[2]


def _run(*command: str | Path, cwd: Path, **values: str) -> subprocess.CompletedProcess[str]:
    """Run without a PYTHONPATH, so that only what is installed there is imported."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ARR_ENV")}
    ran = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=600,
        env={**environment, "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1", **values},
    )  # fmt: skip
    assert ran.returncode == 0, (command, ran.stdout[-3000:], ran.stderr[-3000:])
    return ran


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def below(*places: str) -> set[str]:
    """Every file of the repository below these places that belongs to the package."""
    return {
        path.relative_to(REPOSITORY).as_posix()
        for place in places
        for path in (REPOSITORY / place).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def test_the_wheel_is_pure_and_named(wheel: Path) -> None:
    """One wheel for every platform, with the version of the package."""
    import arr_sql

    assert wheel.name == f"arr_sql-{arr_sql.__version__}-py3-none-any.whl"


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """Code, statements, sample project, type marker: nothing of arr_sql/ is missing."""
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = below("arr_sql")
    assert {"arr_sql/py.typed", "arr_sql/sql/add_chunk.sql", "arr_sql/demo/questions.json"} <= expected
    assert any(name.endswith(".arrignore") for name in expected) and any("checkpoints/" in name for name in expected)
    assert expected - names == set()


def test_the_wheel_holds_migrations_and_schema(wheel: Path) -> None:
    """Byte for byte those of the repository."""
    archive = zipfile.ZipFile(wheel)
    names = below("migrations")
    assert len(names) > 1
    for name in names | {"schema.sql"}:
        assert archive.read(f"arr_sql/{name}") == (REPOSITORY / name).read_bytes()


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    """No tests, no benchmarks, no database, no compiled file: the package and its metadata."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"arr_sql", wheel.name.rsplit("-", 3)[0] + ".dist-info"}
    assert [name for name in names if name.endswith((".pyc", ".db", ".so")) or "__pycache__" in name] == []
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_holds_what_the_wheel_is_made_of(built: Path) -> None:
    """Package, migrations, schema, tests and licence."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert below("arr_sql", "migrations") | {"schema.sql", "LICENSE", "README.md", "pyproject.toml"} <= names
    assert "tests/conftest.py" in names and "tests/promises/test_wheel.py" in names
    assert [name for name in names if name.startswith(".git/") or name.endswith(".pyc")] == []


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel and, through links, the dependencies that run these tests.

    The environment sees every distribution of this one but arr_sql itself and the path files of editable installs.
    """
    folder = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    site = Path(_run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).stdout.strip())
    # A path that is added by a .pth file is searched, but .pth files in it are not run: no editable install works.
    places = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (site / "dependencies.pth").write_text("\n".join(places) + "\n", "utf-8")
    ran = _run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--ignore-installed",
               "--target", site, wheel, cwd=folder)  # fmt: skip
    assert "Successfully installed" in ran.stdout
    return python


def arr(python: Path, *arguments: str, cwd: Path) -> str:
    return _run(python, "-m", "arr_sql", *arguments, cwd=cwd, ARR_ACTOR="wheel").stdout


def test_the_installed_package_is_the_wheels(installed: Path, tmp_path: Path) -> None:
    """Nothing is imported from the repository."""
    code = "import arr_sql, sys; print(arr_sql.__file__); print(*[p for p in sys.path if p], sep='\\n')"
    file, *path = _run(installed, "-c", code, cwd=tmp_path).stdout.splitlines()
    assert Path(file).is_relative_to(installed.parents[1])
    assert str(REPOSITORY) not in path


def test_init_add_and_search_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """The first three commands of a new user, run from the wheel."""
    (tmp_path / "notes.md").write_text("# 预热\n\nThe warmup run diverged.\n", "utf-8")
    assert "Wrote " in arr(installed, "init", cwd=tmp_path)
    assert "1 added" in arr(installed, "add", ".", "--no-embed", cwd=tmp_path)
    assert "notes.md" in arr(installed, "search", "warmup", cwd=tmp_path).splitlines()[0]
    assert "notes.md" in arr(installed, "search", "预热", cwd=tmp_path).splitlines()[0]
    assert "Verified: " in arr(installed, "audit", "verify", cwd=tmp_path)
    assert arr(installed, "db", "schema", cwd=tmp_path) == (REPOSITORY / "schema.sql").read_text("utf-8")


def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """`arr demo --no-embed` in an empty folder: all scopes, all questions, and an audit log that verifies."""
    out = arr(installed, "demo", "--no-embed", cwd=tmp_path)
    assert "main-a100" in out and "\n6. " in out and "rows verified" in out
    assert list(tmp_path.iterdir()) == []
