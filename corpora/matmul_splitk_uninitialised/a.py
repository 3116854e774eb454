"""Matmul with an f32 accumulator."""

import torch


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()
