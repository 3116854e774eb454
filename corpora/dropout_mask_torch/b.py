"""Dropout with the mask given, in PyTorch."""

import torch


def dropout(x: torch.Tensor, keep: torch.Tensor, p: float = 0.25) -> torch.Tensor:
    return torch.where(keep != 0, x * (1.0 / (1.0 - p)), 0.0)
