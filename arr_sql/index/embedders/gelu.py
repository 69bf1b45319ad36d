"""GELU by the error function, over arrays, without SciPy: x * Phi(x), Phi(x) = 1/2 + 1/2 erf(x / sqrt 2).

Hendrycks and Gimpel (2016), arXiv:1606.08415, in its exact form and not the tanh approximation. The error
function is a rational minimax fit of our own: 1/2 erf(x / sqrt 2) = x P(x^2) / Q(x^2) for abs(x) <= 5.2 (beyond,
it is constant to 1e-7). In float32 its largest error against ``math.erf`` is 2.4e-7, and that of GELU on [-9, 9]
is 1.4e-6; ``tests/index/test_e5_engine.py`` measures both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import Floats

_LIMIT = np.float32(5.2)
_HALF = np.float32(0.5)
#: Highest power first, for Horner's rule.
_P = [np.float32(c) for c in (5.72277895e-06, 0.000307771203, 0.0054795593, 0.0490326807, 0.398942083)]
_Q = [np.float32(c) for c in (4.93049129e-07, 0.000110254769, 0.00266801263, 0.0370058045, 0.289568961, 1.0)]

#: Values worked on at a time: four scratch arrays of this size stay in a processor's second-level cache.
_BLOCK = 48 * 1024


def half_erf(values: Floats) -> Floats:
    """1/2 erf(x / sqrt 2) of each value: the normal distribution function less a half. A new array."""
    clipped = np.clip(values, -_LIMIT, _LIMIT)
    squares = clipped * clipped
    result = _horner(_P, squares)
    result *= clipped
    result /= _horner(_Q, squares)
    return result


def gelu_in_place(values: Floats) -> None:
    """Replace each x of a contiguous array by x * Phi(x)."""
    flat = values.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        part = flat[start : start + _BLOCK]
        weight = half_erf(part)
        weight += _HALF
        part *= weight


def _horner(coefficients: list[np.float32], at: Floats) -> Floats:
    result = np.multiply(at, coefficients[0])
    result += coefficients[1]
    for coefficient in coefficients[2:]:
        result *= at
        result += coefficient
    return result
