"""The model file's parser: hash first, then every count and offset checked. Damage gives ModelError, never a crash."""

from __future__ import annotations

import hashlib
import os
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_file import E5_SHA256, E5_SIZE, open_e5_file, parse_e5
from tests.index.test_e5_support import Miniature, real_model_path

pytest.importorskip("numpy", reason="the embedder needs NumPy (extra `local`)")

GOOD = Miniature().to_bytes()
HERE = Path("damaged.bin")


def run_through(data: bytes) -> bytes:
    """Parse, tokenise, run, normalise and check one text: all that reads a model file."""
    from arr_sql.index.embedders.e5_engine import E5Engine
    from arr_sql.index.embedders.e5_tokenizer import E5Tokenizer
    from arr_sql.index.embedders.e5_weights import E5Weights
    from arr_sql.index.embedders.language_shift import unit
    from arr_sql.index.embedders.protocol import check_vector

    file = parse_e5(memoryview(data), HERE)
    tokenizer = E5Tokenizer(file)
    ids = tokenizer.encode("abc 中国 \ufdfa zz")[: file.shape.positions - 2]
    means = E5Engine(E5Weights(file)).window_means([[tokenizer.bos, *ids, tokenizer.eos]])
    blob = unit(means).astype("<f4").tobytes()
    check_vector(blob, file.shape.hidden)
    return blob


def test_a_good_file_gives_a_vector() -> None:
    """The way that the damaged ones go."""
    assert len(run_through(GOOD)) == 32 * 4


@pytest.mark.parametrize("length", [*range(0, 200), *range(200, len(GOOD), 97), len(GOOD) - 1])
def test_a_cut_file_is_refused(length: int) -> None:
    """Wherever it ends."""
    with pytest.raises(ModelError, match=r"damaged\.bin.* is damaged"):
        run_through(GOOD[:length])


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_flipped_bytes_never_crash(flips: list[tuple[int, int]]) -> None:
    """Either a vector that passes all checks comes out, or ModelError."""
    data = bytearray(GOOD)
    for position, value in flips:
        data[position] = value
    try:
        run_through(bytes(data))
    except ModelError:
        pass


@given(st.integers(0, 1600), st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, 0xD8]))
def test_flipped_bytes_in_front_never_crash(position: int, value: int) -> None:
    """As above, where the counts and offsets are."""
    data = bytearray(GOOD)
    data[position % len(data)] = value
    try:
        run_through(bytes(data))
    except ModelError:
        pass


@pytest.mark.parametrize(
    ("position", "value", "problem"),
    [
        (4, 2, "version 2 is unknown"),
        (8, 33, "do not divide"),
        (8, -1, "hidden size is -1"),
        (16, 3, "do not divide"),
        (24, 1 << 30, "vocabulary size"),
        (40, 16, "block size is 16"),
        (44, 10_000, "piece count"),
        (48, 99, "bos token is 99"),
    ],
)
def test_the_message_names_what_is_wrong(position: int, value: int, problem: str) -> None:
    """One value of the header at a time."""
    data = bytearray(GOOD)
    struct.pack_into("<i", data, position, value)
    with pytest.raises(ModelError, match=problem):
        run_through(bytes(data))


def test_weights_that_are_not_numbers_are_refused() -> None:
    """An infinite scale makes NaN, which is refused by name and warns nobody."""
    data = GOOD.replace(struct.pack("<e", 0.02), struct.pack("<e", float("inf")))

    with pytest.raises(ModelError, match="NaN"):
        run_through(data)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"pieces": ["<s>", "<pad>", "</s>", "<unk>", "a\nb"], "scores": [0.0] * 5}, "line feed"),
        ({"pieces": ["<s>", "<pad>", "</s>", "<unk>", "a"], "scores": [0.0] * 4 + [float("nan")]}, "not a finite"),
        ({"layers": 1}, "missing"),
    ],
)
def test_content_that_makes_no_sense_is_refused(change: dict[str, object], problem: str) -> None:
    """Pieces, scores, and layers that the header promises."""
    data = bytearray(Miniature(**change).to_bytes())  # type: ignore[arg-type]
    if "layers" in change:
        struct.pack_into("<i", data, 12, 2)
    with pytest.raises(ModelError, match=problem):
        run_through(bytes(data))


def test_the_hash_is_checked_before_anything_is_parsed(tmp_path: Path) -> None:
    """A file of another hash is refused although it would parse; with the right hash it is read."""
    path = tmp_path / "e5.bin"
    path.write_bytes(GOOD)

    with pytest.raises(ModelError, match=f"expected {E5_SHA256}"):
        open_e5_file(path)
    file = open_e5_file(path, hashlib.sha256(GOOD).hexdigest())
    assert file.sha256 == hashlib.sha256(GOOD).hexdigest()
    assert open_e5_file(path, None).shape == file.shape


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    """Missing, a folder, empty, a pipe that would block for ever."""
    empty = tmp_path / "empty.bin"
    empty.write_bytes(b"")
    for path in (tmp_path / "missing.bin", tmp_path, empty):
        with pytest.raises(ModelError):
            open_e5_file(path)
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelError, match="not a regular file"):
            open_e5_file(tmp_path / "pipe")


@pytest.mark.model
def test_the_real_file_has_the_published_sizes() -> None:
    """The constants are those of the distributed file."""
    path = real_model_path()

    file = open_e5_file(path)

    assert path.stat().st_size == E5_SIZE
    assert (file.shape.hidden, file.shape.layers, file.shape.heads, file.shape.feed_forward) == (384, 12, 12, 1536)
    assert (file.shape.vocabulary, file.shape.positions, file.vocabulary.count) == (250_037, 512, 250_002)
    assert len(file.replacements) == 4837
