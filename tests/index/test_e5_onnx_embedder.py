# ruff: noqa: E402  (what needs ONNX Runtime is imported after the skip)
"""ONNX folders: a small model that this file writes by hand, run by ONNX Runtime, compared with hand-worked vectors."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the embedder needs NumPy (extra `local`)")

from arr_sql.errors import ModelError
from arr_sql.index.embedders.model_store import add_folder, open_embedder
from arr_sql.index.embedders.protocol import Embedder, check_vector

WORDS = ["[UNK]", "[CLS]", "[SEP]", "red", "green", "blue"]
TABLE = np.asarray([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [2, 0, 0, 2], [0, 3, 3, 0]], np.float32)
FLOAT, INT64 = 1, 7


def varint(value: int) -> bytes:
    low = value & 0x7F
    return bytes([low | 0x80]) + varint(value >> 7) if value > 0x7F else bytes([low])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def counted(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def declared(name: str, kind: int, axes: list[str | int]) -> bytes:
    """A ValueInfoProto."""
    sizes = b"".join(counted(1, counted(2, axis) if isinstance(axis, str) else number(1, axis)) for axis in axes)
    return counted(1, name) + counted(2, counted(1, number(1, kind) + counted(2, sizes)))


def node(kind: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    return counted(
        1, b"".join(counted(1, name) for name in inputs) + counted(2, output) + counted(4, kind) + attributes
    )


def small_model(inputs: tuple[str, ...] = ("input_ids", "attention_mask")) -> bytes:
    """Token vectors looked up in TABLE, (1, tokens, 4), and their largest, (1, 4). Field numbers of ``onnx.proto``."""
    axes = counted(5, counted(1, "axes") + number(8, 1) + number(20, 7))
    flat = counted(5, counted(1, "keepdims") + number(3, 0) + number(20, 2))
    table = number(1, 6) + number(1, 4) + number(2, FLOAT) + counted(8, "table") + counted(9, TABLE.tobytes())
    graph = node("Gather", ["table", inputs[0]], "tokens") + node("ReduceMax", ["tokens"], "largest", axes + flat)
    graph += counted(2, "small") + counted(5, table)
    graph += b"".join(counted(11, declared(name, INT64, ["batch", "length"])) for name in inputs)
    graph += counted(12, declared("tokens", FLOAT, ["batch", "length", 4]))
    graph += counted(12, declared("largest", FLOAT, ["batch", 4]))
    return number(1, 8) + counted(8, counted(1, "") + number(2, 17)) + counted(7, graph)


def tokenizer() -> str:
    """A ``tokenizer.json``: words at spaces, ``[CLS]`` in front and ``[SEP]`` behind."""
    special = {name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    sides = [{"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]")]
    single = [sides[0], {"Sequence": {"id": "A", "type_id": 0}}, sides[1]]
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": single,
                "pair": single,
                "special_tokens": special,
            },
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
        }
    )


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path / "store"))


def register(tmp_path: Path, model: bytes | None = None, **manifest: object) -> str:
    folder = tmp_path / "source" / "small"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(small_model() if model is None else model)
    (folder / "tokenizer.json").write_text(tokenizer(), encoding="utf-8")
    (folder / "arr_model.json").write_text(json.dumps(manifest), encoding="utf-8")
    return add_folder(folder).id


def small_embedder(tmp_path: Path, model: bytes | None = None, **manifest: object) -> Embedder:
    pytest.importorskip("onnxruntime", reason="ONNX models need ONNX Runtime (extra `onnx`)")
    pytest.importorskip("tokenizers", reason="ONNX models need tokenizers (extra `onnx`)")
    return open_embedder(register(tmp_path, model, **manifest))


def unit(*values: float) -> bytes:
    row = np.asarray(values, np.float64)
    return bytes((row / np.linalg.norm(row)).astype("<f4").tobytes())


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("mean", (2.0, 4.0, 4.0, 2.0)),  # [CLS] + green + blue + [SEP]
        ("cls", (0.0, 1.0, 0.0, 0.0)),
        ("none", (2.0, 3.0, 3.0, 2.0)),  # the model's own: the largest of each component
    ],
)
def test_the_three_poolings(pooling: str, expected: tuple[float, ...], tmp_path: Path) -> None:
    """Hand-worked on two words."""
    embedder = small_embedder(tmp_path, pooling=pooling)

    (vector,) = embedder.embed_passages(["green blue"])

    assert vector is not None
    check_vector(vector, 4)
    assert struct.unpack("<4f", vector) == pytest.approx(struct.unpack("<4f", unit(*expected)))


def test_prefixes_blanks_and_order(tmp_path: Path) -> None:
    """A question and a passage differ by their prefix; blank texts get None; alone is as in a batch."""
    embedder = small_embedder(tmp_path, pooling="mean", query_prefix="red ", passage_prefix="blue ")
    texts = ["green", " ", "blue green", "\ud800"]

    queries, passages = embedder.embed_queries(texts), embedder.embed_passages(texts)

    assert [vector is None for vector in queries] == [False, True, False, False]
    assert queries[0] != passages[0]
    assert queries == [embedder.embed_queries([text])[0] for text in texts]
    assert passages[0] is not None
    assert struct.unpack("<4f", passages[0]) == pytest.approx(struct.unpack("<4f", unit(2, 4, 4, 2)))


def test_long_text_is_the_weighted_mean_of_its_windows(tmp_path: Path) -> None:
    """Windows of two words: (red, green) with weight 4 and (blue) with weight 3, special tokens counted."""
    embedder = small_embedder(tmp_path, window_tokens=2)
    first = np.asarray([[0, 1, 0, 0], [0, 0, 0, 1], [2, 0, 0, 2], [0, 0, 1, 0]]).mean(axis=0)
    second = np.asarray([[0, 1, 0, 0], [0, 3, 3, 0], [0, 0, 1, 0]]).mean(axis=0)

    (vector,) = embedder.embed_passages(["red green blue"])

    assert vector is not None
    assert struct.unpack("<4f", vector) == pytest.approx(struct.unpack("<4f", unit(*(4 * first + 3 * second))))


def test_the_spec_follows_the_folder(tmp_path: Path) -> None:
    """The dimension is measured where it is not said; the revision is that of the files."""
    spec = small_embedder(tmp_path, id="mine", window_tokens=7, fusion_weight=0.4).spec

    assert (spec.id, spec.dimension, spec.window_tokens, spec.fusion_weight) == ("mine", 4, 7, 0.4)
    assert len(spec.revision) == 64 and not spec.network


@pytest.mark.parametrize(
    ("model", "manifest", "problem"),
    [
        (b"not a model", {}, "cannot open the model"),
        (small_model(("pixel_values",)), {}, "has inputs"),
        (small_model(), {"dimension": 5}, "wrong length"),
    ],
)
def test_a_wrong_model_is_refused(model: bytes, manifest: dict[str, object], problem: str, tmp_path: Path) -> None:
    """Not ONNX, no text model, not the dimension that was said."""
    with pytest.raises(ModelError, match=problem):
        small_embedder(tmp_path, model, **manifest).embed_queries(["red"])


def test_a_missing_runtime_is_named_with_its_extra(tmp_path: Path) -> None:
    """The message is the command to type."""
    program = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from arr_sql.errors import ModelError; from arr_sql.index.embedders.model_store import open_embedder\n"
        f"try: open_embedder({register(tmp_path)!r})\nexcept ModelError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "onnxruntime is not installed" in done.stdout
    assert "pip install 'arr-sql[onnx]'" in done.stdout
