"""Variance of each row in PyTorch."""

import torch


def variance(x: torch.Tensor) -> torch.Tensor:
    return torch.var(x, dim=1, correction=0)
