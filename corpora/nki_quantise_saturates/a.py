"""Quantise to int8 with a scale a row: divide, round half to even, saturate."""

import torch


def quantise(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.round(x / scale[:, None]).clamp(-128, 127).to(torch.int8)


def get_inputs():
    return [torch.randn(5, 67), torch.rand(5) * 0.02 + 0.01]
