"""ARR_EMBEDDER: what it may say, packages that add kinds, and that nothing but the environment is asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arr_sql.database.embedder_choice import KINDS, Choice, has_embedder, open_chosen, open_older, read_choice
from arr_sql.errors import ModelError

PLUGIN = """
from arr_sql.index.embedders.protocol import EmbedderSpec
import struct

class Made:
    def __init__(self, argument):
        if argument == "explode":
            raise RuntimeError("secret words")
        self.spec = EmbedderSpec(id="mine:" + argument, revision="1", dimension=2, window_tokens=99)
    def embed_queries(self, texts):
        return [struct.pack("<2f", 1.0, 0.0) for _ in texts]
    embed_passages = embed_queries

def nothing(argument):
    return argument
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A folder with an installed package that adds the kinds ``mine`` and ``broken``."""
    (tmp_path / "mine.py").write_text(PLUGIN, "utf-8")
    facts = tmp_path / "mine-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", "utf-8")
    (facts / "entry_points.txt").write_text("[arr_sql.embedders]\nmine = mine:Made\nbroken = mine:nothing\n", "utf-8")
    return tmp_path


def test_no_value_means_the_default_model() -> None:
    """Also a blank one."""
    assert read_choice({}) is None
    assert read_choice({"ARR_EMBEDDER": "  "}) is None


def test_a_value_is_a_kind_and_what_of_it() -> None:
    """Only the first colon parts them: names of models and Windows paths have more."""
    assert read_choice({"ARR_EMBEDDER": "ollama:bge-m3:latest"}) == Choice("ollama", "bge-m3:latest")
    assert read_choice({"ARR_EMBEDDER": r"model2vec:C:\models\potion"}) == Choice("model2vec", r"C:\models\potion")


@pytest.mark.parametrize("value", ["ollama", "ollama:", ":x", "potion"])
def test_another_value_is_refused_with_the_kinds(value: str) -> None:
    """The message lists them all."""
    with pytest.raises(ModelError) as caught:
        read_choice({"ARR_EMBEDDER": value})
    assert all(f"{kind}:" in str(caught.value) for kind in KINDS)


def test_a_package_adds_a_kind(plugin: Path) -> None:
    """By its entry point; what fails or gives something else is refused without its words."""
    program = """
import sys
from arr_sql.database.embedder_choice import Choice, open_chosen
from arr_sql.errors import ModelError
print(open_chosen(Choice("mine", "small")).spec.id)
for choice in (Choice("mine", "explode"), Choice("broken", "x"), Choice("absent", "x")):
    try:
        open_chosen(choice)
    except ModelError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(plugin)!r})\n{program}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()

    assert lines[0] == "mine:small"
    assert "RuntimeError" in lines[1] and "secret words" not in lines[1]
    assert "gave no Embedder" in lines[2]
    assert "no installed package has it" in lines[3]


def test_a_package_that_is_not_installed_is_named(tmp_path: Path) -> None:
    """The message is the command to type. A folder that is none is said first."""
    program = (
        "import sys; sys.modules['model2vec'] = None\n"
        "from arr_sql.database.embedder_choice import Choice, open_chosen\n"
        "from arr_sql.errors import ModelError\n"
        f"try: open_chosen(Choice('model2vec', {str(tmp_path)!r}))\nexcept ModelError as error: print(error)"
    )
    pytest.importorskip("numpy", reason="the packages' models need NumPy")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "pip install model2vec" in done.stdout
    with pytest.raises(ModelError, match="is no folder"):
        open_chosen(Choice("sentence-transformers", str(tmp_path / "absent")))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "ARR_SILICONFLOW_API_KEY is not set"),
        ({"ARR_EMBEDDER_ENDPOINT": "https://example.org/v1"}, "endpoint is not allowed"),
        ({"ARR_EMBEDDER_ENDPOINT": "http://localhost:1234/v1"}, "endpoint is not allowed"),
        ({"ARR_EMBEDDER_ENDPOINT": "http://127.0.0.1:9/v1", "ARR_EMBEDDER_TIMEOUT_SECONDS": "soon"}, "not a number"),
        ({"ARR_EMBEDDER_ENDPOINT": "http://127.0.0.1:9/v1", "ARR_EMBEDDER_TIMEOUT_SECONDS": "0"}, "above 0"),
    ],
)
def test_a_server_is_one_of_the_allowed_ones(values: dict[str, str], message: str) -> None:
    """Nothing is sent before that is clear, and no address is repeated."""
    with pytest.raises(ModelError, match=message) as caught:
        open_chosen(Choice("openai", "some-model"), values)
    assert "example.org" not in str(caught.value)


def test_an_older_model_is_opened_only_from_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The default model and registered ones; a server or a folder that a store names is not followed."""
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path))

    for model_id in ("openai:some-model", "ollama:some-model", f"model2vec:{tmp_path}", "never-heard-of"):
        assert open_older(model_id) is None


def test_a_choice_counts_as_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is opened when it is needed, not to find out."""
    monkeypatch.setenv("ARR_EMBEDDER", "model2vec:/nowhere")

    assert has_embedder()
