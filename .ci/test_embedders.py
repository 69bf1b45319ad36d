"""The adapters against the real packages, with tiny models made here. Run in an environment that has the packages."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from arr_sql.database.embedder_choice import Choice, open_chosen
from arr_sql.errors import ModelError
from arr_sql.index.embedders.onnx_graph import OnnxGraph
from arr_sql.index.embedders.protocol import Embedder, check_vector, cosine

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "字"]


def tokenizer() -> Any:
    """Splits at white space; knows eight words."""
    tokenizers = pytest.importorskip("tokenizers", reason="the packages' models need tokenizers")
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return made


@pytest.fixture
def static_model(tmp_path: Path) -> Path:
    """A model2vec model: each word has a direction of its own."""
    package = pytest.importorskip("model2vec", reason="model2vec is not installed (group `packages`)")
    np = pytest.importorskip("numpy", reason="the packages' models need NumPy")
    folder = tmp_path / "tiny"
    package.StaticModel(np.eye(len(WORDS), dtype=np.float32), tokenizer()).save_pretrained(str(folder))
    return folder


def test_model2vec_from_a_folder(static_model: Path) -> None:
    """Hand-worked: red and blue in equal shares; the same bytes alone and in a batch; the hash is of the files."""
    model = open_chosen(Choice("model2vec", str(static_model)))

    alone = model.embed_passages(["red blue"])
    batch = model.embed_passages(["green", "red blue", " ", "red"])

    assert isinstance(model, Embedder)
    assert alone[0] is not None and alone[0] == batch[1] and batch[2] is None
    check_vector(alone[0], len(WORDS))
    assert struct.unpack("<8f", alone[0])[4:7] == pytest.approx((0.5**0.5, 0.0, 0.5**0.5))
    assert (model.spec.id, len(model.spec.revision)) == ("model2vec:tiny", 64)
    before = model.spec.revision
    (static_model / "config.json").write_text((static_model / "config.json").read_text() + " ")
    assert open_chosen(Choice("model2vec", str(static_model))).spec.revision != before


def test_model2vec_reads_the_whole_text(static_model: Path) -> None:
    """Words behind the 512th token count."""
    model = open_chosen(Choice("model2vec", str(static_model)))

    cut, whole = model.embed_passages(["red " * 2000, "red " * 2000 + "blue " * 2000])

    assert cut is not None and whole is not None
    assert cosine(cut, whole) == pytest.approx(0.5**0.5, abs=1e-3)


def test_a_damaged_folder_is_a_fault_of_the_model(static_model: Path) -> None:
    """With its name, and nothing is downloaded in its place; the environment is as it was."""
    for path in static_model.glob("*.safetensors"):
        path.write_bytes(b"no model")
    before = dict(os.environ)

    with pytest.raises(ModelError, match="model2vec cannot open"):
        open_chosen(Choice("model2vec", str(static_model)))
    assert dict(os.environ) == before


def test_fastembed_downloads_nothing() -> None:
    """A model that is not in its cache, and one that it does not know, are refused without a connection."""
    pytest.importorskip("fastembed", reason="fastembed is not installed (group `packages`)")

    for name in ("BAAI/bge-small-en-v1.5", "nobody/never-heard-of"):
        with pytest.raises(ModelError, match="fastembed cannot open"):
            open_chosen(Choice("fastembed", name))


def test_fastembed_from_a_folder(tmp_path: Path) -> None:
    """A model that looks words up: hand-worked, read whole, the same bytes alone and in a batch."""
    fastembed = pytest.importorskip("fastembed", reason="fastembed is not installed (group `packages`)")
    from fastembed.common.model_description import ModelSource, PoolingType

    np = pytest.importorskip("numpy", reason="the packages' models need NumPy")
    graph = OnnxGraph("tiny")
    ids = graph.input("input_ids", "int64", ["texts", "tokens"])
    graph.input("attention_mask", "int64", ["texts", "tokens"])
    rows = graph.node("Gather", graph.constant(np.eye(len(WORDS), dtype=np.float32)), ids, axis=0)
    graph.output(rows, "last_hidden_state", "float32", ["texts", "tokens", len(WORDS)])
    (tmp_path / "model.onnx").write_bytes(graph.to_bytes())
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512, "pad_token": "[PAD]"}))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]", "unk_token": "[UNK]"}))
    fastembed.TextEmbedding.add_custom_model(
        "mine/tiny", pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(hf="mine/tiny"),
        dim=len(WORDS), model_file="model.onnx",
    )  # fmt: skip

    model = open_chosen(Choice("fastembed", f"mine/tiny@{tmp_path}"))

    alone = model.embed_passages(["red blue"])
    cut, whole = model.embed_passages(["red " * 2000, "red " * 2000 + "blue " * 2000])
    assert (model.spec.id, model.spec.dimension) == ("fastembed:mine/tiny", len(WORDS))
    assert alone[0] is not None and alone == model.embed_passages(["green " * 9, "red blue"])[1:]
    assert struct.unpack("<8f", alone[0])[4:7] == pytest.approx((0.5**0.5, 0.0, 0.5**0.5))
    assert cut is not None and whole is not None and cosine(cut, whole) < 0.75


def test_sentence_transformers_from_a_folder(tmp_path: Path) -> None:
    """A model with random weights: its prompts are the prefixes, long texts are read whole, alone is as in a batch."""
    package = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    transformers = pytest.importorskip("transformers", reason="sentence-transformers is not installed")
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(), unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )
    shape = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(shape).save_pretrained(str(tmp_path / "bert"))
    fast.save_pretrained(str(tmp_path / "bert"))
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules", reason="it is older than 6")
    word = modules.Transformer(str(tmp_path / "bert"), max_seq_length=32)
    pooling = modules.Pooling(16, "mean")
    made = package.SentenceTransformer(modules=[word, pooling], prompts={"query": "red ", "document": "green "})
    made.save(str(tmp_path / "tiny"))

    model = open_chosen(Choice("sentence-transformers", str(tmp_path / "tiny")))

    assert (model.spec.query_prefix, model.spec.passage_prefix) == ("red ", "green ")
    assert model.embed_passages(["blue"]) == model.embed_passages(["blue", "red " * 9])[:1]
    long, longer = model.embed_passages(["red " * 60, "red " * 60 + "blue " * 60])
    assert long is not None and longer is not None
    assert cosine(long, longer) < 0.9999
