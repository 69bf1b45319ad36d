"""A scope's vectors as 8-bit numbers in memory: which of them can be among the k nearest to a query? Never misses one.

Each vector x is kept as whole numbers c from -127 to 127 and a scale s. What is lost, x - s c, has a length, and the
largest of all these lengths is L. For a query q of length 1 the product with the codes is then at most L from the true
cosine (Cauchy-Schwarz), so every vector whose product is within 2 L of the k-th largest may be among the k nearest, and no
other can. The caller compares these few exactly, which gives the same answer as comparing all.

The query is kept as the sum of two 8-bit vectors, so that it adds next to nothing to the error. ONNX Runtime multiplies:
it reads a quarter of the bytes that float32 takes. ``tests/index/test_vector_codes.py`` holds the promise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arr_sql.core.canonical import significant
from arr_sql.index.embedders.e5_int8_engine import open_session
from arr_sql.index.embedders.onnx_graph import OnnxGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

#: Covers the rounding of float32 sums over unit vectors, with room.
SLACK = 1e-5

_BATCH = 4096


class VectorCodes:
    """The codes of some vectors. Not changed after it is made; threads may share it."""

    def __init__(self, vectors: Iterable[tuple[int, bytes]], dimension: int, *, is_whole: bool = False) -> None:
        """``vectors``: an id and ``dimension`` little-endian float32 values each, at least one. Raises ModelError.

        ``is_whole`` keeps the values too, so that :meth:`nearest` can compare them.
        """
        ids: list[int] = []
        codes: list[NDArray[np.int8]] = []
        scales: list[Floats] = []
        whole: list[Floats] = []
        self._lost = 0.0
        for batch in _batches(vectors):
            ids.extend(number for number, _ in batch)
            values = np.frombuffer(b"".join(blob for _, blob in batch), "<f4").reshape(-1, dimension)
            scale = np.maximum(np.abs(values).max(axis=1) / np.float32(127), np.float32(1e-30))
            code = np.rint(values / scale[:, np.newaxis]).astype(np.int8)
            lost = values - code * scale[:, np.newaxis]
            self._lost = max(self._lost, float(np.sqrt(np.einsum("ij,ij->i", lost, lost)).max()))
            codes.append(code)
            scales.append(scale)
            if is_whole:
                whole.append(values)
        self._values = np.concatenate(whole) if whole else None
        self.ids = np.asarray(ids, np.int64)
        self._session = _product(np.concatenate(codes), np.concatenate(scales))

    @staticmethod
    def bytes_for(count: int, dimension: int, *, is_whole: bool = False) -> int:
        """Memory that so many vectors take, about."""
        return count * (dimension + 12 + 4 * dimension * is_whole)

    @property
    def is_whole(self) -> bool:
        """Are the float32 values kept?"""
        return self._values is not None

    def candidates(self, query: bytes, k: int) -> list[int]:
        """Ids of the vectors that may be among the ``k`` nearest, in the order in which they were given."""
        return self.ids[self._places(query, k)].tolist()  # type: ignore[no-any-return]

    def nearest(self, query: bytes, k: int) -> list[tuple[int, float]]:
        """Ids and cosines (as :func:`cosines_of`) of the ``k`` nearest and of all that are equal to the last to 1e-9."""
        assert self._values is not None
        places = self._places(query, k)
        products = np.multiply(self._values[places], np.frombuffer(query, "<f4"), dtype=np.float64)
        near = products.sum(axis=1)
        if near.size > k:
            kept = np.flatnonzero(near >= np.partition(near, near.size - k)[near.size - k] - 1e-9)
            places, products, near = places[kept], products[kept], near[kept]
        return list(zip(self.ids[places].tolist(), _rounded(products, near), strict=True))

    def _places(self, query: bytes, k: int) -> NDArray[np.intp]:
        rows, scales, lost = _two_codes(np.frombuffer(query, "<f4"))
        (products,) = self._session.run(None, {"query": rows})
        near = products[0] * scales[0] + products[1] * scales[1]
        if k >= near.size:
            return np.arange(near.size)
        kth = np.partition(near, near.size - k)[near.size - k]
        # 1.001: unit vectors are unit to float32 rounding; the query's own loss counts against every vector.
        error = 1.001 * (self._lost + lost) + SLACK
        return np.flatnonzero(near >= kth - np.float32(2 * error))


def best_of(query: bytes, vectors: list[tuple[int, bytes]], k: int) -> set[int]:
    """Ids of the ``k`` nearest of these vectors, and of all that are equal to the last of them to 1e-9."""
    if len(vectors) <= k:
        return {number for number, _ in vectors}
    rows = np.frombuffer(b"".join(blob for _, blob in vectors), "<f4").reshape(len(vectors), -1)
    near = rows.astype(np.float64) @ np.frombuffer(query, "<f4").astype(np.float64)
    kth = np.partition(near, near.size - k)[near.size - k]
    return {vectors[place][0] for place in np.flatnonzero(near >= kth - 1e-9)}


def cosines_of(query: bytes, vectors: Sequence[bytes]) -> list[float]:
    """Cosines of unit vectors at 12 significant digits: those of the exactly rounded sum of products, a fifth of its time.

    Products of float32 values are exact in 64 bits. A sum of n of them in any order is at most (n - 1) 2^-53 times the sum
    of their sizes from the true one (Higham, Accuracy and Stability, 4.2), and that sum is at most 1 for unit vectors.
    Only where the true sum might be rounded to other digits is it worked out exactly.
    """
    if not vectors:
        return []
    wanted = np.frombuffer(query, "<f4").astype(np.float64)
    products = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1) * wanted
    return _rounded(products, products.sum(axis=1))


def _rounded(products: NDArray[np.float64], sums: NDArray[np.float64]) -> list[float]:
    """The exactly rounded sums of the rows of ``products`` at 12 significant digits, given those in floating point."""
    error, found = 1.01 * products.shape[1] * 2.0**-53, []
    for place, total in enumerate(sums.tolist()):
        least, most = significant(total - error), significant(total + error)
        found.append(least if least == most else significant(math.fsum(products[place].tolist())))
    return found


def _batches(vectors: Iterable[tuple[int, bytes]]) -> Iterable[list[tuple[int, bytes]]]:
    batch: list[tuple[int, bytes]] = []
    for vector in vectors:
        batch.append(vector)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _two_codes(query: Floats) -> tuple[NDArray[np.uint8], tuple[np.float32, np.float32], float]:
    """Two rows of whole numbers about 128, their scales, and the length of what they leave of the query."""
    rest, rows, scales = query, [], []
    for _ in range(2):
        scale = np.maximum(np.abs(rest).max() / np.float32(127), np.float32(1e-30))
        row = np.rint(rest / scale)
        rest = rest - row * scale
        rows.append(row + 128)
        scales.append(scale)
    return np.stack(rows).astype(np.uint8), (scales[0], scales[1]), float(np.linalg.norm(rest))


def _product(codes: NDArray[np.int8], scales: Floats) -> Any:
    """A session that multiplies two query rows with all codes: (2, dimension) to (2, n)."""
    graph = OnnxGraph("vector codes")
    query = graph.input("query", "uint8", [2, codes.shape[1]])
    columns, one, zero = (
        graph.constant(np.ascontiguousarray(codes.T)),
        graph.constant(np.float32(1)),
        graph.constant(np.uint8(128)),
    )
    near = graph.node("MatMulIntegerToFloat", query, columns, one, graph.constant(scales), zero, runtime=True)
    graph.output(near, "near", "float32", [2, codes.shape[0]])
    return open_session(graph.to_bytes())
