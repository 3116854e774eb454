"""Batched matmul with an f32 accumulator."""

import torch


def bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.bmm(a.float(), b.float())
