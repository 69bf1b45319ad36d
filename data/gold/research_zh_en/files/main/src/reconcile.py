"""Projection of 18 base forecasts so that zones add up to regions and the total."""

from __future__ import annotations

import numpy as np

MIN_EIGENVALUE = 1e-8


class NotPositiveDefinite(RuntimeError):
    """HRN-E623: look for two zones with one series before touching the intensity."""


def shrink_intensity(errors: np.ndarray) -> float:
    """Closed-form intensity towards the diagonal (Schaefer and Strimmer). ``errors``: days x series."""
    standard = (errors - errors.mean(0)) / errors.std(0)
    n = len(standard)
    products = standard[:, :, None] * standard[:, None, :]
    variance = products.var(0, ddof=1) * n / (n - 1) ** 2
    off = ~np.eye(errors.shape[1], dtype=bool)
    corr = products.mean(0)
    return float(np.clip(variance[off].sum() / (corr[off] ** 2).sum(), 0, 1))


def shrunken_covariance(errors: np.ndarray) -> np.ndarray:
    """Sample covariance with its off-diagonal part multiplied by 1 - intensity."""
    intensity = shrink_intensity(errors)
    sample = np.cov(errors.T)
    result = (1 - intensity) * sample + intensity * np.diag(np.diag(sample))
    if np.linalg.eigvalsh(result)[0] < MIN_EIGENVALUE:
        raise NotPositiveDefinite("HRN-E623 covariance not positive definite")
    return result


def mint_matrix(summing: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Trace-minimising projection: S (S' W^-1 S)^-1 S' W^-1."""
    weight = np.linalg.inv(covariance)
    return summing @ np.linalg.solve(summing.T @ weight @ summing, summing.T @ weight)
