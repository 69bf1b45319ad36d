"""The 8-bit engine: NumPy's vectors, equal bytes in any company, kept once, checked each time, and its fallback."""

# ruff: noqa: E402  (what needs NumPy is imported after the skip)
from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the embedder needs NumPy (extra `local`)")
pytest.importorskip("onnxruntime", reason="the 8-bit engine needs ONNX Runtime (extra `local`)")

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_embedder import E5Embedder
from arr_sql.index.embedders.e5_engine import E5Engine
from arr_sql.index.embedders.e5_int8_engine import E5Int8Engine, graph_path, open_int8_engine
from arr_sql.index.embedders.e5_int8_graph import activation_ranges, quantise_columns
from arr_sql.index.embedders.e5_weights import E5Weights
from arr_sql.index.embedders.protocol import cosine
from arr_sql.ingest.chunker import MAX_CHARS
from arr_sql.ingest.readers.base import HEADING_CHARS
from tests.index.test_e5_support import Miniature, real_embedder, real_model_path

WEIGHTS = E5Weights(Miniature().parse())
WINDOWS = [[0, 5, 2], [0, 15, 6, 7, 2], [0, 5, 2], [0, *range(4, 20), 2], [0, 2], [0, 20, 19, 18, 2]]

TEXTS = [
    "Gradient clipping keeps the loss finite.",
    "梯度裁剪使损失保持有限。",
    "for x in range(10):\n    print(x)  # 0 to 9",
    "ok",
    "混合 mixed text 🎉",
    "The optimiser state was lost at step 41,200 and the run resumed from the last checkpoint. " * 12,
    "我们在三个数据集上比较了两种学习率调度方法，余弦退火在验证集上的损失更低。" * 8,
    "| run | lr | loss |\n|---|---|---|\n| a | 1e-3 | 2.41 |\n| b | 3e-4 | 2.18 |",
    "https://example.org/a/b?c=d&e=0x7fffffff 550e8400-e29b-41d4-a716-446655440000",
    "é ñ ü ß ø å 日本語のテキスト 한국어 문장 русский текст ελληνικά",
]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for models."""
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path / "models"))
    return tmp_path / "models"


def cosines(one: Sequence[bytes | None], other: Sequence[bytes | None]) -> list[float]:
    return [cosine(a or b"", b or b"") for a, b in zip(one, other, strict=True)]


@pytest.mark.model
def test_the_vectors_are_those_of_numpy() -> None:
    """To a cosine of 0.999 after the language shift: two languages, code, a table, short and long."""
    plain = E5Embedder.open(real_model_path(), engine="numpy")
    fast = E5Embedder.open(real_model_path(), engine="int8")

    assert min(cosines(plain.embed_passages(TEXTS), fast.embed_passages(TEXTS))) > 0.999
    assert min(cosines(plain.embed_queries(TEXTS), fast.embed_queries(TEXTS))) > 0.999
    assert plain.spec == fast.spec


@pytest.mark.model
@pytest.mark.parametrize("engine", ["int8", "numpy"])
def test_a_vector_has_the_same_bytes_in_any_company(engine: str) -> None:
    """Alone, in batches of any order and size, on one thread and on three."""
    one = E5Embedder.open(real_model_path(), engine=engine, threads=1)  # type: ignore[arg-type]
    three = E5Embedder.open(real_model_path(), engine=engine, threads=3)  # type: ignore[arg-type]
    texts = TEXTS[:5] + TEXTS[7:]
    alone = {text: one.embed_passages([text])[0] for text in texts}

    for seed in range(2):
        some = random.Random(seed).choices(texts, k=9)
        assert one.embed_passages(some) == three.embed_passages(some) == [alone[text] for text in some]


def test_the_small_network_agrees_with_numpy() -> None:
    """Sizes other than the real ones have no measured ranges and still work; a batch is its members."""
    plain, fast = E5Engine(WEIGHTS).window_means(WINDOWS), E5Int8Engine(WEIGHTS).window_means(WINDOWS)

    similar = (plain * fast).sum(axis=1) / np.linalg.norm(plain, axis=1) / np.linalg.norm(fast, axis=1)
    assert similar.min() > 0.999
    for window, mean in zip(WINDOWS, fast, strict=True):
        assert E5Int8Engine(WEIGHTS).window_means([window])[0].tobytes() == mean.tobytes()


def test_the_graph_is_kept_and_read_back(store: Path) -> None:
    """One file, written once; a damaged one is made again; another probe or other weights have another name."""
    expected = open_int8_engine(WEIGHTS, WINDOWS[3]).window_means(WINDOWS)
    path = graph_path(WEIGHTS.file_sha256, WINDOWS[3])
    assert [path] == [file for file in store.rglob("*") if file.is_file()]
    written = path.read_bytes()

    assert open_int8_engine(WEIGHTS, WINDOWS[3]).window_means(WINDOWS).tobytes() == expected.tobytes()
    for damaged in (b"", written[:40], written[:-1], written[:5000] + b"\xff" + written[5001:]):
        path.write_bytes(damaged)
        assert open_int8_engine(WEIGHTS, WINDOWS[3]).window_means(WINDOWS).tobytes() == expected.tobytes()
        assert path.read_bytes() == written
    assert graph_path(WEIGHTS.file_sha256, WINDOWS[1]) != path != graph_path("1" * 64, WINDOWS[3])


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a file is in its place."""
    (tmp_path / "models").write_text("in the way")
    monkeypatch.setenv("ARR_MODEL_DIR", str(tmp_path / "models"))

    assert open_int8_engine(WEIGHTS, WINDOWS[3]).window_means(WINDOWS).shape == (6, 32)
    assert (tmp_path / "models").read_text() == "in the way"


def test_a_processor_that_multiplies_wrongly_is_noticed(store: Path) -> None:
    """The kept vector of the probe is another one, as if the products had saturated: the engine is refused."""
    open_int8_engine(WEIGHTS, WINDOWS[3])
    path = graph_path(WEIGHTS.file_sha256, WINDOWS[3])
    body = path.read_bytes()[32:]
    other = np.frombuffer(body[:128], "<f4")[::-1].astype("<f4").tobytes() + body[128:]
    path.write_bytes(hashlib.sha256(other).digest() + other)

    with pytest.raises(ModelError, match="NumPy is used"):
        open_int8_engine(WEIGHTS, WINDOWS[3])


@pytest.mark.model
def test_without_onnx_runtime_numpy_does_the_work() -> None:
    """The same fingerprint, and a vector that its canaries accept."""
    program = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from pathlib import Path; from arr_sql.index.embedders.e5_embedder import E5Embedder\n"
        f"found = E5Embedder.open(Path({str(real_model_path())!r}))\n"
        "print(found.engine_name, found.spec.fingerprint(), found.embed_passages(['ok'])[0].hex())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    name, fingerprint, vector = done.stdout.split()

    assert (name, fingerprint) == ("numpy", real_embedder().spec.fingerprint())
    assert real_embedder().engine_name == "int8"
    assert cosines([bytes.fromhex(vector)], real_embedder().embed_passages(["ok"]))[0] > 0.999


@pytest.mark.model
def test_threads_share_the_fast_engine() -> None:
    """Each gets the bytes that it would get alone."""
    expected = real_embedder().embed_passages(TEXTS[:5])

    with ThreadPoolExecutor(3) as pool:
        assert all(vectors == expected for vectors in pool.map(real_embedder().embed_passages, [TEXTS[:5]] * 6))


@pytest.mark.model
def test_no_chunk_is_cut() -> None:
    """A chunk as long as they get, a token or more a character, has all its tokens in its windows."""
    embedder = real_embedder()
    chance = random.Random(3)
    text = "".join(chr(chance.randrange(0x4E00, 0x9FA5)) for _ in range(MAX_CHARS + HEADING_CHARS))

    ids = embedder.tokenizer.encode("passage: " + text)

    windows = embedder.windows("passage: " + text)
    assert len(ids) > 2 * 510
    assert [token for window in windows for token in window[1:-1]] == ids


def test_columns_are_scaled_by_their_own_largest() -> None:
    """Hand-worked: 127 steps to the largest of a column, a column of zeros stays zero."""
    numbers, scales = quantise_columns(np.asarray([[1.27, 0.0, -2.0], [-0.5, 0.0, 1.0]], np.float32))

    assert numbers.tolist() == [[127, 0, -127], [-50, 0, 64]]
    assert scales.tolist() == pytest.approx([0.01, 1e-12, 2 / 127])


def test_the_measured_ranges_fit_the_network() -> None:
    """Twelve layers, two places, 384 channels; some channels are far larger than most."""
    ranges = activation_ranges(12, 384)

    assert ranges.shape == (12, 2, 384)
    assert ranges.max() > 10 * np.median(ranges)
    assert activation_ranges(2, 32).tolist() == np.ones((2, 2, 32)).tolist()
