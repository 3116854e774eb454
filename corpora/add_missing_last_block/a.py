"""Vector addition in PyTorch."""

import torch


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y
