"""8-bit codes: no vector that belongs among the nearest is ever missing from the candidates."""

# ruff: noqa: E402  (what needs NumPy is imported after the skip)
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

np = pytest.importorskip("numpy", reason="the codes need NumPy (extra `local`)")
pytest.importorskip("onnxruntime", reason="the codes need ONNX Runtime (extra `local`)")

from arr_sql.index.vector_codes import VectorCodes, best_of, cosines_of
from arr_sql.retrieval import vector_retriever


def unit(values: object) -> object:
    rows = np.atleast_2d(np.asarray(values, np.float32))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def blobs(rows: object, first: int = 10) -> list[tuple[int, bytes]]:
    return [(first + number, row.tobytes()) for number, row in enumerate(np.asarray(rows))]


def nearest(rows: object, query: object, k: int) -> set[int]:
    """By brute force in 64 bits, all that are equal to the last of them included."""
    near = np.asarray(rows, np.float64) @ np.asarray(query, np.float64)
    return {10 + int(place) for place in np.flatnonzero(near >= np.sort(near)[::-1][min(k, near.size) - 1] - 1e-12)}


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0.01, 2.0), st.integers(0, 3))
@settings(max_examples=60)
def test_the_nearest_are_always_among_the_candidates(seed: int, k: int, spread: float, outliers: int) -> None:
    """Clusters as tight or wide as you like, some components far larger than the rest, equal vectors among them."""
    chance = np.random.default_rng(seed)
    rows = chance.standard_normal(32) + spread * chance.standard_normal((200, 32))
    rows[:, :outliers] *= 30
    rows[150:160] = rows[3]
    rows = unit(rows)
    query = unit(chance.standard_normal(32) + rows[seed % 200])[0]

    candidates = VectorCodes(blobs(rows), 32).candidates(query.tobytes(), k)

    assert nearest(rows, query, k) <= set(candidates) <= {10 + place for place in range(200)}
    assert candidates == sorted(candidates)


@given(st.integers(0, 2**32 - 1), st.integers(1, 220), st.floats(0.01, 2.0))
@settings(max_examples=60)
def test_whole_vectors_give_the_nearest_and_their_cosines(seed: int, k: int, spread: float) -> None:
    """All that are as near as the k-th, with the cosines that the exact sums give; equal vectors among them."""
    chance = np.random.default_rng(seed)
    rows = chance.standard_normal(32) + spread * chance.standard_normal((200, 32))
    rows[150:160] = rows[3]
    rows = unit(rows)
    query = unit(chance.standard_normal(32) + rows[seed % 200])[0]

    near = dict(VectorCodes(blobs(rows), 32, is_whole=True).nearest(query.tobytes(), k))

    cosines = vector_retriever.cosines_of(query.tobytes(), [row.tobytes() for row in rows])
    exact = dict(enumerate(cosines, 10))
    least = sorted(exact.values(), reverse=True)[: min(k, 200)][-1]
    assert {number for number, cosine in exact.items() if cosine >= least} <= set(near)
    assert all(near[number] == exact[number] for number in near)
    assert min(near.values()) > least - 1e-8


def test_few_are_candidates_where_the_vectors_are_spread() -> None:
    """Of 5,000 vectors in all directions, ten nearest leave at most a few hundred to compare."""
    chance = np.random.default_rng(1)
    rows, query = unit(chance.standard_normal((5000, 384))), unit(chance.standard_normal(384))[0]

    candidates = VectorCodes(iter(blobs(rows)), 384).candidates(query.tobytes(), 10)

    assert nearest(rows, query, 10) <= set(candidates)
    assert len(candidates) < 300


def test_fewer_vectors_than_asked_for_are_all_candidates() -> None:
    """Nothing is left out, the order is that of the input."""
    rows = unit(np.eye(4))

    assert VectorCodes(blobs(rows), 4).candidates(rows[2].tobytes(), 10) == [10, 11, 12, 13]


def test_the_best_keep_their_equals() -> None:
    """Of four vectors two are equal to the second best: three are kept."""
    rows = unit([[1, 0], [0.6, 0.8], [0.6, 0.8], [0, 1]])

    assert best_of(rows[0].tobytes(), blobs(rows), 2) == {10, 11, 12}
    assert best_of(rows[0].tobytes(), blobs(rows), 4) == {10, 11, 12, 13}


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 64, 384, 4096]), st.floats(0.0, 1.0))
@settings(max_examples=60)
def test_cosines_are_those_of_the_exact_sum(seed: int, dimension: int, nearness: float) -> None:
    """In whatever order NumPy adds: the same 12 digits as the exactly rounded sum, for far, near and opposite vectors."""
    chance = np.random.default_rng(seed)
    query = unit(chance.standard_normal(dimension))
    rows = unit(nearness * query + (1 - nearness) * chance.standard_normal((40, dimension)) + 1e-9)
    vectors = [row.tobytes() for row in [*rows, *-rows[:3], query[0]]]

    assert cosines_of(query[0].tobytes(), vectors) == vector_retriever.cosines_of(query[0].tobytes(), vectors)


def test_a_cosine_between_two_numbers_of_twelve_digits_is_worked_out_exactly() -> None:
    """0.5 + 2^-41 lies so near the middle of two such numbers that only the exact sum can tell."""
    query = np.zeros(8, np.float32)
    query[:3] = (0.5, 2.0**-20, 2.0**-21)
    vectors = []
    for sign in (-1, 1):
        row = np.zeros(8, np.float32)
        row[:3] = (1.0, 2.0**-21, sign * 2.0**-22)
        vectors.append(row.tobytes())

    assert cosines_of(query.tobytes(), vectors) == vector_retriever.cosines_of(query.tobytes(), vectors)
