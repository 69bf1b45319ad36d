"""Asymmetric Laplace mixture: density, samples and quantiles by bisection."""

from __future__ import annotations

import torch


def cdf(x: torch.Tensor, location: torch.Tensor, scale: torch.Tensor, asymmetry: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Distribution function of the mixture."""
    z = (x.unsqueeze(-1) - location) / scale
    below = asymmetry.square() / (1 + asymmetry.square()) * torch.exp(z / asymmetry)
    above = 1 - torch.exp(-asymmetry * z) / (1 + asymmetry.square())
    return (weight * torch.where(z < 0, below, above)).sum(-1)


def quantile(level: float, *parameters: torch.Tensor, steps: int = 40) -> torch.Tensor:
    """Any level, also 0.99, by bisection between zero and ten times the mean."""
    low = torch.zeros_like(parameters[0][..., 0])
    high = 10 * parameters[0].mean(-1)
    for _ in range(steps):
        middle = (low + high) / 2
        under = cdf(middle, *parameters) < level
        low, high = torch.where(under, middle, low), torch.where(under, high, middle)
    return high
