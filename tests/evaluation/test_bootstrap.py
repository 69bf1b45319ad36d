"""Bootstrap intervals: the same for the same seed, paired, and as wide as theory says."""

from __future__ import annotations

import random

import pytest

from arr_sql.evaluation.bootstrap import intervals


def test_a_constant_has_no_spread() -> None:
    """And nothing has the interval of nothing."""
    assert intervals({"a": [0.5] * 20}) == {"a": (0.5, 0.5)}
    assert intervals({"a": [], "b": []}) == {"a": (0.0, 0.0), "b": (0.0, 0.0)}
    assert intervals({}) == {}


def test_the_interval_is_that_of_the_normal_law_for_many_values() -> None:
    """Mean plus and minus 1.96 standard errors, to a tenth of its width."""
    rng = random.Random(7)
    values = [rng.gauss(0.5, 0.2) for _ in range(2_000)]
    low, high = intervals({"a": values})["a"]
    mean, error = sum(values) / 2_000, 0.2 / 2_000**0.5
    assert low == pytest.approx(mean - 1.96 * error, abs=0.4 * error)
    assert high == pytest.approx(mean + 1.96 * error, abs=0.4 * error)


def test_series_are_drawn_alike() -> None:
    """So the difference of two series that differ by a constant has no spread; the seed decides everything."""
    rng = random.Random(8)
    one = [rng.random() for _ in range(50)]
    other = [value + 0.25 for value in one]
    found = intervals({"one": one, "other": other, "difference": [b - a for a, b in zip(one, other, strict=True)]})
    assert found["difference"] == pytest.approx((0.25, 0.25))
    assert found["other"][0] - found["one"][0] == pytest.approx(0.25)
    assert found == intervals({"one": one, "other": other, "difference": [0.25] * 50}) | {
        "difference": found["difference"]
    }
    assert intervals({"one": one}, seed=1) != intervals({"one": one}, seed=2)


def test_series_of_different_lengths_are_refused() -> None:
    """They can't be paired."""
    with pytest.raises(ValueError, match="different lengths"):
        intervals({"a": [1.0], "b": [1.0, 2.0]})
