"""The NumPy forward pass: against a plain float64 one, alone and in batches, in threads and after a fork."""

# ruff: noqa: E402  (what needs NumPy is imported after the skip)
from __future__ import annotations

import math
import os
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

np = pytest.importorskip("numpy", reason="the embedder needs NumPy (extra `local`)")

from arr_sql.index.embedders.e5_engine import E5Engine
from arr_sql.index.embedders.e5_weights import E5Weights, Linear, Norm, dequantise
from arr_sql.index.embedders.gelu import gelu_in_place, half_erf
from tests.index.test_e5_support import Miniature

if TYPE_CHECKING:
    from numpy.typing import NDArray

WEIGHTS = E5Weights(Miniature().parse())
ENGINE = E5Engine(WEIGHTS)
WINDOWS = [[0, 5, 2], [0, 15, 6, 7, 2], [0, 5, 2], [0, *range(4, 20), 2], [0, 2], [0, 20, 19, 18, 2]]


def plain_forward(window: Sequence[int]) -> NDArray[np.float64]:
    """One window through the encoder, written out token by token in float64 from the published equations."""

    def norm(rows: NDArray[np.float64], by: Norm) -> NDArray[np.float64]:
        mean, variance = rows.mean(axis=1, keepdims=True), rows.var(axis=1, keepdims=True)
        result: NDArray[np.float64] = (rows - mean) / np.sqrt(variance + WEIGHTS.shape.epsilon) * by.scale + by.shift
        return result

    def linear(rows: NDArray[np.float64], by: Linear) -> NDArray[np.float64]:
        return rows @ by.weight.astype(np.float64) + by.bias

    x = norm(WEIGHTS.words(list(window)).astype(np.float64) + WEIGHTS.positions[: len(window)], WEIGHTS.embedding_norm)
    hidden, heads = WEIGHTS.shape.hidden, WEIGHTS.shape.heads
    size = hidden // heads
    for layer in WEIGHTS.layers:
        projected = linear(x, layer.attend_in)
        mixed = np.zeros_like(x)
        for head in range(heads):
            q, k, v = (projected[:, part * hidden + head * size :][:, :size] for part in range(3))
            for token in range(len(window)):
                scores = np.exp(k @ q[token] / math.sqrt(size))
                mixed[token, head * size : (head + 1) * size] = scores @ v / scores.sum()
        x = norm(x + linear(mixed, layer.attend_out), layer.attend_norm)
        wide = linear(x, layer.feed_in)
        wide = wide * (0.5 + 0.5 * np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = norm(x + linear(wide, layer.feed_out), layer.feed_norm)
    result: NDArray[np.float64] = x.mean(axis=0)
    return result


def test_the_forward_pass_is_the_published_one() -> None:
    """Every window of a mixed batch agrees with the plain computation."""
    expected = np.stack([plain_forward(window) for window in WINDOWS])

    assert np.abs(ENGINE.window_means(WINDOWS) - expected).max() < 1e-5


def test_a_window_has_the_same_vector_alone_and_in_a_batch() -> None:
    """The same bytes, whatever is beside it."""
    many = WINDOWS * 60
    together = ENGINE.window_means(many)

    for index in range(0, len(many), 17):
        alone = ENGINE.window_means([many[index]])[0]
        assert together[index].tobytes() == alone.tobytes()


def test_threads_share_one_engine() -> None:
    """Each gets what it would get alone."""
    expected = ENGINE.window_means(WINDOWS)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: ENGINE.window_means(WINDOWS), range(16)))

    assert all(result.tobytes() == expected.tobytes() for result in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_computes_the_same() -> None:
    """Nothing that it needs belongs to the parent's threads."""
    engine = E5Engine(WEIGHTS)
    expected = engine.window_means(WINDOWS * 60)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            same = np.abs(engine.window_means(WINDOWS * 60) - expected).max() < 1e-6
            os.write(write, b"same" if same else b"differs")
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        assert answer.read() == b"same"
    os.waitpid(child, 0)


def test_the_error_function_is_within_its_stated_error() -> None:
    """2.4e-7 for half the error function, 1.4e-6 for GELU on [-9, 9]; exact at zero, flat far out."""
    x = np.linspace(-9, 9, 40_001, dtype=np.float32)
    exact = np.asarray([0.5 * math.erf(float(value) / math.sqrt(2)) for value in x])
    gelu = x.copy()
    gelu_in_place(gelu)

    assert np.abs(half_erf(x) - exact).max() < 2.5e-7
    assert np.abs(gelu - x.astype(np.float64) * (0.5 + exact)).max() < 1.5e-6
    assert half_erf(np.asarray([0.0, 50.0, -1e30], np.float32)).tolist() == pytest.approx([0.0, 0.5, -0.5], abs=3e-7)


def test_gelu_reaches_every_value_of_a_large_array() -> None:
    """It works in blocks; none is left out, the last one may be short."""
    large = np.full((100, 1537), 2.0, np.float32)
    gelu_in_place(large)

    assert np.ptp(large) == 0.0
    assert large[0, 0] == pytest.approx(1.9544997, abs=1e-6)


def test_a_block_dequantises_as_the_layout_says() -> None:
    """Byte j holds weight j in its low nibble and weight j + 16 in its high nibble, each less 8, times the scale."""
    block = struct.pack("<e16B", 0.5, *(j | (15 - j) << 4 for j in range(16)))

    weights = dequantise(np.frombuffer(block, np.uint8))

    assert weights.reshape(-1).tolist() == [(j - 8) / 2 for j in range(16)] + [(7 - j) / 2 for j in range(16)]


def test_no_windows_give_no_vectors() -> None:
    """An empty batch has the right shape."""
    assert ENGINE.window_means([]).shape == (0, 32)
