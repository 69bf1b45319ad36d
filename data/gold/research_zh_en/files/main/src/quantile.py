"""The monotone head and the pinball loss."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class MonotoneHead(nn.Module):
    """Lowest level plus cumulative softplus increments: levels can't cross, by construction."""

    def __init__(self, channels: int, levels: int, spread: torch.Tensor) -> None:
        super().__init__()
        self.base = nn.Linear(channels, 1)
        self.steps = nn.Linear(channels, levels - 1)
        with torch.no_grad():  # start at the climatological spread
            self.steps.bias.copy_(torch.log(torch.expm1(spread.diff().clamp_min(1e-4))))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        base = self.base(hidden)
        return torch.cat([base, base + F.softplus(self.steps(hidden)).cumsum(-1)], dim=-1)


def pinball(target: torch.Tensor, quantiles: torch.Tensor, levels: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over unmasked steps and levels. ``mask`` is False where the target was filled in."""
    error = target.unsqueeze(-1) - quantiles
    loss = torch.maximum(levels * error, (levels - 1) * error)
    return loss[mask].mean()


def clip_night(quantiles: torch.Tensor, capacity: float, floor: float = 0.002) -> torch.Tensor:
    """Solar: what is below 0.2 % of capacity becomes zero, so that nights are nights."""
    return torch.where(quantiles < floor * capacity, torch.zeros_like(quantiles), quantiles)
