"""Matrix transpose in PyTorch."""

import torch


def transpose(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous()
